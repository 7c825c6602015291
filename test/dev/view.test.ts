import { describe, expect, it, vi } from 'vitest'
import type { EventIndex } from '../../src/dev/event-index.ts'
import type { ArrivedEvent, LiveView } from '../../src/dev/index/index-api.ts'
import type { Row, ViewQuery, ViewState } from '../../src/dev/protocol.ts'
import { randomFrom } from '../support/random.ts'
import { addAll, arrived, linesOf, newIndex, nowMs } from './support/events.ts'

const levels = ['debug', 'info', 'info', 'warn', 'error']

/** Returns an event of many that differ in time, level and message; some come late. */
function anEvent(at: number): ArrivedEvent {
  const late = at % 37 === 0 ? 60_000 : 0
  const event = {
    _time: new Date(nowMs + at * 10 - late).toISOString(),
    level: levels[at % levels.length],
    message: at % 3 === 0 ? `request ${at} done` : `payment ${at} failed`,
    n: at,
  }
  return arrived(event, { receivedAt: nowMs + at * 10 })
}

/** Waits until all kept events have been looked at. */
async function completed(view: LiveView): Promise<ViewState> {
  for (;;) {
    const state = await view.state()
    if (state.complete) return state
    await new Promise(setImmediate)
  }
}

function opened(index: EventIndex, query: Partial<ViewQuery> = {}): LiveView {
  const view = index.openView(query)
  if (view === undefined) throw new Error('no list is left')
  return view
}

async function allRows(view: LiveView, until: number, step = 200): Promise<Row[]> {
  const rows: Row[] = []
  for (;;) {
    const answer = await view.rows({ until, from: rows.length, n: step })
    rows.push(...answer.rows)
    if (answer.rows.length === 0) return rows
  }
}

const later = () => nowMs + 3_600_000

/** The time that this thread works for a list, in milliseconds: in total, and at most in one turn of the event loop. */
async function workFor(view: LiveView): Promise<{ totalMs: number; maxTurnMs: number }> {
  return workUntil(completed(view))
}

async function workUntil(end: Promise<unknown>): Promise<{ totalMs: number; maxTurnMs: number }> {
  let [totalMs, maxTurnMs, isComplete] = [0, 0, false]
  const done = end.then(() => {
    isComplete = true
  })
  while (!isComplete) {
    const before = process.threadCpuUsage()
    await new Promise(setImmediate)
    const { user, system } = process.threadCpuUsage(before)
    totalMs += (user + system) / 1000
    maxTurnMs = Math.max(maxTurnMs, (user + system) / 1000)
  }
  await done
  return { totalMs, maxTurnMs }
}

