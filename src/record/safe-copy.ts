import * as types from 'node:util/types'
import { bareObject } from './bare-object.ts'
import { errorFields, isError } from './error-fields.ts'
import { mostJsonBytes } from './json-text.ts'
import { markFieldsLeftOut, markItemsLeftOut } from './left-out.ts'
import { isPlainObject, maxDepth, type Plain, type PlainObject } from './plain.ts'
import { bytesOf, primitiveOf } from './special-value.ts'
import { functionStub, objectStub, throwsStub } from './stub.ts'

/** Fewest bytes that a member takes in JSON: `0,` in an array, `"a":0,` in an object. */
const itemBytes = 2
const fieldBytes = 6
/** The longest number, as that is longer than brackets, and colon and comma. */
const mostMemberBytes = 26
const base64BytesPerByte = 4 / 3

/** A larger BigInt takes long to write in decimal; nobody logs one on purpose. */
const largestBigInt = 2n ** 4096n

type Key = string | number

/**
 * Copies one event into plain data, calling each getter and each `toJSON` once.
 *
 * Each container pays for its members before it looks into them, with half of the room that is left at most. From a room
 * of twice `maxBytes` that is enough for any that can fit. So the copy ends soon, however large the event is (or, as a
 * proxy, pretends to be), and what comes after a large field is not starved.
 */
export class SafeCopy {
  /** Whether a value was replaced by a stub. */
  stubbed = false
  /** Whether members were left out because the event cannot fit. */
  cut = false
  /** Bytes that the JSON takes at most. */
  mostBytes = 0
  #room: number
  readonly #ancestors: object[] = []

  constructor(maxBytes: number) {
    this.#room = 2 * maxBytes
  }

  /** The copy of an event, with those of its fields that are named in `kept` even if there is no room for all. */
  of(event: unknown, kept: readonly string[]): Plain {
    const copy = this.#read(() => event, '') ?? null
    if (this.cut && isPlainObject(copy)) {
      const fields = event as Record<string, unknown>
      for (const name of kept) if (!(name in copy)) this.#addField(copy, name, () => fields[name])
    }
    return copy
  }

  /** The copy of what `read` returns. What it throws, or what a look at the value throws, becomes a stub. */
  #read<K extends Key>(read: (key: K) => unknown, key: K): Plain | undefined {
    try {
      return this.#value(read(key), key)
    } catch (thrown) {
      return this.#stub(throwsStub(thrown))
    }
  }

  /** `wasTold`: the value is the answer of a `toJSON`, so its own `toJSON` is not asked; `JSON.stringify` does the same. */
  #value(value: unknown, key: Key, wasTold = false): Plain | undefined {
    this.mostBytes += mostMemberBytes
    switch (typeof value) {
      case 'string':
        return this.#text(value)
      case 'number':
        return Number.isFinite(value) ? value : null
      case 'boolean':
      case 'undefined':
        return value
      case 'bigint':
        return -largestBigInt < value && value < largestBigInt ? this.#text(String(value)) : this.#stub('[BigInt]')
      case 'symbol':
        return this.#stub(String(value))
      case 'function':
        return this.#stub(functionStub(value))
      default:
        return value === null ? null : this.#object(value as object, key, wasTold)
    }
  }

  #text(text: string): string {
    this.mostBytes += mostJsonBytes(text)
    return text
  }

  #stub(text: string): string {
    this.stubbed = true
    return this.#text(text)
  }

  #object(value: object, key: Key, wasTold: boolean): Plain | undefined {
    if (this.#ancestors.includes(value)) return this.#stub('[Circular]')
    if (this.#ancestors.length > maxDepth) return this.#stub('[Depth]')
    this.#ancestors.push(value)
    try {
      return this.#contents(value, key, wasTold)
    } finally {
      this.#ancestors.pop()
    }
  }

  #contents(value: object, key: Key, wasTold: boolean): Plain | undefined {
    if (isError(value)) {
      const { names, read } = errorFields(value)
      return this.#fields(names, read)
    }
    const prototype = Object.getPrototypeOf(value)
    if (prototype !== Object.prototype && prototype !== Array.prototype && prototype !== null) {
      const special = this.#special(value, key)
      if (special !== undefined) return special
    }
    const source = value as Record<string, unknown>
    if (!wasTold && typeof source.toJSON === 'function') {
      const told = source.toJSON(key)
      if (told !== value) return this.#value(told, key, true)
    }
    if (Array.isArray(value)) return this.#items(i => value[i], value.length)
    return this.#fields(Object.keys(value), name => source[name])
  }

  /** The copy of an object whose content is not in its fields; `undefined` for all others. */
  #special(value: object, key: Key): Plain | undefined {
    const stub = objectStub(value)
    if (stub !== undefined) return this.#stub(stub)
    const primitive = primitiveOf(value)
    if (primitive !== undefined) return this.#value(primitive, key)
    const bytes = bytesOf(value)
    if (bytes !== undefined) return this.#base64(bytes)
    if (types.isMap(value)) return this.#map(value)
    if (types.isSet(value)) {
      const items = Set.prototype.values.call(value)
      return this.#items(() => items.next().value, value.size)
    }
    if (types.isTypedArray(value)) return this.#items(i => value[i], value.length)
    return undefined
  }

  #map(map: Map<unknown, unknown>): Plain {
    const names = [...Map.prototype.keys.call(map)]
    if (names.every(name => typeof name === 'string'))
      return this.#fields(names, name => Map.prototype.get.call(map, name))
    const pairs = Map.prototype.entries.call(map)
    return this.#items(() => pairs.next().value, names.length)
  }

  #items(read: (index: number) => unknown, length: number): Plain[] {
    const total = Math.max(0, Math.trunc(length)) || 0 // a proxy may tell anything
    const copy: Plain[] = []
    const count = this.#afford(total, itemBytes)
    for (let i = 0; i < count; i++) copy.push(this.#read(read, i) ?? null)
    if (count < total) markItemsLeftOut(copy, total)
    return copy
  }

  #fields(names: readonly string[], read: (name: string) => unknown): PlainObject {
    const copy = bareObject() as PlainObject
    const count = this.#afford(names.length, fieldBytes)
    for (let i = 0; i < count; i++) this.#addField(copy, names[i] as string, read)
    if (count < names.length) markFieldsLeftOut(copy, names.length)
    return copy
  }

  #addField(copy: PlainObject, name: string, read: (name: string) => unknown): void {
    const value = this.#read(read, name)
    if (value !== undefined) copy[this.#text(name)] = value
  }

  #base64(bytes: Uint8Array): string {
    const count = this.#afford(bytes.length, base64BytesPerByte)
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, count).toString('base64')
    return this.#text(count < bytes.length ? `${text}... [${bytes.length - count} more bytes]` : text)
  }

  /** Pays for `count` members, or for as many as there is room for. */
  #afford(count: number, bytesEach: number): number {
    const affordable = Math.min(count, Math.floor(this.#room / 2 / bytesEach))
    this.#room -= affordable * bytesEach
    if (affordable < count) this.cut = true
    return affordable
  }
}
