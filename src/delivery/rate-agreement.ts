import { FoundLimit } from './found-limit.ts'
import type { AgreedRate, SharedRate, Turn } from './rate-limiter.ts'

/**
 * Part of the limit from which on the processes take turns: `maxPart`, or less if a window has few requests. Below it,
 * processes of other machines share the limit. These would come off worse: requests at equal distances are refused less than
 * others. If a window has few requests, some of those at random times are refused by chance. Processes that are alone would
 * then never come near a low limit. The deviation by chance grows with the root of the number of requests.
 */
const turnsFrom = { maxPart: 0.9, deviations: 0.7 }
/** Minimum time between two turns, in milliseconds: timers are not more exact. */
const minTurnMs = 5
/**
 * The rate grows once no process has had a 429 for `afterMs` milliseconds and for this number of requests: a part of the limit
 * is then unused. It grows by `partPerRequest` for each of the requests, up to `maxPart`. It does not grow if
 * headers tell how many requests the limit still allows, because headers are more exact.
 */
const growth = { afterMs: 6000, requests: 200, partPerRequest: 0.0008, maxPart: 0.4 }
/**
 * If some processes leave, the others may together use as much as before: for `heldMs`, and once none of them has had a 429
 * for `afterMs`.
 */
const unusedByLeavers = { heldMs: 15_000, afterMs: 3000 }

/** Time after which a first request that was due has been made, or its process has ended, in milliseconds. */
const maxOverdueMs = 500

/**
 * A process that nothing holds back uses too much from that multiple of the mean rate on, if no process has had a 429 for
 * `afterMs`. As long as 429s come, they soon hold it back.
 */
const tooMuch = { fromMean: 1.3, afterMs: 5000 }

/** Rate with which a process joins others before it knows the limit, in requests per second. */
const lowPerSecond = 1

/** The rates that processes have told one another, and the limit that they share. */
interface ExchangedRates {
  readonly own: SharedRate
  readonly others: readonly SharedRate[]
  /** Limit of all processes together, in requests per second; `Infinity` if it is unknown. */
  readonly limitPerSecond: number
  /** True if the headers of answers tell how many requests the limit still allows. */
  readonly headersTellRemaining: boolean
}

/** Finds the rate of a process among others of its machine, exchange by exchange. */
export class RateAgreement {
  readonly #found = new FoundLimit()
  /** What all used together when there were most of them, in requests per second. */
  #largestGroup: { readonly perSecond: number; readonly processes: number; readonly atMs: number } | undefined

