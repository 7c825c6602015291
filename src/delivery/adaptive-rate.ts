import type { Sharers } from './free-part.ts'
import { ShareSearch } from './share-search.ts'

// The numbers below gave the best overall results with 1 to 500 clients: test/org/simulation.test.ts and
// test/delivery/recovery.test.ts.

/**
 * Part of the rate that remains after a 429 that follows a success, plus or minus 0.1. More remains if more requests are
 * refused, up to `keptMoreInCrowds`: many processes then share the limit, and luck decides which of them meets a 429. If
 * hundreds share it, no more remains: too many requests would be refused.
 */
const keptOnce = 0.8
const keptMoreInCrowds = 0.06
/** Parts of the requests that are refused between which that much more remains, and the part from which on no more does. */
const crowdedRefusedPart = { from: 0.03, to: 0.08, end: 0.12 }
/**
 * Part of the rate that remains after each further 429 without a success in between, plus or minus 0.1. More remains at
 * rates below `slowPerSecond`, up to `keptMoreIfSlow`: the next request met the service seconds later, as full as before.
 */
const keptAgain = 0.55
const keptMoreIfSlow = 0.3
const slowPerSecond = 0.7
/** Part of the rate that remains after an answer from a nearly full service, plus or minus 0.05. */
const keptNearlyFull = 0.97
/** Part of the rate that remains after the first 429 if no success came before it, plus or minus 0.1. */
const keptFirst = 0.6
/**
 * Time after the first 429 within which further 429s belong to the same window of the service, in milliseconds. They
 * say nothing more about the limit.
 */
const burstMs = 1500

/**
 * Time until the rate is back at the limit, in seconds. Below `crowdedPerSecond`, many processes share the limit, and the
 * time grows with that power of the rate. It is shorter if only 429s tell of other processes: a process that hears too
 * few of them keeps a share that is too large.
 */
const timeToLimit = {
  withHeaders: { seconds: 60, crowdedPerSecond: 0.3, power: 3 },
  without: { seconds: 55, crowdedPerSecond: 1.5, power: 1 },
}
/** Maximum of that time, in seconds. */
const maxSecondsToLimit = 400
/**
 * Processes that agree on their rates hear of each other's 429s, and need no growth that makes their shares alike. Part
 * of the growth that remains to them, and time for which an agreement counts, in milliseconds.
 */
const agreed = { growth: 0.5, holdsMs: 10_000 }
/**
 * Minimum growth up to one request per second, in requests per second each second. Above, it grows with the square root
 * of the rate only: growth that favors small rates makes the shares alike.
 */
const minGrowthPerSecond = 0.0035
/**
 * Part of the requests that may be refused at this growth. If less is refused, fewer processes share the limit, and the
 * growth is faster by the root of the quotient, up to the maximum factor. If more is refused, it is slower, down to the
 * minimum factor. Each process knows that part by its own answers, and without the root, chance would make the shares less
 * alike.
 */
const usualRefusedPart = 0.075
const maxGrowthFactor = 10
/** The part that counts as refused before the first answers: as if few processes shared the limit. */
const firstRefusedPart = 0.005
/** The part from which on many processes share the limit. */
const manyRefusedPart = 0.015
/**
 * Minimum factor of that growth at `slowPerSecond` and below, where hundreds of processes share the limit, and maximum
 * growth as a part of the rate. Without these, very many processes would together grow too fast. From `usualPerSecond`
 * on, the minimum factor is 1.
 */
const growthInCrowds = {
  withHeaders: { minFactor: 0.1, maxPart: 0.004 },
  without: { minFactor: 1, maxPart: 0.02 },
}
const crowdedRates = { slowPerSecond: 0.2, usualPerSecond: 0.3 }
/** Weight of one answer in the part that is refused, which is a decaying average. */
const answerWeight = 0.008
/** Growth beyond the limit: when twice the time to the limit has passed, the rate is one and a half times the limit. */
const growthBeyond = 0.5
/**
 * Time after the last 429 until the learned rate is forgotten, in milliseconds; longer below one request per second.
 */
const forgottenAfterMs = 240_000

