import { join } from 'node:path'
import { assertPrivate, isOurs, UnsafePath } from '../files/private-directory.ts'
import { ownProperties } from '../own-properties.ts'
import { adopt, type Claim, removeDirectory } from './claim.ts'
import {
  isTorn,
  type Letter,
  type LetterWithoutEvent,
  lettersIn,
  linesIn,
  maxLettersBytes,
  openLetters,
  readLettersFile,
  tooLarge,
  type UnreadableLetter,
} from './dead-letter-files.ts'
import { deadLettersName, olderDeadLettersName, resendName } from './file-names.ts'
import { fs } from './node-fs.ts'

/** A refused event in the directory, and the key by which it is settled. */
export type TakenLetter = (Letter | LetterWithoutEvent | UnreadableLetter) & { readonly key: string }

/** The files that the refused events are moved to, oldest first. */
const moves = [
  { from: olderDeadLettersName, to: '1.ndjson' },
  { from: deadLettersName, to: '2.ndjson' },
] as const
/** A second name of a moved file. Applications write only to a file with one name, so they start a new file. */
const secondName = (file: string) => `${file}.taken`
/**
 * Keys of the settled events, one line each. The file has its full length from the start, filled with blanks, so that keys
 * can be noted on a disk that has become full.
 */
const settledName = 'settled'
/** Exists while events are put back. If the process ends meanwhile, some of them may be back already. */
const restoringName = 'restoring'
const { O_APPEND, O_CREAT, O_RDONLY, O_RDWR, O_TRUNC, O_WRONLY } = fs.constants
const empty = Buffer.alloc(0)

/**
 * The refused events of a spool while they are sent again:
 *
 *     taken:      rejected.ndjson ──▶ rejected.resend/2.ndjson     applications start a new rejected.ndjson
 *     settled:    its key is added to rejected.resend/settled      the service has taken the event
 *     put back:   all that are not settled ──▶ rejected.ndjson     then the directory is removed
 *
 * If the process dies at any moment, the next process puts back the events that are not settled. An event can then be sent
 * twice only if the process died between the answer of the service and the note of its key.
 */
export class ResendDirectory {
  readonly #root: string
  readonly #path: string
  readonly #claim: Claim
  readonly #settledKeys = new Set<string>()
  #settled: number | undefined
  /** Bytes of the keys in the file. */
  #settledBytes = 0

  private constructor(root: string, path: string, claim: Claim) {
    this.#root = root
    this.#path = path
    this.#claim = claim
  }

