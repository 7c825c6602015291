import type { ErrorCode } from '../errors.ts'
import { quoted, type Redact, toMessageLine } from '../text/short-line.ts'
import { clearInterval, clearTimeout, setInterval, setTimeout, systemTimeMs } from '../time.ts'
import { Budget, type BudgetNews, periodAt } from './budget.ts'
import { FieldGuard } from './field-guard.ts'
import { shapeOf } from './field-routes.ts'
import { ingestLimitIn } from './ingest-limit.ts'
import { licenceWarnings } from './licence-warnings.ts'
import { OrgError, type OrgErrorCode } from './org-error.ts'
import type { Org } from './organization.ts'
import { type UsedOrg, usedPart } from './used-part.ts'

/** What of the licence is in force, and why. */
export interface LimitsStats {
  /** When the licence was last read, RFC 3339; `undefined` when it has not been read. */
  readonly readAt: string | undefined
  /** Why the licence could not be read the last time it was tried. */
  readonly problem: string | undefined
  /** Requests per second that this process may make, and what that follows from; `undefined` when nothing limits them. */
  readonly requestsPerSecond: number | undefined
  readonly because: string
  /** Uncompressed bytes of the billing period, this process's part; `undefined` without a `monthlyIngestGb`. */
  readonly ingest:
    | { readonly bytes: number; readonly usedBytes: number; readonly usedUpAt: string | undefined }
    | undefined
  /** Most fields of a dataset, and how many each has from this process, of the thousand datasets used last. */
  readonly maxFields: number | undefined
  readonly fields: Readonly<Record<string, number>>
}

/** The part of the options that the limits need, checked. */
export interface LimitsSettings {
  readonly share: number
  readonly refreshMs: number
  readonly onBudget: 'warn' | 'shed'
  readonly overflowField: string
  readonly timeField: string
  readonly region: string | undefined
}

/** What the limits act on. */
export interface LimitsParts {
  /** Tells by `onUnusable` of used fields that it leaves out, as they are out of order. */
  readonly readOrg: (onUnusable: (problem: string) => void) => Promise<Org>
  readonly setRate: (requestsPerSecond: number | undefined) => void
  /** Told when the license allows more than when it was last read. */
  readonly onRaised: () => void
  readonly warn: (code: ErrorCode, message: string, about?: string) => void
  /** Takes secrets out of what the service says. */
  readonly redact?: Redact
  /** What is sent of an event: its line, parsed. */
  readonly asSent: (event: object) => object
  readonly random?: () => number
}

const bytesPerGb = 1e9
/** Past it, more datasets are not counted: somebody makes names of values. */
const maxNamedDatasets = 10_000
/** How often the budget and the licence's dates are looked at, in milliseconds. */
const tickMs = 10_000
/** Requests that are allowed for each read of the license. */
const requestsPerRead = 10
/** How soon a licence that could not be read is tried again, in milliseconds; doubled each time, up to `refreshMs`. */
const firstRetryMs = 30_000
/** What says nothing of the token, or of the organization that it is for. */
const passing: ReadonlySet<OrgErrorCode> = new Set(['RATE_LIMITED', 'UNAVAILABLE', 'UNREACHABLE', 'TIMEOUT'])

/**
 * The organization's licence as this process keeps to it: read at the start and from time to time, in the background. Until
 * it is read, and while it cannot be, nothing is held back on its account.
 */
export class Limits {
  readonly #settings: LimitsSettings
  readonly #parts: LimitsParts
  readonly #guard: FieldGuard
  /** Names of datasets, `maxNamedDatasets` at most. */
  readonly #datasets = new Set<string>()
  #latestDataset: string | undefined
  readonly #warned = new Set<string>()
  #org: UsedOrg | undefined
  #readAtMs: number | undefined
  #problem: string | undefined
  #failures = 0
  #budget: Budget | undefined
  #readTimer: NodeJS.Timeout | undefined
  #tickTimer: NodeJS.Timeout | undefined