/** A recovering rate doubles only after this many successes since the last 429. */
const doublingAfter = 4
/** Minimum time between two doublings, in milliseconds. */
const doublingMs = 400
/** Minimum time between two doublings beyond the rate that was used before the 429s, in milliseconds. */
const doublingBeyondKnownMs = 1000
/** Part of the rate before the trouble up to which the rate doubles. */
const recoveredPart = 0.95
/** Maximum limit after a recovery, as a multiple of the target, if a limit was known before. */
const maxBeyondTarget = 1.5
/**
 * If a rate that is tried again leads to a 429, the rate falls to at most this multiple of the rate before the trial.
 */
const keptOfTrial = 1.5
/** Part of the rate that remains if a doubling led to a 429, plus or minus 0.1. */
const keptAfterDoubling = { proven: 0.5, unproven: 0.25 }
/** Part of the rate that is taken for the limit if a doubling led to a 429. */
const limitAfterDoubling = { proven: 0.7, unproven: 0.35 }

/**
 * Maximum probability of a row of answers that show no other process, if others used the whole limit. At this
 * probability, the process is alone, and has no share to find.
 */
const maxChanceOfOthers = 0.02

/** Number of successes at one rate without a 429 that prove the rate. */
const provenAfter = 10
/**
 * Minimum time since the first of them if nothing was learned before, in milliseconds: a window of the service, in which
 * no request was refused.
 */
const provenMs = 1000
/** Number of 429s in a row that count as an outage and say nothing about the limit. */
const outageRefusals = 4
/**
 * The same number while the share is being found. Most requests may be refused then, and several in a row by chance.
 */
const outageRefusalsOfSearch = 9
/**
 * Rate with which a process continues when its share is found, as a multiple of the share. If all processes left room,
 * the last one that still searches would take it.
 */
const afterSearch = 1.1
/**
 * The limit then, as a multiple of that rate: `usual` up to `from` requests per second, and `ofFew` from one more on. So large
 * a share is that of a process among few, or of one that is alone, which may grow faster.
 */
const limitAfterSearch = { usual: 1.25, ofFew: 2.2, from: 1.5 }
/** Minimum duration of an outage if no earlier rate is known, in milliseconds. */
const outageMs = 15_000
/** Part of the rate before an outage with which the rate resumes before it doubles. */
const resumedPart = 0.5
/** Maximum rate with which the rate resumes, in requests per second. */
const maxResumedPerSecond = 2
/** Number of successes among mixed answers after which a recently proven rate is tried again. */
const calmAfter = 8
/** Maximum age of a proven rate that is tried again, in milliseconds. */
const triedAgainMs = 120_000

/**
 * Trials of the rate that was in use before the first 429 of all. A process that is alone and was refused a few times for
 * other reasons is soon back at that rate. A trial needs `afterSuccesses` successes since the last 429, and `afterMs`
 * milliseconds. No trial begins later than `triedMs` after the first 429. A 429 within `failsWithinMs` of a trial means that
 * other processes use the limit. The next trial then needs `moreAfterFailure` times as many successes.
 */
const earlierRate = { afterSuccesses: 15, afterMs: 1500, triedMs: 45_000, failsWithinMs: 6000, moreAfterFailure: 4 }
/** Part of that rate below which it is tried. */
const triedBelowPart = 0.9

/** Minimum rate, however crowded the service is: one request in 20 seconds. */
const minPerSecond = 1 / 20
/** Minimum rate while only 429s come, as a part of the proven rate. */
const probingPart = 1 / 3
/** Upper bound of the minimum rates if a rate is proven, in requests per second. */
const maxProbesPerSecond = 1 / 2
/** Minimum rate before the first success, in requests per second. */
const firstProbesPerSecond = 1 / 4
/** Minimum rate while 429s and successes are mixed, as a part of the rate that was proven recently. */
const mixedPart = 1 / 10
/** Time for which a proven rate counts as recent, in milliseconds. */
const mixedMs = 60_000

