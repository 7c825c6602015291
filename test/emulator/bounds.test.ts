/**
 * A few kilobytes may unpack to millions of events, or of levels. The emulator refuses them before it does the work.
 */
import { request } from 'node:http'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { zstdCompressSync } from 'node:zlib'
import { afterAll, describe, expect, it, vi } from 'vitest'
import { type Emulator, startEmulator } from '../../src/emulator.ts'
import { createShipper } from '../../src/index.ts'
import { exchangeRaw, post } from './wire.ts'

const MiB = 1_048_576
const emulator = await startEmulator({ maxEventBytes: 64 * MiB })
afterAll(() => emulator.close())

const ndjson = 'application/x-ndjson'
const json = 'application/json'

interface Refused {
  code: string
  message: string
}

/** Returns processor time, in milliseconds. Elapsed time would include the work of other processes. */
async function measured<T>(run: () => Promise<T>): Promise<{ result: T; cpuMs: number }> {
  const before = process.cpuUsage()
  const result = await run()
  const { user, system } = process.cpuUsage(before)
  return { result, cpuMs: (user + system) / 1000 }
}

describe('a small body that unpacks to 21 MiB is answered without delay', { timeout: 60_000 }, () => {
  it.each<[string, string | Buffer, string, number, string | undefined]>([
    ['[[[[', '[', ndjson, 400, 'nested-too-deeply'],
    ['[[[[ as JSON', '[', json, 400, 'nested-too-deeply'],
    ['{"a":{"a":', '{"a":', ndjson, 400, 'nested-too-deeply'],
    ['{"a":{"a": as JSON', '{"a":', json, 400, 'nested-too-deeply'],
    ['[ line by line', '[\n', ndjson, 413, 'too-many-events'],
    ['empty events', '{}\n', ndjson, 413, 'too-many-events'],
    ['commas', Buffer.concat([Buffer.from('['), Buffer.alloc(21 * MiB, ',')]), json, 413, 'too-many-events'],
    ['newlines', '\n', ndjson, 200, undefined],
    ['newlines as JSON', '\n', json, 400, 'malformed-json'],
    [
      'newlines and a number',
      Buffer.concat([Buffer.alloc(21 * MiB, '\n'), Buffer.from('7')]),
      ndjson,
      400,
      'not-an-object',
    ],
    [
      'newlines and no UTF-8',
      Buffer.concat([Buffer.alloc(21 * MiB, '\n'), Buffer.from([255])]),
      ndjson,
      400,
      'not-utf-8',
    ],
    [
      'one event of many',
      Buffer.concat([Buffer.from('{"a":['), Buffer.alloc(21 * MiB, '{},'), Buffer.from('0]}')]),
      json,
      200,
      undefined,
    ],
  ])('%s', async (_, text, type, status, code) => {
    const plain = typeof text === 'string' ? Buffer.alloc(21 * MiB, text) : text
    const body = zstdCompressSync(plain)
    expect(body.length).toBeLessThan(20_000)
    const { result, cpuMs } = await measured(() => post(emulator, { dataset: 'bounds', type, encoding: 'zstd', body }))
    const answer = (await result.json()) as Refused
    expect([result.status, answer.code]).toEqual([status, code])
    expect(cpuMs).toBeLessThan(1300)
    emulator.clear()
  })
})

describe('other requests are served while the events of a large body', { timeout: 60_000 }, () => {
  const events = Array.from({ length: 200_000 }, (_, n) => ({ n, message: 'some message' }))
  it.each<[string, string, string | Buffer, (own: Emulator) => void]>([
    ['are found in lines', ndjson, events.map(event => JSON.stringify(event)).join('\n'), () => {}],
    ['are found in an array', json, JSON.stringify(events), () => {}],
    ['are asked for a field', json, JSON.stringify(events), own => own.faults.rejectEvents(() => false, 'no')],
    ['are counted by their fields', json, JSON.stringify(events), own => own.enforce({ maxFields: true })],
  ])('%s', async (_, type, body, prepare) => {
    await using own = await startEmulator()
    prepare(own)
    const { status, maxCpuMs } = await watched(() => post(own, { type, body }))
    expect(status).toBe(200)
    expect(own.eventCount('checkout')).toBe(200_000)
    expect(maxCpuMs).toBeLessThan(200)
  })
})

describe('other requests are served while a body of 60 MB', { timeout: 60_000 }, () => {
  const list = '{},'.repeat(20_000_000)
  it.each<[string, string, [number, number]]>([
    ['has one event', `{"a":[${list}1]}`, [413, 413]],
    ['has an event that does not end', `[{"a":[${list}1]`, [413, 400]],
    ['has brackets that do not match', `[${list.slice(0, 600_000)}{"a":[${list}1}}`, [413, 400]],
    ['has lines that are no JSON', `{"a":\n${list}`, [400, 413]],
  ])('%s', async (_, plain, statuses) => {
    await using own = await startEmulator({ enforce: { maxFields: true } })
    const body = zstdCompressSync(plain)
    const asLines = await watched(() => post(own, { type: ndjson, encoding: 'zstd', body }))
    const asJson = await watched(() => post(own, { type: json, encoding: 'zstd', body }))
    expect([asLines.status, asJson.status]).toEqual(statuses)
    expect(Math.max(asLines.maxCpuMs, asJson.maxCpuMs)).toBeLessThan(2000) // about 250, and up to 900 where memory is slow
  })
})

