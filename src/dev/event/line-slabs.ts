const slabBytes = 256 * 1024
/** Maximum number of slabs without lines that wait for their next use. */
const maxEmptySlabs = 8

/** A buffer with the lines of several events. */
export class Slab {
  readonly buffer: Buffer
  readonly #onEmpty: (slab: Slab) => void
  #lines = 0

  constructor(buffer: Buffer, onEmpty: (slab: Slab) => void) {
    this.buffer = buffer
    this.#onEmpty = onEmpty
  }

  addLine(): void {
    this.#lines++
  }

  /** Must be called once for each line, as soon as nothing reads the line any more. */
  freeLine(): void {
    this.#lines--
    if (this.#lines === 0) this.#onEmpty(this)
  }
}

/** A line in a slab. */
export interface SlabLine {
  readonly slab: Slab
  readonly start: number
  readonly end: number
}

/**
 * Writes lines into large buffers, outside of the heap of objects, where they would double the memory before they are
 * collected. Lines are forgotten in the order in which they came. A slab is used again as soon as its last line is freed,
 * because slabs that wait to be collected would take a third more memory.
 */
export class LineSlabs {
  #slab: Slab | undefined
  #end = 0
  readonly #empty: Slab[] = []

  /** @param bytes length of the line as UTF-8 */
  write(line: string, bytes: number): SlabLine {
    const isLong = bytes > slabBytes / 4
    const slab = isLong ? new Slab(Buffer.from(line), () => {}) : this.#slabWithRoom(bytes)
    slab.addLine()
    if (isLong) return { slab, start: 0, end: bytes }
    const start = this.#end
    slab.buffer.write(line, start, 'utf8')
    this.#end += bytes
    return { slab, start, end: this.#end }
  }

  #slabWithRoom(bytes: number): Slab {
    if (this.#slab !== undefined && this.#end + bytes <= slabBytes) return this.#slab
    this.#end = 0
    this.#slab = this.#empty.pop() ?? new Slab(Buffer.allocUnsafeSlow(slabBytes), slab => this.#emptied(slab))
    return this.#slab
  }

  #emptied(slab: Slab): void {
    if (slab === this.#slab) this.#end = 0
    else if (this.#empty.length < maxEmptySlabs) this.#empty.push(slab)
  }
}
