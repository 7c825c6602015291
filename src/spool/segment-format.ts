import { isDatasetName } from '../options/dataset-name.ts'
import { builtinModule } from '../options/node-version.ts'

const { crc32 } = builtinModule('node:zlib') // as in compression.ts
const { isUtf8 } = builtinModule('node:buffer')

/**
 * A segment is a file of records, one for each line:
 *
 *     bytes  0–3   mark: FF FE 4C 46, of which the first two never occur in UTF-8
 *            4–7   CRC-32 of all that follows in the record
 *            8–11  bytes of the line, its newline included
 *           12–15  number of the line in its segment, from 0
 *              16  class of severity; 255 in the record that ends a segment, whose number is the count of lines
 *              17  version of the format: 1
 *           18–19  bytes of the dataset's name
 *               …  the dataset's name, then the line: UTF-8
 *
 * Integers are little-endian. Each record tells all that is needed to deliver its line, so that what is damaged elsewhere
 * does not matter to it.
 */
const headBytes = 20
const mark = Buffer.from([0xff, 0xfe, 0x4c, 0x46])
const markNumber = mark.readUInt32LE()
const version = 1
const endOfSegment = 255
/** The last of the six classes of severity: fatal. */
const maxSeverity = 5
/** Characters of a dataset's name, each of at most three bytes. */
const maxDatasetBytes = 3 * 1024
/** `{}` and its newline, and the largest event that may be configured. */
const minLineBytes = 3
const maxLineBytes = 16_777_216
/**
 * Bytes past which a file is not read: more than any segment of ours. A batch has at most 16 MiB in 100 000 lines, and each
 * line a head and the name of the dataset.
 */
export const maxSegmentBytes = 67_108_864
const minRecordBytes = headBytes + 1 + minLineBytes
/** Bytes in which the next mark is looked for before `indexOf` is called, which costs more than the record of a fake head. */
const nearBytes = 64

/** How long the record of a line is, or with no line, that which ends a segment. */
export function recordBytes(dataset: Uint8Array, lineBytes: number): number {
  return headBytes + dataset.length + lineBytes
}

/** How long a segment of so many lines is, which take so many bytes. */
export function segmentBytes(dataset: Uint8Array, count: number, linesBytes: number): number {
  return (count + 1) * recordBytes(dataset, 0) + linesBytes
}

/** Writes the record of the line that stands from `from` to `to` in `lines`; returns where it ends in `target`. */
export function writeRecord(
  target: Buffer,
  at: number,
  dataset: Uint8Array,
  number: number,
  severity: number,
  lines: Uint8Array,
  from: number,
  to: number,
): number {
  target.set(dataset, at + headBytes)
  target.set(lines.subarray(from, to), at + headBytes + dataset.length)
  return writeHead(target, at, dataset.length, to - from, number, severity)
}

/** Writes the record that ends a segment of so many lines; returns where it ends in `target`. */
export function writeEnd(target: Buffer, at: number, dataset: Uint8Array, count: number): number {
  target.set(dataset, at + headBytes)
  return writeHead(target, at, dataset.length, 0, count, endOfSegment)
}

function writeHead(
  target: Buffer,
  at: number,
  datasetBytes: number,
  lineBytes: number,
  number: number,
  severity: number,
): number {
  const end = at + headBytes + datasetBytes + lineBytes
  target.writeUInt32LE(markNumber, at)
  target.writeUInt32LE(lineBytes, at + 8)
  target.writeUInt32LE(number, at + 12)
  target[at + 16] = severity
  target[at + 17] = version
  target.writeUInt16LE(datasetBytes, at + 18)
  target.writeUInt32LE(crc32(target.subarray(at + 8, end)), at + 4)
  return end
}

/** An intact record of a line. */
export interface SegmentRecord {
  /** Where it begins in the file. */
  readonly at: number
  readonly number: number
  readonly severity: number
  readonly dataset: Buffer
  readonly line: Buffer
}

/** An intact record whose line must not be sent. */
export interface RefusedRecord {
  readonly dataset: string
  readonly line: string
  readonly reason: string
}

/** What a segment holds. */
export interface SegmentContent {
  /** `undefined` when not one record can be sent. */
  readonly dataset: string | undefined
  /** The lines that can be sent, one after the other, newlines included; a part of the file's own bytes. */
  readonly lines: Buffer
  readonly severities: Uint8Array
  /** Lines that are known to have been there and are damaged, missing or refused: of a torn end, one is. */
  readonly lost: number
  readonly refused: readonly RefusedRecord[]
}

/** Returns why a line must not be sent, `undefined` if it may be. */
export type Refusal = (record: SegmentRecord) => string | undefined

/** Reads a whole segment at once. */
export function readSegment(bytes: Buffer, refusal?: Refusal): SegmentContent {
  const reader = new SegmentReader(bytes, refusal)
  while (reader.step());
  return reader.content()
}

/**
 * Finds the intact records among the bytes of a segment, whatever has happened to the others. A record that stands there
 * twice is taken once. The bytes are used up: the lines are moved together in them.
 *
 * The time is linear in the bytes, whatever they are: a head is checked only if its record ends before the next mark.
 */
