import { describe, expect, it } from 'vitest'
import { startFaultServer, type WireRequest } from '../support/fault-server.ts'
import { watched } from '../support/laws.ts'

const outages: Readonly<Record<string, (request: WireRequest) => void>> = {
  '503': request => request.isWhole && request.answer('503 Service Unavailable'),
  '503 with Retry-After': request => request.isWhole && request.answer('503 Later', '', 'retry-after: 3600'),
  'a refused token': request => request.isWhole && request.answer('403 Forbidden'),
  'a black hole': () => {},
  resets: request => request.socket.resetAndDestroy(),
  'refused connections': () => {},
}

describe.concurrent('scenario 24: close() during flush() during an outage', () => {
  it.each(Object.keys(outages))('(%s): both resolve once, by their deadlines', async outage => {
    await using server = await startFaultServer(request => outages[outage]?.(request))
    if (outage === 'refused connections') await server.close()
    await using logs = watched({ baseUrl: server.url })
    logs.log(0, 500)
    const startedAtMs = performance.now()
    const resolved: string[] = []
    const timed = async (name: string, work: Promise<unknown>) => {
      await work
      resolved.push(name)
      return performance.now() - startedAtMs
    }
    const [flushMs, shortFlushMs, closeMs, secondCloseMs] = await Promise.all([
      timed('flush', logs.flush(20_000)),
      timed('short flush', logs.flush(100)),
      timed('close', logs.close(500)),
      timed('second close', logs.close(20_000)),
    ])
    expect(resolved.toSorted()).toEqual(['close', 'flush', 'second close', 'short flush'])
    expect(resolved[0]).toBe('short flush')
    expect(shortFlushMs).toBeGreaterThan(90)
    for (const ms of [flushMs, closeMs, secondCloseMs]) expect([ms > 490, ms < 5000]).toEqual([true, true])
    expect(logs.stats()).toMatchObject({ delivered: 0, dropped: 500, pending: 0, drops: { closed: { info: 500 } } })
    expect(await logs.flush()).toEqual({ complete: true, pending: 0 })
    expect(await logs.close()).toEqual({ complete: true, pending: 0 })
    if (outage !== 'refused connections') await server.whenDeserted()
  })
})
