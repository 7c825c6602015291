import * as v from 'valibot'
import { invalidOption } from '../errors.ts'

type ObjectSchema = v.StrictObjectSchema<v.ObjectEntries, undefined>

/** Options whose value may be a secret or may have been mistaken for one; errors never show it. */
const secretOptions = new Set([
  'token',
  'accessToken',
  'personalAccessToken',
  'orgId',
  'orgIdHeader',
  'baseUrl',
  'dataset',
  'tls',
])

/**
 * The options as the schema leaves them. The schema's messages say what an option must be.
 *
 * @throws TypeError | RangeError with `code` `LOGFERRY_INVALID_OPTION`, naming the option, what it must be and what came
 */
export function checked<Schema extends ObjectSchema>(schema: Schema, options: unknown): v.InferOutput<Schema> {
  const result = v.safeParse(schema, options, { abortEarly: true })
  if (result.success) return result.output
  const issue = result.issues[0]
  const option = v.getDotPath(issue) ?? 'options'
  const path = option.split('.')
  const root = path[0] as string
  const names = Object.keys(schema.entries)
  if (!names.includes(root)) throw invalidOption(option, `one of ${names.join(', ')}`, 'an unknown option')
  const got = path.some(name => secretOptions.has(name)) ? shape(issue.input) : shown(issue.input)
  throw invalidOption(option, issue.message, got, issue.kind === 'schema' ? 'type' : 'range')
}

/** A value as it stands in a message, cut short. */
export function shown(value: unknown): string {
  if (typeof value === 'string')
    return value.length > 80 ? `${JSON.stringify(value.slice(0, 80))}…` : JSON.stringify(value)
  if (typeof value === 'number' || typeof value === 'boolean' || value === null) return String(value)
  return shape(value)
}

/** What kind of value came, without the value. */
export function shape(value: unknown): string {
  if (value === '') return 'an empty string'
  if (typeof value === 'string') return `a string of ${value.length} characters (not shown)`
  if (value === null || value === undefined) return String(value)
  return Array.isArray(value) ? 'an array' : `${/^[aeiou]/.test(typeof value) ? 'an' : 'a'} ${typeof value}`
}
