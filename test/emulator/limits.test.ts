import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Extension } from '../../src/emulator/extension.ts'
import { startExtended } from '../../src/emulator/start.ts'
import { startEmulator } from '../../src/emulator.ts'
import { exchangeRaw, post, type Sent } from './wire.ts'

vi.mock('../../src/time.ts', () => import('../support/time-of-globals.ts'))

const ordinary = { apiRateLimitPerSecond: 3, maxFields: 4, maxDatasets: 2, monthlyIngestGb: 1e-6 }
const otherOrgs = ['rate', 'header', 'fields', 'month', 'datasets'].map(id => ({ id, license: ordinary }))
const emulator = await startEmulator({ orgs: otherOrgs })
const initially = emulator.org()
const bytesAMonth = 1000

/** The middle of a month, a quarter into a second. */
const now = new Date(initially.license.billingPeriodStart).getTime() + 14 * 86_400_000 + 250

afterAll(() => emulator.close())
beforeEach(() => {
  // Limits depend on the time of a request, and sockets depend on timers, which stay real.
  vi.useFakeTimers({ toFake: ['Date'], now })
  emulator.clear()
  emulator.changeOrg({ ...initially, license: { ...initially.license, ...ordinary } })
})
afterEach(() => {
  vi.useRealTimers()
  emulator.faults.clear()
  emulator.enforce(false)
})

async function statuses(count: number, sent?: Sent): Promise<number[]> {
  const seen: number[] = []
  for (let n = 0; n < count; n += 1) seen.push((await post(emulator, sent)).status)
  return seen
}

function org(id = emulator.orgId, init: RequestInit = {}): Promise<Response> {
  const headers = { authorization: `Bearer ${emulator.accessToken}`, 'content-type': 'application/json' }
  return fetch(`${emulator.url}/v2/orgs/${id}`, { headers, ...init })
}

interface Ingested {
  failed: number
  failures: { error: string }[]
}

async function ingest(body: Sent['body'], sent: Sent = {}): Promise<Ingested> {
  return (await (await post(emulator, { ...sent, body: body ?? [] })).json()) as Ingested
}

/** Returns the rate-limit headers of an answer. */
function told({ headers }: Response): Record<string, string> {
  const names = /^x-(ratelimit|ingestlimit)-|^retry-after$/
  return Object.fromEntries([...headers].filter(([name]) => names.test(name)))
}

/** Reads the body of each request before limits apply, and does nothing else. */
const reader: Extension = {
  maxHeaderBytes: 16_384,
  serve: () => false,
  admit: () => undefined,
  ingestOf: () => undefined,
  answer: async () => undefined,
  finish: async (_, ending) => ending,
  onOpened: () => {},
  onRead: () => {},
  onStored: async () => {},
  onEnded: () => {},
}

const tokenOf = (orgId: string) => emulator.addToken({ kind: 'api', actions: ['ingest'], orgs: [orgId] })
const leaves = (count: number, name = 'f') =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`${name}${n}`, n]))

describe('no limit is enforced', () => {
  const beyond = { body: [leaves(50), { text: 'x'.repeat(2 * bytesAMonth) }] }

  it('unless asked for', async () => {
    emulator.changeOrg({ paymentStatus: 'blocked' })
    const answers = await Promise.all(['a', 'b', 'c', 'd'].map(dataset => post(emulator, { dataset, ...beyond })))
    for (const answer of answers) {
      expect([answer.status, told(answer)]).toEqual([200, {}])
      expect(await answer.json()).toMatchObject({ ingested: 2, failed: 0 })
    }
  })

  it('except the chosen limits, from the choice until the next one', async () => {
    emulator.enforce({ maxDatasets: true, maxFields: undefined, expiry: false })
    expect(await statuses(9, beyond)).toEqual(Array(9).fill(200))
    emulator.enforce({ apiRateLimitPerSecond: true })
    expect(await statuses(4, beyond)).toEqual([200, 200, 200, 429])
    emulator.enforce(false)
    expect(await statuses(1, beyond)).toEqual([200])
  })

  it('and true enforces every limit, also as an option', async () => {
    await using own = await startEmulator({ org: { license: ordinary }, enforce: true })
    expect(await (await post(own, { body: [leaves(5)] })).json()).toMatchObject({ failed: 1 })
    own.changeOrg({ license: { maxDatasets: 1 } })
    expect((await post(own, { dataset: 'b' })).status).toBe(403)
    expect((await post(own, { body: [{ text: 'x'.repeat(bytesAMonth) }] })).status).toBe(200)
    vi.setSystemTime(now + 1000)
    expect((await post(own)).status).toBe(429)
    own.changeOrg({ paymentStatus: 'blocked' })
    expect((await post(own)).status).toBe(403)
    own.changeOrg({ license: { apiRateLimitPerSecond: 2 } })
    expect((await post(own)).headers.get('retry-after')).toBe('1')
    expect(own.stats().refusedByLimit).toEqual({
      apiRateLimitPerSecond: 1,
      maxFields: 1,
      monthlyIngestGb: 1,
      maxDatasets: 1,
      expiry: 1,
    })
  })
})

