import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { context, diag, logs, SeverityNumber, TraceFlags, trace } from '@opentelemetry/api'
import { resourceFromAttributes } from '@opentelemetry/resources'
import {
  BatchLogRecordProcessor,
  LoggerProvider,
  type LogRecordProcessor,
  SimpleLogRecordProcessor,
} from '@opentelemetry/sdk-logs'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import type { Shipper } from '../src/index.ts'
import { Budget } from '../src/org/budget.ts'
import { LogferryLogRecordExporter, LogferryLogRecordProcessor } from '../src/otel.ts'
import type { OtelLogRecord } from '../src/record/otel-to-event.ts'
import { openBatchBytes } from '../src/stack-reserve.ts'
import { inLastFrameWith } from './support/in-last-frame.ts'
import { type Shipping, startShipping } from './support/shipping.ts'
import { until } from './support/until.ts'

vi.mock('../src/time.ts', () => import('./support/time-of-globals.ts'))

const range = (count: number) => Array.from({ length: count }, (_, index) => index)
const byTime = (a: Record<string, unknown>, b: Record<string, unknown>) => (String(a._time) < String(b._time) ? -1 : 1)

/** The three ways into the core. */
const ways: [string, (shipper: Shipper) => LogRecordProcessor][] = [
  ['the processor', shipper => new LogferryLogRecordProcessor({ shipper })],
  [
    'the exporter behind a BatchLogRecordProcessor',
    shipper => new BatchLogRecordProcessor({ exporter: new LogferryLogRecordExporter({ shipper }) }),
  ],
  [
    'the exporter behind a SimpleLogRecordProcessor',
    shipper => new SimpleLogRecordProcessor({ exporter: new LogferryLogRecordExporter({ shipper }) }),
  ],
]

const resource = resourceFromAttributes({
  'service.name': 'checkout',
  'service.version': '1.2.3',
  'host.name': 'web-1',
})

describe.each(ways)('%s', (_, processorFor) => {
  async function start(shipping: Shipping) {
    const shipper = shipping.ship()
    const provider = new LoggerProvider({ resource, processors: [processorFor(shipper)] })
    return { shipper, provider, logger: provider.getLogger('orders', '0.1.0') }
  }

  it('ships a record: time, severity, trace, nested attributes, resource and scope', async () => {
    await using shipping = await startShipping()
    const { provider, logger, shipper } = await start(shipping)
    const spanContext = {
      traceId: '0af7651916cd43dd8448eb211c80319c',
      spanId: 'b7ad6b7169203331',
      traceFlags: TraceFlags.SAMPLED,
    }
    logger.emit({
      timestamp: [1_700_000_000, 123_456_789],
      observedTimestamp: [1_700_000_001, 0],
      severityNumber: SeverityNumber.WARN2,
      severityText: 'WARNING',
      eventName: 'order.placed',
      body: 'order placed',
      attributes: { 'http.request.method': 'POST', 'http.response.status_code': 201, plain: true, list: ['a', 'b'] },
      context: trace.setSpanContext(context.active(), spanContext),
    })
    await provider.forceFlush()
    await shipper.flush() // a SimpleLogRecordProcessor does not pass the flush on
    expect(shipping.emulator.events('d')).toEqual([
      {
        _time: '2023-11-14T22:13:20.123456789Z',
        level: 'warn',
        message: 'order placed',
        severity_number: 14,
        severity_text: 'WARNING',
        event_name: 'order.placed',
        trace_id: spanContext.traceId,
        span_id: spanContext.spanId,
        trace_flags: '01',
        observed_time: '2023-11-14T22:13:21.000000000Z',
        attributes: {
          http: { request: { method: 'POST' }, response: { status_code: 201 } },
          plain: true,
          list: ['a', 'b'],
        },
        resource: { service: { name: 'checkout', version: '1.2.3' }, host: { name: 'web-1' } },
        scope: { name: 'orders', version: '0.1.0' },
      },
    ])
    await provider.shutdown()
  })

  it('ships structured and hostile bodies', async () => {
    await using shipping = await startShipping()
    const { provider, logger, shipper } = await start(shipping)
    const cyclic: Record<string, unknown> = { name: 'cyclic' }
    cyclic.self = cyclic
    const bodies = [
      { order: { id: 1 } },
      [1, 2],
      42,
      true,
      new Error('boom'),
      10n,
      cyclic,
      new Map([['k', 'v']]),
      undefined,
      null,
    ]
    for (const body of bodies) logger.emit({ body: body as never })
    await provider.forceFlush()
    await shipper.flush()
    const events = shipping.emulator.events('d').sort(byTime)
    expect(events).toHaveLength(bodies.length)
    expect(events[0]).toMatchObject({ body: { order: { id: 1 } } })
    expect(events[1]).toMatchObject({ body: [1, 2] })
    expect(events[2]).toMatchObject({ body: 42 })
    expect(events[4]).toMatchObject({ message: 'boom', body: { name: 'Error', message: 'boom' } })
    expect(events[5]).toMatchObject({ body: '10' })
    expect(events[6]).toMatchObject({ body: { name: 'cyclic' } })
    expect(shipper.stats()).toMatchObject({ delivered: bodies.length, dropped: 0 })
    await provider.shutdown()
  })

  it('shutdown delivers, and ends even if the service is down', async () => {
    await using shipping = await startShipping()
    shipping.emulator.faults.answerNext(Number.POSITIVE_INFINITY, { status: 503 })
    const shipper = shipping.ship({ flushTimeoutMs: 300 })
    const provider = new LoggerProvider({ processors: [processorFor(shipper)] })
    provider.getLogger('x').emit({ body: 'never' })
    const startedAt = performance.now()
    await expect(provider.shutdown()).rejects.toMatchObject({ name: 'timeout', code: 'LOGFERRY_TIMEOUT' })
    expect(performance.now() - startedAt).toBeLessThan(3000)
    shipping.emulator.faults.clear()
    expect(await shipper.close({ timeoutMs: 10_000 })).toEqual({ complete: true, pending: 0 })
    expect(shipping.emulator.eventCount('d')).toBe(1)
  })
})