export class SegmentReader {
  readonly #bytes: Buffer
  readonly #refusal: Refusal
  readonly #severities: number[] = []
  /** Numbers of the lines that are taken. */
  readonly #taken = new Set<number>()
  readonly #refused: RefusedRecord[] = []
  #dataset: Buffer | undefined
  #at = 0
  #count = 0
  #linesEnd = 0
  #isEnded = false
  #damagedFrom: number | undefined

  constructor(bytes: Buffer, refusal: Refusal = () => undefined) {
    this.#bytes = bytes
    this.#refusal = refusal
  }

  /** Reads one record, or passes over one damaged place; `false` at the end of the bytes. */
  step(): boolean {
    const at = this.#at
    if (at >= this.#bytes.length) return false
    const record = recordAt(this.#bytes, at)
    if (record === undefined) {
      this.#damagedFrom ??= at
      this.#at = nextMark(this.#bytes, at + 1)
      return true
    }
    this.#damagedFrom = undefined
    this.#at = record.end
    if (record.severity !== endOfSegment) {
      this.#count = Math.max(this.#count, record.number + 1)
      this.#take(record)
    } else if (this.#isExpected(record.dataset)) {
      this.#isEnded = true
      this.#count = Math.max(this.#count, record.number)
    }
    return true
  }

  content(): SegmentContent {
    const [bytes, damagedFrom] = [this.#bytes, this.#damagedFrom]
    const isTorn = damagedFrom !== undefined && !this.#isEnded && !isEndAt(bytes, damagedFrom, this.#dataset)
    // A number says how many lines there were, but not more than such a file can hold.
    const count = Math.min(this.#count, Math.floor(bytes.length / minRecordBytes))
    return {
      dataset: this.#dataset?.toString('utf8'),
      lines: bytes.subarray(0, this.#linesEnd),
      severities: Uint8Array.from(this.#severities),
      lost: Math.max(count - this.#taken.size, 0) + (isTorn ? 1 : 0),
      refused: this.#refused,
    }
  }

  #take(record: FoundRecord): void {
    if (this.#taken.has(record.number)) return
    const reason = this.#isExpected(record.dataset) ? this.#refusal(record) : 'its dataset is not that of the segment'
    if (reason !== undefined) {
      this.#refused.push({ dataset: String(record.dataset), line: String(record.line), reason })
      return
    }
    this.#taken.add(record.number)
    this.#dataset ??= Buffer.from(record.dataset) // a copy: the lines are about to be moved over it
    const { end, line } = record
    this.#bytes.copyWithin(this.#linesEnd, end - line.length, end)
    this.#linesEnd += line.length
    this.#severities.push(record.severity)
  }

  /** True for the one dataset of the segment, which the first record with a valid name decides. */
  #isExpected(dataset: Buffer): boolean {
    return this.#dataset === undefined ? isDataset(dataset) : this.#dataset.equals(dataset)
  }
}

interface FoundRecord extends SegmentRecord {
  readonly end: number
}

function recordAt(bytes: Buffer, at: number): FoundRecord | undefined {
  if (at + headBytes > bytes.length || bytes.readUInt32LE(at) !== markNumber || bytes[at + 17] !== version) return
  const severity = bytes[at + 16] as number
  const lineBytes = bytes.readUInt32LE(at + 8)
  const datasetBytes = bytes.readUInt16LE(at + 18)
  if (datasetBytes > maxDatasetBytes || !isPlausible(severity, lineBytes)) return
  const datasetStart = at + headBytes
  const lineStart = datasetStart + datasetBytes
  const end = lineStart + lineBytes
  // No text has a mark in it: what has one is no record, and its checksum need not be computed.
  if (end > bytes.length || nextMark(bytes, datasetStart) < end) return
  if (crc32(bytes.subarray(at + 8, end)) !== bytes.readUInt32LE(at + 4)) return
  return {
    at,
    number: bytes.readUInt32LE(at + 12),
    severity,
    dataset: bytes.subarray(datasetStart, lineStart),
    line: bytes.subarray(lineStart, end),
    end,
  }
}

function isPlausible(severity: number, lineBytes: number): boolean {
  if (severity === endOfSegment) return lineBytes === 0
  return severity <= maxSeverity && lineBytes >= minLineBytes && lineBytes <= maxLineBytes
}

/** Where the next mark begins, or the bytes end. */
function nextMark(bytes: Buffer, from: number): number {
  const nearEnd = Math.min(from + nearBytes, bytes.length - mark.length + 1)
  for (let at = from; at < nearEnd; at++) if (bytes[at] === mark[0] && bytes.readUInt32LE(at) === markNumber) return at
  const next = nearEnd < from + nearBytes ? -1 : bytes.indexOf(mark, nearEnd)
  return next < 0 ? bytes.length : next
}

function isDataset(name: Buffer): boolean {
  return isUtf8(name) && isDatasetName(name.toString('utf8'))
}

/** Whether it is the record of the end that is damaged there. It is shorter than that of any line, and two fields tell it. */
function isEndAt(bytes: Buffer, at: number, dataset: Uint8Array | undefined): boolean {
  if (dataset === undefined || bytes.length - at > recordBytes(dataset, 0)) return false
  if (bytes[at + 16] === endOfSegment) return true
  return at + 12 <= bytes.length && bytes.readUInt32LE(at) === markNumber && bytes.readUInt32LE(at + 8) === 0
}
