/** What is known of the load when batches are tuned to the pace. */
export interface Load {
  /** Most requests per second that may be made; `Infinity` when nothing limits them. */
  readonly requestsPerSecond: number
  /** Bytes of lines that were added per second lately. */
  readonly bytesPerSecond: number
  /** Events that were added per second lately. */
  readonly eventsPerSecond: number
  /** Bytes of lines that wait already, beyond the batches being filled, and how many there are. */
  readonly waitingBytes: number
  readonly waitingEvents: number
  /** Datasets that were shipped to lately: each needs requests of its own. */
  readonly datasets: number
}

/** What is configured, and the bounds of what it may be raised to. */
export interface Configured {
  readonly maxBatchBytes: number
  readonly maxBatchEvents: number
  readonly maxBatchAgeMs: number
  /** Bytes that no batch may exceed: what memory, the service and our own limit allow. */
  readonly batchBytesCeiling: number
  /** What `maxBatchBytes` may be raised to where requests are not limited. */
  readonly maxUnlimitedBytes: number
}

export interface Tuned {
  readonly maxBatchBytes: number
  readonly maxBatchEvents: number
  readonly maxBatchAgeMs: number
}

/**
 * A batch holds this part of what the load needs, and a part of what waits: the little that always waits then keeps every
 * request in use that may be made, where larger batches would mean fewer requests and older events.
 */
const partOfLoad = 0.9
/** Most events of a batch, whatever the load: as many as may be configured, and as a file of the spool is read with. */
export const batchEventsCeiling = 100_000
/** What waits is to be worked off in this time, in seconds. */
const catchUpSeconds = 5
/** Where requests are not limited, more of them in a second bring nothing but what each one costs. */
const plentyPerSecond = 40
/**
 * A turn that comes hardly more often than batches are due, after this part of that time and more, takes whatever has been
 * logged before: what just misses it waits for another whole one.
 */
const rareTurnPart = 0.5

/**
 * Size and age of batches so that the load fits into the requests that may be made: events wait for a turn and travel in
 * larger batches before any is lost for the rate. A batch is never smaller than configured, and is open until its turn
 * comes. Where requests are not limited, batches grow when a load of more than 40 MB/s fills them so fast that the requests
 * are what costs.
 */
export function tune(load: Load, configured: Configured): Tuned {
  const { requestsPerSecond, bytesPerSecond, waitingBytes, eventsPerSecond, waitingEvents, datasets } = load
  if (requestsPerSecond === Number.POSITIVE_INFINITY) {
    const { maxBatchBytes, maxBatchEvents, maxBatchAgeMs, maxUnlimitedBytes } = configured
    return {
      maxBatchBytes: doubled(maxBatchBytes, bytesPerSecond / plentyPerSecond, maxUnlimitedBytes),
      maxBatchEvents,
      maxBatchAgeMs,
    }
  }
  const needed = (perSecond: number, waiting: number) =>
    (perSecond * partOfLoad + waiting / catchUpSeconds) / requestsPerSecond
  const turnMs = (Math.max(datasets, 1) / requestsPerSecond) * 1000
  const isTurnRare = turnMs > configured.maxBatchAgeMs * rareTurnPart
  return {
    maxBatchBytes: between(
      configured.maxBatchBytes,
      needed(bytesPerSecond, waitingBytes),
      configured.batchBytesCeiling,
    ),
    maxBatchEvents: between(configured.maxBatchEvents, needed(eventsPerSecond, waitingEvents), batchEventsCeiling),
    maxBatchAgeMs: isTurnRare ? 0 : configured.maxBatchAgeMs,
  }
}

/** How often batches are tuned at the most, in milliseconds: to a limit that holds for seconds, and without one. */
const intervalMs = 500
const unlimitedIntervalMs = 50

/** What batches hold at the moment. */
export interface BatchLoad {
  /** Bytes of all lines added so far, and how many there are. */
  readonly addedBytes: number
  readonly addedEvents: number
  /** The same of those that wait, beyond the batches being filled. */
  readonly waitingBytes: number
  readonly waitingEvents: number
  readonly datasets: number
}

/** What the tuner reads and sets. */
export interface Tunable {
  readonly limits: {
    maxBatchBytes: number
    maxBatchEvents: number
    maxBatchAgeMs: number
    readonly batchBytesCeiling: number
    readonly maxUnlimitedBytes: number
  }
  load(): BatchLoad
}

/** Keeps size and age of batches tuned to the pace, or to the load while there is none. Time is monotonic, in milliseconds. */
export class Tuner {
  readonly #batches: Tunable
  readonly #requestsPerSecond: (nowMs: number) => number
  readonly #maxGrownBytes: (nowMs: number) => number
  readonly #configured: Tuned
  #tunedAtMs = Number.NEGATIVE_INFINITY
  #addedBytes = 0
  #addedEvents = 0

  /** @param maxGrownBytes bytes beyond which batches are not to grow, as the service may not take them */
  constructor(
    batches: Tunable,
    requestsPerSecond: (nowMs: number) => number,
    maxGrownBytes: (nowMs: number) => number = () => Number.POSITIVE_INFINITY,
  ) {
    this.#batches = batches
    this.#requestsPerSecond = requestsPerSecond
    this.#maxGrownBytes = maxGrownBytes
    const { maxBatchBytes, maxBatchEvents, maxBatchAgeMs } = batches.limits
    this.#configured = { maxBatchBytes, maxBatchEvents, maxBatchAgeMs }
  }

  tune(nowMs: number): void {
    const elapsedMs = nowMs - this.#tunedAtMs
    const requestsPerSecond = this.#requestsPerSecond(nowMs)
    if (elapsedMs < (requestsPerSecond === Number.POSITIVE_INFINITY ? unlimitedIntervalMs : intervalMs)) return
    this.#tunedAtMs = nowMs
    const { limits } = this.#batches
    const { addedBytes, addedEvents, waitingBytes, waitingEvents, datasets } = this.#batches.load()
    const bytesPerSecond = ((addedBytes - this.#addedBytes) / elapsedMs) * 1000
    const eventsPerSecond = ((addedEvents - this.#addedEvents) / elapsedMs) * 1000
    this.#addedBytes = addedBytes
    this.#addedEvents = addedEvents
    const { maxBatchBytes, maxBatchEvents, maxBatchAgeMs } = this.#configured
    const batchBytesCeiling = Math.max(Math.min(limits.batchBytesCeiling, this.#maxGrownBytes(nowMs)), maxBatchBytes)
    const load = { requestsPerSecond, bytesPerSecond, waitingBytes, eventsPerSecond, waitingEvents, datasets }
    const tuned = tune(load, {
      maxBatchBytes,
      maxBatchEvents,
      maxBatchAgeMs,
      batchBytesCeiling,
      maxUnlimitedBytes: Math.min(limits.maxUnlimitedBytes, batchBytesCeiling),
    })
    limits.maxBatchBytes = tuned.maxBatchBytes
    limits.maxBatchEvents = tuned.maxBatchEvents
    limits.maxBatchAgeMs = tuned.maxBatchAgeMs
  }
}

/** Full blocks of few sizes are kept for use again: `least`, twice as much, and so on. */
function doubled(min: number, wanted: number, max: number): number {
  let bytes = min
  while (bytes < wanted && bytes * 2 <= max) bytes *= 2
  return bytes
}

function between(min: number, wanted: number, max: number): number {
  return Math.max(min, Math.min(Math.ceil(wanted), max))
}
