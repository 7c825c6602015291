import { builtinModule } from '../node-version.ts'
import { isDatasetName } from '../options/dataset-name.ts'

const { crc32 } = builtinModule('node:zlib') // not by `import`, as in delivery/compressors.ts
const { isUtf8 } = builtinModule('node:buffer')

/**
 * A segment is a file of records: one line record for each line, and an end record when the segment is sealed.
 *
 *     bytes  0–3   mark: FF FE 4C 46; the first two bytes never occur in UTF-8
 *            4–7   CRC-32 of the rest of the record
 *            8–11  bytes of the line, its newline included; 0 in the end record
 *           12–15  number of the line in its segment, from 0; in the end record, the number of lines
 *              16  class of severity; 255 in the end record
 *              17  version of the format: 1
 *           18–19  bytes of the dataset's name
 *               …  the dataset's name, then the line: UTF-8
 *
 * Integers are little-endian. Bytes 0–19 are the head of a record. Each record has everything that is needed to deliver
 * its line, so damage elsewhere in the file does not affect it.
 */
const headBytes = 20
const mark = Buffer.from([0xff, 0xfe, 0x4c, 0x46])
const markNumber = mark.readUInt32LE()
const version = 1
const endOfSegment = 255
/** The highest of the six severities: fatal. */
const maxSeverity = 5
/** A dataset's name has at most 1024 characters, each of at most three bytes in UTF-8. */
const maxDatasetBytes = 3 * 1024
/** Ends each line. */
export const newline = 0x0a
/** The smallest line is `{}` and its newline; the largest is the largest event that an application may configure. */
const minLineBytes = 3
const maxLineBytes = 16_777_216
/**
 * Maximum size of a file that is read, in bytes. A batch has at most 16 MiB in 100 000 lines, and each line adds a head
 * and the dataset's name. Every batch fits if the name has at most 483 bytes.
 */
export const maxSegmentBytes = 67_108_864
const minRecordBytes = headBytes + 1 + minLineBytes
/**
 * Number of bytes searched in a loop for the next mark before `indexOf` is called. For a short forged record, calling
 * `indexOf` costs more than the loop.
 */
const nearBytes = 64

let latestName = { dataset: '', bytes: Buffer.alloc(0) }

/**
 * Returns the name of a dataset in UTF-8. Tens of thousands of segments need their names only to write a record, so none
 * keeps the bytes.
 */
export function nameBytes(dataset: string): Uint8Array {
  if (dataset !== latestName.dataset) latestName = { dataset, bytes: Buffer.from(dataset) }
  return latestName.bytes
}

/** Returns the length of a line record in bytes; with `lineBytes` 0, the length of the end record. */
export function recordBytes(dataset: Uint8Array, lineBytes: number): number {
  return headBytes + dataset.length + lineBytes
}

/** Returns the length in bytes of a sealed segment of `count` lines that take `linesBytes` together. */
export function segmentBytes(dataset: Uint8Array, count: number, linesBytes: number): number {
  return (count + 1) * recordBytes(dataset, 0) + linesBytes
}

/** Writes the record of the line at `from` to `to` in `lines`. Returns the end of the record in `target`. */
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

/** Writes the end record of a segment of `count` lines. Returns the end of the record in `target`. */
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

