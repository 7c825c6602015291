import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createSecureServer } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { inspect } from 'node:util'
import { Agent, interceptors } from 'undici'
import { describe, expect, it } from 'vitest'
import { createShipper } from '../src/index.ts'
import { startFaultServer } from './support/fault-server.ts'
import { watched } from './support/laws.ts'
import { startRawServer } from './support/raw-server.ts'
import { startShipping } from './support/shipping.ts'
import { until } from './support/until.ts'

const range = (count: number) => Array.from({ length: count }, (_, index) => index)
const sorted = (values: readonly unknown[]) => [...(values as number[])].sort((a, b) => a - b)

describe('events', () => {
  it.each([
    ['application/x-ndjson', 'zstd'],
    ['application/x-ndjson', 'gzip'],
    ['application/x-ndjson', 'none'],
    ['application/json', 'zstd'],
    ['application/json', 'gzip'],
    ['application/json', 'none'],
  ] as const)('arrive once, unchanged and in order (%s, %s)', async (contentType, compression) => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ contentType, compression, maxBatchEvents: 1000 })
    const events = range(5000).map(n => ({
      level: 'info',
      n,
      text: 'naïve ☃ 😀\n"quoted"',
      nested: { a: [1, { b: null }] },
    }))
    for (const event of events) expect(shipper.ship(event)).toBe(true)
    expect(await shipper.flush()).toEqual({ complete: true, pending: 0 })
    const arrived = shipping.emulator.events('d').sort((a, b) => (String(a._time) < String(b._time) ? -1 : 1))
    expect(arrived.map(({ _time, ...event }) => event)).toEqual(events)
    const times = arrived.map(event => String(event._time))
    expect(new Set(times).size).toBe(5000)
    for (const time of times) expect(time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z$/)
    const contentEncoding = compression === 'none' ? undefined : compression
    expect(shipping.emulator.requests()[0]).toMatchObject({ contentType, contentEncoding })
  })

  it('arrive once and unchanged if making a request also logs', async () => {
    await using shipping = await startShipping()
    const agent = new Agent()
    let requests = 0
    const dispatcher = {
      dispatch: (...args: Parameters<Agent['dispatch']>) => {
        if (requests++ < 100) shipper.ship({ level: 'debug', request: requests, text: 'é'.repeat(requests) })
        return agent.dispatch(...args)
      },
    }
    const shipper = shipping.ship({ compression: 'none', maxBatchBytes: 2000, maxConcurrentRequests: 64, dispatcher })
    for (const n of range(1000)) shipper.ship({ level: 'info', n, text: `event ${n}` })
    // Each flush may log one more event.
    while (shipper.stats().pending > 0) expect(await shipper.flush()).toMatchObject({ complete: true })
    await agent.close()
    const events = shipping.emulator.events('d')
    const logged = events.filter(({ level }) => level === 'info')
    expect(sorted(logged.map(({ n }) => n))).toEqual(range(1000))
    for (const { n, text } of logged) expect(text).toBe(`event ${n}`)
    const others = events.filter(({ level }) => level === 'debug')
    expect(sorted(others.map(({ request }) => request))).toEqual(range(Math.min(requests, 100)).map(n => n + 1))
    for (const { request, text } of others) expect(text).toBe('é'.repeat(request as number))
    expect(new Set(events.map(({ _time }) => _time)).size).toBe(events.length)
  })

  it('have the state of the log call, whatever happens to the object afterwards', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship()
    const event = { level: 'info', order: { id: 1 } }
    shipper.ship(event)
    event.order.id = 2
    await shipper.flush()
    expect(shipping.emulator.events('d')).toMatchObject([{ order: { id: 1 } }])
  })

  it('that are told by toJSON or kept in a Map have their own fields once, and their own severity', async () => {
    class Told {
      readonly #fields: object
      constructor(fields: object) {
        this.#fields = fields
      }
      toJSON() {
        return this.#fields
      }
    }
    await using shipping = await startShipping()
    const shipper = shipping.ship({ identify: true, minSeverity: 'warn' })
    const fields = { _time: '2020-01-01T00:00:00Z', level: 'error', log: { file: 'a' } }
    const events = [fields, new Told(fields), new Map(Object.entries(fields)) as object]
    for (const event of events) expect(shipper.ship(event)).toBe(true)
    await shipper.shipAndConfirm(new Told(fields))
    expect(shipper.ship(new Told({ level: 'info' }))).toBe(false)
    const transforming = shipping.ship({ identify: true, transform: () => new Told(fields) as never })
    expect(transforming.ship({ n: 1 })).toBe(true)
    await transforming.flush()
    const lines = shipping.emulator.lines('d').map(line => line.replace(/(?<=^\{"log\.record\.uid":")\w+-\d+/, 'uid'))
    expect(lines).toEqual(Array(5).fill(`{"log.record.uid":"uid",${JSON.stringify(fields).slice(1)}`))
  })

  it('that are told by toJSON go to the dataset that their own fields name', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ dataset: event => String(event.tenant) })
    expect(shipper.ship({ tenant: 'd', toJSON: () => ({ n: 1 }) })).toBe(true)
    await shipper.flush()
    expect(shipping.emulator.events('d')).toMatchObject([{ n: 1 }])
  })

  it('have the time of the log call if their toJSON leaves out a timestamp of the object', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship()
    shipper.ship({ _time: '2020-01-01T00:00:00Z', toJSON: () => ({ n: 1 }) })
    await shipper.flush()
    expect(shipping.emulator.events('d')).toEqual([{ _time: expect.stringMatching(/^20[2-9]\d-.*Z$/), n: 1 }])
  })

  it('keep their own timestamp', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship()
    shipper.ship({ _time: '2020-01-01T00:00:00Z', n: 1 })
    shipper.ship({ _time: new Date(0), n: 2 })
    await shipper.flush()
    expect(shipping.emulator.lines('d')).toEqual([
      '{"_time":"2020-01-01T00:00:00Z","n":1}',
      '{"_time":"1970-01-01T00:00:00.000Z","n":2}',
    ])
  })

  it('have a timestamp of their own if only their class has that field, which is not sent', async () => {
    await using shipping = await startShipping()
    class Order {
      id = 1
      get _time() {
        return '2020-01-01T00:00:00Z'
      }
      get log() {
        return { record: { uid: 'x' } }
      }
    }
    const shipper = shipping.ship({ identify: true })
    shipper.ship(new Order())
    shipper.ship(Object.create({ _time: '2020-01-01T00:00:00Z' }))
    await shipper.flush()
    const uid = { record: { uid: expect.stringMatching(/-[12]$/) } }
    const _time = expect.stringMatching(/^20(?!20)/)
    expect(shipping.emulator.events('d')).toEqual([
      { _time, log: uid, id: 1 },
      { _time, log: uid },
    ])
  })

  it.each<[unknown, object]>([
    [null, { body: null }],
    [undefined, { body: null }],
    [5, { body: 5 }],
    ['text', { message: 'text' }],
    [[1], { body: [1] }],
  ])('that are not objects have a timestamp: %j', async (event, told) => {
    await using shipping = await startShipping()
    const shipper = shipping.ship()
    expect(shipper.ship(event as never)).toBe(true)
    await shipper.flush()
    expect(shipping.emulator.events('d')).toEqual([{ _time: expect.stringMatching(/^20.*Z$/), ...told }])
  })

  it('carry the timestamp in the configured field', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ timeField: '@timestamp' })
    shipper.ship({ n: 1 })
    shipper.ship({})
    await shipper.flush()
    const [first, second] = shipping.emulator.events('d')
    expect(Object.keys(first ?? {})).toEqual(['@timestamp', 'n'])
    expect(Object.keys(second ?? {})).toEqual(['@timestamp'])
  })

  it('larger than maxEventBytes are cut and marked, and their neighbors are not touched', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ maxEventBytes: 2000 })
    for (const n of range(3)) shipper.ship({ n, text: 'x'.repeat(n === 1 ? 5_000_000 : 10) })
    await shipper.flush()
    const lines = shipping.emulator.lines('d')
    expect(Math.max(...lines.map(line => Buffer.byteLength(line)))).toBeLessThanOrEqual(2000)
    expect(shipping.emulator.events('d')).toMatchObject([
      { n: 0, text: 'x'.repeat(10) },
      { n: 1, logferry: { cut: true } },
      { n: 2, text: 'x'.repeat(10) },
    ])
    expect(shipper.stats()).toMatchObject({ cut: 1, delivered: 3 })
  })

  it('that JSON cannot express are shipped with stubs, and counted', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship()
    const event: Record<string, unknown> = { level: 'info' }
    event.self = event
    shipper.ship(event)
    await shipper.flush()
    expect(shipping.emulator.events('d')).toHaveLength(1)
    expect(shipper.stats()).toMatchObject({ stubbed: 1, delivered: 1, dropped: 0 })
  })

  it.each(['a text', 17, null, undefined, [1, 2], () => 1])('that are not objects (%s) do not throw', async value => {
    await using shipping = await startShipping()
    const shipper = shipping.ship()
    expect(() => shipper.ship(value as never)).not.toThrow()
    await shipper.flush()
    expect(shipper.stats()).toMatchObject({ accepted: 1, delivered: 1 })
    expect(shipping.emulator.eventCount('d')).toBe(1)
  })
})

