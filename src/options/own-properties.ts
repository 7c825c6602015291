/**
 * A copy with the own enumerable properties of an object, which inherits nothing. Options are read from such a copy alone:
 * an application may load a library that adds to `Object.prototype`, and an inherited `dispatcher` would be given the token.
 */
export function ownProperties<T extends object>(given: T): T {
  return Object.assign(Object.create(null), given)
}
