import { join } from 'node:path'
import { fs, isOurs } from './node-fs.ts'
import { assertPrivate, UnsafePath } from './private-directory.ts'

/** An event that must not be sent again: the service has refused it, or it is none. */
export interface DeadLetter {
  readonly dataset: string
  /** `undefined` where the service did not say which event it was. */
  readonly event: unknown
  /** `undefined` where the service has never seen it. */
  readonly status?: number | undefined
  readonly reason: string
}

/** Bytes after which a new file is begun; one older file is kept beside it. */
const maxFileBytes = 8_388_608

const { constants } = fs
/** Links are not followed, and where a pipe stands nobody is waited for; Windows has neither. */
const unlikeOthers = (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0)
const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_APPEND | unlikeOthers

/** What the service refuses, one line of JSON for each event, in `rejected.ndjson` and, before that, `rejected.1.ndjson`. */
export class DeadLetters {
  readonly #directory: string
  readonly #path: string
  readonly #onTrouble: (error: unknown) => void
  readonly #maxFileBytes: number
  #file: number | undefined
  #isInTrouble = false

  /** `onTrouble` is told once, until a letter could be written again. */
  constructor(directory: string, onTrouble: (error: unknown) => void, maxBytes = maxFileBytes) {
    this.#directory = directory
    this.#path = join(directory, 'rejected.ndjson')
    this.#onTrouble = onTrouble
    this.#maxFileBytes = maxBytes
  }

  write({ dataset, event, status, reason }: DeadLetter, now: Date): void {
    const line = Buffer.from(`${JSON.stringify({ time: now, dataset, status, reason, event })}\n`)
    try {
      if (this.#file !== undefined && !this.#takes(this.#file, line.length)) this.close()
      this.#file ??= this.#open(line.length)
      fs.writeSync(this.#file, line)
      this.#isInTrouble = false
    } catch (error) {
      this.#fail(error)
      this.close()
    }
  }

  close(): void {
    if (this.#file === undefined) return
    const file = this.#file
    this.#file = undefined
    try {
      fs.closeSync(file)
    } catch (error) {
      this.#fail(error) // some file systems tell only now what they could not write
    }
  }

  #fail(error: unknown): void {
    if (!this.#isInTrouble) this.#onTrouble(error)
    this.#isInTrouble = true
  }

  /** Other processes write to the same file: its size is what the disk says. */
  #open(bytes: number): number {
    assertPrivate(this.#directory)
    fs.mkdirSync(this.#directory, { recursive: true, mode: 0o700 })
    assertPrivate(this.#directory) // once more: what was not there yet may have been put there by another user
    const file = this.#openOwn()
    if (this.#takes(file, bytes)) return file
    fs.closeSync(file)
    fs.renameSync(this.#path, join(this.#directory, 'rejected.1.ndjson'))
    return this.#openOwn()
  }

  #openOwn(): number {
    const file = fs.openSync(this.#path, flags, 0o600)
    const stat = fs.fstatSync(file)
    if (stat.isFile() && isOurs(stat.uid) && stat.nlink === 1) return file
    fs.closeSync(file)
    if (stat.nlink > 1) throw new UnsafePath('the file has another name, to which it would be written as well')
    throw Object.assign(new Error("a file of somebody else's is in the way"), { code: 'EPERM' })
  }

  /** `false` also once the file has been removed, or has got another name. */
  #takes(file: number, bytes: number): boolean {
    const { size, nlink } = fs.fstatSync(file)
    return nlink === 1 && (size === 0 || size + bytes <= this.#maxFileBytes)
  }
}
