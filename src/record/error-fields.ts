import * as types from 'node:util/types'
import { isPlainData } from './is-plain-data.ts'

/** Characters of data put on an Error that has a `toJSON`, up to which they are kept beside what that tells. */
const smallCharacters = 1000

/** The fields of an Error worth keeping, each named once, and how to read one. Reading may call a getter, and throw. */
export interface ErrorFields {
  readonly names: readonly string[]
  read(name: string): unknown
}

/** Whether a value is an Error: of this realm or another (vm, jest), a DOMException, or an object made to look like one. */
export function isError(value: unknown): value is Error {
  return types.isNativeError(value) || value instanceof Error
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
  const added = told ? [...Object.keys(told), ...own.filter(name => isSmall(source[name]))] : own
  return {
    names: [...new Set(['name', 'message', 'stack', 'code', ...added, 'cause', 'errors'])],
    read: name => (told && Object.hasOwn(told, name) ? told[name] : source[name]),
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

function isSmall(value: unknown): boolean {
  return typeof value === 'object' && value !== null ? isPlainData(value, smallCharacters) : typeof value !== 'function'
}