describe('apiRateLimitPerSecond', () => {
  beforeEach(() => emulator.enforce({ apiRateLimitPerSecond: true }))

  const scope = { 'x-ratelimit-scope': 'organization', 'x-ratelimit-limit': '3' }
  const reset = String(Math.floor(now / 1000) + 1)

  it('accepts that many requests per second of the clock, and says how many are left', async () => {
    for (const left of ['2', '1', '0']) {
      const response = await post(emulator)
      expect(response.status).toBe(200)
      expect(told(response)).toEqual({ ...scope, 'x-ratelimit-remaining': left, 'x-ratelimit-reset': reset })
    }
    const refused = await post(emulator)
    expect(refused.status).toBe(429)
    expect(told(refused)).toEqual({
      ...scope,
      'x-ratelimit-remaining': '0',
      'x-ratelimit-reset': reset,
      'retry-after': '1',
    })
    expect(await refused.json()).toEqual({
      code: 'rate-limited',
      message: 'the license allows 3 requests per second',
    })
    vi.setSystemTime(now + 749)
    expect(await statuses(1)).toEqual([429])
    vi.setSystemTime(now + 750)
    expect(await statuses(4)).toEqual([200, 200, 200, 429])
    expect(emulator.eventCount('checkout')).toBe(6)
  })

  it('answers a refused request with a large body', async () => {
    await statuses(3)
    const body = Buffer.alloc(8_000_000, ' ')
    expect((await post(emulator, { body })).status).toBe(429)
  })

  it('counts a request in the second in which it is admitted, if its body is read before (`logferry dev`)', async () => {
    await using dev = await startExtended({ org: { license: ordinary }, enforce: true }, reader)
    let finish = () => {}
    const slow = exchangeRaw(dev, socket => {
      const head = `POST /v1/datasets/d/ingest HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${dev.token}\r\n`
      socket.write(`${head}Connection: close\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n[`)
      finish = () => void socket.write(']')
    })
    await vi.waitFor(() => expect(dev.requests()).toHaveLength(1))
    vi.setSystemTime(now + 1000)
    for (const status of [200, 200, 200]) expect((await post(dev, { dataset: 'd' })).status).toBe(status)
    finish()
    expect(await slow).toContain(' 429 ')
    expect((await post(dev, { dataset: 'd' })).status).toBe(429)
  })

  it('counts requests to the organization too', async () => {
    await post(emulator)
    expect(told(await org())).toMatchObject({ ...scope, 'x-ratelimit-remaining': '1' })
    expect((await org(emulator.orgId, { method: 'PUT', body: '{"name":"x"}' })).status).toBe(200)
    expect(await statuses(1)).toEqual([429])
    const refused = await org()
    expect([refused.status, await refused.json()]).toMatchObject([429, { code: 'rate-limited' }])
    vi.setSystemTime(now + 1000)
    expect(await (await org()).json()).toMatchObject({ name: 'x' })
  })

  it('adds its headers to other errors, and not to scripted answers', async () => {
    emulator.changeOrg({ license: { apiRateLimitPerSecond: 100 } })
    emulator.faults.answerNext(1, { status: 503, headers: { 'X-RateLimit-Remaining': '7' } })
    const answers = [await post(emulator), await post(emulator, { type: 'text/plain' })]
    answers.push(await post(emulator, { body: '{' }))
    expect(answers.map(({ status }) => status)).toEqual([503, 415, 400])
    expect(answers.map(answer => told(answer)['x-ratelimit-remaining'])).toEqual(['7', '98', '97'])
  })

  it('does not count requests with an invalid token or without an organization', async () => {
    expect(await statuses(5, { token: 'unknown' })).toEqual(Array(5).fill(403))
    expect(told(await post(emulator, { token: 'unknown' }))).toEqual({})
    const unknown = await org('nobody')
    expect([unknown.status, told(unknown)]).toEqual([404, {}])
    expect(await statuses(1)).toEqual([200])
  })

  it('is counted for each organization: the one of the token, the default one, or the one in the header', async () => {
    expect(await statuses(4)).toEqual([200, 200, 200, 429])
    expect(await statuses(4, { token: tokenOf('rate') })).toEqual([200, 200, 200, 429])
    const token = emulator.personalAccessToken
    const headers = { 'x-service-org-id': 'header' }
    expect(await statuses(4, { token, headers })).toEqual([200, 200, 200, 429])
    expect((await org('header')).status).toBe(429)
    const orgIds = emulator.requests().map(({ orgId }) => orgId)
    expect(orgIds).toEqual([emulator.orgId, 'rate', 'header'].flatMap(id => Array(4).fill(id)).concat('header'))
  })

  it('follows changeOrg at once, up and down', async () => {
    expect(await statuses(4)).toEqual([200, 200, 200, 429])
    emulator.changeOrg({ license: { apiRateLimitPerSecond: 5 } })
    expect(await statuses(3)).toEqual([200, 200, 429])
    emulator.changeOrg({ license: { apiRateLimitPerSecond: 1 } })
    expect(told(await post(emulator))).toMatchObject({ 'x-ratelimit-limit': '1', 'x-ratelimit-remaining': '0' })
  })

  it('is in stats() with the rate of the requests, without scripted 429s', async () => {
    emulator.faults.answerNext(1, { status: 429 })
    await statuses(5)
    vi.setSystemTime(now + 2000)
    await statuses(1)
    expect(emulator.stats()).toMatchObject({
      requests: 6,
      requestsPerSecond: 2.5,
      answers: { 200: 3, 429: 3 },
      refusedByLimit: { apiRateLimitPerSecond: 2 },
    })
  })

  it('holds on the real clock, against several times as many requests', async () => {
    vi.useRealTimers()
    emulator.changeOrg({ license: { apiRateLimitPerSecond: 20 } })
    const start = Date.now()
    while (Date.now() < start + 1100) {
      await statuses(1)
      await delay(2)
    }
    const admitted = Map.groupBy(
      emulator.requests().filter(({ status }) => status === 200),
      ({ atMs }) => Math.floor(atMs / 1000),
    )
    const counts = [...admitted.values()].map(requests => requests.length)
    expect(counts.length).toBeGreaterThanOrEqual(2)
    expect(Math.max(...counts)).toBe(20)
    expect(emulator.stats().requestsPerSecond).toBeGreaterThan(20)
  })
})

