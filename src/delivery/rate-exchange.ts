import { clearTimeout, monotonicMs, setTimeout } from '../time.ts'
import type { AgreedRate, RateLimiter, SharedRate } from './rate-limiter.ts'

/** Time between two exchanges, in milliseconds, plus or minus a tenth. */
const exchangeMs = 2000
/** Time until the next exchange if one was impossible, in milliseconds. */
const troubleMs = 30_000
/** Number of exchanges in a row without a rate to share after which they end. */
const maxIdle = 15

/** Where processes tell each other their rates. */
export interface SharedRates {
  /** Tells the others the rate of this process. Returns the rates that others have told during the last seconds. */
  exchange(own: SharedRate): Promise<readonly SharedRate[]>
}

export interface RateExchangeDeps {
  readonly rates: SharedRates
  readonly rateLimiter: Pick<RateLimiter, 'isShared' | 'rateToShare' | 'agreeOn'>
  /** Called when the rate has changed. */
  readonly onAgreed: () => void
  /** Called with the reason when the rates cannot be exchanged. The next exchange follows half a minute later. */
  readonly onTrouble: (error: unknown) => void
  readonly random: () => number
}

/**
 * Makes the processes of one machine agree on one rate, which is the mean of their rates. A 429 to one of them then slows
 * all of them down a little, and a process that starts has its share within seconds. What other machines leave them, the
 * processes still learn from 429s and headers.
 *
 * The exchange begins when the process first shares its rate with others, and pauses when nothing holds the process back.
 */
export class RateExchange {
  readonly #deps: RateExchangeDeps
  #timer: NodeJS.Timeout | undefined
  #idle = 0
  #isEnded = false
  /** Number of processes that have agreed, this one included. */
  sharers = 1

  constructor(deps: RateExchangeDeps) {
    this.#deps = deps
  }

  /** Begins the exchange if an answer shows that others use the limit. */
  onAnswer(): void {
    if (this.#timer === undefined && !this.#isEnded && this.#deps.rateLimiter.isShared(monotonicMs())) this.#schedule(0)
  }

  close(): void {
    this.#isEnded = true
    clearTimeout(this.#timer)
  }

  #schedule(idle: number, afterMs = exchangeMs): void {
    this.#idle = idle
    this.#timer = setTimeout(() => void this.#exchange(), afterMs * (0.9 + 0.2 * this.#deps.random())).unref()
  }

  async #exchange(): Promise<void> {
    const { rates, rateLimiter, onAgreed, onTrouble } = this.#deps
    const own = rateLimiter.rateToShare(monotonicMs())
    if (own === undefined) return this.#pauseIfIdle()
    let others: readonly SharedRate[]
    try {
      others = await rates.exchange(own)
    } catch (error) {
      return this.#pauseForTrouble(() => onTrouble(error))
    }
    if (this.#isEnded) return
    this.#schedule(0)
    this.sharers = others.length + 1
    const agreed = agreedRate(own, others)
    if (agreed === undefined) return
    rateLimiter.agreeOn(monotonicMs(), agreed)
    onAgreed()
  }

  #pauseForTrouble(report: () => void): void {
    this.sharers = 1
    if (this.#isEnded) return
    this.#schedule(0, troubleMs)
    report()
  }

  #pauseIfIdle(): void {
    this.sharers = 1
    if (this.#idle < maxIdle) return this.#schedule(this.#idle + 1)
    this.#timer = undefined
  }
}

/**
 * Returns the rate with which this process continues: the mean of all rates, without those of processes that may have no
 * more than what they have. `undefined` if there is no other rate, if this process may have no more, or if all rates are
 * trials: these must go on.
 */
export function agreedRate(own: SharedRate, others: readonly SharedRate[]): AgreedRate | undefined {
  const rates = [own, ...others]
  if (others.length === 0 || rates.every(({ isTrial }) => isTrial)) return undefined
  const requestsPerSecond = meanOf(rates.map(rate => rate.requestsPerSecond))
  const mayHaveMore = (rate: SharedRate) => !rate.isMaximum || rate.requestsPerSecond >= requestsPerSecond
  if (!mayHaveMore(own)) return undefined
  if (!others.every(mayHaveMore)) return agreedRate(own, others.filter(mayHaveMore))
  return {
    requestsPerSecond,
    refusedPart: meanOf(rates.map(rate => rate.refusedPart)),
    calmMs: Math.min(...rates.map(rate => rate.calmMs)),
  }
}

function meanOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0) / numbers.length
}
