import {
  isAnyArrayBuffer,
  isBigIntObject,
  isBooleanObject,
  isBoxedPrimitive,
  isDataView,
  isDate,
  isNumberObject,
  isRegExp,
  isStringObject,
  isUint8Array,
} from 'node:util/types'

// Objects of the language and the platform whose content is not in their fields. `util.types` looks at what an object
// is, not at its prototype: it tells true for objects of other realms, and neither traps nor getters are called.

/** The text or number that an object stands for; `undefined` when it is not of such a kind. */
export function primitiveOf(value: object): unknown {
  if (isDate(value)) return Date.prototype.toISOString.call(value)
  if (isRegExp(value)) return RegExp.prototype.toString.call(value)
  if (isBoxedPrimitive(value)) return unboxed(value)
  if (value instanceof URLSearchParams) return URLSearchParams.prototype.toString.call(value)
  return undefined
}

function unboxed(value: object): unknown {
  if (isStringObject(value)) return String.prototype.valueOf.call(value)
  if (isNumberObject(value)) return Number.prototype.valueOf.call(value)
  if (isBooleanObject(value)) return Boolean.prototype.valueOf.call(value)
  if (isBigIntObject(value)) return BigInt.prototype.valueOf.call(value)
  return Symbol.prototype.valueOf.call(value)
}

/** The bytes that an object holds; `undefined` when it holds no bytes (numbers, even one byte wide, are not bytes). */
export function bytesOf(value: object): Uint8Array | undefined {
  if (isUint8Array(value)) return value
  if (isAnyArrayBuffer(value)) return new Uint8Array(value)
  if (isDataView(value)) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength)
  return undefined
}
