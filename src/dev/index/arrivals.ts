import { clearTimeout, setTimeout } from '../../time.ts'

/** Lets readers wait for the next event. */
export class Arrivals {
  readonly #waiting = new Set<() => void>()

  /** Ends all waits. */
  tell(): void {
    if (this.#waiting.size === 0) return
    for (const end of this.#waiting) end()
  }

  /** Waits until an event arrives, the time is over or the signal is aborted. */
  async next(maxMs: number, signal: AbortSignal | undefined): Promise<void> {
    if (signal?.aborted === true || maxMs <= 0) return
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, maxMs)
    const end = (): void => resolve()
    this.#waiting.add(end)
    signal?.addEventListener('abort', end)
    await promise
    clearTimeout(timer)
    this.#waiting.delete(end)
    signal?.removeEventListener('abort', end) // the signal may be that of a reader who waits thousands of times
  }
}
