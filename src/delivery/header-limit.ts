import type { RateLimit } from './rate-limit-headers.ts'

/**
 * Time in milliseconds for which a limit holds after the last answer that named it, although other answers name a higher
 * one. Answers to several requests may arrive out of order.
 */
const holdsMs = 1000
/**
 * The same time if the number in the header did not change. In the last seconds of a minute, a limit per minute looks
 * like one per second.
 */
const sameNumberHoldsMs = 120_000
/**
 * Number of answers in a row without the limit after which the limit is forgotten. What named it, such as a rule of a
 * gateway, is then gone.
 */
const maxAnswersWithout = 5
/** Time since the last answer that named the limit after which one answer without it is enough, in milliseconds. */
const maxUnnamedMs = 10_000
/** Minimum of a limit, in requests per second: a limit is unlearned by answers, and without requests there are none. */
const minPerSecond = 1 / 60

/** A limit that an answer of the last seconds named, in requests per second, and the time since that answer. */
export interface NamedLimit {
  readonly perSecond: number
  readonly ageMs: number
}

/**
 * The limit on requests that the headers of answers name, for all processes that share it. A lower limit holds at once. A
 * higher one holds when no answer has named the lower one for some time, and the limit ends when answers no longer name it.
 *
 * Time is monotonic, in milliseconds.
 */
export class HeaderLimit {
  #perSecond = Number.POSITIVE_INFINITY
  /** Time of the last answer that named the limit. */
  #namedAtMs = 0
  /** The number in the header from which the limit was computed. */
  #number: number | undefined
  /** Number of answers in a row that did not name the limit. */
  #answersWithout = 0

  /** The limit in requests per second; `Infinity` if no header names one. */
  get perSecond(): number {
    return this.#perSecond
  }

  /** Returns the limit if an answer of the last seconds named it. An idle process hears of no change. */
  named(nowMs: number): NamedLimit | undefined {
    const ageMs = nowMs - this.#namedAtMs
    const isKnown = this.#perSecond !== Number.POSITIVE_INFINITY && ageMs < maxUnnamedMs
    return isKnown ? { perSecond: this.#perSecond, ageMs } : undefined
  }

  /** @param throttled true for a 429. That of a gateway may have no headers at all, which says nothing about the limit. */
  onAnswer(nowMs: number, { limit, limitPerSecond }: RateLimit, throttled: boolean): void {
    if (limitPerSecond !== undefined) this.#apply(nowMs, limit, Math.max(limitPerSecond, minPerSecond))
    else if (limit !== undefined && limit === this.#number)
      this.#answersWithout = 0 // the same limit, without its window
    else if (!throttled) this.#doubt(nowMs)
  }

  #apply(nowMs: number, number: number | undefined, perSecond: number): void {
    this.#answersWithout = 0
    const heldForMs = number === this.#number ? sameNumberHoldsMs : holdsMs
    if (perSecond > this.#perSecond && nowMs < this.#namedAtMs + heldForMs) return
    this.#perSecond = perSecond
    this.#number = number
    this.#namedAtMs = nowMs
  }

  #doubt(nowMs: number): void {
    if (this.#perSecond === Number.POSITIVE_INFINITY) return
    const isRecent = nowMs - this.#namedAtMs < maxUnnamedMs
    if (++this.#answersWithout < maxAnswersWithout && isRecent) return
    this.#perSecond = Number.POSITIVE_INFINITY
    this.#number = undefined
  }
}
