import { delay } from '../time.ts'
import type { Store } from './store.ts'

type Outcome = 'arrived' | 'too late' | 'closed'

interface Waiting {
  dataset: string
  count: number
  settle: (outcome: Outcome) => void
}

/** Those who wait for events. Each is answered exactly once: by the events, by the time, or by the end. */
export class Arrivals {
  #store: Store
  #waiting = new Set<Waiting>()

  constructor(store: Store) {
    this.#store = store
  }

  async wait(dataset: string, count: number, timeoutMs: number): Promise<Outcome> {
    if (this.#store.count(dataset) >= count) return 'arrived'
    const { promise, resolve } = Promise.withResolvers<Outcome>()
    const waiting = { dataset, count, settle: resolve }
    const timer = new AbortController()
    this.#waiting.add(waiting)
    delay(timeoutMs, 'too late' as const, { signal: timer.signal }).then(resolve, () => {})
    const outcome = await promise
    timer.abort()
    this.#waiting.delete(waiting)
    return outcome
  }

  /** To be called when events were stored. */
  arrived(dataset: string): void {
    const count = this.#store.count(dataset)
    for (const waiting of this.#waiting) {
      if (waiting.dataset === dataset && count >= waiting.count) waiting.settle('arrived')
    }
  }

  end(): void {
    for (const waiting of this.#waiting) waiting.settle('closed')
  }
}
