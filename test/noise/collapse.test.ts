/** Identical events become one, by the core, Winston and OpenTelemetry alike. */
import { SeverityNumber } from '@opentelemetry/api'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { LoggerProvider } from '@opentelemetry/sdk-logs'
import { describe, expect, it } from 'vitest'
import winston from 'winston'
import type { Dropped } from '../../src/index.ts'
import { LogferryLogRecordExporter, LogferryLogRecordProcessor } from '../../src/otel.ts'
import { LogferryTransport } from '../../src/winston.ts'
import { startShipping } from '../support/shipping.ts'
import { until } from '../support/until.ts'

const aMinute = { windowMs: 60_000 }
const isoTime = expect.stringMatching(/^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z$/)

describe('collapse', () => {
  it.each([512, 600, 1000, 2000])('keeps the count of a summary that is cut to %d bytes', async maxEventBytes => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ collapse: aMinute, maxEventBytes, sample: { warn: 0.999_999 } })
    const big = { text: 'x'.repeat(maxEventBytes), logferry: { job: 'j'.repeat(maxEventBytes / 2) } }
    for (let n = 0; n < 4; n++) shipper.ship({ level: 'warn', message: 'disk is slow', ...big })
    await shipper.flush()
    expect(shipping.emulator.events('d')).toMatchObject([
      { message: 'disk is slow', logferry: { cut: true, sampling_rate: 0.999_999 } },
      { message: 'disk is slow', logferry: { cut: true, sampling_rate: 0.999_999, repeated: { count: 3 } } },
    ])
  })

  it('ships the first of identical events at once, and one event for the others at a flush', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ collapse: aMinute })
    const shipped = Array.from({ length: 5 }, (_, n) => shipper.ship({ level: 'warn', message: 'disk is slow', n }))
    expect(shipped).toEqual([true, false, false, false, false])
    expect(await shipper.flush()).toEqual({ complete: true, pending: 0 })
    const [first, summary, ...others] = shipping.emulator.events('d')
    expect(others).toEqual([])
    expect(first).toEqual({ _time: isoTime, level: 'warn', message: 'disk is slow', n: 0 })
    expect(summary).toEqual({
      _time: isoTime,
      level: 'warn',
      message: 'disk is slow',
      n: 1,
      logferry: { repeated: { count: 4, first_time: isoTime, last_time: isoTime } },
    })
    const { accepted, delivered, dropped, pending, drops } = shipper.stats()
    expect({ accepted, delivered, dropped, pending, drops }).toEqual({
      accepted: 6,
      delivered: 2,
      dropped: 4,
      pending: 0,
      drops: { collapsed: { warn: 4 } },
    })
  })

  it('ships the summary when the window ends, and the next such event after it', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ collapse: { windowMs: 100 }, maxBatchAgeMs: 1 })
    const startedAtMs = performance.now()
    for (let n = 0; n < 3; n++) shipper.ship({ level: 'info', message: 'tick' })
    await until(() => shipping.emulator.events('d').length === 2, 'the summary')
    expect(performance.now() - startedAtMs).toBeGreaterThan(90)
    expect(shipper.ship({ level: 'info', message: 'tick' })).toBe(true)
    await shipper.flush()
    expect(shipping.emulator.events('d')).toMatchObject([
      { message: 'tick' },
      { logferry: { repeated: { count: 2 } } },
      { message: 'tick' },
    ])
  })

  it('counts the summary as pending, and reports collapsed events to listeners', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ collapse: aMinute })
    const drops: Dropped[] = []
    shipper.on('dropped', dropped => drops.push(dropped))
    shipper.ship({ level: 'error', message: 'no connection' })
    await shipper.flush()
    expect(shipper.stats()).toMatchObject({ accepted: 1, pending: 0, bufferedBytes: 0 })
    for (let n = 0; n < 10; n++) shipper.ship({ level: 'error', message: 'no connection' })
    expect(shipper.stats()).toMatchObject({ accepted: 12, dropped: 10, pending: 1 })
    expect(shipper.stats().bufferedBytes).toBeGreaterThan(0)
    await until(() => drops.length > 0, 'the report')
    expect(drops).toMatchObject([{ reason: 'collapsed', count: 10, bySeverity: { error: 10 } }])
    await shipper.flush()
    expect(shipper.stats()).toMatchObject({ accepted: 12, delivered: 2, pending: 0, bufferedBytes: 0 })
  })

  it('ends every window at close()', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ collapse: aMinute })
    for (let n = 0; n < 30; n++) shipper.ship({ level: 'info', message: `message ${n % 10}` })
    expect(await shipper.close()).toEqual({ complete: true, pending: 0 })
    const counts = shipping.emulator.events('d').map(({ logferry }) => (logferry as Repeated)?.repeated.count ?? 0)
    expect(counts.sort()).toEqual([...Array(10).fill(0), ...Array(10).fill(2)])
  })

  it('keeps events apart that differ in level, message, event name, dataset or error', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ collapse: aMinute, dataset: ({ to }) => (to as string | undefined) ?? 'd' })
    const fail = () => new Error('boom')
    const failElsewhere = () => new Error('boom')
    const different: object[] = [
      { level: 'info', message: 'hello' },
      { level: 'warn', message: 'hello' },
      { level: 'info', message: 'hello!' },
      { level: 'info', message: 'hello', event_name: 'greeting' },
      { level: 'info', message: 'hello', to: 'other' },
      { level: 'info', message: 'hello', error: fail() },
      { level: 'info', message: 'hello', error: failElsewhere() },
      { level: 'info', message: 'hello', error: new TypeError('boom') },
      { level: 'info', message: 'hello', err: { name: 'Error', message: 'bang' } },
      { level: 'info', message: 'hello', 'error.type': 'TimeoutError' },
      { level: 'info', message: 'hello', attributes: { exception: { type: 'E', message: 'm' } } },
      { level: 'info', message: 'hello', attributes: { exception: { type: 'E', message: 'n' } } },
    ]
    for (const event of [...different, ...different]) shipper.ship(event as Record<string, unknown>)
    expect(shipper.stats()).toMatchObject({ dropped: different.length, drops: { collapsed: { info: 11, warn: 1 } } })
  })

  it('never collapses events without a text as their message', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ collapse: aMinute })
    for (let n = 0; n < 5; n++) shipper.ship({ level: 'info', n: 1 })
    for (let n = 0; n < 5; n++) shipper.ship({ level: 'info', message: 'x'.repeat(2000) })
    expect(shipper.stats()).toMatchObject({ accepted: 10, dropped: 0 })
  })

  it('ships a repetition as it was at its log call, without what the application made of it since', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ collapse: aMinute })
    const event = { level: 'info', message: 'same', order: { id: 1 }, logferry: { own: true } }
    shipper.ship(event)
    shipper.ship(event)
    event.order.id = 2
    await shipper.flush()
    expect(shipping.emulator.events('d')[1]).toMatchObject({ order: { id: 1 }, logferry: { own: true, repeated: {} } })
  })

  it('takes the timestamps that events bring along', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ collapse: aMinute, timeField: 'timestamp' })
    for (const day of [1, 2, 3]) shipper.ship({ message: 'same', timestamp: `2026-01-0${day}T00:00:00Z` })
    await shipper.flush()
    expect(shipping.emulator.lines('d').map(line => JSON.parse(line))).toMatchObject([
      { timestamp: '2026-01-01T00:00:00Z' },
      {
        timestamp: '2026-01-03T00:00:00Z',
        logferry: { repeated: { count: 2, first_time: '2026-01-01T00:00:00Z', last_time: '2026-01-03T00:00:00Z' } },
      },
    ])
  })

  it('takes timestamps that are numbers, too, and leaves them numbers', async () => {
    await using shipping = await startShipping()
    const redactText = [/\d{13}/g] // a number has no text
    const shipper = shipping.ship({ collapse: aMinute, timeField: 'time', redactText })
    for (const ms of [1, 3, 2]) shipper.ship({ message: 'same', time: 1_767_225_600_000 + ms })
    await shipper.flush()
    expect(shipping.emulator.lines('d').map(line => JSON.parse(line))).toMatchObject([
      { time: 1_767_225_600_001 },
      {
        time: 1_767_225_600_003,
        logferry: { repeated: { count: 2, first_time: '1767225600001', last_time: '1767225600003' } },
      },
    ])
  })

  it('calls the latest time the last one, whatever the order of the events', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ collapse: aMinute, timeField: 'timestamp' })
    for (const day of [2, 3, 1]) shipper.ship({ message: 'same', timestamp: `2026-01-0${day}T00:00:00Z` })
    await shipper.flush()
    expect(JSON.parse(shipping.emulator.lines('d')[1] ?? '')).toMatchObject({
      timestamp: '2026-01-03T00:00:00Z',
      logferry: { repeated: { first_time: '2026-01-02T00:00:00Z', last_time: '2026-01-03T00:00:00Z' } },
    })
  })

  it('gives a summary no timestamp of the first event if `hold` has released the repetition late', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ collapse: aMinute, hold: {} })
    const [early, late] = ['2026-01-01T00:00:00.000Z', '2026-01-02T00:00:00.000Z']
    shipper.ship({ _time: early, level: 'info', message: 'same', trace_id: 'a' })
    shipper.ship({ _time: late, level: 'info', message: 'same', trace_id: 'b' })
    shipper.ship({ level: 'error', message: 'b failed', trace_id: 'b' })
    shipper.ship({ level: 'error', message: 'a failed', trace_id: 'a' })
    await shipper.flush()
    expect(shipping.emulator.events('d').filter(({ message }) => message === 'same')).toMatchObject([
      { _time: late, trace_id: 'b' },
      { _time: early, trace_id: 'a', logferry: { repeated: { count: 1, first_time: late, last_time: early } } },
    ])
  })

  it('keeps the original number of sampled events countable, whatever their rates', async () => {
    await using shipping = await startShipping()
    const sample = ({ status }: Record<string, unknown>) => (status === 200 ? 0.5 : 1)
    const shipper = shipping.ship({ collapse: aMinute, sample })
    for (let n = 0; n < 4000; n++) shipper.ship({ message: 'request', status: n < 1000 ? 500 : 200 })
    await shipper.flush()
    type Marks = { repeated?: { count: number }; sampling_rate?: number } | undefined
    const marks = shipping.emulator.events('d').map(({ logferry }) => logferry as Marks)
    const original = marks.reduce((sum, mark) => sum + (mark?.repeated?.count ?? 1) / (mark?.sampling_rate ?? 1), 0)
    expect(marks).toHaveLength(4)
    expect(Math.abs(original - 4000)).toBeLessThan(400)
  })

  it('never collapses an event that a caller waits for', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ collapse: aMinute })
    for (const role of ['admin', 'owner']) await shipper.shipAndConfirm({ message: 'role granted', role })
    expect(shipping.emulator.events('d')).toMatchObject([{ role: 'admin' }, { role: 'owner' }])
  })

  it('remembers at most 1,000 events: the oldest window ends for one more', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ collapse: aMinute })
    const log = (n: number) => shipper.ship({ message: `message ${n}` })
    for (const n of [0, 0, 1]) log(n)
    for (let n = 2; n <= 1000; n++) log(n)
    expect(log(0)).toBe(true) // its window has ended, and that of message 1 ends now
    expect(log(2)).toBe(false)
    expect(log(1)).toBe(true)
    await shipper.flush()
    const repeated = shipping.emulator.events('d').filter(({ logferry }) => logferry !== undefined)
    expect(repeated.map(({ message }) => message).sort()).toEqual(['message 0', 'message 2'])
  })

  it('survives events that cannot be read, and accessors that log', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ collapse: aMinute })
    const hostile = () => ({
      level: 'info',
      get message(): string {
        throw new Error('no')
      },
    })
    let depth = 0
    const logging: Record<string, unknown> = { level: 'info', message: 'same' }
    Object.defineProperty(logging, 'again', {
      enumerable: true,
      get: () => (depth++ < 3 ? shipper.ship(logging) : 'done'),
    })
    for (let n = 0; n < 3; n++) {
      shipper.ship(hostile())
      shipper.ship(logging)
    }
    expect(await shipper.flush()).toEqual({ complete: true, pending: 0 })
    const { accepted, delivered, dropped, pending, bufferedBytes } = shipper.stats()
    expect([accepted - delivered - dropped, pending, bufferedBytes]).toEqual([0, 0, 0])
  })

  it('passes events on while memory has no room for a summary', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ collapse: aMinute, maxBufferedBytes: 8192, maxBatchBytes: 1024 })
    const message = 'x'.repeat(300)
    for (let n = 0; n < 20; n++)
      for (let i = 0; i < 3; i++) shipper.ship({ level: 'error', message, err: { message: `${n}` } })
    const { accepted, delivered, dropped, pending, bufferedBytes } = shipper.stats()
    expect(accepted).toBe(delivered + dropped + pending)
    expect(bufferedBytes).toBeLessThanOrEqual(8192)
    expect(await shipper.flush()).toEqual({ complete: true, pending: 0 })
    expect(shipper.stats().bufferedBytes).toBe(0)
  })
})