describe('maxFields', () => {
  beforeEach(() => emulator.enforce({ maxFields: true }))

  it.each([
    ['a leaf of each kind', [{ a: 1, b: 'x', c: true, d: null }], 4],
    ['the same fields again', [{ a: 1 }, { a: 'x' }, { a: null }], 1],
    ['nested objects', [{ a: { b: 1, c: { d: 2 } } }], 2],
    ['a list, whatever it holds', [{ a: [{ b: 1 }, { c: 2 }] }, { a: [] }], 1],
    ['an empty object', [{ a: {} }], 1],
    ['an object that is empty once, and a text once', [{ a: { b: {} } }, { a: { b: 'x' } }], 1],
    ['a leaf once, and a branch once', [{ a: 1 }, { a: { b: 1 } }], 2],
    ['dots in a key, and nesting', [{ 'a.b': 1 }, { a: { b: 1 } }], 1],
    ['dots in a key in the middle', [{ 'a.b': { c: 1 } }, { a: { 'b.c': 1 } }], 1],
    ['empty keys', [{ '': 1 }, { a: { '': 1 } }], 2],
    ['names that JavaScript knows', [JSON.parse('{"__proto__":{"a":1},"constructor":1}'), { toString: 1 }], 3],
    ['an event without fields', [{}, {}], 0],
  ])('counts %s', async (_, body, fields) => {
    emulator.changeOrg({ license: { maxFields: fields } })
    expect(await (await post(emulator, { body })).json()).toMatchObject({ ingested: body.length, failed: 0 })
    const onceMore = await post(emulator, { body: [...body, { other: 1 }] })
    expect(await onceMore.json()).toMatchObject({ ingested: body.length, failed: 1 })
  })

  it('fails the events with too many fields, and stores the others', async () => {
    const _time = '2026-11-20T10:00:00Z'
    const body = [{ ...leaves(3), _time }, { x: { y: 1 }, _time }, { f1: 'again' }, { f2: { z: 1 } }]
    const response = await post(emulator, { body })
    expect(response.status).toBe(200)
    const reason = "dataset 'checkout' has 4 of the 4 fields its license allows; new field"
    expect(await response.json()).toMatchObject({
      ingested: 2,
      failed: 2,
      failures: [
        { timestamp: _time, error: `${reason} 'x.y' is one too many` },
        { timestamp: new Date(now).toISOString(), error: `${reason} 'f2.z' is one too many` },
      ],
    })
    expect(emulator.events('checkout')).toEqual([body[0], body[2]])
    expect(emulator.stats()).toMatchObject({ stored: 2, answers: { 200: 1 }, refusedByLimit: { maxFields: 2 } })
  })

  it('learns all fields of an event or none', async () => {
    const { failures } = await ingest([leaves(2), leaves(3, 'g'), leaves(2, 'h'), { g0: 1 }])
    expect(failures.map(({ error }) => error)).toEqual([
      expect.stringContaining("'g2'"),
      expect.stringContaining("'g0'"),
    ])
  })

  it('learns no field from events that a test rejected', async () => {
    emulator.faults.rejectEvents(event => 'g0' in event, 'scripted')
    const response = await post(emulator, { body: [leaves(4, 'g'), leaves(4)] })
    expect(await response.json()).toMatchObject({ ingested: 1, failed: 1, failures: [{ error: 'scripted' }] })
  })

  it('is counted for each dataset of each organization', async () => {
    for (const [index, sent] of [{}, { dataset: 'payment' }, { token: tokenOf('fields') }].entries()) {
      expect(await ingest([leaves(4, String(index))], sent)).toMatchObject({ failed: 0 })
    }
    expect(await ingest([leaves(4, '1')])).toMatchObject({ failed: 1 })
  })

  it('follows changeOrg at once, and forgets fields by clear()', async () => {
    expect(await ingest([leaves(5)])).toMatchObject({ failed: 1 })
    emulator.changeOrg({ license: { maxFields: 5 } })
    expect(await ingest([leaves(5)])).toMatchObject({ failed: 0 })
    emulator.changeOrg({ license: { maxFields: 2 } })
    expect(await ingest([leaves(5), leaves(6)])).toMatchObject({ failed: 1 })
    emulator.clear()
    expect(await ingest([leaves(2, 'g'), leaves(2)])).toMatchObject({ failed: 1 })
  })

  it('learns fields only while it is enforced', async () => {
    emulator.enforce(false)
    await ingest([leaves(4)])
    emulator.enforce({ maxFields: true })
    expect(await ingest([leaves(4, 'g'), leaves(4)])).toMatchObject({ failed: 1 })
  })

  it('survives nesting deeper than the stack, and shortens its message', async () => {
    await using deep = await startEmulator({
      maxNestingDepth: 100_000,
      enforce: { maxFields: true },
      org: { license: { maxFields: 0 } },
    })
    const body = `[${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}]`
    const [failure] = ((await (await post(deep, { body })).json()) as Ingested).failures
    expect(failure?.error).toMatch(/new field 'a\.a\.[a.]*…' is one too many$/)
    expect(failure?.error.length).toBeLessThan(400)
  })

  it('counts the fields below a long name without keeping the name for each of them, and tells them apart', async () => {
    emulator.changeOrg({ license: { maxFields: 600 } })
    const body = [{ ['long'.repeat(250_000)]: leaves(600) }]
    expect(await ingest(body)).toMatchObject({ ingested: 1, failed: 0 }) // it took a minute
    expect(await ingest(body)).toMatchObject({ ingested: 1, failed: 0 })
    const { failures } = await ingest([{ ['long'.repeat(250_000)]: leaves(1, 'other') }])
    expect(failures[0]?.error).toMatch(/has 600 of the 600 fields .* new field '(?:long){50}…' is one too many$/)
  })

  it('names a dataset with a long name in part, as an answer names it for each event', async () => {
    emulator.changeOrg({ license: { maxFields: 0 } })
    const answer = await post(emulator, {
      dataset: 'd'.repeat(10_000),
      body: Array.from({ length: 100 }, () => ({ n: 1 })),
    })
    expect((await answer.text()).length).toBeLessThan(100_000)
  })

  it('accepts 100,000 events of 20 fields within seconds', async () => {
    emulator.changeOrg({ license: { maxFields: 20 } })
    const event = { ...leaves(12), http: leaves(4), user: { id: 1, geo: leaves(3) } }
    const body = `${JSON.stringify(event)}\n`.repeat(10_000)
    const start = performance.now()
    for (let sent = 0; sent < 10; sent += 1) await post(emulator, { type: 'application/x-ndjson', body })
    expect(performance.now() - start).toBeLessThan(4500)
    expect(emulator.eventCount('checkout')).toBe(100_000)
  })
})

