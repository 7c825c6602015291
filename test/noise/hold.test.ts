/** Debug and info events that are shipped only if their trace logs an error, by every way in. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { context, SeverityNumber, TraceFlags, trace } from '@opentelemetry/api'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { BatchLogRecordProcessor, LoggerProvider } from '@opentelemetry/sdk-logs'
import { describe, expect, it } from 'vitest'
import winston from 'winston'
import { startEmulator } from '../../src/emulator.ts'
import { createShipper, type Dropped } from '../../src/index.ts'
import { LogferryLogRecordExporter, LogferryLogRecordProcessor } from '../../src/otel.ts'
import { LogferryTransport } from '../../src/winston.ts'
import { startShipping } from '../support/shipping.ts'
import { until } from '../support/until.ts'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

const byTime = (a: Record<string, unknown>, b: Record<string, unknown>) => (String(a._time) < String(b._time) ? -1 : 1)
const numbersOf = (events: Record<string, unknown>[]) => events.map(({ n }) => n)
const wait = (ms: number) => new Promise(resolve => setTimeout(resolve, ms))

describe('hold', () => {
  it('ships debug and info events of a trace only if it logs an error, in order and before the error', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ hold: {} })
    for (let n = 0; n < 6; n++) {
      shipper.ship({ level: n % 2 === 0 ? 'debug' : 'info', message: 'step', trace_id: n < 3 ? 'a' : 'b', n })
    }
    expect(shipper.stats()).toMatchObject({ accepted: 6, pending: 6, held: 6 })
    shipper.ship({ level: 'error', message: 'failed', trace_id: 'a', n: 6 })
    expect(shipper.stats()).toMatchObject({ accepted: 7, pending: 7, held: 3 })
    expect(await shipper.flush()).toEqual({ complete: true, pending: 3 })
    const events = shipping.emulator.events('d')
    expect(numbersOf(events)).toEqual([0, 1, 2, 6])
    expect(numbersOf(events.toSorted(byTime))).toEqual([0, 1, 2, 6])
    expect(await shipper.close()).toEqual({ complete: true, pending: 0 })
    expect(shipping.emulator.events('d')).toHaveLength(4)
    expect(shipper.stats()).toMatchObject({
      accepted: 7,
      delivered: 4,
      pending: 0,
      held: 0,
      bufferedBytes: 0,
      drops: { untriggered: { debug: 1, info: 2 } },
    })
  })

  it('ships events without a trace, warnings, and what a trace logs after its error as usual', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ hold: {} })
    shipper.ship({ level: 'info', n: 0 })
    shipper.ship({ level: 'warn', trace_id: 'a', n: 1 })
    shipper.ship({ level: 'info', trace_id: 5, n: 2 })
    shipper.ship({ level: 'error', trace_id: 'a', n: 3 })
    shipper.ship({ level: 'debug', trace_id: 'a', n: 4 })
    shipper.ship({ level: 'error', n: 5 })
    await shipper.flush()
    expect(numbersOf(shipping.emulator.events('d'))).toEqual([0, 1, 2, 3, 4, 5])
    expect(shipper.stats()).toMatchObject({ held: 0, pending: 0, dropped: 0 })
  })

  it('ships events whose trace id is all zeros as events without a trace: OpenTelemetry has it where no trace is', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ hold: {} })
    for (let n = 0; n < 3; n++) shipper.ship({ level: 'info', trace_id: '0'.repeat(32), n })
    expect(shipper.stats().held).toBe(0)
    await shipper.close()
    expect(numbersOf(shipping.emulator.events('d'))).toEqual([0, 1, 2])
  })

  it('ships what each of thousands of traces logs after its error', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ hold: {} })
    for (let n = 0; n < 5000; n++) shipper.ship({ level: 'error', trace_id: `t${n}` })
    shipper.ship({ level: 'debug', trace_id: 't0', n: 1 })
    await shipper.flush()
    expect(shipping.emulator.events('d')).toHaveLength(5001)
    expect(shipper.stats()).toMatchObject({ held: 0, pending: 0, dropped: 0 })
  })

  it('holds below the severity that is given, until the trigger that is given', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ hold: { below: 'info', trigger: 'warn' } })
    for (const [n, level] of ['trace', 'debug', 'info', 'warn'].entries()) shipper.ship({ level, trace_id: 'a', n })
    await shipper.flush()
    expect(numbersOf(shipping.emulator.events('d'))).toEqual([2, 0, 1, 3])
  })

  it('keeps the time of the log call, also of events that were held for long', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ hold: {} })
    const beforeMs = Date.now()
    shipper.ship({ level: 'debug', trace_id: 'a', n: 0 })
    const afterMs = Date.now()
    await wait(60)
    shipper.ship({ level: 'info', n: 1 })
    shipper.ship({ level: 'error', trace_id: 'a', n: 2 })
    await shipper.flush()
    const [held, later] = shipping.emulator.events('d').toSorted(byTime)
    expect([held?.n, later?.n]).toEqual([0, 1])
    const heldAtMs = Date.parse(String(held?._time))
    expect(heldAtMs).toBeGreaterThan(beforeMs - 20)
    expect(heldAtMs).toBeLessThan(afterMs + 20)
  })

  it('ships an event as it was at its log call, whatever the application makes of the object since', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ hold: {} })
    const cyclic: Record<string, unknown> = { level: 'debug', trace_id: 'a', order: { id: 1 }, big: 10n }
    cyclic.self = cyclic
    shipper.ship(cyclic)
    expect(shipper.stats().stubbed).toBe(0)
    ;(cyclic.order as { id: number }).id = 2
    shipper.ship({ level: 'error', trace_id: 'a' })
    await shipper.flush()
    expect(shipping.emulator.events('d')[0]).toMatchObject({ order: { id: 1 }, big: '10' })
    expect(shipper.stats()).toMatchObject({ stubbed: 1, cut: 0 })
  })

  it('counts what was altered in two events once, if one is logged while the other is read', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ hold: {} })
    const info = { level: 'info', trace_id: 'a' }
    let reads = 0
    shipper.ship({
      ...info,
      get order() {
        if (reads++ === 0) shipper.ship({ ...info, stub: new WeakMap() }) // a slow accessor is read again
        return 'x'
      },
    })
    shipper.ship({ level: 'error', trace_id: 'a' })
    await shipper.flush()
    expect(shipping.emulator.events('d')).toHaveLength(3)
    expect(shipper.stats().stubbed).toBe(1)
  })

  it('ships an event of which an accessor logs the error of its trace', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ hold: {} })
    shipper.ship({ level: 'debug', trace_id: 'a', n: 0 })
    shipper.ship({
      level: 'info',
      trace_id: 'a',
      n: 1,
      get detail() {
        shipper.ship({ level: 'error', trace_id: 'a', n: 2 })
        return 'not found'
      },
    })
    expect(shipper.stats().held).toBe(0)
    await shipper.close()
    expect(new Set(numbersOf(shipping.emulator.events('d')))).toEqual(new Set([0, 1, 2]))
    expect(shipper.stats().drops).toEqual({})
  })

  it('drops the oldest event when there are too many, and says so to listeners', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ hold: { maxEvents: 3 } })
    const drops: Dropped[] = []
    shipper.on('dropped', dropped => drops.push(dropped))
    for (let n = 0; n < 5; n++) shipper.ship({ level: 'debug', trace_id: n === 1 ? 'b' : 'a', n })
    expect(shipper.stats()).toMatchObject({ held: 3, dropped: 2, drops: { untriggered: { debug: 2 } } })
    await until(() => drops.length > 0, 'the report')
    expect(drops).toMatchObject([{ reason: 'untriggered', count: 2, bySeverity: { debug: 2 } }])
    shipper.ship({ level: 'error', trace_id: 'a', n: 5 })
    await shipper.flush()
    expect(numbersOf(shipping.emulator.events('d'))).toEqual([2, 3, 4, 5])
  })

  it('holds no more bytes than it may, and ships an event that is larger alone', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ hold: { maxBytes: 10_000 } })
    const log = (n: number, length: number) =>
      shipper.ship({ level: 'info', trace_id: 'a', n, text: 'x'.repeat(length) })
    for (let n = 0; n < 20; n++) log(n, 1000)
    const { held, bufferedBytes } = shipper.stats()
    expect(held).toBe(7)
    expect(bufferedBytes).toBeLessThanOrEqual(10_000)
    log(20, 10_000)
    shipper.ship({ level: 'error', trace_id: 'a', n: 21 })
    await shipper.flush()
    expect(numbersOf(shipping.emulator.events('d'))).toEqual([20, 13, 14, 15, 16, 17, 18, 19, 21])
  })

  it('drops what is too old, with no further log call, and holds a trace again long after its error', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ hold: { maxAgeMs: 100 } })
    shipper.ship({ level: 'error', trace_id: 'a', n: 0 })
    shipper.ship({ level: 'info', trace_id: 'a', n: 1 })
    shipper.ship({ level: 'info', trace_id: 'b', n: 2 })
    expect(shipper.stats().held).toBe(1)
    await until(() => shipper.stats().held === 0, 'the end of the oldest')
    shipper.ship({ level: 'info', trace_id: 'a', n: 3 })
    expect(shipper.stats()).toMatchObject({ held: 1, drops: { untriggered: { info: 1 } } })
    await shipper.flush()
    expect(numbersOf(shipping.emulator.events('d'))).toEqual([0, 1])
  })

  it('keeps nothing of a closed shipper once its events were released, however long events may be held', async () => {
    await using emulator = await startEmulator()
    const listeners: WeakRef<object>[] = []
    for (let n = 0; n < 5; n++) {
      const { url: baseUrl, token } = emulator
      const shipper = createShipper({ baseUrl, token, dataset: 'd', hold: { maxAgeMs: 3_600_000 } })
      shipper.ship({ level: 'info', trace_id: 'a', n })
      shipper.ship({ level: 'error', trace_id: 'a', n })
      const listener = () => {}
      shipper.on('delivered', listener)
      listeners.push(new WeakRef(listener))
      expect(await shipper.close()).toEqual({ complete: true, pending: 0 })
    }
    await until(() => {
      collectGarbage()
      return listeners.slice(0, -1).every(listener => listener.deref() === undefined) // the last one is still in this frame
    }, 'the closed shippers are gone')
  })

  it('names the dataset at the log call', async () => {
    await using shipping = await startShipping()
    let dataset = 'first'
    const shipper = shipping.ship({ hold: {}, dataset: () => dataset })
    shipper.ship({ level: 'info', trace_id: 'a' })
    dataset = 'second'
    shipper.ship({ level: 'error', trace_id: 'a' })
    await shipper.flush()
    expect(['first', 'second'].map(name => shipping.emulator.events(name).length)).toEqual([1, 1])
  })

  it('collapses what it releases', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ hold: {}, collapse: { windowMs: 60_000 } })
    for (let n = 0; n < 5; n++) shipper.ship({ level: 'debug', message: 'retry', trace_id: 'a' })
    shipper.ship({ level: 'error', message: 'failed', trace_id: 'a' })
    await shipper.flush()
    expect(shipping.emulator.events('d')).toMatchObject([
      { message: 'retry' },
      { message: 'failed' },
      { message: 'retry', logferry: { repeated: { count: 4 } } },
    ])
    expect(shipper.stats()).toMatchObject({ accepted: 7, delivered: 3, dropped: 4, pending: 0, bufferedBytes: 0 })
  })

  it('goes on while a listener of its drops logs', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ hold: { maxEvents: 2 } })
    let told = 0
    shipper.on('dropped', () => {
      if (told++ < 50) shipper.ship({ level: told % 3 === 0 ? 'error' : 'debug', trace_id: `${told % 2}` })
    })
    for (let n = 0; n < 20; n++) shipper.ship({ level: 'debug', trace_id: `${n % 3}`, n })
    await shipper.flush()
    await shipper.close() // a listener for the last drops may log one more event
    const { accepted, delivered, dropped, pending, held } = shipper.stats()
    expect([accepted, held]).toEqual([delivered + dropped + pending, pending])
    expect(await shipper.close()).toEqual({ complete: true, pending: 0 })
    expect(shipper.stats()).toMatchObject({ held: 0, bufferedBytes: 0 })
  })
})

describe('hold, by every way in', () => {
  const spanContext = {
    traceId: '0af7651916cd43dd8448eb211c80319c',
    spanId: 'b7ad6b7169203331',
    traceFlags: TraceFlags.SAMPLED,
  }

  it('holds the events of Winston by the trace id that they have', async () => {
    await using shipping = await startShipping()
    const transport = new LogferryTransport({ shipper: shipping.ship({ hold: {} }) })
    const logger = winston.createLogger({ level: 'debug', transports: [transport] })
    const ofTrace = logger.child({ trace_id: 'a' })
    ofTrace.debug('reading', { n: 0 })
    logger.debug('of no trace', { n: 1 })
    await transport.shipper.flush()
    expect(numbersOf(shipping.emulator.events('d'))).toEqual([1])
    ofTrace.error('failed', { n: 2 })
    await transport.shipper.flush()
    expect(numbersOf(shipping.emulator.events('d'))).toEqual([1, 0, 2])
  })

  it.each(['processor', 'exporter'] as const)('holds records of OpenTelemetry with their resource (%s)', async way => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ hold: {} })
    const processor =
      way === 'processor'
        ? new LogferryLogRecordProcessor({ shipper })
        : new BatchLogRecordProcessor({
            exporter: new LogferryLogRecordExporter({ shipper, acknowledge: 'delivered' }),
          })
    const resource = resourceFromAttributes({ 'service.name': 'shop' })
    const provider = new LoggerProvider({ resource, processors: [processor] })
    const ofTrace = trace.setSpanContext(context.active(), spanContext)
    const log = (n: number, severityNumber: SeverityNumber) =>
      provider.getLogger('demo').emit({
        timestamp: [1_700_000_000 + n, 123_456_789],
        severityNumber,
        body: 'step',
        attributes: { n, 'a.b': Number.NaN },
        context: ofTrace,
      })
    log(0, SeverityNumber.DEBUG)
    log(1, SeverityNumber.INFO4)
    await provider.forceFlush()
    expect(shipping.emulator.events('d')).toEqual([])
    expect(shipper.stats()).toMatchObject({ held: 2, pending: 2 })
    log(2, SeverityNumber.ERROR)
    await provider.forceFlush()
    const events = shipping.emulator.events('d')
    expect(events).toMatchObject(
      [0, 1, 2].map(n => ({
        _time: `2023-11-14T22:13:2${n}.123456789Z`,
        message: 'step',
        trace_id: spanContext.traceId,
        attributes: { n, a: { b: 'NaN' } },
        resource: { service: { name: 'shop' } },
        scope: { name: 'demo' },
      })),
    )
    expect(Object.keys(events[0] ?? {})).toEqual(Object.keys(events[2] ?? {}))
    await provider.shutdown()
  })

  it('leaves no record behind at a close() with full memory that waited for its resource', async () => {
    await using shipping = await startShipping()
    shipping.emulator.faults.answerNext(Number.POSITIVE_INFINITY, { status: 503 })
    const shipper = shipping.ship({ hold: {}, maxBufferedBytes: 16 * 1_048_576 })
    const never = resourceFromAttributes({ 'host.id': new Promise<string>(() => {}) })
    const processors = [new LogferryLogRecordProcessor({ shipper })]
    const ofTrace = trace.setSpanContext(context.active(), spanContext)
    new LoggerProvider({ resource: never, processors }).getLogger('x').emit({ body: 'step', context: ofTrace })
    while (shipper.stats().bufferedBytes < 9_000_000) shipper.ship({ level: 'error', message: 'x'.repeat(10_000) })
    expect(await shipper.close({ timeoutMs: 100 })).toEqual({ complete: false, pending: 0 })
    expect(shipper.stats()).toMatchObject({ held: 0, drops: { untriggered: { info: 1 } } })
  })
})
