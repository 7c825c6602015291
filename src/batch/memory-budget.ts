import type { Severity } from '../accounting/severity.ts'

/**
 * Shares of the memory at which events need a minimum severity. Trace and debug events are refused first, then info,
 * then warnings. Memory above the last threshold is reserved for error and fatal events.
 */
const infoFrom = 0.75
const warnFrom = 0.9
const errorFrom = 0.95

/**
 * Maximum memory kept for reuse: half of the memory in use, a number of usual blocks, or `minSpareBytes`, whichever is
 * largest. A new block costs page faults. Node returns the memory of a block that is not kept only when V8 collects all
 * garbage. Until then, small blocks of thousands of datasets can take ten times the budget.
 */
const sparePart = 0.5
const spareBlocks = 8
const minSpareBytes = 1_048_576

/**
 * The bytes that the core may hold: blocks that are being filled, wait or are in flight, their compressed copies, and
 * held events. The budget counts blocks, not lines, because blocks are what is allocated.
 */
export class MemoryBudget {
  readonly maxBytes: number
  usedBytes = 0
  /** The minimum severity that an event needs at the present use of memory. */
  minSeverity: Severity = 0
  readonly #minSpareBytes: number
  /** The blocks kept for reuse, by size. The size that was freed most recently is last. */
  readonly #spare = new Map<number, Buffer[]>()
  #spareBytes = 0

  /** @param blockBytes size of a usual block, in bytes */
  constructor(maxBytes: number, blockBytes: number) {
    this.maxBytes = maxBytes
    this.#minSpareBytes = Math.max(spareBlocks * blockBytes, minSpareBytes)
  }

  /** Allocates a block, with undefined content. Returns `undefined` if the block does not fit into the budget. */
  allocate(bytes: number): Buffer | undefined {
    if (this.usedBytes + bytes > this.maxBytes) return undefined
    const block = this.#takeSpare(bytes) ?? this.#allocateNew(bytes)
    this.charge(bytes) // after the allocation, which may throw
    return block
  }

  free(block: Buffer): void {
    const { length } = block
    this.discharge(length)
    const maxSpareBytes = Math.max(sparePart * this.usedBytes, this.#minSpareBytes)
    if (length === 0 || length > maxSpareBytes || this.usedBytes + length > this.maxBytes) return
    this.#releaseSpare(Math.min(maxSpareBytes, this.maxBytes - this.usedBytes) - length)
    const sameSize = this.#spare.get(length) ?? []
    this.#spare.delete(length)
    this.#spare.set(length, sameSize)
    sameSize.push(block)
    this.#spareBytes += length
  }

  /** Charges bytes that the caller is going to allocate. Returns false, with nothing charged, if they do not fit. */
  reserve(bytes: number): boolean {
    if (this.usedBytes + bytes > this.maxBytes) return false
    this.#releaseSpare(this.maxBytes - this.usedBytes - bytes)
    this.charge(bytes)
    return true
  }

  /**
   * Charges bytes that the caller has allocated. The method calls nothing, so that a stack overflow cannot interrupt
   * it.
   */
  charge(bytes: number): void {
    this.usedBytes += bytes
    this.minSeverity = minSeverityAt(this.usedBytes / this.maxBytes)
  }

  /** Returns true if an event has room among events that may take only a part of the memory. */
  hasRoomInPart(part: number, severity: Severity): boolean {
    const share = this.usedBytes / (this.maxBytes * part)
    return share < 1 && severity >= minSeverityAt(share)
  }

  discharge(bytes: number): void {
    this.charge(-bytes)
  }

  /** Releases the blocks kept for reuse. */
  clear(): void {
    this.#spare.clear()
    this.#spareBytes = 0
  }

  #takeSpare(bytes: number): Buffer | undefined {
    const sameSize = this.#spare.get(bytes)
    const block = sameSize?.pop()
    if (block !== undefined) this.#spareBytes -= bytes
    if (sameSize?.length === 0) this.#spare.delete(bytes) // sizes are as many as the lengths of large events
    return block
  }

  #allocateNew(bytes: number): Buffer {
    this.#releaseSpare(this.maxBytes - this.usedBytes - bytes)
    return Buffer.allocUnsafeSlow(bytes)
  }

  /** Releases blocks kept for reuse until they take at most `maxBytes`, first those of the size freed longest ago. */
  #releaseSpare(maxBytes: number): void {
    for (const [bytes, blocks] of this.#spare) {
      while (this.#spareBytes > maxBytes && blocks.pop() !== undefined) this.#spareBytes -= bytes
      if (this.#spareBytes <= maxBytes) return
      this.#spare.delete(bytes)
    }
    this.#spareBytes = 0 // also after a stack overflow in `free`
  }
}

function minSeverityAt(share: number): Severity {
  return share < warnFrom ? (share < infoFrom ? 0 : 2) : share < errorFrom ? 3 : 4
}
