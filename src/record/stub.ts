import { isDate, isPromise, isWeakMap, isWeakSet } from 'node:util/types'
import { isError } from './error-fields.ts'

// Texts that stand for values that JSON cannot represent.

const maxNameLength = 200
const throwsStart = '[Throws: '

/** Returns the stub of an object that has no content to log, or `undefined` for any other object. */
export function objectStub(value: object): string | undefined {
  if (isDate(value)) return Number.isNaN(Date.prototype.getTime.call(value)) ? 'Invalid Date' : undefined
  if (isPromise(value)) return '[Promise]'
  if (isWeakMap(value)) return '[WeakMap]'
  if (isWeakSet(value)) return '[WeakSet]'
  return value instanceof WeakRef ? '[WeakRef]' : undefined
}

export function functionStub(value: { readonly name: unknown }): string {
  return `[Function ${String(value.name || 'anonymous').slice(0, maxNameLength)}]`
}

export function symbolStub({ description = '' }: symbol): string {
  return `Symbol(${description.slice(0, maxNameLength)})`
}

/** Returns the stub of a value that threw `thrown` when it was read. Never throws, whatever `thrown` is. */
export function throwsStub(thrown: unknown): string {
  try {
    return `${throwsStart}${String(isError(thrown) ? thrown.message : thrown).slice(0, maxNameLength)}]`
  } catch {
    return '[Throws]'
  }
}

/** True if a text may be the stub of a thrown error whose message was cut. The cut may have broken a secret. */
export function mayBeCutStub(text: string): boolean {
  return text.length === throwsStart.length + maxNameLength + 1 && text.startsWith(throwsStart)
}
