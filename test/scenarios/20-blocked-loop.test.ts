/** `npm run soak` blocks the loop for ten seconds. */
import { describe, expect, it } from 'vitest'
import { startFaultServer } from '../support/fault-server.ts'
import { allOnce, tally, watched } from '../support/laws.ts'

const requestTimeoutMs = 300

describe('scenario 20: the event loop is blocked past the timeout, while the answer waits in the socket', () => {
  it.each([1, 100, 400])('by %i ms: no timeout, no event twice', async pastMs => {
    await using server = await startFaultServer(request => {
      if (!request.isWhole) return
      request.take()
      if (request.index === 0) block(request.atMs + requestTimeoutMs + pastMs)
    })
    await using logs = watched({ baseUrl: server.url, requestTimeoutMs })
    logs.log(0, 100)
    expect(await logs.close()).toEqual({ complete: true, pending: 0 })
    expect(tally(server.numbers, 100)).toEqual(allOnce)
    expect(logs.stats()).toMatchObject({ requests: 1, retries: 0 })
  })

  describe.each([1, 400])('of a caller that waits, by %i ms', pastMs => {
    const timeoutMs = 300
    let waitsUntilMs = 0
    const startBlocking = () =>
      startFaultServer(request => {
        if (!request.isWhole) return
        request.take()
        block(waitsUntilMs + pastMs)
      })

    it.each(['flush', 'close'] as const)('%s() reads the answer before it gives up', async name => {
      await using server = await startBlocking()
      await using logs = watched({ baseUrl: server.url })
      logs.log(0, 100)
      waitsUntilMs = performance.now() + timeoutMs
      expect(await logs[name](timeoutMs)).toEqual({ complete: true, pending: 0 })
      expect(logs.stats()).toMatchObject({ delivered: 100, dropped: 0 })
      expect(logs.warnings).toEqual([])
    })

    it('shipAndConfirm() reads the answer before it rejects', async () => {
      await using server = await startBlocking()
      await using logs = watched({ baseUrl: server.url })
      logs.alsoLogged(1)
      waitsUntilMs = performance.now() + timeoutMs
      await logs.shipper.shipAndConfirm({ n: 0 }, { timeoutMs })
      expect(server.numbers).toEqual([0])
    })
  })
})

function block(untilMs: number): void {
  while (performance.now() < untilMs);
}