type State =
  | ShareSearch
  /** The rate doubles up to the target. The target is `Infinity` if no earlier rate is known. */
  | {
      readonly kind: 'recovering'
      readonly targetPerSecond: number
      /** Maximum rate after a 429, if the recovery is a trial. */
      readonly fallbackPerSecond: number | undefined
      /** Rate beyond which it doubles only once a second, because nothing is known of the room beyond it. */
      readonly knownPerSecond: number
      perSecond: number
      hasDoubled: boolean
    }
  /** CUBIC: the rate is a function of the time. */
  | {
      readonly kind: 'steady'
      readonly fromPerSecond: number
      readonly limitPerSecond: number
      /** Time at which the curve begins with `fromPerSecond`. */
      readonly sinceMs: number
      /** Time at which the rate was set: `sinceMs`, or later if it was set to a point further on. */
      readonly setAtMs: number
      /** True if this process agreed on its rate with others. */
      readonly isAgreed: boolean
    }

type Steady = State & { readonly kind: 'steady' }

/** A proven rate that was in use when a 429 came. */
interface Proven {
  readonly perSecond: number
  /** The limit that was known at that time. */
  readonly limitPerSecond: number
  readonly atMs: number
  /** True if the rate was tried again once and led to a 429. */
  readonly hasFailed: boolean
  /** True if the process was not held back: the rate was its demand, and the limit may be higher. */
  readonly isDemand: boolean
}

/** The rate that was in use when the first 429 came, and nothing was learned yet. */
interface EarlierRate {
  readonly perSecond: number
  /** Time until which it may be tried again. */
  readonly untilMs: number
  /** Number of successes since the last 429 that a trial needs. */
  readonly afterSuccesses: number
  /** The trial that was the last one. */
  readonly trial: { readonly fallbackPerSecond: number; readonly untilMs: number } | undefined
}

/**
 * The rate learned from 429s, in requests per second: congestion control as in TCP.
 *
 * A 429 marks the limit and reduces the rate. From then on the rate depends on the elapsed time (CUBIC). It grows fast
 * below the limit, slowly near it, and ever faster beyond it. If many processes share a limit, this growth makes their
 * shares converge. Small shares grow at least as fast as large ones, and the faster, the less is refused.
 *
 * A process that meets a 429 before it has proven a rate finds its share: all processes begin with the same low rate,
 * raise it while nothing is refused, and then take the part of their requests that is accepted. A process that came
 * first has no advantage.
 *
 * An outage of only 429s says nothing about the limit. During the outage a request is tried every few seconds. After
 * the first success the rate doubles several times a second (slow start), until it is nearly the rate before the
 * outage. If that was only the demand, the rate goes on to double once a second. The same happens once after a period of
 * mixed answers. If no earlier rate is known, the rate doubles until the next 429.
 *
 * A rate that was in use without any 429 is tried again soon after the first ones, unless other processes show.
 *
 * Time is monotonic, in milliseconds; `random` returns numbers from 0 to 1.
 */
export class AdaptiveRate {
  /** True if the headers of answers tell how much of the limit all processes together leave. */
  headersTellRemaining = false
  readonly #random: () => number
  #state: State | undefined
  #proven: Proven | undefined
  #earlier: EarlierRate | undefined
  #hasSucceeded = false
  /** Number of successes since the last 429. */
  #successes = 0
  /** Number of these successes at the present rate. */
  #successesAtRate = 0
  #provingSinceMs = 0
  /** Number of 429s since the last success. */
  #refusals = 0
  #refusedAtMs = 0
  /** Time at which the present series of 429s began. */
  #troubleSinceMs = 0
  /** Rate in use at that time; `undefined` if no success came before the series. */
  #troubledPerSecond: number | undefined
  #doubledAtMs = 0
  /** Part of the latest requests that was refused. */
  #refusedPart = firstRefusedPart
  /** The same before the present series of 429s. */
  #refusedPartBefore = firstRefusedPart
  /** Probability that the last answers, in a row, show no other process although others use the whole limit. */
  #chanceOfOthers = 1
  #agreedUntilMs = Number.NEGATIVE_INFINITY

  constructor(random: () => number) {
    this.#random = random
  }

