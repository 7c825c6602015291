import { NativePromise } from '../native-promise.ts'
import { delay } from '../time.ts'
import type { Store } from './store.ts'

type Outcome = 'arrived' | 'too late' | 'closed'

interface Waiting {
  dataset: string
  count: number
  settle: (outcome: Outcome) => void
}

/**
 * The pending calls of `waitForEvents`. Each call is settled exactly once: by the events, by its timeout, or by the end
 * of the emulator.
 */
export class Arrivals {
  #store: Store
  #waiting = new Set<Waiting>()
  #isEnded = false

  constructor(store: Store) {
    this.#store = store
  }

  async wait(dataset: string, count: number, timeoutMs: number): Promise<Outcome> {
    if (this.#store.count(dataset) >= count) return 'arrived'
    if (this.#isEnded) return 'closed'
    const { promise, resolve } = NativePromise.withResolvers<Outcome>()
    const waiting = { dataset, count, settle: resolve }
    const timer = new AbortController()
    this.#waiting.add(waiting)
    delay(timeoutMs, 'too late' as const, { signal: timer.signal }).then(resolve, () => {})
    const outcome = await promise
    timer.abort()
    this.#waiting.delete(waiting)
    return outcome
  }

  /** Settles the calls whose events have arrived. Must be called after events are stored. */
  arrived(dataset: string): void {
    const count = this.#store.count(dataset)
    for (const waiting of this.#waiting) {
      if (waiting.dataset === dataset && count >= waiting.count) waiting.settle('arrived')
    }
  }

  end(): void {
    this.#isEnded = true
    for (const waiting of this.#waiting) waiting.settle('closed')
  }
}