describe('monthlyIngestGb', () => {
  beforeEach(() => emulator.enforce({ monthlyIngestGb: true }))

  const event = (bytes: number) => `{"x":"${'x'.repeat(bytes - 8)}"}`
  const reset = String(new Date(initially.license.billingPeriodEnd).getTime() / 1000)
  const headers = (remaining: string) => ({
    'x-ingestlimit-limit': String(bytesAMonth),
    'x-ingestlimit-remaining': remaining,
    'x-ingestlimit-reset': reset,
  })

  it('counts the decoded bytes of stored events, and refuses events once the amount is used up', async () => {
    expect(told(await post(emulator, { body: event(600) }))).toEqual(headers('400'))
    expect(told(await post(emulator, { body: '{' }))).toEqual(headers('400'))
    const last = await post(emulator, { body: event(600) })
    expect([last.status, told(last)]).toEqual([200, headers('0')])
    const refused = await post(emulator, { body: event(8) })
    expect(refused.status).toBe(429)
    expect(told(refused)).toEqual({ ...headers('0'), 'retry-after': '86400' })
    expect(await refused.json()).toEqual({
      code: 'month-used-up',
      message: `the 0.000001 GB per month that the license allows are used up until ${initially.license.billingPeriodEnd}`,
    })
    expect(emulator.eventCount('checkout')).toBe(2)
    expect(emulator.stats()).toMatchObject({ answers: { 200: 2, 429: 1 }, refusedByLimit: { monthlyIngestGb: 1 } })
  })

  it.each([
    ['the end of the billing period', 90_500, '91'],
    ['a day at most', 5 * 86_400_000, '86400'],
    ['a second at least', 1, '1'],
  ])('asks clients to wait for %s', async (_, leftMs, seconds) => {
    emulator.changeOrg({ license: { monthlyIngestGb: 0, billingPeriodEnd: new Date(now + leftMs).toISOString() } })
    expect((await post(emulator)).headers.get('retry-after')).toBe(seconds)
  })

  it('begins anew when the billing period ends, and then with each calendar month', async () => {
    const license = { billingPeriodStart: '2030-05-20T00:00:00.000Z', billingPeriodEnd: '2030-06-20T00:00:00.000Z' }
    emulator.changeOrg({ license })
    for (const [now, status, remaining, until] of [
      ['2030-05-20T00:00Z', 200, '400', license.billingPeriodEnd],
      ['2030-06-19T23:59Z', 200, '0', license.billingPeriodEnd],
      ['2030-06-19T23:59Z', 429, '0', license.billingPeriodEnd],
      ['2030-06-20T00:00Z', 200, '400', '2030-07-01T00:00:00.000Z'],
      ['2030-06-30T23:59Z', 200, '0', '2030-07-01T00:00:00.000Z'],
      ['2030-07-01T00:00Z', 200, '400', '2030-08-01T00:00:00.000Z'],
      ['2030-12-01T00:00Z', 200, '400', '2031-01-01T00:00:00.000Z'],
      ['2030-12-31T23:59Z', 200, '0', '2031-01-01T00:00:00.000Z'],
      ['2030-12-31T23:59Z', 429, '0', '2031-01-01T00:00:00.000Z'],
    ] as const) {
      vi.setSystemTime(now)
      const answer = await post(emulator, { body: event(600) })
      expect([now, answer.status]).toEqual([now, status])
      expect(told(answer)).toMatchObject({
        'x-ingestlimit-remaining': remaining,
        'x-ingestlimit-reset': String(Date.parse(until) / 1000),
      })
      if (status === 429) expect(await answer.text()).toContain(`are used up until ${until}`)
    }
  })

  it('leaves the organization readable, without these headers', async () => {
    emulator.changeOrg({ license: { monthlyIngestGb: 0 } })
    const response = await org()
    expect([response.status, told(response)]).toEqual([200, {}])
  })

  it('counts for each organization until clear(), even while it is not enforced', async () => {
    emulator.enforce(false)
    await statuses(1, { body: event(1000) })
    emulator.enforce({ monthlyIngestGb: true })
    expect(await statuses(1)).toEqual([429])
    expect(await statuses(1, { token: tokenOf('month') })).toEqual([200])
    emulator.changeOrg({ license: { monthlyIngestGb: 1 } })
    expect(await statuses(1, { body: event(8) })).toEqual([200])
    emulator.clear()
    expect((await post(emulator, { body: event(8) })).headers.get('x-ingestlimit-remaining')).toBe('999999992')
  })
})

