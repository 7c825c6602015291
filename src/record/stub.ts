import { isDate, isPromise, isWeakMap, isWeakSet } from 'node:util/types'
import { isError } from './error-fields.ts'

// Texts that stand for values that JSON cannot represent.

const maxNameLength = 200
const throwsStart = '[Throws: '
const functionStart = '[Function '
const symbolStart = 'Symbol('

const hugeStub = '[BigInt]'
/**
 * BigInts from this size on become a stub. They take long to write in decimal, and applications do not log them on
 * purpose.
 */
const largestBigInt = 2n ** 4096n

/** Returns the stub of a BigInt that would take long to write, or `undefined` for any other value. */
export function bigIntStub(value: unknown): string | undefined {
  return typeof value === 'bigint' && (value <= -largestBigInt || value >= largestBigInt) ? hugeStub : undefined
}

/** Returns the stub of an object that has no content to log, or `undefined` for any other object. */
export function objectStub(value: object): string | undefined {
  if (isDate(value)) return Number.isNaN(Date.prototype.getTime.call(value)) ? 'Invalid Date' : undefined
  if (isPromise(value)) return '[Promise]'
  if (isWeakMap(value)) return '[WeakMap]'
  if (isWeakSet(value)) return '[WeakSet]'
  return value instanceof WeakRef ? '[WeakRef]' : undefined
}

export function functionStub(value: { readonly name: unknown }): string {
  return `${functionStart}${shortName(textOf(value.name || 'anonymous'))}]`
}

export function symbolStub({ description = '' }: symbol): string {
  return `${symbolStart}${shortName(description)})`
}

/** Returns the stub of a value that threw `thrown` when it was read. Never throws, whatever `thrown` is. */
export function throwsStub(thrown: unknown): string {
  try {
    return `${throwsStart}${shortName(textOf(isError(thrown) ? thrown.message : thrown))}]`
  } catch {
    return '[Throws]'
  }
}

function textOf(value: unknown): string {
  return bigIntStub(value) ?? String(value)
}

/** Half a character at the cut is replaced, not removed, so that `namelessIfCut` knows the length. */
function shortName(name: string): string {
  return name.length > maxNameLength ? name.slice(0, maxNameLength).toWellFormed() : name
}

/** The stubs that have a name or a message, by their beginnings and ends: with it, and without it. */
const namedStubs = [
  { start: throwsStart, end: ']', nameless: '[Throws]' },
  { start: functionStart, end: ']', nameless: '[Function]' },
  { start: symbolStart, end: ')', nameless: 'Symbol()' },
]

/**
 * Returns the stub without its name, if the text may be a stub whose name or message was cut. The cut may have broken a
 * secret. Returns `undefined` for any other text.
 */
export function namelessIfCut(text: string): string | undefined {
  for (const { start, end, nameless } of namedStubs) {
    const isLong = text.length === start.length + maxNameLength + end.length
    if (isLong && text.startsWith(start) && text.endsWith(end)) return nameless
  }
  return undefined
}
