import { describe, expect, it } from 'vitest'
import { startFaultServer, type WireRequest } from '../support/fault-server.ts'
import { allOnce, maxBufferedBytes, tally, watched } from '../support/laws.ts'
import { until } from '../support/until.ts'

const maxBytes = 20_000
const page = '<html><head><title>413 Request Entity Too Large</title></head></html>'

const lengthOf = ({ head }: WireRequest) => Number(/content-length: (\d+)/i.exec(head)?.[1])

/** The ways in which a server refuses a body that is too large. */
const refusals: Readonly<Record<string, (request: WireRequest) => void>> = {
  'once it has read it': request => {
    if (request.isWhole) request.answer('413 Payload Too Large', page, 'content-type: text/html')
  },
  'once it has read it, with a reset': request => {
    if (!request.isWhole) return
    request.answer('413 Payload Too Large', page)
    request.socket.resetAndDestroy()
  },
  'at its head, and closes': request => {
    request.answer('413 Payload Too Large', page, 'connection: close')
    request.socket.end()
  },
  'at its head, with a reset that overtakes the answer': request => {
    request.answer('413 Payload Too Large', page)
    request.socket.resetAndDestroy()
  },
  'by a reset alone': request => request.socket.resetAndDestroy(),
}

/** The ways in which a gateway refuses a body that is too large, and does not say so. */
const unnamed: Readonly<Record<string, (request: WireRequest) => void>> = {
  'with a 502': request => {
    if (request.isWhole) request.answer('502 Bad Gateway')
  },
  'with a 503 that asks for another attempt': request => {
    if (request.isWhole) request.answer('503 Backend fetch failed', page, 'retry-after: 0')
  },
  'that closes the connection': request => {
    if (request.isWhole) request.socket.end()
  },
  'that gives no answer': () => {},
}

