import { describe, expect, it, vi } from 'vitest'
import { startEmulator } from '../../src/emulator.ts'
import { post } from './wire.ts'

vi.mock('../../src/time.ts', () => import('../support/time-of-globals.ts'))

describe('received events', () => {
  it('are grouped by dataset, in order of arrival', async () => {
    await using emulator = await startEmulator()
    await post(emulator, { dataset: 'b', body: [{ n: 1 }, { n: 2 }] })
    await post(emulator, { dataset: 'a', body: [{ n: 3 }] })
    await post(emulator, { dataset: 'b', body: [{ n: 4 }] })
    expect(emulator.datasets()).toEqual(['b', 'a'])
    expect(emulator.events('b')).toEqual([{ n: 1 }, { n: 2 }, { n: 4 }])
    expect(emulator.lines('a')).toEqual(['{"n":3}'])
    expect([emulator.eventCount('b'), emulator.eventCount('nothing')]).toEqual([3, 0])
    expect(emulator.events('nothing')).toEqual([])
  })

  it('are listed request by request', async () => {
    await using emulator = await startEmulator()
    const before = Date.now()
    await post(emulator, { dataset: 'a b', body: '{"n":1}\n', type: 'application/x-ndjson', headers: { 'x-own': '1' } })
    await fetch(`${emulator.url}/nowhere?q=1`)
    const [ingest, lost] = emulator.requests()
    expect(ingest).toEqual({
      atMs: expect.any(Number),
      method: 'POST',
      path: '/v1/datasets/a%20b/ingest',
      headers: expect.objectContaining({ authorization: '(redacted)', 'x-own': '1' }),
      dataset: 'a b',
      orgId: emulator.orgId,
      contentType: 'application/x-ndjson',
      contentEncoding: undefined,
      status: 200,
      wireBytes: 8,
      decodedBytes: 8,
      eventCount: 1,
      durationMs: expect.any(Number),
      reason: '',
      isByFault: false,
    })
    expect(ingest?.atMs).toBeGreaterThanOrEqual(before)
    expect(lost).toMatchObject({
      method: 'GET',
      path: '/nowhere?q=1',
      dataset: undefined,
      orgId: undefined,
      status: 404,
      reason: 'there is nothing at this path',
    })
  })

  it('say why a request was refused, and whether a fault did it', async () => {
    await using emulator = await startEmulator()
    emulator.faults.answerNext(1, { status: 503 })
    emulator.faults.resetNext(1, 'after-storing')
    await post(emulator, { body: '[{}]' })
    await post(emulator, { body: '[{}]' }).catch(() => {})
    emulator.faults.rejectEvents(({ n }) => n === 1, 'odd')
    await post(emulator, { body: '[{"n":1},{"n":2}]' })
    await post(emulator, { body: '[{"n":}]' })
    await post(emulator, { body: '[{}]' })
    expect(emulator.requests().map(({ status, reason, isByFault }) => ({ status, reason, isByFault }))).toEqual([
      { status: 503, reason: 'a fault made the status 503', isByFault: true },
      { status: undefined, reason: 'the connection was reset', isByFault: true },
      { status: 200, reason: 'odd', isByFault: true },
      { status: 400, reason: 'malformed JSON at line 1, column 7 of the body', isByFault: false },
      { status: 200, reason: '', isByFault: false },
    ])
  })

  it('are summed up, and forgotten by clear()', async () => {
    await using emulator = await startEmulator()
    await post(emulator, { body: '[{},{}]' })
    await post(emulator, { token: 'unknown' })
    const refusedByLimit = {
      apiRateLimitPerSecond: 0,
      maxFields: 0,
      monthlyIngestGb: 0,
      maxDatasets: 0,
      expiry: 0,
    }
    expect(emulator.stats()).toEqual({
      requests: 2,
      requestsPerSecond: expect.any(Number),
      answers: { 200: 1, 403: 1 },
      wireBytes: 7,
      decodedBytes: 7,
      stored: 2,
      forgotten: 0,
      heldBytes: expect.any(Number),
      refusedByLimit,
    })
    emulator.clear()
    expect(emulator.stats()).toEqual({
      requests: 0,
      requestsPerSecond: 0,
      answers: {},
      wireBytes: 0,
      decodedBytes: 0,
      stored: 0,
      forgotten: 0,
      heldBytes: 0,
      refusedByLimit,
    })
    expect([emulator.datasets(), emulator.requests(), emulator.events('checkout')]).toEqual([[], [], []])
    expect((await post(emulator)).status).toBe(200)
  })
})

