/**
 * at-length.test.ts tests how long the service gets no request when it asks for a wait; `npm run soak` does so at full
 * length.
 */
import { describe, expect, it } from 'vitest'
import { startFaultServer } from '../support/fault-server.ts'
import { allOnce, tally, watched } from '../support/laws.ts'
import { until } from '../support/until.ts'

describe('scenario 9: requests are refused for their rate without Retry-After', () => {
  it('close() does not drop events that the service accepts by then', async () => {
    await using server = await startFaultServer(request => {
      if (!request.isWhole) return
      if (request.index < 2) request.answer('429 Too Many Requests')
      else request.take()
    })
    await using logs = watched({ baseUrl: server.url, maxBatchAgeMs: 20 })
    logs.log(0, 100)
    await until(
      () => logs.stats().requests === 2 && logs.stats().requestsInFlight === 0,
      'the second request is refused',
    )
    expect(await logs.close(1000)).toEqual({ complete: true, pending: 0 })
    expect(tally(server.numbers, 100)).toEqual(allOnce)
  })
})
