import { type Entry, mark } from '../event/entry.ts'

/** Counts the matches that arrive, and those of them that are drawn, between two frames and between two ticks. */
export class DrawnCounts {
  #frame = { newest: 0, matches: 0, late: 0 }
  #tick = { atMs: 0, matches: 0, drawn: 0, late: 0, from: 0, to: 0 }

  /** Arrival number of the newest event when the last frame was made. */
  get newest(): number {
    return this.#frame.newest
  }

  /** Begins anew with another list. */
  restart(newest: number): void {
    this.#frame = { newest, matches: 0, late: 0 }
  }

  add({ marks, at }: Entry): void {
    this.#frame.matches++
    this.#tick.matches++
    if ((marks & mark.late) === 0) return
    this.#frame.late++
    this.#tick.from = this.#tick.late === 0 ? at : Math.min(this.#tick.from, at)
    this.#tick.to = this.#tick.late === 0 ? at : Math.max(this.#tick.to, at)
    this.#tick.late++
  }

  /** Ends a frame in which `drawn` events are drawn that have arrived since the last one. */
  endFrame(newest: number, drawn: number): { skipped: number; late: number } {
    const { matches, late } = this.#frame
    const drawnNow = Math.min(drawn, matches)
    this.#tick.drawn += drawnNow
    this.#frame = { newest, matches: 0, late: 0 }
    return { skipped: matches - drawnNow, late }
  }

  endTick(nowMs: number): TickCounts {
    const { atMs, matches, drawn, late, from, to } = this.#tick
    const seconds = atMs === 0 ? 1 : Math.max((nowMs - atMs) / 1000, 0.001)
    this.#tick = { atMs: nowMs, matches: 0, drawn: 0, late: 0, from: 0, to: 0 }
    return {
      matchedPerSecond: Math.round(matches / seconds),
      notDrawnPerSecond: Math.round(Math.max(matches - drawn, 0) / seconds),
      late: late === 0 ? null : { count: late, from, to },
    }
  }
}

export interface TickCounts {
  readonly matchedPerSecond: number
  readonly notDrawnPerSecond: number
  /** Late events since the last tick, with the times that they cover. */
  readonly late: { count: number; from: number; to: number } | null
}
