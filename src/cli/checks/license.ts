import { isoTimeMs } from '../../org/iso-time.ts'
import { licenseWarnings } from '../../org/license-warnings.ts'
import type { UsedOrg } from '../../org/used-org.ts'
import { usedOrg } from '../../org/used-org.ts'
import { systemTimeMs } from '../../time.ts'
import { fail, type HealthCheck, ok, skipped, warn } from './health-check.ts'

const dayMs = 86_400_000

export const license: HealthCheck = {
  name: 'license',
  after: ['organization'],
  async run({ organization, redact }) {
    if (organization === undefined) return skipped('the organization could not be read')
    const used = usedOrg(organization, redact)
    const nowMs = systemTimeMs()
    // The checks of the organization and the region report the payment and the regions.
    const problem = licenseWarnings({ license: used.license }, { nowMs, region: undefined, datasets: 1 })[0]
    const detail = limitsInWords(used, nowMs)
    const values = valuesOf(used)
    if (problem === undefined) return ok(detail, values)
    const verdict = problem.about === 'expired' || problem.about === 'validFrom' ? fail : warn
    const [what = '', ...remedy] = problem.message.split(/(?<=\.) (?=[A-Z])/)
    return verdict(`${what} ${detail}`, remedy.join(' '), values)
  },
}

function limitsInWords({ license }: UsedOrg, nowMs: number): string {
  const { apiRateLimitPerSecond, monthlyIngestGb, maxFields, maxDatasets, billingPeriodEnd, expiresAt } = license
  const limit = (value: number | undefined, unit: string) =>
    value !== undefined && value > 0 && `${value.toLocaleString('en')} ${unit}` // 0 and negative values mean no limit
  const limits = [
    limit(apiRateLimitPerSecond, 'requests/s'),
    limit(monthlyIngestGb, `GB a month${periodInWords(billingPeriodEnd, nowMs)}`),
    limit(maxFields, 'fields'),
    limit(maxDatasets, 'datasets'),
    expiresAt !== undefined && `expires ${expiresAt.slice(0, 10)}`,
  ].filter(Boolean)
  return limits.length === 0 ? 'it names no limits' : limits.join(', ')
}

/** The service does not tell the used part: an application counts its own (`stats().limits.ingest`). */
function periodInWords(end: string | undefined, nowMs: number): string {
  const days = Math.ceil((isoTimeMs(end) - nowMs) / dayMs)
  return days > 0 ? ` (${days} days of the period left; the service does not tell the used part)` : ''
}

function valuesOf({ license }: UsedOrg) {
  const { regions: _, ...rest } = license
  return Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined)) as Record<
    string,
    string | number
  >
}