describe('memory is bounded', () => {
  it('forgets the oldest requests past maxStoredBytes, and counts their events', async () => {
    await using emulator = await startEmulator({ maxStoredBytes: 10_000 })
    for (let n = 0; n < 20; n += 1) await post(emulator, { dataset: `d${n % 2}`, body: [{ n, text: 'x'.repeat(500) }] })
    const { stored, forgotten, heldBytes } = emulator.stats()
    const held = [...emulator.events('d0'), ...emulator.events('d1')].map(event => event.n)
    expect(heldBytes).toBeLessThanOrEqual(10_000)
    expect([stored, forgotten + held.length]).toEqual([20, 20])
    expect(forgotten).toBeGreaterThan(5)
    expect(Math.min(...(held as number[]))).toBe(forgotten)
    expect(emulator.eventCount('d0')).toBe(10)
  })

  it('forgets even a single request that exceeds the limit', async () => {
    await using emulator = await startEmulator({ maxStoredBytes: 100 })
    await post(emulator)
    expect(emulator.events('checkout')).toEqual([])
    expect(emulator.stats()).toMatchObject({ stored: 1, forgotten: 1, heldBytes: 0 })
  })
})

describe('waitForEvents', () => {
  it('resolves when the events are there, at once or later', async () => {
    await using emulator = await startEmulator()
    const later = emulator.waitForEvents('checkout', 2)
    await post(emulator)
    await emulator.waitForEvents('checkout', 1)
    await post(emulator)
    await later
    expect(emulator.eventCount('checkout')).toBe(2)
  })

  it('names the events that arrived if it waited in vain', async () => {
    await using emulator = await startEmulator()
    await post(emulator)
    await post(emulator, { dataset: 'chekout' })
    await post(emulator, { token: 'unknown' })
    await expect(emulator.waitForEvents('checkout', 2, { timeoutMs: 10 })).rejects.toThrow(
      "waited 10 ms, but dataset 'checkout' has 1 of 2 events; datasets: 'checkout' 1, 'chekout' 1; answers: 2 × 200, 1 × 403",
    )
  })

  it('is rejected when the emulator is closed', async () => {
    const emulator = await startEmulator()
    const waiting = expect(emulator.waitForEvents('checkout', 1)).rejects.toThrow('the emulator was closed, but')
    await emulator.close()
    await waiting
    await expect(emulator.waitForEvents('checkout', 1)).rejects.toThrow('the emulator was closed, but')
  })

  it.each([
    [5000, 'waitForEvents: options must be an object, not 5000'],
    [{ timeout: 5000 }, "waitForEvents: options: there is no 'timeout'; use one of timeoutMs. Did you mean timeoutMs?"],
  ])('refuses %j as its options', async (options, message) => {
    await using emulator = await startEmulator()
    await expect(emulator.waitForEvents('checkout', 0, options as never)).rejects.toThrow(message)
  })

  it('uses real time when a test fakes the clock', async () => {
    await using emulator = await startEmulator()
    vi.useFakeTimers()
    try {
      await expect(emulator.waitForEvents('checkout', 1, { timeoutMs: 5 })).rejects.toThrow('waited 5 ms')
    } finally {
      vi.useRealTimers()
    }
  })
})

it('accepts 100,000 events of 500 bytes in less than two seconds of a processor', async () => {
  await using emulator = await startEmulator()
  const line = `${JSON.stringify({ _time: '2026-11-20T10:00:00.000Z', level: 'info', message: 'x'.repeat(435) })}\n`
  const body = line.repeat(10_000)
  const before = process.cpuUsage()
  for (let sent = 0; sent < 10; sent += 1) await post(emulator, { type: 'application/x-ndjson', body })
  const { user, system } = process.cpuUsage(before)
  expect((user + system) / 1000).toBeLessThan(2_000)
  expect(line.length).toBe(500)
  expect(emulator.eventCount('checkout')).toBe(100_000)
})
