import type { Severity } from '../record/severity.ts'

/**
 * From which share of the memory on an event must be of which severity to be let in: trace and debug make room first,
 * then info, then warnings. What is above the last threshold is kept for errors.
 */
const infoFrom = 0.75
const warnFrom = 0.9
const errorFrom = 0.95

/** What is kept for use again, in blocks of the usual size: the block of a batch costs page faults when it is new. */
const maxSpareBlocks = 8

/**
 * The bytes that the core may hold: blocks being filled, waiting or in flight, and their compressed copies. Counted by
 * blocks, not by lines, so that what is counted is what is allocated.
 */
export class MemoryBudget {
  readonly maxBytes: number
  usedBytes = 0
  /** The least severity that is let in at this fullness. */
  minSeverity: Severity = 0
  readonly #blockBytes: number
  /** The one that was used last stands last. */
  readonly #spare: Buffer[] = []
  #spareBytes = 0

  /** @param blockBytes of a usual block; smaller ones are not kept for use again */
  constructor(maxBytes: number, blockBytes: number) {
    this.maxBytes = maxBytes
    this.#blockBytes = blockBytes
  }

  /** A block of that many bytes, or nothing when it would not fit. Its content is whatever stood there before. */
  allocate(bytes: number): Buffer | undefined {
    if (!this.#makeRoomFor(bytes)) return undefined
    const spare = this.#spare.findLastIndex(block => block.length === bytes)
    const block = spare < 0 ? Buffer.allocUnsafeSlow(bytes) : this.#takeSpare(spare)
    this.charge(bytes) // only now: the allocation may throw
    return block
  }

  free(block: Buffer): void {
    this.discharge(block.length)
    if (block.length < this.#blockBytes || this.usedBytes >= this.maxBytes / 2) return
    this.#spare.push(block)
    this.#spareBytes += block.length
    while (this.#spareBytes > maxSpareBlocks * this.#blockBytes) this.#takeSpare(0)
  }

  /** Whether so many bytes that somebody else is going to allocate still fit; then they are counted. */
  reserve(bytes: number): boolean {
    if (!this.#makeRoomFor(bytes)) return false
    this.charge(bytes)
    return true
  }

  /** Counts bytes that somebody else allocated. Calls nothing, so that at the end of the stack it happens as a whole or not at all. */
  charge(bytes: number): void {
    this.usedBytes += bytes
    const share = this.usedBytes / this.maxBytes
    this.minSeverity = share < warnFrom ? (share < infoFrom ? 0 : 2) : share < errorFrom ? 3 : 4
  }

  discharge(bytes: number): void {
    this.charge(-bytes)
  }

  /** Lets go of the blocks that are kept for use again. */
  clear(): void {
    this.#spare.length = 0
    this.#spareBytes = 0
  }

  #takeSpare(index: number): Buffer {
    const [block] = this.#spare.splice(index, 1) as [Buffer]
    this.#spareBytes -= block.length
    return block
  }

  /** Whether so many bytes fit, if need be in place of blocks that are kept for use again. */
  #makeRoomFor(bytes: number): boolean {
    if (this.usedBytes + bytes > this.maxBytes) return false
    if (this.usedBytes + bytes + this.#spareBytes > this.maxBytes) this.clear()
    return true
  }
}
