import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { logs, SeverityNumber } from '@opentelemetry/api'
import { detectResources } from '@opentelemetry/resources'
import { LoggerProvider, type LogRecordProcessor } from '@opentelemetry/sdk-logs'
import { describe, expect, it, onTestFinished } from 'vitest'
import winston from 'winston'
import { LogferryLogRecordExporter, LogferryLogRecordProcessor } from '../../src/otel.ts'
import { LogferryTransport } from '../../src/winston.ts'
import { startShipping } from '../support/shipping.ts'
import { until } from '../support/until.ts'
import { otelRecord, ways } from './ways.ts'

describe.each(ways)('minSeverity, by %s', (_, logOf) => {
  it('ships no event below it, and neither accepts nor drops such an event', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ minSeverity: 'info' })
    const log = logOf(shipper)
    for (const level of ['debug', 'info', 'error'] as const) log(level, level)
    await shipper.flush()
    expect(shipping.emulator.events('d').map(({ level }) => level)).toEqual(['info', 'error'])
    expect(shipper.stats()).toMatchObject({ minSeverity: 'info', accepted: 2, delivered: 2, dropped: 0, drops: {} })
  })

  it('changes at run time, for good or for a time', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ minSeverity: 'error' })
    const log = logOf(shipper)
    log('info', 'no')
    shipper.setMinSeverity('info')
    log('debug', 'no')
    log('info', 'one')
    shipper.setMinSeverity('debug', { forMs: 50 })
    expect(shipper.stats().minSeverity).toBe('debug')
    log('debug', 'two')
    await until(() => shipper.stats().minSeverity !== 'debug', 'the end of the time')
    expect(shipper.stats().minSeverity).toBe('info')
    log('debug', 'no')
    log('info', 'three')
    await shipper.flush()
    expect(shipping.emulator.events('d').map(({ message }) => message)).toEqual(['one', 'two', 'three'])
  })

  it('keeps an event below it from every function of the options', async () => {
    await using shipping = await startShipping()
    const called: string[] = []
    const noting = (name: string) => () => void called.push(name) as undefined
    const shipper = shipping.ship({
      minSeverity: 'info',
      context: noting('context'),
      transform: noting('transform'),
      dataset: () => {
        called.push('dataset')
        return 'd'
      },
    })
    logOf(shipper)('debug', 'm')
    expect(called).toEqual([])
  })
})

describe('ship()', () => {
  it('returns false for an event below the minimum, and reads nothing but its level', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ minSeverity: 'warn' })
    const event = {
      level: 'http',
      get message() {
        throw new Error('read')
      },
    }
    expect(shipper.ship(event)).toBe(false)
    expect(shipper.stats()).toMatchObject({ accepted: 0, stubbed: 0 })
  })
})

describe('setMinSeverity', () => {
  it('replaces a temporary minimum, and the time of it', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ minSeverity: 'warn' })
    shipper.setMinSeverity('trace', { forMs: 40 })
    shipper.setMinSeverity('debug', { forMs: 60_000 })
    await delay(80)
    expect(shipper.stats().minSeverity).toBe('debug')
    shipper.setMinSeverity('info', { forMs: 20 })
    await until(() => shipper.stats().minSeverity === 'warn', 'the lasting minimum')
    shipper.setMinSeverity('fatal', { forMs: 20 })
    shipper.setMinSeverity('error')
    await delay(60)
    expect(shipper.stats().minSeverity).toBe('error')
  })

  it.each<[string, unknown[], object]>([
    [
      'a severity that does not exist',
      ['verbose'],
      {
        name: 'RangeError',
        option: 'severity',
        message: /must be 'trace', 'debug', 'info', 'warn', 'error' or 'fatal'; got "verbose"$/,
      },
    ],
    ['no severity', [], { name: 'TypeError', option: 'severity', message: /got undefined$/ }],
    ['a number', [2], { name: 'TypeError', option: 'severity', message: /got 2$/ }],
    [
      'no time',
      ['info', { forMs: 0 }],
      { name: 'RangeError', option: 'forMs', message: /from 1 to 2147483647.*got 0$/ },
    ],
    ['a time without end', ['info', { forMs: Number.POSITIVE_INFINITY }], { name: 'RangeError', option: 'forMs' }],
    ['NaN', ['info', { forMs: Number.NaN }], { name: 'RangeError', option: 'forMs' }],
    ['a text', ['info', { forMs: '50' }], { name: 'TypeError', option: 'forMs' }],
    ['a time in place of an object', ['info', 50], { name: 'TypeError', option: 'options' }],
    [
      'another name',
      ['info', { forMS: 50 }],
      { name: 'TypeError', option: 'forMS', message: /no option `forMS`\. Did you mean `forMs`/ },
    ],
  ])('refuses %s, and changes nothing', async (_, args, { message = /./, ...error }: { message?: RegExp }) => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ minSeverity: 'warn' })
    const call = () => (shipper.setMinSeverity as (...args: unknown[]) => void)(...args)
    const expected = { ...error, code: 'LOGFERRY_INVALID_OPTION', message: expect.stringMatching(message) }
    expect(call).toThrow(expect.objectContaining(expected))
    expect(shipper.stats().minSeverity).toBe('warn')
  })
})

