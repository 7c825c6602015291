import { type DropsBySeverity, tally } from '../accounting/ledger.ts'
import type { Severity } from '../accounting/severity.ts'
import type { Line } from '../record/event-to-line.ts'

export const newline = 0x0a

/**
 * Size of the first block of a batch, in bytes. Blocks grow, so that many quiet datasets do not use the memory that
 * busy datasets need.
 */
const firstBlockBytes = 4096
const growth = 4

/** A place between two lines: the number of lines before it, and their bytes. */
export interface Cut {
  readonly count: number
  readonly bytes: number
}

/**
 * Lines in one block of memory, with the severity of each line. Each line ends in a newline, so that the block is a
 * request body as it stands.
 */
export class LineBuffer {
  readonly isInMemory = true
  /** Number of lines. Only `Batch` writes it, and `byteLength`: see `Batch.append`. */
  count: number
  /** Bytes of the lines, newlines included. */
  byteLength: number
  #block: Buffer
  #severities: Uint8Array

  constructor(block: Buffer, severities: Uint8Array = new Uint8Array(64), count = 0, byteLength = 0) {
    this.#block = block
    this.#severities = severities
    this.count = count
    this.byteLength = byteLength
  }

  /** The lines, in the order in which they were added. */
  get bytes(): Buffer {
    return this.#block.subarray(0, this.byteLength)
  }

  /** The severity class of each line. */
  get severities(): Uint8Array {
    return this.#severities.subarray(0, this.count)
  }

  /** Number of lines of each severity. */
  get bySeverity(): DropsBySeverity {
    return tally(this.severities)
  }

  /** The block, including the bytes after the last line. */
  get block(): Buffer {
    return this.#block
  }

  /** Writes a line after the last one, without counting it. The block must have room for the line and a newline. */
  put(severity: Severity, { bytes, length }: Line): void {
    const { byteLength, count } = this
    bytes.copy(this.#block, byteLength, 0, length)
    this.#block[byteLength + length] = newline
    if (count === this.#severities.length) this.#severities = larger(this.#severities)
    this.#severities[count] = severity
  }

  /** Moves the lines to a larger block. */
  moveTo(block: Buffer): void {
    this.#block.copy(block, 0, 0, this.byteLength)
    this.#block = block
  }

  /** Yields each line as text, without its newline. */
  *texts(): Generator<string> {
    const { bytes } = this
    for (let start = 0; start < bytes.length; ) {
      const end = bytes.indexOf(newline, start)
      yield bytes.toString('utf8', start, end)
      start = end + 1
    }
  }

  /** Returns the place after the first `count` lines. */
  after(count: number): Cut {
    const { bytes } = this
    let end = 0
    for (let line = 0; line < count; line++) end = bytes.indexOf(newline, end) + 1
    return { count, bytes: end }
  }

  /**
   * Returns the place after the first lines: as many as fit into `maxBytes`, at least one, and never all. There must be
   * at least two lines.
   */
  within(maxBytes: number): Cut {
    const { bytes } = this
    const lastLineAt = bytes.lastIndexOf(newline, this.byteLength - 2) + 1
    const lastEnd = bytes.lastIndexOf(newline, Math.min(maxBytes, lastLineAt) - 1)
    const end = (lastEnd < 0 ? bytes.indexOf(newline) : lastEnd) + 1
    let count = 0
    for (let at = 0; at < end; at = bytes.indexOf(newline, at) + 1) count++
    return { count, bytes: end }
  }

  /** Returns the lines between two places, in the same block. */
  slice(from: Cut, to: Cut): LineBuffer {
    const severities = this.#severities.subarray(from.count, to.count)
    return new LineBuffer(
      this.#block.subarray(from.bytes, to.bytes),
      severities,
      severities.length,
      to.bytes - from.bytes,
    )
  }

  /** Returns these lines and `next`, which follow them in the same block. */
  withNext(next: LineBuffer): LineBuffer {
    const { buffer, byteOffset } = this.#block
    const severities = this.#severities
    const byteLength = this.byteLength + next.byteLength
    const count = this.count + next.count
    return new LineBuffer(
      Buffer.from(buffer, byteOffset, byteLength),
      new Uint8Array(severities.buffer, severities.byteOffset, count),
      count,
      byteLength,
    )
  }

  /** The place before the first line. */
  get start(): Cut {
    return { count: 0, bytes: 0 }
  }

  /** The place after the last line. */
  get end(): Cut {
    return { count: this.count, bytes: this.byteLength }
  }
}

/** Lines that are only in the store. */
export interface StoredLines {
  readonly isInMemory: false
  count: number
  byteLength: number
  /** Number of lines of each severity, which cannot be counted without the lines. */
  readonly bySeverity: DropsBySeverity
}

/** Returns the smallest of the sizes 4 KiB, 16 KiB, 64 KiB, … that holds so many bytes, but at most `maxBytes`. */
export function blockSize(bytes: number, maxBytes: number): number {
  let size = firstBlockBytes
  while (size < bytes) size *= growth
  return Math.min(size, maxBytes)
}

function larger(severities: Uint8Array): Uint8Array {
  const copy = new Uint8Array(severities.length * growth)
  copy.set(severities)
  return copy
}
