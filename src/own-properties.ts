/**
 * Copies the own enumerable properties of an object to an object that inherits nothing. Options are read from such
 * copies only, and Node gets such copies. A library may add properties to `Object.prototype`, and an inherited `dispatcher`
 * would get the token.
 */
export function ownProperties<T extends object>(given: T): T {
  return Object.assign(Object.create(null), given)
}

const groupTags = ['[object Object]', '[object Module]']

/** True for an object with options as properties; false for an array, a Map, a promise and the like. */
export function isOptionGroup(value: unknown): value is object {
  return typeof value === 'object' && value !== null && groupTags.includes(Object.prototype.toString.call(value))
}

/** Returns a property of an object that is not of this package, unless only `Object.prototype` has it. */
export function propertyOf(object: object, name: string): unknown {
  const isInherited = Object.hasOwn(Object.prototype, name) && !Object.hasOwn(object, name)
  return isInherited ? undefined : (object as Record<string, unknown>)[name]
}