describe('an open list', () => {
  it('of many events is searched a few milliseconds at a time', async () => {
    const index = newIndex({ nowMs: later })
    for (let at = 0; at < 10_000; at++) index.add(arrived({ message: `${'long text '.repeat(200)} ${at}` }))
    for (const q of ['nowhere', '/[k-z]x*nowhere/', 'message:*x*nowhere*']) {
      const { totalMs, maxTurnMs } = await workFor(opened(index, { q }))
      expect(totalMs).toBeGreaterThan(0)
      expect.soft(maxTurnMs, q).toBeLessThan(totalMs / 2)
    }
  })

  it('that is pinned equals the export with the same end, while events arrive', async () => {
    for (const sort of ['time', 'arrival'] as const) {
      const index = newIndex({ nowMs: later })
      for (let at = 0; at < 5000; at++) index.add(anEvent(at))
      const view = opened(index, { q: 'level:>=warn payment', sort, group: false })
      await completed(view)
      const { pinnedAt, matched } = await view.change({ pinned: true })
      expect(pinnedAt).toBe(5000)
      const rows: Row[] = []
      for (let at = 5000; rows.length < matched; at++) {
        for (let more = 0; more < 100; more++) index.add(anEvent(at * 100 + more))
        rows.push(...(await view.rows({ until: 5000, from: rows.length, n: 37 })).rows)
      }
      const exported: string[] = []
      for await (const line of index.exportLines({ q: 'level:>=warn payment', until: 5000, sort })) exported.push(line)
      expect(rows).toHaveLength(exported.length)
      expect(rows.map(({ id }) => index.event(id)?.line)).toEqual(exported)
      view.close()
    }
  })

  it('equals the export after any changes of query, order, time and pin, while events arrive and are forgotten', async () => {
    const seed = Math.trunc(Math.random() * 2 ** 31)
    const random = randomFrom(seed)
    const pick = <T>(values: readonly T[]): T => values[Math.trunc(random() * values.length)] as T
    let now = nowMs
    const index = newIndex({ maxEvents: 1500, maxBytes: 1024 * 1024, nowMs: () => now })
    const log = () => {
      now += Math.trunc(random() * 20)
      const behindMs = random() < 0.1 ? 60_000 * random() : 30 * random()
      const event = {
        _time: new Date(now - behindMs).toISOString(),
        level: pick(levels),
        message: `${pick(['pay', 'cart'])} ${Math.trunc(random() * 100)}`,
        text: 'x'.repeat(random() < 0.02 ? 20_000 : 10),
      }
      index.add(arrived(event, { dataset: pick(['a', 'b']), receivedAt: now }))
    }
    const change = (): Partial<ViewQuery> => ({
      q: pick(['', 'pay', 'level:>=warn', 'dataset:a -cart', '/^pay/', 'is:late', 'NOT (pay OR level:info)']),
      sort: pick(['time', 'arrival']),
      group: pick([true, false]),
      since: pick([0, 0, Math.max(index.newest - 1000, 0)]),
      from: pick([null, null, now - 10_000]),
    })
    const views = [1, 2, 3].map(() => opened(index, change()))
    for (let round = 0; round < 200; round++) {
      for (let more = 30 * random(); more > 0; more--) log()
      const view = pick(views)
      if (round % 3 === 0)
        await view.change({ ...change(), pinned: pick([true, false, Math.max(index.newest - 50, 0)]) })
      if (round === 100) index.clear()
      if (round % 5 !== 0) continue
      await view.change({ pinned: false })
      await completed(view)
      const { pinnedAt, matched, matchedEvents, ...query } = await view.change({ pinned: true })
      const lines: string[] = []
      for await (const line of index.exportLines({ ...query, until: index.newest })) lines.push(line)
      const rows = await allRows(view, pinnedAt as number)
      const count = rows.reduce((sum, { repeats }) => sum + repeats, 0)
      const { datasets } = view.tick()
      const inDatasets = datasets.reduce((sum, dataset) => sum + dataset.count, 0)
      const counts = [count, matchedEvents, inDatasets, rows.length]
      expect(counts, `seed ${seed}`).toEqual([lines.length, lines.length, lines.length, matched])
      if (!query.group) expect(rows.map(({ id }) => index.event(id)?.line)).toEqual(lines)
    }
  })

  it('counts what arrives while it is pinned, and shows it when it follows again', async () => {
    const index = newIndex()
    addAll(index, [{ level: 'error', message: 'a' }])
    const view = opened(index)
    await view.change({ pinned: true })
    addAll(index, [{ level: 'error' }, { level: 'info' }, { level: 'info' }])
    expect(view.frame()).toBeUndefined()
    expect(view.tick()).toMatchObject({ fresh: 3, freshErrors: 1, matchedEvents: 1 })
    expect(await view.change({ pinned: false })).toMatchObject({ pinnedAt: null, matchedEvents: 4 })
    expect(view.tick()).toMatchObject({ fresh: 0, freshErrors: 0 })
  })

  it('can be pinned at an earlier arrival, and counts the later ones', async () => {
    const index = newIndex()
    addAll(
      index,
      Array.from({ length: 10 }, (_, n) => ({ n, level: 'error' })),
    )
    const view = opened(index, { group: false })
    expect(await view.change({ pinned: 4 })).toMatchObject({
      pinnedAt: 4,
      matched: 4,
      rows: [{ n: 4 }, { n: 3 }, { n: 2 }, { n: 1 }],
    })
    expect(view.tick()).toMatchObject({ fresh: 6, freshErrors: 6 })
  })

  it('keeps the place of forgotten events while it is pinned, and shows the newest of them still', async () => {
    const index = newIndex({ maxEvents: 12_000 })
    addAll(
      index,
      Array.from({ length: 12_000 }, (_, n) => ({ n })),
    )
    const view = opened(index, { group: false, columns: ['n'] })
    await completed(view)
    const before = await view.change({ pinned: true })
    addAll(
      index,
      Array.from({ length: 15_000 }, (_, n) => ({ other: n })),
    )
    expect(index.oldest).toBeGreaterThan(12_000)
    const rows = await allRows(view, 12_000)
    expect(rows[0]).toEqual(before.rows[0])
    expect(rows.slice(0, 200)).toEqual(before.rows)
    expect(rows.map(({ n }) => n)).toEqual(Array.from({ length: 12_000 }, (_, at) => 12_000 - at))
    expect(rows.filter(({ badges }) => badges.includes('forgotten'))).toHaveLength(2000)
    expect(index.event('test.2001')?.line).toBe('{"n":2000}')
    expect(index.event('test.2000')).toBeUndefined()
    await view.change({ pinned: false })
    expect(index.event('test.2001')).toBeUndefined()
  })

  it('holds forgotten events for ten minutes, and 32 MiB of them', async () => {
    let now = nowMs
    const index = newIndex({ maxEvents: 40, nowMs: () => now })
    addAll(
      index,
      Array.from({ length: 40 }, (_, n) => ({ n, text: 'x'.repeat(1024 * 1024) })),
    )
    const view = opened(index, { group: false })
    await completed(view)
    await view.change({ pinned: true })
    addAll(
      index,
      Array.from({ length: 40 }, (_, n) => ({ n })),
    )
    const forgotten = async () => {
      const { rows } = await view.rows({ until: 40, from: 0, n: 40 })
      return rows.filter(({ badges }) => badges.includes('forgotten')).length
    }
    expect(await forgotten()).toBe(9)
    now += 601_000
    view.tick()
    expect(await forgotten()).toBe(40)
  })

  it('accounts for every event: drawn, not drawn and filtered out are all that arrived', async () => {
    const index = newIndex({ nowMs: later })
    const view = opened(index, { q: 'payment', group: false })
    await completed(view)
    view.frame()
    let arrivals = 0
    let matched = 0
    let drawn = 0
    let skipped = 0
    let newest = 0
    for (let frame = 0; frame < 20; frame++) {
      for (let at = 0; at < 700; at++) {
        index.add(anEvent(arrivals))
        if (arrivals % 3 !== 0) matched++
        arrivals++
      }
      const { rows, ...counts } = view.frame() ?? { rows: [], skipped: 0, newest: 0, matchedEvents: 0 }
      drawn += rows.filter(({ n }) => n > newest).length
      skipped += counts.skipped
      newest = counts.newest
      expect(newest).toBe(arrivals)
      expect(drawn + skipped).toBe(matched)
      expect(counts.matchedEvents).toBe(matched)
    }
  })

  it('has the newest events first, by time or by arrival, and inserts late ones at their place', async () => {
    for (const sort of ['time', 'arrival'] as const) {
      const index = newIndex({ nowMs: later })
      for (let at = 0; at < 1000; at++) index.add(anEvent(at))
      const view = opened(index, { sort, group: false })
      await completed(view)
      for (let at = 1000; at < 3000; at++) index.add(anEvent(at))
      const rows = await allRows(view, index.newest)
      const expected = rows.toSorted((one, other) => (sort === 'time' ? other.at - one.at : 0) || other.n - one.n)
      expect(rows).toEqual(expected)
      expect(rows).toHaveLength(index.newest)
      expect(view.tick().late?.count).toBe(54)
    }
  })

  it('shows neighbors that repeat as one row, with their number and oldest time', async () => {
    const index = newIndex()
    const time = (ms: number) => new Date(nowMs + ms).toISOString()
    for (let at = 0; at < 128; at++)
      index.add(arrived({ _time: time(at), level: 'error', message: `timed out after ${at} ms` }))
    index.add(arrived({ _time: time(500), level: 'info', message: 'other' }))
    const view = opened(index)
    expect(await completed(view)).toMatchObject({
      matched: 2,
      matchedEvents: 129,
      rows: [
        { message: 'other', repeats: 1 },
        { message: 'timed out after 127 ms', repeats: 128, since: nowMs },
      ],
    })
    expect(await view.change({ group: false })).toMatchObject({ matched: 129 })
    expect(await view.change({ group: true, pinned: true })).toMatchObject({ matched: 2 })
  })

  it('shows each event without a message as a row of its own, as such events have nothing in common', async () => {
    const index = newIndex()
    for (const event of [{ order: 17 }, { user: 'ann' }, { message: { a: 1 } }]) index.add(arrived(event))
    const { matched, rows } = await completed(opened(index))
    expect(matched).toBe(3)
    expect(rows.map(({ message, repeats }) => [message, repeats])).toEqual([
      ['message={…}', 1],
      ['user=ann', 1],
      ['order=17', 1],
    ])
  })

  it('counts by level without its clauses about levels, by dataset, by source and by time', async () => {
    const index = newIndex()
    for (const level of ['info', 'info', 'error', 'none']) {
      index.add(arrived({ level, message: 'payment' }, { source: level === 'error' ? 'api' : null }))
    }
    index.add(arrived({ level: 'error', message: 'other' }))
    const view = opened(index, { q: 'level:error payment' })
    await completed(view)
    const { levels: counted, datasets, sources, chart } = view.tick()
    expect(counted).toMatchObject({ info: 2, error: 1, none: 1, warn: 0 })
    expect(datasets).toEqual([{ value: 'app', count: 1 }])
    expect(sources).toEqual([{ value: 'api', count: 1 }])
    expect(chart.counts.flat().reduce((sum, count) => sum + count)).toBe(1)
  })

  it('stays as it is while the text of the query is not complete', async () => {
    const index = newIndex()
    addAll(index, [{ level: 'error' }, { level: 'info' }])
    const view = opened(index, { q: 'level:error' })
    await completed(view)
    const state = await view.change({ q: 'level:error AND (' })
    expect(state).toMatchObject({ q: 'level:error AND (', matchedEvents: 1 })
    expect(state.reading.notes).toMatchObject([{ text: expect.stringContaining('not complete yet') }])
    expect(await view.change({ q: 'level:info' })).toMatchObject({ matchedEvents: 1, rows: [{ level: 'info' }] })
  })

  it('hides what arrived before it was cleared, and what is outside of the chosen time', async () => {
    const index = newIndex()
    const time = (ms: number) => new Date(nowMs + ms).toISOString()
    addAll(
      index,
      [0, 1, 2, 3].map(n => ({ _time: time(n * 1000), n })),
    )
    const view = opened(index, { since: 1, group: false })
    expect(await completed(view)).toMatchObject({ matchedEvents: 3 })
    expect(await view.change({ from: nowMs + 2000, to: nowMs + 2500 })).toMatchObject({
      matchedEvents: 1,
      rows: [{ n: 3 }],
    })
    index.add(arrived({ _time: time(2400) }))
    index.add(arrived({ _time: time(4000) }))
    expect(await completed(view)).toMatchObject({ matchedEvents: 2 })
    // The chart shows all times, so that another one can be chosen.
    expect(
      view
        .tick()
        .chart.counts.flat()
        .reduce((sum, count) => sum + count),
    ).toBe(5)
  })

  it('says why it is empty', async () => {
    const index = newIndex()
    index.add(arrived({ http: { status: 1 } }))
    for (const q of ['nothing', '-http.status:*', 'staus:1', '(', 'level:fatal']) {
      const { reading, matched } = await completed(opened(index, { q }))
      expect({ matched, notes: reading.notes.length > 0 }).toEqual({ matched: 0, notes: true })
    }
  })

  it('finds a field that comes only after the query, by the end of its path', async () => {
    const index = newIndex()
    const view = opened(index, { q: 'status:504' })
    await completed(view)
    index.add(arrived({ http: { status: 504 } }))
    expect(view.tick().reading?.readAs).toBe('http.status:504')
    expect(await completed(view)).toMatchObject({ matchedEvents: 1 })
  })

  it('reads its first rows a few milliseconds at a time, and those of any other place', async () => {
    const index = newIndex()
    const fields = Object.fromEntries(Array.from({ length: 4000 }, (_, at) => [`field-number-${at}`, at]))
    for (let at = 0; at < 150; at++) index.add(arrived({ message: 'long', ...fields, at }))
    const view = opened(index, { group: false })
    const steps = {
      state: () => view.state(),
      rows: () => view.rows({ until: 150, from: 0, n: 150 }),
      columns: () => view.change({ columns: ['at'] }),
      pinned: () => view.change({ pinned: true }),
    }
    for (const [name, step] of Object.entries(steps)) {
      const { totalMs, maxTurnMs } = await workUntil(step())
      expect(totalMs).toBeGreaterThan(0)
      expect.soft(maxTurnMs, name).toBeLessThan(totalMs / 2)
    }
    view.close()
  })

  it('has the rows of its columns and pin, whatever changes while they are read', async () => {
    const index = newIndex()
    const fields = Object.fromEntries(Array.from({ length: 4000 }, (_, at) => [`field-number-${at}`, at]))
    for (let at = 0; at < 50; at++) index.add(arrived({ message: 'long', ...fields, at }))
    const view = opened(index, { group: false })
    await completed(view)
    let told = 0
    view.onChange(() => told++)
    const states = [view.change({ columns: ['level', 'at', 'message'] }), view.change({ columns: ['at'] })]
    expect(view.frame()).toBeUndefined()
    await new Promise(setImmediate)
    states.push(view.change({ pinned: true }), view.change({ columns: ['at', 'message'] }))
    for (const { columns, rows, pinnedAt } of await Promise.all(states)) {
      expect(pinnedAt).toBe(50)
      expect(rows).toHaveLength(50)
      expect(new Set(rows.map(({ cells }) => cells.length))).toEqual(new Set([columns.length]))
    }
    await view.change({ pinned: false })
    expect(told).toBeGreaterThan(0)
    expect(view.frame()?.rows).toHaveLength(50)
    view.close()
  })

  it('reads the lines of long events once, not for each frame and query', async () => {
    const index = newIndex()
    for (let at = 0; at < 20; at++) index.add(arrived({ message: `${at} ${'long text '.repeat(1000)}`, at }))
    const view = opened(index, { columns: ['at'], group: false })
    await completed(view)
    const before = view.frame()?.rows
    const parse = vi.spyOn(JSON, 'parse')
    const line = JSON.stringify({ message: 'the next one' })
    index.add(arrived(line))
    parse.mockClear()
    const after = view.frame()?.rows
    expect(parse.mock.calls.map(([text]) => text)).toEqual([line])
    parse.mockClear()
    const { rows } = await view.change({ since: 1 })
    expect(parse.mock.calls.map(([text]) => text)).toEqual([line])
    parse.mockRestore()
    expect(rows).toEqual(after?.slice(0, -1))
    const { rows: others } = await view.change({ columns: ['message', 'at'], mark: 20 })
    expect(others[0]).toMatchObject({ cells: ['"the next one"', null], badges: ['no-time', 'new'] })
    expect(others[1]).toMatchObject({ cells: [expect.stringContaining('19 long'), '19'], badges: ['no-time'] })
    expect(before).toHaveLength(20)
    expect(after).toEqual([expect.objectContaining({ message: 'the next one' }), ...(before ?? [])])
    view.close()
  })

  it('counts the repeats of a long event in each frame', async () => {
    let now = nowMs
    const index = newIndex({ nowMs: () => now })
    const repeated = { message: 'long text '.repeat(1000) }
    const view = opened(index, { group: true })
    await completed(view)
    for (let count = 1; count <= 3; count++) {
      index.add(arrived(repeated, { receivedAt: now }))
      const frame = view.frame()
      expect(frame?.rows).toEqual([expect.objectContaining({ n: count, repeats: count })])
      expect(frame?.rows[0]?.since).toBe(count > 1 ? nowMs : undefined)
      now += 100
    }
    // A row that was one of several before stands for itself as soon as an event is between them.
    index.add(arrived({ message: 'other' }, { receivedAt: now }))
    index.add(arrived(repeated, { receivedAt: now }))
    expect(view.frame()?.rows.map(({ repeats }) => repeats)).toEqual([1, 1, 3])
    view.close()
  })

  it('tells a change once, until the next frame is taken', async () => {
    const index = newIndex()
    const view = opened(index)
    await completed(view)
    view.frame()
    let told = 0
    view.onChange(() => told++)
    addAll(index, [{}, {}, {}])
    expect(told).toBe(1)
    expect(view.frame()?.rows).toHaveLength(3)
    expect(view.frame()).toBeUndefined()
    addAll(index, [{}])
    expect(told).toBe(2)
    view.close()
    addAll(index, [{}])
    expect(told).toBe(2)
  })

  it('marks what arrived after its mark as new', async () => {
    const index = newIndex()
    addAll(index, [{ n: 1 }, { n: 2 }])
    expect(await completed(opened(index, { mark: 1, q: 'is:new' }))).toMatchObject({
      rows: [{ n: 2, badges: ['no-time', 'new'] }],
    })
    const { reading } = await completed(opened(index, { q: 'is:new' }))
    expect(reading.notes.map(({ text }) => text)).toContainEqual(expect.stringContaining('Set a mark first'))
  })
})

