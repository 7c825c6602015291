const isEnumerable = Object.prototype.propertyIsEnumerable

/**
 * Returns a field of an event, or `undefined` if the event has none that is sent. An inherited field is not sent, unless
 * a `toJSON` says otherwise.
 *
 * @throws whatever an accessor of the event throws
 */
export function shippedField(event: object, name: string): unknown {
  const value = (event as Record<string, unknown> | null | undefined)?.[name]
  if (value === undefined || isEnumerable.call(event, name)) return value
  return typeof (event as { toJSON?: unknown }).toJSON === 'function' ? value : undefined
}
