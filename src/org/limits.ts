import { withSamplingRate } from '../accounting/sampling-rate.ts'
import type { ErrorCode } from '../errors.ts'
import { FieldGuard } from '../fields/field-guard.ts'
import { shapeOf } from '../fields/field-routes.ts'
import type { Fields } from '../fields/field-rules.ts'
import { ownProperties } from '../own-properties.ts'
import type { NonFinite } from '../record/plain.ts'
import { detached } from '../text/detached.ts'
import { quoted, type Redact, toMessageLine } from '../text/short-line.ts'
import { clearInterval, clearTimeout, setInterval, setTimeout, systemTimeMs } from '../time.ts'
import { Budget, type BudgetNews, type Period, periodAt } from './budget.ts'
import { ingestLimitIn } from './ingest-limit.ts'
import { licenseWarnings } from './license-warnings.ts'
import { OrgError, type OrgErrorCode } from './org-error.ts'
import type { Org } from './organization.ts'
import { type UsedOrg, usedOrg } from './used-org.ts'

/** The limits of the license that are in force, and the reasons for them. */
export interface LimitsStats {
  /** Time at which the license was last read, in RFC 3339; `undefined` if it has never been read. */
  readonly readAt: string | undefined
  /**
   * Why the last attempt could not read the license, or which fields of it could not be used; otherwise `undefined`.
   */
  readonly problem: string | undefined
  /** Requests per second that this process may make; `undefined` if nothing limits them. */
  readonly requestsPerSecond: number | undefined
  /**
   * Source of that limit: `license`, `headers`, `lease`, `throttled` or `none`. `headers` are those of the service's answers.
   * A `lease` is the part of this process if a fleet shares the license. `throttled` is a rate learned from 429s.
   */
  readonly because: string
  /**
   * This process's part of the ingest for the billing period, in uncompressed bytes. `undefined` if the license has no
   * `monthlyIngestGb`.
   */
  readonly ingest:
    | {
        /** Bytes that this process may ingest in the billing period. */
        readonly bytes: number
        /** Bytes of these that are used: by this process since its start and, if answers tell, before and by others. */
        readonly usedBytes: number
        /** Time at which they will be used up at the present rate, in RFC 3339; `undefined` if they last, or if unknown. */
        readonly usedUpAt: string | undefined
      }
    | undefined
  /** Maximum number of fields per dataset. */
  readonly maxFields: number | undefined
  /** Number of fields that this process counts in each dataset, of the 1,000 that were used last. */
  readonly fields: Readonly<Record<string, number>>
}

/** The checked options that the limits need. */
export interface LimitsSettings {
  readonly share: number
  readonly refreshMs: number
  readonly onBudget: 'warn' | 'shed'
  readonly overflowField: string
  readonly timeField: string
  /** Fields that the shipper adds to events, besides those of every shipper. */
  readonly addedFields?: readonly string[] | undefined
  readonly region: string | undefined
}

/** The functions that the limits call. */
interface LimitsDeps {
  /**
   * Reads the organization. Calls `onUnusable` if it leaves out used fields that are invalid, and `onOld` if another process read
   * it so long ago that it is to be read again soon.
   */
  readonly readOrg: (onUnusable: (problem: string) => void, onOld: () => void) => Promise<Org>
  readonly setRate: (requestsPerSecond: number | undefined) => void
  /** Called when the license allows more monthly ingest than at the previous read. */
  readonly onRaised: () => void
  readonly warn: (code: ErrorCode, message: string, about?: string) => void
  /** Removes secrets from texts of the service. */
  readonly redact?: Redact
  /** Returns an event as it is sent: its line, parsed. */
  readonly asSent: (event: object, nonFinite: NonFinite) => object
  /** Called with each event that `fit` returns and that was made of an event as it is sent. */
  readonly onAsSent?: (event: object) => void
  /** Called with each copy of an event that `fit` returns. */
  readonly onCopied?: (copy: object, event: object) => void
  /** The application's rules for fields. They apply the license's maximum, too. */
  readonly fields?: Fields | undefined
  /** Returns the log statements with most bytes, as the end of a sentence, or `undefined` if they are not known. */
  readonly topStatements?: (() => string | undefined) | undefined
  /** Called when a new billing period has begun. */
  readonly onNewPeriod?: (() => void) | undefined
  readonly random?: () => number
}