describe('a slow query', () => {
  const hostile = { message: `${'a'.repeat(60)}b` }

  // The time is that of the clock, which goes on while a busy machine does something else.
  it('of a pattern that takes exponential time ends within 200 ms, and events are taken meanwhile', {
    retry: 3,
  }, async () => {
    const index = newIndex()
    addAll(index, [hostile, { message: 'aaa' }, hostile, { message: 'aaaa' }])
    const view = opened(index, { q: 'message:/^(a+)+$/', group: false })
    const start = performance.now()
    index.add(arrived({ message: 'fine' }))
    const state = await completed(view)
    expect(performance.now() - start).toBeLessThan(200)
    expect(state.rows).toMatchObject([{ message: 'aaaa' }, { message: 'aaa' }].slice(0, state.rows.length))
    expect(state.reading.notes).toMatchObject([{ text: expect.stringContaining('Query too slow') }])
    const answer = await index.events({ q: '/^(a+)+$/', after: 0 })
    expect(answer.reading.notes).toMatchObject([{ text: expect.stringContaining('Query too slow') }])
    expect(await linesOf(index, 'fine')).not.toHaveLength(0)
  })

  it('of 190 terms does not hold up the service at a long event', { retry: 3 }, async () => {
    const index = newIndex()
    const q = Array.from({ length: 190 }, (_, n) => `xy${n}`).join(' OR ')
    addAll(index, [{ message: 'xy7' }])
    expect(await index.events({ q })).toMatchObject({ events: [{ message: 'xy7' }], reading: { notes: [] } })
    const view = opened(index, { q, group: false })
    await completed(view)
    const start = performance.now()
    addAll(index, [{ message: 'x'.repeat(1_000_000) }])
    expect(performance.now() - start).toBeLessThan(200)
    const answer = await index.events({ q })
    expect(performance.now() - start).toBeLessThan(1000)
    expect(answer.reading.notes).toMatchObject([{ text: expect.stringContaining('Query too slow') }])
  })

  it('is tried on events that arrive', async () => {
    const index = newIndex()
    const view = opened(index, { q: '/^pay.*failed$/i', group: false })
    await completed(view)
    addAll(index, [{ message: 'Payment failed' }, { message: 'payment' }, hostile])
    expect(await view.change({ pinned: true })).toMatchObject({ matchedEvents: 1, rows: [{ n: 1 }] })
  })
})

describe('a list whose query has a pattern', () => {
  it('tests an event that arrives while the work on the one before ends', async () => {
    const index = newIndex()
    const view = opened(index, { q: 'message:/payment .* failed/' })
    await completed(view)
    view.frame()
    view.onChange(() => queueMicrotask(() => index.add(anEvent(2))))
    index.add(anEvent(1))
    for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate)
    expect(view.tick()).toMatchObject({ matchedEvents: 2 })
  })
})
