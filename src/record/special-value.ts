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

// These objects of the language and the platform have content that is not in their fields. `util.types` examines an
// object itself, not its prototype. So it recognizes objects of other realms, and calls neither traps nor getters.

/** Returns the primitive value that an object stands for, or `undefined` for any other object. */
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

/**
 * Returns the bytes that an object holds, or `undefined` for any other object. Numbers, even one byte wide, are not
 * bytes.
 */
export function bytesOf(value: object): Uint8Array | undefined {
  if (isUint8Array(value)) return value
  if (isAnyArrayBuffer(value)) return new Uint8Array(value)
  if (isDataView(value)) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength)
  return undefined
}