/** Returns a logger whose resource is pending until `host` is resolved. */
function loggingUntilHostIsKnown(shipper: Shipper) {
  const host = Promise.withResolvers<string>()
  const resource = resourceFromAttributes({ 'host.id': host.promise })
  const provider = new LoggerProvider({ resource, processors: [new LogferryLogRecordProcessor({ shipper })] })
  return { host, provider, logger: provider.getLogger('x') }
}

describe('the processor', () => {
  it('ships 25,000 records once, unchanged, in order of time', { timeout: 60_000 }, async () => {
    await using shipping = await startShipping()
    const { url: baseUrl, token } = shipping.emulator
    const processor = new LogferryLogRecordProcessor({ baseUrl, token, dataset: 'd' })
    const provider = new LoggerProvider({ resource, processors: [processor] })
    const logger = provider.getLogger('orders')
    for (const n of range(25_000)) {
      logger.emit({ severityNumber: 9, body: 'order placed', attributes: { n, 'order.total': n / 4 } })
    }
    await provider.shutdown()
    const events = shipping.emulator.events('d').sort(byTime)
    expect(events).toHaveLength(25_000)
    for (const [n, event] of events.entries()) {
      const attributes = event.attributes as { n: number; order: { total: number } }
      if (attributes.n !== n || attributes.order.total !== n / 4) expect.fail(`event ${n} is ${JSON.stringify(event)}`)
    }
    expect(new Set(events.map(({ _time }) => _time)).size).toBe(25_000)
    expect(processor.shipper.stats()).toMatchObject({ delivered: 25_000, dropped: 0, retries: 0 })
  })

  it('ships what the processors before it make of a record, and not what those after it do', async () => {
    await using shipping = await startShipping()
    const setting = (name: string): LogRecordProcessor => ({
      onEmit: record => void record.setAttribute(name, true),
      forceFlush: async () => {},
      shutdown: async () => {},
    })
    const processor = new LogferryLogRecordProcessor({ shipper: shipping.ship() })
    const provider = new LoggerProvider({ processors: [setting('before'), processor, setting('after')] })
    provider.getLogger('x').emit({ body: 'order placed' })
    await provider.shutdown()
    expect(shipping.emulator.events('d')[0]?.attributes).toEqual({ before: true })
  })

  it('waits for resource attributes that are still being detected', async () => {
    await using shipping = await startShipping()
    const detected = Promise.withResolvers<string>()
    const detecting = resourceFromAttributes({ 'service.name': 'checkout', 'host.id': detected.promise })
    const shipper = shipping.ship()
    const provider = new LoggerProvider({
      resource: detecting,
      processors: [new LogferryLogRecordProcessor({ shipper })],
    })
    const attributes = { list: ['as it was'] }
    provider.getLogger('x').emit({ body: 'early', attributes })
    attributes.list[0] = 'changed'
    const flushed = provider.forceFlush()
    expect(shipper.stats()).toMatchObject({ accepted: 1, pending: 1 })
    expect(shipper.stats().bufferedBytes).toBeGreaterThan(50)
    detected.resolve('h-1')
    await flushed
    provider.getLogger('x').emit({ body: 'late' })
    await provider.forceFlush()
    expect(shipping.emulator.events('d').sort(byTime)).toMatchObject([
      { message: 'early', attributes: { list: ['as it was'] }, resource: { host: { id: 'h-1' } } },
      { message: 'late', resource: { service: { name: 'checkout' }, host: { id: 'h-1' } } },
    ])
  })

  it('does not wait for them with durability disk: each record is on disk before its log call returns', async () => {
    await using shipping = await startShipping()
    const directory = mkdtempSync(join(tmpdir(), 'logferry-otel-'))
    shipping.emulator.faults.answerNext(Number.POSITIVE_INFINITY, { status: 503 })
    const shipper = shipping.ship({ durability: 'disk', spool: { directory } })
    shipper.on('warning', () => {})
    const { host, logger } = loggingUntilHostIsKnown(shipper)
    logger.emit({ body: 'early' })
    expect(shipper.stats().spool?.bytes).toBeGreaterThan(50)
    host.resolve('h-1')
    shipping.emulator.faults.clear()
    await shipper.close()
    rmSync(directory, { recursive: true })
    expect(shipping.emulator.events('d')).toMatchObject([{ message: 'early' }])
  })

  it('ships attributes that are detected late in later records with durability disk', async () => {
    await using shipping = await startShipping()
    const directory = mkdtempSync(join(tmpdir(), 'logferry-otel-'))
    const shipper = shipping.ship({ durability: 'disk', spool: { directory } })
    const { host, provider, logger } = loggingUntilHostIsKnown(shipper)
    logger.emit({ body: 'early' })
    host.resolve('h-1')
    await setImmediate()
    logger.emit({ body: 'late' })
    await provider.shutdown()
    await shipper.close()
    rmSync(directory, { recursive: true })
    const [early, late] = shipping.emulator.events('d').sort(byTime)
    expect(early).not.toHaveProperty('resource')
    expect(late).toMatchObject({ message: 'late', resource: { host: { id: 'h-1' } } })
  })

  it('does not make the SDK report an error for each record whose resource is not known in time', async () => {
    await using shipping = await startShipping()
    const errors: unknown[] = []
    const ignore = () => {}
    diag.setLogger({
      error: (...error) => errors.push(error),
      warn: ignore,
      info: ignore,
      debug: ignore,
      verbose: ignore,
    })
    onTestFinished(() => diag.disable())
    const shipper = shipping.ship()
    const resource = resourceFromAttributes({ 'service.name': 'checkout', 'host.id': new Promise<string>(() => {}) })
    const provider = new LoggerProvider({ resource, processors: [new LogferryLogRecordProcessor({ shipper })] })
    provider.getLogger('x').emit({ body: 'early' })
    await shipper.flush()
    expect(shipping.emulator.events('d')).toMatchObject([{ resource: { service: { name: 'checkout' } } }])
    expect(errors).toEqual([])
  })

  it('counts once what it cannot represent in a record that waits for its resource', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship()
    const { host, logger } = loggingUntilHostIsKnown(shipper)
    logger.emit({ body: { cannot: Symbol('be sent') as never } })
    host.resolve('h-1')
    await shipper.flush()
    expect(shipper.stats()).toMatchObject({ delivered: 1, stubbed: 1 })
  })

  it('releases records that wait for their resource when the shipper is flushed or closed', async () => {
    await using shipping = await startShipping()
    const never = resourceFromAttributes({ 'service.name': 'checkout', 'host.id': new Promise<string>(() => {}) })
    const shipper = shipping.ship()
    const provider = new LoggerProvider({ resource: never, processors: [new LogferryLogRecordProcessor({ shipper })] })
    provider.getLogger('x').emit({ body: 'one' })
    const flushed = shipper.flush()
    provider.getLogger('x').emit({ body: 'two' })
    await flushed
    await shipper.close()
    expect(shipping.emulator.events('d')).toMatchObject([
      { message: 'one', resource: { service: { name: 'checkout' } } },
      { message: 'two', resource: { service: { name: 'checkout' } } },
    ])
  })

  it('ships a record whose `context` function flushes, and so releases the records before it', async () => {
    await using shipping = await startShipping()
    let flushed: Promise<unknown> = Promise.resolve()
    const shipper: Shipper = shipping.ship({
      context: () => {
        flushed = shipper.flush()
        return { user: 1 }
      },
    })
    const { logger } = loggingUntilHostIsKnown(shipper)
    logger.emit({ body: 'm' })
    await flushed
    expect(await shipper.close()).toEqual({ complete: true, pending: 0 })
    expect(shipping.emulator.events('d')).toMatchObject([{ message: 'm', user: 1 }])
  })

  it('counts a record once where the stack ends while it begins to wait for its resource', async () => {
    await using shipping = await startShipping()
    for (let bytes = 48_000; bytes < 56_000; bytes += 200) {
      const shipper = shipping.ship()
      const { host, logger } = loggingUntilHostIsKnown(shipper)
      inLastFrameWith(bytes, () => logger.emit({ body: 'm' }))
      host.resolve('h-1')
      await shipper.flush()
      expect(shipper.stats().accepted).toBeLessThanOrEqual(1)
      await shipper.close()
    }
  })

  it('drops what a `transform` logs without end while it releases records', async () => {
    await using shipping = await startShipping()
    let left = 1000
    const shipper = shipping.ship({
      transform: event => {
        if (left-- > 0) logger.emit({ body: 'transformed' })
        return event
      },
    })
    const { host, logger } = loggingUntilHostIsKnown(shipper)
    for (const n of range(3)) logger.emit({ body: `n ${n}` })
    host.resolve('h-1')
    await shipper.flush()
    expect(shipper.stats()).toMatchObject({ delivered: 27, dropped: 3, drops: { error: { info: 3 } } })
    expect(shipping.warnings.map(({ message }) => message)).toEqual([
      expect.stringContaining('logs again for each event'),
    ])
  })

  it.each<[string, (processor: LogferryLogRecordProcessor) => Promise<void>]>([
    ['forceFlush()', processor => processor.forceFlush()],
    ['forceFlush() in the time that it is given', processor => processor.forceFlush({ timeoutMillis: 700 })],
    ['forceFlush() with null for a time', processor => processor.forceFlush({ timeoutMillis: null as never })],
    ['shutdown()', processor => processor.shutdown()],
  ])('%s ends in time if the resource or the service never answers', async (name, end) => {
    for (const isServiceAway of [false, true]) {
      await using shipping = await startShipping()
      if (isServiceAway) shipping.emulator.faults.answerNext(Number.POSITIVE_INFINITY, { status: 503 })
      const shipper = shipping.ship({ flushTimeoutMs: name.includes('given') ? 10_000 : 700 })
      const processor = new LogferryLogRecordProcessor({ shipper })
      const never = resourceFromAttributes({ 'service.name': 'checkout', 'host.id': new Promise<string>(() => {}) })
      new LoggerProvider({ resource: never, processors: [processor] }).getLogger('x').emit({ body: 'm' })
      const startedAtMs = performance.now()
      const ended = end(processor)
      if (isServiceAway) await expect(ended).rejects.toMatchObject({ code: 'LOGFERRY_TIMEOUT' })
      else await ended
      expect(performance.now() - startedAtMs).toBeLessThan(1300) // the two waits are not added up
      expect(shipping.emulator.eventCount('d')).toBe(isServiceAway ? 0 : 1)
    }
  })

  it('waits once for a resource that is never known, and ships later records at once', async () => {
    await using shipping = await startShipping()
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
    onTestFinished(() => void vi.useRealTimers())
    const shipper = shipping.ship({ maxBatchEvents: 1 })
    const { logger } = loggingUntilHostIsKnown(shipper)
    logger.emit({ body: 'waits' })
    vi.advanceTimersByTime(4999)
    expect(shipper.stats().requests).toBe(0)
    vi.advanceTimersByTime(1)
    await until(() => shipping.emulator.eventCount('d') === 1, 'the first')
    for (const n of range(3)) logger.emit({ body: `n ${n}` })
    await until(() => shipping.emulator.eventCount('d') === 4, 'the others, although no more time passes', 2000)
  })

  it('waits for the resource of each of several providers', async () => {
    await using shipping = await startShipping()
    const processor = new LogferryLogRecordProcessor({ shipper: shipping.ship({ maxBatchAgeMs: 20 }) })
    const hosts = range(2).map(() => Promise.withResolvers<string>())
    const loggers = hosts.map(({ promise }) => {
      const pending = resourceFromAttributes({ 'host.id': promise })
      return new LoggerProvider({ resource: pending, processors: [processor] }).getLogger('x')
    })
    for (const [n, logger] of loggers.entries()) logger.emit({ body: `n ${n}` })
    hosts[0]?.resolve('h-0')
    await until(() => shipping.emulator.eventCount('d') === 1, 'the first')
    hosts[1]?.resolve('h-1')
    await processor.forceFlush()
    expect(shipping.emulator.events('d').sort(byTime)).toMatchObject([
      { message: 'n 0', resource: { host: { id: 'h-0' } } },
      { message: 'n 1', resource: { host: { id: 'h-1' } } },
    ])
  })

  it('ships a record whose resource fails while it is waited for', async () => {
    await using shipping = await startShipping()
    const processor = new LogferryLogRecordProcessor({ shipper: shipping.ship() })
    const throwing = {
      attributes: { 'service.name': 'checkout' },
      asyncAttributesPending: true,
      waitForAsyncAttributes: () => {
        throw new Error('no detector')
      },
    }
    const records: OtelLogRecord[] = []
    const catcher = {
      onEmit: (record: OtelLogRecord) => void records.push(record),
      forceFlush: async () => {},
      shutdown: async () => {},
    }
    new LoggerProvider({ processors: [catcher] }).getLogger('x').emit({ body: 'm' })
    processor.onEmit(Object.create(records[0] as OtelLogRecord, { resource: { value: throwing } }))
    await processor.forceFlush()
    expect(shipping.emulator.events('d')).toMatchObject([{ message: 'm', resource: { service: { name: 'checkout' } } }])
  })

  it('holds no more than memory allows, and loses no event that delivery can keep up with', async () => {
    await using shipping = await startShipping()
    const maxBufferedBytes = 16 * 1_048_576
    const shipper = shipping.ship({ maxBufferedBytes })
    const { host, provider, logger } = loggingUntilHostIsKnown(shipper)
    let maxBytes = 0
    for (const n of range(3000)) {
      logger.emit({ body: 'x'.repeat(10_000), attributes: { n } })
      maxBytes = Math.max(maxBytes, shipper.stats().bufferedBytes)
      if (n % 20 === 0) await new Promise(resolve => setTimeout(resolve, 2))
    }
    expect(maxBytes).toBeLessThanOrEqual(maxBufferedBytes)
    expect(maxBytes).toBeGreaterThan(maxBufferedBytes / 5)
    host.resolve('h-1')
    await provider.forceFlush()
    expect(shipper.stats()).toMatchObject({ accepted: 3000, delivered: 3000, dropped: 0, pending: 0, bufferedBytes: 0 })
    const events = shipping.emulator.events('d').sort(byTime)
    expect(events.map(({ attributes }) => (attributes as { n: number }).n)).toEqual(range(3000))
    expect(events.at(-1)).toMatchObject({ resource: { host: { id: 'h-1' } } })
  })

  it('releases held records when there is room', async () => {
    await using shipping = await startShipping()
    shipping.emulator.faults.latencyMs = 50
    const shipper = shipping.ship({ maxBufferedBytes: 16 * 1_048_576 })
    const { host, provider, logger } = loggingUntilHostIsKnown(shipper)
    const severityNumber = SeverityNumber.DEBUG
    for (const n of range(380)) logger.emit({ severityNumber, body: 'x'.repeat(10_000), attributes: { n } })
    for (const n of range(500)) shipper.ship({ level: 'info', n, text: 'x'.repeat(10_000) })
    host.resolve('h-1')
    await provider.forceFlush()
    expect(shipper.stats()).toMatchObject({ delivered: 880, dropped: 0, bufferedBytes: 0 })
    const held = shipping.emulator.events('d').filter(({ level }) => level === 'debug')
    expect(held.sort(byTime).map(({ attributes }) => (attributes as { n: number }).n)).toEqual(range(380))
  })

  it('counts held records as dropped if close() cannot wait for them', async () => {
    await using shipping = await startShipping()
    shipping.emulator.faults.answerNext(Number.POSITIVE_INFINITY, { status: 503 })
    const shipper = shipping.ship({ maxBufferedBytes: 16 * 1_048_576 })
    const never = resourceFromAttributes({ 'host.id': new Promise<string>(() => {}) })
    const provider = new LoggerProvider({ resource: never, processors: [new LogferryLogRecordProcessor({ shipper })] })
    for (const n of range(700)) shipper.ship({ n, text: 'x'.repeat(10_000) })
    for (const n of range(380)) provider.getLogger('x').emit({ body: 'x'.repeat(10_000), attributes: { n } })
    expect(await shipper.close({ timeoutMs: 100 })).toEqual({ complete: false, pending: 0 })
    expect(shipper.stats()).toMatchObject({ accepted: 1080, dropped: 1080, bufferedBytes: 0 })
  })

  it('leaves out a resource that would crowd out the event, and counts a cut', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ maxEventBytes: 600 })
    const wide = resourceFromAttributes({ 'service.name': 'x'.repeat(400) })
    const provider = new LoggerProvider({ resource: wide, processors: [new LogferryLogRecordProcessor({ shipper })] })
    provider.getLogger('x').emit({ body: 'm', attributes: { n: 1 } })
    await provider.shutdown()
    expect(shipping.emulator.events('d')).toMatchObject([{ message: 'm', attributes: { n: 1 } }])
    expect(shipper.stats()).toMatchObject({ delivered: 1, cut: 1 })
  })

  it('names the size of a whole record that is cut, also if the record waits for its resource', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ maxEventBytes: 10_000 })
    const detecting = resourceFromAttributes({
      'process.command_args': range(8).map(n => `${'x'.repeat(100)}${n}`),
      'host.id': setImmediate('h-1'),
    })
    const provider = new LoggerProvider({
      resource: detecting,
      processors: [new LogferryLogRecordProcessor({ shipper })],
    })
    const logger = provider.getLogger('x')
    logger.emit({ body: 'y'.repeat(50_000) })
    await provider.forceFlush()
    logger.emit({ body: 'y'.repeat(50_000) })
    await provider.shutdown()
    const events = shipping.emulator.events('d')
    expect(events.map(({ logferry }) => logferry)).toEqual(Array(2).fill({ cut: true, original_bytes: 50_029 }))
    for (const { message } of events) {
      const [, start, missing] = /^(y+)\.{3} \[(\d+) more characters\]$/.exec(String(message)) ?? []
      expect(Number(start?.length) + Number(missing)).toBe(50_000)
    }
  })

  it('can belong to the global provider', async () => {
    await using shipping = await startShipping()
    const provider = new LoggerProvider({ processors: [new LogferryLogRecordProcessor({ shipper: shipping.ship() })] })
    logs.setGlobalLoggerProvider(provider)
    logs.getLogger('global').emit({ body: 'hello', severityNumber: SeverityNumber.ERROR })
    await provider.shutdown()
    logs.disable()
    expect(shipping.emulator.events('d')).toMatchObject([
      { message: 'hello', level: 'error', scope: { name: 'global' } },
    ])
  })

  it('passes the whole event to the `dataset` function', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({
      dataset: event => (event.resource as { service?: { name: string } } | undefined)?.service?.name ?? 'nameless',
    })
    const processor = new LogferryLogRecordProcessor({ shipper })
    new LoggerProvider({ resource, processors: [processor] }).getLogger('x').emit({ body: 'a' })
    new LoggerProvider({ resource: resourceFromAttributes({}), processors: [processor] })
      .getLogger('')
      .emit({ body: 'b' })
    await shipper.flush()
    expect(shipping.emulator.datasets().sort()).toEqual(['checkout', 'nameless'])
  })
})

