import { isDate, isPromise, isWeakMap, isWeakSet } from 'node:util/types'
import { isError } from './error-fields.ts'

// Texts that stand for what JSON has no words for.

const maxNameLength = 200

/** The stub of an object that nothing can be told of; `undefined` when something can. */
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

/** The stub of a value that threw `thrown` when it was looked at. Does not throw, whatever that is. */
export function throwsStub(thrown: unknown): string {
  try {
    return `[Throws: ${String(isError(thrown) ? thrown.message : thrown).slice(0, maxNameLength)}]`
  } catch {
    return '[Throws]'
  }
}
