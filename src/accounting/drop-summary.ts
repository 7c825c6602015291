import type { DropsBySeverity } from './ledger.ts'

/** The least time between two reports, in milliseconds. */
const intervalMs = 60_000

/** Gathers what is shed while memory is short, for one event that tells the dataset what it lacks once there is room again. */
export class DropSummary {
  #bySeverity: DropsBySeverity = {}
  #count = 0
  #notBeforeMs = 0

  note(bySeverity: DropsBySeverity): void {
    for (const [name, count] of Object.entries(bySeverity) as [keyof DropsBySeverity, number][]) {
      this.#bySeverity[name] = (this.#bySeverity[name] ?? 0) + count
      this.#count += count
    }
  }

  /** The event, when there is something to tell and a minute has passed since the last; time is monotonic. */
  take(nowMs: number): object | undefined {
    if (this.#count === 0 || nowMs < this.#notBeforeMs) return undefined
    const message = `logferry dropped ${this.#count} events before this one because memory was short`
    const event = { level: 'warn', message, logferry: { dropped: { memory: this.#bySeverity } } }
    this.#bySeverity = {}
    this.#count = 0
    this.#notBeforeMs = nowMs + intervalMs
    return event
  }
}
