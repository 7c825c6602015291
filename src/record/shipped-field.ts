import { isMap } from 'node:util/types'
import { isRecord } from './is-plain-data.ts'

const isEnumerable = Object.prototype.propertyIsEnumerable

/**
 * Returns a field of an event, or `undefined` if the event has none that is sent. An inherited field is not sent.
 *
 * @throws whatever an accessor of the event throws
 */
export function shippedField(event: object, name: string): unknown {
  const value = (event as Record<string, unknown> | null | undefined)?.[name]
  return value === undefined || isEnumerable.call(event, name) ? value : undefined
}

/** True if the line of an event has other fields than the object: the entries of a Map, or the result of `toJSON`. */
export function hasOtherFields(event: object): boolean {
  try {
    return typeof (event as { toJSON?: unknown }).toJSON === 'function' || (!isRecord(event) && isMap(event))
  } catch {
    return false // not an object, or an accessor or a proxy threw
  }
}