/** An intact line record. */
export interface SegmentRecord {
  /** Position of the record in the file. */
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

/** The content read from a segment. */
export interface SegmentContent {
  /** `undefined` if no record can be sent. */
  readonly dataset: string | undefined
  /** The lines that can be sent, in file order, newlines included. This is a part of the buffer that was read. */
  readonly lines: Buffer
  readonly severities: Uint8Array
  /** Number of lines known to be damaged, missing or refused. A torn end counts as one line. */
  readonly lost: number
  readonly refused: readonly RefusedRecord[]
}

/** A part of a segment, for a reader that explains damage. */
export type SegmentPart =
  | { readonly kind: 'line'; readonly record: SegmentRecord }
  | { readonly kind: 'end'; readonly lines: number }
  /** Bytes that are no record. */
  | { readonly kind: 'damaged'; readonly from: number; readonly to: number }

/** Yields the parts of a segment in their order, and leaves the bytes as they are. Takes linear time, as `SegmentReader`. */
export function* partsOf(bytes: Buffer): Generator<SegmentPart> {
  for (let at = 0; at < bytes.length; ) {
    const record = recordAt(bytes, at)
    if (record === undefined) {
      const from = at
      do at = nextMark(bytes, at + 1)
      while (at < bytes.length && recordAt(bytes, at) === undefined)
      yield { kind: 'damaged', from, to: at }
      continue
    }
    at = record.end
    if (record.severity === endOfSegment) yield { kind: 'end', lines: record.number }
    else yield { kind: 'line', record }
  }
}

/** True if the last record is the end record: the segment does not grow any more. */
export function isSealed(bytes: Buffer): boolean {
  const at = bytes.lastIndexOf(mark)
  const last = at === -1 ? undefined : recordAt(bytes, at)
  return last?.severity === endOfSegment && last.end === bytes.length
}

/** Returns the reason why a line must not be sent, or `undefined` if it may be sent. */
export type LineCheck = (record: SegmentRecord) => string | undefined

/** Reads a whole segment at once. */
export function readSegment(bytes: Buffer, check?: LineCheck): SegmentContent {
  const reader = new SegmentReader(bytes, check)
  while (reader.step());
  return reader.content()
}

/**
 * Finds the intact records among the bytes of a segment, whatever happened to the other records. A record that occurs
 * twice is taken once. The reader consumes the bytes: it moves the lines together in the same buffer.
 *
 * Reading takes linear time for any content: the checksum of a record is computed only if the record ends before the
 * next mark.
 */
export class SegmentReader {
  readonly #bytes: Buffer
  readonly #check: LineCheck
  readonly #severities: number[] = []
  /** Numbers of the lines taken. */
  readonly #taken = new Set<number>()
  readonly #refused: RefusedRecord[] = []
  readonly #onRefused: (refused: RefusedRecord) => void
  #dataset: Buffer | undefined
  #at = 0
  #count = 0
  #linesEnd = 0
  #isEnded = false
  #damagedFrom: number | undefined

  /** @param onRefused gets the refused records one by one, in place of the content: a file may have millions of them */
  constructor(bytes: Buffer, check: LineCheck = () => undefined, onRefused?: (refused: RefusedRecord) => void) {
    this.#bytes = bytes
    this.#check = check
    this.#onRefused = onRefused ?? (refused => this.#refused.push(refused))
  }

  /** Reads one record, or skips one damaged place. Returns false at the end of the bytes. */
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
    // The highest record number gives the number of lines, limited to the number that a file of this size can hold.
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
    const reason = this.#isExpected(record.dataset) ? this.#check(record) : 'its dataset is not that of the segment'
    if (reason !== undefined) {
      this.#onRefused({ dataset: String(record.dataset), line: String(record.line), reason })
      return
    }
    this.#taken.add(record.number)
    this.#dataset ??= Buffer.from(record.dataset) // a copy: the lines are about to be moved over the name
    const { end, line } = record
    this.#bytes.copyWithin(this.#linesEnd, end - line.length, end)
    this.#linesEnd += line.length
    this.#severities.push(record.severity)
  }

  /** True for the dataset of the segment. The first record taken with a valid name determines it. */
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
  // A dataset and a line never contain a mark. A record with a mark inside is damaged, so its checksum is not computed.
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

/** Returns the position of the next mark, or the length of the bytes if there is none. */
function nextMark(bytes: Buffer, from: number): number {
  const nearEnd = Math.min(from + nearBytes, bytes.length - mark.length + 1)
  for (let at = from; at < nearEnd; at++) if (bytes[at] === mark[0] && bytes.readUInt32LE(at) === markNumber) return at
  const next = nearEnd < from + nearBytes ? -1 : bytes.indexOf(mark, nearEnd)
  return next < 0 ? bytes.length : next
}

function isDataset(name: Buffer): boolean {
  return isUtf8(name) && isDatasetName(name.toString('utf8'))
}

/**
 * True if the damaged record is the end record, which is shorter than any line record. Either of two fields identifies
 * it: the severity 255, or a line of 0 bytes after an intact mark.
 */
function isEndAt(bytes: Buffer, at: number, dataset: Uint8Array | undefined): boolean {
  if (dataset === undefined || bytes.length - at > recordBytes(dataset, 0)) return false
  if (bytes[at + 16] === endOfSegment) return true
  return at + 12 <= bytes.length && bytes.readUInt32LE(at) === markNumber && bytes.readUInt32LE(at + 8) === 0
}
