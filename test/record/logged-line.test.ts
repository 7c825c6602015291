/**
 * The line that Winston's `format.json()` makes of an info is shipped unchanged if it certainly has the same content.
 * The order of its fields shows which line was shipped, because that format sorts them by name.
 */
import { once } from 'node:events'
import { context, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import fc from 'fast-check'
import { describe, expect, it, vi } from 'vitest'
import winston from 'winston'
import TransportStream from 'winston-transport'
import { LogferryTransport, type LogferryTransportOptions } from '../../src/winston.ts'
import { startShipping } from '../support/shipping.ts'

const { format } = winston
const formatted = Symbol.for('message')
const splat = Symbol.for('splat')
const range = (count: number) => Array.from({ length: count }, (_, index) => index)

interface Given {
  logger?: winston.LoggerOptions
  transport?: Partial<LogferryTransportOptions>
  before?: winston.transport
}

/**
 * Returns a logger that has logged until lines may be reused. Later events are shipped in the order of their log calls.
 */
async function startLogging({ logger: options, transport: transportOptions, before }: Given = {}) {
  await knowFormat()
  const shipping = await startShipping()
  const { url: baseUrl, token } = shipping.emulator
  const transport = new LogferryTransport({ baseUrl, token, dataset: 'd', ...transportOptions } as never)
  const transports = before === undefined ? [transport] : [before, transport]
  const logger = winston.createLogger({ ...options, transports })
  const shipped = async () => {
    await once(logger.end(), 'finish')
    return shipping.emulator.lines('d').map(line => String(line).replace(/^\{"_time":"[^"]+",?/, '{'))
  }
  return Object.assign(shipping, { transport, logger, shipped })
}

let isKnown = false

/** Waits until the function of `format.json()` is loaded, which happens while the first events are logged. */
async function knowFormat(): Promise<void> {
  if (isKnown) return
  isKnown = true
  await using logging = await startLogging()
  await vi.waitUntil(async () => {
    logging.logger.info('x', { z: 1 })
    await logging.transport.shipper.flush()
    return logging.emulator.lines('d').some(line => String(line).includes('"message":"x","z":1'))
  })
}

const sorted = '{"a":1,"level":"info","message":"x","z":{"b":[1,null],"y":2}}'
const asLogged = '{"z":{"y":2,"b":[1,null]},"a":1,"level":"info","message":"x"}'
const meta = () => ({ z: { y: 2, b: [1, null] }, a: 1 })

describe('the line of format.json()', () => {
  it.each([
    ['is the whole format', { format: format.json() }],
    ['is what Winston does when it is given no format', {}],
  ])('is shipped unchanged if it %s', async (_, logger) => {
    await using logging = await startLogging({ logger })
    logging.logger.info('x', meta())
    expect(await logging.shipped()).toEqual([sorted])
  })

  it('is shipped for child loggers and with default metadata', async () => {
    await using logging = await startLogging({ logger: { defaultMeta: { z: 0 } } })
    logging.logger.child({ k: 1 }).info('x', { b: 2 })
    expect(await logging.shipped()).toEqual(['{"b":2,"k":1,"level":"info","message":"x","z":0}'])
  })

  it('has the meaning of the event, for any plain data', async () => {
    await using logging = await startLogging({ transport: { maxBatchAgeMs: 60_000 } })
    const values = fc.sample(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 4, noUnicodeString: false })), 100)
    const dates = [new Date(0), new Date(8.64e15)]
    const numbers = [Number.NaN, Number.POSITIVE_INFINITY, -0, 1e21, 1e-7, 0.1 + 0.2]
    const texts = ['\ud800', 'a\udc00b', '\u2028', '"\\\n\u0000\u007f', '😀']
    const metas = [...values, ...[dates, numbers, texts, [undefined]].map(given => ({ given }))]
    for (const given of metas) logging.logger.info('x', { given })
    const lines = await logging.shipped()
    expect(lines.map(line => JSON.parse(line))).toEqual(
      metas.map(given => JSON.parse(JSON.stringify({ given, level: 'info', message: 'x' }))),
    )
  })
})

