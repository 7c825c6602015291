// The numbers below did best over all with one client and with 2 to 500: test/org/simulation.test.ts, recovery.test.ts.

/** Part of the rate that a 429 after a success leaves, give or take a tenth; the second before any rate is proven. */
const keptOnce = 0.8
const keptUnproven = 0.6
/** Part of the rate that each further 429 without a success in between leaves; the second before any success. */
const keptAgain = 0.55
const keptBefore = 0.3
/** Part of the rate that the answer of a nearly full service leaves, give or take a twentieth. */
const keptNearlyFull = 0.97
/** Part of the rate that the very first 429 leaves where no success came before it. */
const keptFirst = 0.6
/** 429s this soon after the first are of one window of the service, in milliseconds: they say nothing more of the limit. */
const burstMs = 1500

/** Time until the rate is back at the limit, in seconds: more for less than one request a second, where many share. */
const secondsToLimit = 42
const maxSecondsToLimit = 300
/** How fast the rate grows beyond the limit: it is three times the limit when as much time has passed again. */
const growthBeyond = 2
/** What 429s have taught is forgotten so long after the last, in milliseconds; later for less than one request a second. */
const forgottenAfterMs = 240_000

/** While it recovers the rate doubles: not before so many successes, and at most once in so many milliseconds. */
const doublingAfter = 4
const doublingMs = 400
/** Part of the rate before the trouble up to which it doubles. */
const recoveredPart = 0.95
/** So many times the target is the limit then, if it was known before. */
const mostBeyondTarget = 1.5
/** A rate that is tried again, and leads to a 429, gives way to the one before it: so many times that one. */
const keptOfTrial = 1.5
/** What is left of a new rate that doubling led to a 429, and what part of that rate is taken for the limit. */
const keptAfterDoubling = { proven: 0.5, unproven: 0.25 }
const limitAfterDoubling = { proven: 0.7, unproven: 0.35 }

/** Successes between two 429s that prove a rate. */
const provenAfter = 10
/** So many 429s in a row are an outage: they say nothing of the limit. Without a proven rate, only if it lasts so long. */
const outageRefusals = 4
const outageMs = 15_000
/** The rate after an outage, before it doubles: a part of the one before, and at most so many a second. */
const resumedPart = 0.5
const maxResumedPerSecond = 2
/** Successes after which a rate that has been proven not long ago is tried again, where 429s and successes were mixed. */
const calmAfter = 8
const triedAgainMs = 120_000

/** However crowded it is, one request in 20 seconds is tried. */
const minPerSecond = 1 / 20
/** Least rate while nothing but 429s come: a third of the proven one, and no more than this; and before any success. */
const probingPart = 1 / 3
const maxProbesPerSecond = 1 / 2
const firstProbesPerSecond = 1 / 4
/** Least rate while 429s and successes are mixed: a tenth of the one that was proven within the last minute. */
const mixedPart = 1 / 10
const mixedMs = 60_000

type State =
  /** The rate doubles up to the target, which is not known where there is no proven rate (`Infinity`). */
  | {
      readonly kind: 'recovering'
      readonly targetPerSecond: number
      /** What a 429 leads back to, where a rate is tried again. */
      readonly fallbackPerSecond: number | undefined
      perSecond: number
      hasDoubled: boolean
    }
  /** CUBIC: a function of the time since the rate was set. */
  | {
      readonly kind: 'steady'
      readonly fromPerSecond: number
      readonly limitPerSecond: number
      readonly sinceMs: number
    }

/** A rate that was in use when trouble began. */
interface Proven {
  readonly perSecond: number
  /** The limit that was known then. */
  readonly limitPerSecond: number
  readonly atMs: number
  /** It was tried again once, in vain. */
  readonly hasFailed: boolean
}

/**
 * The rate that 429s have taught, in requests per second: congestion control as TCP has it.
 *
 * A 429 marks the limit, and takes a part of the rate away. From there the rate depends on the time since (CUBIC): fast below
 * the limit, slow near it, and faster and faster beyond. Where many share a limit, that makes their shares drift together.
 *
 * An outage of nothing but 429s says nothing of the limit. Then a request is tried every few seconds, and after the first
 * success the rate doubles several times a second (slow start) until it is nearly what it was before. The same after a
 * while of mixed answers, once. Where nothing is known from before, it doubles until the next 429.
 *
 * Time is monotonic, in milliseconds; `random` gives numbers from 0 to 1.
 */
export class AdaptiveRate {
  readonly #random: () => number
  #state: State | undefined
  #proven: Proven | undefined
  #hasSucceeded = false
  /** Successes since the last 429, those of them at the present rate, and 429s since the last success. */
  #successes = 0
  #successesAtRate = 0
  #refusals = 0
  #refusedAtMs = 0
  /** When the present row of 429s began, and at which rate. */
  #troubleSinceMs = 0
  #troubledPerSecond: number | undefined
  #doubledAtMs = 0

