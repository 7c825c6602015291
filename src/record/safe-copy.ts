import { isMap, isProxy, isSet, isTypedArray } from 'node:util/types'
import { bareObject } from './bare-object.ts'
import { originalOf } from './copied-from.ts'
import type { Effort } from './effort.ts'
import { errorFields, isError } from './error-fields.ts'
import { httpFields } from './http-message.ts'
import { leftOut, markFieldsLeftOut, markItemsLeftOut } from './left-out.ts'
import { isPlainObject, maxDepth, type NonFinite, type Plain, type PlainObject } from './plain.ts'
import { bytesOf, primitiveOf } from './special-value.ts'
import { bigIntStub, functionStub, objectStub, symbolStub, throwsStub } from './stub.ts'
import { handleRejection } from './unheard-rejection.ts'

// Costs in units, each about 0.1 µs (measured 2026-11-22, 2 cores, Node 24).
const containerUnits = 5
const itemUnits = 0.5
/** Items with many digits, which take longer to measure and to write than to copy. */
const longNumberUnits = 1
const stubUnits = 3
/** Objects with more fields than this are hash tables, which take longer to fill, to measure and to cut. */
const manyFields = 100
const wideFieldUnits = 4
const errorUnits = 100
const httpUnits = 30
const throwUnits = 30
const dateUnits = 5
const namesPerUnit = 8
const charactersPerUnit = 100
/** Minimum number of units left for reading a container. */
const minUnits = 16
/** Maximum nesting depth at which a field leaves a part of the effort to the fields after it. The event has depth 1. */
const fairDepth = 3
/** Names of objects with more names than this are listed once, however often the object is met. */
const manyNames = 1000
const base64BytesPerByte = 4 / 3

/** BigInts below this size cost no units. */
const smallBigInt = 2n ** 64n

type Key = string | number
/** A value is a member of an object, or the result of a `toJSON`. */
type Source = 'member' | 'toJSON'

const mapSize = Object.getOwnPropertyDescriptor(Map.prototype, 'size')?.get as (this: unknown) => number
const isEnumerable = Object.prototype.propertyIsEnumerable

/**
 * Copies one event into plain data, and calls each getter and each `toJSON` once.
 *
 * Each container pays for its members before it reads them, with at most half of the units left. So the copy ends soon,
 * however large the event is, or claims to be as a proxy. Near the root, each field leaves a quarter of the remaining
 * effort to the fields after it.
 */
export class SafeCopy {
  /** True if a value was replaced by a stub. */
  stubbed = false
  /** True if members were left out. */
  cut = false
  readonly #maxBytes: number
  readonly #effort: Effort
  readonly #nonFinite: NonFinite
  readonly #ancestors: object[] = []
  /** The event of which the event being copied is itself a copy. */
  #original: object | undefined
  /**
   * Prototype of the last object whose content is in its fields. Objects of the same class, such as rows of a table,
   * skip the check for special content.
   */
  #ordinary: unknown
  readonly #names = new Map<object, readonly PropertyKey[]>()

  constructor(maxBytes: number, effort: Effort, nonFinite: NonFinite = 'null') {
    this.#maxBytes = maxBytes
    this.#nonFinite = nonFinite
    this.#effort = effort
  }

  /**
   * Copies an event. Fields named in `kept` are copied even if they would be left out.
   *
   * @param names the names of the event, if they have just been listed
   */
  of(event: unknown, kept: readonly string[], names?: readonly string[]): Plain {
    if (names !== undefined) this.#names.set(event as object, names)
    // Each member takes at least one byte, so more members than `maxBytes` cannot fit.
    const reserve = this.#effort.limitTo(this.#maxBytes)
    this.#original = typeof event === 'object' && event !== null ? originalOf(event) : undefined
    const copy = this.#read(() => event, '') ?? null
    if (this.cut && isPlainObject(copy)) {
      const fields = event as Record<string, unknown>
      const read = (name: string) => (Object.hasOwn(fields, name) ? fields[name] : undefined) // no method of a class
      for (const name of kept) if (!(name in copy)) this.#addField(copy, name, () => read(name))
    }
    this.#effort.giveBack(reserve)
    return copy
  }

