import type { RateLimit } from './rate-limit-headers.ts'

/** Slots for requests that nobody else uses: one every `periodMs`, from `firstSlotMs` on, until another lease is set. */
export interface Lease {
  /** Monotonic time, in milliseconds; before it no request starts. */
  readonly firstSlotMs: number
  readonly periodMs: number
}

/**
 * Part of a limit that is used. The service counts in windows of its own: at 5 requests per second, five intervals then
 * last 1020 ms, so a request that is up to 20 ms late does not make a sixth in any one second.
 */
const usedPart = 0.98
/** How late a start may be without delaying those after it, in milliseconds; less than the 20 ms above. */
const catchUpMs = 15
/** The window in which the service counts, as far as it is known, in milliseconds. */
const windowMs = 1000
/** How long the second request waits for the answer to the first, which tells whether there are others, in milliseconds. */
const firstAnswerMs = 1000
/** How long the lowest limit seen in headers holds: where windows last a minute, their last seconds look like seconds. */
const headerLimitHoldsMs = 120_000

// The numbers below are those that did best over all with 2 to 500 clients: test/org/simulation.test.ts.

/** Part of the rate that is kept after a 429, give or take a tenth; the second is for one that no success preceded. */
const keptOnce = 0.85
const keptAgain = 0.5
/** What an answer adds to the rate, in requests per second; twice as much after so many without a 429, and so on. */
const growth = 0.0015
const answersUntilDoubled = 1000
/**
 * Where no 429 has come for so long, whoever shared the limit has gone, or there never was anybody: an answer then adds a
 * fifth to the rate, twice as much after twice the time, and so on.
 */
const quietMs = 240_000
const growthWhenQuiet = 0.2
/** Part of the rate that an answer adds under a lease, where nobody needs to be made room for. */
const growthUnderLease = 0.05
/** However crowded it is, one request in 20 seconds is tried. */
const leastPerSecond = 1 / 20
/** What is looked at before more is said to be free: longer than a `Retry-After` of 1 that somebody else waits out. */
const lookMs = 3000
const lookAnswers = 8
/** Requests that may start early before the end, and the time that the last request before it needs, in milliseconds. */
const mostEarlyStarts = 4
const lastRequestMs = 250
/** Part of a window that is left free. */
const keptFree = 0.03

/**
 * How fast requests may start, for the whole core at once.
 *
 * A limit that is known, the licence's or that of the answers' headers, is kept by even spacing. A lease gives slots
 * instead. With neither there is no pace until a 429.
 *
 * Where others share the limit, each process finds its share without talking to them: every answer adds a constant to its
 * rate, every 429 takes a part of it away, so that shares drift together (additive increase, multiplicative decrease).
 * What the answers' headers say is left of a window makes that quick: a newcomer starts with about one place where others
 * took many, and what nobody uses is taken by all in proportion.
 *
 * Time is monotonic, in milliseconds; `random` gives numbers from 0 to 1.
 */
export class Pace {
  readonly #random: () => number
  #limit = Number.POSITIVE_INFINITY
  #headerLimit = Number.POSITIVE_INFINITY
  #headerLimitUntilMs = 0
  #lease: Lease | undefined
  /** What others have taught us, in requests per second. */
  #learnt = Number.POSITIVE_INFINITY
  #nextMs = 0
  /** What the service has asked for. */
  #patienceUntilMs = 0
  /** When everything ends, and how many requests may start early for that. */
  #endMs = Number.NEGATIVE_INFINITY
  #earlyStarts = 0
  #lastStartMs = Number.NEGATIVE_INFINITY
  /** Starts in about the last second, and in about the last five minutes. */
  #startsLately = 0
  #starts = 0
  #wasHeldBack = false
  #hasAnswer = false
  #startedSinceThrottled = true
  #throttledAtMs = 0
  /** Answers since the last 429; 0 also before the first. */
  #answers = 0
  /** Least part of a window that was left in the answers of the present look. */
  #leastFree = 1
  #looks = 0
  #lookingSinceMs = 0

  constructor(random: () => number = Math.random) {
    this.#random = random
  }

