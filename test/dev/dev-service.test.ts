/** `logferry dev` as it is built, with real shippers and readers. */
import { describe, expect, it } from 'vitest'
import {
  type EventDetail,
  type EventsAnswer,
  paths,
  type RequestDetail,
  type RequestsAnswer,
  type RowsAnswer,
  type ServiceStatus,
  type TraceAnswer,
  type ViewState,
} from '../../src/dev/protocol.ts'
import { joinedWithCommas } from '../../src/text/comma-list.ts'
import { shareAmongTests } from '../support/share-among-tests.ts'
import { type Dev, rawRequest, setupOf, startDev } from './service.ts'

describe('the dev service', () => {
  let dev: Dev
  shareAmongTests(async () => {
    dev = await startDev()
    return dev
  })

  it('shows what a shipper has sent, as it was sent, with its source', async () => {
    const logs = dev.shipper('orders')
    logs.ship({ level: 'warn', message: 'slow', service: 'shop', http: { status: 504 }, n: 1 })
    await logs.flush()
    const { events } = await dev.events({ q: 'dataset:orders' })
    expect(events).toHaveLength(1)
    expect(events[0]).toMatchObject({ dataset: 'orders', source: 'shop', level: 'warn', message: 'slow' })
    expect(JSON.parse(events[0]?.line as string)).toMatchObject({ http: { status: 504 }, n: 1 })
  })

  it('answers one event by its id, and its line as it was sent', async () => {
    const body = '{"level":"info","n":1.50,"__proto__":{"x":1}}\n'
    const headers = { authorization: `Bearer ${dev.token}`, 'content-type': 'application/x-ndjson' }
    await dev.raw('/v1/datasets/exact/ingest', { method: 'POST', headers, body })
    const [event] = (await dev.events({ q: 'dataset:exact' })).events
    const detail = await dev.get<EventDetail>(paths.event, { id: event?.id as string })
    expect(detail).toMatchObject({ id: event?.id, dataset: 'exact', badges: expect.arrayContaining(['no-time']) })
    const raw = await dev.raw(`${paths.event}?id=${event?.id}&part=raw`)
    expect(raw.body).toBe('{"level":"info","n":1.50,"__proto__":{"x":1}}')
    const request = await dev.get<RequestDetail>(paths.request, { n: detail.request as number })
    expect(request).toMatchObject({ kind: 'ingest', status: 200, dataset: 'exact', events: 1, bodyBytes: 46 })
  })

  it('counts what a reader of arrival numbers has missed, and waits for the next event', async () => {
    const { newest } = await dev.get<ServiceStatus>(paths.status)
    const waiting = dev.events({ after: newest, waitMs: 20_000 })
    await dev.ingest([{ level: 'info', message: 'awaited' }])
    const { events, forgotten, next } = await waiting
    expect(events.map(({ message }) => message)).toEqual(['awaited'])
    expect({ forgotten, next }).toEqual({ forgotten: 0, next: newest + 1 })
  })

  it('answers all events of a trace, oldest first', async () => {
    const trace = '4bf92f3577b34da6a3ce929d0e0e4736'
    const at = Date.now()
    const time = (ms: number) => new Date(at + ms).toISOString()
    await dev.ingest([{ _time: time(0), trace_id: trace, message: 'first', service: 'a' }])
    await dev.ingest([{ _time: time(-50), trace_id: trace, message: 'earlier', level: 'error', service: 'b' }], 'e')
    const answer = await dev.get<TraceAnswer>(paths.trace, { id: trace })
    expect(answer.events.map(({ message, offsetMs }) => [message, offsetMs])).toEqual([
      ['earlier', 0],
      ['first', 50],
    ])
    expect(answer).toMatchObject({ count: 2, errors: 1, durationMs: 50 })
  })

  it('sends rows to an open page within 250 ms of a request, and pins the list while events arrive', async () => {
    await using live = await dev.live({ q: 'dataset:live' })
    const { view } = await live.next('hello')
    const takenMs: number[] = []
    let newest = 0
    for (const message of ['first', 'second', 'one']) {
      const startedAt = performance.now()
      await dev.ingest([{ message }], 'live')
      const frame = await live.next('rows', frame => frame.rows.some(row => row.message === message))
      takenMs.push(performance.now() - startedAt)
      newest = frame.newest
    }
    expect(Math.min(...takenMs)).toBeLessThan(250) // the machine may be busy once
    await dev.post<ViewState>(paths.view, { view: view.view, pinned: true })
    await dev.ingest([{ message: 'two', level: 'error' }], 'live')
    const tick = await live.next('tick', ({ fresh }) => fresh > 0)
    expect(tick).toMatchObject({ fresh: 1, freshErrors: 1 })
    const pinned = await dev.get<RowsAnswer>(paths.rows, { view: view.view, until: newest, from: 0, n: 10 })
    expect(pinned.rows.map(({ message }) => message)).toEqual(['one', 'second', 'first'])
  })

  it('says exactly how many events a page has missed when it comes back', async () => {
    let lastId: string
    {
      await using live = await dev.live()
      await live.next('hello')
      lastId = live.lastId
    }
    await dev.ingest([{ n: 1 }, { n: 2 }, { n: 3 }])
    await using again = await dev.live({ after: lastId })
    await again.next('hello')
    expect(await again.next('gap')).toMatchObject({ reason: 'reconnected', count: 3, forgotten: 0 })
    await using other = await dev.live({ after: 'otherrun.5' })
    expect(await other.next('gap')).toMatchObject({ reason: 'restarted' })
  })

  it('tells open pages which request was refused and why', async () => {
    await using live = await dev.live()
    await live.next('hello')
    const refused = await dev.raw('/v1/datasets/d/ingest', {
      method: 'POST',
      headers: { authorization: `Bearer ${dev.token}`, 'content-type': 'application/json' },
      body: '[{"user":,"id":1}]',
    })
    expect(refused.status).toBe(400)
    const message = await live.next('refused')
    expect(message).toMatchObject({ dataset: 'd', reason: 'malformed JSON at line 1, column 10 of the body' })
    const { requests } = await dev.get<RequestsAnswer>(paths.requests, { status: 'refused', limit: 1 })
    expect(requests[0]).toMatchObject({ n: message.n, status: 400, reason: message.reason })
    const detail = await dev.get<RequestDetail>(paths.request, { n: message.n })
    expect(detail.bodyStart).toBe('[{"user":,"id":1}]')
    const { refused: reasons } = await dev.get<ServiceStatus>(paths.status)
    expect(reasons).toContainEqual({ reason: message.reason, count: 1 })
  })

  it('opens 16 pages at most, and says so to the next one', async () => {
    const pages = await Promise.all(Array.from({ length: 16 }, () => dev.live()))
    try {
      await Promise.all(pages.map(page => page.next('hello')))
      const one = await dev.raw(paths.live)
      expect([one.status, JSON.parse(one.body).code]).toEqual([503, 'too-many-pages'])
    } finally {
      for (const page of pages) await page[Symbol.asyncDispose]()
    }
  })

  it('exports the filtered events, each as it was sent', async () => {
    await dev.ingest([{ n: 1, keep: true }, { n: 2 }, { n: 3, keep: true }], 'export')
    const { body, headers } = await dev.raw(`${paths.export}?${new URLSearchParams({ q: 'dataset:export keep:true' })}`)
    expect(headers['content-type']).toBe('application/x-ndjson; charset=utf-8')
    expect(body).toBe('{"n":3,"keep":true}\n{"n":1,"keep":true}\n')
  })

  it('shows the size of an event that is too long to keep, and takes events of any other shape', async () => {
    await dev.ingest([{ message: 'x'.repeat(4_200_000) }], 'long')
    const [event] = (await dev.events({ q: 'dataset:long' })).events
    expect(event).toMatchObject({
      level: 'warn',
      message: expect.stringMatching(/^An event of 4200014 bytes was stored/),
    })
    const headers = { authorization: `Bearer ${dev.token}`, 'content-type': 'application/json' }
    for (const body of [
      `{"a":[${'[],'.repeat(100_000)}[]]}`,
      `{${Array.from({ length: 20_000 }, (_, n) => `"key${n}":${n}`).join(',')}}`,
      `${'{"a":'.repeat(250)}1${'}'.repeat(250)}`,
      '{"__proto__":{"__proto__":1},"constructor":{"prototype":2},"message":{"toString":3},"level":{},"_time":[]}',
      '{"message":"\\ud800","level":"\\u202e","_time":"+275760-09-13T00:00:00.001Z","trace_id":5}',
    ]) {
      expect((await dev.raw('/v1/datasets/odd/ingest', { method: 'POST', headers, body })).status).toBe(200)
    }
    expect((await dev.events({ q: 'dataset:odd' })).events).toHaveLength(5)
    for (const path of [paths.groups, paths.cost, paths.fields, `${paths.facet}?field=__proto__`, paths.status]) {
      expect((await dev.raw(path)).status).toBe(200)
    }
  })

  it('lets its token read the license, as a program with the option limits does', async () => {
    const { orgId } = await setupOf(dev)
    const { status, body } = await dev.raw(`/v2/orgs/${orgId}`, { headers: { authorization: `Bearer ${dev.token}` } })
    expect([status, JSON.parse(body).license.maxFields]).toEqual([200, 1024])
  })

  it('sends a test event through the same door as an application', async () => {
    await dev.post(paths.testEvent)
    expect((await dev.events({ q: 'dataset:local' })).events).toHaveLength(1)
  })

  it('never shows its token, whatever is logged, but in the answer that is for it', async () => {
    const secret = `Bearer ${dev.token}`
    await dev.ingest([{ message: secret, [dev.token]: dev.token, level: dev.token, service: dev.token }], 'secret')
    await dev.raw(`/nowhere?token=${dev.token}`, { headers: { authorization: secret, 'x-api-key': dev.token } })
    const q = 'dataset:secret'
    const [event] = (await dev.events({ q })).events
    const { requests } = await dev.get<RequestsAnswer>(paths.requests, { limit: 5 })
    const id = event?.id as string
    const answers = await Promise.all(
      [
        `${paths.events}?${new URLSearchParams({ q })}`,
        `${paths.event}?id=${id}`,
        `${paths.event}?id=${id}&part=raw`,
        `${paths.export}?${new URLSearchParams({ q })}`,
        paths.groups,
        paths.cost,
        `${paths.fields}?dataset=secret`,
        `${paths.facet}?field=message`,
        `${paths.suggest}?q=&at=0`,
        paths.status,
        paths.faults,
        `${paths.requests}?limit=50`,
        ...requests.map(({ n }) => `${paths.request}?n=${n}`),
      ].map(path => dev.raw(path)),
    )
    for (const { status, body } of answers) {
      expect(status).toBe(200)
      expect(body).not.toContain(dev.token)
    }
    await using live = await dev.live({ q })
    expect(JSON.stringify(await live.next('hello'))).not.toContain(dev.token)
    expect(JSON.stringify(await live.next('tick'))).not.toContain(dev.token)
    const { url, token } = dev
    expect(await setupOf(dev)).toEqual({ url, token, dataset: 'local', otlpEndpoint: url, orgId: 'emulated-org' })
  })

  it.each([
    [`${paths.rows}?view=nothing&until=1&from=0&n=10`, 404, 'no-such-view'],
    [`${paths.rows}?until=1&from=0&n=10`, 400, 'bad-request'],
    [`${paths.events}?limit=0`, 400, 'bad-request'],
    [`${paths.events}?after=-1`, 400, 'bad-request'],
    [`${paths.events}?waitMs=1e9`, 400, 'bad-request'],
    [`${paths.events}?from=NaN`, 400, 'bad-request'],
    [`${paths.live}?columns=${'a,'.repeat(13)}`, 400, 'bad-request'],
    [`${paths.live}?q=${'x'.repeat(9000)}`, 400, 'bad-request'],
    [`${paths.event}?id=1.2.3`, 404, 'no-such-event'],
    [`${paths.event}?id=__proto__`, 404, 'no-such-event'],
    [`${paths.request}?n=999999`, 404, 'no-such-request'],
    ['/dev/api/nothing', 404, 'unknown-path'],
    ['/dev/api/__proto__', 404, 'unknown-path'],
    ['/dev/../v1', 404, 'unknown-path'],
  ])('answers %s with an error that has a code', async (path, status, code) => {
    const answer = await dev.raw(path)
    expect([answer.status, JSON.parse(answer.body).code]).toEqual([status, code])
  })

  it('answers with an event whatever its page says of its time', async () => {
    const _time = 'today, '.repeat(40)
    await dev.ingest([{ _time }])
    const id = (await dev.events({ limit: 1 })).events[0]?.id as string
    expect(await dev.get(paths.event, { id, t: _time })).toMatchObject({ time: _time })
  })

  it('shows columns of any name in the order in which the page asks for them', async () => {
    await dev.ingest([{ 'a,b': 1, 'back\\slash': 2, c: 3 }], 'columns')
    const columns = ['c', 'a,b', 'back\\slash', 'missing,too']
    await using live = await dev.live({ q: 'dataset:columns', columns: joinedWithCommas(columns) })
    expect((await live.next('hello')).view.rows[0]?.cells).toEqual(['3', '1', '2', null])
  })

  it('finds nothing after everything is deleted, and tells open pages', async () => {
    await using live = await dev.live()
    await live.next('hello')
    const { until } = await dev.post<{ until: number }>(paths.clear)
    expect(await live.next('cleared')).toEqual({ until })
    expect((await dev.get<EventsAnswer>(paths.events)).events).toEqual([])
  })
})

describe('the end of the dev service', () => {
  it.each(['SIGINT', 'SIGTERM'] as const)('%s ends it with 0, after open pages were told', async signal => {
    await using dev = await startDev()
    await using live = await dev.live()
    await live.next('hello')
    const ended = dev.process.end(signal)
    expect(await live.next('bye')).toEqual({ reason: 'the dev service was stopped' })
    expect(await ended).toBe(0)
    expect(dev.process.stdout()).toContain('Events received: 0')
    await expect(rawRequest(dev.url, '/')).rejects.toThrow('ECONNREFUSED')
  })

  it('takes a second signal of the same moment, as npm and a terminal send one each, for the first', async () => {
    const again = "process.once('SIGINT', () => setTimeout(() => process.kill(process.pid, 'SIGINT'), 2))"
    const environment = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(again)}` }
    await using dev = await startDev([], environment)
    expect(await dev.process.end('SIGINT')).toBe(0)
    expect(dev.process.stdout()).toContain('Events received: 0')
  })
})