  /**
   * Claims the directory. Returns `undefined` if another process is sending refused events again.
   *
   * @throws UnsafePath if another user could have put the contents there
   * @throws any error from the disk
   */
  static async open(root: string): Promise<ResendDirectory | undefined> {
    const path = join(root, resendName)
    assertPrivate(root)
    try {
      fs.mkdirSync(path, { mode: 0o700 })
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
    assertPrivate(path)
    if (!fs.lstatSync(path).isDirectory()) throw new UnsafePath(`${path} is not a directory`)
    const claim = await adopt(path)
    return claim && new ResendDirectory(root, path, claim)
  }

  /**
   * Moves the refused events here. An earlier run must have been put back before.
   *
   * @throws UnsafePath if a file may be another program's; then nothing is moved
   * @throws any error from the disk, for example if it has no room for the keys; then nothing is moved
   */
  moveIn(): void {
    const present = moves.filter(({ from }) => isOwnFile(join(this.#root, from)))
    this.#makeSettled(present.reduce((sum, { from, to }) => sum + keyBytesOf(join(this.#root, from), to), 0))
    for (const { from, to } of present) {
      if (moveIfThere(join(this.#root, from), join(this.#path, to))) this.#giveSecondName(to)
    }
  }

  /** File systems without second names let applications go on writing to the moved file, which `putBack` reads again. */
  #giveSecondName(file: string): void {
    try {
      fs.linkSync(join(this.#path, file), join(this.#path, secondName(file)))
    } catch (error) {
      const { code = '' } = error as NodeJS.ErrnoException
      if (!['EPERM', 'ENOSYS', 'ENOTSUP', 'EOPNOTSUPP', 'EMLINK'].includes(code)) throw error
    }
  }

  /** Yields the refused events, oldest first. */
  *letters(): Generator<TakenLetter> {
    for (const { to } of moves) {
      for (const letter of lettersIn(readLettersFile(join(this.#path, to)) ?? empty))
        yield { ...letter, key: keyOf(to, letter.number) }
    }
  }

  #makeSettled(bytes: number): void {
    this.#settled = openLetters(join(this.#path, settledName), O_WRONLY | O_CREAT | O_TRUNC) as number
    writeAll(this.#settled, Buffer.alloc(bytes, ' '), 0)
  }

  /**
   * Notes that an event must not be put back: it was delivered, or is in `rejected.ndjson` with a new reason. If the note
   * cannot be written, it holds for this process. Never throws.
   */
  settle({ key }: TakenLetter): void {
    this.#settledKeys.add(key)
    if (this.#settled === undefined) return
    const bytes = Buffer.from(`${key}\n`)
    try {
      writeAll(this.#settled, bytes, this.#settledBytes)
      this.#settledBytes += bytes.length
    } catch {
      // The next key is written in the place of this one.
    }
  }

  /**
   * Puts all events that are not settled back into `rejected.ndjson`. Returns their number.
   *
   * @throws any error from the disk: then the next call, or the next process, puts them back
   */
  putBack(): number {
    const settled = new Set([...keysIn(readLettersFile(join(this.#path, settledName))), ...this.#settledKeys])
    const marker = join(this.#path, restoringName)
    const mayBeBack = fs.existsSync(marker)
    let count = 0
    for (let rest = this.#unsettled(settled); rest.length > count; rest = this.#unsettled(settled)) {
      fs.closeSync(openLetters(marker, O_WRONLY | O_CREAT) as number)
      const newLines = rest.slice(count)
      this.#append(mayBeBack && count === 0 ? this.#withoutThoseBack(newLines) : newLines)
      count = rest.length // and again, if an application has written to a moved file meanwhile
    }
    this.#removeFiles()
    return count
  }

  /** Ends the claim, and removes the directory if it is empty. */
  close(): void {
    this.#closeSettled()
    this.#claim.release()
    try {
      removeDirectory(this.#path)
    } catch {
      // Events that could not be put back are still in it, or another process has claimed it.
    }
  }

  #unsettled(settled: ReadonlySet<string>): string[] {
    return unsettledIn(this.#path, settled)
  }

  /** Leaves out lines that an interrupted call has put back already. */
  #withoutThoseBack(lines: readonly string[]): string[] {
    const back = new Map<string, number>()
    for (const { from } of moves) {
      for (const { line } of linesIn(readLettersFile(join(this.#root, from)) ?? empty)) {
        back.set(line, (back.get(line) ?? 0) + 1)
      }
    }
    return lines.filter(line => {
      const count = back.get(line) ?? 0
      back.set(line, count - 1)
      return count <= 0
    })
  }

  /** Appends lines to `rejected.ndjson`. Returns when a power failure can no longer lose them. */
  #append(lines: readonly string[]): void {
    if (lines.length === 0) return
    const path = join(this.#root, deadLettersName)
    isOwnFile(path) // throws if the events would go elsewhere
    const file = openLetters(path, O_RDWR | O_CREAT | O_APPEND) as number
    try {
      const bytes = Buffer.from(`${isTorn(file) ? '\n' : ''}${lines.join('\n')}\n`)
      writeAll(file, bytes)
      fs.fdatasyncSync(file)
    } finally {
      fs.closeSync(file)
    }
    syncDirectory(this.#root) // the file may be new
  }

  #removeFiles(): void {
    this.#closeSettled()
    // The keys and the marker last: without them, settled events would be put back.
    for (const { to } of moves)
      for (const name of [secondName(to), to]) fs.rmSync(join(this.#path, name), { force: true })
    for (const name of [settledName, restoringName]) fs.rmSync(join(this.#path, name), { force: true })
  }

  #closeSettled(): void {
    if (this.#settled !== undefined) fs.closeSync(this.#settled)
    this.#settled = undefined
  }
}

/** Returns the number of events that a run has taken, and has not put back yet. Changes nothing. */
export function countTaken(root: string): number {
  const path = join(root, resendName)
  return unsettledIn(path, keysIn(readLettersFile(join(path, settledName)))).length
}

function unsettledIn(path: string, settled: ReadonlySet<string>): string[] {
  return moves.flatMap(({ to }) => {
    const lines = [...linesIn(readLettersFile(join(path, to)) ?? empty)]
    return lines.filter(({ number }) => !settled.has(keyOf(to, number))).map(({ line }) => line)
  })
}

/** Writes the bytes at a position; at the end of a file in append mode. */
function writeAll(file: number, bytes: Buffer, position?: number): void {
  for (let at = 0; at < bytes.length; ) {
    at += fs.writeSync(file, bytes, at, bytes.length - at, position === undefined ? null : position + at)
  }
}

/** Returns the number of bytes that the keys of a file's lines take, each with its line break. */
function keyBytesOf(path: string, movedTo: string): number {
  let bytes = 0
  for (const { number } of linesIn(readLettersFile(path) ?? empty)) bytes += keyOf(movedTo, number).length + 1
  return bytes
}

function keyOf(file: string, line: number): string {
  return `${file}:${line}`
}

/** Returns the keys in a file. A last line without an end may be the beginning of another key, and does not count. */
function keysIn(bytes: Buffer | undefined): Set<string> {
  return new Set(bytes?.toString('utf8').split('\n').slice(0, -1))
}

/** Returns false if an application has renamed the full file meanwhile. The next run takes its events. */
function moveIfThere(from: string, to: string): boolean {
  try {
    fs.renameSync(from, to)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    return false
  }
}

/**
 * Returns false if there is no file.
 *
 * @throws UnsafePath if the file is a link or a pipe, belongs to another user, has a second name, or is too large to read
 */
function isOwnFile(path: string): boolean {
  const stat = fs.lstatSync(path, ownProperties({ throwIfNoEntry: false }))
  if (stat === undefined) return false
  if (stat.size > maxLettersBytes) throw tooLarge(path)
  if (stat.isFile() && isOurs(stat.uid) && stat.nlink === 1) return true
  throw new UnsafePath(`${path} is not a regular file of this user with one name`)
}

/** Makes the names in a directory survive a power failure, on platforms that can. */
function syncDirectory(path: string): void {
  let directory: number | undefined
  try {
    directory = fs.openSync(path, O_RDONLY)
    fs.fsyncSync(directory)
  } catch {
    // Windows opens no directory, and some file systems do not sync one.
  } finally {
    if (directory !== undefined) fs.closeSync(directory)
  }
}
