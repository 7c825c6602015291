/** Loads the event that is open. The last events stay here, so that moving back and forth asks nothing twice. */
import { api, messageOf, wasAborted } from './api.ts'
import { parseJson } from './json-nodes.ts'
import type { DetailState, Store } from './state.ts'

const maxKept = 20
const maxKeptChars = 256 * 1024
/** Time that a row must be open before it is loaded, so that a held key does not load every row that it passes. */
const settleMs = 60

export class DetailLoader {
  readonly #store: Store
  readonly #kept = new Map<string, Extract<DetailState, { kind: 'shown' }>>()
  #loading: AbortController | undefined
  /** The event that was opened last. While it loads, the event before may still be shown. */
  #openId = ''
  #lastOpenAt = 0

  constructor(store: Store) {
    this.#store = store
  }

  close(): void {
    this.#loading?.abort()
    this.#store.set({ detail: { kind: 'none' } })
  }

  /** Opens an event. `time` finds it again if the service was started anew with the same events. */
  async open(id: string, time = ''): Promise<void> {
    const { detail } = this.#store.state
    if (detail.kind !== 'none' && detail.kind !== 'failed' && this.#openId === id) return
    this.#openId = id
    this.#loading?.abort()
    const kept = this.#kept.get(id)
    if (kept !== undefined) {
      this.#store.set({ detail: kept })
      return
    }
    const loading = new AbortController()
    this.#loading = loading
    const isHurried = Date.now() - this.#lastOpenAt < settleMs
    this.#lastOpenAt = Date.now()
    // The event before stays on the screen until this one is here: a panel that empties itself flickers.
    if (detail.kind !== 'shown') this.#store.set({ detail: { kind: 'loading', id } })
    if (isHurried) await new Promise(resolve => setTimeout(resolve, settleMs))
    if (loading.signal.aborted) return
    try {
      const event = await api.event({ id, t: time }, loading.signal)
      const shown = { kind: 'shown', id, event, node: parseJson(event.line) } as const
      this.#keep(id, shown)
      if (!loading.signal.aborted) this.#store.set({ detail: shown })
    } catch (error) {
      if (!loading.signal.aborted && !wasAborted(error))
        this.#store.set({ detail: { kind: 'failed', id, message: messageOf(error) } })
    }
  }

  #keep(id: string, shown: Extract<DetailState, { kind: 'shown' }>): void {
    if (shown.event.line.length > maxKeptChars) return
    this.#kept.set(id, shown)
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= maxKept) break
      this.#kept.delete(oldest)
    }
  }
}
