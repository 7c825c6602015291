import type { Entry } from '../event/entry.ts'
import { levels } from '../protocol.ts'
import { EventRing } from './event-ring.ts'

/** Part of the room that is kept for events of level warn and above, while there are so many. */
const severeShare = 0.2
/** Rank from which on events are severe. */
export const minSevereRank = levels.indexOf('warn')

/**
 * The kept events, bounded by number and by bytes. Severe events have a ring of their own, so that a flood of others
 * does not displace them. Each kind may use the room that the other one does not need.
 */
export class EventStore {
  readonly #severe = new EventRing()
  readonly #others = new EventRing()
  readonly #maxEvents: number
  readonly #maxBytes: number
  readonly #onForgotten: (entry: Entry) => void

  constructor(bounds: { maxEvents: number; maxBytes: number }, onForgotten: (entry: Entry) => void) {
    this.#maxEvents = bounds.maxEvents
    this.#maxBytes = bounds.maxBytes
    this.#onForgotten = onForgotten
  }

  get length(): number {
    return this.#severe.length + this.#others.length
  }

  get bytes(): number {
    return this.#severe.bytes + this.#others.bytes
  }

  /** Arrival number of the oldest kept event, or `undefined` if no event is kept. */
  get oldest(): number | undefined {
    const severe = this.#severe.at(0)
    const other = this.#others.at(0)
    if (severe === undefined || other === undefined) return (severe ?? other)?.n
    return Math.min(severe.n, other.n)
  }

  /** True if an event of this size may be kept. A larger one would displace most of the others. */
  hasRoomFor(bytes: number): boolean {
    return bytes <= (this.#maxBytes * severeShare) / 2
  }

  /** Adds an entry, which has arrived after all others, and forgets the oldest ones that have no room any more. */
  add(entry: Entry): void {
    const ring = entry.rank >= minSevereRank ? this.#severe : this.#others
    ring.push(entry)
    while (this.length > this.#maxEvents) {
      this.#forget(this.#severe.length > this.#maxEvents * severeShare ? this.#severe : this.#others)
    }
    while (this.bytes > this.#maxBytes) {
      this.#forget(this.#severe.bytes > this.#maxBytes * severeShare ? this.#severe : this.#others)
    }
  }

  clear(): void {
    while (this.#severe.length > 0) this.#forget(this.#severe)
    while (this.#others.length > 0) this.#forget(this.#others)
  }

  #forget(ring: EventRing): void {
    const entry = ring.shift()
    if (entry === undefined) return
    entry.isKept = false
    this.#onForgotten(entry)
    entry.free()
  }

  /** Returns the entry with an arrival number, if it is kept. */
  find(n: number): Entry | undefined {
    for (const ring of [this.#severe, this.#others]) {
      const entry = ring.at(ring.placeAfter(n - 1))
      if (entry?.n === n) return entry
    }
    return undefined
  }

  /** Returns up to `max` entries that arrived after `n`, oldest first. */
  after(n: number, max: number): Entry[] {
    const entries: Entry[] = []
    let severe = this.#severe.placeAfter(n)
    let others = this.#others.placeAfter(n)
    while (entries.length < max) {
      const one = this.#severe.at(severe)
      const other = this.#others.at(others)
      if (one !== undefined && (other === undefined || one.n < other.n)) {
        entries.push(one)
        severe++
      } else if (other !== undefined) {
        entries.push(other)
        others++
      } else break
    }
    return entries
  }

  /** Returns up to `max` entries that arrived before `n`, newest first. */
  before(n: number, max: number): Entry[] {
    const entries: Entry[] = []
    let severe = this.#severe.placeAfter(n - 1) - 1
    let others = this.#others.placeAfter(n - 1) - 1
    while (entries.length < max) {
      const one = severe >= 0 ? this.#severe.at(severe) : undefined
      const other = others >= 0 ? this.#others.at(others) : undefined
      if (one !== undefined && (other === undefined || one.n > other.n)) {
        entries.push(one)
        severe--
      } else if (other !== undefined) {
        entries.push(other)
        others--
      } else break
    }
    return entries
  }
}
