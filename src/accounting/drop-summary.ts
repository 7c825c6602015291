import { addCounts, type DropsBySeverity } from './ledger.ts'

/** Minimum time between two summaries, in milliseconds. */
const intervalMs = 60_000

/**
 * Collects the events dropped while memory is short. Once there is room again, one summary event tells the dataset's
 * readers how many are missing.
 */
export class DropSummary {
  #bySeverity: DropsBySeverity = {}
  #count = 0
  #notBeforeMs = 0

  note(bySeverity: DropsBySeverity): void {
    this.#count += addCounts(this.#bySeverity, bySeverity)
  }

  /**
   * Returns the summary event if events were dropped and a minute has passed since the last summary. `nowMs` is
   * monotonic.
   */
  take(nowMs: number): object | undefined {
    if (this.#count === 0 || nowMs < this.#notBeforeMs) return undefined
    const events = this.#count === 1 ? '1 event' : `${this.#count} events`
    const message = `logferry dropped ${events} before this one because memory was short`
    const event = { level: 'warn', message, logferry: { dropped: { memory: this.#bySeverity } } }
    this.#bySeverity = {}
    this.#count = 0
    this.#notBeforeMs = nowMs + intervalMs
    return event
  }
}
