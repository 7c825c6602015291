import { isPromise } from 'node:util/types'
import { NativePromise } from '../native-promise.ts'

/**
 * Handles the rejection of a value that is a promise. Logferry called a function of the application and waits for no
 * promise, so without this a rejection would end the process.
 */
export function handleRejection(value: unknown, onRejected: (reason: Error) => void = ignore): void {
  if (isPromise(value)) NativePromise.prototype.then.call(value, undefined, onRejected)
}

function ignore(): void {}