describe('a shipper', () => {
  it.each(['/', '/edge', '/edge/eu/'])('appends the service’s paths to a base address with path %s', async path => {
    await using shipping = await startShipping({ basePath: path === '/' ? '' : path.replace(/\/$/, '') })
    const base = `http://127.0.0.1:${shipping.emulator.port}${path}`
    const shipper = shipping.ship({ baseUrl: base })
    shipper.ship({ n: 1 })
    await shipper.flush()
    expect(shipping.emulator.eventCount('d')).toBe(1)
  })

  it('ships to the region that is configured', async () => {
    await using us = await startShipping()
    await using eu = await startShipping()
    const shipper = us.ship({
      baseUrl: { us: us.emulator.url, eu: eu.emulator.url },
      region: 'eu',
      token: eu.emulator.token,
    })
    shipper.ship({ n: 1 })
    await shipper.flush()
    expect([us.emulator.eventCount('d'), eu.emulator.eventCount('d')]).toEqual([0, 1])
  })

  it.each(['x-service-org-id', 'X-Acme-Org'])(
    'sends a personal access token with the organization in %s',
    async orgIdHeader => {
      await using shipping = await startShipping({ orgIdHeader })
      const { personalAccessToken, orgId } = shipping.emulator
      const shipper = shipping.ship({ token: undefined, personalAccessToken, orgId, orgIdHeader })
      shipper.ship({ n: 1 })
      await shipper.flush()
      expect(shipping.emulator.eventCount('d')).toBe(1)
    },
  )

  it('asks a function for the dataset of each event', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ dataset: event => `team-${event.team}` })
    for (const n of range(100)) shipper.ship({ n, team: n % 3 })
    expect(await shipper.flush()).toEqual({ complete: true, pending: 0 })
    expect(shipping.emulator.datasets().sort()).toEqual(['team-0', 'team-1', 'team-2'])
    expect(sorted(shipping.emulator.events('team-1').map(({ n }) => n))).toEqual(range(100).filter(n => n % 3 === 1))
  })

  it('drops, counts and reports an event for which the `dataset` function fails', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({
      dataset: event => {
        if (event.n === 1) throw new Error('no team')
        return event.n === 2 ? '..' : event.n === 3 ? (undefined as never) : 'd'
      },
    })
    expect(range(5).map(n => shipper.ship({ n, level: 'error' }))).toEqual([true, false, false, false, true])
    await shipper.flush()
    expect(shipper.stats()).toMatchObject({ accepted: 5, delivered: 2, dropped: 3, drops: { dataset: { error: 3 } } })
    expect(shipping.warnings[0]?.message).toMatch(/`dataset` function threw Error/)
  })

  it.each<[string, () => unknown, RegExp]>([
    [
      'nothing',
      () => undefined,
      /`dataset` function returned undefined\. .* must return a dataset name .*: 1 to 1024 /,
    ],
    ['a promise', async () => 'd', /returned a promise, and is not waited for\. /],
    ['a rejected promise', () => Promise.reject(new Error('no team')), /returned a promise, and is not waited for\. /],
    [
      'a text that is no name',
      () => '..',
      /returned a string of 2 characters \(not shown\)\. .* not "\." or "\.\."\.$/,
    ],
    ['an object', () => ({}), /returned an object\. /],
  ])('says what a `dataset` function has returned in place of a name: %s', async (_, dataset, message) => {
    await using shipping = await startShipping()
    expect(shipping.ship({ dataset: dataset as () => string }).ship({ n: 1 })).toBe(false)
    expect(shipping.warnings[0]?.message).toMatch(message)
  })

  it.each(['a/b', 'a?b', 'a#b', '../../v2/orgs', '%2e%2e', 'sp ace', 'snow☃'])(
    'ships to dataset %j, and to no other path',
    async dataset => {
      await using shipping = await startShipping()
      const shipper = shipping.ship({ dataset })
      shipper.ship({ n: 1 })
      await shipper.flush()
      expect(shipping.emulator.datasets()).toEqual([dataset])
    },
  )

  it('can be used again after close', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship()
    shipper.ship({ n: 1 })
    expect(await shipper.close()).toEqual({ complete: true, pending: 0 })
    shipper.ship({ n: 2 })
    expect(await shipper.close()).toEqual({ complete: true, pending: 0 })
    expect(shipping.emulator.eventCount('d')).toBe(2)
  })

  it('is closed at the end of a block by `await using`', async () => {
    await using shipping = await startShipping()
    {
      await using shipper = createShipper({
        baseUrl: shipping.emulator.url,
        token: shipping.emulator.token,
        dataset: 'd',
      })
      shipper.ship({ n: 1 })
    }
    expect(shipping.emulator.events('d')).toMatchObject([{ n: 1 }])
  })

  it('delivers in close() within a moment of the end of an outage, however long the outage has been', async () => {
    let isUp = false
    await using server = await startFaultServer(request => {
      if (!request.isWhole) return
      if (isUp) request.take()
      else request.answer('503 Service Unavailable')
    })
    const shipper = createShipper({ baseUrl: server.url, dataset: 'd', token: 'xaat-1', compression: 'none' })
    shipper.on('warning', () => {})
    for (const n of range(10)) {
      shipper.ship({ n })
      await shipper.close({ timeoutMs: 20 }) // each failure makes the waits longer
    }
    shipper.ship({ n: 10 })
    const failures = server.requestCount
    const closed = shipper.close({ timeoutMs: 5000 })
    await until(() => server.requestCount > failures, 'another request fails')
    isUp = true
    expect(await closed).toEqual({ complete: true, pending: 0 })
    expect(server.numbers).toContain(10)
  })

  it('keeps to maxConcurrentRequests again as soon as close() is done, whatever time close() had left', async () => {
    let open = 0
    let maxOpen = 0
    await using server = await startFaultServer(request => {
      if (!request.isWhole) return
      maxOpen = Math.max(maxOpen, ++open)
      setTimeout(() => {
        open--
        request.take()
      }, 5)
    })
    const dataset = ({ n }: Record<string, unknown>) => `d${n}`
    const shipper = createShipper({ baseUrl: server.url, token: 't', dataset, maxConcurrentRequests: 2 })
    shipper.ship({ n: 0 })
    await shipper.close({ timeoutMs: 60_000 })
    for (const n of range(20)) shipper.ship({ n })
    expect(await shipper.flush()).toEqual({ complete: true, pending: 0 })
    expect(maxOpen).toBe(2)
    await shipper.close()
  })

  it('refuses an invalid time', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship()
    await expect(shipper.flush({ timeoutMs: Number.NaN })).rejects.toThrow(/`timeoutMs` must be a number from 0/)
    await expect(shipper.close({ timeoutMs: '1' as never })).rejects.toThrow(TypeError)
  })

  it.each([
    ['a time in place of an object', 5000, 'options', /must be an object; got a number$/],
    ['null', null, 'options', /must be an object; got null$/],
    ['another name', { timeout: 3 }, 'timeout', /there is no option `timeout`\. Did you mean `timeoutMs`\?$/],
  ])('refuses %s as the options of a call, and takes no event with it', async (_, options, option, message) => {
    await using shipping = await startShipping()
    const shipper = shipping.ship()
    const given = options as never
    const error = {
      name: 'TypeError',
      code: 'LOGFERRY_INVALID_OPTION',
      option,
      message: expect.stringMatching(message),
    }
    const refused = expect.objectContaining(error)
    await expect(shipper.flush(given)).rejects.toEqual(refused)
    await expect(shipper.close(given)).rejects.toEqual(refused)
    await expect(shipper.shipAndConfirm({ n: 1 }, given)).rejects.toEqual(refused)
    expect(shipper.stats().accepted).toBe(0)
  })

  it('calls its listeners, and continues if one of them throws', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship()
    const told: unknown[] = []
    shipper.on('delivered', () => {
      throw new Error('mine')
    })
    shipper.on('delivered', notice => told.push(notice))
    shipper.ship({ n: 1 })
    await shipper.flush()
    expect(told).toEqual([{ dataset: 'd', count: 1, bytes: expect.any(Number) }])
    expect(shipping.warnings.map(({ code }) => code)).toEqual(['LOGFERRY_CALLBACK_THREW'])
  })

  it('reports a drop that could only be counted, as where the stack ends, once its other events are delivered', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship()
    const dropped: object[] = []
    let isLogging = true
    shipper.on('dropped', ({ reason, count }) => {
      dropped.push({ reason, count })
      if (isLogging) shipper.intakeDropCounts.error[2]++ // a listener that logs, and whose event is dropped as well
    })
    shipper.ship({ n: 1 })
    shipper.intakeDropCounts.error[2]++
    await shipper.flush()
    expect(dropped).toEqual([{ reason: 'error', count: 1 }])
    isLogging = false
    shipper.ship({ n: 2 })
    await shipper.flush()
    expect(dropped).toEqual([
      { reason: 'error', count: 1 },
      { reason: 'error', count: 1 },
    ])
    expect(shipper.stats()).toMatchObject({ accepted: 4, delivered: 2, dropped: 2, pending: 0 })
  })

  it('calls a listener once for an event, although it takes itself off and on again', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship()
    let calls = 0
    const listener = () => {
      if (++calls < 100) shipper.off('delivered', listener).on('delivered', listener)
    }
    shipper.on('delivered', listener).ship({ n: 1 })
    await shipper.flush()
    expect(calls).toBe(1)
  })

  it('does not call a removed listener', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship()
    const told: unknown[] = []
    const listener = (notice: unknown) => told.push(notice)
    shipper.on('delivered', listener).off('delivered', listener).ship({ n: 1 })
    await shipper.flush()
    expect(told).toEqual([])
  })

  it.each([
    [
      'warn',
      () => {},
      'event',
      'one of warning, dropped, rejected, delivered, retried, paused, spooled, attempted; got "warn"',
    ],
    [
      '__proto__',
      () => {},
      'event',
      'one of warning, dropped, rejected, delivered, retried, paused, spooled, attempted; got "__proto__"',
    ],
    [
      undefined,
      () => {},
      'event',
      'one of warning, dropped, rejected, delivered, retried, paused, spooled, attempted; got undefined',
    ],
    ['warning', undefined, 'listener', "a function for 'warning'; got undefined"],
    ['rejected', 'console.log', 'listener', "a function for 'rejected'; got a string of 11 characters (not shown)"],
  ])('refuses to listen for %s with %s', async (event, listener, option, expected) => {
    await using shipping = await startShipping()
    const shipper = shipping.ship()
    const message = `logferry: argument \`${option}\` must be ${expected}`
    const refused = expect.objectContaining({ name: 'TypeError', code: 'LOGFERRY_INVALID_OPTION', option, message })
    expect(() => shipper.on(event as never, listener as never)).toThrow(refused)
    expect(() => shipper.off(event as never, listener as never)).toThrow(refused)
  })

  it('uses a given dispatcher, and leaves it open', async () => {
    const { Agent } = await import('undici')
    await using shipping = await startShipping()
    const dispatcher = new Agent()
    const shipper = shipping.ship({ dispatcher })
    shipper.ship({ n: 1 })
    await shipper.close()
    expect(dispatcher.closed).toBe(false)
    shipper.ship({ n: 2 })
    await shipper.close()
    expect(shipping.emulator.eventCount('d')).toBe(2)
    await dispatcher.close()
  })

  it('reaches a server that speaks HTTP/2 alone by a dispatcher with allowH2', async () => {
    const pem = (kind: string) => readFileSync(new URL(`emulator/tls/${kind}.pem`, import.meta.url), 'utf8')
    const lines: string[] = []
    await using server = createSecureServer({ cert: pem('cert'), key: pem('key') }, async (request, response) => {
      lines.push(await text(request))
      response.end('{}')
    })
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const dispatcher = new Agent({ allowH2: true, connect: { ca: pem('cert') } })
    const baseUrl = `https://localhost:${(server.address() as AddressInfo).port}`
    const shipper = createShipper({ baseUrl, token: 't', dataset: 'd', dispatcher, timeField: 'at' })
    shipper.ship({ n: 1, at: 0 })
    expect(await shipper.close()).toEqual({ complete: true, pending: 0 })
    expect(lines).toEqual(['{"n":1,"at":0}\n'])
    await dispatcher.close()
  })

  it('sends again at once if an asynchronous interceptor of a dispatcher rejects', async () => {
    const { Agent } = await import('undici')
    await using shipping = await startShipping()
    const agent = new Agent()
    let calls = 0
    type Request = Parameters<typeof agent.dispatch>
    const dispatch = async (options: Request[0], handler: Request[1]) => {
      if (++calls === 1) throw new Error('no credentials yet')
      return agent.dispatch(options, handler)
    }
    const shipper = shipping.ship({ dispatcher: agent.compose(() => dispatch as never), maxRetryDelayMs: 10 })
    shipper.ship({ n: 1 })
    expect(await shipper.close()).toEqual({ complete: true, pending: 0 })
    expect(shipping.emulator.eventCount('d')).toBe(1)
    await agent.close()
  })

  it.each([
    [400, 'LOGFERRY_REJECTED', /400 said by the service/],
    [403, 'LOGFERRY_PAUSED', /403 \(said by the service\)/],
    [413, 'LOGFERRY_REJECTED', /answers 413 to a single event/],
    [429, 'LOGFERRY_UNREACHABLE', /rate limit is reached \(429 said by the service\).*in 2 s/],
  ])('takes an error of an interceptor that stands for a %i as that answer', async (status, code, message) => {
    const server = createServer((request, response) => {
      request
        .setEncoding('utf8')
        .toArray()
        .then(parts => {
          const isRefused = parts.join('').includes('poison')
          response.writeHead(isRefused ? status : 200, { 'content-type': 'application/json', 'retry-after': '2' })
          response.end(isRefused ? '{"error":"said by the service"}' : '{}')
        })
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const agent = new Agent()
    await using shipping = await startShipping()
    const shipper = shipping.ship({
      baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      dispatcher: agent.compose(interceptors.responseError()),
      compression: 'none',
    })
    for (const n of range(3)) shipper.ship({ n, message: n === 1 ? 'poison' : 'x' })
    await shipper.flush({ timeoutMs: 1500 })
    expect(shipping.warnings.find(warning => warning.code === code)?.message).toMatch(message)
    await agent.close()
    server.close()
  })
})

