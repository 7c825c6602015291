import { describe, expect, it } from 'vitest'
import { startFaultServer, type WireRequest } from '../support/fault-server.ts'
import { allOnce, tally, watched } from '../support/laws.ts'
import { until } from '../support/until.ts'

const deadlineMs = 1000

/** Sends a byte every 50 ms. No deadline between two bytes would notice. */
function trickle({ socket }: WireRequest, bytes: string): void {
  let sent = 0
  const clock = setInterval(() => socket.write(bytes.charAt(sent++ % bytes.length)), 50)
  socket.on('close', () => clearInterval(clock))
}

describe.concurrent('scenario 4: an answer trickles', () => {
  it.each([
    ['headers', 'HTTP/1.1 200 OK\r\nx-pad: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', 1],
    ['body', `HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n`, 0],
  ])('its %s: aborted at the total deadline, and other connections continue', async (part, bytes, retries) => {
    await using server = await startFaultServer(request => {
      if (!request.isWhole) return
      if (request.index > 0) return request.take()
      if (part === 'headers') return trickle(request, bytes) // stores nothing, so that each event arrives once
      request.store()
      request.socket.write(bytes)
      trickle(request, '{')
    })
    const options = { maxBatchEvents: 100, requestTimeoutMs: deadlineMs, maxConcurrentRequests: 2 }
    await using logs = watched({ baseUrl: server.url, ...options })
    logs.log(0, 1000)
    expect(await logs.flush()).toEqual({ complete: true, pending: 0 })
    const [slow, ...others] = server.requests
    await until(() => slow?.endedAtMs !== undefined, 'the slow connection is closed')
    const endedAtMs = slow?.endedAtMs as number
    expect(endedAtMs - (slow?.atMs as number)).toBeGreaterThan(deadlineMs / 2) // the server may have noticed it late
    expect(others.filter(({ atMs }) => atMs < endedAtMs).length).toBeGreaterThanOrEqual(8)
    expect(tally(server.numbers, 1000)).toEqual(allOnce)
    expect(logs.stats().retries).toBe(retries)
    expect(await logs.close()).toEqual({ complete: true, pending: 0 })
    await server.whenDeserted()
  })

  it('that has fewer bytes than its content-length: further requests follow after a second', async () => {
    await using server = await startFaultServer(request => {
      if (!request.isWhole) return
      request.store()
      request.socket.write('HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\n{}')
    })
    await using logs = watched({ baseUrl: server.url, maxBatchEvents: 100, maxConcurrentRequests: 2 })
    logs.log(0, 800)
    await until(() => server.numbers.length === 800, 'all events arrive')
    expect(tally(server.numbers, 800)).toEqual(allOnce)
    expect(await logs.close()).toEqual({ complete: true, pending: 0 })
    expect(logs.stats()).toMatchObject({ delivered: 800, retries: 0 })
  })
})
