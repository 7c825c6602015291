import type { ServerResponse } from 'node:http'
import { clearInterval, clearTimeout, monotonicMs, setInterval, setTimeout, systemTimeMs } from '../../time.ts'
import type { LiveView } from '../index/index-api.ts'
import type { LiveMessages } from '../protocol.ts'

const tickMs = 1000
/** Delay of a frame after a quiet second, and time between two frames, in milliseconds. */
const firstFrameMs = 20
const frameMs = 100
/** Time after which a reader that has read nothing is cut off, in milliseconds. */
const maxBlockedMs = 30_000
/** Time that a reader may lag behind before it is told of the gap, in milliseconds. */
const slowMs = 2000
/** Maximum number of reasons that wait for a reader. */
const maxRefused = 20

export interface LiveStreamDeps {
  readonly response: ServerResponse
  readonly view: LiveView
  readonly epoch: string
  /** Returns the JSON of a message, without secrets. */
  readonly toJson: (message: unknown) => string
  readonly newest: () => number
  readonly requests: () => { requests: number; refusedRequests: number }
  readonly onClose: () => void
}

/**
 * One open page: sends the frames and the numbers of a list as server-sent events. At most one frame is unsent: while
 * the reader is slow, no frame is made, and the next one says how much it skips.
 */
export class LiveStream {
  readonly #deps: LiveStreamDeps
  readonly #ticker: NodeJS.Timeout
  #frameTimer: NodeJS.Timeout | undefined
  #lastFrameMs = Number.NEGATIVE_INFINITY
  #blockedSinceMs: number | undefined
  #newestSent = 0
  #sentAt = systemTimeMs()
  readonly #refused = new Map<string, LiveMessages['refused']>()
  #waiting: string[] = []
  #isClosed = false

  constructor(deps: LiveStreamDeps, greeting: { hello: LiveMessages['hello']; gap: LiveMessages['gap'] | undefined }) {
    this.#deps = deps
    const { response, view } = deps
    response.on('drain', () => this.#drained())
    response.on('error', () => {})
    response.once('close', () => this.#close())
    response.writeHead(200, {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'x-accel-buffering': 'no', // a proxy would hold the messages back
      'cross-origin-resource-policy': 'same-origin',
    })
    this.#ticker = setInterval(() => this.#tick(), tickMs)
    this.#write('retry: 1000\n\n')
    this.#send('hello', greeting.hello)
    if (greeting.gap !== undefined) this.#send('gap', greeting.gap)
    view.onChange(() => this.#schedule())
    this.#schedule()
    this.#tick()
  }

  /** Tells the reader of something rare. Waits while the reader is slow. */
  tell<K extends 'faults' | 'cleared'>(name: K, message: LiveMessages[K]): void {
    if (this.#isClosed) return
    const text = this.#format(name, message)
    if (this.#blockedSinceMs === undefined) this.#write(text)
    else this.#waiting = [...this.#waiting.filter(each => !each.startsWith(`event: ${name}\n`)), text]
  }

  /** Tells the reader of a refused request, at most once a second for each reason. */
  tellRefused(refused: LiveMessages['refused']): void {
    const key = `${refused.dataset} ${refused.reason}`
    const known = this.#refused.get(key)
    if (known === undefined && this.#refused.size >= maxRefused) return
    this.#refused.set(key, { ...refused, count: refused.count + (known?.count ?? 0) })
  }

  end(reason: string): void {
    if (this.#isClosed) return
    this.#send('bye', { reason })
    this.#deps.response.end()
    this.#close()
  }

  #schedule(): void {
    if (this.#isClosed || this.#frameTimer !== undefined || this.#blockedSinceMs !== undefined) return
    const sinceMs = monotonicMs() - this.#lastFrameMs
    const delayMs = sinceMs > tickMs ? firstFrameMs : Math.max(0, frameMs - sinceMs)
    this.#frameTimer = setTimeout(() => {
      this.#frameTimer = undefined
      this.#frame()
    }, delayMs)
  }

  #frame(): void {
    if (this.#isClosed || this.#blockedSinceMs !== undefined) return
    const frame = this.#deps.view.frame()
    if (frame === undefined) return
    this.#lastFrameMs = monotonicMs()
    this.#send('rows', frame)
  }

  #tick(): void {
    if (this.#isClosed) return
    if (this.#blockedSinceMs !== undefined) {
      if (monotonicMs() - this.#blockedSinceMs > maxBlockedMs) this.#deps.response.destroy()
      return
    }
    for (const refused of this.#refused.values()) this.#send('refused', refused)
    this.#refused.clear()
    this.#send('tick', { ...this.#deps.view.tick(), ...this.#deps.requests() })
  }

  #drained(): void {
    const sinceMs = this.#blockedSinceMs
    if (sinceMs === undefined || this.#isClosed) return
    this.#blockedSinceMs = undefined
    const newest = this.#deps.newest()
    if (monotonicMs() - sinceMs > slowMs && newest > this.#newestSent) {
      const now = systemTimeMs()
      const count = newest - this.#newestSent
      this.#send('gap', { reason: 'slow', count, forgotten: 0, from: this.#sentAt, to: now })
    }
    const waiting = this.#waiting
    this.#waiting = []
    for (const text of waiting) this.#write(text)
    this.#schedule()
  }

  #send<K extends keyof LiveMessages>(name: K, message: LiveMessages[K]): void {
    this.#newestSent = this.#deps.newest()
    this.#sentAt = systemTimeMs()
    this.#write(this.#format(name, message))
  }

  #format<K extends keyof LiveMessages>(name: K, message: LiveMessages[K]): string {
    const { epoch, newest, toJson } = this.#deps
    return `event: ${name}\nid: ${epoch}.${newest()}\ndata: ${toJson(message)}\n\n`
  }

  #write(text: string): void {
    if (!this.#deps.response.write(text)) this.#blockedSinceMs ??= monotonicMs()
  }

  #close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    clearInterval(this.#ticker)
    clearTimeout(this.#frameTimer)
    this.#deps.view.close()
    this.#deps.onClose()
  }
}