describe('a Winston transport with a minimum severity of its own', () => {
  it('still lets an uncaught error end the process, although it is not shipped', async () => {
    await using shipping = await startShipping()
    const { url: baseUrl, token } = shipping.emulator
    const transport = new LogferryTransport({ baseUrl, token, dataset: 'd', minSeverity: 'fatal' })
    const logger = winston.createLogger({ exceptionHandlers: [transport], exitOnError: false })
    onTestFinished(() => void logger.close())
    Object.assign(transport, { _ending: true }) // as Winston does, before it waits
    const finished = once(transport, 'finish')
    transport.log({ level: 'error', message: 'boom', exception: true, [Symbol.for('level')]: 'error' })
    await finished
    expect(transport.shipper.stats().accepted).toBe(0)
  })
})

describe('enabled() of the processor', () => {
  it.each<[number | undefined, boolean]>([
    [undefined, true], // the severity text may be severe
    [SeverityNumber.UNSPECIFIED, true],
    [SeverityNumber.TRACE4, false],
    [SeverityNumber.INFO4, false],
    [SeverityNumber.WARN, true],
    [SeverityNumber.FATAL4, true],
    [99, true],
  ])('for the severity number %s is %s with minSeverity warn', async (severityNumber, isEnabled) => {
    await using shipping = await startShipping()
    const processor = new LogferryLogRecordProcessor({ shipper: shipping.ship({ minSeverity: 'warn' }) })
    expect(processor.enabled({ severityNumber })).toBe(isEnabled)
    const asSdk: LogRecordProcessor = processor
    const logger = new LoggerProvider({ processors: [asSdk] }).getLogger('test')
    expect(logger.enabled({ severityNumber } as never)).toBe(isEnabled)
  })

  it('keeps the SDK from building records below the minimum, as it is at that moment', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ minSeverity: 'warn' })
    const provider = new LoggerProvider({ processors: [new LogferryLogRecordProcessor({ shipper })] })
    let read = 0
    const emit = () =>
      provider.getLogger('test').emit({
        severityNumber: SeverityNumber.DEBUG,
        get attributes() {
          read++
          return {}
        },
      })
    emit()
    expect(read).toBe(0)
    shipper.setMinSeverity('debug', { forMs: 60_000 })
    emit()
    expect(read).toBeGreaterThan(0)
    expect(shipper.stats().accepted).toBe(1)
  })

  it('leaves a record without a number to its severity text', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ minSeverity: 'warn' })
    const provider = new LoggerProvider({ processors: [new LogferryLogRecordProcessor({ shipper })] })
    logs.setGlobalLoggerProvider(provider)
    onTestFinished(() => logs.disable())
    for (const record of [{ severityText: 'DEBUG' }, { severityText: 'ERROR' }, {}]) logs.getLogger('x').emit(record)
    await provider.forceFlush()
    expect(shipping.emulator.events('d')).toMatchObject([{ level: 'error' }])
    expect(shipper.stats().accepted).toBe(1)
  })
})

describe('OpenTelemetry records below the minimum', () => {
  it('are not held while the resource is being detected', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ minSeverity: 'info' })
    const pending = new Promise<string>(() => {})
    const resource = detectResources({ detectors: [{ detect: () => ({ attributes: { 'host.id': pending } }) }] })
    const processor = new LogferryLogRecordProcessor({ shipper })
    processor.onEmit(otelRecord('m', { severityNumber: SeverityNumber.DEBUG, resource }))
    expect(shipper.stats()).toMatchObject({ accepted: 0, pending: 0 })
    const startedAt = performance.now()
    await processor.forceFlush()
    expect(performance.now() - startedAt).toBeLessThan(1000)
  })

  it('fail no export, and are not counted after the shutdown', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ minSeverity: 'info' })
    const record = otelRecord('m', { severityNumber: SeverityNumber.DEBUG })
    for (const acknowledge of ['accepted', 'delivered'] as const) {
      const exporter = new LogferryLogRecordExporter({ shipper, acknowledge })
      const exported = () => new Promise(resolve => exporter.export([record], resolve))
      expect(await exported()).toEqual({ code: 0 })
      await exporter.shutdown()
      expect(await exported()).toMatchObject({ error: { name: 'already_shutdown' } })
    }
    expect(shipper.stats().accepted).toBe(0)
  })
})
