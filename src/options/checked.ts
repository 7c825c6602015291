import * as v from 'valibot'
import { invalidOption } from '../errors.ts'
import { described, describedName, describedWord, kindOf } from './described.ts'
import { type Definitions, type OptionsOf, schemaOf } from './option.ts'

/** Valibot types of options for which a short text is a typing mistake, not a misplaced secret. */
const wordTypes = new Set(['picklist', 'number', 'boolean'])

/**
 * Checks options by their definitions. Defaults are not filled in.
 *
 * @throws TypeError | RangeError with `code` `LOGFERRY_INVALID_OPTION`, naming the option, the expectation and the
 * value
 */
export function checked<D extends Definitions>(definitions: D, options: unknown): OptionsOf<D> {
  const schema = schemaOf(definitions)
  const result = v.safeParse(schema, options, { abortEarly: true })
  if (result.success) return result.output as OptionsOf<D>
  const issue = result.issues[0]
  const path = (issue.path ?? []).map(({ key }) => String(key))
  if (issue.path?.at(-1)?.origin === 'key') throw unknown(path, schema as AnySchema)
  throw invalidOption(
    path.join('.') || 'options',
    issue.message,
    got(issue, isSecret(definitions, path)),
    issue.kind === 'schema' ? 'type' : 'range',
  )
}

/** True if an option on the path may hold a secret. */
function isSecret(definitions: Definitions, [name = '', ...rest]: readonly string[]): boolean {
  const definition = Object.hasOwn(definitions, name) ? definitions[name] : undefined
  if (definition === undefined) return false
  return definition.isSecret === true || isSecret(definition.options ?? {}, rest)
}

function got({ type, input }: v.BaseIssue<unknown>, mayBeSecret: boolean): string {
  if (input === undefined) return 'nothing'
  if (mayBeSecret) return kindOf(input)
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
