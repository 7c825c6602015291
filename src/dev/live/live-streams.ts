import type { ServerResponse } from 'node:http'
import { systemTimeMs } from '../../time.ts'
import type { EventIndexApi } from '../index/index-api.ts'
import type { LiveMessages, ViewQuery } from '../protocol.ts'
import { protocolVersion } from '../protocol.ts'
import { LiveStream } from './live-stream.ts'

export interface LiveStreamsDeps {
  readonly index: EventIndexApi
  readonly toJson: (message: unknown) => string
  readonly requests: () => { requests: number; refusedRequests: number }
  readonly version: string
  readonly url: () => string
  readonly startedAt: number
}

/** The open pages. */
export class LiveStreams {
  readonly #deps: LiveStreamsDeps
  readonly #open = new Set<LiveStream>()

  constructor(deps: LiveStreamsDeps) {
    this.#deps = deps
  }

  /** Opens a stream. @returns false if too many pages are open */
  async open(response: ServerResponse, query: Partial<ViewQuery>, after: string | undefined): Promise<boolean> {
    const { index, toJson, requests } = this.#deps
    const view = index.openView(query)
    if (view === undefined) return false
    const closeView = (): void => view.close()
    response.once('close', closeView)
    const hello = await this.#hello(await view.state())
    if (response.destroyed) return true
    response.off('close', closeView)
    const stream: LiveStream = new LiveStream(
      {
        response,
        view,
        epoch: index.epoch,
        toJson,
        newest: () => index.newest,
        requests,
        onClose: () => this.#open.delete(stream),
      },
      { hello, gap: after === undefined ? undefined : this.#gapAfter(after) },
    )
    this.#open.add(stream)
    return true
  }

  tell<K extends 'faults' | 'cleared'>(name: K, message: LiveMessages[K]): void {
    for (const stream of this.#open) stream.tell(name, message)
  }

  tellRefused(refused: LiveMessages['refused']): void {
    for (const stream of this.#open) stream.tellRefused(refused)
  }

  end(reason: string): void {
    for (const stream of this.#open) stream.end(reason)
  }

  #hello(view: LiveMessages['hello']['view']): LiveMessages['hello'] {
    const { index, version, url } = this.#deps
    const { kept, forgotten, maxEvents } = index.status()
    return {
      protocol: protocolVersion,
      epoch: index.epoch,
      view,
      now: systemTimeMs(),
      oldest: index.oldest,
      newest: index.newest,
      kept,
      forgotten,
      maxEvents,
      version,
      url: url(),
    }
  }

  /** Returns what the reader of an event id has missed, or `undefined` if the id is none of ours. */
  #gapAfter(id: string): LiveMessages['gap'] | undefined {
    const { index, startedAt } = this.#deps
    const [, epoch = '', digits] = /^([0-9a-z]{1,20})\.(\d{1,15})$/.exec(id) ?? []
    if (digits === undefined) return undefined
    const to = systemTimeMs()
    if (epoch !== index.epoch) {
      const { kept, forgotten } = index.summary()
      return { reason: 'restarted', count: kept + forgotten, forgotten, from: startedAt, to }
    }
    const after = Number(digits)
    const count = Math.max(0, index.newest - after)
    const from = index.event(id)?.receivedAt ?? startedAt
    return { reason: 'reconnected', count, forgotten: count - index.keptAfter(after), from, to }
  }
}
