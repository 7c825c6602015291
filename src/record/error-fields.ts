import { isNativeError } from 'node:util/types'
import { propertyOf } from '../own-properties.ts'
import { charactersLeft } from './is-plain-data.ts'
import { effortOfLogCall, sparingly } from './log-calls.ts'
import { handleRejection } from './unheard-rejection.ts'

/**
 * Maximum characters of an object that was put on an Error with a `toJSON` and is kept beside the result of that
 * method.
 */
const smallCharacters = 1000
/** Maximum number of own fields that are read of an Error, and of the result of its `toJSON`. */
const maxAdded = 1000
const charactersPerUnit = 10
const namesPerUnit = 8

/**
 * The fields of an Error that are worth keeping, each named once, and a way to read them. Reading a field may call a
 * getter, which may throw.
 */
export interface ErrorFields {
  readonly names: readonly string[]
  /** Number of all fields, including fields beyond the limits. */
  readonly total: number
  /** Cost of finding the fields, in units (see `Effort`). */
  readonly units: number
  read(name: string): unknown
}

/**
 * True if a value is an Error of this or another realm (vm, jest), a DOMException, or an object that inherits from
 * `Error.prototype`.
 */
export function isError(value: unknown): value is Error {
  return isNativeError(value) || value instanceof Error
}

/**
 * Returns the fields that describe an Error, then the fields put on it, then the errors behind it. The name, the message and the
 * stack are not enumerable, so an Error would otherwise become `{}`.
 *
 * If the Error has a `toJSON`, the result of that method replaces the fields put on the Error. The own fields of an
 * AxiosError, for example, lead to sockets. Only small plain data is added to the result, such as the level and the
 * default metadata that Winston puts on an Error.
 */
export function errorFields(error: object): ErrorFields {
  const source = error as Record<string, unknown>
  const result = fieldsOfToJson(source)
  const own = Object.keys(source)
  const resultNames = result === undefined ? [] : Object.keys(result)
  const considered = own.slice(0, maxAdded)
  const effort = effortOfLogCall()
  let characters = 0
  let unread = 0
  const isSmall = (name: string): boolean => {
    if (effort.isLate()) {
      unread++
      return false
    }
    const left = smallDataLeft(source[name])
    characters += smallCharacters - Math.max(left, 0)
    return left >= 0
  }
  const added =
    result === undefined
      ? considered
      : [...resultNames.slice(0, maxAdded), ...sparingly(() => considered.filter(isSmall))]
  const names = [
    ...new Set(['name', 'message', 'stack', 'code', ...added, 'cause', 'errors', ...suppressedFields(source)]),
  ]
  return {
    names,
    total: names.length + unread + Math.max(own.length - maxAdded, 0) + Math.max(resultNames.length - maxAdded, 0),
    units: (own.length + resultNames.length) / namesPerUnit + characters / charactersPerUnit,
    read: name => (result !== undefined && Object.hasOwn(result, name) ? result[name] : propertyOf(source, name)),
  }
}

/** Returns the names of the two errors of a SuppressedError, as `using` throws it. Like a cause, they are not enumerable. */
export function suppressedFields(error: object): string[] {
  const isSuppressed = Object.getOwnPropertyDescriptor(error, 'suppressed')?.enumerable === false
  return isSuppressed ? ['error', 'suppressed'] : []
}

function fieldsOfToJson(error: Record<string, unknown>): Record<string, unknown> | undefined {
  try {
    const result = typeof error.toJSON === 'function' ? error.toJSON('') : undefined
    handleRejection(result)
    return typeof result === 'object' && result !== null && result !== error ? result : undefined
  } catch {
    return undefined
  }
}

/**
 * Returns `smallCharacters` less the characters of a value, or a negative number if the value is not small plain data.
 * A text counts as one character, and so does any other value except an object or a function.
 */
function smallDataLeft(value: unknown): number {
  if (typeof value === 'object' && value !== null) return charactersLeft(value, smallCharacters)
  return typeof value === 'function' ? -1 : smallCharacters - 1
}
