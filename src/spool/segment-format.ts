const { crc32 } = process.getBuiltinModule('node:zlib') // as in compression.ts

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

/** What a segment holds. */
export interface SegmentContent {
  /** `undefined` when not one record is intact. */
  readonly dataset: string | undefined
  /** The intact lines, one after the other, newlines included; a part of the file's own bytes. */
  readonly lines: Buffer
  readonly severities: Uint8Array
  /** Lines that are known to have been there and are damaged or missing: of a torn end, one is. */
  readonly lost: number
}

/**
 * Finds the intact records among the bytes of a segment, whatever has happened to the others. What stands there twice is
 * taken once. The bytes are used up: the lines are moved together in them.
 */
export function readSegment(bytes: Buffer): SegmentContent {
  const severities: number[] = []
  const seen = new Set<number>()
  let dataset: Buffer | undefined
  let count = 0
  let linesEnd = 0
  let isEnded = false
  let damagedFrom: number | undefined
  for (let at = 0; at < bytes.length; ) {
    const record = recordAt(bytes, at)
    if (record === undefined) {
      damagedFrom ??= at
      const next = bytes.indexOf(mark, at + 1)
      at = next < 0 ? bytes.length : next
      continue
    }
    damagedFrom = undefined
    at = record.end
    if (record.severity === endOfSegment) {
      isEnded = true
      count = Math.max(count, record.number)
      continue
    }
    count = Math.max(count, record.number + 1)
    if (seen.has(record.number)) continue
    seen.add(record.number)
    dataset ??= Buffer.from(record.dataset) // a copy: the lines are about to be moved over it
    bytes.copyWithin(linesEnd, record.lineStart, record.end)
    linesEnd += record.end - record.lineStart
    severities.push(record.severity)
  }
  const isTorn = damagedFrom !== undefined && !isEnded && !isEndAt(bytes, damagedFrom, dataset)
  return {
    dataset: dataset?.toString('utf8'),
    lines: bytes.subarray(0, linesEnd),
    severities: Uint8Array.from(severities),
    lost: count - seen.size + (isTorn ? 1 : 0),
  }
}

interface Found {
  readonly number: number
  readonly severity: number
  readonly dataset: Buffer
  readonly lineStart: number
  readonly end: number
}

function recordAt(bytes: Buffer, at: number): Found | undefined {
  if (at + headBytes > bytes.length || bytes.readUInt32LE(at) !== markNumber || bytes[at + 17] !== version) return
  const datasetStart = at + headBytes
  const lineStart = datasetStart + bytes.readUInt16LE(at + 18)
  const end = lineStart + bytes.readUInt32LE(at + 8)
  if (end > bytes.length || crc32(bytes.subarray(at + 8, end)) !== bytes.readUInt32LE(at + 4)) return
  return {
    number: bytes.readUInt32LE(at + 12),
    severity: bytes[at + 16] as number,
    dataset: bytes.subarray(datasetStart, lineStart),
    lineStart,
    end,
  }
}

/** Whether it is the record of the end that is damaged there. It is shorter than that of any line, and two fields tell it. */
function isEndAt(bytes: Buffer, at: number, dataset: Uint8Array | undefined): boolean {
  if (dataset === undefined || bytes.length - at > recordBytes(dataset, 0)) return false
  if (bytes[at + 16] === endOfSegment) return true
  return at + 12 <= bytes.length && bytes.readUInt32LE(at) === markNumber && bytes.readUInt32LE(at + 8) === 0
}
