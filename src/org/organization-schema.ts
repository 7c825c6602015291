import * as v from 'valibot'
import { described, kindOf } from '../options/described.ts'
import { ownProperties } from '../own-properties.ts'
import { type Redact, toShortLine } from '../text/short-line.ts'
import type { Org } from './organization.ts'

/** Maximum number of problems named in one error, and counted in one list: each costs time. */
const maxProblems = 5
const maxListProblems = 100

const text = v.string('a string')
const texts = v.pipe(
  v.custom<unknown[]>(Array.isArray, 'a list of strings'),
  v.rawCheck(({ dataset, addIssue }) => {
    if (dataset.typed) addIssuesOf(dataset.value, addIssue)
  }),
)
/** The specification says integer, but half a gigabyte is a meaningful amount. */
const amount = v.pipe(v.number('a number'), v.finite('a number'))
const integer = v.pipe(v.number('an integer'), v.integer('an integer'))
const map = v.custom<Record<string, unknown>>(isMap, 'an object')

/** Any text will do. A time that cannot be read is ignored, so that the rest of the license stays usable. */
const time = text

/**
 * Valibot iterates over entries with `for … in`, which must not find properties that a library adds to
 * `Object.prototype`.
 */
function objectOf<Entries extends v.ObjectEntries>(entries: Entries) {
  return v.object(ownProperties(entries))
}

/** The specification does not say which fields of a license are required, so none is. */
const LicenseSchema = objectOf({
  id: v.exactOptional(text),
  issuer: v.exactOptional(text),
  issuedTo: v.exactOptional(text),
  issuedAt: v.exactOptional(time),
  validFrom: v.exactOptional(time),
  expiresAt: v.exactOptional(time),
  billingPeriodStart: v.exactOptional(time),
  billingPeriodEnd: v.exactOptional(time),
  defaultRegion: v.exactOptional(text),
  regions: v.exactOptional(texts),
  tier: v.exactOptional(text),
  features: v.exactOptional(map),
  withAuths: v.exactOptional(texts),
  apiRateLimitPerSecond: v.exactOptional(integer),
  maxAuditWindowSeconds: v.exactOptional(integer),
  maxQueryWindowSeconds: v.exactOptional(integer),
  maxDatasets: v.exactOptional(integer),
  maxEndpoints: v.exactOptional(integer),
  maxFields: v.exactOptional(integer),
  maxMonitors: v.exactOptional(integer),
  maxUsers: v.exactOptional(integer),
  monthlyIngestGb: v.exactOptional(amount),
  monthlyQueryGbHours: v.exactOptional(amount),
  storageAllowanceGB: v.exactOptional(amount),
})

const OrgSchema = objectOf({
  id: text,
  name: text,
  lastUsageSync: text,
  license: v.pipe(v.custom<v.InferInput<typeof LicenseSchema>>(isMap, 'an object'), LicenseSchema),
  paymentStatus: text,
  plan: text,
  planCreated: text,
  primaryEmail: text,
  defaultRegion: v.exactOptional(text),
  firstFailedPayment: v.exactOptional(text),
  metaCreated: v.exactOptional(text),
  metaModified: v.exactOptional(text),
  metaVersion: v.exactOptional(text),
  role: v.exactOptional(text),
})

/** Accepts an organization with invalid fields, and leaves them out. An invalid field does not affect other fields. */
export interface Tolerance {
  /** True if a field (`name`, `license.maxFields`) is used. The values of other fields do not matter. */
  readonly isUsed: (field: string) => boolean
  /** Called if used fields are left out, with their names and problems. */
  readonly onUnusable: (problem: string) => void
}

/**
 * Reads the organization in the body of an answer.
 *
 * @param redact removes tokens from the parts of the body that a message shows
 * @param tolerance accepts some invalid fields; without it, every field must match the specification
 * @returns the organization, or the problem, such as `license.maxFields: expected an integer, got "many"`
 */
export function readOrg(body: string, redact: Redact, tolerance?: Tolerance): { org: Org } | { problem: string } {
  const value = parsed(body)
  if (value === undefined) return { problem: `expected a JSON object, got ${whatElse(body)}` }
  if (!isMap(value)) return { problem: `expected a JSON object, got ${kindOf(value)}` }
  deleteNulls(value)
  const { license } = value
  if (isMap(license)) deleteNulls(license)
  const checked = { ...value, license: isMap(license) ? ownProperties(license) : license }
  const result = v.safeParse(OrgSchema, ownProperties(checked))
  const issues = (result.issues ?? []).filter(issue => tolerance?.isUsed(fieldOf(issue)) ?? true)
  if (issues.length === 0) return { org: value as unknown as Org }
  const problem = problemsOf(issues, redact)
  if (tolerance === undefined || !isMap(license)) return { problem }
  for (const issue of issues) {
    const field = fieldOf(issue)
    if (field.startsWith(ofLicense)) delete license[field.slice(ofLicense.length)]
    else delete value[field]
  }
  tolerance.onUnusable(problem)
  return { org: value as unknown as Org }
}

const ofLicense = 'license.'

function problemsOf(issues: readonly v.BaseIssue<unknown>[], redact: Redact): string {
  const problems = issues.slice(0, maxProblems).map(issue => problemOf(issue, redact))
  if (issues.length > maxProblems) problems.push(`${issues.length - maxProblems} more`)
  return problems.join('; ')
}

type AddIssue = Parameters<Parameters<typeof v.rawCheck<unknown[]>>[0]>[0]['addIssue']

function addIssuesOf(list: unknown[], addIssue: AddIssue): void {
  let issues = 0
  for (const [key, value] of list.entries()) {
    if (typeof value === 'string') continue
    addIssue({ message: 'a string', input: value, path: [{ type: 'array', origin: 'value', input: list, key, value }] })
    if (++issues === maxListProblems) return
  }
}

/** Returns the name of the field. A list counts as one field. */
function fieldOf({ path }: v.BaseIssue<unknown>): string {
  const keys = (path ?? []).map(({ key }) => key)
  return keys.filter(key => typeof key === 'string').join('.')
}

function problemOf(issue: v.BaseIssue<unknown>, redact: Redact): string {
  const path = v.getDotPath(issue)
  if (issue.input === undefined) return `${path} is missing`
  const got = typeof issue.input === 'string' ? toShortLine(issue.input, redact) : issue.input
  return `${path}: expected ${issue.message}, got ${shown(got)}`
}

/** Formats a value of the answer for a message. A long text is cut. */
function shown(value: unknown): string {
  if (typeof value !== 'string' || value === '') return described(value)
  return value.length > 80 ? `${JSON.stringify(value.slice(0, 80))}…` : JSON.stringify(value)
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    return undefined // the error would repeat a part of the body
  }
}

function whatElse(body: string): string {
  if (body.trim() === '') return 'an empty answer'
  return body.trimStart().startsWith('<') ? 'an HTML page, perhaps of a proxy' : 'text that is not JSON'
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Deletes in place, because an organization may have thousands of unknown fields. */
function deleteNulls(fields: Record<string, unknown>): void {
  for (const [name, value] of Object.entries(fields)) if (value === null) delete fields[name]
}
