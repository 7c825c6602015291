import { isDate, isMap, isPromise, isSet } from 'node:util/types'
import { kindOfValue } from '../text/kind-of-value.ts'

/**
 * Describes a value for an error. Shows numbers and booleans, but no texts: any option may get a token, or an address
 * with a password, by mistake.
 */
export function described(value: unknown): string {
  if (value === '') return '""'
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  return kindOf(value)
}

/**
 * Describes a value in place of a number, a boolean or one of a few words. Shows a text of up to nine letters or nine
 * digits, which is a typing mistake. Tokens are longer, and mix letters with digits and punctuation.
 */
export function describedWord(value: unknown): string {
  return typeof value === 'string' && /^([a-z_]{1,9}|\d{1,9})$/i.test(value) ? JSON.stringify(value) : described(value)
}

/** Lists the words that are allowed, as the expectation of an error: `'us' or 'eu'`. */
export function oneOf(words: readonly string[]): string {
  return words
    .map(word => `'${word}'`)
    .join(', ')
    .replace(/, ([^,]*)$/, ' or $1')
}

/** Returns the kind of mistake that a value is, by the type that it should have. */
export function kindOfMistake(value: unknown, rightType: 'string' | 'number'): 'type' | 'range' {
  return typeof value === rightType ? 'range' : 'type'
}

const builtIns: readonly [(value: unknown) => boolean, string][] = [
  [isMap, 'a Map'],
  [isSet, 'a Set'],
  [isDate, 'a Date'],
  [isPromise, 'a promise'],
]

/** Describes the kind of a value without the value, for options that are secret whatever their type. */
export function kindOf(value: unknown): string {
  if (value === '') return 'an empty string'
  if (typeof value === 'string')
    return `a string of ${value.length} ${value.length === 1 ? 'character' : 'characters'} (not shown)`
  if (Array.isArray(value)) return 'an array'
  const builtIn = builtIns.find(([isOne]) => isOne(value))
  return builtIn?.[1] ?? kindOfValue(value)
}

/**
 * Describes a name that no option has. A name with digits, punctuation or more than 40 characters may be a misplaced
 * token.
 */
export function describedName(name: string): string {
  return /^[a-z_$]{1,40}$/i.test(name) ? name : '(name not shown)'
}
