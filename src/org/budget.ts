import { isoTimeMs } from './iso-time.ts'

/** A billing period; times are milliseconds since 1970. */
export interface Period {
  readonly startMs: number
  readonly endMs: number
}

/** What there is to tell of a budget, each of it once in a period. */
export type BudgetNews =
  | { readonly kind: 'used'; readonly share: number }
  /** At the present pace the budget is used up at `atMs`, before the period ends. */
  | { readonly kind: 'overrun'; readonly atMs: number }

/** Shares of the budget at which there is something to tell. */
const toldShares = [0.8, 0.95]
/** Time constant of the pace, a moving average, in milliseconds. */
const paceMs = 300_000
/** How long the pace is watched before anything is made of it, in milliseconds: a start says nothing of a month. */
const watchedMs = 300_000
/** Severities below this one (error) may be sampled. */
const sampledSeverities = 4
/** Of a severity that is sampled, this share is kept at the least: a trace of what happened. */
const minKept = 0.01

/**
 * The license's ingest for a billing period as a budget of uncompressed bytes. What others use, and what was used before
 * this process started, is known only from the service's answers. All times are milliseconds since 1970, and given.
 */
export class Budget {
  bytes: number
  period: Period
  usedBytes = 0
  readonly #startedMs: number
  #tickedMs: number
  /** Bytes per millisecond by severity, those sampled away included. */
  readonly #pace = new Float64Array(6)
  readonly #demanded = new Float64Array(6)
  readonly #meanBytes = new Float64Array(6)
  readonly #kept = new Float64Array(6).fill(1)
  readonly #told = new Set<string>()

  constructor(bytes: number, period: Period, nowMs: number) {
    this.bytes = bytes
    this.period = period
    this.#startedMs = nowMs
    this.#tickedMs = nowMs
  }

  /** Counts a line that will be shipped. */
  use(severity: number, bytes: number): void {
    this.usedBytes += bytes
    this.#demanded[severity] = (this.#demanded[severity] ?? 0) + bytes
    const mean = this.#meanBytes[severity] ?? 0
    this.#meanBytes[severity] = mean === 0 ? bytes : mean + (bytes - mean) / 64
  }

  /** Counts an event that was sampled away; its size is guessed, for it was never made a line. */
  spare(severity: number): void {
    this.#demanded[severity] = (this.#demanded[severity] ?? 0) + (this.#meanBytes[severity] ?? 0)
  }

  /** Takes over what an answer of the service says is left, where that is less than we know of. */
  correct(remainingBytes: number): void {
    this.usedBytes = Math.max(this.bytes - remainingBytes, this.usedBytes)
  }

  /** Share of the events of a severity to keep, so that the budget lasts: 1 unless `tick` found the pace too high. */
  kept(severity: number): number {
    return this.#kept[severity] ?? 1
  }

  /** When the budget is used up at the present pace; `undefined` when it lasts, or when it is too early to tell. */
  usedUpAtMs(nowMs: number): number | undefined {
    const pace = sum(this.#pace)
    if (nowMs - this.#startedMs < watchedMs || pace === 0) return undefined
    const atMs = nowMs + Math.max(this.bytes - this.usedBytes, 0) / pace
    return atMs < this.period.endMs ? atMs : undefined
  }

  /** To be called from time to time: follows the pace, and gives what there is to tell. */
  tick(nowMs: number): BudgetNews[] {
    this.#followPace(nowMs)
    const news: BudgetNews[] = toldShares
      .filter(share => this.usedBytes >= share * this.bytes)
      .map(share => ({ kind: 'used', share }))
    const atMs = this.usedUpAtMs(nowMs)
    if (atMs !== undefined) news.push({ kind: 'overrun', atMs })
    return news.filter(one => this.#isNew(one.kind === 'used' ? `used ${one.share}` : one.kind))
  }

  /** Starts again with a new period. */
  renew(bytes: number, period: Period): void {
    this.bytes = bytes
    if (period.startMs === this.period.startMs && period.endMs === this.period.endMs) return
    this.period = period
    this.usedBytes = 0
    this.#told.clear()
  }

  #followPace(nowMs: number): void {
    const elapsedMs = nowMs - this.#tickedMs
    if (elapsedMs <= 0) return
    this.#tickedMs = nowMs
    const weight = 1 - Math.exp(-elapsedMs / Math.min(paceMs, Math.max(nowMs - this.#startedMs, elapsedMs)))
    for (let severity = 0; severity < 6; severity++) {
      const pace = this.#pace[severity] ?? 0
      this.#pace[severity] = pace + ((this.#demanded[severity] ?? 0) / elapsedMs - pace) * weight
    }
    this.#demanded.fill(0)
    this.#share(nowMs)
  }

  /** Shares what is left over the rest of the period: the least severe make room first, errors never do. */
  #share(nowMs: number): void {
    this.#kept.fill(1)
    if (nowMs - this.#startedMs < watchedMs) return
    const allowed = Math.max(this.bytes - this.usedBytes, 0) / Math.max(this.period.endMs - nowMs, 1)
    let excess = sum(this.#pace) - allowed
    for (let severity = 0; severity < sampledSeverities && excess > 0; severity++) {
      const pace = this.#pace[severity] ?? 0
      if (pace === 0) continue
      const kept = Math.max(1 - excess / pace, minKept)
      this.#kept[severity] = kept
      excess -= pace * (1 - kept)
    }
  }

  #isNew(what: string): boolean {
    if (this.#told.has(what)) return false
    this.#told.add(what)
    return true
  }
}

/** The billing period of a license that `nowMs` lies in; the calendar month (UTC) where the license names none. */
export function periodAt(
  license: { readonly billingPeriodStart?: string | undefined; readonly billingPeriodEnd?: string | undefined },
  nowMs: number,
): Period {
  const startMs = isoTimeMs(license.billingPeriodStart)
  const endMs = isoTimeMs(license.billingPeriodEnd)
  if (startMs <= nowMs && nowMs < endMs) return { startMs, endMs }
  const now = new Date(nowMs)
  const [year, month] = [now.getUTCFullYear(), now.getUTCMonth()]
  return { startMs: Date.UTC(year, month), endMs: Date.UTC(year, month + 1) }
}

function sum(values: Float64Array): number {
  return values.reduce((total, value) => total + value, 0)
}
