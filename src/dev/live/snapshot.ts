import type { Entry } from '../event/entry.ts'
import { noMessage } from '../event/event-statement.ts'

/** One row of a list: a run of neighbors, the newest first. */
export interface Run {
  /** Arrival number and time of the newest event. */
  readonly n: number
  readonly at: number
  readonly count: number
  /** Time of the oldest event. */
  readonly since: number
}

/**
 * True if two neighbors repeat each other, and may be one row. Events without a message may have nothing in common, so
 * that one row would hide the others.
 */
export function isRepeat({ statement, rank, dataset }: Entry, other: Entry): boolean {
  if (statement !== other.statement || rank !== other.rank || dataset !== other.dataset) return false
  return statement.name !== noMessage
}

/**
 * A list as of an arrival number. It cannot change, except that a scan that is still under way adds rows at its old end.
 * It holds numbers instead of events, so that it costs little after its events are forgotten.
 */
export class Snapshot {
  readonly until: number
  readonly #isGrouped: boolean
  readonly #ns: number[] = []
  readonly #times: number[] = []
  /** Place of the first event of each row, if repeats are one row. */
  readonly #starts: number[] = []
  #last: Entry | undefined

  constructor(until: number, isGrouped: boolean) {
    this.until = until
    this.#isGrouped = isGrouped
  }

  get events(): number {
    return this.#ns.length
  }

  get rows(): number {
    return this.#isGrouped ? this.#starts.length : this.#ns.length
  }

  /** Adds older events. Those that arrived after `until` are left out. */
  append(entry: Entry): void {
    if (entry.n > this.until) return
    if (this.#isGrouped && (this.#last === undefined || !isRepeat(this.#last, entry)))
      this.#starts.push(this.#ns.length)
    this.#last = entry
    this.#ns.push(entry.n)
    this.#times.push(entry.at)
  }

  /** Returns up to `count` rows from a rank on: 0 is the newest. */
  runs(from: number, count: number): Run[] {
    const runs: Run[] = []
    const end = Math.min(from + count, this.rows)
    for (let rank = Math.max(from, 0); rank < end; rank++) {
      const start = this.#isGrouped ? (this.#starts[rank] as number) : rank
      const next = this.#isGrouped ? (this.#starts[rank + 1] ?? this.#ns.length) : rank + 1
      runs.push({
        n: this.#ns[start] as number,
        at: this.#times[start] as number,
        count: next - start,
        since: this.#times[next - 1] as number,
      })
    }
    return runs
  }

  /** Returns the arrival numbers of the newest events. */
  newest(count: number): readonly number[] {
    return this.#ns.slice(0, count)
  }
}
