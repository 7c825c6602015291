import { describe, expect, it } from 'vitest'
import { startFaultServer } from '../support/fault-server.ts'
import { tally, watched } from '../support/laws.ts'
import { until } from '../support/until.ts'

describe.concurrent('scenario 3: the 200 arrives after the request timed out', () => {
  it('is ignored; only events in flight arrive twice', async () => {
    let written = 0
    await using server = await startFaultServer(request => {
      if (!request.isWhole) return
      if (request.index > 1) return request.take()
      request.store()
      setTimeout(
        () =>
          request.socket.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n', () => {
            written++
          }),
        800,
      )
    })
    const options = { requestTimeoutMs: 400, maxBatchEvents: 100, maxConcurrentRequests: 2, maxRetryDelayMs: 50 }
    await using logs = watched({ baseUrl: server.url, ...options })
    logs.log(0, 500)
    expect(await logs.flush()).toEqual({ complete: true, pending: 0 })
    await until(() => written === 2, 'the late answers are written')
    expect(tally(server.numbers, 500)).toEqual({ lost: 0, twice: 200 })
    expect(logs.stats()).toMatchObject({ delivered: 500, requests: 7, retries: 2 })
    expect(await logs.close()).toEqual({ complete: true, pending: 0 })
    await server.whenDeserted()
  })
})