  /**
   * Returns the rate with which the process continues, as `agreedRate` does. If no request was refused for some time, all
   * processes together may use more than before. If some processes have gone, the others may use as much as all before.
   * If headers do not tell how much is left of the limit, it is found from refused requests (`FoundLimit`).
   *
   * @param nowMs monotonic time, in milliseconds
   */
  among(nowMs: number, exchanged: ExchangedRates): AgreedRate | undefined {
    const { own, others, limitPerSecond, headersTellRemaining } = exchanged
    const processes = others.length + 1
    const limit = headersTellRemaining ? limitPerSecond : this.#limitInForce(nowMs, [own, ...others], limitPerSecond)
    if (this.#largestGroup !== undefined && nowMs - this.#largestGroup.atMs > unusedByLeavers.heldMs)
      this.#largestGroup = undefined
    const perSecondBefore =
      this.#largestGroup !== undefined && this.#largestGroup.processes > processes ? this.#largestGroup.perSecond : 0
    const mayGrow = others.length > 0 && limit < Number.POSITIVE_INFINITY && !headersTellRemaining
    const agreed = agreedRate(own, others, limit, (perSecond, sinceRefusedMs) => {
      const grown = mayGrow ? perSecond * growthAfter(sinceRefusedMs, perSecond) : perSecond
      return sinceRefusedMs >= unusedByLeavers.afterMs ? Math.max(grown, perSecondBefore) : grown
    })
    if (agreed !== undefined && (this.#largestGroup === undefined || processes >= this.#largestGroup.processes)) {
      this.#largestGroup = { perSecond: agreed.requestsPerSecond * processes, processes, atMs: nowMs }
    }
    return agreed
  }

  #limitInForce(nowMs: number, rates: readonly SharedRate[], knownPerSecond: number): number {
    const sinceRefusedMs = Math.min(...rates.map(rate => rate.sinceRefusedMs))
    const used = sumOf(rates.map(rate => rate.requestsPerSecond))
    this.#found.update(nowMs, rates, growthAfter(sinceRefusedMs, used))
    return this.#found.orLower(knownPerSecond)
  }
}

/** Returns the factor by which rates grow when the last 429 was so long ago. */
function growthAfter(sinceRefusedMs: number, perSecondInAll: number): number {
  const requests = (sinceRefusedMs / 1000) * perSecondInAll
  const isLong = sinceRefusedMs >= growth.afterMs && requests >= growth.requests
  return isLong ? 1 + Math.min(requests * growth.partPerRequest, growth.maxPart) : 1
}

/**
 * Returns the rate of a process that joins others: that of each of them, within the limit. If the limit is unknown yet, the
 * rate is low, because others of the machine may use the whole limit. `undefined` if there are no others.
 */
export function rateOfNewcomer(others: readonly SharedRate[], limitPerSecond: number): AgreedRate | undefined {
  if (others.length === 0) return undefined
  const maxPerSecond = limitPerSecond === Number.POSITIVE_INFINITY ? lowPerSecond : limitPerSecond / (others.length + 1)
  return {
    requestsPerSecond: Math.min(meanOf(others.map(rate => rate.requestsPerSecond)), maxPerSecond),
    ...refusalsOf(others),
    turn: undefined,
  }
}

/**
 * Returns the rate of a process that nothing holds back beside others of its machine that are held back: the mean, within
 * the limit. `undefined` if the process uses little more than that, if there are no such others, or if a 429 came lately.
 */
export function rateOfLargest(
  usedPerSecond: number,
  others: readonly SharedRate[],
  limitPerSecond: number,
): AgreedRate | undefined {
  const heldBack = others.filter(rate => !rate.isMaximum)
  if (heldBack.length === 0) return undefined
  const refusals = refusalsOf(heldBack)
  const mean = meanOf([usedPerSecond, ...heldBack.map(rate => rate.requestsPerSecond)])
  if (usedPerSecond < mean * tooMuch.fromMean || refusals.sinceRefusedMs < tooMuch.afterMs) return undefined
  return {
    requestsPerSecond: Math.min(mean, limitPerSecond / (heldBack.length + 1)),
    ...refusals,
    turn: undefined,
  }
}

/** True if a limit is so low that turns of all processes can be told apart. */
export function hasTurns(limitPerSecond: number): boolean {
  return 1000 / limitPerSecond >= minTurnMs
}

/**
 * Returns the rate and the first turn of a process that joins others before its first request, under a known limit. Its
 * turn comes after the turns of all processes that still wait for their first request. Without this order, processes that
 * start together would make their first requests at the same moment.
 *
 * @param ownStartMs time until the first request of this process, if it has a place already. Only earlier places count
 */
export function placeInLine(
  others: readonly SharedRate[],
  limitPerSecond: number,
  ownStartMs = Number.POSITIVE_INFINITY,
): AgreedRate & { readonly turn: Turn } {
  const maxPerSecond = limitPerSecond / (others.length + 1)
  const distanceMs = 1000 / limitPerSecond
  const inLine = others.filter(
    ({ sinceAcceptedMs, nextStartMs }) =>
      sinceAcceptedMs === Number.POSITIVE_INFINITY && nextStartMs > -maxOverdueMs && nextStartMs < ownStartMs,
  )
  const sinceAcceptedMs = Math.min(...others.map(rate => rate.sinceAcceptedMs), Number.POSITIVE_INFINITY)
  const moveMs = Math.max(distanceMs - sinceAcceptedMs, 0) + inLine.length * distanceMs
  const alone = { requestsPerSecond: limitPerSecond, refusedPart: 0, sinceRefusedMs: Number.POSITIVE_INFINITY }
  const rate = rateOfNewcomer(others, limitPerSecond) ?? alone
  return { ...rate, turn: { moveMs, distanceMs, maxPerSecond } }
}

/**
 * Returns the rate with which this process continues: the mean of all rates, but together no more than the limit. Rates of
 * processes that may have no more than what they have are left out of the mean. `undefined` if there is no other rate, or
 * if this process may have no more. If all rates are trials, a process whose trial fits into its part of the limit goes on
 * with it.
 *
 * @param limitPerSecond limit of all processes together, in requests per second; `Infinity` if it is unknown
 * @param raised returns what all may use together, from what they use and the time since the last 429
 */
export function agreedRate(
  own: SharedRate,
  others: readonly SharedRate[],
  limitPerSecond: number,
  raised: (perSecondInAll: number, sinceRefusedMs: number) => number = perSecondInAll => perSecondInAll,
): AgreedRate | undefined {
  const rates = [own, ...others]
  const refusals = refusalsOf(rates)
  const used = sumOf(rates.map(rate => rate.requestsPerSecond))
  const inAll = Math.min(raised(used, refusals.sinceRefusedMs), limitPerSecond)
  if (others.length === 0 && inAll <= used) return undefined
  const requestsPerSecond = inAll / rates.length
  const mayHaveMore = (rate: SharedRate) => !rate.isMaximum || rate.requestsPerSecond >= requestsPerSecond
  if (!mayHaveMore(own)) return undefined
  const [free, full] = [others.filter(mayHaveMore), others.filter(rate => !mayHaveMore(rate))]
  if (full.length > 0)
    return agreedRate(own, free, limitPerSecond - sumOf(full.map(rate => rate.requestsPerSecond)), raised)
  if (rates.every(({ isTrial }) => isTrial) && own.requestsPerSecond <= limitPerSecond / rates.length) return undefined
  return {
    requestsPerSecond,
    ...refusals,
    turn:
      inAll < turnsFromPerSecond(limitPerSecond) ? undefined : turnOf(own, others, requestsPerSecond, limitPerSecond),
  }
}

function turnsFromPerSecond(limitPerSecond: number): number {
  return limitPerSecond * Math.min(turnsFrom.maxPart, 1 - turnsFrom.deviations / Math.sqrt(limitPerSecond))
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

/** Returns the mean part of requests that is refused, and the time since the last 429 of any of the processes. */
function refusalsOf(rates: readonly SharedRate[]): Pick<AgreedRate, 'refusedPart' | 'sinceRefusedMs'> {
  return {
    refusedPart: meanOf(rates.map(rate => rate.refusedPart)),
    sinceRefusedMs: Math.min(...rates.map(rate => rate.sinceRefusedMs)),
  }
}

function meanOf(numbers: readonly number[]): number {
  return sumOf(numbers) / numbers.length
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0)
}
