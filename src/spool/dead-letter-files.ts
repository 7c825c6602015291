import { isOurs, UnsafePath } from '../files/private-directory.ts'
import { isDatasetName } from '../options/dataset-name.ts'
import { withoutByteOrderMark } from '../text/without-byte-order-mark.ts'
import { fs, noFollow, nonBlocking } from './node-fs.ts'

/** A line of a file of refused events. */
interface LetterLine {
  /** Number of the line in its file, from 1. */
  readonly number: number
  readonly line: string
}

/** A refused event. */
export interface Letter extends LetterLine {
  readonly kind: 'event'
  readonly dataset: string
  readonly event: Readonly<Record<string, unknown>>
  readonly status: unknown
  readonly reason: string
}

/** A line that names no event: the service did not say which one it refused, or a record was no event. */
export interface LetterWithoutEvent extends LetterLine {
  readonly kind: 'no-event'
  readonly dataset: string
  readonly reason: string
}

/** A line that is no refused event, for example after an edit. */
export interface UnreadableLetter extends LetterLine {
  readonly kind: 'unreadable'
  readonly reason: string
}

/**
 * Maximum size of a file that is read, in bytes. An application starts a new file at 8 MiB. `spool send` starts none, and
 * `resend-rejected` may put two files back into one.
 */
export const maxLettersBytes = 268_435_456

/** Thrown for a file of refused events that is too large to be read. */
export class TooLarge extends Error {}

const newline = 0x0a

/**
 * Reads a file of refused events. Returns `undefined` if the file does not exist.
 *
 * @throws UnsafePath if the file may be another program's
 * @throws TooLarge
 * @throws any error from the disk
 */
export function readLettersFile(path: string): Buffer | undefined {
  const file = openLetters(path, fs.constants.O_RDONLY)
  if (file === undefined) return undefined
  try {
    const { size } = fs.fstatSync(file)
    if (size > maxLettersBytes) throw tooLarge(path)
    return fs.readFileSync(file)
  } finally {
    fs.closeSync(file)
  }
}

export function tooLarge(path: string): TooLarge {
  return new TooLarge(`${path} has more than ${maxLettersBytes / 1_048_576} MiB`)
}

/**
 * Opens a file of refused events. Returns `undefined` if the file does not exist.
 *
 * @throws UnsafePath if the file is a link, a pipe, or another user's
 * @throws any error from the disk
 */
export function openLetters(path: string, flags: number): number | undefined {
  let file: number
  try {
    file = fs.openSync(path, flags | noFollow | nonBlocking, 0o600)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return undefined
    if (code === 'ELOOP' || code === 'ENXIO') throw new UnsafePath(`${path} is not a regular file`)
    throw error
  }
  const stat = fs.fstatSync(file)
  if (stat.isFile() && isOurs(stat.uid)) return file
  fs.closeSync(file)
  throw new UnsafePath(`${path} is not a regular file of this user`)
}

/** True if the last line of an open file has no end: the disk was full, or the process died while it wrote. */
export function isTorn(file: number): boolean {
  const { size } = fs.fstatSync(file)
  const last = Buffer.alloc(1)
  return size > 0 && fs.readSync(file, last, 0, 1, size - 1) === 1 && last[0] !== newline
}

/** Yields the lines of a file of refused events. Blank lines are skipped, but have numbers. */
export function* lettersIn(bytes: Buffer): Generator<Letter | LetterWithoutEvent | UnreadableLetter> {
  for (const line of linesIn(bytes)) yield letterOf(line)
}

/** Yields the lines of a file that are not blank. */
export function* linesIn(bytes: Buffer): Generator<LetterLine> {
  let number = 0
  for (let start = 0; start < bytes.length; ) {
    const found = bytes.indexOf(newline, start)
    const end = found === -1 ? bytes.length : found
    const line = bytes.toString('utf8', start, end)
    number++
    if (line.trim() !== '') yield { number, line }
    start = end + 1
  }
}

function letterOf({ number, line }: LetterLine): Letter | LetterWithoutEvent | UnreadableLetter {
  const unreadable = (reason: string) => ({ kind: 'unreadable', number, line, reason }) as const
  const letter = parsed(line)
  if (letter === undefined) return unreadable('it is no JSON')
  if (!isObject(letter)) return unreadable('it is no JSON object')
  const { dataset, event, status, reason } = { ...bare, ...letter }
  if (!isDatasetName(dataset)) return unreadable('its dataset is missing, or no valid name')
  const why = typeof reason === 'string' ? reason : ''
  return isObject(event)
    ? { kind: 'event', number, line, dataset, event, status, reason: why }
    : { kind: 'no-event', number, line, dataset, reason: why }
}

/** Fields that a dead letter may lack. Without these, `Object.prototype` could add such a field. */
const bare: Readonly<Record<'dataset' | 'event' | 'status' | 'reason', unknown>> = {
  dataset: undefined,
  event: undefined,
  status: undefined,
  reason: undefined,
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(withoutByteOrderMark(line))
  } catch {
    return undefined
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
