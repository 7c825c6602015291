import { ownProperties } from '../own-properties.ts'
import { AdaptiveRate } from './adaptive-rate.ts'
import { AnswerRates, type Answers } from './answer-rates.ts'
import { FreePart } from './free-part.ts'
import { HeaderLimit, type NamedLimit } from './header-limit.ts'
import type { RateLimit } from './rate-limit-headers.ts'
import { RoomForOthers } from './room-for-others.ts'
import { SlidingWindow } from './sliding-window.ts'

/** Slots for requests that no other process uses, until another lease is set. Times are monotonic, in milliseconds. */
export interface Lease {
  /** Average number of slots per second. */
  readonly perSecond: number
  /** Maximum number of requests that may start within one second, late requests included. */
  readonly maxPerSecond: number
  /** Time between two consecutive slots, of any processes. */
  readonly slotMs: number
  /** Returns the first slot at that time or later; `Infinity` if there is none. */
  nextMs(fromMs: number): number
}

/**
 * Part of a limit that is used. The service counts in windows of its own. At 5 requests per second, five intervals then
 * last 1020 ms. So a request that is up to 20 ms late does not become a sixth one in any second.
 */
const usedPartOfLimit = 0.98
/**
 * Maximum delay after which a missed start is made up for if the limit is shared, in milliseconds. A slot of a lease may
 * always be used with this delay.
 */
const catchUpMs = 15
/**
 * Window in which the service counts, as far as known, in milliseconds. Starts missed before this window are not made
 * up for.
 */
const windowMs = 1000
/**
 * Time for which the second request waits for the first answer, in milliseconds. That answer shows if other processes
 * share the limit.
 */
const firstAnswerMs = 1000
/** Maximum wait for the reset of a window that is used up, in milliseconds, unless a `Retry-After` asks for more. */
const maxResetWaitMs = 60_000
/**
 * Time after the last 429 until a lease is fully used again, in milliseconds: less than two lease terms of the fleet.
 */
const leaseRegainedMs = 4000
/** Part of the latest requests up to which 429s under a lease are taken for chance, if each is followed by an accepted one. */
const refusedByChance = 0.03
/**
 * If requests start late, some windows of the service get more of them than others: the deviation grows with the root of the
 * delay and of the requests per second. So a process leaves out slots in that proportion. The delay is a mean, to which each
 * start adds a part. Delays up to `fromMs` do no harm. A process whose slots are further apart than `maxApartMs` leaves none out.
 * If the slots of all processes are further apart than `maxSlotMs`, so few are in a window that it would cost more than it saves.
 */
const leftOut = { factor: 0.4, fromMs: 15, maxApartMs: 8000, maxSlotMs: 150, partOfStart: 0.1 }
/**
 * Maximum delay of a request after its slot, in milliseconds, where the slots of all processes are further apart than
 * `leftOut.maxSlotMs`. After a longer delay, the service often counts the request in the next window, which is full without it.
 */
const maxLateIfFewMs = 200
/** Number of processes between which a limit is divided for the first rate of each. */
const usualProcesses = 40
/** Part of one share that a newcomer takes from the processes that share the limit. */
const newcomersPart = 0.7
/**
 * Minimum probability of an answer that shows no other process if others use the whole limit: one such answer, which may
 * be the first of a window, is never enough.
 */
const minChanceOfOthers = 0.1
/** Time after the first answer during which a process counts as a newcomer, in milliseconds. */
const newcomerMs = 3000
/**
 * A window is nearly full if less than this part is left. That counts only if windows start anew, as answers with more
 * than half left show. A bucket that refills evenly is nearly empty all the time when it is fully used.
 */
const nearlyFull = 0.03
/** Minimum part of a window that is left if it is mostly free. */
const mostlyFree = 0.75
/**
 * Part of the limit beyond which a process leaves room for others, and the part that it keeps. The window must have so
 * many requests of others: a single one may be an effect of the network, and if there are many others, some of them
 * would take all of the room.
 */
const roomForOthers = { fromPart: 0.6, keptPart: 0.5, minOthers: 2, maxOthers: 8 }
/** Time for which an answer with more than half left counts, in milliseconds. */
const halfFreeHoldsMs = 5000
/** Time since its last request after which a process no longer counts as busy, in milliseconds, plus two intervals. */
const busyMs = 3000
/** Part of the usual variation of intervals that is left to processes that agree on their rate: they are served alike. */
const agreedSpread = 0.35
/**
 * Parts of the distance between two turns. `fromPart`: a turn that differs by less than this part stays where it is, because
 * each move brings two requests closer together. `spreadPart`: a move varies at random by this part, so that two processes
 * with the same turn move apart.
 */