describe('when the service misbehaves', () => {
  it.each(['before-storing', 'after-storing'] as const)(
    'a reset %s: the same bytes are sent again, and no event is lost',
    async moment => {
      await using shipping = await startShipping()
      shipping.emulator.faults.resetNext(3, moment)
      const shipper = shipping.ship({ maxBatchEvents: 100, maxConcurrentRequests: 1 })
      for (const n of range(1000)) shipper.ship({ n })
      await shipper.flush()
      const lines = shipping.emulator.lines('d')
      expect(sorted(shipping.emulator.events('d').map(({ n }) => n)).filter((n, i, all) => n !== all[i - 1])).toEqual(
        range(1000),
      )
      expect(new Set(lines).size).toBe(1000)
      expect(lines.length).toBe(moment === 'before-storing' ? 1000 : 1300)
      expect(shipper.stats()).toMatchObject({ delivered: 1000, retries: 3 })
    },
  )

  it('trickling answers are given up at the total deadline, and other connections continue', async () => {
    await using shipping = await startShipping()
    shipping.emulator.faults.slowBody({ bytesPerSecond: 1, answers: 1 })
    const shipper = shipping.ship({ maxBatchEvents: 10, requestTimeoutMs: 300, maxConcurrentRequests: 2 })
    for (const n of range(100)) shipper.ship({ n })
    expect(await shipper.flush()).toEqual({ complete: true, pending: 0 })
    // Its headers said 200, so the batch is stored, and is not sent again.
    expect(sorted(shipping.emulator.events('d').map(({ n }) => n))).toEqual(range(100))
  })

  it('requests without an answer are given up at the total deadline, and sent again', async () => {
    const server = await startRawServer((socket, heard, index) => {
      if (index > 0 && heard.includes('\n\r\n')) socket.end('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n')
    })
    const shipper = createShipper({
      baseUrl: server.url,
      token: 't',
      dataset: 'd',
      requestTimeoutMs: 200,
      compression: 'none',
    })
    shipper.ship({ n: 1 })
    expect(await shipper.flush()).toEqual({ complete: true, pending: 0 })
    expect(server.sockets.length).toBe(2)
    await shipper.close()
    await server.close()
  })

  it('a service that answers too late is reported, with the option that allows it more time', async () => {
    await using shipping = await startShipping()
    shipping.emulator.faults.latencyMs = 300
    const shipper = shipping.ship({ requestTimeoutMs: 100, maxRetryDelayMs: 10, flushTimeoutMs: 1500 })
    shipper.ship({ n: 1 })
    await shipper.close()
    const messageOf = (code: string) => shipping.warnings.find(warning => warning.code === code)?.message
    expect(messageOf('LOGFERRY_UNREACHABLE')).toMatch(/no complete answer within 100 ms.* raise requestTimeoutMs/)
    expect(messageOf('LOGFERRY_DROPPED')).toMatch(
      /no complete answer within 100 ms.*allow more time \(requestTimeoutMs,/,
    )
  })

  it('connections that the permissions of Node forbid are reported, with the flag that allows them', async () => {
    const forbidden = Object.assign(new Error('getaddrinfo ERR_ACCESS_DENIED logs.example'), {
      code: 'ERR_ACCESS_DENIED',
    })
    const dispatcher = {
      dispatch(_: unknown, handler: { onResponseError(controller: unknown, error: Error): void }): boolean {
        setImmediate(() => handler.onResponseError({ abort() {} }, forbidden))
        return true
      },
    }
    await using logs = watched({
      baseUrl: 'https://logs.example',
      dispatcher: dispatcher as never,
      maxRetryDelayMs: 10,
    })
    logs.log(0)
    expect((await logs.whenWarned()).message).toMatch(/ERR_ACCESS_DENIED.*kept.* run Node with --allow-net/)
    await logs.close(0)
    expect(logs.warnings.at(-1)?.message).toMatch(/could not be delivered.* run Node with --allow-net/)
  })

  it('a single 429 is reported if its headers name a long wait', async () => {
    await using shipping = await startShipping()
    const headers = { 'x-ratelimit-limit': '100', 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '50' }
    shipping.emulator.faults.answerNext(1, { status: 429, headers })
    const shipper = shipping.ship()
    shipper.ship({ n: 1 })
    await shipper.flush({ timeoutMs: 500 })
    expect(shipping.warnings.map(({ message }) => message)).toEqual([
      expect.stringMatching(/rate limit is reached \(429 .*next request follows in 50 s/),
    ])
    await shipper.close({ timeoutMs: 0 })
  })

  it('never-ending headers are cut off', async () => {
    const server = await startRawServer((socket, _, index) => {
      if (index > 0) return void socket.end('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n')
      socket.write('HTTP/1.1 200 OK\r\n')
      const timer = setInterval(() => socket.write(`x-${Math.random()}: ${'y'.repeat(1000)}\r\n`), 1)
      socket.on('close', () => clearInterval(timer))
    })
    const shipper = createShipper({ baseUrl: server.url, token: 't', dataset: 'd' })
    shipper.on('warning', () => {})
    shipper.ship({ n: 1 })
    expect(await shipper.flush()).toEqual({ complete: true, pending: 0 })
    await shipper.close()
    await server.close()
  })

  it('a never-ending body counts by its status, and its connection is closed', async () => {
    let written = 0
    const server = await startRawServer(socket => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 1000000000\r\n\r\n')
      const pump = () => {
        while (!socket.destroyed && written < 1e9 && socket.write('{'.repeat(65_536))) written += 65_536
      }
      socket.on('drain', pump)
      pump()
    })
    const shipper = createShipper({ baseUrl: server.url, token: 't', dataset: 'd' })
    shipper.ship({ n: 1 })
    expect(await shipper.flush()).toEqual({ complete: true, pending: 0 })
    expect(shipper.stats().delivered).toBe(1)
    expect(written).toBeLessThan(20_000_000)
    await shipper.close()
    await server.close()
  })

  it.each([301, 302, 307, 308])('a redirect (%i) is never followed, and the token never sent there', async status => {
    await using elsewhere = await startShipping()
    await using shipping = await startShipping()
    const location = `${elsewhere.emulator.url}/v1/datasets/d/ingest`
    shipping.emulator.faults.answerNext(1, { status, headers: { location } })
    const shipper = shipping.ship()
    shipper.ship({ n: 1 })
    expect(await shipper.flush({ timeoutMs: 300 })).toEqual({ complete: false, pending: 1 })
    expect(elsewhere.emulator.requests()).toEqual([])
    expect(shipping.warnings[0]?.message).toMatch(/redirects to http:\/\/127.*Redirects are not followed: set baseUrl/)
    await shipper.close()
    expect(shipping.emulator.eventCount('d')).toBe(1)
  })

  it('a 304 is not reported as a redirect', async () => {
    await using shipping = await startShipping()
    shipping.emulator.faults.answerNext(1, { status: 304 })
    const shipper = shipping.ship()
    shipper.ship({ n: 1 })
    await shipper.flush({ timeoutMs: 300 })
    expect(shipping.warnings[0]?.message).toMatch(/answers 304 .*Check baseUrl/)
    expect(shipping.warnings[0]?.message).not.toContain('edirect')
  })

  it('a wrong token is reported once, without showing it, and no event is lost once it is valid', async () => {
    await using shipping = await startShipping()
    const token = 'xaat-not-yet-known'
    const shipper = shipping.ship({ token })
    for (const n of range(100)) shipper.ship({ n })
    expect(await shipper.flush({ timeoutMs: 100 })).toEqual({ complete: false, pending: 100 })
    expect(shipping.warnings).toHaveLength(1)
    expect(shipping.warnings[0]?.message).toMatch(/paused: the service answers 403.*Check that the token/)
    shipping.emulator.addToken({ kind: 'api', token, actions: ['ingest'] })
    expect(await shipper.close()).toEqual({ complete: true, pending: 0 })
    expect(shipping.emulator.eventCount('d')).toBe(100)
    for (const thing of [shipper, shipper.stats(), shipping.warnings]) {
      expect(inspect(thing, { depth: 20, showHidden: true })).not.toContain(token)
    }
  })

  it('a token that the server repeats does not get into warnings', async () => {
    await using shipping = await startShipping()
    const { token } = shipping.emulator
    shipping.emulator.faults.answerNext(Number.POSITIVE_INFINITY, {
      status: 403,
      body: { message: `bad token ${token}` },
    })
    const shipper = shipping.ship()
    shipper.ship({ n: 1 })
    await shipper.flush({ timeoutMs: 100 })
    expect(shipping.warnings[0]?.message).toContain('bad token [token]')
    expect(inspect(shipping.warnings)).not.toContain(token)
  })

  it('events refused inside a 200 are reported with the service’s reason, and not sent again', async () => {
    await using shipping = await startShipping()
    shipping.emulator.faults.rejectEvents(event => Number(event.n) % 10 === 3, 'too many fields')
    const shipper = shipping.ship()
    const refused: unknown[] = []
    shipper.on('rejected', ({ event, reason }) => refused.push([event?.n, reason]))
    for (const n of range(30)) shipper.ship({ n, level: 'warn' })
    await shipper.flush()
    expect(refused).toEqual([3, 13, 23].map(n => [n, 'too many fields']))
    expect(shipper.stats()).toMatchObject({ delivered: 27, dropped: 3, drops: { rejected: { warn: 3 } }, requests: 1 })
  })

  it.each([false, true])(
    'batches over its limit (413, then a reset: %s) are split, and no event is lost',
    async reset => {
      await using shipping = await startShipping()
      shipping.emulator.faults.maxBytes(20_000, { reset })
      const shipper = shipping.ship()
      for (const n of range(1000)) shipper.ship({ n, text: 'x'.repeat(100) })
      expect(await shipper.flush()).toEqual({ complete: true, pending: 0 })
      expect(sorted(shipping.emulator.events('d').map(({ n }) => n))).toEqual(range(1000))
    },
  )

  it('a refused encoding is not used again', async () => {
    await using shipping = await startShipping()
    shipping.emulator.faults.refuseEncodings(['zstd'])
    const shipper = shipping.ship({ maxBatchEvents: 100 })
    for (const n of range(1000)) shipper.ship({ n, text: 'x'.repeat(100) })
    await shipper.flush()
    expect(shipper.stats().compression).toBe('gzip')
    expect(sorted(shipping.emulator.events('d').map(({ n }) => n))).toEqual(range(1000))
  })

  it('close() during flush() during an outage: both end once, by their deadlines, and pending events are counted', async () => {
    await using shipping = await startShipping()
    shipping.emulator.faults.answerNext(Number.POSITIVE_INFINITY, { status: 503 })
    const shipper = shipping.ship()
    for (const n of range(10)) shipper.ship({ n })
    const startedAt = performance.now()
    const [flushed, closed] = await Promise.all([shipper.flush({ timeoutMs: 5000 }), shipper.close({ timeoutMs: 300 })])
    expect(performance.now() - startedAt).toBeLessThan(1500)
    expect([flushed, closed]).toEqual([
      { complete: true, pending: 0 },
      { complete: false, pending: 0 },
    ])
    expect(shipper.stats()).toMatchObject({
      delivered: 0,
      dropped: 10,
      drops: { closed: { info: 10 } },
      bufferedBytes: 0,
    })
    expect(shipping.warnings.map(({ code }) => code)).toContain('LOGFERRY_DROPPED')
  })

  it('a connection that the server closed while idle causes no error', async () => {
    let answers = 0
    const server = await startRawServer((socket, heard) => {
      if (!heard.endsWith('\n')) return
      answers++
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n')
      setTimeout(() => socket.destroy(), 20)
    })
    const shipper = createShipper({ baseUrl: server.url, token: 't', dataset: 'd', compression: 'none' })
    const warnings: unknown[] = []
    shipper.on('warning', warning => warnings.push(warning))
    for (const n of range(5)) {
      shipper.ship({ n })
      await shipper.flush()
      await new Promise(resolve => setTimeout(resolve, 20))
    }
    expect(shipper.stats()).toMatchObject({ delivered: 5, pending: 0 })
    expect(answers).toBeGreaterThanOrEqual(5)
    expect(warnings).toEqual([])
    await shipper.close()
    await server.close()
  })

  it('a blocked event loop does not make arrived answers look missing', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ requestTimeoutMs: 200 })
    shipper.ship({ n: 1 })
    const flushed = shipper.flush()
    await new Promise(resolve => setTimeout(resolve, 60))
    const until = performance.now() + 800
    while (performance.now() < until);
    await flushed
    expect(shipping.emulator.eventCount('d')).toBe(1)
    expect(shipper.stats()).toMatchObject({ requests: 1, retries: 0, delivered: 1 })
  })
})

