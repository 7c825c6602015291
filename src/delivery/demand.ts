import { batchEventsCeiling, catchUpSeconds, type Tunable } from './batch-tuning.ts'

/** The requests per second that a process could use of a limit that it shares with other processes. */
export interface RequestDemand {
  /** Number of requests per second below which events are lost, even in batches as large as they may become. */
  readonly needed: number
  /**
   * Number of requests per second with which events are sent as soon as they are due, in batches of the configured
   * size.
   */
  readonly wanted: number
}

/**
 * Number of requests per second up to which a process sends rarely: slots of its own would come too seldom to wait for
 * them. One call to Redis for each such request is not much more than one in each lease.
 */
export const rarePerSecond = 0.35

/**
 * Part of its slots that a process without a backlog uses when it has as many as it wants. With fewer slots, its events
 * would wait longer. With more, slots that other processes need would stay empty.
 */
const usedPartIfSteady = 0.9
/**
 * Part of the allowed requests from which on a process counts as making all of them. It needs more, if its turns are rare:
 * events then wait in open batches for longer than configured, although no batch is behind.
 */
const usedPartIfHeldBack = 0.75
/** Number of requests per second that a process may always want, even if it has made almost none until now. */
const minWanted = 0.2
/**
 * Time constant of the moving averages for a process without a backlog, in seconds. A few events come at irregular
 * times.
 */
const steadySeconds = 15
/** Multiple of its recent requests that a process with few events wants at most: the next events come at any time. */
const rareRoom = 1.5
/** Time over which events logged before the first measurement are spread, in milliseconds. */
const firstPeriodMs = 1000
/** Minimum time between two measurements, in seconds: an earlier one would find nothing new. */
const minSeconds = 0.1

/**
 * Measures the demand of one process for requests that several processes share, by the events logged and the requests
 * made since the last measurement.
 */
export class Demand {
  readonly #batches: Tunable
  readonly #requests: () => number
  readonly #allowedPerSecond: (nowMs: number) => number
  readonly #configured: {
    readonly maxBatchBytes: number
    readonly maxBatchEvents: number
    readonly maxBatchAgeMs: number
  }
  #measuredAtMs: number | undefined
  #addedBytes = 0
  #addedEvents = 0
  #requestsBefore = 0
  #watchedSeconds = 0
  /** Moving average of the batches that fall due per second. */
  #inTimePerSecond = 0
  /** Moving average of the batches that fall due per second, without the events that wait. */
  #arrivingPerSecond = 0
  /** Moving average of the requests made per second. */
  #requestsPerSecond = 0
  /** Moving average of the requests allowed per second, as far as batches fell due for them. */
  #usablePerSecond = 0
  #last: RequestDemand = { needed: 0, wanted: 0 }

  /**
   * @param batches batches whose limits are still the configured ones; tuning changes the limits later
   * @param requests returns the number of requests made so far
   * @param allowedPerSecond returns the number of requests per second that are allowed; `Infinity` if nothing limits them
   */
  constructor(batches: Tunable, requests: () => number, allowedPerSecond: (nowMs: number) => number) {
    this.#batches = batches
    this.#requests = requests
    this.#allowedPerSecond = allowedPerSecond
    this.#configured = { ...batches.limits }
  }

  /** Returns the demand since the last measurement. Time is monotonic, in milliseconds. */
  measure(nowMs: number): RequestDemand {
    const seconds = (nowMs - (this.#measuredAtMs ?? nowMs - firstPeriodMs)) / 1000
    if (seconds < minSeconds) return this.#last
    const { addedBytes, addedEvents, waitingBytes, waitingEvents, datasets } = this.#batches.load()
    const arrivingEvents = (addedEvents - this.#addedEvents) / seconds
    const bytesPerSecond = (addedBytes - this.#addedBytes) / seconds + waitingBytes / catchUpSeconds
    const eventsPerSecond = arrivingEvents + waitingEvents / catchUpSeconds
    const requests = this.#requests()
    this.#watchedSeconds += seconds
    const weight = seconds / Math.max(Math.min(this.#watchedSeconds, steadySeconds), seconds)
    const { maxBatchBytes, maxBatchEvents, maxBatchAgeMs } = this.#configured
    // Limited before it is averaged: otherwise the average takes minutes to forget a burst of a million events.
    const maxInTime = (datasets * 1000) / maxBatchAgeMs
    const inTime = Math.min(eventsPerSecond, maxInTime)
    this.#inTimePerSecond += (inTime - this.#inTimePerSecond) * weight
    this.#arrivingPerSecond += (Math.min(arrivingEvents, maxInTime) - this.#arrivingPerSecond) * weight
    this.#requestsPerSecond += ((requests - this.#requestsBefore) / seconds - this.#requestsPerSecond) * weight
    const usable = Math.min(this.#allowedPerSecond(nowMs), this.#inTimePerSecond)
    this.#usablePerSecond += (usable - this.#usablePerSecond) * weight
    const wanted = Math.max(
      bytesPerSecond / maxBatchBytes,
      eventsPerSecond / maxBatchEvents,
      inTime,
      this.#inTimePerSecond,
    )
    const isBehind = waitingBytes > maxBatchBytes || waitingEvents > maxBatchEvents
    const areTurnsRare = this.#batches.limits.maxBatchAgeMs < maxBatchAgeMs
    const isHeldBack = areTurnsRare && this.#requestsPerSecond >= usedPartIfHeldBack * this.#usablePerSecond
    const due = isHeldBack ? this.#inTimePerSecond : 0
    const steady = Math.max(this.#requestsPerSecond / usedPartIfSteady, due, minWanted)
    const isRare = this.#arrivingPerSecond / usedPartIfSteady <= rarePerSecond && !isBehind
    // Events that come in bursts are sent in fewer requests. A process whose requests had to wait still wants some.
    const arriving = this.#arrivingPerSecond
    const rarely = Math.min(arriving, Math.max(rareRoom * this.#requestsPerSecond, arriving / 4)) / usedPartIfSteady
    this.#last = {
      needed: Math.max(bytesPerSecond / this.#batches.limits.batchBytesCeiling, eventsPerSecond / batchEventsCeiling),
      // A single event that waits says little about the next minute.
      wanted: isRare ? rarely : waitingBytes > 0 ? wanted : Math.min(wanted, steady),
    }
    this.#measuredAtMs = nowMs
    this.#addedBytes = addedBytes
    this.#addedEvents = addedEvents
    this.#requestsBefore = requests
    return this.#last
  }
}