const turnMoves = { fromPart: 0.25, spreadPart: 0.2 }
/** Minimum part of an interval between a request and the next turn. */
const minTurnPart = 0.4
/**
 * A process whose turns are so far apart that it would wait for more than half a minute after a 429 takes an earlier turn:
 * after `part` of the interval, in the middle between two turns of others, which make room until then. It does not if many
 * requests are refused, or if it was refused more often than `maxRefusals` times in a row.
 */
const earlierTurn = { fromIntervalMs: 15_000, part: 0.43, maxRefusals: 2, maxRefusedPart: 0.03 }
/** Number of requests that may start early before the deadline. */
const maxEarlyStarts = 4
/** Time that the last request before the deadline needs, in milliseconds. */
const lastRequestMs = 250
/**
 * Minimum rate before the deadline once a request has been refused, in requests per second. It doubles with each few requests
 * that are accepted in a row, up to a maximum, and each further 429 halves it.
 */
const urgent = { perSecond: 2.5, maxPerSecond: 1000, doublesAfter: 4 }

/** The rate of a process, as it tells the others on its machine. */
export interface SharedRate extends Answers {
  readonly requestsPerSecond: number
  /** Part of the latest requests that was refused, from 0 to 1. */
  readonly refusedPart: number
  /** Time since the last 429, in milliseconds. */
  readonly sinceRefusedMs: number
  /** True if the process tries the rate out, because it does not know its share. */
  readonly isTrial: boolean
  /** True if a limit of the process allows no more. */
  readonly isMaximum: boolean
  /** Time until the next request of the process is due, in milliseconds; negative if that time has passed. */
  readonly nextStartMs: number
}

/** The rate on which processes have agreed. */
export interface AgreedRate extends Pick<SharedRate, 'requestsPerSecond' | 'refusedPart' | 'sinceRefusedMs'> {
  /** The turn of this process; `undefined` if the processes take no turns. */
  readonly turn: Turn | undefined
}

/** The place of a process among others that start one request each per interval, at equal distances. */
export interface Turn {
  /** Time by which the next request of the process must move, in milliseconds. */
  readonly moveMs: number
  /** Time between the requests of two processes, in milliseconds. */
  readonly distanceMs: number
  /** Part of the limit for each process, in requests per second. */
  readonly maxPerSecond: number
}

/** The parts of an answer that concern the request rate. */
export interface PacedAnswer extends RateLimit {
  readonly throttled: boolean
  /**
   * Wait that the `Retry-After` of a 429 asks for, in milliseconds; it takes precedence over the reset in the headers.
   */
  readonly retryAfterMs?: number | undefined
}

/** The request rate in force, and the reason for it. */
export interface RateInForce {
  readonly requestsPerSecond: number
  readonly because: 'none' | 'license' | 'headers' | 'lease' | 'throttled'
}

/**
 * Decides how fast requests may start, for the whole core at once.
 *
 * A known limit, from the license or from answer headers, is kept by even spacing. A lease gives slots instead. With
 * neither, the rate is not limited until a 429. A late start does not delay the starts after it, as long as no second
 * has more starts than the limit.
 *
 * If other processes share the limit, each process finds its share without talking to them: it learns from 429s
 * (`AdaptiveRate`). The remaining requests in the headers speed this up. A newcomer starts with most of one share if
 * other processes used many, and all processes take unused capacity in proportion. A process with most of the limit makes
 * room for others now and then.
 *
 * Time is monotonic, in milliseconds; `random` returns numbers from 0 to 1.
 */
export class RateLimiter {
  readonly #random: () => number
  readonly #learned: AdaptiveRate
  readonly #window = new SlidingWindow()
  readonly #answers = new AnswerRates()
  readonly #freePart = new FreePart()
  readonly #roomForOthers = new RoomForOthers()
  #limit = Number.POSITIVE_INFINITY
  readonly #headerLimit = new HeaderLimit()
  #lease: Lease | undefined
  /**
   * Time at which the last request was due, from which the next start is counted. It is later if another request needed
   * room.
   */
  #dueMs = Number.NEGATIVE_INFINITY
  /** Mean delay of the latest requests after their slots, in milliseconds. */
  #lateMs = 0
  /** Factor of the next interval. Intervals vary if the limit is shared. */
  #intervalFactor = 1
  /** Time of the next request, and the maximum rate, while processes take turns. */
  #turn: { readonly atMs: number; readonly distanceMs: number; readonly maxPerSecond: number } | undefined
  /** Time until which the service's 429s asked to wait. */
  #askedUntilMs = Number.NEGATIVE_INFINITY
  /** The deadline that `setDeadline` has set. */
  #endMs = Number.NEGATIVE_INFINITY
  /** Number of requests that may still start early for the deadline. */
  #earlyStarts = 0
  /** Time of the last 429 before the deadline was set. */
  #throttledBeforeMs = Number.NEGATIVE_INFINITY
  /** Minimum rate before the deadline, and number of requests accepted in a row: see `urgent`. */
  #urgentPerSecond = urgent.perSecond
  #urgentAccepted = 0
  #lastStartMs = Number.NEGATIVE_INFINITY
  /** Start of the last request of any kind, limited or not. */
  #lastRequestMs = Number.NEGATIVE_INFINITY
  /** Number of requests in about the last five minutes, as a decaying count. */
  #requests = 0
  /** True if a request could have started since the last start, but none was ready. */
  #isIdle = true
  #wasHeldBack = false
  #firstAnswerAtMs: number | undefined
  /** Time at which the process joined others before its first request. */
  #joinedMs = Number.NEGATIVE_INFINITY
  #heldUntilMs = Number.NEGATIVE_INFINITY
  /** True if a request outside this limiter has delayed the next start. */
  #hasMadeRoom = false
  /** Time of the last 429, or nearly full answer, whose request was not in flight at the one before. */
  #throttledAtMs = Number.NEGATIVE_INFINITY
  #halfFreeAtMs = Number.NEGATIVE_INFINITY

