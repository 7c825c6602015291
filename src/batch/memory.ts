import type { Severity } from '../record/severity.ts'

/**
 * From which share of the memory on an event must be of which severity to be let in: trace and debug make room first,
 * then info, then warnings. What is above the last threshold is kept for errors.
 */
const thresholds: readonly (readonly [share: number, atLeast: Severity])[] = [
  [0.95, 4],
  [0.9, 3],
  [0.75, 2],
]

/** Blocks kept for use again: a batch's block costs page faults when it is new. */
const maxSpareBlocks = 4

/**
 * The bytes that the core may hold: blocks being filled, waiting or in flight, and their compressed copies. Counted by
 * blocks, not by lines, so that what is counted is what is allocated.
 */
export class Memory {
  readonly maxBytes: number
  usedBytes = 0
  /** The least severity that is let in at this fullness. */
  floor: Severity = 0
  readonly #blockBytes: number
  readonly #spare: Buffer[] = []

  constructor(maxBytes: number, blockBytes: number) {
    this.maxBytes = maxBytes
    this.#blockBytes = blockBytes
  }

  /** A block of that many bytes, or nothing when it would not fit. Its content is whatever stood there before. */
  take(bytes: number): Buffer | undefined {
    if (!this.reserve(bytes)) return undefined
    const spare = bytes === this.#blockBytes ? this.#spare.pop() : undefined
    return spare ?? Buffer.allocUnsafeSlow(bytes)
  }

  give(block: Buffer): void {
    this.release(block.length)
    const isWorthKeeping = block.length === this.#blockBytes && this.#spare.length < maxSpareBlocks
    if (isWorthKeeping && this.usedBytes < this.maxBytes / 2) this.#spare.push(block)
  }

  /** Whether so many bytes that somebody else is going to allocate still fit; then they are counted. */
  reserve(bytes: number): boolean {
    if (this.usedBytes + bytes > this.maxBytes) return false
    if (this.usedBytes + bytes + this.#spare.length * this.#blockBytes > this.maxBytes) this.clear()
    this.hold(bytes)
    return true
  }

  /** Counts bytes that somebody else allocated. */
  hold(bytes: number): void {
    this.usedBytes += bytes
    this.#setFloor()
  }

  release(bytes: number): void {
    this.usedBytes -= bytes
    this.#setFloor()
  }

  /** Lets go of the blocks that are kept for use again. */
  clear(): void {
    this.#spare.length = 0
  }

  #setFloor(): void {
    const share = this.usedBytes / this.maxBytes
    this.floor = thresholds.find(([from]) => share >= from)?.[1] ?? 0
  }
}
