import { AdaptiveRate } from './adaptive-rate.ts'
import type { RateLimit } from './rate-limit-headers.ts'
import { SlidingWindow } from './sliding-window.ts'

/** Slots for requests that no other process uses, until another lease is set. Times are monotonic, in milliseconds. */
export interface Lease {
  /** Slots per second, in the mean. */
  readonly perSecond: number
  /** Most requests that may start within one second, be they late. */
  readonly maxPerSecond: number
  /** Two slots, of whatever process, are as far apart. */
  readonly slotMs: number
  /** The first slot at that time or later; `Infinity` where there is none. */
  nextMs(fromMs: number): number
}

/**
 * Part of a limit that is used. The service counts in windows of its own: at 5 requests per second, five intervals then
 * last 1020 ms, so a request that is up to 20 ms late does not make a sixth in any one second.
 */
const usedPart = 0.98
/** What is owed where others share the limit, and how late a slot of a lease may always be used, in milliseconds. */
const catchUpMs = 15
/** The window in which the service counts, as far as it is known, in milliseconds. What is owed from before it is lost. */
const windowMs = 1000
/** How long the second request waits for the answer to the first, which tells whether there are others, in milliseconds. */
const firstAnswerMs = 1000
/**
 * How long a limit of the headers holds after the last answer that named it, though others name a higher one: answers to
 * several requests may cross. Longer where it is the same number: in the last seconds of a minute it looks like that of a second.
 */
const headerLimitHoldsMs = 1000
const sameHeaderLimitHoldsMs = 120_000
/** A lease is used whole again so long after the last 429, in milliseconds: less than two of the fleet's terms. */
const leaseRegainedMs = 8000
/** What is looked at before more is said to be free: longer than a `Retry-After` of 1 that another process waits out. */
const lookMs = 3000
const lookAnswers = 8
/** What a newcomer takes of the place of one of those that share the limit, and how long it looks how many there are. */
const newcomersPart = 0.7
const newcomerMs = 3000
/**
 * Less than this part of a window is left: it is nearly full. That counts where windows begin anew, as answers tell that
 * more than half is left: a bucket that refills evenly is nearly empty all the time when it is used whole.
 */
const nearlyFull = 0.03
const halfFreeHoldsMs = 5000
/** Part of a window that is left free. */
const keptFree = 0.03
/** Requests that may start early before the end, and the time that the last request before it needs, in milliseconds. */
const maxEarlyStarts = 4
const lastRequestMs = 250
/** Requests per second that are made before the end while all are refused. */
const urgentPerSecond = 2.5

/** An answer, as far as it concerns the pace. */
export interface PacedAnswer extends RateLimit {
  readonly throttled: boolean
  /** What the `Retry-After` of a 429 asks for, in milliseconds; it goes before the reset of the headers. */
  readonly retryAfterMs?: number | undefined
}

/** Requests per second in force, and why. */
export interface RateInForce {
  readonly requestsPerSecond: number
  readonly because: 'none' | 'license' | 'headers' | 'lease' | 'throttled'
}

/**
 * How fast requests may start, for the whole core at once.
 *
 * A limit that is known, the license's or that of the answers' headers, is kept by even spacing. A lease gives slots
 * instead. With neither there is no pace until a 429. A start that is late moves none after it, as long as no second has
 * more of them than the limit.
 *
 * Where others share the limit, each process finds its share without talking to them: 429s teach it (`AdaptiveRate`). What
 * the answers' headers say is left of a window makes that quick: a newcomer starts with most of one place where others took
 * many, and what nobody uses is taken by all in proportion.
 *
 * Time is monotonic, in milliseconds; `random` gives numbers from 0 to 1.
 */
