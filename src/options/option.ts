import * as v from 'valibot'
import { ownProperties } from '../own-properties.ts'
import { oneOf } from './described.ts'
import { strictObject } from './strict-object.ts'

/**
 * The definition of an option: its check, its default, its environment variable, and its line in the documentation. Its
 * type and docstring stand in an interface above the definitions. Editors with TypeScript 7 show no docstrings of types that
 * are computed from definitions.
 *
 * `T` is the type of a value.
 */
export interface Option<T, P extends Presence = 'optional'> {
  readonly presence: P
  /** The default, if it does not depend on other options. */
  readonly default?: T
  /** Computes the default from the values and constant defaults of the other options. */
  readonly defaultFrom?: (values: never) => T
  /** Checks a given value. The messages of the check state the expectation. */
  readonly check: v.GenericSchema
  /** The options inside, if the value is an object of options. */
  readonly options?: Definitions
  /** Environment variable that fills in the option. */
  readonly env?: string
  /** Returns the value that the text of the variable stands for. Without this function, the value is the text. */
  readonly fromText?: (text: string) => unknown
  /** Options in place of this one. If one of them is given, the environment variable is ignored. */
  readonly envUnlessGiven?: readonly string[]
  /** True if the value may be a secret, even if it is a number. Errors then show only its kind. */
  readonly isSecret?: boolean
  /** Possible values, for the documentation. */
  readonly values: string
  /** The default in words, for the documentation; needed if `default` and `env` do not say it. */
  readonly defaultText?: string
  /** The purpose of the option, in one line of Markdown. */
  readonly summary: string
}

/**
 * What happens if the application does not set an option:
 *
 * - `'optional'`: its value is `undefined`.
 * - `'default'`: its value is the default.
 * - `'required'`: an error is thrown.
 */
export type Presence = 'optional' | 'default' | 'required'

/** Definitions by the name of their option. */
export type Definitions = Readonly<Record<string, Option<unknown, Presence>>>

type ValueOf<Definition> = Definition extends Option<infer T, Presence> ? T : never

/**
 * The definitions that belong to an interface of options, one for each property. With `satisfies` this type, code does
 * not compile if a definition is missing, belongs to no property, or has values of another type.
 */
export type DefinitionsOf<Options> = {
  readonly [Name in keyof Options]-?: undefined extends Options[Name]
    ? Option<Exclude<Options[Name], undefined>, 'optional' | 'default'>
    : Option<Options[Name], 'required'>
}

/** The options that have such definitions, as an application may give them. */
export type OptionsOf<D> = {
  readonly [Name in keyof D as D[Name] extends Option<unknown, 'required'> ? Name : never]: ValueOf<D[Name]>
} & {
  readonly [Name in keyof D as D[Name] extends Option<unknown, 'required'> ? never : Name]?:
    | ValueOf<D[Name]>
    | undefined
}

/** The values of options that are checked and have their defaults. */
export type ValuesOf<D> = {
  readonly [Name in keyof D]: D[Name] extends Option<infer T> ? T | undefined : ValueOf<D[Name]>
}

type Description = Pick<Option<unknown>, 'env' | 'envUnlessGiven' | 'isSecret' | 'defaultText' | 'summary'>

/** The description of an option that no variable can fill in, because its value is neither a text nor an integer. */
type WithoutVariable = Omit<Description, 'env' | 'envUnlessGiven'>

interface CheckedBy<T> extends Description {
  readonly check: v.GenericSchema<unknown, T>
  readonly values: string
}

/** Defines an option with a check of its own. */
export function option<T>(definition: CheckedBy<T> & { readonly default: T }): Option<T, 'default'>
export function option<T>(definition: CheckedBy<T>): Option<T>
export function option<T>(definition: CheckedBy<T> & { readonly default?: T }): Option<T, 'default' | 'optional'> {
  return ownProperties({ ...definition, presence: Object.hasOwn(definition, 'default') ? 'default' : 'optional' })
}

/**
 * Defines an option that a function checks. The function must accept values of `T` only. `hasType` tells which other
 * values have the right type; by default none.
 */
export function custom<T>(
  definition: Description & {
    readonly accepts: (value: unknown) => boolean
    readonly hasType?: (value: unknown) => boolean
    readonly expected: string
    readonly values: string
  },
): Option<T> {
  const { accepts, hasType = accepts, expected, ...description } = definition
  const check = v.pipe(v.custom<T>(hasType, expected), v.check<T, string>(accepts, expected))
  return option<T>({ ...description, check })
}

/** Defines an option that an application must set. */
export function required<T>(definition: CheckedBy<T>): Option<T, 'required'> {
  return ownProperties({ ...definition, presence: 'required' })
}

interface IntegerRange extends Description {
  readonly min: number
  readonly max: number
  readonly unit: 'milliseconds' | 'bytes' | 'events' | 'requests' | 'fields'
}

type IntegerDefault =
  | { readonly default: number }
  | { readonly defaultFrom: (values: never) => number; readonly defaultText: string }

export function integer(definition: IntegerRange & IntegerDefault): Option<number, 'default'> {
  return ownProperties({ ...inRange(definition), presence: 'default' })
}

/** Defines an option that is an integer or not set. */
export function optionalInteger(definition: IntegerRange): Option<number> {
  return ownProperties({ ...inRange(definition), presence: 'optional' })
}

function inRange<D extends IntegerRange>({ min, max, unit, ...rest }: D) {
  const expected = `an integer from ${min} to ${max} (${unit})`
  const check = v.pipe(v.number(expected), v.integer(expected), v.minValue(min, expected), v.maxValue(max, expected))
  const values = max === Number.MAX_SAFE_INTEGER ? `at least ${min} ${unit}` : `${min} to ${max} ${unit}`
  const fromText = (text: string) => (/^\d+$/.test(text) ? Number(text) : text)
  return { ...rest, check, values, fromText }
}

/** Defines an option that is one of a few words. */
export function word<const W extends string>(
  words: readonly [W, ...W[]],
  description: Description & { readonly default: NoInfer<W> },
): Option<W, 'default'>
export function word<const W extends string>(words: readonly [W, ...W[]], description: Description): Option<W>
export function word<const W extends string>(
  words: readonly [W, ...W[]],
  description: Description & { readonly default?: W },
): Option<W, 'default' | 'optional'> {
  const values = words.map(name => `\`'${name}'\``).join(', ')
  return option({ ...description, check: v.picklist(words, oneOf(words)), values })
}

export function flag(description: WithoutVariable & { readonly default: boolean }): Option<boolean, 'default'> {
  return option({ ...description, check: v.boolean('true or false'), values: '`true`, `false`' })
}

/** Defines an option whose value is an object of options. */
export function group<T extends object>(
  definition: WithoutVariable & {
    readonly options: DefinitionsOf<T>
    readonly shape: string
  },
): Option<T> {
  const { options, shape, ...description } = definition
  const check = schemaOf(options, `an object: ${shape}`)
  return ownProperties({ ...description, presence: 'optional', check, options, values: `\`${shape}\`` })
}

/** Returns a schema for objects that have these options, and no others. */
export function schemaOf(
  definitions: Definitions,
  expected?: string,
): v.StrictObjectSchema<v.ObjectEntries, string | undefined> {
  const entries = Object.entries(definitions).map(([name, { check, presence }]) => {
    return [name, presence === 'required' ? check : v.optional(check)]
  })
  return strictObject(Object.fromEntries(entries), expected)
}
