import { checkedStat, ifMissing, prepareMachineDirectory } from '../files/machine-directory.ts'
import { withoutTracing } from '../http/without-tracing.ts'
import { builtinModule } from '../node-version.ts'
import { delay, monotonicMs, systemTimeMs } from '../time.ts'

const fs = builtinModule('node:fs')
const { join } = builtinModule('node:path')
const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = fs.constants

/**
 * Time for which one process is to read the license, in milliseconds. If it has not succeeded by then, another process
 * tries: the token of the first may not be allowed to, or the process has ended.
 */
const readerMs = 3000
/** Time between two looks while another process reads, in milliseconds: the first one, and the longest. */
const lookMs = { first: 25, longest: 250 }
/** Maximum size of a license, in bytes. */
const maxBytes = 65_536

const licensePattern = /^(\d{13}) (\{.*\})\n$/s

export interface LicenseFileDeps {
  readonly directory: string
  /** Returns a SHA-256 hash of what the processes must have in common, in hexadecimal digits. */
  readonly key: () => string
  /** Called when this process begins to read the license itself. */
  readonly onReading: () => void
}

/**
 * The license that one process of a machine reads for all that start, or read it again, at about the same time. Otherwise
 * their reads would fill a low limit for seconds.
 *
 * The file has the time of the read, in milliseconds since 1970, and the license as JSON. The process that reads is the
 * one that has created a second file, for `readerMs`.
 */
export class LicenseFile {
  readonly #deps: LicenseFileDeps
  #isClosed = false
  /** The file by which this process claims the reading, until others no longer respect it; monotonic, in milliseconds. */
  #claim: { readonly path: string; readonly untilMs: number } | undefined

  constructor(deps: LicenseFileDeps) {
    this.#deps = deps
  }

  /**
   * Returns the license, no older than `maxAgeMs`. It comes from another process, or from `read` if this process is to
   * read it or if the files cannot be used.
   *
   * @throws what `read` throws
   * @throws Error if the file is closed meanwhile
   */
  async get(read: () => Promise<string>, maxAgeMs: number): Promise<string> {
    this.#isClosed = false
    let path: string | undefined
    try {
      path = this.#prepare()
      const text = await this.#fromOther(path, maxAgeMs)
      if (text !== undefined) return text
    } catch {
      path = undefined // the disk is no reason to have no license
    }
    if (this.#isClosed) {
      this.release()
      throw new Error('closed while another process read the license')
    }
    this.#deps.onReading()
    const text = await read()
    if (path !== undefined) void this.#publish(path, text).catch(() => {}) // the license is known here all the same
    return text
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

  /** Returns the license that another process has read, or `undefined` if this process is to read it. */
  async #fromOther(path: string, maxAgeMs: number): Promise<string | undefined> {
    for (let waitMs = lookMs.first; !this.#isClosed; waitMs = Math.min(2 * waitMs, lookMs.longest)) {
      const text = await withoutTracing(() => licenseIn(`${path}.license`, maxAgeMs))
      if (text !== undefined) return text
      if (withoutTracing(() => isToRead(`${path}.reader`))) {
        this.#claim = { path: `${path}.reader`, untilMs: monotonicMs() + readerMs }
        return undefined
      }
      await delay(waitMs * (0.75 + 0.5 * Math.random()), undefined, { ref: false })
    }
    return undefined
  }

  async #publish(path: string, text: string): Promise<void> {
    const { randomBytes } = process.getBuiltinModule('node:crypto')
    const written = `${path}.license.${randomBytes(6).toString('hex')}`
    await withoutTracing(async () => {
      try {
        await fs.promises.writeFile(written, `${systemTimeMs()} ${text}\n`, { flag: 'wx', mode: 0o600 })
        await fs.promises.rename(written, `${path}.license`)
      } catch {
        await fs.promises.unlink(written).catch(() => {}) // others then read the license themselves
      }
    })
    this.release()
  }
}

/** Returns the license in a file, or `undefined` if there is none, or if it is too old. A clock may have been set back. */
async function licenseIn(path: string, maxAgeMs: number): Promise<string | undefined> {
  const file = await fs.promises.open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK).catch(ifMissing)
  if (file === undefined) return undefined
  try {
    const { size } = await checkedStat(file, path)
    if (size > maxBytes) return undefined
    const { buffer, bytesRead } = await file.read(Buffer.alloc(size), 0, size, 0)
    const [, readAtMs, text] = licensePattern.exec(buffer.toString('utf8', 0, bytesRead)) ?? []
    return Math.abs(systemTimeMs() - Number(readAtMs)) <= maxAgeMs ? text : undefined
  } finally {
    await file.close()
  }
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
    const stat = fs.lstatSync(path, { throwIfNoEntry: false })
    if (stat !== undefined && Math.abs(systemTimeMs() - stat.mtimeMs) <= readerMs) return false
    fs.rmSync(path, { force: true })
  }
}