  constructor(settings: LimitsSettings, parts: LimitsParts) {
    this.#settings = settings
    this.#parts = parts
    this.#guard = new FieldGuard({
      maxFields: Number.POSITIVE_INFINITY,
      overflowField: settings.overflowField,
      timeField: settings.timeField,
      asSent: parts.asSent,
      onOver: (dataset, path) => this.#warnOfFields(dataset, path),
    })
  }

  /** Reads the licence soon, and again from time to time, until `stop`. */
  start(): void {
    if (this.#tickTimer !== undefined) return
    this.#tickTimer = setInterval(() => this.#tick(), tickMs).unref()
    this.#readIn(0)
  }

  stop(): void {
    clearTimeout(this.#readTimer)
    clearInterval(this.#tickTimer)
    this.#tickTimer = undefined
  }

  /**
   * The event as the licence lets it be shipped: as it is; with fields folded for which there is no room; marked, as one
   * of a sample. `undefined` when it is sampled away.
   *
   * @param around fields that its line carries besides, once for each object that holds them
   */
  fit(dataset: string, event: object, severity: number, around: object | undefined): object | undefined {
    this.#know(dataset, around)
    const kept = this.#settings.onBudget === 'shed' ? (this.#budget?.kept(severity) ?? 1) : 1
    if (kept === 1) return this.#guard.fold(dataset, event)
    if ((this.#parts.random ?? Math.random)() < kept) return this.#guard.fold(dataset, this.#marked(event, kept))
    this.#budget?.spare(severity)
    return undefined
  }

  /** Counts a line that will be shipped. */
  count(severity: number, bytes: number): void {
    this.#budget?.use(severity, bytes)
  }

  /** Takes from an answer's headers what the organization has left of its ingest. */
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
    const onUnusable = (problem: string): void => {
      unusable = toMessageLine(problem, this.#parts.redact)
    }
    try {
      org = usedPart(await this.#parts.readOrg(onUnusable), this.#parts.redact)
    } catch (error) {
      if (run === this.#tickTimer) this.#onUnreadable(error)
      return
    }
    if (run !== this.#tickTimer) return // stopped meanwhile
    this.#org = org
    this.#readAtMs = systemTimeMs()
    this.#problem = unusable
    if (unusable !== undefined) this.#warnOfFieldsOutOfOrder(unusable)
    this.#failures = 0
    this.#warned.delete('read')
    this.#apply(org)
    this.#readIn(this.#refreshMs)
  }

  /** Reads take a tenth of the requests that the license allows, at the most: the others are for events. */
  get #refreshMs(): number {
    const requestsPerSecond = limit(this.#org?.license.apiRateLimitPerSecond) ?? Number.POSITIVE_INFINITY
    return Math.max(this.#settings.refreshMs, (requestsPerRead * 1000) / requestsPerSecond)
  }

  #warnOfFieldsOutOfOrder(problem: string): void {
    const message = `the organization's license is kept to, but for what cannot be used of it (${problem}).`
    this.#warnOnce('LOGFERRY_LIMITS', 'fields out of order', message)
  }

  #onUnreadable(error: unknown): void {
    const problem = error instanceof OrgError ? `${error.code}: ${error.message}` : 'the accessToken function failed'
    this.#problem = toMessageLine(problem, this.#parts.redact)
    const againInMs = Math.min(firstRetryMs * 2 ** this.#failures++, this.#settings.refreshMs)
    const remedy =
      error instanceof OrgError && passing.has(error.code)
        ? `it is read again in ${Math.round(againInMs / 1000)} s.`
        : 'check limits.orgId, and that the token may read the organization.'
    this.#warnOnce(
      'LOGFERRY_LIMITS',
      'read',
      `the organization's licence could not be read (${this.#problem}). Delivery goes on with what the answers tell; ${remedy}`,
    )
    this.#readIn(againInMs)
  }

  #apply(org: UsedOrg): void {
    const { apiRateLimitPerSecond, monthlyIngestGb, maxFields } = org.license
    const { share } = this.#settings
    const rate = limit(apiRateLimitPerSecond)
    const bytesBefore = this.#budget?.bytes
    this.#parts.setRate(rate === undefined ? undefined : rate * share)
    this.#guard.maxFields = limit(maxFields) ?? Number.POSITIVE_INFINITY
    const gb = limit(monthlyIngestGb)
    const period = periodAt(org.license, systemTimeMs())
    if (gb === undefined) this.#budget = undefined
    else if (this.#budget === undefined) this.#budget = new Budget(gb * bytesPerGb * share, period, systemTimeMs())
    else this.#budget.renew(gb * bytesPerGb * share, period)
    if (bytesBefore !== undefined && bytesBefore < (this.#budget?.bytes ?? Number.POSITIVE_INFINITY)) {
      this.#parts.onRaised()
    }
    this.#warnOfLicence(org)
  }

  #readIn(ms: number): void {
    clearTimeout(this.#readTimer)
    this.#readTimer = setTimeout(() => void this.#read(), ms).unref()
  }

  #tick(): void {
    const nowMs = systemTimeMs()
    if (this.#org !== undefined) this.#warnOfLicence(this.#org)
    if (this.#budget === undefined || this.#org === undefined) return
    this.#budget.renew(this.#budget.bytes, periodAt(this.#org.license, nowMs))
    for (const news of this.#budget.tick(nowMs)) this.#warnOfBudget(news)
  }

  /** The event, or what is sent of it where more than its own fields are, with its mark. */
  #marked(event: object, kept: number): object {
    try {
      if (shapeOf(event) === 'group') return marked(event, kept)
    } catch {
      // A getter or a proxy that throws: what is sent says so.
    }
    return marked(this.#parts.asSent(event), kept)
  }

  #know(dataset: string, around: object | undefined): void {
    if (dataset !== this.#latestDataset && this.#datasets.size < maxNamedDatasets) this.#datasets.add(dataset)
    this.#latestDataset = dataset
    if (around !== undefined) this.#guard.know(dataset, around)
  }

  #warnOfLicence(org: UsedOrg): void {
    const usage = { nowMs: systemTimeMs(), region: this.#settings.region, datasets: this.#datasets.size }
    for (const { about, message } of licenceWarnings(org, usage)) this.#warnOnce('LOGFERRY_LICENCE', about, message)
  }

  #warnOfBudget(news: BudgetNews): void {
    const { bytes, period } = this.#budget as Budget
    const gb = inGb(bytes)
    const remedy =
      this.#settings.onBudget === 'warn' ? " Log less, extend the licence, or set limits.onBudget: 'shed'." : ''
    const message =
      news.kind === 'used'
        ? `${Math.round(news.share * 100)} % of the ${gb} GB that may be ingested until ${day(period.endMs)} are used.${remedy}`
        : `at the present pace the ${gb} GB that may be ingested until ${day(period.endMs)} are used up on ${day(news.atMs)}.${remedy}`
    this.#parts.warn('LOGFERRY_BUDGET', message, news.kind === 'used' ? `used ${news.share}` : news.kind)
  }

  #warnOfFields(dataset: string, path: string): void {
    this.#warnOnce(
      'LOGFERRY_LICENCE',
      `fields of ${dataset}`,
      `dataset ${quoted(dataset)} has no room for more fields (maxFields ${this.#guard.maxFields}): ` +
        `${quoted(path)} and new ones after it go into the field ${quoted(this.#settings.overflowField)}. ` +
        'Log varying names as values.',
    )
  }

  #warnOnce(code: ErrorCode, about: string, message: string): void {
    if (this.#warned.has(about)) return
    if (this.#warned.size >= maxNamedDatasets) this.#warned.clear()
    this.#warned.add(about)
    this.#parts.warn(code, message, about)
  }
}

/** A limit that can be kept to; zero and less stand for none. */
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

/** The event with the share of its like that is kept, for whoever counts. */
function marked(event: object, kept: number): object {
  const { logferry } = event as { logferry?: unknown }
  const own = typeof logferry === 'object' && logferry !== null ? logferry : {}
  return { ...event, logferry: { ...own, sampling_rate: Number(kept.toPrecision(2)) } }
}