  constructor(random: () => number = Math.random) {
    this.#random = random
    this.#learned = new AdaptiveRate(random)
  }

  /**
   * Sets the maximum number of requests per second that this process may make; `undefined` if unknown.
   *
   * If this changes the effective limit, the learned rate is forgotten, because 429s taught it for another limit. The
   * effective limit is the lower of this limit and that of the headers. If no limit was known before, the learned rate
   * is kept: it tells of other processes that share the limit.
   */
  setLimit(requestsPerSecond: number | undefined): void {
    const before = this.#limitInForce
    const wasLimited = this.#allowed !== Number.POSITIVE_INFINITY
    this.#limit = requestsPerSecond ?? Number.POSITIVE_INFINITY
    const after = this.#limitInForce
    if (after === before) return
    if (after > before) this.#askedUntilMs = Number.NEGATIVE_INFINITY
    if (before !== Number.POSITIVE_INFINITY) this.forgetRate()
    if (wasLimited) this.#dueMs = Math.min(this.#dueMs, this.#lastRequestMs)
    else this.#countRequests()
  }

  /**
   * Forgets the learned rate and the waits that 429s asked for, because the license was raised and their reason is
   * gone.
   */
  forgetRefusals(): void {
    this.forgetRate()
    this.#askedUntilMs = Number.NEGATIVE_INFINITY
  }

  /** True if a request was answered with 429, or the window was nearly full, since that time. */
  wasThrottledSince(ms: number): boolean {
    return this.#throttledAtMs >= ms
  }

  /** Forgets the rate that 429s have taught, or on which this process has agreed with others. */
  forgetRate(): void {
    this.#learned.forget()
    this.#turn = undefined
  }

