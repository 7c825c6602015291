import type { Lease } from '../delivery/rate-limiter.ts'
import { strideInTurns } from './fleet-script.ts'

/**
 * A part of the limit: the points from the first number up to, but not including, the second. The circle has 2^32
 * points.
 */
export type Arc = readonly [number, number]

export const wholeCircle = 2 ** 32
/**
 * Part of the limit that becomes slots. The rest absorbs errors of clocks, timers and networks, which are some
 * milliseconds.
 */
const partInSlots = 0.98
/** Maximum number of slots searched for the next own slot, in multiples of the mean distance. */
const maxDistances = 16
/** Maximum number of comparisons in one search, each of a slot with an arc: a few milliseconds of work. */
const maxComparisons = 1_000_000
/** Assumed rate of a process that has no slots of its own, in requests per second. */
const minPerSecond = 1 / 60

/** What a process held before, in a time by our clock. */
export interface Held {
  readonly arcs: readonly Arc[]
  readonly fromMs: number
  readonly untilMs: number
}

export const nothingHeld: Held = { arcs: [], fromMs: Number.NEGATIVE_INFINITY, untilMs: Number.NEGATIVE_INFINITY }

/**
 * The slots of one process among the processes that share a limit.
 *
 * The limit defines a row of slots, which is the same for all processes by the clock of Redis. Slot n lies at the point
 * n × stride of the circle, or, where processes have turns, at n with its bits in reverse. It belongs to the process that
 * holds an arc there.
 *
 * So each process gets its part of the slots, evenly spread even if the parts differ. No two processes share a slot.
 * The slots of one process do not depend on the number of other processes.
 */
export class Slots implements Lease {
  readonly perSecond: number
  readonly maxPerSecond: number
  readonly slotMs: number
  readonly #arcs: readonly Arc[]
  readonly #stride: number
  readonly #aheadMs: number
  readonly #guestMs: number
  readonly #before: Held
  readonly #maxSteps: number
  /** The last slot found, and the time from which the search for it began. */
  #foundFromMs = Number.POSITIVE_INFINITY
  #foundMs = Number.NEGATIVE_INFINITY

  /**
   * @param aheadMs lead of the Redis clock, in milliseconds since 1970, over our monotonic clock
   * @param guestMs time of one request that is allowed besides the slots, by our clock
   * @param before what the process held before these arcs. A missed slot may be used late, but not the slot of another
   * process.
   */
  constructor(
    { arcs, stride }: { readonly arcs: readonly Arc[]; readonly stride: number },
    limitPerSecond: number,
    aheadMs: number,
    guestMs = Number.POSITIVE_INFINITY,
    before = nothingHeld,
  ) {
    const part = Math.min(partOf(arcs), 1)
    this.slotMs = 1000 / (limitPerSecond * partInSlots)
    this.perSecond = Math.max(part * limitPerSecond * partInSlots, minPerSecond)
    const perSecond = part * limitPerSecond
    // The slots of a single arc are evenly spread. Those of several arcs sometimes come close together.
    const uneven = arcs.length > 1 ? Math.ceil(Math.sqrt(perSecond)) : 0
    const maxByArcs = Math.ceil(perSecond) + 1 + uneven
    this.maxPerSecond = Math.max(Math.min(maxByArcs, Math.floor(limitPerSecond + 0.001)), 1)
    this.#maxSteps = part === 0 ? 0 : Math.min(Math.ceil(maxDistances / part), maxComparisons / arcs.length)
    this.#arcs = arcs
    this.#stride = stride
    this.#aheadMs = aheadMs
    this.#guestMs = guestMs
    this.#before = before
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
    const first = Math.ceil((fromMs + this.#aheadMs) / this.slotMs - 0.001) // rounding must not skip a slot
    for (let step = 0; step < this.#maxSteps; step++) {
      const atMs = (first + step) * this.slotMs - this.#aheadMs
      const isBefore = atMs < this.#before.untilMs
      if (isBefore && atMs < this.#before.fromMs) continue // of another process, perhaps
      if (hasPoint(isBefore ? this.#before.arcs : this.#arcs, this.#pointOf(first + step))) return atMs
    }
    return Number.POSITIVE_INFINITY
  }

  #pointOf(slot: number): number {
    return this.#stride === strideInTurns ? reversed(slot) : Math.imul(slot, this.#stride) >>> 0
  }
}

/** Returns the part of the limit that the arcs are, from 0 to 1. Arcs that overlap may come to more. */
export function partOf(arcs: readonly Arc[]): number {
  return arcs.reduce((sum, [from, to]) => sum + to - from, 0) / wholeCircle
}

/** Returns the last 32 bits of a number in reverse. */
function reversed(number: number): number {
  let bits = number >>> 0
  bits = ((bits & 0x55555555) << 1) | ((bits >>> 1) & 0x55555555)
  bits = ((bits & 0x33333333) << 2) | ((bits >>> 2) & 0x33333333)
  bits = ((bits & 0x0f0f0f0f) << 4) | ((bits >>> 4) & 0x0f0f0f0f)
  bits = ((bits & 0x00ff00ff) << 8) | ((bits >>> 8) & 0x00ff00ff)
  return ((bits << 16) | (bits >>> 16)) >>> 0
}

function hasPoint(arcs: readonly Arc[], point: number): boolean {
  for (const [from, to] of arcs) if (point >= from && point < to) return true
  return false
}

/** Returns a lease with no slot but one request at that time, by our monotonic clock. */
export function oneAt(atMs: number): Lease {
  const once = (fromMs: number) => (fromMs <= atMs ? atMs : Number.POSITIVE_INFINITY)
  return { perSecond: minPerSecond, maxPerSecond: 1, slotMs: 0, nextMs: once }
}
