import { answersDecayMs, hasAnswer } from './answer-rates.ts'
import type { SharedRate } from './rate-limiter.ts'

/** If at least this part of the requests is refused, the number of accepted ones is taken as the limit. */
const refusedFrom = 0.15
/** Minimum number of accepted requests for that. */
const minAccepted = 6
/**
 * The limit, as a multiple of the accepted requests. Their number varies by chance. If the limit is found too low, requests
 * wait without need until it has grown.
 */
const margin = 1.08
/**
 * Factor by which the limit grows with each exchange, so that it does not last: the service may accept more by now, and
 * processes of other machines, which share the limit, would never get more of it.
 */
const growthPerExchange = 1.03
/**
 * A found limit counts only if it is below this part of the known one, so that processes do not disagree for small
 * differences: they take turns only under the same limit.
 */
const clearlyLowerPart = 0.75
/** Time until the limit is found anew, in milliseconds. The answers of that time belong to the rates before. */
const foundAgainMs = 4000
/**
 * Without an accepted request for `fromMs` milliseconds, an outage is assumed, which says nothing about the limit. The answers
 * of the next `affectsMs` milliseconds still belong to it.
 */
const outage = { fromMs: 1200, affectsMs: 5000 }
/** Time without an exchange after which the limit is forgotten, in milliseconds. */
const forgottenAfterMs = 15_000

/**
 * The limit that the service enforces, if it is lower than the known one, or if none is known. While the service refuses
 * many requests, the number that it accepts per second, of all processes, is its limit.
 */
export class FoundLimit {
  /** In requests per second; `Infinity` as long as none was found. */
  #perSecond = Number.POSITIVE_INFINITY
  #notBeforeMs = Number.NEGATIVE_INFINITY
  #updatedAtMs = Number.NEGATIVE_INFINITY

  /** Returns the limit in force: the known one, unless the service enforces one that is clearly lower. */
  orLower(knownPerSecond: number): number {
    return this.#perSecond < knownPerSecond * clearlyLowerPart ? this.#perSecond : knownPerSecond
  }

  /**
   * Finds the limit if the rates of several processes tell it. Otherwise the limit grows.
   *
   * @param nowMs monotonic time, in milliseconds
   * @param rates the rates of all processes of this machine
   * @param growth a factor by which it grows besides, because nothing was refused for some time
   */
  update(nowMs: number, rates: readonly SharedRate[], growth: number): void {
    if (nowMs - this.#updatedAtMs > forgottenAfterMs) this.#perSecond = Number.POSITIVE_INFINITY
    this.#updatedAtMs = nowMs
    if (Math.min(...rates.map(({ sinceAcceptedMs }) => sinceAcceptedMs)) > outage.fromMs)
      this.#notBeforeMs = nowMs + outage.affectsMs
    const accepted = rates.reduce((sum, { acceptedPerSecond }) => sum + acceptedPerSecond, 0)
    const refused = rates.reduce((sum, { refusedPerSecond }) => sum + refusedPerSecond, 0)
    const haveAnswers = rates.filter(hasAnswer).length > rates.length / 2 // others have only joined
    const isEnough = rates.length > 1 && haveAnswers && accepted * (answersDecayMs / 1000) >= minAccepted
    const isTold = isEnough && refused >= (accepted + refused) * refusedFrom
    if (!isTold) this.#perSecond *= growth * growthPerExchange
    else if (nowMs >= this.#notBeforeMs) {
      this.#perSecond = accepted * margin
      this.#notBeforeMs = nowMs + foundAgainMs
    }
  }
}
