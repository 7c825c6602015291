/**
 * Collects bytes in one buffer that doubles when it is full. A list of chunks would cost memory for each chunk, and a
 * body may arrive in chunks of one byte.
 */
export class GrowingBuffer {
  #buffer = Buffer.alloc(0)
  #length = 0

  get length(): number {
    return this.#length
  }

  append(chunk: Buffer): void {
    const needed = this.#length + chunk.length
    if (needed > this.#buffer.length) {
      const grown = Buffer.allocUnsafeSlow(Math.max(needed, 2 * this.#buffer.length))
      this.#buffer.copy(grown, 0, 0, this.#length)
      this.#buffer = grown
    }
    chunk.copy(this.#buffer, this.#length)
    this.#length = needed
  }

  /** Returns the bytes in a buffer of exactly their size. */
  content(): Buffer {
    return this.#length === this.#buffer.length ? this.#buffer : Buffer.from(this.#buffer.subarray(0, this.#length))
  }
}