export class RateLimiter {
  readonly #random: () => number
  readonly #learned: AdaptiveRate
  readonly #window = new SlidingWindow()
  #limit = Number.POSITIVE_INFINITY
  #headerLimit = Number.POSITIVE_INFINITY
  #headerLimitAtMs = 0
  /** The number in the header that it was made of. */
  #headerLimitNumber: number | undefined
  #lease: Lease | undefined
  /** When the last request was due, from which the next is counted; later where more must be made room for. */
  #dueMs = Number.NEGATIVE_INFINITY
  /** The next interval is so many times the usual one: among others it varies. */
  #stretch = 1
  /** What the 429s of the service have asked for. */
  #patienceUntilMs = Number.NEGATIVE_INFINITY
  /** When everything ends, how many requests may start early for that, and the last 429 before that was known. */
  #endMs = Number.NEGATIVE_INFINITY
  #earlyStarts = 0
  #throttledBeforeMs = Number.NEGATIVE_INFINITY
  #lastStartMs = Number.NEGATIVE_INFINITY
  /** The last request of any kind. */
  #lastRequestMs = Number.NEGATIVE_INFINITY
  /** Requests in about the last five minutes. */
  #requests = 0
  /** Nothing has wanted to start since the last start. */
  #isIdle = true
  #wasHeldBack = false
  #firstAnswerAtMs: number | undefined
  /** A request that is not ours to pace has moved the next start. */
  #hasMadeRoom = false
  /** When the last 429 came that was not one of several under way. */
  #throttledAtMs = Number.NEGATIVE_INFINITY
  #halfFreeAtMs = Number.NEGATIVE_INFINITY
  /** Least part of a window that was left in the answers of the present look. */
  #minFree = 1
  #looks = 0
  #lookingSinceMs = 0

  constructor(random: () => number = Math.random) {
    this.#random = random
    this.#learned = new AdaptiveRate(random)
  }

