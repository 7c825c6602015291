import { isoTimeMs } from './iso-time.ts'

/** A billing period. Times are in milliseconds since 1970. */
export interface Period {
  readonly startMs: number
  readonly endMs: number
}

/** The used bytes by the last answer that told them, and the bytes of this process at that time. */
interface Told {
  readonly usedBytes: number
  readonly ownBytes: number
}

/** The counts of one billing period. */
interface PeriodUsage {
  readonly startMs: number
  readonly ownBytes: number
  readonly told: Told
  readonly reported: Set<string>
}

/** News about a budget. Each share, and the overrun, is reported once per period, and again after the license was raised. */
export type BudgetNews =
  | { readonly kind: 'used'; readonly share: number }
  /** At the present pace, the budget is used up at `atMs`, before the period ends. */
  | { readonly kind: 'overrun'; readonly atMs: number }

/** The used shares of the budget that are reported. */
const reportedShares = [0.8, 0.95]
/** Time constant of the pace, which is a moving average, in milliseconds. */
const paceMs = 300_000
/** Time before the pace is used, in milliseconds: the first minutes of a process say nothing about a month. */
const watchedMs = 300_000
/** Only severities below this one (error) are sampled. */
const sampledSeverities = 4
/** Minimum share of a sampled severity that is kept, as a trace of what happened. */
const minKept = 0.01

/**
 * The license's ingest for one billing period, as a budget of uncompressed bytes.
 *
 * Only the service's answers tell how much other processes use, and how much was used before this process started. All
 * times are arguments, in milliseconds since 1970.
 */
export class Budget {
  bytes: number
  period: Period
  /** Bytes of the lines that this process has shipped in the period. */
  #ownBytes = 0
  #told: Told = { usedBytes: 0, ownBytes: 0 }
  #startedMs: number
  #tickedMs: number
  /** Bytes per millisecond by severity, including events that were sampled away. */
  readonly #pace = new Float64Array(6)
  readonly #demanded = new Float64Array(6)
  readonly #meanBytes = new Float64Array(6)
  readonly #kept = new Float64Array(6).fill(1)
  #reported = new Set<string>()
  /** The counts of the previous period. They are needed again if the clock is set back into that period. */
  #before: PeriodUsage | undefined

  /** @param ownBytes bytes that this process has shipped in the period until now */
  constructor(bytes: number, period: Period, nowMs: number, ownBytes = 0) {
    this.bytes = bytes
    this.period = period
    this.#ownBytes = ownBytes
    this.#startedMs = nowMs
    this.#tickedMs = nowMs
  }

