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

/** Maximum number of dots in a path that is looked for in nested fields. The number of ways to it doubles with each. */
const maxDots = 8

/**
 * Returns a field of an event by its path, or `undefined` if the event has none. The path may be the name of the field,
 * may lead through groups, or both: `user.id` finds `{ "user": { "id": 1 } }` as well.
 *
 * @throws whatever an accessor of the event throws
 */
export function fieldAt(event: object, path: string): unknown {
  const own = shippedField(event, path)
  if (own !== undefined || path.split('.', maxDots + 2).length > maxDots + 1) return own
  for (let dot = path.indexOf('.'); dot >= 0; dot = path.indexOf('.', dot + 1)) {
    const group = shippedField(event, path.slice(0, dot))
    if (typeof group !== 'object' || group === null) continue
    const field = fieldAt(group, path.slice(dot + 1))
    if (field !== undefined) return field
  }
  return undefined
}

/** True if the line of an event has other fields than the object: the entries of a Map, or the result of `toJSON`. */
export function hasOtherFields(event: object): boolean {
  try {
    return typeof (event as { toJSON?: unknown }).toJSON === 'function' || (!isRecord(event) && isMap(event))
  } catch {
    return false // not an object, or an accessor or a proxy threw
  }
}
