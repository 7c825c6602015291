import type { Batch } from '../batch/batch.ts'
import type { Breaker } from './breaker.ts'
import { type Attempt, maxRequestsAtEnd } from './sender.ts'
import type { ShortMap } from './short-map.ts'

/** A request without a complete answer. */
export interface InFlight {
  readonly controller: AbortController
  readonly startedAtMs: number
  /** True if only probes were allowed when the request started. */
  readonly isProbe: boolean
  /** An earlier attempt for the same batch, which has no answer yet. */
  earlier: InFlight | undefined
  /** Set once a 2xx status has arrived. Returns the outcome if the rest of the answer never comes. */
  asAccepted: (() => Attempt) | undefined
}

/**
 * Minimum wait for an answer, in milliseconds, that is reported as the reason why events were not delivered, and after which
 * other datasets come first.
 */
export const minSilenceMs = 1000
/**
 * A request without an answer for this time, in milliseconds, may be lost. If the service has answered a later request, the
 * request no longer counts against the limit of requests in flight. `urgent` holds before the deadline.
 */
const lostAfterMs = { usual: 5000, urgent: minSilenceMs }
/**
 * Before the deadline, a request without an answer for this time, in milliseconds, is made a second time. `withSign` holds if
 * the service has answered a later request, or sooner if half of the time until the deadline is over. The first attempt goes
 * on, because the service may only be slow.
 */
const againAfterMs = { withSign: 5000, withoutSign: 10_000 }
/** Maximum number of probes without an answer for some time beside which another request is made. */
const maxSilentProbes = 2

/**
 * The requests in flight that may be lost on their way: how many others may be made beside them, and which are made a second
 * time. Times are monotonic, in milliseconds.
 */
export class LostRequests {
  readonly #inFlight: ShortMap<Batch, InFlight>
  readonly #breaker: Pick<Breaker, 'isOpen'>
  /** Start of the latest request that was answered. */
  #answeredStartMs = Number.NEGATIVE_INFINITY
  /** The deadline that `setDeadline` has set. */
  #endMs = Number.NEGATIVE_INFINITY

  /** @param inFlight the requests in flight, as they change */
  constructor(inFlight: ShortMap<Batch, InFlight>, breaker: Pick<Breaker, 'isOpen'>) {
    this.#inFlight = inFlight
    this.#breaker = breaker
  }

  /** Notes an answer to a request that started at that time. */
  onAnswered(startedAtMs: number): void {
    this.#answeredStartMs = Math.max(this.#answeredStartMs, startedAtMs)
  }

  setDeadline(endMs: number): void {
    this.#endMs = endMs
  }

  clearDeadline(): void {
    this.#endMs = Number.NEGATIVE_INFINITY
  }

  /**
   * Returns the maximum number of requests in flight, those included that may be lost, or whose answers are left open. While
   * no request in flight gets an answer, one more is made, to find out if the service answers new ones.
   *
   * @param maxRequests the same number if none is lost
   */
  maxInFlight(nowMs: number, maxRequests: number): number {
    if (this.#breaker.isOpen) return this.#maxProbes(nowMs)
    const lostMs = this.#lostAfterMs(nowMs)
    let lost = 0
    let silent = 0
    for (const one of this.#inFlight.values()) {
      if (isLeftOpen(one, nowMs)) lost++
      if (!isSilent(one, nowMs, lostMs)) continue
      silent++
      if (this.#isOvertaken(one)) lost++
    }
    const limit = maxRequests + Math.min(lost, maxRequestsAtEnd)
    const areAllSilent = silent === this.#inFlight.size && silent >= limit
    return areAllSilent ? Math.min(silent + 1, limit + maxSilentProbes) : limit
  }

  /**
   * Yields the requests to make a second time, before the deadline. Without a sign that the service answers new requests,
   * only one is made again at a time.
   */
  *toRepeat(nowMs: number): Generator<[Batch, InFlight], void> {
    if (nowMs >= this.#endMs) return
    const isDue = (one: InFlight) => isSilent(one, nowMs, this.#againAfterMs(one))
    let isTrying = !this.#inFlight.values().every(isDue)
    for (const [batch, one] of this.#inFlight.entries()) {
      if (!isDue(one) || batch.attempts.isRepeated) continue
      const isWithoutSign = !this.#isOvertaken(one)
      if (isWithoutSign && (isTrying || nowMs - one.startedAtMs < againAfterMs.withoutSign)) continue
      isTrying = true
      yield [batch, one]
    }
  }

  /** Returns the time at which the next request in flight has had no whole answer for some time; `Infinity` if there is none. */
  nextSilenceMs(nowMs: number): number {
    const usualMs = this.#breaker.isOpen ? minSilenceMs : this.#lostAfterMs(nowMs)
    let atMs = Number.POSITIVE_INFINITY
    for (const one of this.#inFlight.values()) {
      const againMs = nowMs < this.#endMs ? [this.#againAfterMs(one), againAfterMs.withoutSign] : []
      for (const silenceMs of [minSilenceMs, usualMs, ...againMs])
        if (one.startedAtMs + silenceMs > nowMs) atMs = Math.min(atMs, one.startedAtMs + silenceMs)
    }
    return atMs
  }

  /** One probe at a time, beside requests that have had no answer for some time. */
  #maxProbes(nowMs: number): number {
    let requests = 0
    let probes = 0
    for (const one of this.#inFlight.values()) {
      if (!isSilent(one, nowMs, minSilenceMs)) continue
      requests++
      if (one.isProbe) probes++
    }
    return probes <= maxSilentProbes ? requests + 1 : requests
  }

  /** True if the service has answered a later request. */
  #isOvertaken({ startedAtMs }: InFlight): boolean {
    return startedAtMs < this.#answeredStartMs
  }

  #lostAfterMs(nowMs: number): number {
    return nowMs < this.#endMs ? lostAfterMs.urgent : lostAfterMs.usual
  }

  #againAfterMs({ startedAtMs }: InFlight): number {
    return Math.max(Math.min(againAfterMs.withSign, (this.#endMs - startedAtMs) / 2), minSilenceMs)
  }
}

/**
 * True if the service has taken the batch, but its answer does not end: it has fewer bytes than its `content-length`, for
 * example. If such requests took the place of others, a few seconds would pass between them.
 */
function isLeftOpen({ startedAtMs, asAccepted }: InFlight, nowMs: number): boolean {
  return asAccepted !== undefined && nowMs - startedAtMs >= minSilenceMs
}

/** True if no part of an answer has come for so long. */
function isSilent({ startedAtMs, asAccepted }: InFlight, nowMs: number, forMs: number): boolean {
  return asAccepted === undefined && nowMs - startedAtMs >= forMs
}
