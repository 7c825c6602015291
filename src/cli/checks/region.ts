import { licenseWarnings, regionsOf } from '../../org/license-warnings.ts'
import { usedOrg } from '../../org/used-org.ts'
import { systemTimeMs } from '../../time.ts'
import { fail, type HealthCheck, ok, skipped } from './health-check.ts'

export const region: HealthCheck = {
  name: 'region',
  after: ['organization'],
  async run({ organization, redact, resolved }) {
    if (organization === undefined) return skipped('the organization could not be read')
    const used = usedOrg(organization, redact)
    const known = regionsOf(used.license)
    if (known.length === 0) return skipped('the license names no region')
    const configured = resolved.region ?? regionIn(resolved.baseUrl.hostname)
    const values = { regions: known, ...(configured !== undefined && { configured }) }
    if (configured === undefined)
      return ok(`the license is for ${known.join(', ')}; the address names no region`, values)
    const [foreign] = licenseWarnings(
      { license: used.license },
      { nowMs: systemTimeMs(), region: configured, datasets: 1 },
    ).filter(({ about }) => about === 'regions')
    if (foreign === undefined) return ok(`${configured}, as in the license (${known.join(', ')})`, values)
    return fail(
      `the address is that of the region ${configured}, but the license is for ${known.join(', ')}`,
      'Set LOGFERRY_URL (and LOGFERRY_REGION, if it is set) to the region of the organization. An organization lives in one region.',
      values,
    )
  },
}

/** Returns the region that a host names in one of its parts, as `api.eu.example.com` and `logs-us.example.com` do. */
function regionIn(hostname: string): 'us' | 'eu' | undefined {
  const parts = hostname.toLowerCase().split(/[^a-z]+/)
  return (['us', 'eu'] as const).find(region => parts.includes(region))
}