/**
 * Returns the status of an answer, and the longest time that others waited for their turn meanwhile. What other threads do,
 * such as unpacking and collecting garbage, does not keep others waiting.
 */
async function watched(ask: () => Promise<Response>): Promise<{ status: number; maxCpuMs: number }> {
  let isAnswered = false
  let maxCpuMs = 0
  const asked = ask().finally(() => {
    isAnswered = true
  })
  while (!isAnswered) {
    const before = process.threadCpuUsage()
    await nextTurn()
    const { user, system } = process.threadCpuUsage(before)
    maxCpuMs = Math.max(maxCpuMs, (user + system) / 1000)
  }
  return { status: (await asked).status, maxCpuMs }
}

it('bodies that arrive at the same time are bounded together, and their memory is free again', async () => {
  await using own = await startEmulator({ maxEventBytes: 64 * MiB }) // one event is the shortest way to a large body
  const plain = Buffer.concat([Buffer.from('{"a":"'), Buffer.alloc(63 * MiB, 'x'), Buffer.from('"}')])
  const body = zstdCompressSync(plain) // unpacks in a fifth of the time that gzip takes
  const headers = { authorization: `Bearer ${own.token}`, 'content-type': ndjson, 'content-encoding': 'zstd' }
  const first = Array.from({ length: 4 }, () => {
    const sent = request(`${own.url}/v1/datasets/d/ingest`, { method: 'POST', headers, agent: false })
    sent.on('error', () => {}).write(body.subarray(0, -20))
    return sent
  })
  await vi.waitFor(() => expect(sumOf(own)).toBeGreaterThan(4 * 62 * MiB), 20_000)
  const refused = await post(own, { type: ndjson, encoding: 'zstd', body })
  expect([refused.status, refused.headers.get('retry-after'), await refused.json()]).toEqual([
    503,
    '1',
    { code: 'too-many-bodies', message: expect.stringContaining('too large together') },
  ])
  first[0]?.end(body.subarray(-20)) // a request that is complete frees its memory, and so does one whose client vanishes
  first[1]?.destroy()
  await own.waitForEvents('d', 1)
  await vi.waitFor(() => expect(own.requests()[1]?.reason).toMatch(/the client closed/))
  expect((await post(own, { type: ndjson, encoding: 'zstd', body })).status).toBe(200)
  expect((await post(own, { type: ndjson, encoding: 'zstd', body })).status).toBe(200)
  for (const sent of first) sent.destroy()
}, 60_000)

function sumOf(own: Emulator): number {
  return own.requests().reduce((bytes, { decodedBytes }) => bytes + decodedBytes, 0)
}

it('the log of requests is bounded in bytes too, and keeps the newest', async () => {
  await using own = await startEmulator()
  const count = 3000
  const headers = (n: number) => `Host: localhost\r\nX-Long: ${n}${'x'.repeat(14_000)}`
  const requests = Array.from({ length: count }, (_, n) => `GET /${n} HTTP/1.1\r\n${headers(n)}\r\n\r\n`)
  await exchangeRaw(own, socket => void socket.end(requests.join('')))
  expect(own.stats().answers).toEqual({ 404: count })
  const kept = own.requests()
  expect(kept.at(-1)?.path).toBe(`/${count - 1}`)
  expect(kept.length * 14_000).toBeLessThan(34_000_000)
  expect(kept.length * 14_000).toBeGreaterThan(32_000_000)
})

describe('the maximum number of events in a request', () => {
  it('can be set, and one more event is a 413 that says so', async () => {
    await using own = await startEmulator({ maxRequestEvents: 3 })
    for (const [type, body, more] of [
      [ndjson, '{}\n{}\n\n{}', '{}\n{}\n{}\n{}'],
      [json, '[{},{},{}]', '[{},{},{},{}]'],
    ] as const) {
      expect((await post(own, { type, body })).status).toBe(200)
      const refused = await post(own, { type, body: more })
      expect([refused.status, await refused.json()]).toEqual([
        413,
        { code: 'too-many-events', message: 'a request may have up to 3 events (maxRequestEvents of the emulator)' },
      ])
    }
    expect(own.eventCount('checkout')).toBe(6)
  })

  it('makes a shipper send smaller batches, and no event is lost', async () => {
    await using own = await startEmulator({ maxRequestEvents: 10 })
    const shipper = createShipper({ baseUrl: own.url, token: own.token, dataset: 'd' })
    shipper.on('warning', () => {})
    for (let n = 0; n < 100; n += 1) shipper.ship({ n })
    expect(await shipper.close()).toEqual({ complete: true, pending: 0 })
    expect(own.eventCount('d')).toBe(100)
  })

  it('is higher than a shipper needs', async () => {
    const body = '{}\n'.repeat(100_000)
    expect((await post(emulator, { type: ndjson, body })).status).toBe(200)
  })
})

