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

  it.each([
    ['flush', 1],
    ['flush', 400],
    ['close', 1],
    ['close', 400],
  ] as const)('%s() reads the answer before it gives up, by %i ms', async (name, pastMs) => {
    const timeoutMs = 100
    await using server = await startFaultServer(request => {
      if (!request.isWhole) return
      request.take()
      block(request.atMs + timeoutMs + pastMs)
    })
    await using logs = watched({ baseUrl: server.url })
    logs.log(0, 100)
    expect(await logs[name](timeoutMs)).toEqual({ complete: true, pending: 0 })
    expect(logs.stats()).toMatchObject({ delivered: 100, dropped: 0 })
    expect(logs.warnings).toEqual([])
  })
})

function block(untilMs: number): void {
  while (performance.now() < untilMs);
}
