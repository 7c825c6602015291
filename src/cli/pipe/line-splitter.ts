const newline = 0x0a
const firstCapacity = 65_536
/** Maximum capacity that is kept for the next line, in bytes. */
const maxKeptCapacity = 1_048_576

/**
 * Splits chunks of bytes into texts of whole lines. Bytes that are not UTF-8 become replacement characters. Of a line
 * that is too long, only the beginning is kept.
 */
export class LineSplitter {
  readonly #maxLineBytes: number
  /** The beginning of a line whose end has not come yet. */
  #rest = Buffer.alloc(0)
  #restBytes = 0
  #isTooLong = false
  /** Number of lines that were too long. */
  tooLong = 0

  constructor(maxLineBytes: number) {
    this.#maxLineBytes = maxLineBytes
  }

  /** Returns the lines that are whole now, one or more in each text, each with its newline. */
  push(chunk: Buffer): string[] {
    const end = chunk.lastIndexOf(newline) + 1
    if (end === 0) {
      this.#keep(chunk)
      return []
    }
    const texts: string[] = []
    let start = 0
    if (this.#restBytes > 0) {
      start = chunk.indexOf(newline) + 1
      this.#keep(chunk.subarray(0, start - 1))
      texts.push(`${this.#take()}\n`)
    }
    // A single line can be too long only if chunks are longer than lines may be.
    if (start < end) texts.push(chunk.toString('utf8', start, end))
    this.#keep(chunk.subarray(end))
    return texts
  }

  /** Returns the last line, if it has no newline. */
  end(): string[] {
    return this.#restBytes > 0 ? [this.#take()] : []
  }

  #keep(bytes: Buffer): void {
    const length = Math.min(bytes.length, this.#maxLineBytes - this.#restBytes)
    if (length < bytes.length && !this.#isTooLong) {
      this.#isTooLong = true
      this.tooLong++
    }
    const needed = this.#restBytes + length
    if (needed > this.#rest.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(firstCapacity, 2 * needed))
      this.#rest.copy(larger, 0, 0, this.#restBytes)
      this.#rest = larger
    }
    bytes.copy(this.#rest, this.#restBytes, 0, length)
    this.#restBytes = needed
  }

  #take(): string {
    const text = this.#rest.toString('utf8', 0, this.#restBytes)
    this.#restBytes = 0
    this.#isTooLong = false
    if (this.#rest.length > maxKeptCapacity) this.#rest = Buffer.alloc(0)
    return text
  }
}
