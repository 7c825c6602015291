import type { ServerResponse } from 'node:http'
import { systemTimeMs } from '../time.ts'
import { type Answer, refusal } from './answer.ts'
import type { EventObject } from './body-events.ts'
import { type Limit, limits } from './enforcement.ts'
import type { Exchange } from './exchange.ts'
import { FieldPaths } from './field-paths.ts'
import type { Org } from './organization.ts'
import type { Organizations } from './organizations.ts'
import type { RequestEntry } from './request-log.ts'
import { RequestWindow } from './request-window.ts'

/** The usage of one organization. */
interface Usage {
  readonly requests: RequestWindow
  readonly datasets: Map<string, FieldPaths>
  datasetBytes: number
  /** Bytes of the billing period in which the last ones were ingested, and the time of that. */
  ingestedBytes: number
  ingestedAtMs: number
}

const bytesPerGb = 1e9
const maxRetryAfterSeconds = 86_400
/** Maximum length of the names in the reason why an event fails. An answer has a reason for each event. */
const shownLength = 200
/** Maximum memory for the names of one organization's datasets, in bytes. Datasets beyond it are not counted. */
const maxDatasetBytes = 16_777_216
/** Estimated memory of a dataset in addition to its name, in bytes. */
const datasetBytes = 512

/**
 * Enforces the limits of the organizations' licenses. The specification does not say what happens beyond a limit. The
 * statuses are our choice, and the headers are those of the public service that resembles this one.
 *
 * Bytes and datasets are counted even while no limit is enforced. Fields are counted only while `maxFields` is
 * enforced, because that requires reading every event once more.
 */
export class LicenseLimits {
  enforced: ReadonlySet<Limit>
  #organizations: Organizations
  #usage = new Map<string, Usage>()
  #refused = nothingRefused()

  constructor(organizations: Organizations, enforced: ReadonlySet<Limit>) {
    this.#organizations = organizations
    this.enforced = enforced
  }

  /**
   * Counts a request of any kind and refuses it beyond the rate limit. Does nothing while that limit is not enforced.
   */
  admitRequest({ entry, response }: Exchange): Answer | undefined {
    const org = this.#heldTo('apiRateLimitPerSecond', entry)
    if (!org) return undefined
    const limit = org.license.apiRateLimitPerSecond
    const { admitted, remaining, resetsAtSeconds } = this.#usageOf(entry).requests.admit(limit, systemTimeMs())
    response.setHeader('x-ratelimit-scope', 'organization')
    announce(response, 'x-ratelimit', limit, remaining, resetsAtSeconds)
    if (admitted) return undefined
    this.#refused.apiRateLimitPerSecond += 1
    const message = `the license allows ${limit} requests per second`
    // 1 second is the length of a window and the smallest positive value of the header.
    return refusal(429, 'rate-limited', message, { 'retry-after': '1' })
  }

  /**
   * Refuses ingest requests while the license is not valid. The organization stays readable, so that a client can find
   * the reason.
   */
  checkExpiry({ entry }: Exchange): Answer | undefined {
    const org = this.#heldTo('expiry', entry)
    const reason = org && whyNotValid(org, entry.atMs)
    if (reason === undefined) return undefined
    this.#refused.expiry += 1
    return refusal(403, 'license-not-valid', reason)
  }