  /** How many processes share the limit, by the part of the requests that is refused. */
  get sharers(): Sharers {
    if (this.#refusedPart <= firstRefusedPart) return 'few'
    return this.#refusedPart > manyRefusedPart ? 'many' : 'some'
  }

  /** Part of the latest requests that was refused, as a decaying average. */
  get refusedPart(): number {
    return this.#refusedPart
  }

  /** Time of the last 429. */
  get refusedAtMs(): number {
    return this.#refusedAtMs
  }

  /** Number of 429s in a row. */
  get refusals(): number {
    return this.#refusals
  }

  /** True if this process has agreed on its rate with others during the last seconds. */
  isAgreed(nowMs: number): boolean {
    return nowMs < this.#agreedUntilMs
  }

  /** True if the rate is one that the process tries out, because it does not know its share. */
  get isTrial(): boolean {
    return isSearching(this.#state)
  }

  /** True if only 429s come now, or if the rate is returning to its value before an outage. */
  get isInterrupted(): boolean {
    const state = this.#state
    if (this.#refusals >= (state?.kind === 'finding' ? outageRefusalsOfSearch : outageRefusals)) return true
    return state?.kind === 'recovering' && !isSearching(state)
  }

  /** Returns the rate at that time, in requests per second; `Infinity` if nothing is learned. */
  perSecond(nowMs: number): number {
    const state = this.#state
    if (state === undefined) return Number.POSITIVE_INFINITY
    const reference = state.kind === 'steady' ? state.limitPerSecond : state.perSecond
    if (nowMs - this.#refusedAtMs > forgottenAfterMs / Math.min(reference, 1)) return Number.POSITIVE_INFINITY
    if (state.kind !== 'steady') return state.perSecond
    const { fromPerSecond, limitPerSecond, sinceMs, setAtMs } = state
    const part = (nowMs - sinceMs) / this.#msToLimit(state) - 1
    const change = part ** 3 * (part < 0 ? limitPerSecond - fromPerSecond : limitPerSecond * growthBeyond)
    const growth = (this.#minGrowthPerSecond(state) * (nowMs - setAtMs)) / 1000
    return Math.max(limitPerSecond + change, fromPerSecond + growth)
  }

  /**
   * Notes a 429 to a request that was made while the rate in use was `usedPerSecond`.
   *
   * @param isHeldBack true if the request had waited for the rate
   * @param firstPerSecond rate with which the share of a process is found while no rate is proven; `undefined` if
   *   a lease is the share
   */
  onRefused(nowMs: number, usedPerSecond: number, isHeldBack: boolean, firstPerSecond?: number): void {
    const nowPerSecond = this.perSecond(nowMs)
    if (this.#refusals === 0) this.#refusedPartBefore = this.#refusedPart
    // A long outage says nothing about the number of processes.
    if (this.#refusals < outageRefusalsOfSearch) this.#refusedPart += answerWeight * (1 - this.#refusedPart)
    const state = nowPerSecond === Number.POSITIVE_INFINITY ? undefined : this.#state
    const successes = this.#successes
    const isProven =
      this.#successesAtRate >= provenAfter && (state !== undefined || nowMs - this.#provingSinceMs >= provenMs)
    const jitter = 0.2 * (this.#random() - 0.5)
    this.#successes = 0
    this.#successesAtRate = 0
    this.#chanceOfOthers = 1
    if (this.#refusals++ === 0) {
      this.#troubleSinceMs = nowMs
      this.#troubledPerSecond = successes > 0 ? usedPerSecond : undefined
    }
    this.#refusedAtMs = nowMs
    if (isProven) this.#prove(nowMs, usedPerSecond, isHeldBack, state)
    const isOutage = this.#refusals >= outageRefusalsOfSearch
    if (state?.kind === 'finding' && !isOutage) {
      this.#settle(nowMs, state.onRefused(nowMs, this.#refusals))
    } else if (firstPerSecond !== undefined && this.#proven === undefined && isSearching(state) && !isOutage) {
      const fallback = state?.kind === 'recovering' ? state.fallbackPerSecond : undefined
      // Equal for all processes, however few requests one has made before.
      const perSecond = state === undefined ? firstPerSecond : Math.min(firstPerSecond, usedPerSecond)
      if (fallback !== undefined) this.#becomeSteady(nowMs, fallback, fallback)
      else this.#state = new ShareSearch(nowMs, Math.max(perSecond, minPerSecond))
    } else if (state === undefined) {
      const kept = successes > 0 ? keptOnce : keptFirst
      this.#becomeRecovering(Math.max(usedPerSecond * (kept + jitter), minPerSecond), Number.POSITIVE_INFINITY)
    } else if (this.#earlier?.trial !== undefined && nowMs < this.#earlier.trial.untilMs) {
      const { trial, ...earlier } = this.#earlier
      this.#earlier = {
        ...earlier,
        trial: undefined,
        afterSuccesses: earlier.afterSuccesses * earlierRate.moreAfterFailure,
      }
      this.#becomeSteady(nowMs, trial.fallbackPerSecond * (keptOnce + jitter), trial.fallbackPerSecond)
    } else if (state.kind === 'recovering' && state.hasDoubled) {
      const proof = this.#proven === undefined ? 'unproven' : 'proven'
      if (state.targetPerSecond !== Number.POSITIVE_INFINITY) this.#doubt(successes)
      const { fallbackPerSecond = Number.POSITIVE_INFINITY } = state
      const perSecond = Math.min(usedPerSecond * (keptAfterDoubling[proof] + jitter), fallbackPerSecond)
      this.#becomeSteady(nowMs, perSecond, Math.min(usedPerSecond * limitAfterDoubling[proof], fallbackPerSecond))
    } else if (successes > 0) {
      this.#becomeSteady(
        nowMs,
        Math.max(usedPerSecond * (this.#keptOnce + jitter), this.#minAmongSuccesses(nowMs)),
        usedPerSecond,
      )
    } else {
      const kept = keptAgain + keptMoreIfSlow * Math.max(1 - nowPerSecond / slowPerSecond, 0)
      const perSecond = Math.max(nowPerSecond * (kept + jitter), Math.min(nowPerSecond, this.#minInOutage))
      this.#lower(nowMs, perSecond, state)
    }
  }

  /** Notes that the rate in use, at which a 429 came, had been proven before. */
  #prove(nowMs: number, usedPerSecond: number, isHeldBack: boolean, state: State | undefined): void {
    const limitPerSecond = state?.kind === 'steady' ? Math.max(state.limitPerSecond, usedPerSecond) : usedPerSecond
    const isDemand = !isHeldBack && state === undefined
    this.#proven = { perSecond: usedPerSecond, limitPerSecond, atMs: nowMs, hasFailed: false, isDemand }
    if (state !== undefined) return
    const { triedMs, afterSuccesses } = earlierRate
    this.#earlier = { perSecond: usedPerSecond, untilMs: nowMs + triedMs, afterSuccesses, trial: undefined }
  }

  /** Goes on at a lower rate, after a 429 without a success since the last one. A search for the share ends with that. */
  #lower(nowMs: number, perSecond: number, state: State): void {
    if (state.kind === 'steady') this.#becomeSteady(nowMs, perSecond, Math.max(state.limitPerSecond, perSecond))
    else if (state.kind === 'finding') this.#becomeRecovering(perSecond, Number.POSITIVE_INFINITY)
    else {
      const { targetPerSecond, fallbackPerSecond, knownPerSecond } = state
      this.#becomeRecovering(Math.max(perSecond, minPerSecond), targetPerSecond, fallbackPerSecond, knownPerSecond)
    }
  }

  /**
   * Notes a success of a request that started after the last 429.
   *
   * @param isMostlyFree true if the answer shows that most of the limit is unused. A search that an outage has slowed
   *   down then begins anew at a rate that does not depend on the outage.
   */
  onAccepted(nowMs: number, isMostlyFree = false): void {
    const refusals = this.#refusals
    const isAfterOutage = isMostlyFree && refusals >= outageRefusals
    if (isAfterOutage) this.#refusedPart = this.#refusedPartBefore // an outage says nothing about the number of processes
    this.#refusedPart *= 1 - answerWeight
    this.#refusals = 0
    this.#successes++
    if (this.#successesAtRate++ === 0) this.#provingSinceMs = nowMs
    const isFirst = !this.#hasSucceeded
    this.#hasSucceeded = true
    const state = this.#state
    if (state === undefined) return
    if (state.kind === 'finding') {
      if (!isFirst && refusals < outageRefusalsOfSearch) return this.#search(nowMs, state)
      const minRestarted = isAfterOutage ? maxResumedPerSecond : 0
      this.#state = new ShareSearch(nowMs, Math.max(state.perSecond, minRestarted), 1)
      return
    }
    const troubleMs = nowMs - this.#troubleSinceMs
    if (state.kind === 'steady' && refusals > 1 && troubleMs < burstMs) {
      return this.#becomeSteady(nowMs, state.limitPerSecond * keptOnce, state.limitPerSecond)
    }
    const used = this.#troubledPerSecond
    // A rate before a long outage is no target unless it was proven: the process may not have wanted more.
    const before = this.#proven?.perSecond ?? (refusals < outageRefusalsOfSearch ? used : undefined)
    const isKnown = before !== undefined && this.#proven?.hasFailed !== true
    if (refusals >= outageRefusals && (isKnown || refusals >= outageRefusalsOfSearch || troubleMs >= outageMs)) {
      const resumed = isKnown ? Math.min(before * resumedPart, maxResumedPerSecond) : 1
      const target = isKnown ? before * recoveredPart : Number.POSITIVE_INFINITY
      const fallback = isKnown || used === undefined ? undefined : used * keptOfTrial
      this.#refusedPart = this.#refusedPartBefore // an outage says nothing about the number of processes
      const isOpen = isKnown && this.#proven?.isDemand === true
      this.#becomeRecovering(
        Math.max(this.perSecond(nowMs), resumed),
        isOpen ? Number.POSITIVE_INFINITY : target,
        fallback,
        target,
      )
    } else if (state.kind === 'steady' && this.#proven !== undefined && this.#isCalm(nowMs, this.#proven)) {
      const perSecond = this.perSecond(nowMs)
      this.#becomeRecovering(perSecond, this.#proven.perSecond * recoveredPart, perSecond * keptOfTrial)
    } else if (state.kind === 'steady' && this.#earlier !== undefined && this.#mayTry(nowMs, this.#earlier)) {
      const perSecond = this.perSecond(nowMs)
      const trial = { fallbackPerSecond: perSecond, untilMs: nowMs + earlierRate.failsWithinMs }
      this.#earlier = { ...this.#earlier, trial }
      this.#becomeRecovering(perSecond, this.#earlier.perSecond * recoveredPart, perSecond)
    }
    this.#double(nowMs)
  }

  /**
   * Notes a success that left almost nothing of the shared limit. Lowers the rate a little, before a 429 comes, and ends its
   * doubling.
   */
  onNearlyFull(nowMs: number): void {
    const perSecond = this.perSecond(nowMs)
    if (this.#state === undefined || perSecond === Number.POSITIVE_INFINITY) return
    this.#becomeSteady(nowMs, perSecond * (keptNearlyFull + 0.1 * (this.#random() - 0.5)), perSecond)
  }

  /**
   * Notes that other processes use the service. A rate without a known target stops doubling, so that it does not take
   * their share.
   */
  onOthers(nowMs: number): void {
    this.#chanceOfOthers = 1
    this.#earlier = undefined
    const state = this.#state
    if (state === undefined || !isSearching(state)) return
    this.#becomeSteady(nowMs, state.perSecond, state.perSecond)
  }

  /**
   * Notes an answer that shows no other process on the limit. `chance` is the probability of such an answer if others
   * use the whole limit.
   */
  onAlone(chance: number): void {
    this.#chanceOfOthers *= chance
    if (this.#chanceOfOthers > maxChanceOfOthers || this.#state?.kind !== 'finding') return
    this.#becomeRecovering(Math.max(this.#state.perSecond, maxResumedPerSecond), Number.POSITIVE_INFINITY)
  }

  /** Raises the rate by `factor`, which is at least 1, because the service has reported free capacity. */
  raise(nowMs: number, factor: number): void {
    if (this.#state?.kind !== 'steady') return // doubling is faster
    const perSecond = this.perSecond(nowMs) * factor
    this.#becomeSteady(nowMs, perSecond, perSecond, true)
  }

  /**
   * Continues at the rate on which this process has agreed with others. The growth since the last 429 goes on from where
   * it is.
   *
   * @param refusedAtMs time of the last 429 to one of them
   */
  agreeOn(nowMs: number, perSecond: number, refusedPart: number, refusedAtMs: number): void {
    const before = this.#state
    const factor = perSecond / this.perSecond(nowMs)
    this.#agreedUntilMs = nowMs + agreed.holdsMs
    this.#earlier = undefined
    if (before?.kind !== 'steady' || factor === 0) {
      this.start(nowMs, perSecond)
      this.#refusedPart = refusedPart
      this.#refusedAtMs = Math.max(refusedAtMs, nowMs - forgottenAfterMs / 2) // a rate that was just set is not forgotten
      return
    }
    const [msToLimit, growth] = [this.#msToLimit(before), this.#minGrowthPerSecond(before)]
    this.#refusedPart = refusedPart
    this.#refusedAtMs = Math.max(this.#refusedAtMs, refusedAtMs)
    this.#becomeSteady(nowMs, before.fromPerSecond * factor, before.limitPerSecond * factor)
    const after = this.#state as Steady
    const sinceMs = nowMs - (nowMs - before.sinceMs) * (this.#msToLimit(after) / msToLimit)
    const setAtMs = nowMs - ((nowMs - before.setAtMs) * factor * growth) / this.#minGrowthPerSecond(after)
    this.#state = { ...after, sinceMs, setAtMs }
  }

  /** Continues at this rate, because other processes leave no more room, or need some. */
  start(nowMs: number, perSecond: number): void {
    this.#refusedAtMs = nowMs
    this.#becomeSteady(nowMs, perSecond, perSecond)
  }

  forget(): void {
    this.#state = undefined
    this.#proven = undefined
    this.#earlier = undefined
  }

  /** True if a recently proven rate may be tried again after mixed answers, and others have not agreed on another one. */
  #isCalm(nowMs: number, { perSecond, atMs }: Proven): boolean {
    if (this.isAgreed(nowMs)) return false
    return this.#successes >= calmAfter && this.perSecond(nowMs) < perSecond / 2 && nowMs - atMs < triedAgainMs
  }

  /** True if the rate that was in use before the first 429 may be tried again. */
  #mayTry(nowMs: number, { perSecond, untilMs, afterSuccesses }: EarlierRate): boolean {
    if (this.#successes < afterSuccesses || nowMs > untilMs || nowMs - this.#refusedAtMs < earlierRate.afterMs)
      return false
    return this.perSecond(nowMs) < perSecond * triedBelowPart
  }

  /**
   * Notes that a trial of the proven rate failed. The rate counts as disproved if many successes came before the 429,
   * or if this is its second failure.
   */
  #doubt(successes: number): void {
    const proven = this.#proven
    const isDisproved = proven === undefined || proven.hasFailed || successes >= calmAfter
    this.#proven = isDisproved ? undefined : { ...proven, hasFailed: true }
  }

  /** Notes a success while the share is being found. */
  #search(nowMs: number, search: ShareSearch): void {
    this.#settle(nowMs, search.onAccepted())
    if (search.wasOutage) {
      // Many processes that search again and again would grow one after another, while the others leave room.
      const fallback = search.perSecond
      this.#becomeRecovering(search.perSecond, Number.POSITIVE_INFINITY, fallback)
      this.#double(nowMs)
    } else if (search.grow(nowMs)) this.#successesAtRate = 0
  }

  /** Begins with the share that was found, if it was. */
  #settle(nowMs: number, share: number | undefined): void {
    if (share === undefined) return
    const perSecond = share * afterSearch
    const { usual, ofFew, from } = limitAfterSearch
    const multiple = usual + (ofFew - usual) * Math.min(Math.max(share - from, 0), 1)
    this.#becomeSteady(nowMs, Math.max(perSecond, this.#minInOutage), perSecond * multiple)
  }

  #double(nowMs: number): void {
    const state = this.#state
    if (state?.kind !== 'recovering') return
    const { targetPerSecond } = state
    const { perSecond, knownPerSecond } = state
    const waitMs = perSecond < knownPerSecond ? doublingMs : doublingBeyondKnownMs
    if (this.#successes >= doublingAfter && nowMs - this.#doubledAtMs >= waitMs) {
      this.#doubledAtMs = nowMs
      state.hasDoubled = true
      const maxPerSecond = perSecond < knownPerSecond ? Math.min(knownPerSecond, targetPerSecond) : targetPerSecond
      state.perSecond = Math.min(perSecond * 2, maxPerSecond)
      this.#successesAtRate = 0
    }
    const provenLimit = Math.min(this.#proven?.limitPerSecond ?? 0, targetPerSecond * maxBeyondTarget)
    const limitPerSecond = Math.max(provenLimit, targetPerSecond / recoveredPart)
    if (state.perSecond >= targetPerSecond) this.#becomeSteady(nowMs, targetPerSecond, limitPerSecond)
  }

  get #minInOutage(): number {
    if (this.#proven !== undefined) return Math.min(this.#proven.perSecond * probingPart, maxProbesPerSecond)
    return this.#hasSucceeded && this.#refusals < outageRefusalsOfSearch ? minPerSecond : firstProbesPerSecond
  }

  #minAmongSuccesses(nowMs: number): number {
    if (this.#proven === undefined || nowMs - this.#proven.atMs > mixedMs) return minPerSecond
    return Math.min(this.#proven.perSecond * mixedPart, maxProbesPerSecond)
  }

  get #keptOnce(): number {
    const { from, to, end } = crowdedRefusedPart
    const refused = this.#refusedPart
    return keptOnce + keptMoreInCrowds * Math.max(Math.min(refused / from, 1, (end - refused) / (end - to)), 0)
  }

  #minGrowthPerSecond({ fromPerSecond: perSecond, isAgreed }: Steady): number {
    // Processes that have agreed know the part that is refused nearly as well as headers would tell it.
    const isWellKnown = this.headersTellRemaining || isAgreed
    const { minFactor, maxPart } = growthInCrowds[isWellKnown ? 'withHeaders' : 'without']
    const { slowPerSecond, usualPerSecond } = crowdedRates
    const usual = Math.min(Math.max((perSecond - slowPerSecond) / (usualPerSecond - slowPerSecond), 0), 1)
    const least = minFactor + (1 - minFactor) * usual
    const factor = Math.min(Math.max(Math.sqrt(usualRefusedPart / this.#refusedPart), least), maxGrowthFactor)
    const growth = Math.min(minGrowthPerSecond * Math.sqrt(Math.max(perSecond, 1)), perSecond * maxPart) * factor
    return isAgreed ? growth * agreed.growth : growth
  }

  #msToLimit({ limitPerSecond, isAgreed }: Pick<Steady, 'limitPerSecond' | 'isAgreed'>): number {
    const { seconds, crowdedPerSecond, power } = timeToLimit[this.headersTellRemaining ? 'withHeaders' : 'without']
    const usual = Math.min(seconds * Math.max(crowdedPerSecond / limitPerSecond, 1) ** power, maxSecondsToLimit) * 1000
    return isAgreed ? usual / agreed.growth : usual
  }

  #becomeRecovering(
    perSecond: number,
    targetPerSecond: number,
    fallbackPerSecond?: number,
    knownPerSecond = Number.POSITIVE_INFINITY,
  ): void {
    const rates = { perSecond, targetPerSecond, fallbackPerSecond, knownPerSecond }
    this.#state = { kind: 'recovering', ...rates, hasDoubled: false }
  }

  /** @param isAtLimit true if the rate grows beyond the limit from now on */
  #becomeSteady(nowMs: number, fromPerSecond: number, limitPerSecond: number, isAtLimit = false): void {
    const rates = {
      fromPerSecond: Math.max(fromPerSecond, minPerSecond),
      limitPerSecond: Math.max(limitPerSecond, minPerSecond),
      isAgreed: this.isAgreed(nowMs),
    }
    const sinceMs = isAtLimit ? nowMs - this.#msToLimit(rates) : nowMs
    this.#state = { kind: 'steady', ...rates, sinceMs, setAtMs: nowMs }
  }
}

/** True if the rate has no known target. */
function isSearching(state: State | undefined): state is (State & { kind: 'finding' | 'recovering' }) | undefined {
  if (state?.kind === 'recovering') return state.targetPerSecond === Number.POSITIVE_INFINITY
  return state?.kind !== 'steady'
}