describe('data of a record', () => {
  it('is complete: schema URLs, dropped attributes, numbers that JSON cannot express', async () => {
    await using shipping = await startShipping()
    const processor = new LogferryLogRecordProcessor({ shipper: shipping.ship() })
    const described = resourceFromAttributes({ 'service.name': 'checkout' }, { schemaUrl: 'https://schema.example/1' })
    const provider = new LoggerProvider({ resource: described, processors: [processor] })
    const logger = provider.getLogger('x', '1', { schemaUrl: 'https://schema.example/2' })
    const numbers = [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, -0, 1]
    const attributes = { ratio: Number.NaN, 'nested.list': numbers }
    for (const extra of [{}, { why: new Error('slow way') }]) {
      logger.emit({ body: { numbers, deep: { most: Number.POSITIVE_INFINITY }, ...extra } as never, attributes })
    }
    const [first] = await recordsOf(logger => logger.emit({ body: 'm' }))
    const scope = { ...(first as OtelLogRecord).instrumentationScope, droppedAttributesCount: 3 }
    processor.onEmit(Object.create(first as OtelLogRecord, { instrumentationScope: { value: scope } }))
    await provider.forceFlush()
    const texts = ['NaN', 'Infinity', '-Infinity', 0, 1]
    const told = {
      body: { numbers: texts, deep: { most: 'Infinity' } },
      attributes: { ratio: 'NaN', nested: { list: texts } },
      resource: { schema_url: 'https://schema.example/1', service: { name: 'checkout' } },
      scope: { name: 'x', version: '1', schema_url: 'https://schema.example/2' },
    }
    expect(shipping.emulator.events('d').sort(byTime)).toMatchObject([
      told,
      told,
      { message: 'm', scope: { dropped_attributes_count: 3 } },
    ])
  })

  it('a number that JSON cannot express stays null from Winston, as its own format writes it', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship()
    shipper.ship({ ratio: Number.NaN, err: new Error('slow way') })
    shipper.ship({ ratio: Number.NaN })
    await shipper.flush()
    expect(shipping.emulator.events('d').map(({ ratio }) => ratio)).toEqual([null, null])
  })

  it('is dropped and counted after shutdown(), as the specification requires', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship()
    const processor = new LogferryLogRecordProcessor({ shipper })
    const logger = new LoggerProvider({ processors: [processor] }).getLogger('x')
    logger.emit({ body: 'before' })
    const ended = processor.shutdown()
    expect(processor.shutdown()).toBe(ended)
    logger.emit({ body: 'after', severityNumber: SeverityNumber.ERROR })
    await ended
    expect(shipping.emulator.events('d').map(({ message }) => message)).toEqual(['before'])
    expect(shipper.stats()).toMatchObject({ accepted: 2, delivered: 1, drops: { 'shut-down': { error: 1 } } })
    expect(shipping.warnings).toMatchObject([
      { code: 'LOGFERRY_DROPPED', message: expect.stringContaining('after the shutdown') },
    ])
  })
})

