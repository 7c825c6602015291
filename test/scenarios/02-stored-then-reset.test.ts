import { describe, expect, it } from 'vitest'
import { startFaultServer } from '../support/fault-server.ts'
import { tally, watched } from '../support/laws.ts'

describe.concurrent('scenario 2: a batch is stored, and the connection ends before its answer', () => {
  it.each([
    ['without a byte of it', ''],
    ['in the middle of its status', 'HTTP/1.1 20'],
    ['in the middle of its headers', 'HTTP/1.1 200 OK\r\ncontent-len'],
    ['before the end of its headers', 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n'],
  ])('%s: the same bytes are sent again, and only they arrive twice', async (_, begun) => {
    await using server = await startFaultServer(request => {
      if (!request.isWhole) return
      if (request.index > 2) return request.take()
      request.store()
      request.socket.write(begun, () => request.socket.destroy())
    })
    const options = { maxBatchEvents: 100, maxConcurrentRequests: 1, maxRetryDelayMs: 50 }
    await using logs = watched({ baseUrl: server.url, ...options })
    logs.log(0, 1000, { text: 'x'.repeat(50) })
    expect(await logs.close()).toEqual({ complete: true, pending: 0 })
    expect(tally(server.numbers, 1000)).toEqual({ lost: 0, twice: 300 })
    // The first batch keeps its place at the head of the queue: it arrives three times in a row, or with others in
    // between.
    const bodies = new Set(server.requests.map(request => request.body.toString('base64')))
    expect([server.requests.length, bodies.size]).toEqual([13, 10])
    expect(logs.stats()).toMatchObject({ delivered: 1000, retries: 3 })
    await server.whenDeserted()
  })
})
