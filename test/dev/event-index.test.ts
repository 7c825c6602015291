import { getEventListeners } from 'node:events'
import { describe, expect, it } from 'vitest'
import { maxViews } from '../../src/dev/index/index-api.ts'
import { addAll, arrived, linesOf, newIndex, nowMs } from './support/events.ts'

const time = (ms: number) => new Date(nowMs + ms).toISOString()

describe('the index', () => {
  it('keeps errors through a flood of other events', async () => {
    const index = newIndex({ maxEvents: 1000 })
    for (let at = 0; at < 100; at++) index.add(arrived({ level: 'error', message: `broken ${at}` }))
    for (let at = 0; at < 20_000; at++) index.add(arrived({ level: 'info', message: `fine ${at}` }))
    expect(index.summary()).toEqual({ epoch: 'test', newest: 20_100, kept: 1000, forgotten: 19_100, errors: 100 })
    expect(await linesOf(index, 'level:error')).toHaveLength(100)
    expect(index.oldest).toBe(1)
  })

  it('uses all of its room for events of one kind', () => {
    for (const level of ['info', 'error']) {
      const index = newIndex({ maxEvents: 1000 })
      for (let at = 0; at < 1500; at++) index.add(arrived({ level }))
      expect(index.summary()).toMatchObject({ kept: 1000, forgotten: 500 })
      expect(index.oldest).toBe(501)
    }
  })

  it('stays within its bytes, and forgets an event that would displace most others', () => {
    const maxBytes = 1_000_000
    const index = newIndex({ maxBytes })
    addAll(
      index,
      Array.from({ length: 100 }, () => ({ message: 'kept' })),
    )
    index.add(arrived({ message: 'x'.repeat(500_000) }))
    expect(index.summary()).toMatchObject({ newest: 101, kept: 100, forgotten: 1 })
    for (let at = 0; at < 1000; at++) index.add(arrived({ message: 'ü'.repeat(5000) }))
    const { kept, forgotten } = index.summary()
    expect(kept + forgotten).toBe(1101)
    expect(kept * 10_000).toBeLessThan(maxBytes)
    expect(kept * 10_000).toBeGreaterThan(maxBytes * 0.8)
  })

  it('reads each kept line as it was sent, whatever used its memory before', async () => {
    const index = newIndex({ maxEvents: 500 })
    const lineOf = (n: number) => {
      const text = n % 400 === 0 ? 'long '.repeat(20_000) : (n % 3 === 0 ? 'é' : 'x').repeat((n * 37) % 1900)
      return JSON.stringify({ level: n % 5 === 0 ? 'error' : 'info', n, text })
    }
    for (let n = 1; n <= 20_000; n++) {
      index.add(arrived(lineOf(n)))
      if (n % 2500 !== 0) continue
      const lines = await linesOf(index, '')
      expect(lines).toHaveLength(500)
      expect(lines.every(line => line === lineOf(JSON.parse(line).n))).toBe(true)
    }
  })

  it('reads by arrival number without a gap or a double, and counts what was forgotten', async () => {
    const index = newIndex({ maxEvents: 500 })
    let next = 0
    let read = 0
    let forgotten = 0
    const numbers = new Set<number>()
    for (let round = 0; round < 20; round++) {
      for (let at = 0; at < 300; at++) index.add(arrived({ level: at % 7 === 0 ? 'error' : 'info', at }))
      for (let page = 0; page < 2; page++) {
        const pending = index.events({ after: next, limit: 77 })
        for (let at = 0; at < 50; at++) index.add(arrived({ at })) // they arrive while the answer is made
        const answer = await pending
        for (const { n } of answer.events) {
          expect(numbers.has(n)).toBe(false)
          numbers.add(n)
        }
        read += answer.events.length
        forgotten += answer.forgotten
        next = answer.next as number
        expect(read + forgotten).toBe(next)
      }
    }
    expect(forgotten).toBeGreaterThan(1000)
    expect(read).toBeGreaterThan(2000)
  })

  it('reads backwards to the oldest kept event', async () => {
    const index = newIndex({ maxEvents: 100 })
    addAll(
      index,
      Array.from({ length: 250 }, (_, at) => ({ at })),
    )
    const numbers: number[] = []
    let next: number | null | undefined
    do {
      const answer = await index.events({ limit: 30, ...(next ? { before: next } : {}) })
      numbers.push(...answer.events.map(({ n }) => n))
      next = answer.next
    } while (next !== null)
    expect(numbers).toEqual(Array.from({ length: 100 }, (_, at) => 250 - at))
  })

  it('waits for an event that matches, and no longer than it is asked to', async () => {
    const index = newIndex()
    const pending = index.events({ after: 0, q: 'level:error', waitMs: 10_000 })
    await new Promise(setImmediate)
    index.add(arrived({ level: 'info' }))
    await new Promise(setImmediate)
    index.add(arrived({ level: 'error' }))
    expect(await pending).toMatchObject({ events: [{ n: 2, level: 'error' }], next: 2, forgotten: 0 })
    expect(await index.events({ after: 2, waitMs: 20 })).toMatchObject({ events: [], next: 2 })
    const abort = new AbortController()
    const aborted = index.events({ after: 2, waitMs: 30_000 }, abort.signal)
    abort.abort()
    expect(await aborted).toMatchObject({ events: [], next: 2 })
  })

  it('answers at once to a reader who asks for what comes after a number of an earlier run', async () => {
    const index = newIndex()
    index.add(arrived({ level: 'info' }))
    expect(await index.events({ after: 5000, waitMs: 30_000 })).toMatchObject({ events: [], newest: 1 })
  })

  it('keeps nothing of a wait that has ended, although its signal lives on', async () => {
    const index = newIndex()
    const { signal } = new AbortController()
    for (let after = 0; after < 20; after++) {
      const pending = index.events({ after, waitMs: 10_000 }, signal)
      await new Promise(setImmediate)
      index.add(arrived({ level: 'info' }))
      await pending
    }
    expect(getEventListeners(signal, 'abort')).toHaveLength(0)
  })

  it('shows a message that is no text', async () => {
    const index = newIndex()
    addAll(index, [{ message: 42 }, { message: { order: 17 } }, { message: null, user: 'ann' }])
    const { events } = await index.events({ order: 'asc' })
    expect(events.map(({ message }) => message)).toEqual(['message=42', 'message={…}', 'user=ann'])
  })

  it('takes a day that does not exist for no time, not for a day of the next month', () => {
    const index = newIndex()
    addAll(index, [{ _time: '2026-02-29T10:00:00Z' }, { _time: '2024-02-29T10:00:00Z' }])
    expect(index.event('test.1')).toMatchObject({ badges: ['no-time'] })
    expect(index.event('test.2')).not.toMatchObject({ badges: ['no-time'] })
  })

  it('orders events by their time, and says why a time is not the own one', async () => {
    const index = newIndex()
    addAll(index, [
      { _time: time(0), message: 'b' },
      { _time: time(-60_000), message: 'a' },
      { _time: time(3 * 3_600_000), message: 'clock' },
      { _time: 'yesterday', message: 'none' },
      { _time: (nowMs - 30_000) / 1000, message: 'seconds' },
    ])
    const messages = (await linesOf(index, '')).map(line => JSON.parse(line).message)
    expect(messages).toEqual(['none', 'clock', 'b', 'seconds', 'a'])
    expect(index.event('test.2')).toMatchObject({ badges: ['late'], skewMs: 60_000 })
    expect(index.event('test.3')).toMatchObject({ badges: ['clock'], skewMs: 3 * 3_600_000, at: nowMs })
    expect(index.event('test.4')).toMatchObject({ badges: ['no-time'], time: 'yesterday' })
    for (const id of ['other.1', 'test.6', 'test.-1', 'test.', '', 'test.1.5e0']) {
      if (id !== 'test.1.5e0') expect(index.event(id)).toBeUndefined()
    }
  })

  it('finds a trace in all datasets, oldest first, with the gaps between its events', async () => {
    const index = newIndex()
    const trace_id = '4bf92f3577b34da6a3ce929d0e0e4736'
    index.add(arrived({ _time: time(5000), trace_id, level: 'error' }, { dataset: 'b', source: 'pay' }))
    index.add(arrived({ _time: time(0), trace_id, span_id: 's1' }, { source: 'api' }))
    index.add(arrived({ _time: time(1000), trace_id: trace_id.replace('4736', '0000') }))
    index.add(arrived({ message: `mentions ${trace_id}` }))
    expect(await index.trace({ id: trace_id })).toMatchObject({
      traceId: trace_id,
      events: [
        { n: 2, offsetMs: 0, gapMs: 0, spanId: 's1' },
        { n: 1, offsetMs: 5000, gapMs: 5000, level: 'error' },
      ],
      count: 2,
      sources: ['api', 'pay'],
      errors: 1,
      durationMs: 5000,
    })
    expect(await index.trace({ id: 'nothing' })).toMatchObject({ events: [], count: 0 })
    index.add(arrived({ _time: time(2000), trace_id: trace_id.toUpperCase() }))
    index.add(arrived({ _time: time(3000), 'trace.id': trace_id, 'span.id': 's2' })) // ECS of Java
    const { traceId, events, count } = await index.trace({ id: trace_id })
    expect({ traceId, count, spans: events.map(({ spanId }) => spanId) }).toEqual({
      traceId: trace_id,
      count: 4,
      spans: ['s1', null, 's2', null],
    })
  })

  it('knows the first and the last event of a group that came at the same moment', async () => {
    const index = newIndex()
    for (const n of [1, 2, 3]) index.add(arrived({ message: `request ${n} done` }))
    expect((await index.groups({})).groups).toMatchObject([{ count: 3, firstId: 'test.1', lastId: 'test.3' }])
  })

  it('groups events by their statement, the new ones first', async () => {
    const index = newIndex()
    for (let at = 0; at < 10; at++)
      index.add(arrived({ _time: time(at * 1000 - 20_000), level: 'info', message: `request ${at} done` }))
    const stack = 'TypeError: no\n    at node:internal/x:1:1\n    at pay (src/pay.ts:42:7)'
    index.add(arrived({ _time: time(-16_000), level: 'error', message: 'failed', error: { name: 'TypeError', stack } }))
    const { groups, total, complete } = await index.groups({ mark: 10 })
    expect({ total, complete }).toEqual({ total: 2, complete: true })
    expect(groups).toMatchObject([
      {
        statement: 'failed',
        count: 1,
        isNew: true,
        errorType: 'TypeError',
        topFrame: 'pay (src/pay.ts:42:7)',
        firstId: 'test.11',
      },
      { statement: 'request * done', count: 10, isNew: false, first: nowMs - 20_000, last: nowMs - 11_000 },
    ])
    expect(groups[1]?.spark.reduce((sum, count) => sum + count)).toBe(10)
    expect(await index.groups({ q: 'level:error' })).toMatchObject({ total: 1 })
    expect(await index.groups({ since: 10 })).toMatchObject({ total: 1, groups: [{ statement: 'failed' }] })
    const bounded = await index.facet({ field: 'level', from: nowMs - 16_000, to: nowMs - 15_000 })
    expect(bounded.values).toEqual([
      { value: '"info"', label: 'info', count: 2 },
      { value: '"error"', label: 'error', count: 1 },
    ])
  })

  it('knows that a statement is not new, although its first events are forgotten', async () => {
    let now = nowMs
    const index = newIndex({ maxEvents: 100, nowMs: () => now })
    const log = (message: string, count: number) => {
      for (let at = 0; at < count; at++) index.add(arrived({ message }, { receivedAt: now }))
    }
    log('old', 10)
    now += 600_000
    log('flood', 1000)
    log('old', 10)
    const { groups } = await index.groups({})
    expect(groups).toMatchObject([
      { statement: 'flood', isNew: true, count: 90 },
      { statement: 'old', isNew: false, count: 10 },
    ])
  })

  it('counts events per second again after the clock was a year ahead', () => {
    let now = nowMs
    const index = newIndex({ nowMs: () => now })
    for (const [aheadMs, count] of [
      [365 * 86_400_000, 7],
      [0, 3],
    ] as const) {
      now = nowMs + aheadMs
      for (let n = 0; n < count; n++) index.add(arrived({ n }, { request: 1 }))
      now += 1000
      expect(index.status().perSecond).toBe(count)
    }
  })

  it('has no rate for events that were loaded, and so no cost of a month', async () => {
    let now = nowMs
    const index = newIndex({ nowMs: () => now })
    const sent = arrived({ message: 'sent' }, { request: 1 })
    for (let n = 0; n < 1000; n++) index.add(arrived({ message: 'loaded' }, { request: null }))
    index.add(sent)
    now += 1000
    expect(index.status().perSecond).toBe(1)
    expect(await index.cost({ monthlyLimit: null })).toMatchObject({ bytesPerSecond: sent.line.length, events: 1001 })
  })

  it('finds what costs most, with a query that finds its events', async () => {
    const index = newIndex()
    for (let at = 0; at < 9; at++)
      index.add(arrived({ level: 'info', message: `cart ${at} "dumped" (fully)`, cart: { items: 'x'.repeat(1000) } }))
    index.add(arrived({ level: 'debug', message: 'small' }))
    for (const level of ['LOUD', 99, undefined]) index.add(arrived({ level, message: 'no known level' }))
    const { statements, events, bytes } = await index.cost({ monthlyLimit: 50e9 })
    expect(events).toBe(13)
    expect(statements[0]).toMatchObject({
      statement: 'cart * (fully)',
      events: 9,
      heaviest: [{ path: 'cart.items' }, {}, {}],
    })
    expect(statements[0]?.share).toBeCloseTo((statements[0]?.bytes ?? 0) / bytes)
    for (const { q, events: count } of statements) expect(await linesOf(index, q)).toHaveLength(count)
  })

  it.each([
    ['has colors', { message: '\u001b[32mserver started\u001b[0m' }],
    ['begins with a line break', { msg: '\n  ready on 3000' }],
    ['begins with an invisible character', { message: '\ufeffready' }],
    ['is no text', { message: { a: 1 } }],
    ['is null', { message: null }],
    ['is missing', { order: 17 }],
  ])('finds the events of a statement whose message %s', async (_, event) => {
    const index = newIndex()
    index.add(arrived(event))
    const { statements } = await index.cost({ monthlyLimit: null })
    expect(await linesOf(index, statements[0]?.q ?? '')).toHaveLength(1)
  })

  it('knows what is new after a mark in every answer, and the time that was chosen', async () => {
    const index = newIndex()
    for (const n of [1, 2, 3]) index.add(arrived({ _time: time(n), message: 'tick', n }))
    const selection = { q: 'is:new', mark: 1, to: nowMs + 2 }
    const lines: string[] = []
    for await (const line of index.exportLines(selection)) lines.push(line)
    expect(lines.map(line => JSON.parse(line).n)).toEqual([2])
    expect(await index.facet({ ...selection, field: 'n' })).toMatchObject({ values: [{ value: '2', count: 1 }] })
    expect(await index.groups(selection)).toMatchObject({ groups: [{ count: 1 }] })
    expect(await index.cost({ ...selection, monthlyLimit: null })).toMatchObject({ events: 1, to: nowMs + 2 })
  })

  it('counts fields: types, values, and names that look like ids', () => {
    const index = newIndex()
    for (let at = 0; at < 200; at++) {
      index.add(
        arrived({
          status: at % 2 ? 200 : 504,
          dur: at % 4 ? at : 'slow',
          users: { [`8f3a${at % 5}000`]: { name: 'x' } },
        }),
      )
    }
    index.add(arrived({ other: 1 }, { dataset: 'auth' }))
    const { fields, datasets, events, total, maxFields } = index.fields({ dataset: 'app', maxFields: 256 })
    expect({ datasets, events, maxFields }).toEqual({ datasets: ['app', 'auth'], events: 200, maxFields: 256 })
    expect(index.fields({ maxFields: 256 }).maxFields).toBeNull() // the license limits each dataset, not all together
    expect(total).toBe(fields.length)
    const row = (path: string) => fields.find(field => field.path === path)
    expect(row('status')).toMatchObject({
      types: [['number', 1]],
      share: 1,
      distinct: 2,
      approximate: false,
      top: [{ share: 0.5 }, { share: 0.5 }],
    })
    expect(row('dur')?.warnings).toMatchObject([{ code: 'two-types' }])
    expect(Math.abs((row('dur')?.distinct ?? 0) - 151)).toBeLessThan(30)
    expect(row('users.8f3a1000')?.warnings).toMatchObject([{ code: 'id-in-name' }])
    expect(index.fields({ prefix: 'users.', limit: 3, maxFields: null }).fields).toHaveLength(3)
  })

  it('forgets fields that no recent event has', () => {
    const index = newIndex({ maxEvents: 100 })
    index.add(arrived({ old: 1 }))
    for (let at = 0; at < 250; at++) index.add(arrived({ new: 1 }))
    expect(index.fields({ maxFields: null }).fields.map(({ path }) => path)).toEqual(['new'])
  })

  it('stays small and answers, whatever events contain', async () => {
    const index = newIndex()
    const deep = `${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}`
    const many = `{${Array.from({ length: 20_000 }, (_, at) => `"f${at}":${at}`).join()}}`
    const hostile = [
      deep,
      `{"a":${'['.repeat(10_000)}${']'.repeat(10_000)}}`,
      many,
      `{"message":${JSON.stringify('x'.repeat(1_000_000))}}`,
      '{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}},"toString":1,"hasOwnProperty":1}',
      '{"message":"\\ud800 \\u202e\\u001b[31m\\u0000","\\ud800":"\\udfff"}',
      '{"level":{"level":"error"},"_time":{"now":1},"trace_id":[1],"error":[],"logferry":null}',
      '{"":{"":{"":1}}}',
    ]
    for (const line of hostile) index.add(arrived(line, { dataset: line.slice(0, 1000), source: line.slice(0, 1000) }))
    for (let at = 0; at < 2000; at++)
      index.add(arrived(`{"n${at}":{"m${at}":"v${at}"}}`, { dataset: `d${at}`, source: `s${at}` }))
    expect(index.fields({ limit: 100_000, maxFields: null }).total).toBeLessThanOrEqual(4096)
    expect(index.status().datasets.length).toBeLessThanOrEqual(100)
    const view = index.openView({ columns: ['a', '__proto__', ''], group: false })
    expect(await view?.rows({ until: index.newest, from: 2000, n: 200 })).toMatchObject({
      complete: true,
      matched: 2008,
    })
    for (const q of [
      'x',
      '"\\u202e"',
      '__proto__.polluted:true',
      'a:*',
      'a.a.a:*',
      'f19999:19999',
      '-x',
      '"":*',
      'toString:1',
    ]) {
      expect((await linesOf(index, q)).length, q).toBeGreaterThan(0)
    }
    for (let n = 1; n <= hostile.length; n++) expect(index.event(`test.${n}`)?.line).toBe(hostile[n - 1])
    await index.groups({})
    await index.cost({ monthlyLimit: null })
    await index.facet({ field: 'a' })
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined()
    view?.close()
  })

  it('suggests fields, operators and values for the term at the cursor', () => {
    const index = newIndex()
    for (let at = 0; at < 3; at++)
      index.add(
        arrived(
          { http: { status: 504, 'user agent': 'curl x', 'a"b\\c': 'd' }, message: 'a' },
          { dataset: 'checkout' },
        ),
      )
    const texts = (q: string, at = q.length) => index.suggest({ q, at }).suggestions.map(({ text }) => text)
    expect(texts('level:>=warn sta')).toEqual(['http.status:'])
    expect(texts('-us')).toContain('"http.user agent":')
    expect(texts('http.status')).toContain('http.status:>=')
    expect(texts('http.status:')).toEqual(['504'])
    expect(texts('status:')).toEqual(['504']) // which is read as http.status
    expect(texts('"http.user agent":')).toEqual(['"curl x"'])
    expect(texts('"http.a\\"b\\\\c":')).toEqual(['d'])
    expect(texts('level:')[0]).toBe('fatal')
    expect(texts('dataset:c')).toEqual(['checkout'])
    expect(texts('is:l')).toContain('late')
    expect(index.suggest({ q: 'a sta b', at: 5 })).toMatchObject({ start: 2, end: 5 })
    for (const q of ['"', "'x", 'a:"', '(', '\\', ':', 'x'.repeat(10_000)]) expect(texts(q)).toBeInstanceOf(Array)
  })

  it('shows and counts ids of more digits than a number of JavaScript has', async () => {
    const index = newIndex()
    const view = index.openView({ columns: ['id', 'ids'], group: false })
    for (const id of ['12345678901234567890', '12345678901234567891'])
      index.add(arrived(`{"id":${id},"ids":[${id},"x"]}`))
    const { rows } = (await view?.rows({ until: 2, from: 0, n: 2 })) ?? {}
    expect(rows?.map(({ cells }) => cells)).toEqual([
      ['12345678901234567891', '[12345678901234567891,"x"]'],
      ['12345678901234567890', '[12345678901234567890,"x"]'],
    ])
    const { values, distinct } = await index.facet({ field: 'id' })
    expect(values.map(({ label }) => label).sort()).toEqual(['12345678901234567890', '12345678901234567891'])
    expect(distinct).toBe(2)
    const field = index.fields({ maxFields: null }).fields.find(({ path }) => path === 'id')
    expect(field).toMatchObject({ types: [['number', 1]], distinct: 2, example: '12345678901234567890' })
    const { suggestions } = index.suggest({ q: 'id:', at: 3 })
    expect(suggestions.map(({ text }) => text)).toEqual(['12345678901234567890', '12345678901234567891'])
    const value = values[0]?.value as string
    const { q } = index.edit({ q: '', change: { kind: 'only', path: 'id', value } })
    expect(await linesOf(index, q)).toEqual([`{"id":${value},"ids":[${value},"x"]}`])
    await index.cost({ monthlyLimit: null })
    view?.close()
  })

  it('begins anew when it is cleared, and goes on counting arrivals', async () => {
    const index = newIndex()
    addAll(index, [{ a: 1 }, { a: 2 }])
    const view = index.openView()
    await view?.state()
    expect(index.clear()).toBe(2)
    expect(index.summary()).toMatchObject({ newest: 2, kept: 0, forgotten: 2, errors: 0 })
    expect(index.status()).toMatchObject({ datasets: [], sources: [] })
    expect(index.add(arrived({ a: 3 }))).toBe(3)
    expect(await view?.state()).toMatchObject({ matchedEvents: 1, rows: [{ n: 3 }] })
  })

  it('opens a limited number of lists, and again when one is closed', () => {
    const index = newIndex()
    const views = Array.from({ length: maxViews }, () => index.openView())
    expect(index.openView()).toBeUndefined()
    views[3]?.close()
    expect(index.openView()).toBeDefined()
  })
})
