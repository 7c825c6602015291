/**
 * Applications fake timers and clocks in their tests. Their events are sent all the same: once, and on the time of the
 * machine. Jest is in test/package/consumers/commonjs, because it runs modules in a separate context.
 */
import { once } from 'node:events'
import { mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { mock } from 'node:test'
import { LoggerProvider } from '@opentelemetry/sdk-logs'
import sinon from '@sinonjs/fake-timers'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import winston from 'winston'
import { type Emulator, startEmulator } from '../src/emulator.ts'
import { createShipper, type ShipperOptions } from '../src/index.ts'
import { LogferryLogRecordProcessor } from '../src/otel.ts'
import { delay } from '../src/time.ts'
import { LogferryTransport } from '../src/winston.ts'

interface Fakes {
  advance(ms: number): void
  restore(): void
}

const now = Date.UTC(2001, 0, 1)
const fakers: Readonly<Record<string, () => Fakes>> = {
  'vi.useFakeTimers': () => {
    vi.useFakeTimers({ now })
    return { advance: ms => vi.advanceTimersByTime(ms), restore: () => vi.useRealTimers() }
  },
  'sinon.useFakeTimers': () => {
    // Node's sockets stop while `nextTick` is faked. No code of the product can change that.
    const clock = sinon.install({ now, toNotFake: ['nextTick', 'queueMicrotask'] })
    return { advance: ms => clock.tick(ms), restore: () => clock.uninstall() }
  },
  'mock.timers of node:test': () => {
    mock.timers.enable({ apis: ['setTimeout', 'setInterval', 'setImmediate', 'Date'], now })
    return { advance: ms => mock.timers.tick(ms), restore: () => mock.timers.reset() }
  },
}

let emulator: Emulator
let options: ShipperOptions
beforeEach(async () => {
  emulator = await startEmulator()
  options = { baseUrl: emulator.url, token: emulator.token, dataset: 'faked', maxBatchAgeMs: 20 }
})
afterEach(() => emulator.close())

/** Pauses on the machine's time, so that requests are made and answered. */
const pauseMs = 15

describe.each(Object.entries(fakers))('with the timers and clocks of %s', (_, fake) => {
  let fakes: Fakes
  beforeEach(() => {
    fakes = fake()
  })
  afterEach(() => fakes.restore())

  it('a logger sends each event once and ends, although an hour passes between events and the service answers 503', async () => {
    emulator.faults.answerNext(2, { status: 503 })
    const logger = winston.createLogger({ transports: [new LogferryTransport(options)] })
    for (let n = 0; n < 20; n++) {
      logger.info('logged', { n })
      fakes.advance(3_600_000)
      await delay(pauseMs)
    }
    const finished = once(logger, 'finish')
    logger.end()
    await finished

    const events = emulator.events('faked').sort((a, b) => Number(a.n) - Number(b.n)) // retried events arrive later
    expect(events.map(({ n }) => n)).toEqual([...Array(20).keys()])
    const times = events.map(({ _time }) => String(_time).slice(0, 19))
    expect([times[0], times[1]]).toEqual(['2001-01-01T00:00:00', '2001-01-01T01:00:00']) // the application's clock
    expect(emulator.requests().length).toBeLessThan(20)
  })

  it('a logger sends each event once and ends, although no time passes', async () => {
    const logger = winston.createLogger({ transports: [new LogferryTransport(options)] })
    for (let n = 0; n < 20; n++) {
      logger.info('logged', { n })
      await delay(pauseMs)
    }
    expect(emulator.eventCount('faked')).toBeGreaterThan(0) // batches depend on their age
    const finished = once(logger, 'finish')
    logger.end()
    await finished
    expect(emulator.events('faked').map(({ n }) => n)).toEqual([...Array(20).keys()])
  })

  it('an OpenTelemetry provider flushes, and ends', async () => {
    const provider = new LoggerProvider({ processors: [new LogferryLogRecordProcessor(options)] })
    provider.getLogger('orders').emit({ body: 'first' })
    fakes.advance(3_600_000)
    await provider.forceFlush()
    expect(emulator.eventCount('faked')).toBe(1)
    provider.getLogger('orders').emit({ body: 'second' })
    await provider.shutdown()
    expect(emulator.events('faked').map(({ message }) => message)).toEqual(['first', 'second'])
  })

  it('a flush ends when its time is up', async () => {
    emulator.faults.answerNext(Number.POSITIVE_INFINITY, { status: 503 })
    const shipper = createShipper(options)
    shipper.on('warning', () => {}).ship({ n: 0 })
    expect(await shipper.flush({ timeoutMs: 50 })).toEqual({ complete: false, pending: 1 })
    await shipper.close({ timeoutMs: 0 })
    expect(shipper.stats()).toMatchObject({ pending: 0, dropped: 1 })
  })

  it('a spool is written and read', async () => {
    await using directory = await mkdtempDisposable(join(tmpdir(), 'logferry-faked-'))
    const spooling = { ...options, spool: { directory: directory.path } }
    emulator.faults.answerNext(Number.POSITIVE_INFINITY, { status: 503 })
    const first = createShipper(spooling)
    first.on('warning', () => {}).ship({ n: 0 })
    await first.close({ timeoutMs: 0 })
    emulator.faults.clear()
    fakes.advance(3_600_000)
    const second = createShipper(spooling)
    await emulator.waitForEvents('faked', 1)
    await second.close()
    // The request that was broken off may have arrived as well.
    expect(new Set(emulator.events('faked').map(({ n }) => n))).toEqual(new Set([0]))
  })
})

it('counts when the globals were faked before the package was loaded', async () => {
  const fakes = fakers['vi.useFakeTimers']?.()
  try {
    vi.resetModules()
    const { createShipper } = await import('../src/index.ts')
    const shipper = createShipper(options)
    shipper.ship({ n: 0 })
    expect(await shipper.flush({ timeoutMs: 5000 })).toEqual({ complete: true, pending: 0 })
    await shipper.close()
  } finally {
    fakes?.restore()
  }
})