describe.concurrent('scenario 6: a batch is too large for the service', () => {
  it.each(Object.keys(refusals))('refused %s: split, each event arrives once', async way => {
    const limit = way === 'by a reset alone' ? 200_000 : maxBytes // without a 413, only large batches are suspected
    await using server = await startFaultServer(request => {
      if (lengthOf(request) > limit) refusals[way]?.(request)
      else if (request.isWhole) request.take()
    })
    const options = { compression: 'none', maxRetryDelayMs: 20, maxConcurrentRequests: 2, maxBufferedBytes } as const
    await using logs = watched({ baseUrl: server.url, ...options })
    logs.log(0, 5000, { text: 'x'.repeat(100) })
    expect(await logs.flush()).toEqual({ complete: true, pending: 0 })
    expect(tally(server.numbers, 5000)).toEqual(allOnce)
    expect(logs.stats()).toMatchObject({ delivered: 5000, dropped: 0 })
    expect(await logs.close()).toEqual({ complete: true, pending: 0 })
    await server.whenDeserted()
  })

  it('the accepted size is kept: later batches are not refused, but for one trial of a larger size at most', async () => {
    await using server = await startFaultServer(request => {
      if (!request.isWhole) return
      if (lengthOf(request) > maxBytes) request.answer('413 Payload Too Large', page)
      else request.take()
    })
    await using logs = watched({ baseUrl: server.url, compression: 'none' })
    logs.log(0, 1000, { text: 'x'.repeat(100) })
    await logs.flush()
    const requestsToLearn = server.requests.length
    logs.log(1000, 5000, { text: 'x'.repeat(100) })
    expect(await logs.close()).toEqual({ complete: true, pending: 0 })
    const later = server.requests.slice(requestsToLearn).map(lengthOf)
    expect(later.filter(bytes => bytes > maxBytes).length).toBeLessThanOrEqual(1)
    expect(Math.max(...later)).toBeGreaterThan(maxBytes / 4)
    expect(tally(server.numbers, 5000)).toEqual(allOnce)
    expect(logs.warnings.map(({ code }) => code)).toEqual(['LOGFERRY_STEPPED_DOWN'])
  })

  it.each(Object.keys(unnamed))('refused by a gateway %s: the size is found, and kept', async way => {
    await using server = await startFaultServer(request => {
      if (lengthOf(request) > maxBytes) unnamed[way]?.(request)
      else if (request.isWhole) request.take()
    })
    const isSilent = way === 'that gives no answer'
    const requestTimeoutMs = isSilent ? 200 : undefined
    await using logs = watched({ baseUrl: server.url, requestTimeoutMs, maxRetryDelayMs: 20, compression: 'none' })
    logs.log(0, 5000, { text: 'x'.repeat(100) })
    expect(await logs.flush()).toEqual({ complete: true, pending: 0 })
    const refused = server.requests.filter(request => lengthOf(request) > maxBytes).length
    expect(refused).toBeLessThan(30)
    const requestsToLearn = server.requestCount
    logs.log(5000, 10_000, { text: 'x'.repeat(100) })
    expect(await logs.close()).toEqual({ complete: true, pending: 0 })
    const later = server.requests.slice(requestsToLearn).map(lengthOf)
    expect(Math.max(...later)).toBeLessThanOrEqual(maxBytes)
    const { lost, twice } = tally(server.numbers, 10_000)
    expect([lost, isSilent || twice]).toEqual([0, isSilent || 0]) // an answer may take 200 ms
    expect(logs.warnings.map(({ code }) => code)).toContain('LOGFERRY_STEPPED_DOWN')
  })

  it.each([
    ['an outage', () => false],
    ['an outage that comes back for every third request', (index: number) => index % 3 === 2],
  ])('%s says nothing about the size, and costs one request at most', async (_, isUp) => {
    let isOver = false
    await using server = await startFaultServer(request => {
      if (!request.isWhole) return
      if (isOver || isUp(request.index)) request.take()
      else request.answer('503 Service Unavailable', 'busy')
    })
    await using logs = watched({ baseUrl: server.url, maxRetryDelayMs: 10, compression: 'none' })
    logs.log(0, 3000, { text: 'x'.repeat(100) })
    await until(() => server.requestCount >= 60 || logs.stats().pending === 0, 'the outage has lasted')
    isOver = true
    const requestsInOutage = server.requestCount
    expect(await logs.flush()).toEqual({ complete: true, pending: 0 })
    expect(tally(server.numbers, 3000)).toEqual(allOnce)
    expect(server.requestCount - requestsInOutage).toBeLessThanOrEqual(1 + 1)
    expect(logs.stats().maxBatchBytes).toBe(1_048_576)
    expect(logs.warnings.map(({ code }) => code)).not.toContain('LOGFERRY_STEPPED_DOWN')
  })

  it.each(['400 Bad Request', '422 Unprocessable'])('refused with a %s: the size is kept', async status => {
    await using server = await startFaultServer(request => {
      if (!request.isWhole) return
      if (lengthOf(request) > maxBytes) request.answer(status, 'no')
      else request.take()
    })
    await using logs = watched({ baseUrl: server.url, compression: 'none', maxBatchBytes: 65_536 })
    logs.log(0, 20_000, { text: 'x'.repeat(100) })
    expect(await logs.flush()).toEqual({ complete: true, pending: 0 })
    const requestsToLearn = server.requestCount
    logs.log(20_000, 25_000, { text: 'x'.repeat(100) })
    expect(await logs.close()).toEqual({ complete: true, pending: 0 })
    expect(tally(server.numbers, 25_000)).toEqual(allOnce)
    expect(Math.max(...server.requests.slice(requestsToLearn).map(lengthOf))).toBeLessThanOrEqual(maxBytes)
    expect(logs.warnings.map(({ code }) => code)).toEqual(['LOGFERRY_STEPPED_DOWN'])
    expect(logs.warnings[0]?.message).toContain(`answers ${status.slice(0, 3)} to a batch of`)
  })

  it('refused with a 403 while several requests are in flight: close() finds the size', async () => {
    const limit = 100_000
    const held: WireRequest[] = []
    await using server = await startFaultServer(request => {
      if (!request.isWhole) return
      if (lengthOf(request) <= limit) return request.take()
      if (held.push(request) === 4) for (const one of held) one.answer('403 Forbidden', 'no')
      if (held.length > 4) setTimeout(() => request.answer('403 Forbidden', 'no'), 50)
    })
    await using logs = watched({ baseUrl: server.url, compression: 'none' })
    logs.log(0, 3700, { text: 'x'.repeat(1000) }) // four batches; an eighth of one is too large as well
    expect(await logs.close()).toEqual({ complete: true, pending: 0 })
    expect(tally(server.numbers, 3700)).toEqual(allOnce)
  })

  it('a refused event in every batch says nothing about the size', async () => {
    await using server = await startFaultServer(request => {
      if (!request.isWhole) return
      if (request.lines().some(line => /"n":\d*77\b/.test(line))) request.answer('400 Bad Request', 'no')
      else request.take()
    })
    await using logs = watched({ baseUrl: server.url, compression: 'none', maxBatchEvents: 250 })
    logs.log(0, 5000, { text: 'x'.repeat(100) })
    expect(await logs.close(30_000)).toEqual({ complete: true, pending: 0 })
    expect(logs.stats()).toMatchObject({ delivered: 4950, dropped: 50, drops: { rejected: { info: 50 } } })
    expect(logs.warnings.map(({ code }) => code)).not.toContain('LOGFERRY_STEPPED_DOWN')
  })

  it.each([
    ['403 Forbidden', 'wrong token'],
    ['404 Not Found', 'missing dataset'],
  ])('refused by a firewall, with the %s of a %s: the size is found, and delivery goes on', async status => {
    await using server = await startFaultServer(request => {
      if (!request.isWhole) return
      if (lengthOf(request) > 8192) request.answer(status, '<html>No</html>')
      else request.take()
    })
    await using logs = watched({ baseUrl: server.url, compression: 'none', maxBatchAgeMs: 20 })
    logs.log(0, 200, { text: 'x'.repeat(100) })
    let logged = 200
    await until(() => {
      logged += logs.log(logged, logged + 20, { text: 'x'.repeat(100) })
      return logs.warnings.some(({ code }) => code === 'LOGFERRY_STEPPED_DOWN')
    }, 'the size is found')
    logged += logs.log(logged, logged + 2000, { text: 'x'.repeat(100) })
    expect(await logs.close()).toEqual({ complete: true, pending: 0 })
    expect(tally(server.numbers, logged)).toEqual(allOnce)
    expect(logs.warnings.map(({ code }) => code)).toEqual(['LOGFERRY_PAUSED', 'LOGFERRY_STEPPED_DOWN'])
    expect(logs.warnings[1]?.message).toMatch(/answers 40\d to a batch of \d+ bytes, and accepts smaller ones/)
  })

  it('a dataset that the token may not write to says nothing about the size of others', async () => {
    await using server = await startFaultServer(request => {
      if (!request.isWhole) return
      if (request.head.includes('/forbidden/')) request.answer('403 Forbidden', 'no')
      else request.take()
    })
    const dataset = ({ n }: Record<string, unknown>) => (Number(n) % 2 === 0 ? 'forbidden' : 'allowed')
    await using logs = watched({ baseUrl: server.url, dataset, maxBatchAgeMs: 20, compression: 'none' })
    let logged = 0
    const logMore = () => {
      logged += logs.log(logged, logged + 40, { text: 'x'.repeat(100) })
      return server.requests.filter(({ head }) => head.includes('/forbidden/')).length >= 3
    }
    await until(logMore, 'the forbidden dataset is probed twice')
    expect(new Set(logs.warnings.map(({ code }) => code))).toEqual(new Set(['LOGFERRY_PAUSED']))
    expect(logs.stats().maxBatchBytes).toBe(1_048_576)
  })

  it('a single event that is too large is dropped and counted, and its neighbors are delivered', async () => {
    await using server = await startFaultServer(request => {
      if (!request.isWhole) return
      if (lengthOf(request) > maxBytes) request.answer('413 Payload Too Large', page)
      else request.take()
    })
    await using logs = watched({ baseUrl: server.url, compression: 'none' })
    logs.log(0, 10)
    logs.log(10, 11, { text: 'x'.repeat(50_000) })
    logs.log(11, 20)
    expect(await logs.close()).toEqual({ complete: true, pending: 0 })
    expect(new Set(server.numbers)).toEqual(new Set([...Array(20).keys()].filter(n => n !== 10)))
    expect(logs.stats()).toMatchObject({ delivered: 19, dropped: 1, drops: { 'too-large': { info: 1 } } })
    expect(logs.rejections.map(({ event, status }) => [event?.n, status])).toEqual([[10, 413]])
  })
})