  constructor(random: () => number) {
    this.#random = random
  }

  /** 429s in a row. */
  get refusals(): number {
    return this.#refusals
  }

  /** Requests per second at that time; `Infinity` where nothing is learned. */
  perSecond(nowMs: number): number {
    const state = this.#state
    if (state === undefined) return Number.POSITIVE_INFINITY
    const reference = state.kind === 'steady' ? state.limitPerSecond : state.perSecond
    if (nowMs - this.#refusedAtMs > forgottenAfterMs / Math.min(reference, 1)) return Number.POSITIVE_INFINITY
    if (state.kind === 'recovering') return state.perSecond
    const { fromPerSecond, limitPerSecond, sinceMs } = state
    const part = (nowMs - sinceMs) / msToLimit(limitPerSecond) - 1
    return limitPerSecond + part ** 3 * (part < 0 ? limitPerSecond - fromPerSecond : limitPerSecond * growthBeyond)
  }

  /** Notes a 429 to a request that was made while the rate in use was `usedPerSecond`. */
  onRefused(nowMs: number, usedPerSecond: number): void {
    const nowPerSecond = this.perSecond(nowMs)
    const state = nowPerSecond === Number.POSITIVE_INFINITY ? undefined : this.#state
    const successes = this.#successes
    const isProven = this.#successesAtRate >= provenAfter
    const jitter = 0.2 * (this.#random() - 0.5)
    this.#successes = 0
    this.#successesAtRate = 0
    if (this.#refusals++ === 0) {
      this.#troubleSinceMs = nowMs
      this.#troubledPerSecond = successes > 0 ? usedPerSecond : undefined
    }
    this.#refusedAtMs = nowMs
    if (isProven) {
      const limitPerSecond = state?.kind === 'steady' ? Math.max(state.limitPerSecond, usedPerSecond) : usedPerSecond
      this.#proven = { perSecond: usedPerSecond, limitPerSecond, atMs: nowMs, hasFailed: false }
    }
    if (state === undefined) {
      const kept = successes > 0 ? keptOnce : keptFirst
      this.#recover(Math.max(usedPerSecond * (kept + jitter), minPerSecond), Number.POSITIVE_INFINITY)
    } else if (state.kind === 'recovering' && state.hasDoubled) {
      const proof = this.#proven === undefined ? 'unproven' : 'proven'
      if (state.targetPerSecond !== Number.POSITIVE_INFINITY) this.#doubt(successes)
      const { fallbackPerSecond = Number.POSITIVE_INFINITY } = state
      const perSecond = Math.min(usedPerSecond * (keptAfterDoubling[proof] + jitter), fallbackPerSecond)
      this.#settle(nowMs, perSecond, Math.min(usedPerSecond * limitAfterDoubling[proof], fallbackPerSecond))
    } else if (successes > 0) {
      const kept = this.#proven === undefined ? keptUnproven : keptOnce
      this.#settle(nowMs, Math.max(usedPerSecond * (kept + jitter), this.#leastAmongSuccesses(nowMs)), usedPerSecond)
    } else {
      const kept = this.#hasSucceeded ? keptAgain : keptBefore
      const perSecond = Math.max(nowPerSecond * (kept + jitter), Math.min(nowPerSecond, this.#leastInOutage))
      if (state.kind === 'recovering')
        this.#recover(Math.max(perSecond, minPerSecond), state.targetPerSecond, state.fallbackPerSecond)
      else this.#settle(nowMs, perSecond, Math.max(state.limitPerSecond, perSecond))
    }
  }

  /** Notes a success of a request that was made after the last 429. */
  onAccepted(nowMs: number): void {
    const refusals = this.#refusals
    this.#refusals = 0
    this.#successes++
    this.#successesAtRate++
    this.#hasSucceeded = true
    const state = this.#state
    if (state === undefined) return
    const troubleMs = nowMs - this.#troubleSinceMs
    if (state.kind === 'steady' && refusals > 1 && troubleMs < burstMs) {
      return this.#settle(nowMs, state.limitPerSecond * keptOnce, state.limitPerSecond)
    }
    const before = this.#proven?.perSecond ?? this.#troubledPerSecond
    const isKnown = before !== undefined && this.#proven?.hasFailed !== true
    if (refusals >= outageRefusals && (isKnown || troubleMs >= outageMs)) {
      const resumed = Math.min((isKnown ? before : 1) * resumedPart, maxResumedPerSecond)
      const target = isKnown ? before * recoveredPart : Number.POSITIVE_INFINITY
      const troubled = this.#troubledPerSecond ?? Number.POSITIVE_INFINITY
      this.#recover(Math.max(this.perSecond(nowMs), resumed), target, isKnown ? undefined : troubled * keptOfTrial)
    } else if (state.kind === 'steady' && this.#proven !== undefined && this.#isCalm(nowMs, this.#proven)) {
      const perSecond = this.perSecond(nowMs)
      this.#recover(perSecond, this.#proven.perSecond * recoveredPart, perSecond * keptOfTrial)
    }
    this.#double(nowMs)
  }

  /**
   * Notes a success that left next to nothing of what all may use: the rate is lowered a little, before it comes to a 429,
   * and doubles no more.
   */
  onNearlyFull(nowMs: number): void {
    const perSecond = this.perSecond(nowMs)
    if (this.#state === undefined || perSecond === Number.POSITIVE_INFINITY) return
    this.#settle(nowMs, perSecond * (keptNearlyFull + 0.1 * (this.#random() - 0.5)), perSecond)
  }

  /** Notes that others use the service. A rate without a known target doubles no more: it would take what is theirs. */
  onOthers(nowMs: number): void {
    const state = this.#state
    if (state?.kind !== 'recovering' || state.targetPerSecond !== Number.POSITIVE_INFINITY) return
    this.#settle(nowMs, state.perSecond, state.perSecond)
  }

  /** Raises the rate, as the service has told that there is room: `factor` is from 1. */
  raise(nowMs: number, factor: number): void {
    if (this.#state === undefined) return
    const perSecond = this.perSecond(nowMs) * factor
    this.#settle(nowMs - msToLimit(perSecond), perSecond, perSecond)
  }

  /** Starts at this rate, as others leave no more room. */
  start(nowMs: number, perSecond: number): void {
    this.#refusedAtMs = nowMs
    this.#settle(nowMs, perSecond, perSecond)
  }

  forget(): void {
    this.#state = undefined
    this.#proven = undefined
  }

  /** A proven rate that is tried again after mixed answers. */
  #isCalm(nowMs: number, { perSecond, atMs }: Proven): boolean {
    return this.#successes >= calmAfter && this.perSecond(nowMs) < perSecond / 2 && nowMs - atMs < triedAgainMs
  }

  /** The proven rate was tried again, in vain: after many successes that disproves it, and the second time. */
  #doubt(successes: number): void {
    const proven = this.#proven
    const isDisproved = proven === undefined || proven.hasFailed || successes >= calmAfter
    this.#proven = isDisproved ? undefined : { ...proven, hasFailed: true }
  }

  #double(nowMs: number): void {
    const state = this.#state
    if (state?.kind !== 'recovering') return
    const { targetPerSecond } = state
    if (this.#successes >= doublingAfter && nowMs - this.#doubledAtMs >= doublingMs) {
      this.#doubledAtMs = nowMs
      state.hasDoubled = true
      state.perSecond = Math.min(state.perSecond * 2, targetPerSecond)
      this.#successesAtRate = 0
    }
    const knownPerSecond = Math.min(this.#proven?.limitPerSecond ?? 0, targetPerSecond * mostBeyondTarget)
    const limitPerSecond = Math.max(knownPerSecond, targetPerSecond / recoveredPart)
    if (state.perSecond >= targetPerSecond) this.#settle(nowMs, targetPerSecond, limitPerSecond)
  }

  get #leastInOutage(): number {
    if (this.#proven !== undefined) return Math.min(this.#proven.perSecond * probingPart, maxProbesPerSecond)
    return this.#hasSucceeded ? minPerSecond : firstProbesPerSecond
  }

  #leastAmongSuccesses(nowMs: number): number {
    if (this.#proven === undefined || nowMs - this.#proven.atMs > mixedMs) return minPerSecond
    return Math.min(this.#proven.perSecond * mixedPart, maxProbesPerSecond)
  }

  #recover(perSecond: number, targetPerSecond: number, fallbackPerSecond?: number): void {
    this.#state = { kind: 'recovering', targetPerSecond, fallbackPerSecond, perSecond, hasDoubled: false }
  }

  #settle(sinceMs: number, fromPerSecond: number, limitPerSecond: number): void {
    const [from, limit] = [Math.max(fromPerSecond, minPerSecond), Math.max(limitPerSecond, minPerSecond)]
    this.#state = { kind: 'steady', fromPerSecond: from, limitPerSecond: limit, sinceMs }
  }
}

function msToLimit(perSecond: number): number {
  return Math.min(secondsToLimit / Math.min(perSecond, 1), maxSecondsToLimit) * 1000
}
