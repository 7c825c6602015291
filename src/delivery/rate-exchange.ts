import { clearTimeout, monotonicMs, setTimeout } from '../time.ts'
import type { AgreedRate, RateLimiter, SharedRate, Turn } from './rate-limiter.ts'

/** Time between two exchanges, and time until the first one, in milliseconds, plus or minus a tenth. */
const exchangeMs = 2000
const firstExchangeMs = 300
/** Time until the next exchange if one was impossible, in milliseconds. */
const troubleMs = 30_000
/** Number of exchanges in a row without a rate to share after which they end. */
const maxIdle = 15
/**
 * Part of the limit from which on the processes take turns. Below it, processes of other machines share the limit. These
 * would come off worse: requests at equal distances are refused less than others.
 */
const turnsFromPart = 0.9
/** Minimum time between two turns, in milliseconds: timers are not more exact. */
const minTurnMs = 5
/**
 * Time and number of requests since the last 429 of all processes after which the rate grows by the factor, in
 * milliseconds, unless no limit is known. Nobody uses the room, then.
 */
const unrefused = { ms: 6000, requests: 100, growth: 1.1 }

/** Where processes tell each other their rates. */
export interface SharedRates {
  /** Tells the others the rate of this process. Returns the rates that others have told during the last seconds. */
  exchange(own: SharedRate): Promise<readonly SharedRate[]>
}

export interface RateExchangeDeps {
  readonly rates: SharedRates
  readonly rateLimiter: Pick<RateLimiter, 'isShared' | 'allowedPerSecond' | 'rateToShare' | 'agreeOn'>
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
  #timer: NodeJS.Timeout | undefined
  #idle = 0
  #sharers = 1

  constructor(deps: RateExchangeDeps) {
    this.#deps = deps
  }

  /** Number of processes that have agreed, this one included. */
  get sharers(): number {
    return this.#sharers
  }

  /** Begins the exchange if an answer shows that others use the limit. */
  onAnswer(): void {
    if (this.#timer === undefined && this.#deps.rateLimiter.isShared(monotonicMs())) this.#schedule(0, firstExchangeMs)
  }

  /** Ends the exchange until another answer comes. */
  close(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
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
    this.#schedule(0)
    this.#sharers = others.length + 1
    // Anew, because the exchange took some milliseconds.
    const present = rateLimiter.rateToShare(monotonicMs())
    const agreed = present && agreedRate(present, others, rateLimiter.allowedPerSecond)
    if (agreed === undefined) return
    rateLimiter.agreeOn(monotonicMs(), agreed)
    onAgreed()
  }

  #pauseForTrouble(): void {
    this.#sharers = 1
    this.#schedule(0, troubleMs)
  }

  #pauseIfIdle(): void {
    this.#sharers = 1
    if (this.#idle < maxIdle) return this.#schedule(this.#idle + 1)
    this.#timer = undefined
  }
}

/**
 * Returns the rate with which this process continues: the mean of all rates, but together no more than the limit. The mean
 * grows if nobody was refused for some time. Rates of
 * processes that may have no more than what they have are left out of the mean. `undefined` if there is no other rate, or
 * if this process may have no more. If all rates are trials, a process whose trial fits into its part of the limit goes on
 * with it.
 *
 * @param limitPerSecond limit of all processes together, in requests per second; `Infinity` if it is unknown
 */
export function agreedRate(
  own: SharedRate,
  others: readonly SharedRate[],
  limitPerSecond: number,
): AgreedRate | undefined {
  if (others.length === 0) return undefined
  const rates = [own, ...others]
  const sinceRefusedMs = Math.min(...rates.map(rate => rate.sinceRefusedMs))
  const perSecondInAll = sumOf(rates.map(rate => rate.requestsPerSecond))
  const growth = limitPerSecond < Number.POSITIVE_INFINITY ? growthAfter(sinceRefusedMs, perSecondInAll) : 1
  const inAll = Math.min(perSecondInAll * growth, limitPerSecond)
  const requestsPerSecond = inAll / rates.length
  const mayHaveMore = (rate: SharedRate) => !rate.isMaximum || rate.requestsPerSecond >= requestsPerSecond
  if (!mayHaveMore(own)) return undefined
  const [free, full] = [others.filter(mayHaveMore), others.filter(rate => !mayHaveMore(rate))]
  if (full.length > 0) return agreedRate(own, free, limitPerSecond - sumOf(full.map(rate => rate.requestsPerSecond)))
  if (rates.every(({ isTrial }) => isTrial) && own.requestsPerSecond <= limitPerSecond / rates.length) return undefined
  return {
    requestsPerSecond,
    refusedPart: meanOf(rates.map(rate => rate.refusedPart)),
    sinceRefusedMs,
    turn: inAll < limitPerSecond * turnsFromPart ? undefined : turnOf(own, others, requestsPerSecond, limitPerSecond),
  }
}

/** Returns the factor by which rates grow that nobody has refused for some time. */
function growthAfter(sinceRefusedMs: number, perSecondInAll: number): number {
  const { ms, requests, growth } = unrefused
  return sinceRefusedMs >= ms && (sinceRefusedMs / 1000) * perSecondInAll >= requests ? growth : 1
}

/**
 * Returns the turn of a process. The order of the next requests stays, and together they are moved by as little as
 * possible: the time of each, less its place in the order, is the same on average before and after. So the processes
 * arrive at the same turns without talking about them.
 */
function turnOf(
  own: SharedRate,
  others: readonly SharedRate[],
  perSecond: number,
  limitPerSecond: number,
): Turn | undefined {
  const processes = others.length + 1
  const intervalMs = 1000 / perSecond
  const distanceMs = intervalMs / processes
  if (distanceMs < minTurnMs) return undefined
  const inInterval = ({ nextStartMs }: SharedRate) => nextStartMs - Math.floor(nextStartMs / intervalMs) * intervalMs
  const ownMs = inInterval(own)
  const inOrder = [ownMs, ...others.map(inInterval)].sort((one, other) => one - other)
  const firstTurns = inOrder.map((ms, place) => ms - place * distanceMs)
  const ownFirstTurn = firstTurns[inOrder.indexOf(ownMs)] as number
  return { moveMs: meanOf(firstTurns) - ownFirstTurn, distanceMs, maxPerSecond: limitPerSecond / processes }
}

function meanOf(numbers: readonly number[]): number {
  return sumOf(numbers) / numbers.length
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0)
}
