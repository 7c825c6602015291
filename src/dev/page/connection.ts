/**
 * The one stream of this tab. It is opened anew by the page itself, with the id of the last message: the browser would
 * repeat the query of the first attempt, and would not notice that the computer has slept.
 */
import { type LiveMessages, paths } from '../protocol.ts'
import { api, messageOf } from './api.ts'

export type StreamState =
  | { kind: 'connecting' }
  | { kind: 'live' }
  /** The tab is hidden, and holds no connection. */
  | { kind: 'asleep' }
  | { kind: 'offline'; since: number; nextTryAt: number; reason: string }

export type MessageHandlers = { [Name in keyof LiveMessages]: (message: LiveMessages[Name]) => void }

interface ConnectionDeps {
  /** The address of the stream, without where it left off. */
  query: () => URLSearchParams
  handlers: MessageHandlers
  onState: (state: StreamState) => void
  /** Called while the tab is hidden, with the errors since then. */
  onHiddenErrors: (errors: number) => void
}

/** A service that says nothing for so long is gone: it ticks each second. */
const maxSilenceMs = 15_000
const hiddenBeforeSleepMs = 10_000
const hiddenPollMs = 30_000
const minWaitMs = 1000
const maxWaitMs = 10_000

export class Connection {
  readonly #deps: ConnectionDeps
  #source: EventSource | undefined
  #state: StreamState = { kind: 'connecting' }
  #lastId = ''
  #lastMessageAt = 0
  #offlineSince = 0
  /** Why the last try failed, as far as the service has said it. */
  #reason = ''
  #check = new AbortController()
  #waitMs = minWaitMs
  #retryTimer = 0
  #sleepTimer = 0
  #pollTimer = 0
  #errorsWhenHidden: number | undefined

  constructor(deps: ConnectionDeps) {
    this.#deps = deps
  }

  start(): void {
    document.addEventListener('visibilitychange', () => this.#onVisibility())
    window.addEventListener('online', () => this.retryNow())
    setInterval(() => this.#checkSilence(), 1000)
    // Many tabs may be opened in the background at once, and a browser has six connections for all of them.
    if (document.visibilityState === 'hidden') this.#sleep()
    else this.#open()
  }

  /** Opens the stream now, if it is waiting for its next try. */
  retryNow(): void {
    if (this.#state.kind !== 'offline') return
    this.#waitMs = minWaitMs
    this.#open()
  }

  /** Opens the stream anew, for example because the service has given up the view of the last one. */
  reopen(): void {
    if (this.#source !== undefined) this.#open()
  }

  #open(): void {
    this.#close()
    const query = this.#deps.query()
    if (this.#lastId !== '') query.set('after', this.#lastId)
    const source = new EventSource(`${paths.live}?${query}`)
    this.#source = source
    this.#lastMessageAt = Date.now()
    if (this.#state.kind !== 'offline') this.#enter({ kind: 'connecting' })
    for (const name of Object.keys(this.#deps.handlers) as (keyof MessageHandlers)[]) {
      source.addEventListener(name, event => this.#onMessage(source, name, event))
    }
    source.onerror = () => {
      if (source === this.#source) void this.#onLost()
    }
  }

  #close(): void {
    clearTimeout(this.#retryTimer)
    this.#source?.close()
    this.#source = undefined
  }

  #onMessage(source: EventSource, name: keyof MessageHandlers, event: MessageEvent<string>): void {
    if (source !== this.#source) return
    this.#lastMessageAt = Date.now()
    if (event.lastEventId !== '') this.#lastId = event.lastEventId
    const message = JSON.parse(event.data)
    if (name === 'hello') {
      this.#offlineSince = 0
      this.#reason = ''
      this.#check.abort()
      this.#waitMs = minWaitMs
      this.#enter({ kind: 'live' })
    }
    ;(this.#deps.handlers[name] as (message: unknown) => void)(message)
  }

  /** Says why the stream cannot be opened, if the service says it, and tries again. */
  async #onLost(): Promise<void> {
    this.#close()
    if (this.#offlineSince === 0) this.#offlineSince = Date.now()
    const waitMs = this.#waitMs
    this.#waitMs = Math.min(waitMs * 2, maxWaitMs)
    const nextTryAt = Date.now() + waitMs
    this.#enter({ kind: 'offline', since: this.#offlineSince, nextTryAt, reason: this.#reason })
    this.#retryTimer = setTimeout(() => this.#open(), waitMs)
    this.#check.abort()
    this.#check = new AbortController()
    try {
      const { signal } = this.#check
      await api.summary(signal)
      // The service is there, so it has refused the stream, and says why.
      await api.checkLive(this.#deps.query(), signal)
    } catch (error) {
      const state = this.#state
      if (state.kind !== 'offline' || error instanceof DOMException) return
      this.#reason = messageOf(error)
      this.#enter({ ...state, reason: this.#reason })
    }
  }

  #checkSilence(): void {
    if (this.#source === undefined || Date.now() - this.#lastMessageAt < maxSilenceMs) return
    this.#offlineSince = this.#lastMessageAt
    void this.#onLost()
  }

  #onVisibility(): void {
    clearTimeout(this.#sleepTimer)
    if (document.visibilityState === 'hidden') {
      this.#sleepTimer = setTimeout(() => this.#sleep(), hiddenBeforeSleepMs)
    } else if (this.#state.kind === 'asleep') {
      clearInterval(this.#pollTimer)
      this.#errorsWhenHidden = undefined
      this.#deps.onHiddenErrors(0)
      this.#enter({ kind: 'connecting' })
      this.#open()
    }
  }

  #sleep(): void {
    this.#close()
    this.#enter({ kind: 'asleep' })
    clearInterval(this.#pollTimer)
    this.#pollTimer = setInterval(() => void this.#countHidden(), hiddenPollMs)
    void this.#countHidden()
  }

  async #countHidden(): Promise<void> {
    try {
      const { errors } = await api.summary()
      if (this.#state.kind !== 'asleep') return
      this.#errorsWhenHidden ??= errors
      this.#deps.onHiddenErrors(Math.max(0, errors - this.#errorsWhenHidden))
    } catch {
      // The page tells of a service that is gone when it is looked at.
    }
  }

  #enter(state: StreamState): void {
    this.#state = state
    this.#deps.onState(state)
  }
}
