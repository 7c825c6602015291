import type { Socket } from 'node:net'
import { describe, expect, it } from 'vitest'
import { startFaultServer } from '../support/fault-server.ts'
import { allOnce, tally, watched } from '../support/laws.ts'

const ways: Readonly<Record<string, (socket: Socket) => void>> = {
  'is reset': socket => socket.resetAndDestroy(),
  'is closed': socket => socket.destroy(),
  'is half closed': socket => socket.end(),
}

describe.concurrent('scenario 1: the connection ends mid-body, and no event is stored', () => {
  const cuts = [0, 1, 777, 65_537, -1]
  const cases = Object.keys(ways).flatMap(way => cuts.map(cut => [way, cut] as const))

  it.each(cases)('it %s after %i bytes: the same bytes are sent again, each event arrives once', async (way, cut) => {
    await using server = await startFaultServer(request => {
      const length = Number(/content-length: (\d+)/i.exec(request.head)?.[1])
      if (request.index < 2 && request.body.length >= (cut < 0 ? length + cut : cut)) ways[way]?.(request.socket)
      else if (request.isWhole) request.take()
    })
    await using logs = watched({ baseUrl: server.url, compression: 'none', maxBatchEvents: 1000, maxRetryDelayMs: 50 })
    logs.log(0, 1000, { text: 'x'.repeat(100) })
    expect(await logs.flush()).toEqual({ complete: true, pending: 0 })
    expect(tally(server.numbers, 1000)).toEqual(allOnce)
    const [first, second, third] = server.requests.map(request => request.body)
    for (const cutOff of [first, second]) expect(third?.indexOf(cutOff as Buffer)).toBe(0)
    expect(logs.stats()).toMatchObject({ requests: 3, retries: 2 })
    expect(await logs.close()).toEqual({ complete: true, pending: 0 })
    await server.whenDeserted()
  })

  it('ten times, with batches of every size: each event arrives once', async () => {
    await using server = await startFaultServer(request => {
      if (request.index < 10 && request.body.length > request.index * 1000) request.socket.resetAndDestroy()
      else if (request.isWhole) request.take()
    })
    await using logs = watched({ baseUrl: server.url, maxRetryDelayMs: 20, maxBatchBytes: 200_000 })
    for (let n = 0; n < 5000; n++)
      logs.log(n, n + 1, {
        text: Math.random()
          .toString(36)
          .repeat(n % 30),
      })
    expect(await logs.close()).toEqual({ complete: true, pending: 0 })
    expect(tally(server.numbers, 5000)).toEqual(allOnce)
    await server.whenDeserted()
  })
})
