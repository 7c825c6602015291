import { toShortLine } from '../text/short-line.ts'
import { isoTimeMs } from './iso-time.ts'
import type { UsedOrg } from './used-org.ts'

/** The facts that the license is compared with. */
export interface Usage {
  /** The current time, in milliseconds since 1970. */
  readonly nowMs: number
  /** The configured region. */
  readonly region: string | undefined
  /** Number of datasets that this process ships to. */
  readonly datasets: number
}

/** A problem of a license that its owner should know about. `about` stays the same as long as the problem does. */
interface LicenseWarning {
  readonly about: string
  readonly message: string
}

/** How long before its expiry a license is reported, in milliseconds: 14 days. */
const noticeMs = 14 * 86_400_000

/** Returns the present and upcoming problems of an organization's license. */
export function licenseWarnings(org: UsedOrg, usage: Usage): LicenseWarning[] {
  return [
    ...validity(org, usage.nowMs),
    ...payment(org),
    ...regions(org, usage.region),
    ...datasets(org, usage.datasets),
  ]
}

function validity({ license }: UsedOrg, nowMs: number): LicenseWarning[] {
  const validFromMs = isoTimeMs(license.validFrom)
  const expiresMs = isoTimeMs(license.expiresAt)
  if (nowMs < validFromMs) {
    return [
      {
        about: 'validFrom',
        message: `the license is not valid before ${license.validFrom}. The service may refuse events until then. Check its dates.`,
      },
    ]
  }
  if (nowMs >= expiresMs) {
    return [
      {
        about: 'expired',
        message: `the license expired at ${license.expiresAt}. The service may refuse events. Renew the license.`,
      },
    ]
  }
  if (nowMs < expiresMs - noticeMs || Number.isNaN(expiresMs)) return []
  return [{ about: 'expiresAt', message: `the license expires at ${license.expiresAt}. Renew it before then.` }]
}

function payment({ paymentStatus, firstFailedPayment }: UsedOrg): LicenseWarning[] {
  if (paymentStatus !== 'failed' && paymentStatus !== 'blocked') return []
  const since = firstFailedPayment === undefined ? '' : ` since ${firstFailedPayment}`
  const message = `the organization's payment status is ${paymentStatus}${since}. Settle the payment before the service refuses events.`
  return [{ about: `payment ${paymentStatus}`, message }]
}

function regions({ license }: UsedOrg, region: string | undefined): LicenseWarning[] {
  const known = regionsOf(license)
  if (region === undefined || known.length === 0 || known.some(one => names(one, region))) return []
  const message = `the configured region is ${region}, but the license is for ${toShortLine(known.join(', '))}. Check \`region\` and \`baseUrl\`.`
  return [{ about: 'regions', message }]
}

/** Returns the regions that a license is for: its list, or else its default region. */
export function regionsOf({ regions = [], defaultRegion }: UsedOrg['license']): readonly string[] {
  if (regions.length > 0) return regions
  return defaultRegion === undefined ? [] : [defaultRegion]
}

/** True if a region of a license (`eu`, `EU`, `eu-central-1`) belongs to the configured region. */
function names(ofLicense: string, region: string): boolean {
  return ofLicense
    .toLowerCase()
    .split(/[^a-z]+/)
    .includes(region)
}

function datasets({ license }: UsedOrg, count: number): LicenseWarning[] {
  const { maxDatasets } = license
  if (maxDatasets === undefined || maxDatasets <= 0 || count <= maxDatasets) return [] // no limit, as in other fields
  const message = `this process ships to ${count} datasets, but the license allows ${maxDatasets}. Use fewer, or extend the license.`
  return [{ about: 'maxDatasets', message }]
}