const bytesPerGb = 1e9
/**
 * Maximum number of datasets counted. An application that puts values into dataset names would grow the set forever.
 */
const maxNamedDatasets = 10_000
/** Interval between checks of the budget and of the license's dates, in milliseconds. */
const tickMs = 10_000
/** Requests that the license must allow for each read of it. */
const requestsPerRead = 10
/** Longest delay that follows from the license alone, in milliseconds: one hour. A timer cannot wait for 25 days. */
const maxRefreshMs = 3_600_000
/**
 * Delay before a license that could not be read is read again, in milliseconds, plus or minus a quarter: for an error that
 * passes on its own, and for others. It doubles each time, up to `refreshMs`, unless the service asks for more: then that delay
 * counts, plus up to a tenth.
 */
const firstRetryMs = { passing: 3000, other: 30_000 }
/** Delay before an old license is read again, in milliseconds. The first request for events needs the first turn. */
const rereadMs = 3000
/** Number of failures in a row that are reported if the error passes on its own. */
const failuresUntilWarned = 3
/** Errors that pass on their own: they say nothing about the token or about its organization. */
const passing: ReadonlySet<OrgErrorCode> = new Set(['RATE_LIMITED', 'UNAVAILABLE', 'UNREACHABLE', 'TIMEOUT'])

/**
 * Applies the organization's license to this process. Reads the license in the background, at the start and then
 * periodically.
 *
 * Until the first read succeeds, the license limits nothing. If a later read fails, the limits of the previous read
 * stay in force.
 */
export class Limits {
  readonly #settings: LimitsSettings
  readonly #deps: LimitsDeps
  readonly #guard: Fields
  /** Names of datasets, at most `maxNamedDatasets`. */
  readonly #datasets = new Set<string>()
  #latestDataset: string | undefined
  readonly #warned = new Set<string>()
  /** The problems of the license at present. */
  #problems: ReadonlySet<string> = new Set()
  #org: UsedOrg | undefined
  #readAtMs: number | undefined
  #problem: string | undefined
  #failures = 0
  #budget: Budget | undefined
  /** The same budget, which goes on counting if the license names no monthly ingest for a time. */
  #counting: Budget | undefined
  /** Bytes of the lines shipped before there was a budget, and the time since which they are counted. */
  #early: { readonly sinceMs: number; bytes: number } | undefined
  #readTimer: NodeJS.Timeout | undefined
  #tickTimer: NodeJS.Timeout | undefined

  constructor(settings: LimitsSettings, deps: LimitsDeps) {
    this.#settings = settings
    this.#deps = ownProperties(deps)
    this.#guard =
      this.#deps.fields ??
      new FieldGuard({
        maxFields: Number.POSITIVE_INFINITY,
        overflowField: settings.overflowField,
        timeField: settings.timeField,
        addedFields: settings.addedFields,
        asSent: deps.asSent,
        onOver: (dataset, path) => this.#warnOfFields(dataset, path),
      })
  }