  /** Sets the answer's headers that tell how many bytes of the month are left. */
  announceMonth({ entry, response }: Exchange): undefined {
    const org = this.#heldTo('monthlyIngestGb', entry)
    if (!org) return
    const limit = monthlyBytes(org)
    const remaining = Math.max(0, limit - this.#ingestedBytes(entry))
    announce(response, 'x-ingestlimit', limit, remaining, billingPeriod(org, entry.atMs).endMs / 1000)
  }

  /** Refuses requests after the bytes of the month are used up. The request that uses them up is stored completely. */
  checkMonth({ entry }: Exchange): Answer | undefined {
    const org = this.#heldTo('monthlyIngestGb', entry)
    if (!org || this.#ingestedBytes(entry) < monthlyBytes(org)) return undefined
    this.#refused.monthlyIngestGb += 1
    const { endMs } = billingPeriod(org, entry.atMs)
    const allowed = `the ${org.license.monthlyIngestGb} GB per month that the license allows`
    const message = `${allowed} are used up until ${new Date(endMs).toISOString()}`
    const retryAfter = Math.min(Math.ceil((endMs - entry.atMs) / 1000), maxRetryAfterSeconds)
    return refusal(429, 'month-used-up', message, { 'retry-after': String(retryAfter) })
  }

  /** Checks and counts a dataset in one synchronous step: two concurrent requests must not both create the last one. */
  admitDataset({ entry }: Exchange, dataset: string): Answer | undefined {
    const org = this.#heldTo('maxDatasets', entry)
    const usage = this.#usageOf(entry)
    const { datasets } = usage
    if (datasets.has(dataset)) return undefined
    if (org && datasets.size >= org.license.maxDatasets) {
      this.#refused.maxDatasets += 1
      const message = `the organization has ${datasets.size} of the ${org.license.maxDatasets} datasets its license allows`
      return refusal(403, 'too-many-datasets', message)
    }
    usage.datasetBytes += 2 * dataset.length + datasetBytes
    if (usage.datasetBytes <= maxDatasetBytes) datasets.set(dataset, new FieldPaths())
    return undefined
  }

  /**
   * Returns a function that gives the reason why an event of an admitted dataset fails, if it does. Returns `undefined`
   * while fields are not limited, and for a dataset that is not counted.
   */
  fieldCheck({ entry }: Exchange, dataset: string): ((event: EventObject) => string | undefined) | undefined {
    const maxFields = this.#heldTo('maxFields', entry)?.license.maxFields
    const fields = this.#usageOf(entry).datasets.get(dataset)
    if (maxFields === undefined || !fields) return undefined
    return event => {
      const path = fields.add(event, maxFields)
      if (path === undefined) return undefined
      this.#refused.maxFields += 1
      const allowance = `dataset '${shown(dataset)}' has ${fields.count} of the ${maxFields} fields its license allows`
      return `${allowance}; new field '${shown(path)}' is one too many`
    }
  }

  /** Counts the decoded body of a request after its events are stored. */
  countIngested(exchange: Exchange): void {
    const { entry } = exchange
    const usage = this.#usageOf(entry)
    usage.ingestedBytes = this.#ingestedBytes(entry) + entry.decodedBytes
    usage.ingestedAtMs = Math.max(usage.ingestedAtMs, entry.atMs)
    this.announceMonth(exchange)
  }

  totals(): { refusedByLimit: Record<Limit, number> } {
    return { refusedByLimit: { ...this.#refused } }
  }

  clear(): void {
    this.#usage.clear()
    this.#refused = nothingRefused()
  }

  #heldTo(limit: Limit, { orgId }: RequestEntry): Org | undefined {
    return orgId !== undefined && this.enforced.has(limit) ? this.#organizations.get(orgId) : undefined
  }

  /** Returns the bytes that were ingested in the present billing period. */
  #ingestedBytes(entry: RequestEntry): number {
    const { ingestedBytes, ingestedAtMs } = this.#usageOf(entry)
    const org = this.#organizations.get(entry.orgId ?? '')
    return org === undefined || ingestedAtMs >= billingPeriod(org, entry.atMs).startMs ? ingestedBytes : 0
  }

  #usageOf({ orgId = '' }: RequestEntry): Usage {
    let usage = this.#usage.get(orgId)
    if (!usage) {
      usage = { requests: new RequestWindow(), datasets: new Map(), datasetBytes: 0, ingestedBytes: 0, ingestedAtMs: 0 }
      this.#usage.set(orgId, usage)
    }
    return usage
  }
}

function shown(name: string): string {
  return name.length > shownLength ? `${name.slice(0, shownLength)}…` : name
}

function nothingRefused(): Record<Limit, number> {
  return Object.fromEntries(limits.map(limit => [limit, 0])) as Record<Limit, number>
}

function announce(response: ServerResponse, name: string, limit: number, remaining: number, resetsAtSeconds: number) {
  response.setHeader(`${name}-limit`, limit)
  response.setHeader(`${name}-remaining`, remaining)
  response.setHeader(`${name}-reset`, Math.ceil(resetsAtSeconds))
}

function monthlyBytes({ license }: Org): number {
  return Math.round(license.monthlyIngestGb * bytesPerGb)
}

/**
 * Returns the billing period of a license. If the license names none that contains `nowMs`, the calendar month (UTC)
 * counts, from the end of the named period on if that is later.
 */
function billingPeriod({ license }: Org, nowMs: number): { readonly startMs: number; readonly endMs: number } {
  const [startMs, endMs] = [Date.parse(license.billingPeriodStart), Date.parse(license.billingPeriodEnd)]
  if (startMs <= nowMs && nowMs < endMs) return { startMs, endMs }
  const now = new Date(nowMs)
  const monthStart = (offset: number) => Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + offset)
  return { startMs: endMs <= nowMs ? Math.max(monthStart(0), endMs) : monthStart(0), endMs: monthStart(1) }
}

function whyNotValid({ license, paymentStatus }: Org, nowMs: number): string | undefined {
  if (paymentStatus === 'blocked') return 'the organization is blocked because of its payments'
  if (nowMs < Date.parse(license.validFrom)) return `the license is not valid before ${license.validFrom}`
  if (nowMs >= Date.parse(license.expiresAt)) return `the license expired at ${license.expiresAt}`
  return undefined
}