describe('maxDatasets', () => {
  beforeEach(() => emulator.enforce({ maxDatasets: true }))

  it('refuses a request that would create one dataset too many', async () => {
    expect(await statuses(1, { dataset: 'a' })).toEqual([200])
    expect(await statuses(1, { dataset: 'b' })).toEqual([200])
    const refused = await post(emulator, { dataset: 'c' })
    expect(refused.status).toBe(403)
    expect(await refused.json()).toEqual({
      code: 'too-many-datasets',
      message: 'the organization has 2 of the 2 datasets its license allows',
    })
    expect(await statuses(1, { dataset: 'a' })).toEqual([200])
    expect(emulator.datasets()).toEqual(['a', 'b'])
    expect(emulator.stats().refusedByLimit.maxDatasets).toBe(1)
    emulator.changeOrg({ license: { maxDatasets: 3 } })
    expect(await statuses(1, { dataset: 'c' })).toEqual([200])
  })

  it('counts no dataset whose first request was refused', async () => {
    for (const dataset of ['x', 'y']) await post(emulator, { dataset, body: '{' })
    expect(await statuses(1, { dataset: 'a' })).toEqual([200])
  })

  it('accepts one of two requests for the last dataset at the same time', async () => {
    emulator.changeOrg({ license: { maxDatasets: 1 } })
    const answers = await Promise.all(['a', 'b', 'c'].map(dataset => post(emulator, { dataset })))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 403, 403])
  })

  it('counts the datasets of each organization, and forgets them by clear()', async () => {
    for (const dataset of ['a', 'b']) await post(emulator, { dataset })
    expect(await statuses(1, { dataset: 'c', token: tokenOf('datasets') })).toEqual([200])
    emulator.clear()
    expect(await statuses(1, { dataset: 'c' })).toEqual([200])
  })
})

describe('expiry', () => {
  beforeEach(() => emulator.enforce({ expiry: true }))

  const at = (offsetMs: number) => new Date(now + offsetMs).toISOString()

  it.each([
    [{ license: { validFrom: at(1) } }, `the license is not valid before ${at(1)}`],
    [{ license: { expiresAt: at(0) } }, `the license expired at ${at(0)}`],
    [{ paymentStatus: 'blocked' }, 'the organization is blocked because of its payments'],
  ])('%j refuses events, but leaves the organization readable', async (change, message) => {
    emulator.changeOrg(change)
    const refused = await post(emulator)
    expect([refused.status, await refused.json()]).toEqual([403, { code: 'license-not-valid', message }])
    expect((await org()).status).toBe(200)
    expect(emulator.stats()).toMatchObject({ stored: 0, refusedByLimit: { expiry: 1 } })
  })

  it.each([{ license: { validFrom: at(0), expiresAt: at(1) } }, { paymentStatus: 'failed' }])(
    '%j is no reason to refuse events',
    async change => {
      emulator.changeOrg(change)
      expect(await statuses(1)).toEqual([200])
    },
  )
})