  /** Most requests per second that this process may make; `undefined` when not known. */
  setLimit(requestsPerSecond: number | undefined): void {
    const limit = requestsPerSecond ?? Number.POSITIVE_INFINITY
    if (limit === this.#limit) return
    const wasPaced = this.#isPaced
    this.#limit = limit
    this.#learnt = Number.POSITIVE_INFINITY // was learnt without a limit, or under another
    if (wasPaced) this.#nextMs = Math.min(this.#nextMs, this.#soonestMs)
    else this.#countStarts()
  }

  /** Slots to use from now on; `undefined` for the limit alone. */
  setLease(lease: Lease | undefined): void {
    if ((this.#lease === undefined) !== (lease === undefined)) this.#learnt = Number.POSITIVE_INFINITY
    this.#lease = lease
  }

  /** Time before which no request may start. */
  notBeforeMs(nowMs: number): number {
    const slotMs = this.#slotMs(nowMs)
    return this.#isTooLate(slotMs, nowMs) ? Math.min(slotMs, this.#patienceUntilMs) : slotMs
  }

  #slotMs(nowMs: number): number {
    if (!this.#isPaced) return Number.NEGATIVE_INFINITY
    const dueMs = Math.max(this.#nextMs, nowMs - catchUpMs)
    if (this.#lease !== undefined) return nextSlotMs(this.#lease, dueMs)
    return this.#hasAnswer ? dueMs : Math.max(dueMs, this.#lastStartMs + firstAnswerMs)
  }

  /**
   * Lets the next request start as soon as it may, whatever 429s have taught us. At `endMs` everything ends: some of the
   * requests that had to wait longer start early, as too many of them are a lesser evil than what would be lost.
   */
  hurry(endMs: number): void {
    this.#endMs = endMs
    this.#earlyStarts = mostEarlyStarts
    if (this.#isShared) this.#nextMs = Math.min(this.#nextMs, this.#soonestMs)
  }

  /** Notes that a request starts. */
  onStart(nowMs: number): void {
    const dueMs = this.#slotMs(nowMs)
    if (this.#isTooLate(dueMs, nowMs)) this.#earlyStarts--
    const elapsedMs = nowMs - this.#lastStartMs
    this.#startsLately = 1 + this.#startsLately * Math.exp(-elapsedMs / 1000)
    this.#starts = 1 + this.#starts * Math.exp(-elapsedMs / 300_000)
    this.#lastStartMs = nowMs
    this.#startedSinceThrottled = true
    if (!this.#isPaced) return
    const intervalMs = 1000 / this.#perSecond
    this.#wasHeldBack = nowMs - this.#nextMs < intervalMs
    // The next slot may be announced anew meanwhile, a little earlier: half a period tells it from this one.
    const sameSlotMs = this.#lease === undefined ? 0 : this.#lease.periodMs / 2
    this.#nextMs = dueMs + intervalMs * this.#spread() - sameSlotMs
  }

  /** Notes what an answer says of the rate: whether it was refused for it, and its rate-limit headers. */
  onAnswer(nowMs: number, answer: RateLimit & { readonly throttled: boolean }): void {
    this.#hasAnswer = true
    this.#heedLimit(nowMs, answer.limitPerSecond)
    if (answer.throttled) return this.#slowDown(nowMs, answer.resetMs)
    this.#answers++
    this.#heedRemaining(nowMs, answer)
    this.#speedUp(nowMs)
  }

  /** Requests per second in force, and why. */
  get inForce(): { requestsPerSecond: number; because: 'none' | 'licence' | 'headers' | 'lease' | 'throttled' } {
    const requestsPerSecond = this.#perSecond
    if (!this.#isPaced) return { requestsPerSecond, because: 'none' }
    if (this.#isShared) return { requestsPerSecond, because: 'throttled' }
    if (this.#lease !== undefined) return { requestsPerSecond, because: 'lease' }
    return { requestsPerSecond, because: this.#headerLimit < this.#limit ? 'headers' : 'licence' }
  }

  get #allowed(): number {
    if (this.#lease !== undefined) return 1000 / this.#lease.periodMs
    return Math.min(this.#limit, this.#headerLimit) * usedPart
  }

  get #perSecond(): number {
    return Math.min(this.#allowed, this.#learnt)
  }

  get #isPaced(): boolean {
    return this.#perSecond !== Number.POSITIVE_INFINITY
  }

  /** Whether others leave us less than we are allowed. */
  get #isShared(): boolean {
    return this.#learnt < this.#allowed
  }

  /** When the next request may start after the last, by what is allowed. */
  get #soonestMs(): number {
    const sameSlotMs = this.#lease === undefined ? 0 : this.#lease.periodMs / 2
    return Math.max(this.#lastStartMs + 1000 / this.#allowed - sameSlotMs, this.#patienceUntilMs)
  }

  #isTooLate(slotMs: number, nowMs: number): boolean {
    return this.#earlyStarts > 0 && nowMs < this.#endMs && slotMs > this.#endMs - lastRequestMs
  }

  #heedLimit(nowMs: number, limitPerSecond: number | undefined): void {
    if (limitPerSecond === undefined) return
    if (limitPerSecond > this.#headerLimit && nowMs < this.#headerLimitUntilMs) return
    const wasPaced = this.#isPaced
    this.#headerLimit = limitPerSecond
    this.#headerLimitUntilMs = nowMs + headerLimitHoldsMs
    if (!wasPaced) this.#countStarts()
  }

  /** The starts made before there was a pace count as well. */
  #countStarts(): void {
    this.#nextMs = this.#lastStartMs + Math.min((this.#startsLately * 1000) / this.#perSecond, windowMs)
  }

  #slowDown(nowMs: number, resetMs = 0): void {
    const isAfterSuccess = this.#answers > 0
    this.#answers = 0
    this.#throttledAtMs = nowMs
    this.#look(nowMs)
    if (!this.#startedSinceThrottled) return // one of several that were under way
    this.#startedSinceThrottled = false
    const kept = (isAfterSuccess ? keptOnce : keptAgain) + 0.2 * (this.#random() - 0.5)
    // What was allowed but not used says nothing of what there is room for.
    this.#learnt = Math.max(Math.min(this.#perSecond, this.#startsLately) * kept, leastPerSecond)
    this.#patienceUntilMs = nowMs + resetMs
    this.#nextMs = nowMs + Math.max(resetMs, (1000 / this.#learnt) * this.#spread())
  }

  #speedUp(nowMs: number): void {
    if (!this.#isShared || !this.#wasHeldBack) return
    const quietTimes = Math.floor((nowMs - this.#throttledAtMs) / quietMs)
    const isAlone = this.#lease !== undefined
    const part = isAlone ? growthUnderLease : growthWhenQuiet * quietTimes
    const among = isAlone ? 0 : growth * (1 + this.#answers / answersUntilDoubled)
    this.#settleOn(this.#learnt + Math.max(this.#learnt * part, among))
  }

  /** All that is allowed is no share any more. */
  #settleOn(requestsPerSecond: number): void {
    this.#learnt = requestsPerSecond < this.#allowed ? requestsPerSecond : Number.POSITIVE_INFINITY
  }

  #heedRemaining(nowMs: number, { limit, remaining, limitPerSecond = limit }: RateLimit): void {
    if (limit === undefined || remaining === undefined || this.#lease !== undefined || !this.#isPaced) return
    if (!this.#isShared) this.#heedOthers(limit, limit - remaining)
    else if (limitPerSecond === limit) this.#heedFree(nowMs, remaining / limit) // what is left of a minute is no rate
  }

  /** A newcomer, who cannot have used what is used of the window, starts with one place of as many. */
  #heedOthers(limit: number, used: number): void {
    if (used - this.#starts > 2 + limit / 20) this.#settleOn((limit * usedPart) / used)
  }

  /** Answers come at any moment of a window: only the least of several tells how much of it nobody uses. */
  #heedFree(nowMs: number, free: number): void {
    this.#leastFree = Math.min(this.#leastFree, free)
    if (++this.#looks < lookAnswers || nowMs - this.#lookingSinceMs < lookMs) return
    // The least of n moments in a full window is 1 / (n + 1) on average.
    const surelyFree = this.#leastFree - keptFree - 1.6 / this.#looks
    if (this.#wasHeldBack && surelyFree > 0) this.#settleOn(this.#learnt * (1 + surelyFree))
    this.#look(nowMs)
  }

  #look(nowMs: number): void {
    this.#leastFree = 1
    this.#looks = 0
    this.#lookingSinceMs = nowMs
  }

  /** Among others, long intervals vary, so that nobody meets the same moment of every window. */
  #spread(): number {
    return this.#isShared ? 1 + (this.#random() - 0.5) / Math.max(this.#learnt, 1) : 1
  }
}

function nextSlotMs({ firstSlotMs, periodMs }: Lease, fromMs: number): number {
  return firstSlotMs + Math.max(Math.ceil((fromMs - firstSlotMs) / periodMs), 0) * periodMs
}
