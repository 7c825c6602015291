import type { Entry } from '../event/entry.ts'
import { levels } from '../protocol.ts'
import { type HeldBudget, type HeldEvent, HeldLines } from './held-lines.ts'
import type { Snapshot } from './snapshot.ts'

/** Maximum number of the newest events that are held after they are forgotten, and for how long. */
const maxHeldEvents = 10_000
const maxHeldMs = 600_000
const errorRank = levels.indexOf('error')

export interface PinHost {
  readonly heldBudget: HeldBudget
  nowMs(): number
  find(n: number): Entry | undefined
}

/** A list as of an arrival number: what it shows, and how much has arrived since. */
export class PinnedList {
  readonly snapshot: Snapshot
  readonly #host: PinHost
  readonly #bit: number
  readonly #held: HeldLines
  readonly #sinceMs: number
  /** Matches that have arrived since, and errors among them. */
  fresh = 0
  freshErrors = 0

  constructor(host: PinHost, bit: number, snapshot: Snapshot) {
    this.#host = host
    this.#bit = bit
    this.snapshot = snapshot
    this.#held = new HeldLines(host.heldBudget)
    this.#sinceMs = host.nowMs()
    for (const entry of this.#newestKept()) entry.pins |= bit
  }

  /** Adds a match that the scan has found. */
  addScanned(entry: Entry): void {
    this.snapshot.append(entry)
    if (entry.n > this.snapshot.until) this.countFresh(entry)
    else if (this.snapshot.events <= maxHeldEvents) entry.pins |= this.#bit
  }

  countFresh({ rank }: Entry): void {
    this.fresh++
    if (rank >= errorRank) this.freshErrors++
  }

  /** Takes note that an entry is being forgotten. Its line is there for the last time. */
  forgotten(entry: Entry): void {
    if (entry.pins & this.#bit && !this.#isOld()) this.#held.hold(entry)
  }

  /** Returns an event that is held although it is forgotten. */
  held(n: number): HeldEvent | undefined {
    return this.#held.find(n)
  }

  /** Holds nothing any more if the list has been pinned for long. */
  expire(): void {
    if (this.#isOld()) this.#held.clear()
  }

  close(): void {
    for (const entry of this.#newestKept()) entry.pins &= ~this.#bit
    this.#held.clear()
  }

  #isOld(): boolean {
    return this.#host.nowMs() - this.#sinceMs > maxHeldMs
  }

  *#newestKept(): Iterable<Entry> {
    for (const n of this.snapshot.newest(maxHeldEvents)) {
      const entry = this.#host.find(n)
      if (entry !== undefined) yield entry
    }
  }
}