interface Repeated {
  readonly repeated: { readonly count: number }
}

describe('collapse, by every way in', () => {
  it('collapses the events of Winston, with the Error that they have', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ collapse: aMinute })
    const logger = winston.createLogger({ transports: [new LogferryTransport({ shipper })] })
    const fail = (text: string) => logger.error('payment failed:', new Error(text))
    for (let n = 0; n < 3; n++) fail('no funds')
    fail('no card')
    await shipper.flush()
    const events = shipping.emulator.events('d')
    expect(events.map(({ message, logferry }) => [message, (logferry as Repeated)?.repeated.count])).toEqual([
      ['payment failed: no funds', undefined],
      ['payment failed: no card', undefined],
      ['payment failed: no funds', 2],
    ])
  })

  it.each(['flush', 'close'] as const)(
    '%s() delivers the summary of records whose resource never becomes known',
    async how => {
      await using shipping = await startShipping()
      const shipper = shipping.ship({ collapse: aMinute })
      const resource = resourceFromAttributes({ 'host.name': new Promise<string>(() => {}) })
      const provider = new LoggerProvider({ resource, processors: [new LogferryLogRecordProcessor({ shipper })] })
      for (let n = 0; n < 5; n++) provider.getLogger('demo').emit({ body: 'failed' })
      expect(await shipper[how]()).toMatchObject({ complete: true })
      expect(shipper.stats()).toMatchObject({ pending: 0, delivered: 2 })
      expect(shipping.emulator.events('d')).toMatchObject([
        { message: 'failed' },
        { message: 'failed', logferry: { repeated: { count: 4 } } },
      ])
    },
  )

  it('collapses the records of OpenTelemetry, with their resource, and fails no export', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ collapse: aMinute })
    const resource = resourceFromAttributes({ 'service.name': 'shop' })
    const provider = new LoggerProvider({ resource, processors: [new LogferryLogRecordProcessor({ shipper })] })
    const logger = provider.getLogger('demo')
    const timestamp: [number, number] = [1_700_000_000, 5]
    for (let n = 0; n < 3; n++) {
      logger.emit({
        timestamp,
        severityNumber: SeverityNumber.ERROR,
        body: 'failed',
        attributes: { 'error.type': 'E' },
      })
    }
    await provider.forceFlush()
    expect(shipping.emulator.events('d')).toMatchObject([
      { message: 'failed', resource: { service: { name: 'shop' } } },
      {
        _time: expect.stringMatching(/^2023-11-14T22:13:20\.00000000\dZ$/),
        message: 'failed',
        attributes: { error: { type: 'E' } },
        resource: { service: { name: 'shop' } },
        scope: { name: 'demo' },
        logferry: { repeated: { count: 2, last_time: '2023-11-14T22:13:20.000Z' } },
      },
    ])
    const records: unknown[] = []
    const sink = new LoggerProvider({ processors: [{ onEmit: record => records.push(record), ...noSink }] })
    for (let n = 0; n < 3; n++) sink.getLogger('x').emit({ body: 'again' })
    for (const acknowledge of ['accepted', 'delivered'] as const) {
      const exporter = new LogferryLogRecordExporter({ shipper, acknowledge })
      const result = await new Promise(resolve => exporter.export(records as never, resolve))
      expect(result).toEqual({ code: 0 })
    }
  })
})

const noSink = { forceFlush: async () => {}, shutdown: async () => {} }
