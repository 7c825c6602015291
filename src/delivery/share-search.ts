// As in adaptive-rate.ts, the numbers gave the best overall results with 1 to 500 clients.

/** Number of successes in a row after which the rate grows. */
const freeAnswers = 4
/** Minimum time between two such steps, in milliseconds: one window of the service. */
const stepMs = 1000
/** Rate from which it doubles, in requests per second. Below, where many processes may share the limit, it grows by half. */
const doublingPerSecond = 3

/**
 * Number of 429s in a row after which the rate is lowered, if it is below one request per second. Very many processes
 * then share the limit.
 */
const crowdedRefusals = 2
/** Part of the rate that remains after these 429s. */
const keptOfCrowded = 0.7
/** Rate below which these 429s lower it no further, in requests per second. */
const leastCrowdedPerSecond = 0.2

/** Number of answers, with a 429 among them, that tell the share. */
const answersToFind = 12

/**
 * Finds the share of a process that has proven no rate. All processes begin with the same first rate. It grows in steps
 * until a request is refused. Then the part of the requests that is accepted is measured, and the rate becomes this part.
 *
 * Time is monotonic, in milliseconds.
 */
export class ShareSearch {
  readonly kind = 'finding'
  #perSecond: number
  #sinceMs: number
  #accepted: number
  #refused = 0

  /** @param accepted number of successes at this rate that have come already */
  constructor(nowMs: number, perSecond: number, accepted = 0) {
    this.#sinceMs = nowMs
    this.#perSecond = perSecond
    this.#accepted = accepted
  }

  /** The rate at present, in requests per second. */
  get perSecond(): number {
    return this.#perSecond
  }

  /**
   * Notes a 429, and the number of 429s in a row. Returns the share in requests per second if it is found.
   */
  onRefused(refusals: number): number | undefined {
    this.#refused++
    const isCrowded = this.#perSecond < 1 && this.#perSecond > leastCrowdedPerSecond
    if (isCrowded && refusals % crowdedRefusals === 0) this.#perSecond *= keptOfCrowded
    return this.#share
  }

  /** Notes a success. Returns the share in requests per second if it is found. */
  onAccepted(): number | undefined {
    this.#accepted++
    return this.#share
  }

  /** Begins with the next rate if enough has been accepted, and nothing refused. Returns true if so. */
  grow(nowMs: number): boolean {
    if (this.#refused > 0 || this.#accepted < freeAnswers || nowMs - this.#sinceMs < stepMs) return false
    this.#perSecond *= this.#perSecond < doublingPerSecond ? 1.5 : 2
    this.#sinceMs = nowMs
    this.#accepted = 0
    return true
  }

  get #share(): number | undefined {
    const answers = this.#accepted + this.#refused
    if (this.#refused === 0 || this.#accepted === 0 || answers < answersToFind) return undefined
    return (this.#perSecond * (this.#accepted + 0.5)) / (answers + 0.5)
  }
}
