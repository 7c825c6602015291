import { isNativeError } from 'node:util/types'
import { charactersLeft } from './is-plain-data.ts'

/** Characters of data put on an Error that has a `toJSON`, up to which they are kept beside what that tells. */
const smallCharacters = 1000
/** Of what was put on an Error, and of what its `toJSON` tells, no more fields are considered. */
const maxAdded = 1000
const charactersPerLook = 10
const namesPerLook = 8

/** The fields of an Error worth keeping, each named once, and how to read one. Reading may call a getter, and throw. */
export interface ErrorFields {
  readonly names: readonly string[]
  /** The number of all fields, with those that were not considered. */
  readonly total: number
  /** What it took to find them (see `Effort`). */
  readonly looks: number
  read(name: string): unknown
}

/** Whether a value is an Error: of this realm or another (vm, jest), a DOMException, or an object made to look like one. */
export function isError(value: unknown): value is Error {
  return isNativeError(value) || value instanceof Error
}

/**
 * What describes an Error, then whatever was put on it, then what caused it. Without this it would come out as `{}`,
 * as none of the former is enumerable.
 *
 * An Error with a `toJSON` is asked for what was put on it: the own fields of an AxiosError, for one, lead to sockets.
 * Only small plain data is added to that, such as the level and the default metadata that Winston puts on an Error.
 */
export function errorFields(error: object): ErrorFields {
  const source = error as Record<string, unknown>
  const told = toldFields(source)
  const own = Object.keys(source)
  const toldNames = told === undefined ? [] : Object.keys(told)
  const considered = own.slice(0, maxAdded)
  let characters = 0
  const isSmall = (name: string): boolean => {
    const left = smallDataLeft(source[name])
    characters += smallCharacters - Math.max(left, 0)
    return left >= 0
  }
  const added = told === undefined ? considered : [...toldNames.slice(0, maxAdded), ...considered.filter(isSmall)]
  const names = [...new Set(['name', 'message', 'stack', 'code', ...added, 'cause', 'errors'])]
  return {
    names,
    total: names.length + Math.max(own.length - maxAdded, 0) + Math.max(toldNames.length - maxAdded, 0),
    looks: (own.length + toldNames.length) / namesPerLook + characters / charactersPerLook,
    read: name => (told !== undefined && Object.hasOwn(told, name) ? told[name] : source[name]),
  }
}

function toldFields(error: Record<string, unknown>): Record<string, unknown> | undefined {
  try {
    const told = typeof error.toJSON === 'function' ? error.toJSON('') : undefined
    return typeof told === 'object' && told !== null && told !== error ? told : undefined
  } catch {
    return undefined
  }
}

/** What a value leaves of the characters that small data may have; negative when it is none. */
function smallDataLeft(value: unknown): number {
  if (typeof value === 'object' && value !== null) return charactersLeft(value, smallCharacters)
  return typeof value === 'function' ? -1 : smallCharacters - 1
}
