import * as v from 'valibot'
import { invalidOption } from '../errors.ts'
import { described, describedName, describedWord, kindOf } from './described.ts'

type ObjectSchema = v.StrictObjectSchema<v.ObjectEntries, string | undefined>

/** Options whose value may be a secret, even if it is a number. Errors show only the kind of the value. */
const secretOptions = new Set([
  'token',
  'accessToken',
  'personalAccessToken',
  'orgId',
  'orgIdHeader',
  'baseUrl',
  'dataset',
  'tls',
  'proxyEnv',
])

/** Valibot types of options for which a short text is a typing mistake, not a misplaced secret. */
const wordTypes = new Set(['picklist', 'number', 'boolean'])

/**
 * Checks options by a schema. The schema's messages state the expectation. Returns the options with the schema's
 * defaults.
 *
 * @throws TypeError | RangeError with `code` `LOGFERRY_INVALID_OPTION`, naming the option, the expectation and the
 * value
 */
export function checked<Schema extends ObjectSchema>(schema: Schema, options: unknown): v.InferOutput<Schema> {
  const result = v.safeParse(schema, options, { abortEarly: true })
  if (result.success) return result.output
  const issue = result.issues[0]
  const path = (issue.path ?? []).map(({ key }) => String(key))
  if (issue.path?.at(-1)?.origin === 'key') throw unknown(path, schema as AnySchema)
  throw invalidOption(
    path.join('.') || 'options',
    issue.message,
    got(issue, path),
    issue.kind === 'schema' ? 'type' : 'range',
  )
}

function got({ type, input }: v.BaseIssue<unknown>, path: readonly string[]): string {
  if (input === undefined) return 'nothing'
  if (path.some(name => secretOptions.has(name))) return kindOf(input)
  return wordTypes.has(type) ? describedWord(input) : described(input)
}

/** Creates the error for a name that no option has. */
function unknown(path: readonly string[], schema: AnySchema): Error {
  const parents = path.slice(0, -1)
  const name = path.at(-1) as string
  const nameAt = (known: string) => [...parents, known].join('.')
  const names = Object.keys(entriesAt(schema, parents)).map(nameAt)
  return invalidOption(nameAt(describedName(name)), `one of ${names.join(', ')}`, 'an unknown option')
}

/**
 * The parts of a Valibot schema that are read here: the entries of an object, and the schema inside an optional one.
 */
interface AnySchema {
  readonly entries?: Readonly<Record<string, AnySchema>>
  readonly wrapped?: AnySchema
}

/** Returns the options that an object at this path has. */
function entriesAt(schema: AnySchema, path: readonly string[]): Readonly<Record<string, AnySchema>> {
  const [name, ...rest] = path
  if (schema.wrapped !== undefined) return entriesAt(schema.wrapped, path)
  return name === undefined ? (schema.entries ?? {}) : entriesAt(schema.entries?.[name] ?? {}, rest)
}
