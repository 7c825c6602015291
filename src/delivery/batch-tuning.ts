/** The load to which batches are tuned. */
export interface Load {
  /** Maximum number of requests per second; `Infinity` if nothing limits them. */
  readonly requestsPerSecond: number
  /** Bytes of lines added per second since the last tuning. */
  readonly bytesPerSecond: number
  /** Number of events added per second since the last tuning. */
  readonly eventsPerSecond: number
  /** Bytes of lines that wait, without the batches being filled. */
  readonly waitingBytes: number
  /** Number of events that wait, without the batches being filled. */
  readonly waitingEvents: number
  /** Number of datasets that have batches. Each dataset needs requests of its own. */
  readonly datasets: number
}

/** The configured limits, and the bounds up to which tuning may raise them. */
interface Configured {
  readonly maxBatchBytes: number
  readonly maxBatchEvents: number
  readonly maxBatchAgeMs: number
  /** Bytes that no batch may exceed, because of memory, the service or this package's own limit. */
  readonly batchBytesCeiling: number
  /** Bytes up to which `maxBatchBytes` may be raised while requests are not limited. */
  readonly maxUnlimitedBytes: number
}

interface Tuned {
  readonly maxBatchBytes: number
  readonly maxBatchEvents: number
  readonly maxBatchAgeMs: number
}

/**
 * Part of the incoming load for which a batch is sized. The small rest always waits, so that every allowed request is
 * used. Larger batches would mean fewer requests and older events.
 */
const partOfLoad = 0.9
/**
 * Maximum number of events in a batch, whatever the load. It is the maximum of the option `maxBatchEvents`, and
 * `maxSegmentBytes` of the spool allows for it.
 */
export const batchEventsCeiling = 100_000
/** Time in which waiting events should be sent, in seconds. */
export const catchUpSeconds = 5
/** Number of requests per second above which more requests only add their own cost, if requests are not limited. */
const plentyPerSecond = 40
/**
 * Part of `maxBatchAgeMs`. If the turns of a dataset are further apart, each turn takes every event logged before it.
 * An event that misses its turn would have to wait for another whole one.
 */
const rareTurnPart = 0.5

/**
 * Chooses the size and age of batches so that the load fits into the allowed requests. Events wait for a turn and
 * travel in larger batches before any event is lost for the rate. A batch is never smaller than configured, and stays
 * open until its turn comes.
 *
 * If requests are not limited, batches grow under a load of more than 40 MB/s, because the requests themselves are then
 * the cost.
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

/** Minimum time between two tunings while requests are limited, in milliseconds. */
const intervalMs = 500
/** Minimum time between two tunings while requests are not limited, in milliseconds. */
const unlimitedIntervalMs = 50

/** The lines that batches hold at the moment. */
export interface BatchLoad {
  /** Bytes of all lines added so far. */
  readonly addedBytes: number
  /** Number of all lines added so far. */
  readonly addedEvents: number
  /** Bytes of the lines that wait, without the batches being filled. */
  readonly waitingBytes: number
  /** Number of the lines that wait, without the batches being filled. */
  readonly waitingEvents: number
  readonly datasets: number
}

/** The limits that the tuner sets, and the load that it reads. */
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

/**
 * Keeps the size and age of batches tuned to the request rate, or to the load while the rate is not limited. Time is
 * monotonic, in milliseconds.
 */
export class Tuner {
  readonly #batches: Tunable
  readonly #requestsPerSecond: (nowMs: number) => number
  readonly #maxGrownBytes: (nowMs: number) => number
  readonly #configured: Tuned
  #tunedAtMs = Number.NEGATIVE_INFINITY
  #addedBytes = 0
  #addedEvents = 0

  /**
   * @param maxGrownBytes returns the bytes beyond which batches must not grow, because the service may refuse larger
   *   ones
   */
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

/** Doubles `min` as often as `wanted` requires and `max` allows. Blocks of few different sizes can be reused. */
function doubled(min: number, wanted: number, max: number): number {
  let bytes = min
  while (bytes < wanted && bytes * 2 <= max) bytes *= 2
  return bytes
}

function between(min: number, wanted: number, max: number): number {
  return Math.max(min, Math.min(Math.ceil(wanted), max))
}
