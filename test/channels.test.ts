/**
 * The ways to hear of diagnostic events besides `onRejected` and warnings: listeners, channels, and counts by dataset.
 */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { startEmulator } from '../src/emulator.ts'
import { runScript } from './support/run-script.ts'
import { startShipping } from './support/shipping.ts'
import { until } from './support/until.ts'

const subscribed: [name: string, subscriber: (message: unknown) => void][] = []

/** Collects the messages of a channel. */
function messagesOf(name: string): Record<string, unknown>[] {
  const messages: Record<string, unknown>[] = []
  const subscriber = (message: unknown) => messages.push(message as Record<string, unknown>)
  subscribe(`logferry:${name}`, subscriber)
  subscribed.push([`logferry:${name}`, subscriber])
  return messages
}

afterEach(() => {
  for (const [name, subscriber] of subscribed.splice(0)) unsubscribe(name, subscriber)
})

describe('the channels', () => {
  it('and the listeners tell the same', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ maxRetryDelayMs: 10 })
    const names = ['delivered', 'dropped', 'rejected', 'retried', 'attempted'] as const
    const heard = names.map(name => {
      const told: unknown[] = []
      shipper.on(name, (notice: unknown) => told.push(notice))
      return { name, told, messages: messagesOf(name) }
    })
    shipping.emulator.faults.rejectEvents(({ n }) => n === 1, 'not this one')
    shipping.emulator.faults.answerNext(1, { status: 503 })
    for (let n = 0; n < 3; n++) shipper.ship({ level: 'warn', n })
    await shipper.flush()
    for (const { name, told, messages } of heard) {
      expect([name, told.length]).not.toEqual([name, 0])
      expect(messages.map(({ shipper, ...notice }) => notice)).toEqual(told)
      expect(messages[0]?.shipper).toEqual(expect.any(Number))
    }
    const [delivered, dropped, rejected, retried, attempted] = heard.map(({ messages }) => messages)
    const bytes = expect.any(Number)
    expect(delivered).toMatchObject([{ dataset: 'd', count: 2, bytes }])
    expect(dropped).toMatchObject([
      { reason: 'rejected', count: 1, bySeverity: { warn: 1 }, dataset: 'd', wasSent: true },
    ])
    expect(rejected).toMatchObject([{ dataset: 'd', event: { n: 1 }, status: 200, reason: 'not this one' }])
    expect(retried).toMatchObject([{ dataset: 'd', count: 3, bytes, attempts: 1, status: 503, delayMs: bytes }])
    expect(attempted).toMatchObject([
      { dataset: 'd', count: 3, bytes, status: 503, errorType: '503', durationMs: bytes },
      { dataset: 'd', count: 3, bytes, status: 200, errorType: undefined },
    ])
  })

  it('tell of each pause, with the number of refusals in a row', async () => {
    await using shipping = await startShipping()
    const messages = messagesOf('paused')
    const shipper = shipping.ship({ token: 'wrong' })
    shipper.ship({ n: 1 })
    await until(() => messages.length > 1, 'the first probe is refused')
    const pause = { dataset: 'd', status: 403, reason: expect.any(String), delayMs: expect.any(Number) }
    expect(messages).toMatchObject([
      { ...pause, refusals: 1 },
      { ...pause, refusals: 2 },
    ])
    expect(messages[0]?.delayMs).toBeLessThanOrEqual(1000)
    expect(messages[1]?.delayMs).toBeGreaterThan(500)
  })

  it('tell of events that close() hands off to the spool', async () => {
    await using directory = await mkdtempDisposable(join(tmpdir(), 'logferry-spooled-'))
    await using shipping = await startShipping()
    const messages = messagesOf('spooled')
    shipping.emulator.faults.answerNext(Number.POSITIVE_INFINITY, { status: 503 })
    const shipper = shipping.ship({ spool: { directory: directory.path } })
    for (let n = 0; n < 5; n++) shipper.ship({ n })
    await shipper.close({ timeoutMs: 50 })
    const handedOff = messages.filter(({ isHandedOff }) => isHandedOff)
    expect(handedOff).toMatchObject([{ dataset: 'd', count: 5, bytes: expect.any(Number) }])
  })

  it('tell of events that go to the spool for lack of memory', async () => {
    await using directory = await mkdtempDisposable(join(tmpdir(), 'logferry-spooled-'))
    await using shipping = await startShipping()
    const messages = messagesOf('spooled')
    const options = { baseUrl: 'http://127.0.0.1:1', maxBatchBytes: 4096, maxBufferedBytes: 65_536 }
    const shipper = shipping.ship({ ...options, spool: { directory: directory.path } })
    const pad = 'x'.repeat(400)
    for (let n = 0; n < 2000; n++) {
      shipper.ship({ n, pad })
      if (n % 100 === 0) await new Promise(resolve => setImmediate(resolve))
    }
    const count = () => messages.reduce((sum, message) => sum + (message.count as number), 0)
    await until(() => count() > 1500, 'most events are in the spool')
    expect(messages.every(({ dataset, isHandedOff }) => dataset === 'd' && isHandedOff === false)).toBe(true)
    expect(count()).toBeLessThanOrEqual(2000)
  })

  it('leave delivery alone where a subscriber throws: Node raises its error as an uncaught exception', async () => {
    await using emulator = await startEmulator()
    const { stdout } = await runScript(
      `
      import { subscribe } from 'node:diagnostics_channel'
      import { createShipper } from 'logferry'
      const uncaught = []
      process.on('uncaughtException', error => uncaught.push(error.message))
      subscribe('logferry:delivered', () => { throw new Error('mine') })
      const shipper = createShipper({ maxBatchEvents: 1 })
      for (let n = 0; n < 3; n++) shipper.ship({ n })
      await shipper.close()
      setImmediate(() => console.log(JSON.stringify({ uncaught, delivered: shipper.stats().delivered })))`,
      { LOGFERRY_URL: emulator.url, LOGFERRY_TOKEN: emulator.token, LOGFERRY_DATASET: 'd' },
    )
    expect(JSON.parse(stdout)).toEqual({ uncaught: ['mine', 'mine', 'mine'], delivered: 3 })
    expect(emulator.eventCount('d')).toBe(3)
  })
})