  /** Used bytes of the period, of all processes as far as known. */
  get usedBytes(): number {
    return Math.max(this.#told.usedBytes + this.#ownBytes - this.#told.ownBytes, this.#ownBytes)
  }

  /** Counts a line that will be shipped. */
  use(severity: number, bytes: number): void {
    this.#ownBytes += bytes
    this.#demanded[severity] = (this.#demanded[severity] ?? 0) + bytes
    const mean = this.#meanBytes[severity] ?? 0
    this.#meanBytes[severity] = mean === 0 ? bytes : mean + (bytes - mean) / 64
  }

  /**
   * Counts an event that was sampled away. The event was never serialized, so its size is the average of its severity.
   */
  spare(severity: number): void {
    this.#demanded[severity] = (this.#demanded[severity] ?? 0) + (this.#meanBytes[severity] ?? 0)
  }

  /**
   * Takes over the remaining bytes that an answer of the service names. The last answer counts: an earlier one may have
   * been wrong, or the license may have been raised.
   */
  correct(remainingBytes: number): void {
    this.#told = { usedBytes: this.bytes - remainingBytes, ownBytes: this.#ownBytes }
  }

  /**
   * Returns the share of a severity's events to keep so that the budget lasts. It is 1 unless `tick` found the pace too
   * high.
   */
  kept(severity: number): number {
    return this.#kept[severity] ?? 1
  }

  /**
   * Returns the time at which the budget is used up at the present pace. Returns `undefined` if the budget lasts until
   * the end of the period, or if it is too early to tell.
   */
  usedUpAtMs(nowMs: number): number | undefined {
    const pace = sum(this.#pace)
    if (nowMs - this.#startedMs < watchedMs || pace === 0) return undefined
    const atMs = nowMs + Math.max(this.bytes - this.usedBytes, 0) / pace
    return atMs < this.period.endMs ? atMs : undefined
  }

  /** Updates the pace, and returns news about the budget. The caller calls it periodically. */
  tick(nowMs: number): BudgetNews[] {
    this.#followPace(nowMs)
    const news: BudgetNews[] = reportedShares
      .filter(share => this.usedBytes >= share * this.bytes)
      .map(share => ({ kind: 'used', share }))
    const atMs = this.usedUpAtMs(nowMs)
    if (atMs !== undefined) news.push({ kind: 'overrun', atMs })
    return news.filter(one => this.#isNew(one.kind === 'used' ? `used ${one.share}` : one.kind))
  }

  /**
   * Sets the size of the budget. A new period starts with nothing used. A period with the same start is the same one,
   * whose end has become known or was changed. If the clock is set back into the previous period, the clock was wrong: the
   * previous period continues, and bytes that were used meanwhile count as bytes of that period.
   */
  renew(bytes: number, period: Period): void {
    if (bytes > this.bytes) this.#forgetReportsWithin(bytes)
    this.bytes = bytes
    const { startMs } = this.period
    const left = { startMs, ownBytes: this.#ownBytes, told: this.#told, reported: this.#reported }
    this.period = period
    if (period.startMs === startMs) return
    const returned = period.startMs === this.#before?.startMs ? this.#before : undefined
    this.#ownBytes = returned === undefined ? 0 : returned.ownBytes + left.ownBytes
    this.#told = returned?.told ?? { usedBytes: 0, ownBytes: 0 }
    this.#reported = returned?.reported ?? new Set()
    this.#before = returned === undefined ? left : undefined
  }

  #followPace(nowMs: number): void {
    const elapsedMs = nowMs - this.#tickedMs
    if (elapsedMs === 0) return
    this.#tickedMs = nowMs
    if (elapsedMs < 0) {
      this.#startedMs += elapsedMs // the clock was set back
      return this.#share(nowMs)
    }
    const weight = 1 - Math.exp(-elapsedMs / Math.min(paceMs, Math.max(nowMs - this.#startedMs, elapsedMs)))
    for (let severity = 0; severity < 6; severity++) {
      const pace = this.#pace[severity] ?? 0
      this.#pace[severity] = pace + ((this.#demanded[severity] ?? 0) / elapsedMs - pace) * weight
    }
    this.#demanded.fill(0)
    this.#share(nowMs)
  }

  /**
   * Distributes the remaining bytes over the rest of the period. The lowest severities are sampled first, errors never.
   */
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

  /** Forgets that the overrun was reported, and those shares of the budget that are not used if it has so many bytes. */
  #forgetReportsWithin(bytes: number): void {
    this.#reported.delete('overrun')
    for (const share of reportedShares) if (this.usedBytes < share * bytes) this.#reported.delete(`used ${share}`)
  }

  #isNew(what: string): boolean {
    if (this.#reported.has(what)) return false
    this.#reported.add(what)
    return true
  }
}

/**
 * Returns the billing period of a license. If the license names none that contains `nowMs`, returns the calendar month
 * (UTC), from the end of the named period on if that is later: the next period has begun, and the license that names it
 * has not been read yet.
 */
export function periodAt(
  license: { readonly billingPeriodStart?: string | undefined; readonly billingPeriodEnd?: string | undefined },
  nowMs: number,
): Period {
  const startMs = isoTimeMs(license.billingPeriodStart)
  const endMs = isoTimeMs(license.billingPeriodEnd)
  if (startMs <= nowMs && nowMs < endMs) return { startMs, endMs }
  const now = new Date(nowMs)
  const [year, month] = [now.getUTCFullYear(), now.getUTCMonth()]
  const monthStartMs = Date.UTC(year, month)
  return { startMs: endMs <= nowMs ? Math.max(monthStartMs, endMs) : monthStartMs, endMs: Date.UTC(year, month + 1) }
}

function sum(values: Float64Array): number {
  return values.reduce((total, value) => total + value, 0)
}
