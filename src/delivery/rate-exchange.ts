import { clearTimeout, monotonicMs, setTimeout } from '../time.ts'
import { hasTurns, placeInLine, RateAgreement, rateOfLargest, rateOfNewcomer } from './rate-agreement.ts'
import type { RateLimiter, SharedRate } from './rate-limiter.ts'

/** Time between two exchanges, and time until the first one, in milliseconds, plus or minus a tenth. */
const exchangeMs = 2000
const firstExchangeMs = 300
/** Maximum time for which the first request waits for the rates of others, in milliseconds. */
const joinMs = 500
/** Time after which a process that has taken its place in line looks again, in milliseconds. */
const secondLookMs = 50
/** Factor by which the number of processes has grown if the next exchange follows as soon as the first one. */
const manyMore = 1.1
/** Time until the next exchange if one was impossible, in milliseconds. */
const troubleMs = 30_000
/** Number of exchanges in a row without a rate to share after which they end. */
const maxIdle = 15

/** Where processes tell each other their rates. */
export interface SharedRates {
  /** Tells the others the rate of this process. Returns the rates that others have told during the last seconds. */
  exchange(own: SharedRate): Promise<readonly SharedRate[]>
  /** Returns the rates that others have told during the last seconds, and tells them nothing. */
  read(): Promise<readonly SharedRate[]>
  /** Takes back what this process has told. */
  leave(): void
}

export interface RateExchangeDeps {
  readonly rates: SharedRates
  readonly rateLimiter: Pick<
    RateLimiter,
    | 'isShared'
    | 'allowedPerSecond'
    | 'headersTellRemaining'
    | 'freeUse'
    | 'rateToShare'
    | 'agreeOn'
    | 'join'
    | 'hasStarted'
    | 'isLeased'
    | 'holdUntil'
    | 'wasThrottledSince'
    | 'forgetRate'
  >
  /** True if events wait for a request. */
  readonly isWaiting: () => boolean
  /** Called when the rate has changed. */
  readonly onAgreed: () => void
  /** Called with the reason when the rates cannot be exchanged. The next exchange follows half a minute later. */
  readonly onTrouble: (error: unknown) => void
  readonly random: () => number
}

/**
 * Makes the processes of one machine agree on one rate, which is the mean of their rates. A 429 to one of them then slows
 * all of them down a little, and a process that starts has its share within seconds. Processes that use a known limit alone
 * also take turns: their requests start at equal distances, so that none is refused. What other machines leave them, the
 * processes still learn from 429s and headers.
 *
 * The exchange begins when the process first shares its rate with others, and pauses when nothing holds the process back.
 */
export class RateExchange {
  readonly #deps: RateExchangeDeps
  #agreement = new RateAgreement()
  #timer: NodeJS.Timeout | undefined
  #idle = 0
  #isClosed = false
  /** True if the process has taken its place in line, or is about to. */
  #hasPlace = false
  /** Time at which the process began with the rate of others; monotonic. `undefined` once others were there no more. */
  #joinedAtMs: number | undefined
  /** Time at which a process that nothing holds back looks again for others; monotonic. */
  #looksAgainAtMs = Number.NEGATIVE_INFINITY
  #sharers = 1

  constructor(deps: RateExchangeDeps) {
    this.#deps = deps
  }

  /** Number of processes that have agreed, this one included. */
  get sharers(): number {
    return this.#sharers
  }

