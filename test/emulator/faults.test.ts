import { gzipSync, zstdCompressSync } from 'node:zlib'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { startEmulator } from '../../src/emulator.ts'
import { post } from './wire.ts'

const emulator = await startEmulator()
const { faults } = emulator
afterAll(() => emulator.close())
beforeEach(() => {
  emulator.clear()
  faults.clear()
})

/**
 * Returns the statuses of several posts, one after the other; `reset` for a connection that ended without an answer.
 */
async function statuses(count: number, body?: object): Promise<(number | 'reset')[]> {
  const seen: (number | 'reset')[] = []
  for (let sent = 0; sent < count; sent += 1) {
    seen.push(
      await post(emulator, body ? { body } : {}).then(
        response => response.status,
        () => 'reset' as const,
      ),
    )
  }
  return seen
}

describe('answerNext', () => {
  it('answers the next requests as scripted, stores none of their events, and then stops', async () => {
    faults.answerNext(2, { status: 503, headers: { 'Retry-After': '7' }, body: { busy: true } })
    const response = await post(emulator)
    expect(response.status).toBe(503)
    expect(response.headers.get('retry-after')).toBe('7')
    expect(response.headers.get('content-type')).toBe('application/json')
    expect(await response.json()).toEqual({ busy: true })
    expect(await statuses(2)).toEqual([503, 200])
    expect(emulator.eventCount('checkout')).toBe(1)
  })

  it('reads the whole body first, however large', async () => {
    faults.answerNext(1, { status: 429 })
    const body = Buffer.alloc(5_000_000, ' ')
    const response = await post(emulator, { body })
    expect(await response.json()).toEqual({ code: 'scripted', message: 'a test scripted the status 429' })
    expect(emulator.requests()[0]).toMatchObject({ status: 429, wireBytes: body.length, decodedBytes: 0 })
  })

  it.each([
    ['text', '<h1>Bad gateway</h1>', '<h1>Bad gateway</h1>'],
    ['nothing', '', ''],
    ['bytes', Buffer.from('{"trunc'), '{"trunc'],
  ])('sends %s as it is', async (_, body, received) => {
    faults.answerNext(1, { status: 502, headers: { 'content-type': 'text/html' }, body })
    const response = await post(emulator)
    expect(response.headers.get('content-type')).toBe('text/html')
    expect(await response.text()).toBe(received)
  })

  it('sends a 204 without a body', async () => {
    faults.answerNext(1, { status: 204 })
    const response = await post(emulator)
    expect([response.status, await response.text()]).toEqual([204, ''])
  })

  it('continues without end on demand, until clear()', async () => {
    faults.answerNext(Number.POSITIVE_INFINITY, { status: 500 })
    expect(await statuses(4)).toEqual([500, 500, 500, 500])
    faults.clear()
    expect(await statuses(1)).toEqual([200])
  })

  it('does not apply to requests that fail authentication', async () => {
    faults.answerNext(1, { status: 500 })
    expect((await post(emulator, { token: 'unknown' })).status).toBe(403)
    expect(await statuses(2)).toEqual([500, 200])
  })
})

describe('resetNext', () => {
  it('resets before storing, in the middle of a large body', async () => {
    faults.resetNext(1, 'before-storing')
    await expect(post(emulator, { body: Buffer.alloc(8_000_000, ' ') })).rejects.toThrow('fetch failed')
    expect(emulator.requests()[0]?.status).toBeUndefined()
    expect(emulator.requests()[0]?.wireBytes).toBeLessThan(1_000_000)
    expect(emulator.eventCount('checkout')).toBe(0)
    expect(await statuses(1)).toEqual([200])
  })

  it('resets after storing, without an answer', async () => {
    faults.resetNext(1, 'after-storing')
    const error = await post(emulator).catch(error => error)
    expect(error.cause).toMatchObject({ code: 'ECONNRESET' })
    expect(emulator.requests()[0]).toMatchObject({ status: undefined, eventCount: 1 })
    expect(emulator.eventCount('checkout')).toBe(1)
  })
})

it('follows the script in the order in which it was written', async () => {
  faults.answerNext(1, { status: 503 })
  faults.resetNext(1, 'before-storing')
  faults.answerNext(2, { status: 429 })
  expect(await statuses(5)).toEqual([503, 'reset', 429, 429, 200])
})

describe('latencyMs', () => {
  it('delays every answer', async () => {
    faults.latencyMs = 40
    const start = performance.now()
    expect((await post(emulator)).status).toBe(200)
    expect(performance.now() - start).toBeGreaterThan(35)
  })

  it('may differ from request to request', async () => {
    faults.latencyMs = ({ dataset }) => (dataset === 'slow' ? 60 : 0)
    const order: string[] = []
    await Promise.all(
      ['slow', 'fast'].map(async dataset => {
        await post(emulator, { dataset })
        order.push(dataset)
      }),
    )
    expect(order).toEqual(['fast', 'slow'])
  })

  it('keeps the events stored if the client gives up before the answer', async () => {
    faults.latencyMs = 10_000
    const gaveUp = new AbortController()
    const sent = fetch(`${emulator.url}/v1/datasets/checkout/ingest`, {
      method: 'POST',
      headers: { authorization: `Bearer ${emulator.token}`, 'content-type': 'application/json' },
      body: '[{}]',
      signal: gaveUp.signal,
    })
    await emulator.waitForEvents('checkout', 1)
    gaveUp.abort()
    await expect(sent).rejects.toThrow('aborted')
    expect(emulator.requests()[0]?.status).toBeUndefined()
  })
})

