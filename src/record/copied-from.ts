import { isProxy } from 'node:util/types'

const copiedFrom: unique symbol = Symbol('logferry.copiedFrom')

type Copy = { [copiedFrom]?: object | undefined }

/**
 * Notes that an object is a copy of an event, with other fields of its own. An event that contains itself then still
 * does, although its members know the original only.
 */
export function noteOriginal<Event extends object>(copy: Event, original: object): Event {
  const noted: Copy = copy
  noted[copiedFrom] ??= original
  return copy
}

/** Notes that no member of a copy refers to the event that it was made of. */
export function forgetOriginal(copy: object): void {
  if (Object.hasOwn(copy, copiedFrom)) (copy as Copy)[copiedFrom] = undefined
}

/** Returns the event that an object is a copy of, if that was noted. Runs no code of the application. */
export function originalOf(event: object): object | undefined {
  return !isProxy(event) && Object.hasOwn(event, copiedFrom) ? (event as Copy)[copiedFrom] : undefined
}