describe('the maximum size of an event', () => {
  const sized = (bytes: number) => `{"a":"${'x'.repeat(bytes - 8)}"}`

  it.each([
    [ndjson, (event: string) => `{}\n ${event} \n{}`],
    [json, (event: string) => `[{}, ${event}]`],
    [json, (event: string) => event],
    [ndjson, (event: string) => event.replace('"a":"x', '\n"a":"')],
  ])('can be set, and one more byte is a 413 that says so (%s)', async (type, bodyOf) => {
    await using own = await startEmulator({ maxEventBytes: 100 })
    expect((await post(own, { type, body: bodyOf(sized(100)) })).status).toBe(200)
    const refused = await post(own, { type, body: bodyOf(sized(101)) })
    expect([refused.status, await refused.json()]).toEqual([
      413,
      {
        code: 'event-too-large',
        message: expect.stringMatching(
          /^event \d of the body \(line \d\) has more than 100 bytes \(maxEventBytes of the emulator\)$/,
        ),
      },
    ])
  })

  it('is higher than a shipper needs', async () => {
    await using own = await startEmulator()
    const shipper = createShipper({ baseUrl: own.url, token: own.token, dataset: 'd' })
    shipper.ship({ text: 'x'.repeat(2_000_000) })
    expect(await shipper.close()).toEqual({ complete: true, pending: 0 })
    expect(own.eventCount('d')).toBe(1)
  })
})

describe('the maximum nesting of an event', () => {
  const nested = (depth: number, text = '') => `${'{"a":'.repeat(depth - 1)}{"b":"${text}"}${'}'.repeat(depth - 1)}`
  const listed = (depth: number) => `{"a":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`

  it.each([
    [ndjson, (event: string) => `{}\n${event}`],
    [json, (event: string) => `[{},${event}]`],
    [json, (event: string) => event],
    [ndjson, (event: string) => event.replaceAll('{"', '{\n"')],
  ])('can be set, and one more level is a 400 that says so (%s)', async (type, bodyOf) => {
    await using own = await startEmulator({ maxNestingDepth: 10 })
    for (const eventOf of [nested, listed]) {
      expect((await post(own, { type, body: bodyOf(eventOf(10)) })).status).toBe(200)
      const refused = await post(own, { type, body: bodyOf(eventOf(11)) })
      expect(refused.status).toBe(400)
      expect(await refused.json()).toEqual({
        code: 'nested-too-deeply',
        message: expect.stringMatching(/ is nested more deeply than 10 levels \(maxNestingDepth of the emulator\)$/),
      })
    }
  })

  it('does not count brackets in texts', async () => {
    await using own = await startEmulator({ maxNestingDepth: 10 })
    const text = '[{\\"[{'.repeat(100)
    expect((await post(own, { type: ndjson, body: nested(10, text) })).status).toBe(200)
    expect((await post(own, { type: ndjson, body: nested(11, text) })).status).toBe(400)
  })

  it('is higher than a shipper needs', async () => {
    await using own = await startEmulator()
    const shipper = createShipper({ baseUrl: own.url, token: own.token, dataset: 'd' })
    shipper.ship(JSON.parse(nested(1000)))
    shipper.ship(JSON.parse(listed(1000)))
    expect(await shipper.close()).toEqual({ complete: true, pending: 0 })
    expect(own.eventCount('d')).toBe(2)
  })

  it('also holds for the update of an organization', async () => {
    const update = async (body: string) => {
      const headers = { authorization: `Bearer ${emulator.accessToken}`, 'content-type': json }
      const answer = await fetch(`${emulator.url}/v2/orgs/${emulator.orgId}`, { method: 'PUT', headers, body })
      return [answer.status, ((await answer.json()) as Refused).code]
    }
    expect(await update(`{"name":${'['.repeat(5000)}`)).toEqual([400, 'nested-too-deeply'])
    expect(await update(`{"name":"${'x'.repeat(70_000)}"}`)).toEqual([413, 'body-too-large'])
  })
})

it('names of datasets count as stored bytes, and are forgotten with the oldest events', async () => {
  await using own = await startEmulator({ maxStoredBytes: 100_000 })
  const name = (n: number) => `${n}-${'x'.repeat(4000)}`
  for (let n = 0; n < 100; n += 1) {
    await post(own, { dataset: name(n) })
    expect(own.stats().heldBytes).toBeLessThanOrEqual(100_000)
  }
  expect(own.stats()).toMatchObject({ stored: 100 })
  expect(own.datasets().length).toBeLessThan(15)
  expect(own.eventCount(name(99))).toBe(1)
  expect(own.eventCount(name(0))).toBe(0)
  for (let n = 0; n < 100; n += 1) await post(own, { dataset: name(n), body: '[]' })
  expect(own.datasets().length).toBeLessThan(15)
  expect(own.stats().heldBytes).toBeLessThanOrEqual(100_000)
})
