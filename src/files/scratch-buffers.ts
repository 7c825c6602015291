import { setTimeout } from '../time.ts'

/**
 * The two sizes that nearly all files need, in bytes: a small batch, and a usual one with what the spool adds to each line.
 * Larger buffers have twice the usual size, four times, and so on.
 */
const smallBytes = 65_536
const usualBytes = 1_572_864

/** Maximum bytes of the small buffers that are kept, and of the usual ones. Of the larger ones, one is kept. */
const maxSpareBytes = 6_291_456

/** Time without a read after which the buffers are released, in milliseconds: more than between two attempts in an outage. */
const unneededAfterMs = 60_000

/**
 * Buffers for reading files, which are used again. A new buffer for each file takes memory until V8 collects all
 * garbage: more than the batches in memory take, if a process has left thousands of small files, or some large ones.
 */
export class ScratchBuffers {
  readonly #small: Buffer[] = []
  readonly #usual: Buffer[] = []
  #large: Buffer | undefined
  #timer: NodeJS.Timeout | undefined

  /** Returns a buffer of at least so many bytes, for the caller alone until `giveBack`. The content is undefined. */
  take(bytes: number): Buffer {
    if (bytes <= smallBytes) return this.#small.pop() ?? Buffer.allocUnsafeSlow(smallBytes)
    if (bytes <= usualBytes) return this.#usual.pop() ?? Buffer.allocUnsafeSlow(usualBytes)
    return this.#takeLarge(bytes)
  }

  giveBack(buffer: Buffer): void {
    const { length } = buffer
    if (length > usualBytes) {
      if (length > (this.#large?.length ?? 0)) this.#large = buffer
    } else {
      const spare = length === smallBytes ? this.#small : this.#usual
      if ((spare.length + 1) * length <= maxSpareBytes) spare.push(buffer)
    }
    this.#releaseLater()
  }

  #takeLarge(bytes: number): Buffer {
    const spare = this.#large
    this.#large = undefined
    if (spare !== undefined && spare.length >= bytes) return spare
    let size = usualBytes
    while (size < bytes) size *= 2
    return Buffer.allocUnsafeSlow(size)
  }

  #releaseLater(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      this.#small.length = 0
      this.#usual.length = 0
      this.#large = undefined
    }, unneededAfterMs).unref()
    this.#timer.refresh()
  }
}

/** The buffers that all shippers of the process read their spools into. */
export const scratchBuffers = new ScratchBuffers()
