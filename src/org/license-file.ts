import { prepareMachineDirectory, useFile } from '../files/machine-directory.ts'
import type { Credentials } from '../http/credentials.ts'
import { jsonObject } from '../http/json-object.ts'
import { withoutTracing } from '../http/without-tracing.ts'
import { builtinModule } from '../node-version.ts'
import { ownProperties } from '../own-properties.ts'
import { delay, monotonicMs, systemTimeMs } from '../time.ts'
import { OrgError } from './org-error.ts'

const fs = builtinModule('node:fs')
const { join } = builtinModule('node:path')
const { O_RDONLY } = fs.constants

/**
 * Time for which one process is to read the license, in milliseconds. If it has not succeeded by then, another process
 * tries: the token of the first may not be allowed to, or the process has ended. A refusal counts for as long.
 */
const readerMs = 3000
/** Time between two looks while another process reads, in milliseconds: the first one, and the longest. */
const lookMs = { first: 25, longest: 250 }
/** Maximum size of a file, in bytes. */
const maxBytes = 65_536

const textPattern = /^(\d{13}) (\{.*\})\n$/s

interface LicenseFileDeps {
  readonly directory: string
  /** Returns a SHA-256 hash of what the processes must have in common, in hexadecimal digits. */
  readonly key: () => string
  /** The credentials that read the license; `undefined` if a function obtains them. */
  readonly credentials: Credentials | undefined
  /** Called when this process no longer waits for another one: it reads the license itself, or knows that it may not. */
  readonly onWaited: () => void
}

/**
 * The license that one process of a machine reads for all that start, or read it again, at about the same time. Otherwise
 * their reads would fill a low limit for seconds.
 *
 * The file has the time of the read, in milliseconds since 1970, and the license as JSON. The process that reads is the
 * one that has created a second file, for `readerMs`. If the service refuses the token, the process writes that into its
 * file. It counts for processes with the same token.
 */
export class LicenseFile {
  readonly #deps: LicenseFileDeps
  #isClosed = false
  /** The file by which this process claims the reading, until others no longer respect it; monotonic, in milliseconds. */
  #claim: { readonly path: string; readonly untilMs: number } | undefined
  /** The salt of a refusal of other credentials. */
  #saltOfOthers: unknown

  constructor(deps: LicenseFileDeps) {
    this.#deps = deps
  }

  /**
   * Returns the license, no older than `maxAgeMs`. It comes from another process, or from `read` if this process is to
   * read it or if the files cannot be used.
   *
   * @throws what `read` throws, here or in another process with the same credentials if the service refuses them
   * @throws Error if the file is closed meanwhile
   */
  async get(read: () => Promise<string>, maxAgeMs: number): Promise<string> {
    this.#isClosed = false
    let path: string | undefined
    let found: string | OrgError | undefined
    try {
      path = this.#prepare()
      found = await this.#fromOther(path, maxAgeMs)
    } catch {
      path = undefined // the disk is no reason to have no license
    }
    if (typeof found === 'string') return found
    if (this.#isClosed) {
      this.release()
      throw new Error('closed while another process read the license')
    }
    this.#deps.onWaited()
    if (found !== undefined) throw found
    try {
      const text = await read()
      if (path !== undefined) this.#publish(path, text)
      return text
    } catch (error) {
      if (error instanceof OrgError && error.code === 'UNAUTHORIZED') void this.#publishRefusal(error).catch(() => {})
      throw error
    }
  }

  /** Ends waiting for another process, and lets another process read. */
  close(): void {
    this.#isClosed = true
    this.release()
  }

  /** Lets another process read the license at once if this process was to read it. Called at the end of the process, too. */
  readonly release = (): void => {
    const claim = this.#claim
    this.#claim = undefined
    if (claim === undefined || monotonicMs() >= claim.untilMs) return
    try {
      withoutTracing(() => fs.unlinkSync(claim.path))
    } catch {
      // Others wait until the claim is old.
    }
  }

