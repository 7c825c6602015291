import { NativePromise } from '../native-promise.ts'
import { monotonicMs } from '../time.ts'
import { settlesWithin } from '../time-limits.ts'

/** Callbacks that were given out and have not been called. */
export class OpenCallbacks {
  #count = 0
  #onNone: (() => void) | undefined

  open(): () => void {
    this.#count++
    return once(() => {
      if (--this.#count === 0) this.#onNone?.()
    })
  }

  /**
   * Waits until all callbacks have been called, for `timeoutMs` at most. Returns the remaining time, in milliseconds.
   */
  async wait(timeoutMs: number): Promise<number> {
    if (this.#count === 0) return timeoutMs
    const startedAtMs = monotonicMs()
    const { promise, resolve } = NativePromise.withResolvers<void>()
    this.#onNone = resolve
    await settlesWithin(promise, timeoutMs)
    return Math.max(timeoutMs - (monotonicMs() - startedAtMs), 0)
  }
}

/** Returns a function that calls `callback` the first time only: a stream treats a second call as an error. */
export function once(callback: (error?: null) => void): () => void {
  let isCalled = false
  return () => {
    if (isCalled) return
    isCalled = true
    callback(null)
  }
}
