import { describe, expect, it } from 'vitest'
import { upTo } from '../exit/running.ts'
import { emulated } from '../support/emulated.ts'
import { startFaultServer, type WireRequest } from '../support/fault-server.ts'
import { watched } from '../support/laws.ts'
import { until } from '../support/until.ts'

describe.concurrent('scenario 7: one event among 10,000 makes the service refuse the batch', () => {
  it.each([
    [400, 0, 'zstd'],
    [400, 7777, 'none'],
    [422, 9999, 'gzip'],
  ] as const)(
    'by %i, event %i: the other 9,999 are delivered in 32 requests at most (%s)',
    async (status, poison, compression) => {
      await using scene = await emulated({ compression })
      const { emulator, logs } = scene
      emulator.faults.rejectRequests(event => event.n === poison, { status, body: { message: 'a field has no name' } })
      logs.log(0, 10_000)
      expect(await logs.close()).toEqual({ complete: true, pending: 0 })
      expect(scene.numbers().toSorted((a, b) => a - b)).toEqual(upTo(10_000).filter(n => n !== poison))
      expect(emulator.stats().requests).toBeLessThanOrEqual(32)
      expect(logs.stats()).toMatchObject({ delivered: 9999, dropped: 1, drops: { rejected: { info: 1 } } })
      const told = logs.rejections.map(({ event, reason }) => [event?.n, status, reason])
      expect(told).toEqual([[poison, status, 'a field has no name']])
    },
  )

  it('is the only one lost if it is a firewall that refuses, with the 403 of a wrong token', async () => {
    await using scene = await emulated({ maxBatchAgeMs: 20 })
    const { emulator, logs } = scene
    emulator.faults.rejectRequests(event => event.n === 77, { status: 403, body: 'Forbidden' })
    let logged = logs.log(0, 500)
    const isRefused = () => {
      logged += logs.log(logged, logged + 1)
      return logs.rejections.length > 0
    }
    await until(isRefused, 'the event is refused', 18_000)
    expect(await logs.close()).toEqual({ complete: true, pending: 0 })
    expect(scene.numbers().toSorted((a, b) => a - b)).toEqual(upTo(logged).filter(n => n !== 77))
    expect(logs.rejections).toMatchObject([{ event: { n: 77 }, status: 403 }])
    expect(logs.warnings.map(({ code }) => code)).toEqual(['LOGFERRY_PAUSED', 'LOGFERRY_REJECTED'])
  })

  it('delays the events of its batch, if a firewall refuses it before it has seen any other', async () => {
    await using scene = await emulated()
    const { emulator, logs } = scene
    emulator.faults.rejectRequests(event => event.n === 499, { status: 403, body: 'Forbidden' })
    logs.log(0, 500)
    await until(() => logs.stats().delivered === 499, 'the others are delivered', 18_000)
    expect(scene.numbers().toSorted((a, b) => a - b)).toEqual(upTo(499))
    expect(logs.stats().pending).toBe(1) // nothing else was accepted since: the token may be to blame
  })

  it('is dropped soon, though other requests of its dataset are answered all the time', async () => {
    const poisoned: WireRequest[] = []
    await using server = await startFaultServer(request => {
      if (!request.isWhole) return
      if (request.lines().some(line => line.includes('"poison":true'))) return void poisoned.push(request)
      request.take()
      for (const one of poisoned.splice(0)) setTimeout(() => one.answer('400 Bad Request'), 5)
    })
    await using logs = watched({ baseUrl: server.url, maxBatchEvents: 5, maxBatchAgeMs: 5 })
    logs.log(0, 1, { poison: true })
    let logged = 1
    await until(() => {
      logged += logs.log(logged, logged + 10)
      return logs.rejections.length > 0
    }, 'the event is dropped')
    expect(await logs.close()).toEqual({ complete: true, pending: 0 })
    expect(server.numbers.toSorted((a, b) => a - b)).toEqual(upTo(logged).slice(1))
    expect(logs.stats()).toMatchObject({ dropped: 1, drops: { rejected: { info: 1 } } })
  })

  it.each(['zstd', 'gzip'])('no event is lost if the reason is that %s is not accepted any more', async encoding => {
    let isAccepted = true
    await using server = await startFaultServer(request => {
      if (!request.isWhole) return
      const isRefused = !isAccepted && request.head.includes(`content-encoding: ${encoding}`)
      if (isRefused) request.answer('400 Bad Request')
      else request.take()
    })
    await using logs = watched({ baseUrl: server.url, compression: encoding as 'zstd', maxBatchAgeMs: 20 })
    const text = 'x'.repeat(2000)
    logs.log(0, 20, { text })
    await logs.flush()
    isAccepted = false
    for (let n = 20; n < 60; n += 20) {
      logs.log(n, n + 10, { text })
      logs.log(n + 10, n + 20) // too small to be compressed
      expect(await logs.flush(5000)).toEqual({ complete: true, pending: 0 })
    }
    const { requestCount } = server
    logs.log(60, 10_000)
    await logs.flush()
    expect(server.requestCount - requestCount).toBeLessThan(10)
    expect(server.numbers.toSorted((a, b) => a - b)).toEqual(upTo(10_000))
    expect(logs.stats().compression).not.toBe(encoding)
    expect(logs.warnings.map(({ code }) => code)).toEqual(['LOGFERRY_STEPPED_DOWN'])
  })

  it('few requests find out that compressed batches of small events are not accepted any more', async () => {
    let isAccepted = true
    await using server = await startFaultServer(request => {
      if (!request.isWhole) return
      if (isAccepted || !request.head.includes('content-encoding')) request.take()
      else request.answer('400 Bad Request')
    })
    await using logs = watched({ baseUrl: server.url })
    logs.log(0, 1000)
    await logs.flush()
    isAccepted = false
    logs.log(1000, 20_000)
    expect(await logs.flush()).toEqual({ complete: true, pending: 0 })
    expect(server.numbers.toSorted((a, b) => a - b)).toEqual(upTo(20_000))
    expect(server.requestCount).toBeLessThan(100)
    expect(logs.stats().compression).toBe('none')
  })

  it('the compression is not blamed, and continues', async () => {
    await using scene = await emulated()
    scene.emulator.faults.rejectRequests(event => event.n === 0)
    scene.logs.log(0, 1000)
    await scene.logs.close()
    expect(scene.logs.stats().compression).toBe('zstd')
    // A second one says that the event is sent again, if all others were accepted before its first refusal.
    expect(new Set(scene.logs.warnings.map(({ code }) => code))).toEqual(new Set(['LOGFERRY_REJECTED']))
  })
})
