import * as v from 'valibot'
import { invalidOption } from '../errors.ts'
import { described, describedWord, kindOf } from './described.ts'
import { type Definitions, type OptionsOf, schemaOf } from './option.ts'
import { unknownOption } from './unknown-option.ts'

/** Valibot types of options for which a short text is a typing mistake, not a misplaced secret. */
const wordTypes = new Set(['picklist', 'number', 'boolean'])

/** Types of the values that a schema of Valibot refuses although their type is right. `NaN` is a number. */
const typesOfSchemas: Readonly<Record<string, string>> = { picklist: 'string', number: 'number' }

/**
 * Checks options by their definitions. Defaults are not filled in.
 *
 * @throws TypeError | RangeError with `code` `LOGFERRY_INVALID_OPTION`, naming the option, the expectation and the
 * value
 */
export function checked<D extends Definitions>(definitions: D, options: unknown): OptionsOf<D> {
  const schema = schemaOf(definitions)
  const result = v.safeParse(schema, options)
  if (result.success) return result.output as OptionsOf<D>
  // First of all an unknown name, which may be a required option that is mistyped and therefore missing.
  const issue = result.issues.find(isUnknownName) ?? result.issues[0]
  const path = (issue.path ?? []).map(({ key }) => String(key))
  if (isUnknownName(issue)) {
    const parents = path.slice(0, -1)
    throw unknownOption(path.at(-1) as string, Object.keys(entriesAt(schema as AnySchema, parents)), parents.join('.'))
  }
  throw invalidOption(
    path.join('.').replace(/\.(\d+)(?=\.|$)/g, '[$1]') || 'options',
    issue.message,
    got(issue, isSecret(definitions, path)),
    hasRightType(issue) ? 'range' : 'type',
  )
}

/** True if only the value is wrong: a number is not in the range, or a text is not in the list. */
function hasRightType({ kind, type, input }: v.BaseIssue<unknown>): boolean {
  return kind !== 'schema' || typeof input === typesOfSchemas[type]
}

function isUnknownName({ path }: v.BaseIssue<unknown>): boolean {
  return path?.at(-1)?.origin === 'key'
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
  if (type === 'max_length' && Array.isArray(input)) return `${input.length} of them`
  return wordTypes.has(type) ? describedWord(input) : described(input)
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
