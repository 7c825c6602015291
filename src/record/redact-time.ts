import { cpuMs } from './effort.ts'

/** Maximum processor time for searching the texts of one event, in milliseconds. */
const maxMs = 20
/** Maximum time of one search that counts, in milliseconds: a pause of the runtime says nothing about the others. */
const maxMsOfSearch = 10
/** Time by which the processor time may lag, in milliseconds: some kernels count it in steps of 4 ms. */
const stepMs = 4
/** Time after which the processor time is read as well. */
const unconfirmedMs = 5
/** Time from which on the texts of an event count as slow to search. */
const slowMs = 5

/**
 * The time that the patterns of a shipper may still take for one event. The time during which this thread waits for a
 * processor does not count, because an event must not be cut for that reason.
 */
export class SearchTime {
  #spentMs = 0
  /** The processor time, and the time spent, when the processor time was first read. */
  #first: { readonly cpuMs: number; readonly spentMs: number } | undefined

  begin(): void {
    this.#spentMs = 0
    this.#first = undefined
  }

  get leftMs(): number {
    return maxMs - this.#spentMs
  }

  get isSlow(): boolean {
    return this.#spentMs >= slowMs
  }

  spend(ms: number): void {
    this.#spentMs += Math.min(ms, maxMsOfSearch)
    if (this.#spentMs < unconfirmedMs) return
    this.#first ??= { cpuMs: cpuMs(), spentMs: this.#spentMs }
    if (this.#spentMs < maxMs) return
    const withoutWaitsMs = this.#first.spentMs + cpuMs() - this.#first.cpuMs
    this.#spentMs = Math.min(this.#spentMs, withoutWaitsMs + stepMs)
  }
}
