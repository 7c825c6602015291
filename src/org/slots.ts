import type { Lease } from '../delivery/rate-limiter.ts'

/** A part of the limit: the points from the first number up to the second, of 2^32. */
export type Arc = readonly [number, number]

export const wholeCircle = 2 ** 32
/** Part of the limit that slots are made of: clocks, timers and networks are off by some milliseconds. */
const usedPart = 0.98
/** So many slots are looked through for one of ours, in multiples of the mean distance, and in all. */
const maxDistances = 16
const maxSlots = 1_000_000
/** What a process without slots of its own is taken to make, in requests per second. */
const minPerSecond = 1 / 60

/**
 * The slots of one process among those that share a limit. The limit makes a row of slots, the same for all by Redis'
 * clock. Slot n lies at the point n × stride of the circle and belongs to the process that holds an arc there. So each has
 * its part of the slots, evenly spread, however the parts differ; no two have the same; and what one process holds does
 * not depend on how many others there are.
 */
export class Slots implements Lease {
  readonly perSecond: number
  readonly maxPerSecond: number
  readonly slotMs: number
  readonly #arcs: readonly Arc[]
  readonly #stride: number
  readonly #aheadMs: number
  readonly #guestMs: number
  readonly #maxSteps: number
  /** The last slot that was found, and from when it was looked for. */
  #foundFromMs = Number.POSITIVE_INFINITY
  #foundMs = Number.NEGATIVE_INFINITY

  /**
   * @param aheadMs how far Redis' clock, milliseconds since the epoch, is ahead of ours, which is monotonic
   * @param guestMs by our clock, one request that may be made besides
   */
  constructor(
    { arcs, stride }: { readonly arcs: readonly Arc[]; readonly stride: number },
    limitPerSecond: number,
    aheadMs: number,
    guestMs = Number.POSITIVE_INFINITY,
  ) {
    const part = Math.min(arcs.reduce((sum, [from, to]) => sum + to - from, 0) / wholeCircle, 1)
    this.slotMs = 1000 / (limitPerSecond * usedPart)
    this.perSecond = Math.max(part * limitPerSecond * usedPart, minPerSecond)
    this.maxPerSecond = Math.max(Math.min(Math.ceil(part * limitPerSecond) + 1, Math.floor(limitPerSecond + 0.001)), 1)
    this.#maxSteps = part === 0 ? 0 : Math.min(Math.ceil(maxDistances / part), maxSlots)
    this.#arcs = arcs
    this.#stride = stride
    this.#aheadMs = aheadMs
    this.#guestMs = guestMs
  }

  nextMs(fromMs: number): number {
    if (fromMs < this.#foundFromMs || fromMs > this.#foundMs) {
      this.#foundFromMs = fromMs
      this.#foundMs = this.#find(fromMs)
    }
    return this.#foundMs
  }

  #find(fromMs: number): number {
    const ownMs = this.#findOwn(fromMs)
    return fromMs <= this.#guestMs && this.#guestMs < ownMs ? this.#guestMs : ownMs
  }

  #findOwn(fromMs: number): number {
    const first = Math.ceil((fromMs + this.#aheadMs) / this.slotMs - 0.001) // not lost by rounding
    for (let slot = first; slot < first + this.#maxSteps; slot++) {
      if (this.#isOurs(Math.imul(slot, this.#stride) >>> 0)) return slot * this.slotMs - this.#aheadMs
    }
    return Number.POSITIVE_INFINITY
  }

  #isOurs(point: number): boolean {
    for (const [from, to] of this.#arcs) if (point >= from && point < to) return true
    return false
  }
}

/** No slots but one: a request at that time, by our monotonic clock. */
export function oneAt(atMs: number): Lease {
  const once = (fromMs: number) => (fromMs <= atMs ? atMs : Number.POSITIVE_INFINITY)
  return { perSecond: minPerSecond, maxPerSecond: 1, slotMs: 0, nextMs: once }
}
