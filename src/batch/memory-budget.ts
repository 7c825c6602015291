import type { Severity } from '../accounting/severity.ts'
import { setTimeout } from '../time.ts'

/**
 * Shares of the memory at which events need a minimum severity. Trace and debug events are refused first, then info,
 * then warnings. Memory above the last threshold is reserved for error and fatal events.
 */
const infoFrom = 0.75
const warnFrom = 0.9
const errorFrom = 0.95

/**
 * Maximum memory kept for reuse: `maxSpareBytes`, or half of the memory in use, whichever is larger. V8 soon collects
 * blocks that are released beyond it, because it collects after each 64 MiB of such memory.
 */
const maxSpareBytes = 67_108_864
const sparePart = 0.5

/**
 * Memory that is always kept for reuse: a number of usual blocks, or `minSpareBytes`, whichever is larger. A new block
 * costs page faults. Node returns the memory of a block that is not kept only when V8 collects all garbage. Until then,
 * small blocks of thousands of datasets can take ten times the budget.
 */
const spareBlocks = 8
const minSpareBytes = 1_048_576

/**
 * Time after which other blocks are released if they were not needed, in milliseconds. In an outage, memory is filled and
 * emptied again and again, with up to half a minute between two attempts. If blocks were released each time, all of them
 * would be garbage.
 */
const unneededAfterMs = 60_000

/**
 * A block for at least `largeBytes` may be larger than asked for, by this part at most, if such a block is kept. Large
 * batches have sizes of their own: they were joined from several, or the service takes only batches up to some size.
 */
const largeBytes = 65_536
const maxSurplus = 0.25

/**
 * The bytes that the core may hold: blocks that are being filled, wait or are in flight, their compressed copies, and
 * held events. The budget counts blocks, not lines, because memory is allocated in blocks.
 */
export class MemoryBudget {
  readonly maxBytes: number
  usedBytes = 0
  /** The minimum severity that an event needs at the present use of memory. */
  minSeverity: Severity = 0
  readonly #minSpareBytes: number
  /** True from `retire` until a block is allocated. */
  #isRetired = false
  /** Runs while more blocks are kept than always. */
  #timer: NodeJS.Timeout | undefined
  /** The fewest bytes that were kept for reuse since the timer last ran: nothing has needed them. */
  #unneededBytes = 0
  /** The blocks kept for reuse, by size. The size that was freed most recently is last. */
  readonly #spare = new Map<number, Buffer[]>()
  #spareBytes = 0

  /** @param blockBytes size of a usual block, in bytes */
  constructor(maxBytes: number, blockBytes: number) {
    this.maxBytes = maxBytes
    this.#minSpareBytes = Math.max(spareBlocks * blockBytes, minSpareBytes)
  }

  /**
   * Allocates a block of at least so many bytes, with undefined content. Returns `undefined` if the block does not fit into
   * the budget.
   *
   * @param freedBytes bytes of other blocks that the caller frees in this turn, once it has copied their content
   */
  allocate(bytes: number, freedBytes = 0): Buffer | undefined {
    if (this.usedBytes - freedBytes + bytes > this.maxBytes) return undefined
    this.#isRetired = false
    const block = this.#takeSpare(bytes) ?? this.#takeLarger(bytes) ?? this.#allocateNew(bytes)
    this.charge(block.length) // after the allocation, which may throw
    return block
  }

  /** Keeps the block for reuse, as far as it has room beside the memory in use. */
  free(block: Buffer): void {
    const { length } = block
    this.discharge(length)
    if (length === 0 || this.usedBytes + length > this.maxBytes) return
    const maxBytes = Math.max(maxSpareBytes, sparePart * this.usedBytes)
    this.#releaseSpare(Math.min(maxBytes, this.maxBytes - this.usedBytes) - length)
    const sameSize = this.#spare.get(length) ?? []
    this.#spare.delete(length)
    this.#spare.set(length, sameSize)
    sameSize.push(block)
    this.#spareBytes += length
    if (this.#spareBytes > this.#keptBytes) this.#releaseLater()
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

  /**
   * Releases the blocks kept for reuse, unless they are needed within a minute or two: a shipper may go on after it was closed.
   */
  retire(): void {
    this.#isRetired = true
    if (this.#spareBytes > 0) this.#releaseLater()
  }

  /** Bytes that are kept for reuse even if they are not needed. */
  get #keptBytes(): number {
    return this.#isRetired ? 0 : this.#minSpareBytes
  }

  #releaseLater(): void {
    if (this.#timer !== undefined) return
    this.#unneededBytes = this.#spareBytes
    const budget = new WeakRef(this) // a shipper that is not used any more is garbage, and its blocks with it
    this.#timer = setTimeout(() => budget.deref()?.releaseUnneeded(), unneededAfterMs).unref()
  }

  /** @internal called by the timer */
  releaseUnneeded(): void {
    this.#timer = undefined
    this.#releaseSpare(Math.max(this.#spareBytes - this.#unneededBytes, this.#keptBytes))
    if (this.#spareBytes > this.#keptBytes) this.#releaseLater()
  }

  #takeSpare(bytes: number): Buffer | undefined {
    const sameSize = this.#spare.get(bytes)
    const block = sameSize?.pop()
    if (block !== undefined) this.#spareBytes -= bytes
    if (this.#spareBytes < this.#unneededBytes) this.#unneededBytes = this.#spareBytes
    if (sameSize?.length === 0) this.#spare.delete(bytes) // sizes are as many as the lengths of large events
    return block
  }

  #takeLarger(bytes: number): Buffer | undefined {
    if (bytes < largeBytes) return undefined
    let size = Math.min(bytes * (1 + maxSurplus), this.maxBytes - this.usedBytes)
    let isFound = false
    for (const kept of this.#spare.keys()) {
      if (kept < bytes || kept > size) continue
      size = kept
      isFound = true
    }
    return isFound ? this.#takeSpare(size) : undefined
  }

  #allocateNew(bytes: number): Buffer {
    this.#releaseSpare(this.maxBytes - this.usedBytes - bytes)
    return Buffer.allocUnsafeSlow(bytes)
  }

  /** Releases blocks kept for reuse until they take at most `maxBytes`, first those of the size freed longest ago. */
  #releaseSpare(maxBytes: number): void {
    for (const [bytes, blocks] of this.#spare) {
      while (this.#spareBytes > maxBytes && blocks.pop() !== undefined) this.#spareBytes -= bytes
      if (this.#spareBytes < this.#unneededBytes) this.#unneededBytes = this.#spareBytes
      if (this.#spareBytes <= maxBytes) return
      this.#spare.delete(bytes)
    }
    this.#spareBytes = 0 // also after a stack overflow in `free`
  }
}

function minSeverityAt(share: number): Severity {
  return share < warnFrom ? (share < infoFrom ? 0 : 2) : share < errorFrom ? 3 : 4
}
