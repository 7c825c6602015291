import type { License, Org as SpecifiedOrg } from '../org/organization.ts'
import { ownProperties } from '../own-properties.ts'
import {
  badText,
  checkInteger,
  checkKeys,
  checkObject,
  checkOneOf,
  checkRange,
  checkText,
  checkTexts,
} from './checks.ts'

/** An organization of the emulator. Its license has every field of the specification. */
export interface Org extends SpecifiedOrg {
  license: Required<License>
}

/** Fields of an organization to override. A field that is `undefined` keeps its current or default value. */
export type OrgOverrides = { [K in Exclude<keyof Org, 'license'>]?: Org[K] | undefined } & {
  license?: { [K in keyof License]: License[K] | undefined } | undefined
}

const daySeconds = 86_400

/**
 * Returns a paying organization of ordinary size. Its billing period is the calendar month (UTC) that contains `nowMs`.
 */
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

const payments = ['na', 'failed', 'success', 'blocked']
const plans = /^(personal|basicDirect|teamMonthlyDirect|teamMonthlyAws|\S*Cloud|teamPlus|enterprise|comped)$/
const amounts = new Set(['monthlyIngestGb', 'monthlyQueryGbHours', 'storageAllowanceGB'])
const times = new Set(['issuedAt', 'validFrom', 'expiresAt', 'billingPeriodStart', 'billingPeriodEnd'])

/** Throws on a field that the specification does not have, and on a value that it does not allow. */
export function checkOverrides(name: string, overrides: OrgOverrides): OrgOverrides {
  const own = checkObject(name, overrides)
  const { license, ...fields } = own
  const { license: ofLicense, ...ofOrg } = defaultOrg('', 0)
  checkFields(name, fields, ofOrg)
  if (license !== undefined) checkFields(`${name}.license`, checkObject(`${name}.license`, license), ofLicense)
  return own
}

function checkFields(name: string, fields: object, defaults: object): void {
  checkKeys(name, fields, Object.keys(defaults))
  for (const [field, value] of Object.entries(fields)) {
    if (value !== undefined) checkField(`${name}.${field}`, field, value, defaults[field as keyof typeof defaults])
  }
}

/** Throws unless the value has the type of the default: a number, a list of strings, an object or a string. */
function checkField(name: string, field: string, value: unknown, byDefault: unknown): void {
  // Fractions are allowed so that a test can use up a small part of a GB.
  if (amounts.has(field)) checkRange(name, value, 0, Number.MAX_SAFE_INTEGER)
  else if (typeof byDefault === 'number') checkInteger(name, value, 0, Number.MAX_SAFE_INTEGER)
  else if (Array.isArray(byDefault)) checkTexts(name, value)
  else if (typeof byDefault === 'object') checkObject(name, value as object)
  else if (typeof value !== 'string') throw badText(name, 'a string', value)
  else if (field === 'id') checkText(name, value)
  else if (field === 'paymentStatus') checkOneOf(name, value, payments)
  else if (field === 'plan' && !plans.test(value)) throw badText(name, 'a plan of the specification', value)
  else if (times.has(field) && Number.isNaN(Date.parse(value))) throw badText(name, 'a time in ISO 8601', value)
}

export function withOverrides(org: Org, overrides: OrgOverrides): Org {
  const { license = {} } = ownProperties(overrides)
  return {
    ...org,
    ...definedOf(overrides),
    license: { ...org.license, ...definedOf(license) },
  }
}

function definedOf<T extends object>(values: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as never
}
