import { isPromise } from 'node:util/types'

/**
 * Handles the rejection of a value that is a promise. Logferry called a function of the application and waits for no
 * promise, so without this a rejection would end the process.
 */
export function handleRejection(value: unknown, onRejected: (reason: Error) => void = ignore): void {
  if (isPromise(value)) Promise.prototype.then.call(value, undefined, onRejected)
}

function ignore(): void {}