describe('memory', () => {
  it.each(['none', 'gzip'] as const)('has room for JSON arrays, too, compressed with %s', async compression => {
    await using shipping = await startShipping()
    const limits = { maxBatchBytes: 65_536, maxBufferedBytes: 2 ** 20 }
    const shipper = shipping.ship({ ...limits, contentType: 'application/json', compression })
    while (shipper.ship({ level: 'error', text: 'x'.repeat(900) }));
    const { accepted } = shipper.stats()
    let most = 0
    while (shipper.stats().pending > 0) {
      most = Math.max(most, shipper.stats().bufferedBytes)
      await new Promise(setImmediate)
    }
    expect(most).toBeGreaterThan(2 ** 19)
    expect(most).toBeLessThanOrEqual(limits.maxBufferedBytes)
    expect(shipping.emulator.eventCount('d')).toBeGreaterThanOrEqual(accepted - 1)
    expect(shipper.stats().bufferedBytes).toBe(0)
  })

  it('was short: close() also delivers the event that reports it', async () => {
    await using shipping = await startShipping()
    shipping.emulator.faults.latencyMs = 100
    const shipper = shipping.ship({ maxBatchBytes: 8192, maxBufferedBytes: 65_536 })
    for (const n of range(2000)) shipper.ship({ n, text: 'x'.repeat(100) })
    expect(shipper.stats().drops.memory?.info).toBeGreaterThan(1000)
    expect(await shipper.close()).toEqual({ complete: true, pending: 0 })
    expect(shipping.emulator.events('d').filter(({ n }) => n === undefined)).toHaveLength(1)
  })

  it('stays within maxBufferedBytes in an outage: low severities are dropped first, errors last, and one event reports it', async () => {
    await using shipping = await startShipping()
    shipping.emulator.faults.answerNext(Number.POSITIVE_INFINITY, { status: 503 })
    const maxBufferedBytes = 2 ** 20
    const shipper = shipping.ship({ maxBatchBytes: 65_536, maxBufferedBytes, maxRetryDelayMs: 50, compression: 'none' })
    const kept: Record<string, number> = { debug: 0, info: 0, warn: 0, error: 0 }
    let most = 0
    for (const n of range(2000)) {
      for (const level of Object.keys(kept)) {
        if (shipper.ship({ level, n, text: 'x'.repeat(900) })) kept[level] = (kept[level] ?? 0) + 1
      }
      most = Math.max(most, shipper.stats().bufferedBytes)
    }
    expect(most).toBeLessThanOrEqual(maxBufferedBytes)
    const { accepted, dropped, drops } = shipper.stats()
    expect(accepted).toBe(8000)
    const [debug, info, warn, error] = Object.values(kept) as [number, number, number, number]
    expect([debug < info, info < warn, warn < error]).toEqual([true, true, true])
    expect(drops.memory).toEqual({ debug: 2000 - debug, info: 2000 - info, warn: 2000 - warn, error: 2000 - error })
    expect(shipping.warnings.filter(({ code }) => code === 'LOGFERRY_DROPPED')).toHaveLength(1)

    shipping.emulator.faults.clear()
    await shipper.close()
    const arrived = shipping.emulator.events('d')
    expect(arrived.filter(event => event.n !== undefined)).toHaveLength(8000 - dropped)
    expect(arrived.filter(event => event.n === undefined)).toMatchObject([
      { level: 'warn', message: `logferry dropped ${dropped} events before this one because memory was short` },
    ])
    expect(shipper.stats()).toMatchObject({
      accepted: 8001,
      delivered: 8001 - dropped,
      dropped,
      pending: 0,
      bufferedBytes: 0,
    })
  })

  it.each(['license', 'fields.max'])(
    'reports lost events within the maximum number of fields of the %s',
    async limit => {
      await using shipping = await startShipping({ org: { license: { maxFields: 20 } } })
      const { orgId, accessToken } = shipping.emulator
      const shipper = shipping.ship({
        maxBatchBytes: 65_536,
        maxBufferedBytes: 2 ** 20,
        maxRetryDelayMs: 50,
        ...(limit === 'license' ? { limits: { orgId, accessToken } } : { fields: { max: 20 } }),
      })
      if (limit === 'license') await until(() => shipper.stats().limits?.readAt !== undefined, 'the license is read')
      shipping.emulator.faults.answerNext(Number.POSITIVE_INFINITY, { status: 503 })
      const trace = { trace_id: 'a'.repeat(32), span_id: 'b'.repeat(16), trace_flags: '01' }
      const marks = { logferry: { cut: true, original_bytes: 1, sampling_rate: 0.5 } }
      const fields = Object.fromEntries(range(20).map(n => [`field${n}`, n]))
      for (const _ of range(2000)) {
        for (const level of ['trace', 'debug', 'info', 'warn', 'error']) {
          shipper.ship({ level, message: 'x'.repeat(900), ...trace, ...marks, ...fields })
        }
      }
      shipping.emulator.faults.clear()
      await shipper.close()
      const { trace: lost } = shipper.stats().drops.memory ?? {}
      const arrived = shipping.emulator.events('d')
      expect(arrived.at(-1)).toMatchObject({
        overflow: expect.stringContaining(`"logferry.dropped.memory.trace":${lost}`),
      })
      expect(shipper.stats().drops).toEqual({ memory: expect.anything() })
      const paths = arrived.flatMap(event => [
        ...Object.keys(event),
        ...Object.keys(event.logferry ?? {}).map(name => `logferry.${name}`),
      ])
      expect(new Set(paths).size - 1).toBe(limit === 'license' ? 19 : 20) // without \`logferry\` itself
    },
  )
})

