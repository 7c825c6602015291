/**
 * at-length.test.ts tests how long the service gets no request when it asks for a wait; `npm run soak` does so at full
 * length.
 */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import { createShipper } from '../../src/index.ts'
import { startFaultServer } from '../support/fault-server.ts'
import { allOnce, tally, watched } from '../support/laws.ts'
import { until } from '../support/until.ts'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

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

it('a shipper that is closed while the service asks for a long wait leaves memory', async () => {
  await using server = await startFaultServer(request => {
    if (request.isWhole) request.answer('429 Too Many Requests', '', 'retry-after: 3600')
  })
  const listeners: WeakRef<object>[] = []
  for (let n = 0; n < 3; n++) {
    const shipper = createShipper({ baseUrl: server.url, token: 't', dataset: 'd', maxBatchAgeMs: 1 })
    const listener = () => {}
    shipper.on('warning', listener)
    listeners.push(new WeakRef(listener))
    shipper.ship({ n })
    await until(() => server.requestCount > n && shipper.stats().requestsInFlight === 0, 'the request is refused')
    expect(await shipper.close({ timeoutMs: 0 })).toEqual({ complete: false, pending: 0 })
  }
  await until(() => {
    collectGarbage()
    return listeners.slice(0, -1).every(listener => listener.deref() === undefined) // the last one is still in this frame
  }, 'the closed shippers are gone')
})
