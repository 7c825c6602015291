import { join } from 'node:path'
import { makePrivateDirectory } from '../files/make-private-directory.ts'
import { assertPrivate, isOurs, UnsafePath } from '../files/private-directory.ts'
import { isTorn } from './dead-letter-files.ts'
import { deadLettersLockName, deadLettersName, olderDeadLettersName } from './file-names.ts'
import { LockFile } from './lock-file.ts'
import { fs, identityIn, identityOf, noFollow, nonBlocking } from './node-fs.ts'

/** An event that must not be sent again: the service refused it, or a spooled record is not an event. */
interface DeadLetter {
  readonly dataset: string
  /** The event as JSON, in one line; `undefined` if the service did not say which event it refused. */
  readonly json: string | undefined
  /** `undefined` if the event was never sent to the service. */
  readonly status?: number | undefined
  readonly reason: string
}

/** Size in bytes from which a new file is started. One older file is kept. */
const maxFileBytes = 8_388_608
/** Maximum size in bytes of letters that are written together. An answer may fail thousands of events. */
const maxWriteBytes = 65_536

const { constants } = fs
const flags = constants.O_RDWR | constants.O_CREAT | constants.O_APPEND | noFollow | nonBlocking

/**
 * Writes dead letters to `rejected.ndjson`, one line of JSON for each event. A full file becomes `rejected.1.ndjson`.
 */
export class DeadLetters {
  readonly #directory: string
  readonly #path: string
  readonly #onTrouble: (error: unknown) => void
  readonly #maxFileBytes: number
  #file: number | undefined
  #isInTrouble = false

  /**
   * @param onTrouble called when a letter cannot be written; called again only after a write has succeeded in between
   */
  constructor(directory: string, onTrouble: (error: unknown) => void, maxBytes = maxFileBytes) {
    this.#directory = directory
    this.#path = join(directory, deadLettersName)
    this.#onTrouble = onTrouble
    this.#maxFileBytes = maxBytes
  }

  /** Writes letters, many at a time. Returns the number of letters that were written. */
  write(letters: Iterable<DeadLetter>, now: Date): number {
    const time = now.toJSON()
    const maxBytes = Math.min(maxWriteBytes, this.#maxFileBytes)
    let written = 0
    let lines: Buffer[] = []
    let bytes = 0
    for (const letter of letters) {
      const line = this.#lineOf(letter, time)
      if (line === undefined) continue
      if (bytes > 0 && bytes + line.length > maxBytes) {
        written += this.#append(lines, bytes)
        lines = []
        bytes = 0
      }
      lines.push(line)
      bytes += line.length
    }
    return bytes === 0 ? written : written + this.#append(lines, bytes)
  }

  #lineOf({ dataset, json, status, reason }: DeadLetter, time: string): Buffer | undefined {
    try {
      const head = JSON.stringify({ time, dataset, status, reason })
      return Buffer.from(json === undefined ? `${head}\n` : `${head.slice(0, -1)},"event":${json}}\n`)
    } catch (error) {
      this.#fail(error) // there is no memory for the line
      return undefined
    }
  }

  /** Returns the number of lines that were written. */
  #append(lines: readonly Buffer[], bytes: number): number {
    let taken = 0
    try {
      if (this.#file !== undefined && !(this.#isInPlace(this.#file) && this.#takes(this.#file, bytes))) this.close()
      this.#file ??= this.#open(bytes)
      taken = fs.writeSync(this.#file, Buffer.concat(lines, bytes))
      if (taken < bytes) throw tornLine()
      this.#isInTrouble = false
    } catch (error) {
      this.#fail(error)
      this.close()
    }
    return wholeLines(lines, taken)
  }

  close(): void {
    if (this.#file === undefined) return
    const file = this.#file
    this.#file = undefined
    try {
      fs.closeSync(file)
    } catch (error) {
      this.#fail(error) // some file systems report a failed write only now
    }
  }

  #fail(error: unknown): void {
    if (!this.#isInTrouble) this.#onTrouble(error)
    this.#isInTrouble = true
  }

  /**
   * Opens the file, with room for `bytes`. Other processes write to the same file, so its size is read from the disk.
   */
  #open(bytes: number): number {
    assertPrivate(this.#directory)
    makePrivateDirectory(this.#directory)
    assertPrivate(this.#directory) // again: another user may have created it since
    let isMoving = false
    for (;;) {
      const file = this.#openOwn()
      if (isMoving || this.#takes(file, bytes)) return file
      try {
        isMoving = !this.#moveFull(file)
      } finally {
        fs.closeSync(file)
      }
    }
  }

  /**
   * Renames the full file, unless its name already has another one. Returns false if another process is about to rename it:
   * until then, the file takes letters. Without the lock, a process that comes late could put a new file in the place of
   * the full one.
   */
  #moveFull(file: number): boolean {
    let lock: LockFile | undefined
    try {
      lock = LockFile.take(join(this.#directory, deadLettersLockName))
      if (lock === undefined) return false
    } catch {
      // The lock cannot be taken, for example because the file system has none.
    }
    try {
      if (this.#isInPlace(file)) fs.renameSync(this.#path, join(this.#directory, olderDeadLettersName))
      return true
    } finally {
      lock?.release()
    }
  }

  #openOwn(): number {
    const file = fs.openSync(this.#path, flags, 0o600)
    const stat = fs.fstatSync(file)
    if (stat.nlink !== 1 && identityOf(this.#path) !== identityIn(stat)) {
      fs.closeSync(file)
      return this.#openOwn() // another process has renamed or removed the file meanwhile
    }
    if (stat.isFile() && isOurs(stat.uid) && stat.nlink === 1) {
      if (isTorn(file)) this.#endLine(file)
      return file
    }
    fs.closeSync(file)
    if (stat.nlink > 1) {
      throw new UnsafePath(
        'the file has a second hard link, which would get the events, too',
        'Remove one of the links.',
      )
    }
    throw Object.assign(new Error('a file of another user has this name'), { code: 'EPERM' })
  }

  /** Ends a line of which only a part was written, so that the next letter is not part of it. */
  #endLine(file: number): void {
    try {
      if (fs.writeSync(file, '\n') === 1) return
      throw tornLine()
    } catch (error) {
      fs.closeSync(file)
      throw error
    }
  }

  /** False if the open file was renamed, for example by an editor that keeps it as a backup, or was removed. */
  #isInPlace(file: number): boolean {
    return identityOf(this.#path) === identityIn(fs.fstatSync(file)) // which no new file can have while this one is open
  }

  /** True if the file has room for `bytes`. False also if the file was removed, or has a second name. */
  #takes(file: number, bytes: number): boolean {
    const { size, nlink } = fs.fstatSync(file)
    return nlink === 1 && (size === 0 || size + bytes <= this.#maxFileBytes)
  }
}

/** Returns the number of lines that the first `bytes` have as a whole. */
function wholeLines(lines: readonly Buffer[], bytes: number): number {
  let end = 0
  let count = 0
  for (const { length } of lines) {
    end += length
    if (end <= bytes) count++
  }
  return count
}

/** The error of a full disk that takes only the first bytes of a line. */
function tornLine(): Error {
  return Object.assign(new Error('only a part of an event was written'), { code: 'ENOSPC' })
}