  /**
   * Most requests per second that this process may make; `undefined` when not known. When it changes, and is not less than
   * the answers' headers name anyway, what 429s have taught is forgotten: it was said of another limit. But when it becomes
   * known, 429s have told of others who share it.
   */
  setLimit(requestsPerSecond: number | undefined): void {
    const limit = requestsPerSecond ?? Number.POSITIVE_INFINITY
    const [before, after] = [this.#limit, limit].map(one => Math.min(one, this.#headerLimit)) as [number, number]
    const wasLimited = this.#allowed !== Number.POSITIVE_INFINITY
    this.#limit = limit
    if (after === before) return
    if (after > before) this.#patienceUntilMs = Number.NEGATIVE_INFINITY
    if (before !== Number.POSITIVE_INFINITY) this.#learned.forget()
    if (wasLimited) this.#dueMs = Math.min(this.#dueMs, this.#lastRequestMs)
    else this.#countRequests()
  }

  /** Forgets what 429s have taught and asked for: the license was raised, so that the reason is gone. */
  forgetRefusals(): void {
    this.#learned.forget()
    this.#patienceUntilMs = Number.NEGATIVE_INFINITY
  }

  /** Slots to use from now on; `undefined` for the limit alone. */
  setLease(lease: Lease | undefined): void {
    if ((this.#lease === undefined) !== (lease === undefined)) this.#learned.forget()
    this.#lease = lease
  }

  /**
   * Time before which no request may start.
   *
   * @param wantedMs since when one wants to: earlier than now where a timer was late
   */
  notBeforeMs(nowMs: number, wantedMs = nowMs): number {
    const slotMs = this.#slotMs(nowMs, wantedMs)
    return Math.max(this.#isTooLate(slotMs, nowMs) ? Number.NEGATIVE_INFINITY : slotMs, this.#patienceUntilMs)
  }

  /** Notes that nothing wants to start though it might: what is not used is not made up for. */
  onIdle(): void {
    this.#isIdle = true
  }

  /**
   * Lets requests start as soon as they may, whatever 429s have taught until now. At `endMs` everything ends: some of the
   * requests that had to wait longer start early, as too many of them are a lesser evil than what would be lost.
   */
  setDeadline(endMs: number): void {
    this.#throttledBeforeMs = this.#throttledAtMs
    this.#endMs = endMs
    this.#dueMs = Math.min(this.#dueMs, this.#lastRequestMs)
    this.#earlyStarts = maxEarlyStarts
  }

  /** Notes that a request starts; `wantedMs` as for `notBeforeMs`. */
  onStart(nowMs: number, wantedMs = nowMs): void {
    const slotMs = this.#slotMs(nowMs, wantedMs)
    if (this.#isTooLate(slotMs, nowMs)) this.#earlyStarts--
    this.#wasHeldBack = nowMs - this.#nextMs(nowMs) < this.#intervalMs(nowMs)
    this.#dueMs = Number.isFinite(slotMs) ? slotMs : nowMs
    this.#stretch = this.#drawStretch(nowMs)
    this.#lastStartMs = nowMs
    this.#isIdle = false
    this.#hasMadeRoom = false
    this.#count(nowMs)
  }

  /**
   * Notes a request that does not wait for its turn, as the service counts it with the others. However many there are, the
   * next start is put off by one interval of the rate that is allowed.
   */
  onOtherRequest(nowMs: number): void {
    if (this.#hasMadeRoom) return
    this.#hasMadeRoom = true
    this.#count(nowMs)
    if (this.#allowed === Number.POSITIVE_INFINITY) return
    this.#dueMs = Math.max(this.#dueMs, nowMs - this.#intervalMs(nowMs)) + 1000 / this.#allowed
  }

  /**
   * Notes what an answer says of the rate: whether it was refused for it, and its rate-limit headers.
   *
   * @param startedMs when its request started
   */
  onAnswer(nowMs: number, answer: PacedAnswer, startedMs = this.#lastStartMs): void {
    this.#firstAnswerAtMs ??= nowMs
    this.#heedLimit(nowMs, answer)
    const isNews = startedMs > this.#throttledAtMs // and not one of several that were under way at the last 429
    if (answer.throttled) {
      this.#wait(nowMs, answer)
      if (isNews) this.#slowDown(nowMs)
      return
    }
    if (isNews) this.#learned.onAccepted(nowMs)
    this.#heedRemaining(nowMs, answer, isNews)
  }

  inForce(nowMs: number): RateInForce {
    const requestsPerSecond = this.#perSecond(nowMs)
    if (requestsPerSecond === Number.POSITIVE_INFINITY) return { requestsPerSecond, because: 'none' }
    if (this.#isShared(nowMs)) return { requestsPerSecond, because: 'throttled' }
    if (this.#lease !== undefined) return { requestsPerSecond, because: 'lease' }
    return { requestsPerSecond, because: this.#headerLimit < this.#limit ? 'headers' : 'license' }
  }

  /** The pace in force, if that is what the next request waits for, and not something that the service has asked for. */
  holdingBack(nowMs: number): RateInForce | undefined {
    const isWaiting = this.#patienceUntilMs <= nowMs && this.notBeforeMs(nowMs) > nowMs
    return isWaiting ? this.inForce(nowMs) : undefined
  }

  /** Most requests per second by the answers' headers, of all who share the limit; `undefined` when they name none. */
  get headerLimit(): number | undefined {
    return this.#headerLimit === Number.POSITIVE_INFINITY ? undefined : this.#headerLimit
  }

  /** 429s in a row. */
  get refusals(): number {
    return this.#learned.refusals
  }

  get #allowed(): number {
    if (this.#lease !== undefined) return this.#lease.perSecond
    return Math.min(this.#limit, this.#headerLimit) * usedPart
  }

  #perSecond(nowMs: number): number {
    return Math.min(this.#allowed, this.#learnedPerSecond(nowMs))
  }

  #learnedPerSecond(nowMs: number): number {
    const perSecond = this.#learned.perSecond(nowMs)
    if (nowMs < this.#endMs) {
      return this.#throttledAtMs === this.#throttledBeforeMs
        ? Number.POSITIVE_INFINITY
        : Math.max(perSecond, urgentPerSecond)
    }
    if (this.#lease === undefined) return perSecond
    // Nobody needs to be made room for: the slots of others are not ours.
    return Math.max(perSecond, this.#allowed * Math.min((nowMs - this.#throttledAtMs) / leaseRegainedMs, 1))
  }

  /** Whether others leave us less than we are allowed. */
  #isShared(nowMs: number): boolean {
    return this.#learnedPerSecond(nowMs) < this.#allowed
  }

  #intervalMs(nowMs: number): number {
    return 1000 / this.#perSecond(nowMs)
  }

  /** When the next request may start, apart from what the service has asked for. */
  #slotMs(nowMs: number, wantedMs: number): number {
    if (this.#perSecond(nowMs) === Number.POSITIVE_INFINITY) return Number.NEGATIVE_INFINITY
    // Among others, what was missed is theirs.
    const owedFromMs = this.#isIdle ? wantedMs : nowMs - (this.#isShared(nowMs) ? catchUpMs : windowMs)
    let slotMs = Math.max(this.#nextMs(nowMs), owedFromMs, this.#patienceUntilMs)
    if (this.#lease !== undefined) slotMs = this.#lease.nextMs(slotMs - (this.#isIdle ? catchUpMs : 0))
    else if (this.#firstAnswerAtMs === undefined) slotMs = Math.max(slotMs, this.#lastStartMs + firstAnswerMs)
    const maxInWindow = this.#lease?.maxPerSecond ?? Math.max(Math.ceil(this.#allowed / usedPart - 0.001), 1)
    const freeMs = this.#window.fewerAtMs(nowMs, maxInWindow)
    return freeMs > nowMs ? Math.max(slotMs, freeMs) : slotMs
  }

  /** When the next request is due after the last; a rate that grows meanwhile makes that sooner. */
  #nextMs(nowMs: number): number {
    const isShared = this.#isShared(nowMs)
    if (this.#lease !== undefined && !isShared) return this.#dueMs + this.#sameSlotMs
    const dueAtMs = (atMs: number) => this.#dueMs + this.#stretch * this.#intervalMs(atMs) - this.#sameSlotMs
    let latestMs = dueAtMs(nowMs)
    if (!isShared) return latestMs
    for (let earliestMs = nowMs; latestMs - earliestMs > 1; ) {
      const middleMs = (earliestMs + latestMs) / 2
      if (dueAtMs(middleMs) <= middleMs) latestMs = middleMs
      else earliestMs = middleMs
    }
    return latestMs
  }

  /** The next slot may be announced anew, a little earlier: half a slot tells it from the one before. */
  get #sameSlotMs(): number {
    return this.#lease === undefined ? 0 : this.#lease.slotMs / 2
  }

  #isTooLate(slotMs: number, nowMs: number): boolean {
    return this.#earlyStarts > 0 && nowMs < this.#endMs && slotMs > this.#endMs - lastRequestMs
  }

  #count(nowMs: number): void {
    this.#window.add(nowMs)
    this.#requests = 1 + this.#requests * Math.exp((this.#lastRequestMs - nowMs) / 300_000)
    this.#lastRequestMs = nowMs
  }

  #heedLimit(nowMs: number, { limit, limitPerSecond }: RateLimit): void {
    if (limitPerSecond === undefined) return
    const holdsMs = limit === this.#headerLimitNumber ? sameHeaderLimitHoldsMs : headerLimitHoldsMs
    if (limitPerSecond > this.#headerLimit && nowMs < this.#headerLimitAtMs + holdsMs) return
    const wasLimited = this.#allowed !== Number.POSITIVE_INFINITY
    this.#headerLimit = limitPerSecond
    this.#headerLimitNumber = limit
    this.#headerLimitAtMs = nowMs
    if (!wasLimited) this.#countRequests()
  }

  /** The requests made before there was a limit count as well. */
  #countRequests(): void {
    const atMs = this.#lastRequestMs
    if (atMs === Number.NEGATIVE_INFINITY || this.#allowed === Number.POSITIVE_INFINITY) return
    const intervalMs = 1000 / this.#allowed
    this.#dueMs = atMs + Math.min(this.#window.count(atMs) * intervalMs, windowMs) - intervalMs
    this.#stretch = 1
  }

  #wait(nowMs: number, { retryAfterMs, resetMs = 0 }: PacedAnswer): void {
    // Up to a tenth more, so that many processes that were told the same do not come back at the same moment.
    const waitMs = retryAfterMs === undefined ? resetMs : retryAfterMs * (1 + 0.1 * this.#random())
    this.#patienceUntilMs = Math.max(this.#patienceUntilMs, nowMs + waitMs)
  }

  #slowDown(nowMs: number): void {
    // What was allowed but not used says nothing of what there is room for.
    const perSecond = this.#perSecond(nowMs)
    const usedPerSecond = Math.min(perSecond, Math.max(this.#window.count(nowMs), 1))
    this.#learned.onRefused(nowMs, this.#wasHeldBack ? perSecond : usedPerSecond)
    this.#throttledAtMs = nowMs
    this.#dueMs = nowMs + this.#sameSlotMs
    this.#stretch = this.#drawStretch(nowMs)
    this.#look(nowMs)
  }

  #heedRemaining(nowMs: number, { limit, remaining, limitPerSecond = limit }: RateLimit, isNews: boolean): void {
    if (limit === undefined || remaining === undefined || this.#perSecond(nowMs) === Number.POSITIVE_INFINITY) return
    const isNewcomer = nowMs - (this.#firstAnswerAtMs ?? nowMs) < newcomerMs
    const isShared = this.#isShared(nowMs)
    if (this.#lease === undefined) this.#heedOthers(nowMs, limit, limit - remaining, !isShared || isNewcomer)
    if (remaining > limit / 2) this.#halfFreeAtMs = nowMs
    if (!isShared || limitPerSecond !== limit) return // what is left of a minute is no rate
    if (remaining >= limit * nearlyFull) this.#heedFree(nowMs, remaining / limit)
    else if (isNews && this.#wasHeldBack && nowMs - this.#halfFreeAtMs < halfFreeHoldsMs) this.#easeOff(nowMs)
  }

  /**
   * Others are there where more of the window is used than this process has. A newcomer, who cannot have used that, starts
   * with a part of one place of as many.
   */
  #heedOthers(nowMs: number, limit: number, used: number, isNewcomer: boolean): void {
    const tolerance = 2 + limit / 20
    if (used - this.#window.count(nowMs) > tolerance) this.#learned.onOthers(nowMs)
    if (!isNewcomer || used - this.#requests <= tolerance) return
    const perSecond = (newcomersPart * limit * usedPart) / used
    if (perSecond < this.#perSecond(nowMs)) this.#learned.start(nowMs, perSecond)
  }

  /** As after a 429, the answers to what is under way already say nothing new. */
  #easeOff(nowMs: number): void {
    this.#learned.onNearlyFull(nowMs)
    this.#throttledAtMs = nowMs
    this.#look(nowMs)
  }

  /** Answers come at any moment of a window: only the least of several tells how much of it nobody uses. */
  #heedFree(nowMs: number, free: number): void {
    this.#minFree = Math.min(this.#minFree, free)
    if (++this.#looks < lookAnswers || nowMs - this.#lookingSinceMs < lookMs) return
    // The least of n moments in a full window is 1 / (n + 1) on average.
    const surelyFree = this.#minFree - keptFree - 1.6 / this.#looks
    if (this.#wasHeldBack && surelyFree > 0) this.#learned.raise(nowMs, 1 + surelyFree)
    this.#look(nowMs)
  }

  #look(nowMs: number): void {
    this.#minFree = 1
    this.#looks = 0
    this.#lookingSinceMs = nowMs
  }

  /** Among others, long intervals vary, so that nobody meets the same moment of every window. */
  #drawStretch(nowMs: number): number {
    return this.#isShared(nowMs) ? 1 + (this.#random() - 0.5) / Math.max(this.#perSecond(nowMs), 1) : 1
  }
}
