import type { License, Org as SpecifiedOrg } from '../org/organization.ts'

/** An organization of the emulator: its license has every field. */
export interface Org extends SpecifiedOrg {
  license: Required<License>
}

/** Fields of an organization that differ from the default; `undefined` means the default. */
export type OrgOverrides = { [K in Exclude<keyof Org, 'license'>]?: Org[K] | undefined } & {
  license?: { [K in keyof License]: License[K] | undefined } | undefined
}

const daySeconds = 86_400

/** A paying organization of ordinary size, in the billing month that `nowMs` falls in. */
export function defaultOrg(id: string, nowMs: number): Org {
  const now = new Date(nowMs)
  const monthStart = (offset: number) =>
    new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + offset)).toISOString()
  return {
    id,
    name: 'Emulated Organization',
    lastUsageSync: now.toISOString(),
    license: {
      id: `license-${id}`,
      issuer: 'logferry emulator',
      issuedTo: id,
      issuedAt: monthStart(-6),
      validFrom: monthStart(-6),
      expiresAt: monthStart(6),
      billingPeriodStart: monthStart(0),
      billingPeriodEnd: monthStart(1),
      defaultRegion: 'us-east-1',
      regions: ['us-east-1', 'eu-central-1'],
      tier: 'team',
      features: { alerting: true },
      withAuths: ['email', 'github'],
      apiRateLimitPerSecond: 1000,
      maxAuditWindowSeconds: 30 * daySeconds,
      maxQueryWindowSeconds: 95 * daySeconds,
      maxDatasets: 100,
      maxEndpoints: 50,
      maxFields: 1024,
      maxMonitors: 100,
      maxUsers: 50,
      monthlyIngestGb: 1000,
      monthlyQueryGbHours: 100,
      storageAllowanceGB: 10_000,
    },
    paymentStatus: 'success',
    plan: 'teamMonthlyDirect',
    planCreated: monthStart(-6),
    primaryEmail: 'owner@example.com',
    defaultRegion: 'us-east-1',
    firstFailedPayment: monthStart(-4),
    metaCreated: monthStart(-6),
    metaModified: monthStart(-1),
    metaVersion: '1',
    role: 'owner',
  }
}

export function withOverrides(org: Org, overrides: OrgOverrides): Org {
  return {
    ...org,
    ...definedOf(overrides),
    license: { ...org.license, ...definedOf(overrides.license ?? {}) },
  }
}

function definedOf<T extends object>(values: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as never
}