describe('the line of another format', () => {
  const printf = (print: (info: winston.Logform.TransformableInfo) => string) => format.printf(print)
  const { combine } = format
  it.each<[string, winston.Logform.Format]>([
    ['JSON of another object', printf(() => '{"level":"info","message":"other"}')],
    ['JSON that leaves something out', printf(({ level, message }) => JSON.stringify({ level, message }))],
    ['what looks like JSON', printf(() => '{"a":1,"level":"info",}')],
    ['two lines', printf(() => '{"a":1}\n{"b":2}')],
    ['text', format.simple()],
    [
      'JSON, printed before it',
      combine(
        format.json(),
        printf(() => '{}'),
      ),
    ],
    ['JSON, with more formats before', combine(format.splat(), format.json())],
    ['JSON with a replacer', format.json({ replacer: () => undefined })],
    ['JSON with white space', format.json({ space: 2 })],
    ['JSON cut by depth', format.json({ maximumDepth: 1 } as never)],
  ])('%s: the event itself is shipped', async (_, loggerFormat) => {
    await using logging = await startLogging({ logger: { format: loggerFormat } })
    logging.logger.info('x', meta())
    expect(await logging.shipped()).toEqual([asLogged])
  })

  it('of the transport itself: the result of that format is shipped', async () => {
    const ownFormat = format(info => Object.assign(info, { a: 2, [formatted]: '{"a":3}' }))()
    await using logging = await startLogging({ transport: { format: ownFormat } })
    logging.logger.info('x', meta())
    expect(await logging.shipped()).toEqual([asLogged.replace('"a":1', '"a":2')])
  })

  it('set on the logger later: from then on the event itself is shipped', async () => {
    await using logging = await startLogging()
    logging.logger.info('x', meta())
    logging.logger.format = printf(() => '{}')
    logging.logger.info('x', meta())
    expect(await logging.shipped()).toEqual([sorted, asLogged])
  })

  it('of another logger that shares the transport: the event itself is shipped', async () => {
    await using logging = await startLogging()
    const other = winston.createLogger({ format: printf(() => '{}'), transports: [logging.transport] })
    other.info('x', meta())
    logging.logger.info('x', meta())
    expect(await logging.shipped()).toEqual([asLogged, sorted])
  })
})

