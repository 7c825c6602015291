/** Faults that are started while a real shipper logs: each ends by itself, and its report is exact. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  type FaultChange,
  type FaultSettings,
  type FaultsAnswer,
  paths,
  type RequestsAnswer,
} from '../../src/dev/protocol.ts'
import { type Dev, startDev } from './service.ts'

describe('a fault', () => {
  let shared: Dev
  beforeAll(async () => {
    shared = await startDev()
  })
  afterAll(async () => {
    await shared?.[Symbol.asyncDispose]()
  })

  it('ends by itself', async () => {
    await using live = await shared.live()
    await start(shared, { kind: 'status', status: 500, forS: 1 })
    const { status, body } = await shared.ingest([{}])
    expect([status, JSON.parse(body).message]).toEqual([500, 'a fault of logferry dev answers 500'])
    const { ended } = await live.next('faults', ({ running }) => running.length === 0)
    expect(ended[0]?.report).toMatchObject({ attempts: 1, refused: 1, arrived: 0 })
    expect((await shared.ingest([{}])).status).toBe(200)
  })

  it('that refuses requests shows attempts and waits, ends by itself, and loses nothing', async () => {
    await using dev = await startDev()
    const logs = dev.shipper()
    await using live = await dev.live()
    await start(dev, { kind: 'status', status: 503, forS: 600 })
    expect((await live.next('faults')).running[0]).toMatchObject({ argument: 'status=503,for=600s' })
    for (let n = 0; n < 100; n += 1) logs.ship({ n })
    const flushed = logs.flush()
    await live.next('faults', ({ running }) => (running[0]?.report.attempts ?? 0) >= 2)
    const { report, endedAt } = await stoppedFault(dev, flushed)
    const { requests } = await dev.get<RequestsAnswer>(paths.requests)
    const refused = requests.filter(({ status }) => status === 503)
    expect(refused.length).toBeGreaterThan(0)
    expect(refused.every(({ fault }) => fault)).toBe(true)
    expect(report).toMatchObject({
      attempts: requests.filter(({ at }) => at < endedAt).length,
      refused: refused.length,
      arrived: 100,
      duplicates: 0,
      lost: 0,
    })
    const waits = requests.flatMap(({ retryOf }) => (retryOf === undefined ? [] : [retryOf.waitedMs]))
    expect(report.waitsMs).toEqual(waits.reverse())
    expect(waits.length).toBe(refused.length)
  })

  it('that resets connections after storing makes duplicates, which are counted and marked', async () => {
    await using dev = await startDev()
    const logs = dev.shipper()
    await using live = await dev.live()
    await start(dev, { kind: 'reset', moment: 'after-storing', forS: 600 })
    for (let n = 0; n < 50; n += 1) logs.ship({ n })
    const flushed = logs.flush()
    await live.next('faults', ({ running }) => (running[0]?.report.arrived ?? 0) >= 50)
    const { report } = await stoppedFault(dev, flushed)
    const { events } = await dev.events({ limit: 1000 })
    expect(report).toMatchObject({ arrived: events.length, duplicates: events.length - 50, lost: 0 })
    expect(report.duplicates).toBeGreaterThanOrEqual(50)
    expect((await dev.events({ q: 'is:duplicate', limit: 1000 })).events).toHaveLength(events.length - 50)
    const { requests } = await dev.get<RequestsAnswer>(paths.requests)
    expect(requests[0]).toMatchObject({ status: 200, duplicate: true, retryOf: { n: expect.any(Number) } })
    expect(requests.at(-1)).toMatchObject({ status: null, fault: true, reason: 'the connection was reset' })
  })

  it('that limits the size of a body shows how a batch is split, part by part', async () => {
    await using dev = await startDev()
    const logs = dev.shipper()
    await start(dev, { kind: 'max-bytes', maxBytes: 2000, forS: 600 })
    for (let n = 0; n < 40; n += 1) logs.ship({ n, text: 'x'.repeat(20) })
    await logs.flush()
    const { requests } = await dev.get<RequestsAnswer>(paths.requests)
    const whole = requests.at(-1)
    expect(whole).toMatchObject({ status: 413, fault: true, events: 40 })
    const parts = requests.filter(({ retryOf }) => retryOf?.n === whole?.n)
    expect(parts.length).toBeGreaterThanOrEqual(2)
    expect(requests.filter(({ status }) => status === 200).every(({ duplicate }) => !duplicate)).toBe(true)
    expect((await faults(dev)).running[0]?.report).toMatchObject({ arrived: 40, duplicates: 0, lost: 0 })
  })

  it('that loses events is told from one that delays them', async () => {
    await using dev = await startDev()
    const uid = (n: number) => ({ log: { record: { uid: `abcdefghijklm-${n}` } } })
    await dev.ingest([uid(1), uid(2)])
    await start(dev, { kind: 'latency', latencyMs: 1, forS: 600 })
    await dev.ingest([uid(6), uid(4)])
    expect((await faults(dev)).running[0]?.report).toMatchObject({ arrived: 2, lost: 2 })
    await dev.ingest([uid(3), uid(4), uid(6)])
    expect((await faults(dev)).running[0]?.report).toMatchObject({ arrived: 5, duplicates: 2, lost: 1 })
  })

  it('of each kind does what it says, to the service and to OTLP', async () => {
    await using dev = await startDev()
    const one = () => dev.ingest([{ level: 'debug', n: 1 }]).then(({ status, body }) => ({ status, body }))
    await start(dev, { kind: 'max-bytes', maxBytes: 5, forS: 600 })
    expect(await one()).toMatchObject({ status: 413 })
    await start(dev, { kind: 'max-bytes', maxBytes: 1e6, forS: 600 })
    await start(dev, { kind: 'reject', query: 'level:debug n:1', forS: 600 })
    expect(JSON.parse((await one()).body)).toMatchObject({ ingested: 0, failed: 1 })
    await start(dev, { kind: 'revoke-token', forS: 600 })
    expect(await one()).toMatchObject({ status: 403 })
    await start(dev, { kind: 'status', status: 429, retryAfterS: 2, forS: 600 })
    const otlp = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' }
    expect(await dev.raw('/v1/logs', otlp)).toMatchObject({ status: 429, headers: { 'retry-after': '2' } })
    const { running } = await faults(dev)
    expect(running.map(({ argument }) => argument)).toEqual([
      'max-bytes=1MB,for=600s',
      'for=600s,reject=level:debug n:1',
      'revoke-token,for=600s',
      'status=429,retry-after=2s,for=600s',
    ])
    for (const { id } of running) await dev.post(paths.faults, { stop: id })
    expect(await one()).toMatchObject({ status: 200 })
    const { requests } = await dev.get<RequestsAnswer>(paths.requests, { status: '4xx' })
    expect(requests.map(({ status, fault }) => [status, fault])).toEqual([
      [429, true],
      [403, true],
      [413, true],
    ])
  })

  it('can be given when the service starts', async () => {
    await using dev = await startDev(['--fault', 'status=500,for=2m', '--fault', 'latency=1ms,for=1m'])
    expect((await dev.ingest([{}])).status).toBe(500)
    expect((await faults(dev)).running).toHaveLength(2)
  })

  it.each([
    [{ start: { kind: 'status', status: 200, forS: 5 } }, 'status must be from 300 to 599'],
    [{ start: { kind: 'status', status: 500, forS: 601 } }, 'from 1 to 600 seconds'],
    [{ start: { kind: 'reject', query: '/x/', forS: 5 } }, 'patterns'],
    [{ stop: 'nothing' }, 'does not run any more'],
    [{ limits: [{ name: 'maxQueryWindowSeconds', enforced: true }] }, 'no such limit'],
    [limit('maxFields', 'maxFields', -1), '"message":"maxFields must be an integer'],
    [limit('maxFields', 'maxFields', '12'), '"field":"maxFields"'],
    [limit('maxFields', 'expiresAt', '2030-01-01'), 'maxFields has only maxFields'],
    [limit('expiry', 'expiresAt', 'soon'), "expiresAt must be a time in ISO 8601, not 'soon'"],
    [limit('expiry', 'paymentStatus', 'late'), '"field":"paymentStatus"'],
    [limit('expiry', '__proto__', 1), 'expiry has only validFrom, expiresAt, paymentStatus'],
    [{ start: { kind: 'status', status: 500, forS: 5, __proto__: null, other: 1 } }, 'expected form'],
  ] as const)('%j is refused', async (change, problem) => {
    const { limits } = await faults(shared)
    await expect(shared.post(paths.faults, change)).rejects.toThrow(problem)
    expect(await faults(shared)).toMatchObject({ running: [], limits })
  })
})

describe('the limits of the license', () => {
  it('are enforced as the page chooses', async () => {
    await using dev = await startDev()
    const { limits } = await dev.post<FaultsAnswer>(paths.faults, limit('maxFields', 'maxFields', 2))
    expect(limits).toContainEqual({
      name: 'maxFields',
      enforced: true,
      enforcedAtStart: false,
      fields: [{ name: 'maxFields', value: 2, atStart: 1024 }],
    })
    await using live = await dev.live()
    await live.next('hello')
    const answer = await dev.ingest([
      { a: 1, b: 2 },
      { a: 1, c: 'third' },
    ])
    expect(JSON.parse(answer.body)).toMatchObject({ ingested: 1, failed: 1 })
    expect(await live.next('refused')).toMatchObject({
      count: 1,
      reason: expect.stringContaining("new field 'c' is one too many"),
      sample: '{"a":1,"c":"third"}',
    })
  })
})

function limit(name: string, field: string, value: number | string): FaultChange {
  return { limits: [{ name, enforced: true, fields: [{ name: field, value }] }] }
}

function faults(dev: Dev): Promise<FaultsAnswer> {
  return dev.get<FaultsAnswer>(paths.faults)
}

function start(dev: Dev, fault: FaultSettings): Promise<FaultsAnswer> {
  return dev.post<FaultsAnswer>(paths.faults, { start: fault })
}

/** Stops the fault, waits until the shipper has delivered, and returns the fault with its report. */
async function stoppedFault(dev: Dev, flushed: Promise<unknown>) {
  const { running } = await faults(dev)
  await dev.post(paths.faults, { stop: running[0]?.id })
  await flushed
  return (await faults(dev)).ended[0] as FaultsAnswer['ended'][number]
}