  /** Copies the value that `read` returns. If reading or copying throws, a stub replaces the value. */
  #read<K extends Key>(read: (key: K) => unknown, key: K): Plain | undefined {
    try {
      return this.#value(read(key), key)
    } catch (thrown) {
      this.#effort.spend(throwUnits)
      return this.#stub(throwsStub(thrown))
    }
  }

  /** Copies a value. The `toJSON` of the result of a `toJSON` is not called, as in `JSON.stringify`. */
  #value(value: unknown, key: Key, source: Source = 'member'): Plain | undefined {
    switch (typeof value) {
      case 'string':
      case 'boolean':
      case 'undefined':
        return value
      case 'number':
        if (Number.isFinite(value)) return typeof key === 'number' ? this.#item(value) : value
        return this.#nonFinite === 'text' ? String(value) : null
      case 'bigint':
        return this.#bigInt(value)
      case 'symbol':
        return this.#stub(symbolStub(value))
      case 'function':
        return this.#stub(functionStub(value))
      default:
        return value === null ? null : this.#object(value as object, key, source)
    }
  }

  #item(number: number): number {
    if (!Number.isSafeInteger(number)) this.#effort.spend(longNumberUnits)
    return number
  }

  #stub(text: string): string {
    this.stubbed = true
    this.#effort.spend(stubUnits + text.length / charactersPerUnit)
    return text
  }

  #leftOut(): string {
    this.cut = true
    return leftOut
  }

  #bigInt(value: bigint): string {
    if (-smallBigInt < value && value < smallBigInt) return String(value)
    const stub = bigIntStub(value)
    if (stub !== undefined) return this.#stub(stub)
    const text = String(value)
    this.#effort.spend(text.length / 10)
    return text
  }

  #object(value: object, key: Key, source: Source): Plain | undefined {
    if (value === this.#original || this.#ancestors.includes(value)) return this.#stub('[Circular]')
    if (this.#ancestors.length > maxDepth) return this.#stub('[Depth]')
    if (this.#ancestors.length > 0 && !this.#mayReadOn()) return this.#leftOut()
    this.#effort.spend(containerUnits)
    this.#ancestors.push(value)
    try {
      return this.#contents(value, key, source)
    } finally {
      this.#ancestors.pop()
    }
  }

  #contents(value: object, key: Key, source: Source): Plain | undefined {
    if (isError(value)) {
      this.#effort.spend(errorUnits)
      const { names, total, read, units } = errorFields(value)
      this.#effort.spend(units)
      return this.#fields(names, total, read)
    }
    const prototype = Object.getPrototypeOf(value)
    if (prototype !== Object.prototype && prototype !== Array.prototype && prototype !== null) {
      const special = prototype === this.#ordinary ? undefined : this.#special(value, key)
      if (special !== undefined) return special
      // Nearly all built-in classes have a tag. They never count as ordinary, because an object may only pose as one of
      // them.
      if (!(Symbol.toStringTag in prototype)) this.#ordinary = prototype
    }
    const fields = value as Record<PropertyKey, unknown>
    if (source !== 'toJSON' && typeof fields.toJSON === 'function') {
      const result = fields.toJSON(key)
      handleRejection(result)
      if (result !== value) return this.#value(result, key, 'toJSON')
    }
    if (Array.isArray(value)) return this.#items(i => value[i], value.length)
    const proxy = isProxy(value) ? value : undefined
    const names = this.#namesOf(value, proxy)
    return this.#fields(names, names.length, name => fields[name], proxy)
  }

  /** Copies an object whose content is not in its fields. Returns `undefined` for any other object. */
  #special(value: object, key: Key): Plain | undefined {
    const stub = objectStub(value)
    if (stub !== undefined) return this.#stub(stub)
    const primitive = primitiveOf(value)
    if (primitive !== undefined) {
      this.#effort.spend(typeof primitive === 'string' ? dateUnits + primitive.length / charactersPerUnit : 1)
      return this.#value(primitive, key)
    }
    const bytes = bytesOf(value)
    if (bytes !== undefined) return this.#base64(bytes)
    if (isMap(value)) return this.#map(value)
    if (isSet(value)) {
      const items = Set.prototype.values.call(value)
      return this.#items(() => items.next().value, value.size)
    }
    if (isTypedArray(value)) return this.#items(i => value[i], value.length)
    const http = httpFields(value, () => this.#mayReadOn())
    if (http === undefined) return undefined
    this.#effort.spend(httpUnits)
    if (leftOut in http) this.cut = true
    return this.#value(http, key)
  }

  #map(map: Map<unknown, unknown>): Plain {
    const total = mapSize.call(map)
    const names = firstOf(Map.prototype.keys.call(map), Math.min(total, this.#effort.units / 2 / wideFieldUnits))
    this.#effort.spend(names.length / namesPerUnit)
    if (names.every(name => typeof name === 'string'))
      return this.#fields(names, total, name => Map.prototype.get.call(map, name))
    const keys = keysByName(names)
    if (keys !== undefined) {
      this.stubbed ||= names.some(name => bigIntStub(name) !== undefined)
      return this.#fields([...keys.keys()], total, name => Map.prototype.get.call(map, keys.get(name)))
    }
    const pairs = Map.prototype.entries.call(map)
    return this.#items(() => pairs.next().value, total)
  }

  #items(read: (index: number) => unknown, length: number): Plain[] {
    const total = Math.max(0, Math.trunc(length)) || 0 // a proxy may report any length
    const copy: Plain[] = []
    const count = this.#effort.afford(total, itemUnits)
    for (let i = 0; i < count && this.#mayReadOn(); i++) copy.push(this.#read(read, i) ?? null)
    if (copy.length < total) {
      this.cut = true
      markItemsLeftOut(copy, total)
    }
    return copy
  }

  /** @param proxy the object to ask if a name is enumerable; given if `names` may include names that are not */
  #fields(names: readonly PropertyKey[], total: number, read: (name: string) => unknown, proxy?: object): PlainObject {
    const copy = bareObject() as PlainObject
    const isFair = this.#ancestors.length <= fairDepth
    const count = Math.min(this.#effort.afford(total, total > manyFields ? wideFieldUnits : 1), names.length)
    let seen = 0
    for (; seen < count && this.#mayReadOn(); seen++) {
      const name = names[seen] as PropertyKey
      if (typeof name !== 'string' || (proxy !== undefined && !isEnumerable.call(proxy, name))) continue
      const reserve = isFair ? this.#effort.reserve() : undefined
      this.#addField(copy, name, read)
      if (reserve !== undefined) this.#effort.giveBack(reserve)
    }
    if (seen < total) {
      this.cut = true
      markFieldsLeftOut(copy, total)
    }
    return copy
  }

  #addField(copy: PlainObject, name: string, read: (name: string) => unknown): void {
    const value = this.#read(read, name)
    if (value !== undefined) copy[name] = value
  }

  #namesOf(value: object, proxy: object | undefined): readonly PropertyKey[] {
    const known = this.#names.get(value)
    if (known !== undefined) return known
    // Listing cannot be interrupted. Only the keys of a proxy are listed, because asking if each key is enumerable
    // takes longer.
    const names = proxy !== undefined ? Reflect.ownKeys(proxy) : Object.keys(value)
    this.#effort.spend(Math.min(names.length / namesPerUnit, this.#effort.units / 2))
    if (names.length > manyNames) this.#names.set(value, names)
    return names
  }

  #base64(bytes: Uint8Array): string {
    const maxCount = Math.floor(this.#maxBytes / base64BytesPerByte)
    const count = Math.min(bytes.length, maxCount, Math.floor((this.#effort.units / 2) * charactersPerUnit))
    this.#effort.spend(count / charactersPerUnit)
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, count).toString('base64')
    if (count === bytes.length) return text
    this.cut = true
    return `${text}... [${bytes.length - count} more bytes]`
  }

  #mayReadOn(): boolean {
    return this.#effort.units >= minUnits && !this.#effort.isLate()
  }
}

/**
 * Returns the keys of a Map by their names. Returns `undefined` unless some keys are texts, the others numbers and the
 * like, and no two have the same name. The entries of such a Map become fields, so that `redact.paths` finds the values
 * with a name.
 */
function keysByName(keys: readonly unknown[]): Map<string, unknown> | undefined {
  if (!keys.some(key => typeof key === 'string') || keys.some(isObjectLike)) return undefined
  const byName = new Map(keys.map(key => [bigIntStub(key) ?? String(key), key]))
  return byName.size === keys.length ? byName : undefined
}

function isObjectLike(key: unknown): boolean {
  return typeof key === 'function' || (typeof key === 'object' && key !== null)
}

function firstOf(values: Iterator<unknown>, count: number): unknown[] {
  const first: unknown[] = []
  while (first.length < count) first.push(values.next().value)
  return first
}