  /** Reads the license soon, and then periodically until `stop`. */
  start(): void {
    if (this.#tickTimer !== undefined) return
    this.#tickTimer = setInterval(() => this.#tick(), tickMs).unref()
    if (this.#counting === undefined) this.#early ??= { sinceMs: systemTimeMs(), bytes: 0 }
    this.#readIn(0)
  }

  /** Reads the license soon if the last attempt has failed. */
  retry(): void {
    if (this.#failures > 0 && this.#tickTimer !== undefined) this.#readIn(0)
  }

  stop(): void {
    clearTimeout(this.#readTimer)
    clearInterval(this.#tickTimer)
    this.#tickTimer = undefined
  }

  /**
   * Returns the event as the license allows it to be shipped: unchanged, with some fields folded, or marked as one of a
   * sample. Fields are folded if the dataset has no room for them. Returns `undefined` if the event is sampled away.
   *
   * @param around fields that the event's line carries besides those of the event; each object counts once
   */
  fit(
    dataset: string,
    event: object,
    severity: number,
    around: object | undefined,
    nonFinite: NonFinite = 'null',
  ): object | undefined {
    this.#know(dataset, around)
    const kept = this.#settings.onBudget === 'shed' ? (this.#budget?.kept(severity) ?? 1) : 1
    if (kept < 1 && (this.#deps.random ?? Math.random)() >= kept) {
      this.#budget?.spare(severity)
      return undefined
    }
    if (kept < 1) {
      const folded = this.#guard.fold(dataset, event, nonFinite)
      return this.#marked(folded, kept, folded !== event, nonFinite)
    }
    return this.fold(dataset, event, nonFinite)
  }

  /** Returns the event with the fields folded for which the dataset has no room. */
  fold(dataset: string, event: object, nonFinite: NonFinite): object {
    const folded = this.#guard.fold(dataset, event, nonFinite)
    return this.#noted(folded, folded !== event)
  }

  /** Counts a line that will be shipped. */
  count(severity: number, bytes: number): void {
    this.#counting?.use(severity, bytes)
    if (this.#early !== undefined) this.#early.bytes += bytes
  }

  /** Reads the organization's remaining ingest from the headers of an answer. */
  onAnswer(headers: Readonly<Record<string, string | string[] | undefined>>): void {
    const remainingBytes = ingestLimitIn(headers)
    if (remainingBytes !== undefined) this.#budget?.correct(remainingBytes * this.#settings.share)
  }

  stats(inForce: { readonly requestsPerSecond: number; readonly because: string }): LimitsStats {
    const maxFields = limit(this.#org?.license.maxFields)
    const usedUpAtMs = this.#budget?.usedUpAtMs(systemTimeMs())
    return {
      readAt: this.#readAtMs === undefined ? undefined : new Date(this.#readAtMs).toISOString(),
      problem: this.#problem,
      requestsPerSecond: Number.isFinite(inForce.requestsPerSecond) ? inForce.requestsPerSecond : undefined,
      because: inForce.because,
      ingest: this.#budget && {
        bytes: this.#budget.bytes,
        usedBytes: this.#budget.usedBytes,
        usedUpAt: usedUpAtMs === undefined ? undefined : new Date(usedUpAtMs).toISOString(),
      },
      maxFields,
      fields: Object.fromEntries(this.#guard.datasets.map(dataset => [dataset, this.#guard.fieldCount(dataset)])),
    }
  }

  async #read(): Promise<void> {
    const run = this.#tickTimer
    let org: UsedOrg
    let unusable: string | undefined
    let isOld = false
    const onOld = (): void => {
      isOld = true
    }
    const onUnusable = (problem: string): void => {
      unusable = toMessageLine(problem, this.#deps.redact)
    }
    try {
      org = usedOrg(await this.#deps.readOrg(onUnusable, onOld), this.#deps.redact)
    } catch (error) {
      if (run === this.#tickTimer) this.#onUnreadable(error)
      return
    }
    if (run !== this.#tickTimer) return // stopped during the read
    this.#org = org
    this.#readAtMs = systemTimeMs()
    this.#problem = unusable
    if (unusable === undefined) this.#warned.delete('invalid fields')
    else this.#warnOfInvalidFields(unusable)
    this.#failures = 0
    this.#warned.delete('read')
    this.#apply(org)
    this.#readIn(isOld ? rereadMs : this.#refreshMs)
  }

  /** Delay until the next read. Reads use at most a tenth of the requests that the license allows. */
  get #refreshMs(): number {
    const requestsPerSecond = limit(this.#org?.license.apiRateLimitPerSecond) ?? Number.POSITIVE_INFINITY
    return Math.max(this.#settings.refreshMs, Math.min((requestsPerRead * 1000) / requestsPerSecond, maxRefreshMs))
  }

  #warnOfInvalidFields(problem: string): void {
    const message = `some fields of the organization's license are invalid and are ignored (${problem}). The other limits apply.`
    this.#warnOnce('LOGFERRY_LIMITS', 'invalid fields', message)
  }

  #onUnreadable(error: unknown): void {
    const problem =
      error instanceof OrgError
        ? `${error.code}: ${error.message.replace(/^logferry: /, '').replace(/; see the cause$/, () => causeIn(error))}`
        : 'the accessToken function failed'
    this.#problem = toMessageLine(problem, this.#deps.redact)
    const isPassing = error instanceof OrgError && passing.has(error.code)
    const askedMs = error instanceof OrgError ? Math.min(error.retryAfterMs ?? 0, maxRefreshMs) : 0
    const firstMs = isPassing ? firstRetryMs.passing : firstRetryMs.other
    const growingMs = Math.min(firstMs * 2 ** this.#failures++, this.#settings.refreshMs)
    const random = (this.#deps.random ?? Math.random)()
    const againInMs = Math.max(growingMs * (0.75 + 0.5 * random), askedMs * (1 + 0.1 * random))
    this.#readIn(againInMs)
    if (isPassing && this.#failures < failuresUntilWarned) return
    const remedy = isPassing
      ? `It is read again in ${Math.round(againInMs / 1000)} s.`
      : error instanceof OrgError && error.code !== 'TOKEN_UNAVAILABLE'
        ? 'Check limits.orgId, and that the token may read the organization.'
        : 'Check the function limits.accessToken.'
    this.#warnOnce(
      'LOGFERRY_LIMITS',
      'read',
      `the organization's license could not be read (${this.#problem}). Delivery continues with the limits known so far. ${remedy}`,
    )
  }

  #apply(org: UsedOrg): void {
    const { apiRateLimitPerSecond, monthlyIngestGb, maxFields } = org.license
    const { share } = this.#settings
    const rate = limit(apiRateLimitPerSecond)
    const bytesBefore = this.#budget?.bytes
    this.#deps.setRate(rate === undefined ? undefined : rate * share)
    this.#guard.maxFields = limit(maxFields) ?? Number.POSITIVE_INFINITY
    const bytes = (limit(monthlyIngestGb) ?? Number.POSITIVE_INFINITY) * bytesPerGb * share
    const period = periodAt(org.license, systemTimeMs())
    if (bytes === Number.POSITIVE_INFINITY) this.#budget = undefined
    else {
      this.#counting ??= new Budget(bytes, period, systemTimeMs(), this.#bytesSince(period.startMs))
      this.#budget = this.#counting
      this.#early = undefined
      this.#renew(this.#budget, bytes, period)
    }
    if (bytesBefore !== undefined && bytesBefore < (this.#budget?.bytes ?? Number.POSITIVE_INFINITY)) {
      this.#deps.onRaised()
    }
    this.#warnOfLicense(org)
  }

  /** Bytes that were shipped before there was a budget; 0 if some of them may belong to an earlier period. */
  #bytesSince(startMs: number): number {
    return this.#early !== undefined && this.#early.sinceMs >= startMs ? this.#early.bytes : 0
  }

  #readIn(ms: number): void {
    clearTimeout(this.#readTimer)
    this.#readTimer = setTimeout(() => void this.#read(), ms).unref()
  }

  #tick(): void {
    const nowMs = systemTimeMs()
    if (this.#org !== undefined) this.#warnOfLicense(this.#org)
    if (this.#budget === undefined || this.#org === undefined) return
    this.#renew(this.#budget, this.#budget.bytes, periodAt(this.#org.license, nowMs))
    for (const news of this.#budget.tick(nowMs)) this.#warnOfBudget(news)
  }

  #renew(budget: Budget, bytes: number, period: Period): void {
    const { startMs } = budget.period
    budget.renew(bytes, period)
    if (period.startMs > startMs) this.#deps.onNewPeriod?.()
  }

  /**
   * Marks an event as one of a sample. If the event is not plain data, marks the event as it is sent.
   *
   * @param isAsSent true if the event was made of an event as it is sent
   */
  #marked(event: object, kept: number, isAsSent: boolean, nonFinite: NonFinite): object {
    const rate = Number(kept.toPrecision(2))
    try {
      if (shapeOf(event) === 'group') {
        const marked = withSamplingRate(event, rate)
        this.#deps.onCopied?.(marked, event)
        return this.#noted(marked, isAsSent)
      }
    } catch {
      // A getter or a proxy threw. The event as it is sent is marked instead.
    }
    return this.#noted(withSamplingRate(this.#deps.asSent(event, nonFinite), rate), true)
  }

  #noted(event: object, isAsSent: boolean): object {
    if (isAsSent) this.#deps.onAsSent?.(event)
    return event
  }

  #know(dataset: string, around: object | undefined): void {
    if (dataset !== this.#latestDataset) this.#nameDataset(dataset)
    if (around !== undefined) this.#guard.know(dataset, around)
  }

  #nameDataset(dataset: string): void {
    const name = detached(dataset)
    this.#latestDataset = name
    if (this.#datasets.size < maxNamedDatasets) this.#datasets.add(name)
  }

  #warnOfLicense(org: UsedOrg): void {
    const usage = { nowMs: systemTimeMs(), region: this.#settings.region, datasets: this.#datasets.size }
    const warnings = licenseWarnings(org, usage)
    const before = this.#problems
    this.#problems = new Set(warnings.map(({ about }) => about)) // a problem that is solved and returns is reported again
    for (const { about, message } of warnings) {
      if (!before.has(about)) this.#deps.warn('LOGFERRY_LICENSE', message, about)
    }
  }

  #warnOfBudget(news: BudgetNews): void {
    const { bytes, period } = this.#budget as Budget
    const gb = inGb(bytes)
    const remedy =
      this.#settings.onBudget === 'warn'
        ? " Log less, extend the license, or set limits.onBudget: 'shed'."
        : ' Low severities are sampled if the rate is too high.'
    const top = this.#deps.topStatements?.()
    const most = top === undefined ? '' : ` Of the bytes that this process has logged, ${top}.`
    const message =
      news.kind === 'used'
        ? `${Math.round(news.share * 100)} % of the ${gb} GB that may be ingested by ${day(period.endMs)} are used.${remedy}${most}`
        : `at the current rate, the ${gb} GB that may be ingested by ${day(period.endMs)} will be used up on ${day(news.atMs)}.${remedy}${most}`
    this.#deps.warn('LOGFERRY_BUDGET', message, news.kind === 'used' ? `used ${news.share}` : news.kind)
  }

  #warnOfFields(dataset: string, path: string): void {
    this.#warnOnce(
      'LOGFERRY_LICENSE',
      `fields of ${dataset} ${this.#guard.maxFields}`,
      `dataset ${quoted(dataset)} has as many fields as the license allows (maxFields: ${this.#guard.maxFields}). ` +
        `${quoted(path)} and later new fields go into the field ${quoted(this.#settings.overflowField)}. ` +
        'Log varying names as values, not as names of fields.',
    )
  }

  #warnOnce(code: ErrorCode, about: string, message: string): void {
    if (this.#warned.has(about)) return
    if (this.#warned.size >= maxNamedDatasets) this.#warned.clear()
    this.#warned.add(about)
    this.#deps.warn(code, message, about)
  }
}

/** Returns a limit that can be applied: 0 and negative values mean no limit. */
function limit(value: number | undefined): number | undefined {
  return value !== undefined && value > 0 ? value : undefined
}

function inGb(bytes: number): string {
  const gb = bytes / bytesPerGb
  return gb < 0.1 ? String(Number(gb.toPrecision(2))) : gb.toFixed(1)
}

function day(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10)
}

/** Says what the error of an application's function says, which has no secrets any more. */
function causeIn({ cause }: OrgError): string {
  return cause instanceof Error && cause.message !== '' ? `: ${cause.message}` : ''
}