describe('close()', () => {
  it('does not call a refused event lost for want of time', async () => {
    await using shipping = await startShipping()
    shipping.emulator.faults.answerNext(100, { status: 422, body: '{"message":"field x is bad"}' })
    const shipper = shipping.ship()
    shipper.ship({ message: 'm' })
    await shipper.close({ timeoutMs: 300 })
    expect(shipper.stats().drops).toEqual({ rejected: { info: 1 } })
    expect(shipping.warnings.map(({ code }) => code)).not.toContain('LOGFERRY_DROPPED')
  })

  it('settles every event, although a listener makes further requests when those in flight are broken off', async () => {
    await using server = await startFaultServer(request => {
      if (request.isWhole) request.socket.write('HTTP/1.1 200 OK\r\n\r\n{"failed":0') // without an end
    })
    const limits = { maxConcurrentRequests: 1, maxBatchEvents: 1 }
    const shipper = createShipper({ baseUrl: server.url, token: 't', dataset: 'd', ...limits })
    shipper.on('warning', () => {})
    shipper.on('delivered', () => void shipper.flush())
    for (const n of range(5)) shipper.ship({ n })
    await until(() => server.requestCount > 0, 'the first request')
    expect(await shipper.close({ timeoutMs: 500 })).toEqual({ complete: false, pending: 0 })
    expect(shipper.stats()).toMatchObject({
      accepted: 5,
      delivered: 1,
      drops: { closed: { info: 4 } },
      pending: 0,
      requestsInFlight: 0,
      bufferedBytes: 0,
    })
  })
})
