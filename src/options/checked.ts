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
  const path = (issue.path ?? []).map(({ key }) => String(key))
  const option = path.join('.') || 'options'
  if (issue.path?.at(-1)?.origin === 'key') throw missingOrUnknown(option, path, schema as AnySchema)
  const got = path.some(name => secretOptions.has(name)) ? shape(issue.input) : shown(issue.input)
  throw invalidOption(option, issue.message, got, issue.kind === 'schema' ? 'type' : 'range')
}

/** The error for a key that is not there, or that should not be. */
function missingOrUnknown(option: string, path: readonly string[], schema: AnySchema): Error {
  const parents = path.slice(0, -1)
  const name = path.at(-1) as string
  const entries = entriesAt(schema, parents)
  if (Object.hasOwn(entries, name)) return invalidOption(option, String(entries[name]?.message), 'nothing')
  const names = Object.keys(entries).map(known => [...parents, known].join('.'))
  return invalidOption(option, `one of ${names.join(', ')}`, 'an unknown option')
}

/** What is looked at of a schema: of an object, of what may be left out, of anything else. */
interface AnySchema {
  readonly entries?: Readonly<Record<string, AnySchema>>
  readonly wrapped?: AnySchema
  readonly message?: unknown
}

/** The options that an object at this path has. */
function entriesAt(schema: AnySchema, path: readonly string[]): Readonly<Record<string, AnySchema>> {
  const [name, ...rest] = path
  if (schema.wrapped !== undefined) return entriesAt(schema.wrapped, path)
  return name === undefined ? (schema.entries ?? {}) : entriesAt(schema.entries?.[name] ?? {}, rest)
}

/**
 * Refuses what is given in place of options and is no object.
 *
 * @throws TypeError with `code` `LOGFERRY_INVALID_OPTION`
 */
export function checkIsObject(options: unknown): void {
  if (typeof options === 'object' && options !== null && !Array.isArray(options)) return
  throw invalidOption('options', 'an object', shape(options))
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
