import { toShortLine } from '../text/short-line.ts'
import { isoTimeMs } from './iso-time.ts'
import type { UsedOrg } from './used-part.ts'

/** What the licence is held against. */
export interface Usage {
  /** Milliseconds since 1970. */
  readonly nowMs: number
  /** The region that is configured. */
  readonly region: string | undefined
  /** Datasets that this process ships to. */
  readonly datasets: number
}

/** Something about a licence that its owner should know; `about` is the same while the matter is the same. */
export interface LicenceWarning {
  readonly about: string
  readonly message: string
}

/** How long before its end a licence is warned of, in milliseconds: 14 days. */
const noticeMs = 14 * 86_400_000

/** What is wrong with an organization's licence, or soon will be. */
export function licenceWarnings(org: UsedOrg, usage: Usage): LicenceWarning[] {
  return [
    ...validity(org, usage.nowMs),
    ...payment(org),
    ...regions(org, usage.region),
    ...datasets(org, usage.datasets),
  ]
}

function validity({ license }: UsedOrg, nowMs: number): LicenceWarning[] {
  const validFromMs = isoTimeMs(license.validFrom)
  const expiresMs = isoTimeMs(license.expiresAt)
  if (nowMs < validFromMs) {
    return [{ about: 'validFrom', message: `the licence is valid only from ${license.validFrom} on. Check its dates.` }]
  }
  if (nowMs >= expiresMs) {
    return [
      {
        about: 'expired',
        message: `the licence has expired (${license.expiresAt}). Renew it; the service may refuse events.`,
      },
    ]
  }
  if (nowMs < expiresMs - noticeMs || Number.isNaN(expiresMs)) return []
  return [{ about: 'expiresAt', message: `the licence expires at ${license.expiresAt}. Renew it in time.` }]
}

function payment({ paymentStatus, firstFailedPayment }: UsedOrg): LicenceWarning[] {
  if (paymentStatus !== 'failed' && paymentStatus !== 'blocked') return []
  const since = firstFailedPayment === undefined ? '' : ` since ${firstFailedPayment}`
  const message = `the organization's payment is ${paymentStatus}${since}. Settle it before the service refuses events.`
  return [{ about: `payment ${paymentStatus}`, message }]
}

function regions({ license }: UsedOrg, region: string | undefined): LicenceWarning[] {
  const known = license.regions ?? (license.defaultRegion === undefined ? [] : [license.defaultRegion])
  if (region === undefined || known.length === 0 || known.some(one => names(one, region))) return []
  const message = `the region configured is ${region}, the licence's: ${toShortLine(known.join(', '))}. Check \`region\` and \`baseUrl\`.`
  return [{ about: 'regions', message }]
}

/** Whether a licence's region (`eu`, `EU`, `eu-central-1`) is in ours. */
function names(ofLicence: string, region: string): boolean {
  return ofLicence
    .toLowerCase()
    .split(/[^a-z]+/)
    .includes(region)
}

function datasets({ license }: UsedOrg, count: number): LicenceWarning[] {
  const { maxDatasets } = license
  if (maxDatasets === undefined || maxDatasets <= 0 || count <= maxDatasets) return [] // no limit, as with the others
  const message = `this process ships to ${count} datasets; the licence has ${maxDatasets}. Use fewer, or extend the licence.`
  return [{ about: 'maxDatasets', message }]
}
