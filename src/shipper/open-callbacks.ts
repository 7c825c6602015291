import { monotonicMs } from '../time.ts'
import { settlesWithin } from './settles-within.ts'

/** Callbacks that have been given out and not been called. */
export class OpenCallbacks {
  #count = 0
  #onNone: (() => void) | undefined

  open(): () => void {
    this.#count++
    return once(() => {
      if (--this.#count === 0) this.#onNone?.()
    })
  }

  /** Waits until all have been called, for `timeoutMs` at most. Returns how much of that is left, in milliseconds. */
  async wait(timeoutMs: number): Promise<number> {
    if (this.#count === 0) return timeoutMs
    const startedAtMs = monotonicMs()
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#onNone = resolve
    await settlesWithin(promise, timeoutMs)
    return Math.max(timeoutMs - (monotonicMs() - startedAtMs), 0)
  }
}

/** A function that calls `callback` the first time alone: a stream takes a second call for an error. */
export function once(callback: (error?: null) => void): () => void {
  let isCalled = false
  return () => {
    if (isCalled) return
    isCalled = true
    callback(null)
  }
}
