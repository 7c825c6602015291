import { mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { createShipper } from '../../src/index.ts'
import { startFaultServer, type WireRequest } from '../support/fault-server.ts'
import { watched } from '../support/laws.ts'
import { until } from '../support/until.ts'

const outages: Readonly<Record<string, (request: WireRequest) => void>> = {
  '503': request => request.isWhole && request.answer('503 Service Unavailable'),
  '503 with Retry-After': request => request.isWhole && request.answer('503 Later', '', 'retry-after: 3600'),
  'a refused token': request => request.isWhole && request.answer('403 Forbidden'),
  'a black hole': () => {},
  resets: request => request.socket.resetAndDestroy(),
  'refused connections': () => {},
}

describe.concurrent('scenario 24: close() during flush() during an outage', () => {
  it('flush() tells that events were handed off, although it delivered events of an earlier hand-off', async () => {
    await using directory = await mkdtempDisposable(join(tmpdir(), 'logferry-flush-'))
    let isUp = false
    await using server = await startFaultServer(request => {
      if (!request.isWhole) return
      if (isUp && request.head.includes('/datasets/d/')) request.take()
      else request.answer('503 Service Unavailable')
    })
    await using logs = watched({
      baseUrl: server.url,
      dataset: ({ dataset = 'd' }) => String(dataset),
      spool: { directory: directory.path },
    })
    logs.log(0, 5)
    expect(await logs.close(0)).toEqual({ complete: false, pending: 5 })
    isUp = true
    logs.log(5, 8, { dataset: 'down' })
    const flushed = logs.flush()
    await until(() => logs.stats().delivered === 5, 'the earlier events are delivered')
    const closed = logs.close(0)
    expect(await flushed).toEqual({ complete: false, pending: 3 })
    expect(await closed).toEqual({ complete: false, pending: 3 })
  })

  it('a flush() that still has time adopts nothing more once close() has handed the events off', async () => {
    await using directory = await mkdtempDisposable(join(tmpdir(), 'logferry-flush-'))
    await using server = await startFaultServer(request => {
      if (request.isWhole) request.answer('503 Service Unavailable')
    })
    const open = () =>
      createShipper({ baseUrl: server.url, token: 't', dataset: 'd', spool: { directory: directory.path } })
    for (let n = 0; n < 6; n++) {
      const ended = open()
      ended.on('warning', () => {}).ship({ n })
      await ended.close({ timeoutMs: 0 })
    }
    const shipper = open()
    shipper.on('warning', () => {}).ship({ n: 6 })
    const flushed = shipper.flush({ timeoutMs: 20_000 })
    // Four directories are adopted at a time. The others follow when the events of these are settled.
    await until(() => shipper.stats().spool?.adopted === 4, 'the first directories are adopted')
    await sleep(20)
    expect(await shipper.close({ timeoutMs: 0 })).toEqual({ complete: false, pending: 5 })
    expect(await flushed).toEqual({ complete: false, pending: 5 })
    await sleep(200)
    expect(shipper.stats().spool).toMatchObject({ adopted: 4, handedOff: 5, bytes: 0 })
    await server.whenDeserted()
  })

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