  /** Sets the slots to use from now on; `undefined` leaves only the limit. */
  setLease(lease: Lease | undefined): void {
    if ((this.#lease === undefined) !== (lease === undefined)) this.forgetRate()
    this.#lease = lease
    // A request outside this limiter takes the first slot after it. Before this lease, that slot may have been a distant one.
    if (this.#hasMadeRoom)
      this.#dueMs = Math.min(this.#dueMs, lease?.nextMs(this.#lastRequestMs) ?? this.#lastRequestMs)
  }

  /**
   * Returns the time before which no request may start.
   *
   * @param wantedMs time since which a request wants to start; earlier than now if a timer was late
   */
  notBeforeMs(nowMs: number, wantedMs = nowMs): number {
    const slotMs = this.#slotMs(nowMs, wantedMs)
    const startMs = this.#isTooLate(slotMs, nowMs) ? Number.NEGATIVE_INFINITY : slotMs
    return Math.max(startMs, this.#askedUntilMs, nowMs < this.#endMs ? Number.NEGATIVE_INFINITY : this.#heldUntilMs)
  }

  /** Notes that no request is ready although one may start. Unused starts are not made up for. */
  onIdle(): void {
    this.#isIdle = true
  }

  /**
   * Lets requests start as soon as they may, whatever 429s have taught until now. After a 429 from now on, the rate doubles
   * quickly. `endMs` is the deadline. A few requests that would have to wait beyond the deadline start early, because too many
   * requests are better than lost events.
   */
  setDeadline(endMs: number): void {
    this.#throttledBeforeMs = this.#throttledAtMs
    this.#endMs = endMs
    this.#dueMs = Math.min(this.#dueMs, this.#lastRequestMs)
    this.#earlyStarts = maxEarlyStarts
    this.#urgentPerSecond = urgent.perSecond
    this.#urgentAccepted = 0
  }

  /** Forgets the deadline, because nothing waits for it any more. */
  clearDeadline(): void {
    this.#endMs = Number.NEGATIVE_INFINITY
  }

  /** Notes that a request starts; `wantedMs` is as for `notBeforeMs`. */
  onStart(nowMs: number, wantedMs = nowMs): void {
    const slotMs = this.#slotMs(nowMs, wantedMs)
    if (this.#isTooLate(slotMs, nowMs)) this.#earlyStarts--
    this.#wasHeldBack = nowMs - this.#nextMs(nowMs) < this.#intervalMs(nowMs)
    this.#dueMs = Number.isFinite(slotMs) ? slotMs : nowMs
    if (this.#lease !== undefined && Number.isFinite(slotMs)) this.#leaveOutSlots(this.#lease, nowMs - slotMs)
    this.#intervalFactor = this.#drawIntervalFactor(nowMs)
    this.#nextTurn(nowMs)
    this.#lastStartMs = nowMs
    this.#isIdle = false
    this.#hasMadeRoom = false
    this.#count(nowMs)
  }

  /**
   * Notes a request that does not wait for its turn, because the service counts it with the others. One or several of them
   * take one slot of the lease, delay the next start by one interval of the allowed rate, or take one turn of the process.
   * Under a lease, the first request of the process is not delayed.
   */
  onOtherRequest(nowMs: number): void {
    if (this.#hasMadeRoom) return
    this.#hasMadeRoom = true
    this.#count(nowMs)
    if (this.#allowed === Number.POSITIVE_INFINITY) return
    const intervalMs = this.#intervalMs(nowMs)
    const dueMs = Math.max(this.#dueMs, nowMs - intervalMs)
    if (this.#lease === undefined) this.#dueMs = dueMs + 1000 / this.#allowed
    else if (this.hasStarted) this.#useSlotAfter(this.#lease, dueMs)
    if (this.#turn !== undefined) this.#turn = { ...this.#turn, atMs: this.#turn.atMs + intervalMs }
  }

  /**
   * Notes what an answer says about the rate, by its status (429) and by its rate-limit headers.
   *
   * @param startedMs time at which its request started
   */
  onAnswer(nowMs: number, given: PacedAnswer, startedMs = this.#lastStartMs): void {
    const answer = ownProperties(given)
    this.#firstAnswerAtMs ??= nowMs
    if (!answer.throttled && this.#learned.isInterrupted) this.#answers.restart()
    this.#answers.onAnswer(nowMs, answer.throttled)
    this.#readLimit(nowMs, answer)
    const tellsRemaining = answer.remaining !== undefined
    // A 429 of a gateway knows nothing of the limit.
    if (!answer.throttled || tellsRemaining) this.#learned.headersTellRemaining = tellsRemaining
    const isNews = startedMs > this.#throttledAtMs // false if the request was already in flight at the last 429
    if (isNews && nowMs < this.#endMs) this.#hurry(answer.throttled)
    if (answer.throttled) {
      this.#wait(nowMs, answer)
      if (isNews) this.#slowDown(nowMs)
      return
    }
    if (isNews) this.#learned.onAccepted(nowMs, isMostlyFree(answer))
    this.#applyRemaining(nowMs, answer, isNews)
  }

  /** Adapts the minimum rate before the deadline. */
  #hurry(isThrottled: boolean): void {
    if (isThrottled) {
      this.#urgentPerSecond = Math.max(this.#urgentPerSecond / 2, urgent.perSecond)
      this.#urgentAccepted = 0
    } else if (this.#throttledAtMs !== this.#throttledBeforeMs && ++this.#urgentAccepted % urgent.doublesAfter === 0) {
      this.#urgentPerSecond = Math.min(2 * this.#urgentPerSecond, urgent.maxPerSecond)
    }
  }

  /** Returns the rate in force, and the reason for it. */
  inForce(nowMs: number): RateInForce {
    const requestsPerSecond = this.#perSecond(nowMs)
    if (requestsPerSecond === Number.POSITIVE_INFINITY) return { requestsPerSecond, because: 'none' }
    if (this.isShared(nowMs)) return { requestsPerSecond, because: 'throttled' }
    if (this.#lease !== undefined) return { requestsPerSecond, because: 'lease' }
    return { requestsPerSecond, because: this.#headerLimit.perSecond < this.#limit ? 'headers' : 'license' }
  }

  /** True if the headers of answers tell how much of the limit all processes together leave. */
  get headersTellRemaining(): boolean {
    return this.#learned.headersTellRemaining
  }

  /** Maximum rate by the license, the headers or the lease, in requests per second; `Infinity` if none is known. */
  get allowedPerSecond(): number {
    return this.#allowed
  }

  /** True if other processes leave this process less than its allowed rate. */
  isShared(nowMs: number): boolean {
    return this.#learnedPerSecond(nowMs) < this.#allowed
  }

  /**
   * Returns the rate that others should know. `undefined` if the rate does not hold this process back, if only 429s come,
   * or if a lease gives slots of its own.
   */
  rateToShare(nowMs: number): SharedRate | undefined {
    const requestsPerSecond = this.#perSecond(nowMs)
    const sinceStartMs = nowMs - Math.max(this.#lastStartMs, this.#joinedMs)
    const wasHeldBack =
      this.#wasHeldBack || this.#throttledAtMs >= this.#lastStartMs || this.#joinedMs > this.#lastStartMs
    const isHeldBack = wasHeldBack && !this.#isIdle && sinceStartMs < busyMs + 2 * this.#intervalMs(nowMs)
    if (requestsPerSecond === Number.POSITIVE_INFINITY || !isHeldBack) return undefined
    if (this.#lease !== undefined || this.#learned.isInterrupted || nowMs < this.#endMs) return undefined
    const isMaximum = !this.isShared(nowMs)
    const { refusedPart, refusedAtMs, isTrial } = this.#learned
    return {
      requestsPerSecond,
      refusedPart,
      sinceRefusedMs: nowMs - refusedAtMs,
      ...this.#answers.at(nowMs),
      isTrial: isTrial && !isMaximum,
      isMaximum,
      nextStartMs: Math.max(this.#nextMs(nowMs), this.#askedUntilMs) - nowMs,
    }
  }

  /** Continues at a rate on which this process has agreed with others. */
  agreeOn(nowMs: number, { requestsPerSecond, refusedPart, sinceRefusedMs, turn }: AgreedRate): void {
    const soonMs = withinTwoIntervals(nowMs, this.#nextMs(nowMs), 1000 / requestsPerSecond)
    const nextMs = Math.max(soonMs, this.#askedUntilMs)
    this.#learned.agreeOn(nowMs, requestsPerSecond, refusedPart, nowMs - sinceRefusedMs)
    this.#turn = turn && { ...turn, atMs: this.#movedTurn(nowMs, nextMs, turn) }
  }

  /** Begins at a rate and a turn among others, before the first request, because events are waiting. */
  join(nowMs: number, agreed: AgreedRate): void {
    this.#joinedMs = nowMs
    this.#isIdle = false
    this.#turn = undefined
    this.#dueMs = nowMs - this.#intervalMs(nowMs) // due now, but for its turn
    this.agreeOn(nowMs, agreed)
  }

  /** True if the license limits the requests. */
  get isLicensed(): boolean {
    return this.isLeased || this.#limit !== Number.POSITIVE_INFINITY
  }

  /** True if requests start at slots that no other process uses. */
  get isLeased(): boolean {
    return this.#lease !== undefined
  }

  /**
   * Returns the number of requests of the last second if they were not held back for the sake of other processes; otherwise
   * 0.
   */
  freeUse(nowMs: number): number {
    const isFree = this.#lease === undefined && !this.isShared(nowMs) && nowMs >= this.#endMs
    return isFree ? this.#window.count(nowMs) : 0
  }

  /** True if a request has started. */
  get hasStarted(): boolean {
    return this.#lastStartMs !== Number.NEGATIVE_INFINITY
  }

  /** Lets no request start before that time, except before a deadline. */
  holdUntil(ms: number): void {
    this.#heldUntilMs = ms
  }

  /** Returns the rate in force if the next request waits for it, and not for the service or for other processes. */
  holdingBack(nowMs: number): RateInForce | undefined {
    const isHeld = Math.max(this.#askedUntilMs, this.#heldUntilMs) > nowMs
    const isWaiting = !isHeld && this.notBeforeMs(nowMs) > nowMs
    return isWaiting ? this.inForce(nowMs) : undefined
  }

  /**
   * Maximum number of requests per second for all processes that share the limit, by the headers; `undefined` if no
   * header names one.
   */
  get headerLimit(): number | undefined {
    const { perSecond } = this.#headerLimit
    return perSecond === Number.POSITIVE_INFINITY ? undefined : perSecond
  }

  /** The same limit if an answer of the last seconds named it. An idle process hears of no change. */
  namedHeaderLimit(nowMs: number): NamedLimit | undefined {
    return this.#headerLimit.named(nowMs)
  }

  /** Time until which the service's 429s asked to wait. */
  get askedUntilMs(): number {
    return this.#askedUntilMs
  }

  /** Number of 429s in a row. */
  get refusals(): number {
    return this.#learned.refusals
  }

  /** The lower one of the limits that the license and the headers name; `Infinity` if neither names one. */
  get #limitInForce(): number {
    return Math.min(this.#limit, this.#headerLimit.perSecond)
  }

  get #allowed(): number {
    if (this.#lease !== undefined) return this.#lease.perSecond
    return this.#limitInForce * usedPartOfLimit
  }

  /** Rate with which this process begins to find its share; `undefined` if a lease is its share. */
  get #firstPerSecond(): number | undefined {
    if (this.#lease !== undefined) return undefined
    if (this.#learned.headersTellRemaining) return newcomersPart * usedPartOfLimit // of a window that is full
    return this.#allowed === Number.POSITIVE_INFINITY ? 1 : Math.max(this.#allowed / usualProcesses, 1)
  }

  #perSecond(nowMs: number): number {
    return Math.min(this.#allowed, this.#learnedPerSecond(nowMs))
  }

  #learnedPerSecond(nowMs: number): number {
    const learned = this.#learned.perSecond(nowMs)
    const maxPerSecond = this.#learned.isAgreed(nowMs) ? this.#turn?.maxPerSecond : undefined
    const perSecond = Math.min(learned, maxPerSecond ?? Number.POSITIVE_INFINITY)
    if (nowMs < this.#endMs) {
      return this.#throttledAtMs === this.#throttledBeforeMs
        ? Number.POSITIVE_INFINITY
        : Math.max(perSecond, this.#urgentPerSecond)
    }
    if (this.#lease === undefined) return perSecond
    if (this.#learned.refusals <= 1 && this.#isByChance(this.#lease)) return Number.POSITIVE_INFINITY
    // No other process needs room, because the slots of other processes are separate. So the lease is soon used fully
    // again.
    return Math.max(perSecond, this.#allowed * Math.min((nowMs - this.#throttledAtMs) / leaseRegainedMs, 1))
  }

  /**
   * True if a single 429 under the lease says nothing about the next slot: it is in another window, or few requests are
   * refused, because some that start late meet in one window.
   */
  #isByChance({ perSecond }: Lease): boolean {
    return perSecond <= 1000 / windowMs || this.#learned.refusedPart < refusedByChance
  }

  #intervalMs(nowMs: number): number {
    return 1000 / this.#perSecond(nowMs)
  }

  /** Returns the time at which the next request may start; `-Infinity` if no rate is in force. */
  #slotMs(nowMs: number, wantedMs: number): number {
    if (this.#perSecond(nowMs) === Number.POSITIVE_INFINITY) return Number.NEGATIVE_INFINITY
    // If processes share the limit and take no turns, others use the starts that this process missed.
    const isLost = this.isShared(nowMs) && this.#turnInForce(nowMs) === undefined
    const owedFromMs = this.#isIdle ? wantedMs : nowMs - (isLost ? catchUpMs : this.#maxLateMs)
    let slotMs = Math.max(this.#nextMs(nowMs), owedFromMs, this.#askedUntilMs)
    if (this.#lease !== undefined) slotMs = this.#lease.nextMs(slotMs - (this.#isIdle ? catchUpMs : 0))
    else if (this.#firstAnswerAtMs === undefined) slotMs = Math.max(slotMs, this.#lastStartMs + firstAnswerMs)
    const maxInWindow = this.#lease?.maxPerSecond ?? Math.max(Math.ceil(this.#allowed / usedPartOfLimit - 0.001), 1)
    const freeMs = this.#window.fewerAtMs(nowMs, maxInWindow)
    return freeMs > nowMs ? Math.max(slotMs, freeMs) : slotMs
  }

  get #maxLateMs(): number {
    const areFew = this.#lease !== undefined && this.#lease.slotMs > leftOut.maxSlotMs
    return areFew && this.hasStarted ? maxLateIfFewMs : windowMs
  }

  /**
   * Returns the time at which the next request is due after the last one. A rate that grows meanwhile makes that time
   * earlier.
   */
  #nextMs(nowMs: number): number {
    const isShared = this.isShared(nowMs)
    if (this.#lease !== undefined && !isShared) return this.#dueMs + this.#sameSlotMs
    const turn = this.#turnInForce(nowMs)
    if (turn !== undefined) return turn.atMs
    const dueAtMs = (atMs: number) => this.#dueMs + this.#intervalFactor * this.#intervalMs(atMs) - this.#sameSlotMs
    let latestMs = dueAtMs(nowMs)
    if (!isShared) return latestMs
    for (let earliestMs = nowMs; latestMs - earliestMs > 1; ) {
      const middleMs = (earliestMs + latestMs) / 2
      if (dueAtMs(middleMs) <= middleMs) latestMs = middleMs
      else earliestMs = middleMs
    }
    return latestMs
  }

  /** Returns the turn at which the next request starts. Before a deadline, and under a lease, there is none. */
  #turnInForce(nowMs: number) {
    if (this.#lease !== undefined || nowMs < this.#endMs) return undefined
    return this.isShared(nowMs) && this.#learned.isAgreed(nowMs) ? this.#turn : undefined
  }

  #movedTurn(nowMs: number, nextMs: number, { moveMs, distanceMs }: Turn): number {
    if (Math.abs(moveMs) < distanceMs * turnMoves.fromPart) return nextMs
    const spreadMs = distanceMs * turnMoves.spreadPart * (this.#random() - 0.5)
    return Math.max(nextMs + moveMs + spreadMs, this.#dueMs + minTurnPart * this.#intervalMs(nowMs))
  }

  /** Takes a turn before the next one, so that a refused request does not wait for a whole interval. */
  #takeEarlierTurn(nowMs: number, intervalMs: number): void {
    const { fromIntervalMs, part, maxRefusals, maxRefusedPart } = earlierTurn
    const turn = this.#turnInForce(nowMs)
    if (turn === undefined || intervalMs < fromIntervalMs) return
    if (this.#learned.refusals > maxRefusals || this.#learned.refusedPart > maxRefusedPart) return
    const { atMs, distanceMs } = turn
    const turns = Math.floor((atMs - nowMs - part * intervalMs) / distanceMs)
    if (turns > 0) this.#turn = { ...turn, atMs: atMs - (turns - 0.5) * distanceMs }
  }

  /** Leaves the next slot of a lease to a request outside this limiter. A lease without slots has none to leave. */
  #useSlotAfter(lease: Lease, dueMs: number): void {
    const slotMs = lease.nextMs(dueMs + this.#sameSlotMs)
    if (Number.isFinite(slotMs)) this.#dueMs = slotMs
  }

  /** Leaves out the next slot of the lease at random, the more often the later requests start. */
  #leaveOutSlots(lease: Lease, lateMs: number): void {
    this.#lateMs += leftOut.partOfStart * (Math.max(lateMs, 0) - this.#lateMs)
    const harmfulMs = this.#lateMs - leftOut.fromMs
    if (
      harmfulMs <= 0 ||
      lease.slotMs > leftOut.maxSlotMs ||
      this.#random() >= (leftOut.factor * Math.sqrt(harmfulMs * lease.slotMs)) / windowMs
    )
      return
    const nextMs = lease.nextMs(this.#dueMs + this.#sameSlotMs)
    if (nextMs < this.#dueMs + leftOut.maxApartMs) this.#dueMs = nextMs
  }

  /** Sets the next turn, one interval after the time at which the last request was due. */
  #nextTurn(nowMs: number): void {
    if (this.#turn === undefined) return
    this.#turn = { ...this.#turn, atMs: this.#dueMs + this.#intervalMs(nowMs) }
  }

  /**
   * A new lease may announce the next slot a little earlier. Half a slot distinguishes this slot from the one before
   * it.
   */
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

  /** If this raises the effective limit, the learned rate is forgotten, because 429s taught it for a lower limit. */
  #readLimit(nowMs: number, answer: PacedAnswer): void {
    const before = this.#limitInForce
    const wasLimited = this.#allowed !== Number.POSITIVE_INFINITY
    this.#headerLimit.onAnswer(nowMs, answer, answer.throttled)
    if (this.#limitInForce > before) this.forgetRate()
    if (!wasLimited) this.#countRequests()
  }

  /** Counts the requests that were made before there was a limit. */
  #countRequests(): void {
    const atMs = this.#lastRequestMs
    if (atMs === Number.NEGATIVE_INFINITY || this.#allowed === Number.POSITIVE_INFINITY) return
    const intervalMs = 1000 / this.#allowed
    this.#dueMs = atMs + Math.min(this.#window.count(atMs) * intervalMs, windowMs) - intervalMs
    this.#intervalFactor = 1
  }

  #wait(nowMs: number, { retryAfterMs, resetMs = 0, remaining = 0 }: PacedAnswer): void {
    // A window with room left is not the reason for the 429, and its reset may be an hour away.
    const resetWaitMs = remaining > 0 ? 0 : Math.min(resetMs, maxResetWaitMs)
    // Up to a tenth more, so that many processes that received the same `Retry-After` do not return at the same moment.
    const waitMs = retryAfterMs === undefined ? resetWaitMs : retryAfterMs * (1 + 0.1 * this.#random())
    this.#askedUntilMs = Math.max(this.#askedUntilMs, nowMs + waitMs)
  }

  /** Lowers the rate. The next turn stays unless it is far: others have theirs before and after it. */
  #slowDown(nowMs: number): void {
    // A rate that was allowed but not used says nothing about the room that there is.
    const perSecond = this.#perSecond(nowMs)
    const usedPerSecond = Math.min(perSecond, Math.max(this.#window.count(nowMs), 1))
    const isHeldBack = this.#wasHeldBack
    this.#learned.onRefused(nowMs, isHeldBack ? perSecond : usedPerSecond, isHeldBack, this.#firstPerSecond)
    this.#takeEarlierTurn(nowMs, 1000 / perSecond)
    this.#throttledAtMs = nowMs
    this.#dueMs = nowMs + this.#sameSlotMs
    this.#intervalFactor = this.#drawIntervalFactor(nowMs)
    this.#freePart.restart(nowMs)
  }

  #applyRemaining(nowMs: number, { limit, remaining, limitPerSecond = limit }: RateLimit, isNews: boolean): void {
    if (limit === undefined || remaining === undefined || this.#perSecond(nowMs) === Number.POSITIVE_INFINITY) return
    const isNewcomer = nowMs - (this.#firstAnswerAtMs ?? nowMs) < newcomerMs
    const isShared = this.isShared(nowMs)
    if (this.#lease === undefined) this.#makeRoomForOthers(nowMs, limit, limit - remaining, !isShared || isNewcomer)
    if (remaining > limit / 2) this.#halfFreeAtMs = nowMs
    if (!isShared || limitPerSecond !== limit) return // the rest of a minute's window is not a rate
    if (remaining >= limit * nearlyFull) this.#useFreePart(nowMs, remaining / limit)
    else if (isNews && this.#wasHeldBack && nowMs - this.#halfFreeAtMs < halfFreeHoldsMs) {
      const others = limit - remaining - this.#window.count(nowMs)
      if (others > 0) this.#easeOff(nowMs, others)
    }
  }

  /**
   * Other processes share the limit if more of the window is used than this process used. A newcomer cannot have used
   * that. It starts with a part of one share, as if each used request belonged to another process.
   */
  #makeRoomForOthers(nowMs: number, limit: number, used: number, isNewcomer: boolean): void {
    const tolerance = 2 + limit / 20
    const ownUse = this.#window.count(nowMs)
    if (used - ownUse > tolerance) this.#learned.onOthers(nowMs)
    else if (used <= ownUse) this.#learned.onAlone(Math.max(ownUse / limit, minChanceOfOthers))
    if (!isNewcomer || used - this.#requests <= tolerance) return
    const perSecond = (newcomersPart * limit * usedPartOfLimit) / used
    if (perSecond < this.#perSecond(nowMs)) this.#learned.start(nowMs, perSecond)
  }

  /**
   * Slows down a little, or leaves room for others. As after a 429, the answers to requests that are already in flight say
   * nothing new.
   *
   * @param others number of requests of other processes in the window
   */
  #easeOff(nowMs: number, others: number): void {
    const { fromPart, keptPart, minOthers, maxOthers } = roomForOthers
    const isLarge = this.#lease === undefined && this.#perSecond(nowMs) > this.#allowed * fromPart
    const areFew = others >= minOthers && others <= maxOthers
    if (isLarge && areFew && this.#roomForOthers.offer(nowMs)) this.#learned.start(nowMs, this.#allowed * keptPart)
    else this.#learned.onNearlyFull(nowMs)
    this.#throttledAtMs = nowMs
    this.#freePart.restart(nowMs)
  }

  #useFreePart(nowMs: number, free: number): void {
    if (this.#roomForOthers.isOffered(nowMs)) return this.#freePart.restart(nowMs)
    const surelyFree = this.#freePart.observe(nowMs, free, this.#learned.sharers)
    if (surelyFree === undefined || surelyFree <= 0 || !this.#wasHeldBack) return
    this.#learned.raise(nowMs, 1 + surelyFree)
  }

  /**
   * If the limit is shared, long intervals vary, so that no process meets the same moment of every window. No interval
   * becomes shorter than the allowed rate permits: waiting for the longer ones alone would waste a part of the limit.
   */
  #drawIntervalFactor(nowMs: number): number {
    const perSecond = this.#perSecond(nowMs)
    if (perSecond === this.#allowed) return 1 // both may be infinite
    const maxSpread = Math.min(1 / Math.max(perSecond, 1), 2 * (1 - perSecond / this.#allowed))
    const spread = this.#learned.isAgreed(nowMs) ? maxSpread * agreedSpread : maxSpread
    return 1 + spread * (this.#random() - 0.5)
  }
}

function isMostlyFree({ limit, remaining }: RateLimit): boolean {
  return limit !== undefined && remaining !== undefined && remaining >= limit * mostlyFree
}

/**
 * Returns the same place in an earlier interval, if a turn is more than two intervals away. It came after the turns of
 * processes that have ended since.
 */
function withinTwoIntervals(nowMs: number, turnMs: number, intervalMs: number): number {
  const intervals = Math.floor((turnMs - nowMs) / intervalMs) - 1
  return intervals > 0 ? turnMs - intervals * intervalMs : turnMs
}
