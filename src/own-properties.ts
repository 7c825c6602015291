/**
 * Copies the own enumerable properties of an object to an object that inherits nothing. Options are read from such
 * copies only. A library may add properties to `Object.prototype`, and an inherited `dispatcher` would get the token.
 */
export function ownProperties<T extends object>(given: T): T {
  return Object.assign(Object.create(null), given)
}
