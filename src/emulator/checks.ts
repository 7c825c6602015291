import { inspect } from 'node:util'
import { isOptionGroup, ownProperties } from '../own-properties.ts'
import { similarName } from '../text/similar-name.ts'

function shown(value: unknown): string {
  const text = inspect(value, { depth: 0, breakLength: Number.POSITIVE_INFINITY })
  return text.length > 80 ? `${text.slice(0, 80)}…` : text
}

/** Returns the error for an option or argument `name` that has a value of the wrong type. */
export function mistake(name: string, expected: string, value: unknown): TypeError {
  return new TypeError(`${name} must be ${expected}, not ${shown(value)}`)
}

/** Returns the error for a value that should be a text: a `RangeError` if it is one, but not an allowed one. */
export function badText(name: string, expected: string, value: unknown): Error {
  return badValue('string', name, expected, value)
}

function badNumber(name: string, expected: string, value: unknown): Error {
  return badValue('number', name, expected, value)
}

function badValue(type: 'string' | 'number', name: string, expected: string, value: unknown): Error {
  const error = mistake(name, expected, value)
  return typeof value === type ? new RangeError(error.message) : error
}

export function checkInteger(name: string, value: unknown, min: number, max: number): number {
  if (Number.isInteger(value) && (value as number) >= min && (value as number) <= max) return value as number
  throw badNumber(name, `an integer from ${min} to ${max}`, value)
}

/** Checks a delay in milliseconds: 0 to 2^31 − 1, the maximum of Node's timers. */
export function checkDelay(name: string, value: unknown): number {
  return checkRange(name, value, 0, 2 ** 31 - 1)
}

/** Checks a number of requests: an integer from 1, or `Infinity`. */
export function checkCount(name: string, value: unknown): number {
  if (value === Number.POSITIVE_INFINITY || (Number.isInteger(value) && (value as number) >= 1)) return value as number
  throw badNumber(name, 'an integer from 1, or Infinity', value)
}

export function checkRange(name: string, value: unknown, min: number, max: number): number {
  if (typeof value === 'number' && value >= min && value <= max) return value
  throw badNumber(name, `a number from ${min} to ${max}`, value)
}

export function checkOneOf(name: string, value: unknown, allowed: readonly string[]): void {
  if (!allowed.includes(value as string)) throw badText(name, allowed.map(each => `'${each}'`).join(' or '), value)
}

export function checkText(name: string, value: unknown): string {
  if (typeof value === 'string' && value !== '') return value
  throw badText(name, 'a non-empty string', value)
}

export function checkFlag(name: string, value: unknown): boolean {
  if (typeof value === 'boolean') return value
  throw mistake(name, 'true or false', value)
}

export function checkFunction<F>(name: string, value: F): F {
  if (typeof value === 'function') return value
  throw mistake(name, 'a function', value)
}

/**
 * Returns the own properties of an object. Inherited properties, such as a library's additions to `Object.prototype`,
 * are ignored.
 */
export function checkObject<T extends object>(name: string, value: T): T {
  if (isOptionGroup(value)) return ownProperties(value)
  throw mistake(name, 'an object', value)
}

/** Returns the own properties of an object. Throws on an unknown property name, as `checkKeys` does. */
export function checkOptions<T extends object>(name: string, value: T, known: readonly string[]): T {
  const own = checkObject(name, value)
  checkKeys(name, own, known)
  return own
}

/** Throws on an unknown property name. A misspelled name would otherwise silently leave the default in force. */
export function checkKeys(name: string, value: object, known: readonly string[]): void {
  const unknown = Object.keys(value).find(key => !known.includes(key))
  if (unknown === undefined) return
  const similar = similarName(unknown, known)
  const suggestion = similar === undefined ? '' : `. Did you mean ${similar}?`
  throw new TypeError(`${name}: there is no ${inspect(unknown)}; use one of ${known.join(', ')}${suggestion}`)
}

/** Checks a list of non-empty strings, or `*` for all. */
export function checkNames(name: string, value: unknown): void {
  if (value === '*') return
  if (!Array.isArray(value)) throw mistake(name, "a list of names or '*'", value)
  checkTexts(name, value)
}

/** Checks a list of non-empty strings. */
export function checkTexts(name: string, value: unknown): readonly string[] {
  return checkList(name, value as readonly unknown[]).map((each, index) => checkText(`${name}[${index}]`, each))
}

export function checkList<T>(name: string, value: readonly T[]): readonly T[] {
  if (Array.isArray(value)) return value
  throw mistake(name, 'a list', value)
}
