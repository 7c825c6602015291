import { type Redact, toShortLine } from '../text/short-line.ts'
import type { License, Org } from './organization.ts'

/** Most regions of a license that are looked at. */
const maxRegions = 100

const texts = ['billingPeriodStart', 'billingPeriodEnd', 'defaultRegion', 'validFrom', 'expiresAt'] as const
const numbers = ['apiRateLimitPerSecond', 'monthlyIngestGb', 'maxFields', 'maxDatasets'] as const

/** What the shipper uses of an organization. */
export interface UsedOrg extends Partial<Pick<Org, 'paymentStatus' | 'firstFailedPayment'>> {
  readonly license: Pick<License, (typeof texts)[number] | (typeof numbers)[number] | 'regions'>
}

const usedFields: ReadonlySet<string> = new Set([
  'license',
  ...[...texts, ...numbers, 'regions'].map(name => `license.${name}`),
  'paymentStatus',
  'firstFailedPayment',
])

/** Whether a field (`license.maxFields`) is used; nothing else need be as specified. */
export function isUsed(field: string): boolean {
  return usedFields.has(field)
}

/**
 * The used part of an organization. Its texts are as short and printable as messages need them: an organization may have up
 * to 1 MiB, and is kept for as long as the process lives.
 */
export function usedPart(org: Pick<Org, 'license'> & Partial<Org>, redact?: Redact): UsedOrg {
  const { license, paymentStatus, firstFailedPayment } = org
  const used: { [Name in keyof UsedOrg['license']]: UsedOrg['license'][Name] } = {}
  for (const name of numbers) if (license[name] !== undefined) used[name] = license[name]
  for (const name of texts) if (license[name] !== undefined) used[name] = toShortLine(license[name], redact)
  if (license.regions !== undefined) {
    used.regions = license.regions.slice(0, maxRegions).map(region => toShortLine(region, redact))
  }
  return {
    license: used,
    ...(paymentStatus !== undefined && { paymentStatus: toShortLine(paymentStatus, redact) }),
    ...(firstFailedPayment !== undefined && { firstFailedPayment: toShortLine(firstFailedPayment, redact) }),
  }
}