describe('stats().datasets', () => {
  it('counts what was delivered, dropped and refused, and what is pending', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ dataset: ({ team }) => String(team), maxBatchAgeMs: 60_000 })
    shipping.emulator.faults.rejectEvents(({ n }) => n === 1, 'no')
    for (let n = 0; n < 5; n++) shipper.ship({ n, team: 'a' })
    for (let n = 10; n < 13; n++) shipper.ship({ n, team: '__proto__' })
    const fresh = { delivered: 0, dropped: 0, rejected: 0 }
    expect(Object.entries(shipper.stats().datasets)).toEqual([
      ['a', { ...fresh, pending: 5 }],
      ['__proto__', { ...fresh, pending: 3 }],
    ])
    await shipper.flush()
    shipper.ship({ n: 5, team: 'a' })
    expect(Object.entries(shipper.stats().datasets)).toEqual([
      ['a', { delivered: 4, dropped: 1, rejected: 1, pending: 1 }],
      ['__proto__', { delivered: 3, dropped: 0, rejected: 0, pending: 0 }],
    ])
    shipping.emulator.faults.answerNext(Number.POSITIVE_INFINITY, { status: 503 })
    await shipper.close({ timeoutMs: 0 })
    expect(shipper.stats().datasets.a).toEqual({ delivered: 4, dropped: 2, rejected: 1, pending: 0 })
  })

  it('agrees with the sums of the shipper between its steps', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({
      dataset: ({ n }) => `d${(n as number) % 5}`,
      maxBatchEvents: 10,
      maxRetryDelayMs: 10,
    })
    shipping.emulator.faults.rejectRequests(({ n }) => n === 77, { status: 400 })
    shipping.emulator.faults.answerNext(5, { status: 503 })
    const check = () => {
      const { delivered, dropped, pending, datasets } = shipper.stats()
      const sum = { delivered: 0, dropped: 0, pending: 0 }
      for (const one of Object.values(datasets)) {
        sum.delivered += one.delivered
        sum.dropped += one.dropped
        sum.pending += one.pending
      }
      expect(sum).toEqual({ delivered, dropped, pending })
    }
    for (let n = 0; n < 500; n++) {
      shipper.ship({ n })
      if (n % 50 === 0) check()
      if (n % 100 === 0) await new Promise(resolve => setTimeout(resolve, 5))
    }
    await shipper.flush()
    check()
    expect(shipper.stats().pending).toBe(0)
  })

  it('keeps the 1,000 datasets that were active last', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ dataset: ({ n }) => `d${n}`, maxConcurrentRequests: 32 })
    for (let n = 0; n < 1100; n++) {
      shipper.ship({ n })
      if (n % 50 === 49) await shipper.flush()
    }
    const { datasets } = shipper.stats()
    expect(Object.keys(datasets)).toHaveLength(1000)
    expect(datasets.d99).toBeUndefined()
    expect(datasets.d1099).toEqual({ delivered: 1, dropped: 0, rejected: 0, pending: 0 })
  })
})
