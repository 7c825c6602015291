import { batchEventsCeiling, type Tunable } from './batch-tuning.ts'

/** The requests per second that a process could use, for a limit that it shares with others. */
export interface RequestDemand {
  /** Without which events are lost: in batches as large as they may become. */
  readonly needed: number
  /** With which events are sent as soon as they are due, in batches of the configured size. */
  readonly wanted: number
}

/** What waits is to be worked off in this time, in seconds. */
const catchUpSeconds = 5
/**
 * Part of its slots that a process without a backlog uses when it has as many as it wants. With fewer, its events would
 * wait longer; with more, slots would stay empty that others need.
 */
const usedPart = 0.8
/** Where next to nothing was used until now, slots for so many requests per second are worth to be had. */
const minWanted = 0.2
/** Time constant of what a process without a backlog logs and sends, in seconds: a few events come at odd times. */
const steadySeconds = 15
/** Events that were logged before the first look count as if they had been logged within this time, in milliseconds. */
const firstLookMs = 1000
/** Looks that follow each other sooner find nothing new, in seconds. */
const minSeconds = 0.1

/** The demand of one process for requests that several share, from the events logged and the requests made since the last look. */
export class Demand {
  readonly #batches: Tunable
  readonly #requests: () => number
  readonly #configured: {
    readonly maxBatchBytes: number
    readonly maxBatchEvents: number
    readonly maxBatchAgeMs: number
  }
  #lookedAtMs: number | undefined
  #addedBytes = 0
  #addedEvents = 0
  #requestsBefore = 0
  #watchedSeconds = 0
  /** Batches that fall due and requests that are made, per second, each a moving average. */
  #inTimePerSecond = 0
  #requestsPerSecond = 0
  #last: RequestDemand = { needed: 0, wanted: 0 }

  /**
   * @param batches with the limits that are configured, which are tuned later
   * @param requests those made so far
   */
  constructor(batches: Tunable, requests: () => number) {
    this.#batches = batches
    this.#requests = requests
    this.#configured = { ...batches.limits }
  }

  /** The demand since the last look. Time is monotonic, in milliseconds. */
  look(nowMs: number): RequestDemand {
    const seconds = (nowMs - (this.#lookedAtMs ?? nowMs - firstLookMs)) / 1000
    if (seconds < minSeconds) return this.#last
    const { addedBytes, addedEvents, waitingBytes, waitingEvents, datasets } = this.#batches.load()
    const bytesPerSecond = (addedBytes - this.#addedBytes) / seconds + waitingBytes / catchUpSeconds
    const eventsPerSecond = (addedEvents - this.#addedEvents) / seconds + waitingEvents / catchUpSeconds
    const requests = this.#requests()
    this.#watchedSeconds += seconds
    const weight = seconds / Math.max(Math.min(this.#watchedSeconds, steadySeconds), seconds)
    const { maxBatchBytes, maxBatchEvents, maxBatchAgeMs } = this.#configured
    // Limited before it is averaged: the average would take minutes to forget a burst of a million events.
    const inTime = Math.min(eventsPerSecond, (datasets * 1000) / maxBatchAgeMs)
    this.#inTimePerSecond += (inTime - this.#inTimePerSecond) * weight
    this.#requestsPerSecond += ((requests - this.#requestsBefore) / seconds - this.#requestsPerSecond) * weight
    const wanted = Math.max(
      bytesPerSecond / maxBatchBytes,
      eventsPerSecond / maxBatchEvents,
      inTime,
      this.#inTimePerSecond,
    )
    const steady = Math.max(this.#requestsPerSecond / usedPart, minWanted)
    this.#last = {
      needed: Math.max(bytesPerSecond / this.#batches.limits.batchBytesCeiling, eventsPerSecond / batchEventsCeiling),
      wanted: waitingBytes > 0 ? wanted : Math.min(wanted, steady),
    }
    this.#lookedAtMs = nowMs
    this.#addedBytes = addedBytes
    this.#addedEvents = addedEvents
    this.#requestsBefore = requests
    return this.#last
  }
}
