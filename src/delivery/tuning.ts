/** What is known of the load when batches are tuned to the pace. */
export interface Load {
  /** Most requests per second that may be made; `Infinity` when nothing limits them. */
  readonly requestsPerSecond: number
  /** Bytes of lines that were added per second lately. */
  readonly bytesPerSecond: number
  /** Bytes of lines that wait already, beyond the batches being filled. */
  readonly waitingBytes: number
  /** Datasets that were shipped to lately: each needs requests of its own. */
  readonly datasets: number
}

/** What is configured, and the bounds of what it may be raised to. */
export interface Configured {
  readonly maxBatchBytes: number
  readonly maxBatchAgeMs: number
  /** Bytes that no batch may exceed: what memory, the service and our own limit allow. */
  readonly mostBatchBytes: number
}

export interface Tuned {
  readonly maxBatchBytes: number
  readonly maxBatchAgeMs: number
}

/**
 * A batch holds this part of what the load needs, and a part of what waits: the little that always waits then keeps every
 * request in use that may be made, where larger batches would mean fewer requests and older events.
 */
const partOfLoad = 0.9
/** Batches are let wait this much longer than would just do: clocks are not exact, and neither is the load. */
const ageMargin = 1.25
/** What waits is to be worked off in this time, in seconds. */
const catchUpSeconds = 5
/** Longest that an event waits for company for the sake of fewer requests, in milliseconds. */
const mostBatchAgeMs = 60_000

/**
 * Size and age of batches so that the load fits into the requests that may be made: events wait longer and travel in
 * larger batches before any is lost for the rate. Never less than what is configured.
 */
export function tune(load: Load, configured: Configured): Tuned {
  const { requestsPerSecond, bytesPerSecond, waitingBytes, datasets } = load
  if (requestsPerSecond === Number.POSITIVE_INFINITY) return configured
  const neededBytes = (bytesPerSecond * partOfLoad + waitingBytes / catchUpSeconds) / requestsPerSecond
  const neededAgeMs = (Math.max(datasets, 1) / requestsPerSecond) * ageMargin * 1000
  return {
    maxBatchBytes: between(configured.maxBatchBytes, neededBytes, configured.mostBatchBytes),
    maxBatchAgeMs: between(configured.maxBatchAgeMs, neededAgeMs, mostBatchAgeMs),
  }
}

/** How often batches are tuned at the most, in milliseconds. */
const intervalMs = 500

/** What the tuner reads and sets. */
export interface Tunable {
  readonly limits: { maxBatchBytes: number; maxBatchAgeMs: number; readonly mostBatchBytes: number }
  load(): { readonly addedBytes: number; readonly waitingBytes: number; readonly datasets: number }
}

/** Keeps size and age of batches tuned to the pace while one is in force. Time is monotonic, in milliseconds. */
export class Tuner {
  readonly #batches: Tunable
  readonly #requestsPerSecond: () => number
  readonly #configured: Tuned
  #tunedAtMs = Number.NEGATIVE_INFINITY
  #addedBytes = 0

  constructor(batches: Tunable, requestsPerSecond: () => number) {
    this.#batches = batches
    this.#requestsPerSecond = requestsPerSecond
    this.#configured = { maxBatchBytes: batches.limits.maxBatchBytes, maxBatchAgeMs: batches.limits.maxBatchAgeMs }
  }

  tune(nowMs: number): void {
    const elapsedMs = nowMs - this.#tunedAtMs
    if (elapsedMs < intervalMs) return
    this.#tunedAtMs = nowMs
    const requestsPerSecond = this.#requestsPerSecond()
    const { limits } = this.#batches
    const { addedBytes, waitingBytes, datasets } = this.#batches.load()
    const bytesPerSecond = ((addedBytes - this.#addedBytes) / elapsedMs) * 1000
    this.#addedBytes = addedBytes
    const { maxBatchAgeMs } = this.#configured
    const maxBatchBytes = Math.min(this.#configured.maxBatchBytes, limits.mostBatchBytes)
    const load = { requestsPerSecond, bytesPerSecond, waitingBytes, datasets }
    const tuned = tune(load, { maxBatchBytes, maxBatchAgeMs, mostBatchBytes: limits.mostBatchBytes })
    limits.maxBatchBytes = tuned.maxBatchBytes
    limits.maxBatchAgeMs = tuned.maxBatchAgeMs
  }
}

function between(least: number, wanted: number, most: number): number {
  return Math.max(least, Math.min(Math.ceil(wanted), most))
}