describe('a record that a SimpleLogRecordProcessor holds for its resource', () => {
  function start(shipper: Shipper) {
    const exporter = new LogferryLogRecordExporter({ shipper })
    const processor = new SimpleLogRecordProcessor({ exporter })
    const resource = resourceFromAttributes({ 'host.id': new Promise<string>(done => setTimeout(done, 50, 'h')) })
    const provider = new LoggerProvider({ resource, processors: [processor] })
    provider.getLogger('x').emit({ body: 'held' })
    return { exporter, processor, provider }
  }

  it('is dropped if the provider is shut down, with the remedy in the warning and in the error', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship()
    const { provider, exporter } = start(shipper)
    await provider.shutdown()
    await until(() => shipper.stats().dropped === 1, 'the record is dropped')
    const remedy = /SimpleLogRecordProcessor.* await .*forceFlush\(\).* before, or use LogferryLogRecordProcessor\.$/
    expect(shipping.warnings).toMatchObject([{ code: 'LOGFERRY_DROPPED', message: expect.stringMatching(remedy) }])
    expect(shipping.warnings[0]?.message).not.toContain('emitted after')
    const { error } = await new Promise<{ error?: Error }>(resolve => exporter.export([], resolve))
    expect(error?.message).toMatch(remedy)
  })

  it('is delivered if forceFlush() of the processor comes before', async () => {
    await using shipping = await startShipping()
    const { provider, processor } = start(shipping.ship())
    await processor.forceFlush()
    await provider.shutdown()
    expect(shipping.emulator.events('d')).toMatchObject([{ message: 'held', resource: { host: { id: 'h' } } }])
  })
})