describe('the event itself is shipped', () => {
  it.each<[string, object, string]>([
    ['an Error', { e: new RangeError('no') }, '"name":"RangeError","message":"no"'],
    ['a Map', { m: new Map([['k', 1]]) }, '"m":{"k":1}'],
    ['bytes', { b: Buffer.from('abc') }, '"b":"YWJj"'],
    ['a BigInt', { n: 12n }, '"n":"12"'],
    ['a function', { f: function named() {} }, '[Function named]'],
    ['an invalid date', { d: new Date(Number.NaN) }, '"d":"Invalid Date"'],
    ['an object that inherits', { o: Object.create({ toJSON: () => 'told' }) }, '"o":"told"'],
  ])('if it contains %s', async (_, given, expected) => {
    await using logging = await startLogging()
    logging.logger.info('x', { z: 1, a: 2, ...given })
    expect(await logging.shipped()).toEqual([expect.stringMatching(/^\{"z":1,"a":2,/)])
    expect(logging.emulator.lines('d')[0]).toContain(expected)
  })

  it('if it is larger than allowed, cut and marked', async () => {
    await using logging = await startLogging({ transport: { maxEventBytes: 512 } })
    logging.logger.info('x', { text: 'é'.repeat(300) })
    await logging.shipped()
    expect(logging.emulator.events('d')).toMatchObject([{ message: 'x', logferry: { cut: true } }])
  })

  it('with the ids of the active span', async () => {
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
    await using logging = await startLogging()
    const spanContext = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331', traceFlags: 1 }
    context.with(trace.setSpanContext(context.active(), spanContext), () => logging.logger.info('x', meta()))
    context.disable()
    await logging.shipped()
    expect(logging.emulator.events('d')).toMatchObject([{ a: 1, trace_id: spanContext.traceId, trace_flags: '01' }])
  })

  it('with arguments that Winston lost', async () => {
    await using logging = await startLogging()
    logging.logger.info('x', meta(), 'lost')
    await logging.shipped()
    expect(logging.emulator.events('d')).toMatchObject([{ a: 1, splat: ['lost'] }])
  })

  it('with its own timestamp', async () => {
    await using logging = await startLogging()
    logging.logger.info('x', { _time: '2026-01-01T00:00:00Z', a: 1 })
    expect(await logging.shipped()).toEqual(['{"a":1,"level":"info","message":"x"}'])
    expect(logging.emulator.events('d')).toMatchObject([{ _time: '2026-01-01T00:00:00Z' }])
  })

  it('if the `dataset` function may change the event', async () => {
    const dataset = (event: Record<string, unknown>) => {
      delete event.a
      return 'd'
    }
    await using logging = await startLogging({ transport: { dataset: dataset as never } })
    logging.logger.info('x', meta())
    expect(await logging.shipped()).toEqual([asLogged.replace('"a":1,', '')])
  })

  it('if another transport comes first, which may change the info', async () => {
    class Changing extends TransportStream {
      override log(info: Record<symbol, unknown>, next: () => void): void {
        info[formatted] = '{"changed":'
        next()
      }
    }
    await using logging = await startLogging({ before: new Changing() })
    logging.logger.info('x', meta())
    expect(await logging.shipped()).toEqual([asLogged])
  })

  it('if another listener receives the info of the logger', async () => {
    await using logging = await startLogging()
    logging.logger.prependListener('data', info => Object.assign(info, { [formatted]: '{"changed":' }))
    logging.logger.info('x', meta())
    expect(await logging.shipped()).toEqual([asLogged])
  })

  it('if it does not come from the logger', async () => {
    await using logging = await startLogging()
    const info = { z: 1, a: 2, level: 'info', message: 'x', [Symbol.for('level')]: 'info', [splat]: [{}] }
    logging.transport.write({ ...info, [formatted]: '{"not":' })
    logging.transport.log({ ...info, [formatted]: '{"not":' })
    const line = '{"z":1,"a":2,"level":"info","message":"x"}'
    expect(await logging.shipped()).toEqual([line, line])
  })

  it('if the application logs its own object, whatever its accessors return', async () => {
    await using logging = await startLogging()
    const hostile = Object.defineProperty({ z: 1, a: 2, message: 'x' }, formatted, {
      get: () => '{"not":',
      set: () => {},
    })
    logging.logger.info(hostile as never)
    expect(await logging.shipped()).toEqual(['{"z":1,"a":2,"message":"x","level":"info"}'])
  })

  it('if it is unknown whether there is a line, and nothing throws', async () => {
    await using logging = await startLogging()
    const throwing = Object.defineProperty({ level: 'info', message: 'x' }, formatted, {
      get: () => {
        throw new Error('no')
      },
    })
    expect(() => logging.transport.log(throwing)).not.toThrow()
    const orphan = new LogferryTransport({ shipper: logging.transport.shipper })
    orphan.log({ level: 'info', message: 'y', [formatted]: '{' })
    expect(await logging.shipped()).toEqual(['{"level":"info","message":"x"}', '{"level":"info","message":"y"}'])
  })

  it('unchanged, with many events at once', async () => {
    await using logging = await startLogging()
    for (const n of range(5000)) logging.logger.info('x', { n, z: [n], a: `${n}` })
    await logging.shipped()
    const events = logging.emulator.events('d').sort((a, b) => Number(a.n) - Number(b.n))
    expect(events.map(({ _time, ...event }) => event)).toEqual(
      range(5000).map(n => ({ a: `${n}`, level: 'info', message: 'x', n, z: [n] })),
    )
  })
})
