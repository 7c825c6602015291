import type { Severity } from '../accounting/severity.ts'

/**
 * Shares of the memory at which events need a minimum severity. Trace and debug events are refused first, then info,
 * then warnings. Memory above the last threshold is reserved for error and fatal events.
 */
const infoFrom = 0.75
const warnFrom = 0.9
const errorFrom = 0.95

/** Maximum number of usual blocks kept for reuse, because each new block costs page faults. */
const maxSpareBlocks = 8

/**
 * The bytes that the core may hold: blocks that are being filled, wait or are in flight, their compressed copies, and
 * held events. The budget counts blocks, not lines, because blocks are what is allocated.
 */
export class MemoryBudget {
  readonly maxBytes: number
  usedBytes = 0
  /** The minimum severity that an event needs at the present use of memory. */
  minSeverity: Severity = 0
  readonly #blockBytes: number
  /** The most recently used block is last. */
  readonly #spare: Buffer[] = []
  #spareBytes = 0

  /** @param blockBytes size of a usual block, in bytes; smaller blocks are not kept for reuse */
  constructor(maxBytes: number, blockBytes: number) {
    this.maxBytes = maxBytes
    this.#blockBytes = blockBytes
  }

  /** Allocates a block, with undefined content. Returns `undefined` if the block does not fit into the budget. */
  allocate(bytes: number): Buffer | undefined {
    if (!this.#makeRoomFor(bytes)) return undefined
    const spare = this.#spare.findLastIndex(block => block.length === bytes)
    const block = spare < 0 ? Buffer.allocUnsafeSlow(bytes) : this.#takeSpare(spare)
    this.charge(bytes) // after the allocation, which may throw
    return block
  }

  free(block: Buffer): void {
    this.discharge(block.length)
    if (block.length < this.#blockBytes || this.usedBytes >= this.maxBytes / 2) return
    this.#spare.push(block)
    this.#spareBytes += block.length
    while (this.#spareBytes > maxSpareBlocks * this.#blockBytes) this.#takeSpare(0)
  }

  /** Charges bytes that the caller is going to allocate. Returns false, with nothing charged, if they do not fit. */
  reserve(bytes: number): boolean {
    if (!this.#makeRoomFor(bytes)) return false
    this.charge(bytes)
    return true
  }

  /**
   * Charges bytes that the caller has allocated. The method calls nothing, so that a stack overflow cannot interrupt
   * it.
   */
  charge(bytes: number): void {
    this.usedBytes += bytes
    const share = this.usedBytes / this.maxBytes
    this.minSeverity = share < warnFrom ? (share < infoFrom ? 0 : 2) : share < errorFrom ? 3 : 4
  }

  discharge(bytes: number): void {
    this.charge(-bytes)
  }

  /** Releases the blocks kept for reuse. */
  clear(): void {
    this.#spare.length = 0
    this.#spareBytes = 0
  }

  #takeSpare(index: number): Buffer {
    const [block] = this.#spare.splice(index, 1) as [Buffer]
    this.#spareBytes -= block.length
    return block
  }

  /** True if so many bytes fit into the budget. Frees the blocks kept for reuse if they take up the room. */
  #makeRoomFor(bytes: number): boolean {
    if (this.usedBytes + bytes > this.maxBytes) return false
    if (this.usedBytes + bytes + this.#spareBytes > this.maxBytes) this.clear()
    return true
  }
}