/** Returns the records that the SDK makes for the calls in `log`. */
async function recordsOf(log: (logger: ReturnType<LoggerProvider['getLogger']>) => void): Promise<OtelLogRecord[]> {
  const records: OtelLogRecord[] = []
  const catcher = {
    onEmit: (record: OtelLogRecord) => void records.push(record),
    forceFlush: async () => {},
    shutdown: async () => {},
  }
  log(new LoggerProvider({ processors: [catcher] }).getLogger('x'))
  return records
}

describe('the exporter', () => {
  const exported = (exporter: LogferryLogRecordExporter, count: number) =>
    new Promise<{ code: number; error?: Error }>(resolve => {
      const provider = new LoggerProvider({
        resource,
        processors: [
          { onEmit: record => void records.push(record), forceFlush: async () => {}, shutdown: async () => {} },
        ],
      })
      const records: unknown[] = []
      for (const n of range(count)) provider.getLogger('x').emit({ body: `n ${n}` })
      exporter.export(records as never, resolve)
    })

  it('answers as soon as the records are accepted', async () => {
    await using shipping = await startShipping()
    shipping.emulator.faults.latencyMs = 800
    const exporter = new LogferryLogRecordExporter({ shipper: shipping.ship() })
    const startedAt = performance.now()
    expect(await exported(exporter, 10)).toEqual({ code: 0 })
    expect(performance.now() - startedAt).toBeLessThan(700)
    await exporter.forceFlush()
    expect(shipping.emulator.eventCount('d')).toBe(10)
  })

  it("answers when the service has answered, with acknowledge: 'delivered'", async () => {
    await using shipping = await startShipping()
    const exporter = new LogferryLogRecordExporter({ shipper: shipping.ship(), acknowledge: 'delivered' })
    expect(await exported(exporter, 10)).toEqual({ code: 0 })
    expect(shipping.emulator.eventCount('d')).toBe(10)
    shipping.emulator.faults.rejectEvents(() => true, 'no')
    expect(await exported(exporter, 3)).toMatchObject({
      code: 1,
      error: { message: expect.stringMatching(/3 of 3 records were dropped/) },
    })
  })

  it('answers with a failure if the service does not answer in time, and keeps the records', async () => {
    await using shipping = await startShipping()
    shipping.emulator.faults.answerNext(Number.POSITIVE_INFINITY, { status: 503 })
    const shipper = shipping.ship({ flushTimeoutMs: 200 })
    const exporter = new LogferryLogRecordExporter({ shipper, acknowledge: 'delivered' })
    expect(await exported(exporter, 3)).toMatchObject({
      code: 1,
      error: { message: expect.stringMatching(/3 of 3 records are kept, but not delivered yet/) },
    })
    shipping.emulator.faults.clear()
    await shipper.close({ timeoutMs: 10_000 })
    expect(shipping.emulator.eventCount('d')).toBe(3)
  })

  it.each([
    ['kept, in the spool', true, { name: 'timeout', code: 'LOGFERRY_TIMEOUT' }, /3 of 3 records are kept/],
    ['dropped, without one', false, { name: 'dropped', code: 'LOGFERRY_DROPPED' }, /3 of 3 records were dropped/],
  ])('says of records with which the shipper is closed that they are %s', async (_, hasSpool, error, message) => {
    await using shipping = await startShipping()
    shipping.emulator.faults.answerNext(Number.POSITIVE_INFINITY, { status: 503 })
    const directory = mkdtempSync(join(tmpdir(), 'logferry-otel-'))
    const shipper = shipping.ship(hasSpool ? { spool: { directory } } : {})
    const answer = exported(new LogferryLogRecordExporter({ shipper, acknowledge: 'delivered' }), 3)
    await until(() => shipper.stats().requests > 0, 'the request')
    await shipper.close({ timeoutMs: 100 })
    expect(await answer).toMatchObject({ code: 1, error: { ...error, message: expect.stringMatching(message) } })
    rmSync(directory, { recursive: true })
  })

  it('answers for its own records only if others ship through the same shipper', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship()
    const exporter = new LogferryLogRecordExporter({ shipper, acknowledge: 'delivered' })
    shipping.emulator.faults.rejectEvents(({ bad }) => bad === true, 'no')
    const answerAmongOthers = (others: object) => {
      shipper.ship({ ...others, n: 1 })
      const answer = exported(exporter, 3)
      shipper.ship({ ...others, n: 2 })
      return answer
    }
    expect(await answerAmongOthers({ bad: true })).toEqual({ code: 0 })
    // The refused event, which was in the same batch.
    expect(shipper.stats().drops).toMatchObject({ rejected: { info: 1 } })
    shipping.emulator.faults.rejectEvents(({ message }) => message === 'n 1', 'no')
    expect(await answerAmongOthers({})).toMatchObject({ code: 1, error: { message: /1 of 3 records were dropped/ } })
  })

  it('answers for its own records only if others wait for a paused dataset', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ dataset: event => (event.elsewhere ? 'e' : 'd'), flushTimeoutMs: 300 })
    const exporter = new LogferryLogRecordExporter({ shipper, acknowledge: 'delivered' })
    shipping.emulator.faults.answerNext(1, { status: 404 })
    shipper.ship({ elsewhere: true })
    await shipper.flush({ timeoutMs: 100 })
    expect(await exported(exporter, 3)).toEqual({ code: 0 })
    await shipper.close()
  })

  it('follows its records through a split batch', async () => {
    await using shipping = await startShipping()
    const exporter = new LogferryLogRecordExporter({
      shipper: shipping.ship({ maxBatchAgeMs: 20 }),
      acknowledge: 'delivered',
    })
    shipping.emulator.faults.rejectRequests(({ message }) => message === 'n 5')
    const answers = range(8).map(count => exported(exporter, count))
    expect((await Promise.all(answers)).map(({ code }) => code)).toEqual([0, 0, 0, 0, 0, 0, 1, 1])
  })

  it('answers with success if records are sampled away on demand', async () => {
    await using shipping = await startShipping({ org: { license: { monthlyIngestGb: 1 } } })
    const kept = vi.spyOn(Budget.prototype, 'kept').mockReturnValue(0)
    onTestFinished(() => kept.mockRestore())
    const { orgId, accessToken } = shipping.emulator
    const shipper = shipping.ship({ limits: { orgId, accessToken, onBudget: 'shed' } })
    await until(() => shipper.stats().limits?.ingest !== undefined, 'the license')
    expect(await exported(new LogferryLogRecordExporter({ shipper }), 3)).toEqual({ code: 0 })
    expect(await exported(new LogferryLogRecordExporter({ shipper, acknowledge: 'delivered' }), 3)).toEqual({ code: 0 })
    expect(shipper.stats().drops).toEqual({ budget: { info: 6 } })
  })

  it('loses no record behind a BatchLogRecordProcessor with default settings, at 10,000 records/s and 100 ms per request', {
    timeout: 30_000,
  }, async () => {
    await using shipping = await startShipping()
    shipping.emulator.faults.latencyMs = 100
    const exporter = new LogferryLogRecordExporter({ shipper: shipping.ship() })
    const provider = new LoggerProvider({ processors: [new BatchLogRecordProcessor({ exporter })] })
    const logger = provider.getLogger('x')
    const startedAt = performance.now()
    let emitted = 0
    while (emitted < 20_000) {
      const due = Math.min(20_000, Math.floor((performance.now() - startedAt) * 10))
      // A machine that stood still makes many records due at once, and the processor's queue takes 2,048.
      const untilPause = Math.min(due, emitted + 500)
      while (emitted < untilPause) logger.emit({ body: 'hello', attributes: { n: emitted++ } })
      await new Promise(resolve => setTimeout(resolve, 5))
    }
    await provider.shutdown()
    expect(shipping.emulator.eventCount('d')).toBe(20_000)
  })

  it('fails exports after the call of shutdown(), and counts their records', async () => {
    await using shipping = await startShipping()
    shipping.emulator.faults.latencyMs = 100
    const exporter = new LogferryLogRecordExporter({ shipper: shipping.ship() })
    expect(await exported(exporter, 1)).toEqual({ code: 0 })
    const ended = exporter.shutdown()
    expect(exporter.shutdown()).toBe(ended)
    expect(await exported(exporter, 2)).toMatchObject({
      code: 1,
      error: { name: 'already_shutdown', code: 'LOGFERRY_SHUT_DOWN', message: expect.stringContaining('shut down') },
    })
    await ended
    expect(exporter.shipper.stats()).toMatchObject({ delivered: 1, dropped: 2, drops: { 'shut-down': { info: 2 } } })
  })

  it('names the reason of a failed export in the name of the error', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ dataset: event => (event.message === 'n 1' ? '' : 'd'), flushTimeoutMs: 200 })
    const exporter = new LogferryLogRecordExporter({ shipper, acknowledge: 'delivered' })
    expect((await exported(exporter, 2)).error).toMatchObject({ name: 'dropped', code: 'LOGFERRY_DROPPED' })
    shipping.emulator.faults.rejectEvents(() => true, 'no')
    expect((await exported(exporter, 1)).error).toMatchObject({ name: 'rejected', code: 'LOGFERRY_DROPPED' })
    shipping.emulator.faults.answerNext(Number.POSITIVE_INFINITY, { status: 503 })
    expect((await exported(exporter, 1)).error).toMatchObject({ name: 'timeout', code: 'LOGFERRY_TIMEOUT' })
    const small = new LogferryLogRecordExporter({ shipper: shipping.ship({ maxBufferedBytes: 8 * 1_048_576 }) })
    const large = Array.from({ length: 20 }, () => ({ body: 'x'.repeat(900_000) }))
    const answer = await new Promise<{ error?: Error }>(resolve => small.export(large as never, resolve))
    expect(answer.error).toMatchObject({ name: 'queue_full', code: 'LOGFERRY_DROPPED' })
  })

  it.each(['accepted', 'delivered'] as const)(
    'answers an export without a list of records, and survives a callback that throws (%s)',
    async acknowledge => {
      await using shipping = await startShipping()
      const exporter = new LogferryLogRecordExporter({ shipper: shipping.ship(), acknowledge })
      for (const records of [null, undefined, {}, 5]) {
        const answer = await new Promise<{ code: number; error?: Error }>(resolve =>
          exporter.export(records as never, resolve),
        )
        expect(answer).toMatchObject({ code: 1, error: { name: 'TypeError' } })
      }
      exporter.export([{ body: 'm' } as never], () => {
        throw new RangeError('mine')
      })
      exporter.export([{ body: 'm' } as never], undefined as never)
      await exporter.forceFlush()
      await until(() => shipping.warnings.length > 0, 'the warning')
      expect(shipping.warnings).toMatchObject([
        {
          code: 'LOGFERRY_CALLBACK_THREW',
          message: expect.stringContaining('the callback of an export threw RangeError'),
        },
      ])
      expect(shipping.emulator.eventCount('d')).toBe(2)
    },
  )

  it.each([openBatchBytes - 4096, openBatchBytes + 4096])(
    'answers an export with %i bytes of the stack left, and counts the record as dropped',
    async bytes => {
      await using shipping = await startShipping()
      const shipper = shipping.ship()
      const exporter = new LogferryLogRecordExporter({ shipper, acknowledge: 'delivered' })
      const answer = await new Promise<{ code: number; error?: Error }>(resolve =>
        inLastFrameWith(bytes, () => exporter.export([{ body: 'm' } as never], resolve)),
      )
      expect(answer).toMatchObject({ code: 1, error: { name: 'dropped', code: 'LOGFERRY_DROPPED' } })
      expect(shipper.stats().drops).toMatchObject({ error: { info: 1 } })
    },
  )

  it('does not stop the exports of a BatchLogRecordProcessor with a failed flush', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ flushTimeoutMs: 100, maxRetryDelayMs: 50, maxBatchAgeMs: 20 })
    const exporter = new LogferryLogRecordExporter({ shipper })
    const processor = new BatchLogRecordProcessor({ exporter, scheduledDelayMillis: 20 })
    const logger = new LoggerProvider({ processors: [processor] }).getLogger('x')
    shipping.emulator.faults.answerNext(Number.POSITIVE_INFINITY, { status: 503 })
    logger.emit({ body: 'before' })
    await processor.forceFlush()
    shipping.emulator.faults.clear()
    logger.emit({ body: 'after' })
    await shipping.emulator.waitForEvents('d', 2)
    await processor.shutdown()
  })

  it('shares the time of a flush among the batches of a BatchLogRecordProcessor if the service is down', async () => {
    await using shipping = await startShipping()
    shipping.emulator.faults.answerNext(Number.POSITIVE_INFINITY, { status: 503 })
    const exporter = new LogferryLogRecordExporter({ shipper: shipping.ship({ flushTimeoutMs: 500 }) })
    const processor = new BatchLogRecordProcessor({ exporter, maxQueueSize: 20_000 })
    const logger = new LoggerProvider({ processors: [processor] }).getLogger('x')
    for (const n of range(20_000)) logger.emit({ body: 'm', attributes: { n } }) // 40 batches
    const startedAt = performance.now()
    await processor.forceFlush()
    expect(performance.now() - startedAt).toBeLessThan(10_000)
    expect(exporter.shipper.stats()).toMatchObject({ accepted: 20_000, pending: 20_000 })
    shipping.emulator.faults.clear()
    await exporter.shipper.flush({ timeoutMs: 30_000 })
    expect(shipping.emulator.eventCount('d')).toBe(20_000)
  })

  it('waits in each flush of which no export comes in between, and in each one for which memory has no room', async () => {
    await using shipping = await startShipping()
    shipping.emulator.faults.answerNext(Number.POSITIVE_INFINITY, { status: 503 })
    const shipper = shipping.ship({ flushTimeoutMs: 200, maxBatchBytes: 65_536, maxBufferedBytes: 2 ** 20 })
    const exporter = new LogferryLogRecordExporter({ shipper })
    const flushMs = async () => {
      const startedAt = performance.now()
      await exporter.forceFlush()
      return performance.now() - startedAt
    }
    await exported(exporter, 1)
    expect(await flushMs()).toBeGreaterThan(190)
    expect(await flushMs()).toBeGreaterThan(190)
    for (const n of range(60)) shipper.ship({ n, text: 'x'.repeat(10_000) })
    await exported(exporter, 1)
    expect(await flushMs()).toBeGreaterThan(190)
    shipping.emulator.faults.clear()
  })

  it('rejects shutdown() if records could not be delivered, behind any processor', async () => {
    for (const make of [
      (exporter: LogferryLogRecordExporter) => new BatchLogRecordProcessor({ exporter }),
      (exporter: LogferryLogRecordExporter) => new SimpleLogRecordProcessor({ exporter }),
    ]) {
      await using shipping = await startShipping()
      shipping.emulator.faults.answerNext(Number.POSITIVE_INFINITY, { status: 503 })
      const { url: baseUrl, token } = shipping.emulator
      const options = { baseUrl, token, dataset: 'd', flushTimeoutMs: 100, exitTimeoutMs: 0 }
      const exporter = new LogferryLogRecordExporter(options)
      exporter.shipper.on('warning', () => {})
      const provider = new LoggerProvider({ processors: [make(exporter)] })
      provider.getLogger('x').emit({ body: 'never' })
      await expect(provider.shutdown()).rejects.toMatchObject({
        code: 'LOGFERRY_TIMEOUT',
        message: expect.stringContaining('See the warnings for the cause, or raise flushTimeoutMs'),
      })
    }
  })

  it('never throws, and answers exactly once', async () => {
    await using shipping = await startShipping()
    const exporter = new LogferryLogRecordExporter({ shipper: shipping.ship() })
    const hostile = new Proxy(
      {},
      {
        get: () => {
          throw new Error('trap')
        },
      },
    )
    let answers = 0
    exporter.export([hostile as never, {} as never, null as never], () => answers++)
    await exporter.forceFlush()
    expect(answers).toBe(1)
    expect(exporter.shipper.stats()).toMatchObject({ accepted: 3, pending: 0 })
  })

  it.each([
    [{ acknowledge: 'later' }, /`acknowledge` must be 'accepted' or 'delivered'/],
    [{ shipper: 5 }, /`shipper` must be a shipper that createShipper\(\) returned/],
    [{}, /`dataset` must be/],
  ])('refuses %j', (options, message) => {
    expect(() => new LogferryLogRecordExporter(options as never)).toThrow(message)
  })
})
