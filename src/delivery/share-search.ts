// As in adaptive-rate.ts, the numbers gave the best overall results with 1 to 500 clients.

/** Number of successes in a row after which the rate grows. */
const freeAnswers = 4
/** Minimum time between two such steps, in milliseconds: one window of the service. */
const stepMs = 1000
/**
 * Time after the 429 with which the search begins, in milliseconds, within which another one says nothing of the rate: it
 * met the same window of the service, which earlier requests had filled.
 */
const windowMs = 1000
/**
 * Growth that one of many processes may owe to chance, as a multiple of its first rate. A 429 after no more growth than
 * this leaves the geometric mean of the first rate and the last one that was accepted.
 */
const maxGrowthByChance = 8
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
const minCrowdedPerSecond = 0.2

/** Number of answers, with a 429 among them, that tell the share. */
const answersToFind = 12
/**
 * 429s in a row, and then successes in a row, tell of an outage that has ended, if this is the product of their numbers.
 * If many processes share the limit, answers rarely come in this order.
 */
const orderOfOutage = 20

/**
 * Finds the share of a process that has proven no rate. All processes begin with the same first rate. It grows in steps
 * until a request is refused. Then it goes back, the part of the requests that is accepted is measured, and the rate
 * becomes this part. An outage is told apart by the order of the answers.
 *
 * Time is monotonic, in milliseconds.
 */
export class ShareSearch {
  readonly kind = 'finding'
  #perSecond: number
  #sinceMs: number
  #accepted: number
  #refused = 0
  /** Number of successes since the last 429. The search begins with a 429 that came after successes. */
  #acceptedInRow = 1
  /** Number of times that 429s began to come after successes. */
  #refusedRuns = 0
  #hasGrown = false
  readonly #firstPerSecond: number
  /** The rate of the step before, at which nothing was refused; the first rate if there was none. */
  #acceptedPerSecond: number

  /** @param accepted number of successes at this rate that have come already */
  constructor(nowMs: number, perSecond: number, accepted = 0) {
    this.#sinceMs = nowMs
    this.#perSecond = this.#firstPerSecond = this.#acceptedPerSecond = perSecond
    this.#accepted = accepted
  }

  /** The rate at present, in requests per second. */
  get perSecond(): number {
    return this.#perSecond
  }

  /**
   * Notes a 429, and the number of 429s in a row. Returns the share in requests per second if it is found.
   */
  onRefused(nowMs: number, refusals: number): number | undefined {
    const isUntried = this.#accepted + this.#refused === 0 && !this.#hasGrown
    if (isUntried && nowMs - this.#sinceMs < windowMs) return undefined
    if (this.#refused++ === 0) this.#goBack()
    if (this.#acceptedInRow > 0) this.#refusedRuns++
    this.#acceptedInRow = 0
    const isCrowded = this.#perSecond < 1 && this.#perSecond > minCrowdedPerSecond
    if (isCrowded && refusals % crowdedRefusals === 0) this.#perSecond *= keptOfCrowded
    return this.#share
  }

  /** Notes a success. Returns the share in requests per second if it is found. */
  onAccepted(): number | undefined {
    this.#accepted++
    this.#acceptedInRow++
    return this.#share
  }

  /** True if the 429s told of an outage that has ended, and so nothing of the share. */
  get wasOutage(): boolean {
    return this.#isOneRun && this.#refused * this.#acceptedInRow >= orderOfOutage
  }

  /** Begins with the next rate if enough has been accepted, and nothing refused. Returns true if so. */
  grow(nowMs: number): boolean {
    if (this.#refused > 0 || this.#accepted < freeAnswers || nowMs - this.#sinceMs < stepMs) return false
    this.#acceptedPerSecond = this.#perSecond
    this.#perSecond *= this.#perSecond < doublingPerSecond ? 1.5 : 2
    this.#hasGrown = true
    this.#sinceMs = nowMs
    this.#accepted = 0
    return true
  }

  #goBack(): void {
    const [first, accepted] = [this.#firstPerSecond, this.#acceptedPerSecond]
    this.#perSecond = accepted < first * maxGrowthByChance ? Math.sqrt(first * accepted) : accepted
  }

  /** True if all 429s came in a row. A single one often means that a higher rate is too high. */
  get #isOneRun(): boolean {
    return this.#refusedRuns === 1 && (this.#refused > 1 || !this.#hasGrown)
  }

  get #share(): number | undefined {
    const answers = this.#accepted + this.#refused
    if (this.#refused === 0 || this.#accepted === 0 || answers < answersToFind || this.#isOneRun) return undefined
    return (this.#perSecond * (this.#accepted + 0.5)) / (answers + 0.5)
  }
}
