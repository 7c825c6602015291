/** One body as it arrives. */
export class BodyBuffer {
  #block = Buffer.allocUnsafeSlow(1 << 20)
  #length = 0

  add(chunk: Buffer): void {
    const needed = this.#length + chunk.length
    if (needed > this.#block.length) {
      const larger = Buffer.allocUnsafeSlow(2 ** Math.ceil(Math.log2(needed)))
      this.#block.copy(larger, 0, 0, this.#length)
      this.#block = larger
    }
    chunk.copy(this.#block, this.#length)
    this.#length = needed
  }

  get bytes(): Buffer {
    return this.#block.subarray(0, this.#length)
  }

  clear(): void {
    this.#length = 0
  }
}

/** Blocks that are used again: fresh memory costs more than what is done with it. */
export class BodyBuffers {
  readonly #free: BodyBuffer[] = []

  take(): BodyBuffer {
    return this.#free.pop() ?? new BodyBuffer()
  }

  giveBack(body: BodyBuffer): void {
    body.clear()
    this.#free.push(body)
  }
}
