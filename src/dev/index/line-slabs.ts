const slabBytes = 256 * 1024

/** A line in a slab. */
export interface SlabLine {
  readonly slab: Buffer
  readonly start: number
  readonly end: number
}

/**
 * Writes lines into large buffers, outside of the heap of objects, where they would double the memory before they are
 * collected. Lines are forgotten in the order in which they came, so a slab is free as soon as its last line is.
 */
export class LineSlabs {
  #slab = Buffer.alloc(0)
  #end = 0

  /** @param bytes length of the line as UTF-8 */
  write(line: string, bytes: number): SlabLine {
    if (bytes > slabBytes / 4) return { slab: Buffer.from(line), start: 0, end: bytes }
    if (this.#end + bytes > this.#slab.length) {
      this.#slab = Buffer.allocUnsafeSlow(slabBytes)
      this.#end = 0
    }
    const slab = this.#slab
    const start = this.#end
    slab.write(line, start, 'utf8')
    this.#end += bytes
    return { slab, start, end: this.#end }
  }
}
