/** A stream to a reader that does not read: on a connection of our own, whose buffer is full when the test says so. */
import { EventEmitter } from 'node:events'
import type { ServerResponse } from 'node:http'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { LiveView } from '../../src/dev/index/index-api.ts'
import { LiveStream } from '../../src/dev/live/live-stream.ts'

vi.mock('../../src/time.ts', () => import('../support/time-of-globals.ts'))

beforeEach(() => {
  vi.useFakeTimers({ now: 0 })
})
afterEach(() => {
  vi.useRealTimers()
})

class FakeConnection extends EventEmitter {
  isFull = false
  isDestroyed = false
  sent = ''

  writeHead(): this {
    return this
  }

  write(text: string): boolean {
    this.sent += text
    return !this.isFull
  }

  end(): void {
    this.emit('close')
  }

  destroy(): void {
    this.isDestroyed = true
    this.emit('close')
  }

  drain(): void {
    this.isFull = false
    this.emit('drain')
  }

  /** Returns the messages that were sent since the last call, by name. */
  take(): [name: string, data: Record<string, unknown>][] {
    const messages = [...this.sent.matchAll(/^event: (\w+)\nid: \S+\ndata: (.*)$/gm)]
    this.sent = ''
    return messages.map(([, name = '', data = '']) => [name, JSON.parse(data)])
  }

  names(): string[] {
    return this.take().map(([name]) => name)
  }
}

function stream() {
  const connection = new FakeConnection()
  let newest = 5
  let frames = 0
  let onChange = (): void => {}
  let isViewClosed = false
  const view = {
    frame: () => ({ frame: ++frames }),
    tick: () => ({ newest }),
    onChange: (listener: () => void) => {
      onChange = listener
    },
    close: () => {
      isViewClosed = true
    },
  } as unknown as LiveView
  const opened = new LiveStream(
    {
      response: connection as unknown as ServerResponse,
      view,
      epoch: 'run',
      toJson: JSON.stringify,
      newest: () => newest,
      requests: () => ({ requests: 0, refusedRequests: 0 }),
      onClose: () => {},
    },
    { hello: {} as never, gap: undefined },
  )
  return {
    connection,
    opened,
    arrive(count: number) {
      newest += count
      onChange()
    },
    frames: () => frames,
    isViewClosed: () => isViewClosed,
  }
}

describe('a stream of an open page', () => {
  it('sends a frame 20 ms after a quiet second, and then one every 100 ms', () => {
    const { connection, arrive } = stream()
    vi.advanceTimersByTime(1500)
    connection.take()
    arrive(1)
    vi.advanceTimersByTime(19)
    expect(connection.names()).toEqual([])
    vi.advanceTimersByTime(1)
    expect(connection.names()).toEqual(['rows'])
    arrive(1)
    arrive(1)
    vi.advanceTimersByTime(99)
    expect(connection.names()).toEqual([])
    vi.advanceTimersByTime(1)
    expect(connection.names()).toEqual(['rows'])
  })

  it('makes no frame while the reader is slow, and then says how many events it has missed', () => {
    const { connection, arrive, frames } = stream()
    vi.advanceTimersByTime(1000)
    connection.take()
    connection.isFull = true
    arrive(1)
    vi.advanceTimersByTime(100)
    expect(connection.names()).toEqual(['rows'])
    const made = frames()
    for (let step = 0; step < 100; step += 1) {
      arrive(10)
      vi.advanceTimersByTime(50)
    }
    expect([connection.names(), frames()]).toEqual([[], made])
    connection.drain()
    vi.advanceTimersByTime(20)
    const [gap, rows] = connection.take()
    expect(gap).toEqual(['gap', { reason: 'slow', count: 1000, forgotten: 0, from: 1000, to: 6100 }])
    expect(rows?.[0]).toBe('rows')
  })

  it('keeps the last of what a slow reader must know, and sends it later', () => {
    const { connection, opened } = stream()
    connection.isFull = true
    vi.advanceTimersByTime(1000)
    connection.take()
    for (let at = 0; at < 1000; at += 1) opened.tell('cleared', { until: at })
    connection.drain()
    expect(connection.take().filter(([name]) => name === 'cleared')).toEqual([['cleared', { until: 999 }]])
  })

  it('is closed, with its list, if the reader reads nothing for 30 seconds', () => {
    const { connection, isViewClosed } = stream()
    connection.isFull = true
    vi.advanceTimersByTime(30_000)
    expect(connection.isDestroyed).toBe(false)
    vi.advanceTimersByTime(2000)
    expect([connection.isDestroyed, isViewClosed()]).toEqual([true, true])
    expect(vi.getTimerCount()).toBe(0)
  })

  it('tells of refused requests once a second for each reason, 20 reasons at most', () => {
    const { connection, opened } = stream()
    connection.take()
    for (let n = 0; n < 5000; n += 1) {
      opened.tellRefused({ n, dataset: 'd', reason: `reason ${n % 30}`, count: 2, sample: null })
    }
    expect(connection.names()).toEqual([])
    vi.advanceTimersByTime(1000)
    const refused = connection.take().filter(([name]) => name === 'refused')
    expect(refused).toHaveLength(20)
    expect(refused[0]?.[1]).toMatchObject({ reason: 'reason 0', count: 334 })
    vi.advanceTimersByTime(1000)
    expect(connection.names()).not.toContain('refused')
  })
})
