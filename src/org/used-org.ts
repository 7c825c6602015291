import { type Redact, toShortLine } from '../text/short-line.ts'
import type { License, Org } from './organization.ts'

/** Maximum number of regions of a license that are used. */
const maxRegions = 100

const texts = ['billingPeriodStart', 'billingPeriodEnd', 'defaultRegion', 'validFrom', 'expiresAt'] as const
const numbers = ['apiRateLimitPerSecond', 'monthlyIngestGb', 'maxFields', 'maxDatasets'] as const

/** The fields of an organization that the shipper uses. */
export interface UsedOrg extends Partial<Pick<Org, 'paymentStatus' | 'firstFailedPayment'>> {
  readonly license: Pick<License, (typeof texts)[number] | (typeof numbers)[number] | 'regions'>
}

const usedFields: ReadonlySet<string> = new Set([
  'license',
  ...[...texts, ...numbers, 'regions'].map(name => `license.${name}`),
  'paymentStatus',
  'firstFailedPayment',
])

/** True if a field (`license.maxFields`) is used. Other fields need not match the specification. */
export function isUsed(field: string): boolean {
  return usedFields.has(field)
}

/**
 * Returns the fields of an organization that the shipper uses, with texts shortened and made printable for messages. An organization may
 * have 1 MiB, and the process keeps the result for its whole life.
 */
export function usedOrg(org: Pick<Org, 'license'> & Partial<Org>, redact?: Redact): UsedOrg {
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
