import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, it, vi } from 'vitest'
import winston from 'winston'
import { createShipper } from '../src/index.ts'
import { openBatchBytes } from '../src/stack-reserve.ts'
import { LogferryTransport, type LogferryTransportOptions } from '../src/winston.ts'
import { inLastFrameWith } from './support/in-last-frame.ts'
import { runScript } from './support/run-script.ts'
import { startShipping } from './support/shipping.ts'
import { until } from './support/until.ts'

const range = (count: number) => Array.from({ length: count }, (_, index) => index)

async function startLogging(options: Partial<LogferryTransportOptions> = {}, logger: winston.LoggerOptions = {}) {
  const shipping = await startShipping()
  const { url: baseUrl, token } = shipping.emulator
  const transport = new LogferryTransport({ baseUrl, token, dataset: 'd', ...options } as LogferryTransportOptions)
  return Object.assign(shipping, { transport, logger: winston.createLogger({ ...logger, transports: [transport] }) })
}

/** Ends a logger and waits for it, as an application does. */
const end = (logger: winston.Logger) => once(logger.end(), 'finish')

describe('a Winston logger', () => {
  it('ships level, message and nested metadata as logged', async () => {
    await using logging = await startLogging()
    logging.logger.info('order placed', { order: { id: 42, total: 99.5, lines: [{ sku: 'a' }] } })
    await end(logging.logger)
    expect(logging.emulator.events('d')).toEqual([
      {
        _time: expect.any(String),
        level: 'info',
        message: 'order placed',
        order: { id: 42, total: 99.5, lines: [{ sku: 'a' }] },
      },
    ])
  })

  it('ships 25,000 log calls once, unchanged, in order of time', { timeout: 60_000 }, async () => {
    await using logging = await startLogging()
    for (const n of range(25_000)) logging.logger.info('order placed', { n, order: { id: n, total: n / 4 } })
    await end(logging.logger)
    const events = logging.emulator.events('d').sort((a, b) => (String(a._time) < String(b._time) ? -1 : 1))
    expect(events).toHaveLength(25_000)
    for (const [n, { _time, ...event }] of events.entries()) {
      if (event.n !== n) expect.fail(`event ${n} is ${JSON.stringify(event)}`)
    }
    expect(events[24_999]).toMatchObject({
      level: 'info',
      message: 'order placed',
      order: { id: 24_999, total: 24_999 / 4 },
    })
    expect(new Set(events.map(({ _time }) => _time)).size).toBe(25_000)
    expect(logging.transport.shipper.stats()).toMatchObject({
      accepted: 25_000,
      delivered: 25_000,
      dropped: 0,
      retries: 0,
    })
  })

  it('never changes the logged objects', async () => {
    await using logging = await startLogging()
    const meta = Object.freeze({ order: Object.freeze({ id: 1 }), err: Object.freeze(new Error('x')) })
    logging.logger.info('frozen', meta)
    await end(logging.logger)
    expect(logging.emulator.events('d')).toMatchObject([{ order: { id: 1 }, err: { message: 'x' } }])
  })

  it('ships the true level of a colored one, and obeys the level of the transport', async () => {
    await using logging = await startLogging({ level: 'warn' }, { level: 'silly', format: winston.format.colorize() })
    logging.logger.info('no')
    logging.logger.warn('yes')
    await end(logging.logger)
    expect(logging.emulator.events('d')).toMatchObject([{ level: 'warn', message: 'yes' }])
  })

  it('ships an error with its message, stack and cause, however it is logged', async () => {
    await using logging = await startLogging()
    const error = new TypeError('boom', { cause: new Error('root') })
    logging.logger.error(error)
    logging.logger.error('it failed', error)
    logging.logger.error('it failed', { err: error })
    logging.logger.log('error', error as never)
    await end(logging.logger)
    const events = logging.emulator.events('d')
    expect(events).toHaveLength(4)
    for (const event of events) {
      const text = JSON.stringify(event)
      expect(text).toContain('boom')
      expect(text).toContain('TypeError')
      expect(text).toContain('root')
    }
    expect(events[2]).toMatchObject({
      message: 'it failed',
      err: { name: 'TypeError', message: 'boom', cause: { message: 'root' } },
    })
  })

  it('ships a child logger’s metadata', async () => {
    await using logging = await startLogging()
    logging.logger.child({ requestId: 'r1' }).info('hello', { n: 1 })
    await end(logging.logger)
    expect(logging.emulator.events('d')).toMatchObject([{ message: 'hello', requestId: 'r1', n: 1 }])
  })

  it('ships the same with and without formats for other transports', async () => {
    const { format } = winston
    await using plain = await startLogging()
    await using formatted = await startLogging({}, { format: format.combine(format.splat(), format.json()) })
    for (const { logger } of [plain, formatted]) {
      logger.info('hello', { n: 1, nested: { deep: true } })
      await end(logger)
    }
    const [first, second] = [plain, formatted].map(({ emulator }) =>
      emulator.events('d').map(({ _time, ...event }) => event),
    )
    expect(first).toEqual(second)
  })

  it('applies a format of the transport’s own', async () => {
    await using logging = await startLogging({ format: winston.format(info => Object.assign(info, { extra: 1 }))() })
    logging.logger.info('hello')
    await end(logging.logger)
    expect(logging.emulator.events('d')).toMatchObject([{ message: 'hello', extra: 1 }])
  })

  it('applies the format of the transport to an Error with all its fields', async () => {
    await using logging = await startLogging({ format: winston.format.timestamp() })
    logging.logger.error(new TypeError('boom', { cause: new Error('root') }))
    await end(logging.logger)
    expect(logging.emulator.events('d')).toMatchObject([
      { level: 'error', name: 'TypeError', message: 'boom', cause: { message: 'root' }, timestamp: expect.any(String) },
    ])
  })

  it('keeps the level, the message and the metadata of the logger beside the result of a toJSON', async () => {
    const toJSON = function (this: { message: string; config: unknown }) {
      return { message: this.message, config: this.config, code: 'E_REQUEST', level: 'hidden' }
    }
    const failure = Object.assign(new Error('status 500'), { config: { url: '/pay' }, request: { socket: 1 }, toJSON })
    class Order {
      readonly message = 'order'
      readonly card = '1234'
      toJSON() {
        return { id: 42, _time: '2020-01-01T00:00:00Z' }
      }
    }
    await using logging = await startLogging(
      {},
      { defaultMeta: { service: 'shop' }, format: { transform: info => info } },
    )
    logging.logger.error('call failed', failure)
    logging.logger.warn(new Order() as object)
    logging.logger.info({ message: 'broken', card: '1234', toJSON: () => expect.unreachable('not now') })
    await end(logging.logger)
    const [called, ordered, broken] = logging.emulator.events('d')
    expect(called).toMatchObject({
      level: 'error',
      message: 'call failed status 500',
      stack: expect.stringContaining('status 500'),
      service: 'shop',
      config: { url: '/pay' },
      code: 'E_REQUEST',
      error: { name: 'Error', message: 'status 500' },
    })
    expect(called).not.toHaveProperty('request')
    expect(ordered).toEqual({ _time: '2020-01-01T00:00:00Z', level: 'warn', message: 'order', id: 42 })
    const body = expect.stringMatching(/^\[Throws: .*not now/)
    expect(broken).toEqual({ _time: expect.any(String), level: 'info', message: 'broken', body })
  })

  it('ships no field of an Error that a format removed or replaced', async () => {
    const fields = { password: 'hunter2', user: { id: 1, ssn: 'hunter3' }, config: { headers: ['hunter4'] } }
    class ToldError extends Error {
      toJSON() {
        return { ...this }
      }
    }
    const redact = winston.format(info => {
      info.password = '***'
      info.user = { id: 1 }
      delete info.config
      return info
    })
    await using logging = await startLogging({}, { format: winston.format.combine(redact(), winston.format.json()) })
    logging.logger.error('login failed', Object.assign(new Error('bad'), fields))
    logging.logger.error('login failed', Object.assign(new ToldError('bad'), fields))
    await end(logging.logger)
    expect(logging.emulator.events('d')).toMatchObject([{ password: '***' }, { password: '***' }])
    expect(logging.emulator.lines('d').join()).not.toContain('hunter')
  })

  it('ships no left-out argument that a format removes', async () => {
    const forget = winston.format(info => {
      delete info[Symbol.for('splat') as never]
      return info
    })
    await using kept = await startLogging()
    await using forgotten = await startLogging({}, { format: forget() })
    for (const { logger } of [kept, forgotten]) {
      logger.info('two', { one: 1 }, { password: 'hunter2' })
      logger.info('caf%c3%a9', { password: 'hunter3' })
      await end(logger)
    }
    expect(kept.emulator.events('d')).toMatchObject([{ one: 1 }, { splat: [{ password: 'hunter3' }] }])
    expect(forgotten.emulator.lines('d').join()).not.toMatch(/hunter|splat/)
  })

  it.each([{}, { handleExceptions: true, handleRejections: true }])(
    'ships metadata with `exception` or `rejection` (%j)',
    async options => {
      await using logging = await startLogging(options)
      const loan = { rejection: true }
      logging.logger.info('one', { exception: true })
      logging.logger.info('two', loan)
      await logging.transport.shipper.flush()
      await delay(20)
      logging.logger.info('three', loan)
      await end(logging.logger)
      expect(logging.emulator.events('d').map(({ message }) => message)).toEqual(['one', 'two', 'three'])
    },
  )

  it('can log any value', async () => {
    await using logging = await startLogging()
    const hostile = [
      undefined,
      null,
      0,
      10n,
      Symbol('s'),
      () => 1,
      Number.NaN,
      new Map([['a', 1]]),
      Object.create(null),
    ]
    for (const value of hostile) {
      expect(() => logging.logger.info(value as never)).not.toThrow()
      expect(() => logging.logger.info('with', { value })).not.toThrow()
    }
    await end(logging.logger)
    expect(logging.emulator.eventCount('d')).toBe(2 * hostile.length)
  })
})

describe('the transport as a stream', () => {
  it('calls back later for direct writes, as any stream does', async () => {
    await using logging = await startLogging()
    const { promise, resolve } = Promise.withResolvers<unknown>()
    let isLater = false
    logging.transport.write({ level: 'info', message: 'direct', [Symbol.for('level')]: 'info' }, () => resolve(isLater))
    isLater = true
    expect(await promise).toBe(true)
    await logging.transport.shipper.flush()
    expect(logging.emulator.eventCount('d')).toBe(1)
  })

  it('is shared by a logger for each of 25 modules without a warning of Node', async () => {
    await using logging = await startLogging()
    const { transport, emulator } = logging
    const warned = vi.fn()
    process.on('warning', warned)
    for (const n of range(24)) winston.createLogger({ transports: [transport] }).info('hello', { n })
    await transport.shipper.flush()
    process.off('warning', warned)
    expect(emulator.eventCount('d')).toBe(24)
    expect(warned).not.toHaveBeenCalled()
  })

  it('accepts events of another logger while the first waits for delivery at its end', async () => {
    await using logging = await startLogging()
    const { transport, emulator } = logging
    const other = winston.createLogger({ transports: [transport] })
    emulator.faults.latencyMs = 200
    logging.logger.info('first')
    const ended = end(logging.logger)
    await delay(50)
    other.info('second')
    await ended
    await transport.shipper.flush()
    expect(emulator.events('d').map(({ message }) => message)).toEqual(['first', 'second'])
  })

  it('gives the `log` of a subclass a callback, and waits for the callback at the end', async () => {
    await using shipping = await startShipping()
    const { url: baseUrl, token } = shipping.emulator
    class Enriched extends LogferryTransport {
      override log(info: object, next?: () => void): true {
        setTimeout(() => {
          super.log({ ...info, enriched: true }, next)
        }, 5)
        return true
      }
    }
    const logger = winston.createLogger({ transports: [new Enriched({ baseUrl, token, dataset: 'd' })] })
    for (const n of range(20)) logger.info('m', { n })
    await end(logger)
    const events = shipping.emulator.events('d')
    expect(events.map(({ n, enriched }) => [n, enriched])).toEqual(range(20).map(n => [n, true]))
  })

  it('ends by flushTimeoutMs if a subclass never calls back', async () => {
    await using shipping = await startShipping()
    class Silent extends LogferryTransport {
      override log(info: Record<string, unknown>): unknown {
        return super.log(info)
      }
    }
    const shipper = shipping.ship({ flushTimeoutMs: 200 })
    const logger = winston.createLogger({ transports: [new Silent({ shipper })] })
    for (const n of range(100)) logger.info('m', { n })
    await end(logger)
    await shipper.flush()
    expect(shipping.emulator.eventCount('d')).toBe(100)
  })

  it('drops an event for which a subclass throws, warns, and tolerates a repeated callback', async () => {
    await using shipping = await startShipping()
    const { url: baseUrl, token } = shipping.emulator
    class Failing extends LogferryTransport {
      override log(info: Record<string, unknown>, next?: () => void): true {
        if (info.message === 'bad') throw new Error('from the subclass')
        super.log(info, next)
        next?.()
        return true
      }
    }
    const transport = new Failing({ baseUrl, token, dataset: 'd' })
    const logger = winston.createLogger({ transports: [transport] })
    const warnings: string[] = []
    logger.on('error', () => expect.unreachable()).on('warn', ({ message }) => warnings.push(message))
    logger.info('bad')
    for (const n of range(3)) logger.info('good', { n })
    await end(logger)
    expect(transport.shipper.stats().drops).toEqual({ error: { info: 1 } })
    expect(warnings).toEqual([
      'logferry: 1 event could not be logged and is dropped (log() of a subclass of the transport: Error: from the subclass).',
    ])
    expect(shipping.emulator.events('d').map(({ message, n }) => [message, n])).toEqual(range(3).map(n => ['good', n]))
  })

  it('warns of a subclass that throws after the event is shipped, and counts no drop', async () => {
    await using shipping = await startShipping()
    const { url: baseUrl, token } = shipping.emulator
    class Failing extends LogferryTransport {
      override log(info: object, next?: () => void): never {
        super.log(info, next)
        throw new TypeError('afterwards')
      }
    }
    const transport = new Failing({ baseUrl, token, dataset: 'd' })
    const logger = winston.createLogger({ transports: [transport] })
    const warnings: string[] = []
    logger.on('warn', ({ message }) => warnings.push(message))
    logger.info('shipped')
    await end(logger)
    expect(shipping.emulator.eventCount('d')).toBe(1)
    expect(transport.shipper.stats().drops).toEqual({})
    expect(warnings).toEqual(['logferry: log() of a subclass of the transport threw TypeError. Delivery continues.'])
  })

  it('warns of an asynchronous `log` that rejects, and the process goes on', async () => {
    await using shipping = await startShipping()
    const { url: baseUrl, token } = shipping.emulator
    class Looking extends LogferryTransport {
      override async log(info: Record<string, unknown>, next?: () => void): Promise<void> {
        await null
        if (info.message === 'bad') throw new TypeError('not found')
        super.log({ ...info, found: true }, next)
      }
    }
    const logger = winston.createLogger({
      transports: [new Looking({ baseUrl, token, dataset: 'd', flushTimeoutMs: 5000 })],
    })
    const warnings: string[] = []
    logger.on('warn', ({ message }) => warnings.push(message))
    for (const message of ['good', 'bad', 'good']) logger.info(message)
    const startedAtMs = performance.now()
    await end(logger) // an unhandled rejection would fail the run of this test
    expect(performance.now() - startedAtMs).toBeLessThan(4000)
    expect(shipping.emulator.events('d').map(({ message, found }) => [message, found])).toEqual([
      ['good', true],
      ['good', true],
    ])
    expect(warnings).toEqual([
      'logferry: log() of a subclass of the transport failed with TypeError. Delivery continues.',
    ])
  })

  it('warns of an error that a subclass passes to the callback, and goes on', async () => {
    await using shipping = await startShipping()
    const { url: baseUrl, token } = shipping.emulator
    class Failing extends LogferryTransport {
      override log(info: Record<string, unknown>, next?: (error?: Error) => void): unknown {
        return info.message === 'bad' ? next?.(new TypeError('with logged data')) : super.log(info, next)
      }
    }
    const logger = winston.createLogger({ transports: [new Failing({ baseUrl, token, dataset: 'd' })] })
    const warnings: string[] = []
    logger
      .on('error', () => expect.unreachable())
      .on('warn', ({ code, message }) => warnings.push(`${code} ${message}`))
    for (const message of ['good', 'bad', 'good']) logger.info(message)
    await end(logger)
    expect(shipping.emulator.events('d').map(({ message }) => message)).toEqual(['good', 'good'])
    const text = 'logferry: log() of a subclass of the transport failed with TypeError. Delivery continues.'
    expect(warnings).toEqual([`LOGFERRY_CALLBACK_THREW ${text}`])
  })

  it("repeats a 'warn' event of a subclass to the logger, as any transport of Winston does", async () => {
    await using shipping = await startShipping()
    const { url: baseUrl, token } = shipping.emulator
    const transport = new (class extends LogferryTransport {})({ baseUrl, token, dataset: 'd' })
    const logger = winston.createLogger({ transports: [transport] })
    const heard: unknown[][] = []
    logger.on('warn', (...values) => heard.push(values))
    const error = new Error('of the subclass')
    expect(transport.emit('warn', error)).toBe(true)
    expect(heard).toEqual([[error, transport]])
    logger.close()
  })

  it("goes on after a listener for 'logged' throws, and warns of it", async () => {
    await using logging = await startLogging()
    const { logger, transport } = logging
    const warnings: string[] = []
    transport.on('warn', ({ message }: Error) => warnings.push(message))
    transport.on('logged', () => {
      throw new RangeError('of the application')
    })
    for (const count of [1, 2]) {
      transport.cork()
      for (const n of range(count)) logger.info('corked', { n })
      transport.uncork()
    }
    logger.info('uncorked')
    await transport.shipper.flush()
    expect(transport.shipper.stats()).toMatchObject({ accepted: 4, delivered: 4 })
    expect(warnings).toEqual(["logferry: a listener for 'logged' threw RangeError. Delivery continues."])
  })

  it('buffers while it is corked, and ships the buffer when it is uncorked or ends', async () => {
    await using logging = await startLogging({ format: winston.format(info => (info.drop ? false : info))() })
    const { logger, transport, emulator } = logging
    transport.cork()
    for (const n of range(5)) logger.info('corked', { n, drop: n === 3 })
    logger.error(new TypeError('corked'))
    expect(transport.shipper.stats().accepted).toBe(0)
    transport.uncork()
    expect(transport.shipper.stats().accepted).toBe(5)
    logger.info('uncorked')
    transport.cork()
    logger.info('last')
    await end(logger)
    expect(emulator.events('d')).toMatchObject([
      ...[0, 1, 2, 4].map(n => ({ message: 'corked', n })),
      { message: 'corked', name: 'TypeError' },
      { message: 'uncorked' },
      { message: 'last' },
    ])
  })

  it('ends if its format throws at buffered infos, and counts them as dropped', async () => {
    const format = winston.format(info => {
      if (info.message === 'bad') throw new Error('from the format')
      return info
    })
    await using logging = await startLogging({ format: format() })
    const { logger, transport, emulator } = logging
    logger.on('warn', () => {})
    transport.cork()
    for (const message of ['good', 'bad', 'good']) logger.info(message)
    transport.uncork()
    await end(logger)
    expect(emulator.eventCount('d')).toBe(2)
    expect(transport.shipper.stats().drops).toEqual({ error: { info: 1 } })
  })

  it('passes all infos of a corked stream to the `logv` of a subclass at once', async () => {
    await using logging = await startLogging()
    const taken: unknown[] = []
    logging.transport.logv = (infos: unknown[], next: () => void) => {
      taken.push(infos.length)
      next()
    }
    logging.transport.cork()
    for (const n of range(3)) logging.logger.info('m', { n })
    logging.transport.uncork()
    expect(taken).toEqual([3])
    await end(logging.logger)
  })

  it('never asks a logger to wait, however much is logged at once', async () => {
    await using logging = await startLogging()
    for (const n of range(10_000)) logging.logger.info('m', { n })
    expect([logging.logger.writableLength, logging.transport.writableLength]).toEqual([0, 0])
    await end(logging.logger)
    expect(logging.emulator.eventCount('d')).toBe(10_000)
  })

  it.each([
    ['a promise', async (info: object) => Promise.reject(info)],
    ['a string', ({ message }: { message: string }) => message],
  ])('drops an event whose format returns %s, and says so', async (kind, transform) => {
    await using logging = await startLogging({ format: { transform } as never })
    const warned: string[] = []
    logging.logger.on('warn', ({ message }) => warned.push(message))
    logging.logger.info('no info')
    await end(logging.logger)
    expect(logging.transport.shipper.stats()).toMatchObject({ accepted: 1, drops: { error: { info: 1 } } })
    expect(warned[0]).toContain(`(the format of the transport: TypeError: ${kind} was returned, not an info)`)
  })

  it('drops an event for which its own format throws, warns, and lets other transports have the event', async () => {
    const format = {
      transform: (info: winston.Logform.TransformableInfo) => {
        if (info.message === 'bad') throw new Error('from the format')
        return info
      },
    }
    await using logging = await startLogging({ format })
    const { logger, transport, emulator } = logging
    const others: unknown[] = []
    const stream = new Writable({ objectMode: true, write: ({ message }, _, next) => next(void others.push(message)) })
    logger.add(new winston.transports.Stream({ stream }))
    const warnings: string[] = []
    logger.on('warn', ({ message }) => warnings.push(message))
    for (const message of ['bad', 'good']) logger.info(message)
    await end(logger)
    expect(emulator.events('d').map(({ message }) => message)).toEqual(['good'])
    expect(others).toEqual(['bad', 'good'])
    expect(transport.shipper.stats().drops).toEqual({ error: { info: 1 } })
    expect(warnings).toEqual([
      'logferry: 1 event could not be logged and is dropped (the format of the transport: Error: from the format).',
    ])
  })
})

describe('the end of a logger', () => {
  it('close() delivers, and the transport works when it is added again', async () => {
    await using logging = await startLogging()
    const { logger, transport, emulator } = logging
    for (const n of range(100)) logger.info('before', { n })
    logger.close()
    await emulator.waitForEvents('d', 100)
    logger.add(transport)
    logger.info('after')
    await end(logger)
    expect(emulator.eventCount('d')).toBe(101)
  })

  it('close() delivers where the stack is nearly used up, too', async () => {
    await using logging = await startLogging({ maxBatchAgeMs: 60_000 })
    const { logger, transport, emulator } = logging
    logger.info('before')
    inLastFrameWith(openBatchBytes, () => transport.close())
    await emulator.waitForEvents('d', 1)
  })

  it('with a transport put back by configure() during an outage loses no event, however long the outage', async () => {
    await using logging = await startLogging({ flushTimeoutMs: 100, maxRetryDelayMs: 50 })
    const { logger, transport, emulator } = logging
    emulator.faults.answerNext(Number.POSITIVE_INFINITY, { status: 503 })
    logger.on('warn', () => {})
    logger.info('before')
    logger.configure({ transports: [transport] })
    logger.info('after')
    await delay(300)
    emulator.faults.clear()
    await transport.shipper.flush({ timeoutMs: 5000 })
    const messages = emulator.events('d').map(({ message }) => message)
    expect(messages.sort()).toEqual(['after', 'before']) // batches that fail take turns with others
  })

  it('with a transport that is put back and removed again loses no event by the first removal', async () => {
    await using logging = await startLogging({ flushTimeoutMs: 5000, maxRetryDelayMs: 50 })
    const { logger, transport, emulator } = logging
    logger.on('warn', () => {})
    emulator.faults.latencyMs = 200
    logger.info('before')
    logger.remove(transport)
    emulator.faults.rejectRequests(({ message }) => message === 'after', { status: 503 })
    logger.add(transport)
    logger.info('after')
    logger.remove(transport)
    await delay(500) // the first removal has ended its flush
    emulator.faults.clear()
    await emulator.waitForEvents('d', 2)
    expect(transport.shipper.stats().drops).toEqual({})
  })

  it('with a transport removed for good gives up after flushTimeoutMs, and warns', async () => {
    await using logging = await startLogging({ flushTimeoutMs: 100, maxRetryDelayMs: 50 })
    const { logger, transport, emulator } = logging
    emulator.faults.answerNext(Number.POSITIVE_INFINITY, { status: 503 })
    const warned: string[] = []
    transport.on('warn', ({ message }) => warned.push(message))
    logger.info('before')
    logger.remove(transport)
    await delay(300)
    expect(transport.shipper.stats().drops).toEqual({ closed: { info: 1 } })
    expect(warned.at(-1)).toContain('1 event could not be delivered in time')
  })

  it('with a transport removed for good leaves its shipper to other loggers, also in an outage', async () => {
    await using logging = await startLogging({ flushTimeoutMs: 100, maxRetryDelayMs: 50 })
    const { logger, transport, emulator } = logging
    const { shipper } = transport
    const other = winston.createLogger({ transports: [new LogferryTransport({ shipper })] })
    emulator.faults.answerNext(Number.POSITIVE_INFINITY, { status: 503 })
    logger.info('before')
    logger.remove(transport)
    other.info('by another logger')
    await delay(300)
    emulator.faults.clear()
    expect(await shipper.flush({ timeoutMs: 5000 })).toEqual({ complete: true, pending: 0 })
    expect(shipper.stats().drops).toEqual({})
    expect(emulator.eventCount('d')).toBe(2)
  })

  it('with a transport removed for good drops no event for which its shipper is waiting', async () => {
    await using logging = await startLogging()
    const { logger, transport, emulator } = logging
    emulator.faults.latencyMs = 100
    logger.info('before')
    logger.remove(transport)
    const confirmed: Promise<void>[] = []
    for (const n of range(20)) {
      confirmed.push(transport.shipper.shipAndConfirm({ message: 'role granted', n }))
      await delay(10)
    }
    await Promise.all(confirmed)
    expect(emulator.eventCount('d')).toBe(21)
  })

  it('with a transport removed for good closes its shipper, also if the shipper has made an event meanwhile', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'logferry-removed-'))
    const locks = () => readdirSync(directory, { recursive: true }).filter(name => String(name).endsWith('lock'))
    await using logging = await startLogging({
      spool: { directory },
      durability: 'disk',
      collapse: {},
      reportUsageEveryMs: 60_000,
    })
    const { logger, transport, emulator } = logging
    for (const n of range(2)) logger.info('the same', { n })
    expect(locks()).toHaveLength(1)
    logger.remove(transport)
    await until(() => locks().length === 0, 'the shipper releases the spool')
    expect(emulator.eventCount('d')).toBe(3) // the event, the one for its repetition, and the report
    await rm(directory, { recursive: true })
  })

  it('with a transport put back keeps the logger’s level and levels', async () => {
    await using logging = await startLogging({}, { level: 'info' })
    const { logger, transport, emulator } = logging
    logger.remove(transport).add(transport)
    expect(transport.parent).toBe(logger)
    logger.debug('below the level')
    logger.info('on it')
    await end(logger)
    expect(emulator.events('d').map(({ message }) => message)).toEqual(['on it'])
  })

  it('with a transport shared by two loggers follows the remaining logger', async () => {
    await using logging = await startLogging({}, { level: 'debug' })
    const { logger, transport, emulator } = logging
    const other = winston.createLogger({ level: 'warn', transports: [transport] })
    logger.remove(transport)
    other.info('below its level')
    other.warn('on it')
    await end(other)
    expect(emulator.events('d').map(({ message }) => message)).toEqual(['on it'])
  })

  it('remove() delivers', async () => {
    await using logging = await startLogging()
    logging.logger.info('before')
    logging.logger.remove(logging.transport)
    await logging.emulator.waitForEvents('d', 1)
  })

  it('end() ends by flushTimeoutMs when the service is down', async () => {
    await using logging = await startLogging({ flushTimeoutMs: 200, exitTimeoutMs: 0 })
    logging.emulator.faults.answerNext(Number.POSITIVE_INFINITY, { status: 503 })
    logging.logger.on('warn', () => {})
    logging.logger.info('never')
    const startedAt = performance.now()
    await end(logging.logger)
    expect(performance.now() - startedAt).toBeLessThan(2000)
  })

  it('leaves a shared shipper open', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship()
    const first = winston.createLogger({ transports: [new LogferryTransport({ shipper })] })
    const second = winston.createLogger({ transports: [new LogferryTransport({ shipper })] })
    first.info('one')
    await end(first)
    second.info('two')
    await end(second)
    expect(shipping.emulator.events('d').map(({ message }) => message)).toEqual(['one', 'two'])
  })
})