it('answers 500 if a latency function returns an invalid delay', async () => {
  faults.latencyMs = () => Number.NaN
  const response = await post(emulator)
  expect(await response.json()).toMatchObject({ message: expect.stringContaining('latencyMs must be a number') })
})

it('slowBody lets the bodies of the next answers trickle after their headers', async () => {
  faults.slowBody({ bytesPerSecond: 400, answers: 1 })
  faults.answerNext(1, { status: 503, body: 'x'.repeat(24) })
  const start = performance.now()
  const response = await post(emulator)
  const headersAfterMs = performance.now() - start
  expect(await response.text()).toBe('x'.repeat(24))
  const bodyAfterMs = performance.now() - start
  expect(bodyAfterMs).toBeGreaterThan(55)
  expect(headersAfterMs).toBeLessThan(bodyAfterMs - 30)
  expect(await statuses(1)).toEqual([200])
})

describe('rejectEvents', () => {
  it('fails the events that match inside a 200 and stores the others', async () => {
    faults.rejectEvents(event => event.n === 2, 'too many fields')
    faults.rejectEvents((event, dataset) => dataset === 'checkout' && event.n === 3, 'not today')
    const response = await post(emulator, {
      body: [{ n: 1 }, { _time: '2026-11-20T10:00:00Z', n: 2 }, { n: 3 }, { n: 4 }],
    })
    expect(response.status).toBe(200)
    expect(await response.json()).toMatchObject({
      ingested: 2,
      failed: 2,
      failures: [
        { timestamp: '2026-11-20T10:00:00Z', error: 'too many fields' },
        { timestamp: expect.stringMatching(/^\d{4}-/), error: 'not today' },
      ],
    })
    expect(emulator.events('checkout')).toEqual([{ n: 1 }, { n: 4 }])
    expect(emulator.requests()[0]?.eventCount).toBe(4)
  })
})

describe('rejectRequests', () => {
  it('refuses a whole request because of one matching event', async () => {
    faults.rejectRequests(event => event.n === 2, { status: 422, body: { message: 'poison' } })
    const response = await post(emulator, { body: [{ n: 1 }, { n: 2 }] })
    expect([response.status, await response.json()]).toEqual([422, { message: 'poison' }])
    expect(emulator.eventCount('checkout')).toBe(0)
    expect(await statuses(1, [{ n: 1 }])).toEqual([200])
  })

  it('answers 400 unless told otherwise', async () => {
    faults.rejectRequests(() => true)
    expect(await statuses(1)).toEqual([400])
  })
})

it('answers 500 with the message of a predicate that throws, and keeps running', async () => {
  faults.rejectEvents(() => {
    throw new Error('my predicate is broken')
  }, 'never')
  const response = await post(emulator)
  expect([response.status, await response.json()]).toEqual([
    500,
    { code: 'emulator-failed', message: 'my predicate is broken' },
  ])
  faults.clear()
  expect(await statuses(1)).toEqual([200])
})

describe('maxBytes', () => {
  it('answers 413 to a longer decoded body', async () => {
    faults.maxBytes(100)
    const long = Buffer.from(JSON.stringify([{ text: 'x'.repeat(200) }]))
    expect((await post(emulator, { body: long })).status).toBe(413)
    expect((await post(emulator, { body: gzipSync(long), encoding: 'gzip' })).status).toBe(413)
    expect(await statuses(1)).toEqual([200])
  })

  it('can reset the connection after its answer', async () => {
    faults.maxBytes(5, { reset: true })
    const outcome = await post(emulator).then(
      response => response.status,
      error => error.cause.code,
    )
    expect([413, 'ECONNRESET']).toContain(outcome)
    expect(emulator.requests()[0]?.status).toBe(413)
    faults.clear()
    expect(await statuses(1)).toEqual([200])
  })
})

it('refuseEncodings answers 415 to these content encodings and no others', async () => {
  faults.refuseEncodings(['zstd', 'GZIP'])
  const body = Buffer.from('[{}]')
  expect((await post(emulator, { body: zstdCompressSync(body), encoding: 'zstd' })).status).toBe(415)
  expect((await post(emulator, { body: gzipSync(body), encoding: 'gzip' })).status).toBe(415)
  expect((await post(emulator, { body })).status).toBe(200)
  faults.refuseEncodings([])
  expect((await post(emulator, { body: gzipSync(body), encoding: 'gzip' })).status).toBe(200)
})

it('applies faults in the documented order', async () => {
  faults.answerNext(1, { status: 599 })
  faults.refuseEncodings(['identity'])
  faults.maxBytes(0)
  faults.rejectRequests(() => true, { status: 422 })
  faults.rejectEvents(() => true, 'rejected')
  const seen = await statuses(2)
  faults.refuseEncodings([])
  seen.push(...(await statuses(1)))
  faults.maxBytes(Number.POSITIVE_INFINITY)
  seen.push(...(await statuses(1)))
  expect(seen).toEqual([599, 415, 413, 422])
})
