/**
 * Copies the own enumerable properties of an object to an object that inherits nothing. Options are read from such
 * copies only, and Node gets such copies. A library may add properties to `Object.prototype`, and an inherited `dispatcher`
 * would get the token.
 */
export function ownProperties<T extends object>(given: T): T {
  return Object.assign(Object.create(null), given)
}

/** Returns a property of an object that is not of this package, unless only `Object.prototype` has it. */
export function propertyOf(object: object, name: string): unknown {
  const isInherited = Object.hasOwn(Object.prototype, name) && !Object.hasOwn(object, name)
  return isInherited ? undefined : (object as Record<string, unknown>)[name]
}