describe('delivery trouble', () => {
  it('is a warn event of the logger, never an error event, and the logger keeps working', async () => {
    await using logging = await startLogging()
    const { logger, emulator, transport } = logging
    const token = emulator.addToken({ kind: 'api', actions: ['ingest'], datasets: ['other'] })
    const limited = new LogferryTransport({
      baseUrl: emulator.url,
      token,
      dataset: 'd',
      flushTimeoutMs: 300,
      exitTimeoutMs: 0,
    })
    logger.add(limited)
    const warned: [Error, unknown][] = []
    logger.on('warn', (error, from) => warned.push([error, from]))
    logger.on('error', () => expect.unreachable())
    for (const n of range(50)) logger.info('hello', { n })
    await limited.shipper.flush({ timeoutMs: 300 })
    expect(warned).toHaveLength(1)
    expect(warned[0]?.[0]).toMatchObject({
      code: 'LOGFERRY_PAUSED',
      message: expect.stringContaining('Check that the token'),
    })
    expect(warned[0]?.[1]).toBe(limited)
    await transport.shipper.flush()
    expect(emulator.eventCount('d')).toBe(50)
    expect(limited.shipper.stats()).toMatchObject({ accepted: 50, pending: 50 })
  })

  it.each([
    ['its own', { level: 'WARN' }, {}],
    ['its logger’s', {}, { level: 'WARN' }],
  ])('includes an unknown level (%s), with which Winston would silently ship nothing', async (_, options, logger) => {
    const warned = once(process, 'warning')
    await using logging = await startLogging(options, logger)
    expect((await warned)[0]).toMatchObject({
      code: 'LOGFERRY_INVALID_OPTION',
      message: expect.stringMatching(/`level` must be one of the logger's levels \(error, warn, .*got "WARN"/),
    })
    logging.logger.close()
  })

  it.each([
    ['the logger', `logger.on('warn', heard)`],
    ['the transport', `transport.on('warn', heard)`],
    ['the shipper', `transport.shipper.on('warning', heard)`],
  ])('is no process warning if %s has a listener', async (_, listen) => {
    await using shipping = await startShipping()
    const { code, stderr, stdout } = await runScript(
      `import winston from 'winston'
       import { LogferryTransport } from 'logferry/winston'
       const transport = new LogferryTransport({ dataset: 'd', exitTimeoutMs: 300 })
       const logger = winston.createLogger({ transports: [transport] })
       const heard = ({ code }) => console.log(code)
       ${listen}
       logger.info('hello')`,
      { LOGFERRY_URL: shipping.emulator.url, LOGFERRY_TOKEN: 'wrong' },
    )
    expect([code, stdout, stderr]).toEqual([0, 'LOGFERRY_PAUSED\nLOGFERRY_DROPPED\n', ''])
  })

  it.each([
    ['another logger of the transport', 'const logger = other', 'PAUSED DROPPED'],
    ['the logger that the transport has moved to', 'const logger = other; first.remove(transport)', 'PAUSED DROPPED'],
    [
      'the logger from which the transport is removed',
      'const logger = first; other.remove(transport); setTimeout(() => first.close(), 200)',
      'PAUSED DROPPED',
    ],
    [
      'the transport, for one warning,',
      `const logger = winston.createLogger({ transports: [transport] }); transport.once('warn', heard)`,
      'PAUSED',
      ['DROPPED'],
    ],
  ])('is no process warning if %s has a listener', async (_, loggers, heard, printed: string[] = []) => {
    await using shipping = await startShipping()
    const isOnLogger = printed.length === 0
    const { code, stderr, stdout } = await runScript(
      `import winston from 'winston'
       import { LogferryTransport } from 'logferry/winston'
       const transport = new LogferryTransport({ dataset: 'd', exitTimeoutMs: 300, flushTimeoutMs: 300 })
       const first = winston.createLogger({ transports: [transport] })
       const other = winston.createLogger({ transports: [transport] })
       const heard = ({ code }) => console.log(code.replace('LOGFERRY_', ''))
       ${loggers}
       ${isOnLogger ? `logger.on('warn', heard)` : ''}
       logger.info('hello')`,
      { LOGFERRY_URL: shipping.emulator.url, LOGFERRY_TOKEN: 'wrong' },
    )
    expect([code, stdout.trim().replaceAll('\n', ' ')]).toEqual([0, heard])
    expect(Array.from(stderr.matchAll(/\[LOGFERRY_(\w+)\]/g), ([, name]) => name)).toEqual(printed)
  })

  it('is a process warning without listeners', async () => {
    await using shipping = await startShipping()
    const { code, stderr, stdout } = await runScript(
      `import winston from 'winston'
       import { LogferryTransport } from 'logferry/winston'
       const logger = winston.createLogger({ transports: [new LogferryTransport({ dataset: 'd', exitTimeoutMs: 300 })] })
       logger.info('hello')`,
      { LOGFERRY_URL: shipping.emulator.url, LOGFERRY_TOKEN: 'wrong' },
    )
    expect([code, stdout]).toEqual([0, ''])
    expect(stderr).toMatch(/\[LOGFERRY_PAUSED\] LogferryWarning: logferry: delivery to dataset "d" is paused.*403/)
    expect(stderr).toMatch(/1 event could not be delivered within 300 ms/)
    expect(stderr).not.toContain('wrong')
  })
})

describe('invalid options', () => {
  it.each<[string, object, RegExp]>([
    ['an object that is not a shipper', { shipper: {} }, /`shipper` must be a shipper that createShipper\(\) returned/],
    [
      'a shipper and options for one',
      { shipper: createShipper({ baseUrl: 'https://x.example', token: 't', dataset: 'd' }), dataset: 'e' },
      /`dataset` must be given to createShipper\(\)/,
    ],
    [
      'an unknown name',
      { baseUrl: 'https://x.example', token: 't', dataset: 'd', datset: 'e' },
      /there is no option `datset`\. Did you mean `dataset`\?/,
    ],
    ['null in place of a shipper', { shipper: null }, /`shipper` must be a shipper .*; got null$/],
    ['a text in place of a shipper', { shipper: 'x' }, /`shipper` must be a shipper .*; got a string/],
    ['nothing', {}, /`dataset` must be/],
    [
      'a format that was not called',
      { format: winston.format.json },
      /`format` must be a format such as winston\.format\.json\(\), .*; got a function$/,
    ],
    ['a format by its name', { format: 'json' }, /`format` must be a format .*; got a string/],
    ['an object without a method transform', { format: {} }, /`format` must be a format .*; got an object$/],
    ['silent as a text of the environment', { silent: 'false' }, /`silent` must be true or false; got "false"$/],
    [
      'handleExceptions that is no boolean',
      { handleExceptions: 1 },
      /`handleExceptions` must be true or false; got 1$/,
    ],
    [
      'handleRejections that is no boolean',
      { handleRejections: 'no' },
      /`handleRejections` must be true or false; got "no"$/,
    ],
  ])('%s', (_, options, message) => {
    expect(() => new LogferryTransport(options as never)).toThrow(message)
  })

  it('a shipper of another copy of the package, such as before a reset of modules', async () => {
    vi.resetModules()
    const other = await import('../src/index.ts')
    const shipper = other.createShipper({ baseUrl: 'https://x.example', token: 't', dataset: 'd' }) as never
    expect(() => new LogferryTransport({ shipper })).toThrow(/; got one of another copy of logferry, which is /)
    expect(() => new LogferryTransport(shipper)).toThrow(/given by its name: { shipper }; got the shipper itself$/)
  })
})