  #prepare(): string {
    const { directory, key } = this.#deps
    prepareMachineDirectory(directory)
    return join(directory, key().slice(0, 32))
  }

  /**
   * Returns the license that another process has read, or the error that it got with the same credentials. `undefined` if
   * this process is to read the license.
   */
  async #fromOther(path: string, maxAgeMs: number): Promise<string | OrgError | undefined> {
    for (let waitMs = lookMs.first; !this.#isClosed; waitMs = Math.min(2 * waitMs, lookMs.longest)) {
      const text = withoutTracing(() => textIn(`${path}.license`, maxAgeMs))
      if (text !== undefined) return text
      if (withoutTracing(() => isToRead(`${path}.reader`))) {
        this.#claim = { path: `${path}.reader`, untilMs: monotonicMs() + readerMs }
        return undefined
      }
      const refusal = await this.#refusalIn(`${path}.reader`)
      if (refusal !== undefined) return refusal
      await delay(waitMs * (0.75 + 0.5 * Math.random()), undefined, { ref: false })
    }
    return undefined
  }

  #publish(path: string, text: string): void {
    try {
      writeText(`${path}.license`, text)
    } catch {
      // Others then read the license themselves.
    }
    this.release()
  }

  /** Tells processes with the same credentials that the service refuses them, while this process is the one that reads. */
  async #publishRefusal({ message, status }: OrgError): Promise<void> {
    const { credentials } = this.#deps
    const claim = this.#claim
    if (claim === undefined || credentials === undefined) return
    const salt = process.getBuiltinModule('node:crypto').randomBytes(16).toString('hex')
    const proof = await credentials.proof(salt)
    if (this.#claim !== claim || monotonicMs() >= claim.untilMs) return // another process reads
    this.#claim = undefined // the refusal counts beyond the end of this process
    writeText(claim.path, JSON.stringify({ status, message: message.replace(/^logferry: /, ''), salt, proof }))
  }

  async #refusalIn(path: string): Promise<OrgError | undefined> {
    const { credentials } = this.#deps
    if (credentials === undefined) return undefined
    const { status, message, salt, proof } = jsonObject(withoutTracing(() => textIn(path, readerMs)) ?? '') ?? {}
    if (typeof status !== 'number' || typeof message !== 'string' || typeof salt !== 'string') return undefined
    if (salt === this.#saltOfOthers) return undefined
    if ((await credentials.proof(salt)) === proof) return new OrgError('UNAUTHORIZED', message, { status })
    this.#saltOfOthers = salt
    return undefined
  }
}

/**
 * Replaces the text of a file, with the time, at once.
 *
 * @throws any error from the disk
 */
function writeText(path: string, text: string): void {
  const { randomBytes } = process.getBuiltinModule('node:crypto')
  const written = `${path}.${randomBytes(6).toString('hex')}`
  withoutTracing(() => {
    try {
      fs.writeFileSync(written, `${systemTimeMs()} ${text}\n`, ownProperties({ flag: 'wx', mode: 0o600 }))
      fs.renameSync(written, path)
    } catch (error) {
      fs.rmSync(written, ownProperties({ force: true }))
      throw error
    }
  })
}

/** Returns the JSON in a file, or `undefined` if there is none, or if it is too old. A clock may have been set back. */
function textIn(path: string, maxAgeMs: number): string | undefined {
  return useFile(path, O_RDONLY, (file, bytes) => {
    if (bytes > maxBytes) return undefined
    const buffer = Buffer.alloc(bytes)
    const [, readAtMs, text] =
      textPattern.exec(buffer.toString('utf8', 0, fs.readSync(file, buffer, 0, bytes, 0))) ?? []
    return Math.abs(systemTimeMs() - Number(readAtMs)) <= maxAgeMs ? text : undefined
  })
}

/**
 * True if this process is to read the license, because no other one has begun to during the last seconds. In one turn, so
 * that a process that ends knows of its claim.
 */
function isToRead(path: string): boolean {
  for (;;) {
    try {
      fs.closeSync(fs.openSync(path, 'wx', 0o600))
      return true
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
    const stat = fs.lstatSync(path, ownProperties({ throwIfNoEntry: false }))
    if (stat !== undefined && Math.abs(systemTimeMs() - stat.mtimeMs) <= readerMs) return false
    fs.rmSync(path, ownProperties({ force: true }))
  }
}