  /**
   * Begins with a part of what the processes of this machine use, if any share the limit now. Otherwise a newcomer would use
   * the whole limit until the first 429.
   */
  async join(): Promise<void> {
    const { rates, rateLimiter, isWaiting, onAgreed } = this.#deps
    this.#isClosed = false
    if (isWaiting()) await this.takePlace()
    if (this.#hasPlace) return
    const others = await rates.read().catch(() => []) // `exchange` reports trouble
    const { allowedPerSecond } = rateLimiter
    const agreed = rateOfNewcomer(others, allowedPerSecond)
    if (this.#timer !== undefined || this.#isClosed || this.#hasPlace) return
    if (agreed !== undefined) rateLimiter.agreeOn(monotonicMs(), agreed)
    if (agreed !== undefined || allowedPerSecond < Number.POSITIVE_INFINITY) this.#beginAfterJoining()
    onAgreed()
  }

  /**
   * Takes a place in line for the first request, under a known limit that is not high, and tells the others so. To be called
   * when events wait for that request: a process may start to log long after it knows the limit, and many at once. A process
   * of a fleet has slots of its own, and needs no place.
   */
  async takePlace(): Promise<void> {
    const { rateLimiter, onAgreed } = this.#deps
    if (this.#hasPlace || this.#isClosed || rateLimiter.hasStarted || rateLimiter.isLeased) return
    if (!hasTurns(rateLimiter.allowedPerSecond)) return
    this.#hasPlace = true
    await this.#standInLine()
    onAgreed()
  }

  /** Takes a place, and looks again who else has taken one: several processes may have looked at the same time. */
  async #standInLine(): Promise<void> {
    const { rates, rateLimiter, random } = this.#deps
    const { allowedPerSecond } = rateLimiter
    const isOver = () => this.#isClosed || rateLimiter.hasStarted // the process is ending
    rateLimiter.holdUntil(monotonicMs() + joinMs)
    try {
      const { turn, ...rate } = placeInLine(await rates.read(), allowedPerSecond)
      if (isOver()) return
      const moveMs = turn.moveMs + random() * turn.distanceMs // no two in the same place
      rateLimiter.join(monotonicMs(), { ...rate, turn: { ...turn, moveMs } })
      const own = rateLimiter.rateToShare(monotonicMs())
      if (own !== undefined) await rates.exchange(own)
      await new Promise<void>(resolve => setTimeout(resolve, secondLookMs).unref())
      const others = await rates.read()
      if (isOver()) return
      const nowMs = monotonicMs()
      if (others.length === 0) rateLimiter.forgetRate()
      else rateLimiter.join(nowMs, placeInLine(others, allowedPerSecond, rateLimiter.rateToShare(nowMs)?.nextStartMs))
    } catch {
      // `exchange` reports trouble.
    } finally {
      rateLimiter.holdUntil(Number.NEGATIVE_INFINITY)
      if (this.#isClosed) rates.leave()
      else this.#beginAfterJoining()
    }
  }

  #beginAfterJoining(): void {
    clearTimeout(this.#timer)
    this.#joinedAtMs = monotonicMs()
    this.#schedule(0, firstExchangeMs)
  }

  /** Begins the exchange if an answer, or the rates of others, show that others use the limit. */
  onAnswer(): void {
    this.#isClosed = false
    if (this.#timer !== undefined) return
    const nowMs = monotonicMs()
    if (this.#deps.rateLimiter.isShared(nowMs)) this.#schedule(0, firstExchangeMs)
    else void this.#giveWay(nowMs)
  }

  /**
   * Lowers the rate to the mean if this process uses much more than others of this machine, and nothing holds it back. The others
   * may leave it so much room that it never gets the 429 that would tell it of them.
   */
  async #giveWay(nowMs: number): Promise<void> {
    const { rates, rateLimiter, onAgreed } = this.#deps
    const perSecond = rateLimiter.freeUse(nowMs)
    if (perSecond === 0 || nowMs < this.#looksAgainAtMs) return
    this.#looksAgainAtMs = nowMs + exchangeMs
    const others = await rates.read().catch(() => []) // `exchange` reports trouble
    const agreed = rateOfLargest(perSecond, others, rateLimiter.allowedPerSecond)
    const isFree = this.#timer === undefined && !this.#isClosed && rateLimiter.freeUse(monotonicMs()) > 0
    if (agreed === undefined || !isFree) return
    rateLimiter.agreeOn(monotonicMs(), agreed)
    this.#beginAfterJoining()
    onAgreed()
  }

  /** Ends the exchange until another answer comes. */
  close(): void {
    clearTimeout(this.#timer)
    this.#deps.rates.leave()
    this.#timer = undefined
    this.#isClosed = true
    this.#hasPlace = false
    this.#agreement = new RateAgreement()
    this.#sharers = 1
  }

  #schedule(idle: number, afterMs = exchangeMs): void {
    this.#idle = idle
    this.#timer = setTimeout(() => void this.#exchange(), afterMs * (0.9 + 0.2 * this.#deps.random())).unref()
  }

  async #exchange(): Promise<void> {
    const { rates, rateLimiter, onAgreed, onTrouble } = this.#deps
    const own = rateLimiter.rateToShare(monotonicMs())
    if (own === undefined) return this.#pauseIfIdle()
    const timer = this.#timer
    let others: readonly SharedRate[]
    try {
      others = await rates.exchange(own)
    } catch (error) {
      if (this.#timer === timer) this.#pauseForTrouble()
      return onTrouble(error)
    }
    if (this.#timer !== timer) return // closed meanwhile
    this.#schedule(0, this.#isUnsettled(others.length + 1) ? firstExchangeMs : exchangeMs)
    this.#sharers = others.length + 1
    if (others.length === 0) this.#forgetJoined()
    // Anew, because the exchange took some milliseconds.
    const nowMs = monotonicMs()
    const present = rateLimiter.rateToShare(nowMs)
    const { allowedPerSecond: limitPerSecond, headersTellRemaining } = rateLimiter
    const agreed =
      present && this.#agreement.among(nowMs, { own: present, others, limitPerSecond, headersTellRemaining })
    if (agreed === undefined) return
    rateLimiter.agreeOn(nowMs, agreed)
    onAgreed()
  }

  /** True while the number of processes that share the limit is changing, because several start at about the same time. */
  #isUnsettled(sharers: number): boolean {
    const hasJoined = monotonicMs() - (this.#joinedAtMs ?? Number.NEGATIVE_INFINITY) < exchangeMs
    return hasJoined || sharers > this.#sharers * manyMore
  }

  #pauseForTrouble(): void {
    this.#sharers = 1
    this.#schedule(0, troubleMs)
  }

  async #pauseIfIdle(): Promise<void> {
    this.#sharers = 1
    const timer = this.#timer
    const isLast = this.#idle >= maxIdle
    if (this.#joinedAtMs !== undefined) {
      const others = isLast ? [] : await this.#deps.rates.read().catch(() => [])
      if (this.#timer !== timer) return // closed meanwhile
      if (others.length === 0) this.#forgetJoined()
    }
    if (isLast) this.#timer = undefined
    else this.#schedule(this.#idle + 1)
  }

  /** Forgets the rate with which the process began, because the others have gone, unless the service has refused requests. */
  #forgetJoined(): void {
    const { rateLimiter, onAgreed } = this.#deps
    if (this.#joinedAtMs === undefined) return
    const wasThrottled = rateLimiter.wasThrottledSince(this.#joinedAtMs)
    this.#joinedAtMs = undefined
    if (wasThrottled) return
    rateLimiter.forgetRate()
    onAgreed()
  }
}
