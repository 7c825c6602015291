import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import winston from 'winston'
import { LogferryTransport } from '../src/winston.ts'
import { startShipping } from './support/shipping.ts'

const { align, cli, combine, errors, json, logstash, metadata, prettyPrint, simple, splat, timestamp } = winston.format

/** Returns the events that arrive at the service for the log calls in `log`, with a format. */
async function arrived(format: winston.Logform.Format | undefined, log: (logger: winston.Logger) => void) {
  await using shipping = await startShipping()
  const transport = new LogferryTransport({ shipper: shipping.ship() })
  const logger = winston.createLogger({ ...(format && { format }), transports: [transport] })
  log(logger)
  await once(logger.end(), 'finish')
  const [event] = shipping.emulator.events('d')
  return event as Record<string, unknown>
}

const failure = () => Object.assign(new TypeError('boom', { cause: new RangeError('root') }), { code: 'E_BOOM' })
const cause = { name: 'RangeError', message: 'root', stack: expect.stringContaining('RangeError: root') }

class Secretive {
  readonly #a = 1
  toJSON() {
    return { a: this.#a }
  }
}

const withStack = errors({ stack: true })
const copy = winston.format(info => ({ ...info }))
const asIs = winston.format(info => info)()
const formats: Record<string, winston.Logform.Format | undefined> = {
  none: undefined,
  'errors({ stack }), json()': combine(withStack, json()),
  'timestamp(), errors({ stack }), json()': combine(timestamp(), withStack, json()),
  'errors({ stack, cause }), json()': combine(errors({ stack: true, cause: true }), json()),
  'errors({ stack }), splat(), json()': combine(withStack, splat(), json()),
  'errors({ stack }), prettyPrint()': combine(withStack, prettyPrint()),
  'errors({ stack }), simple()': combine(withStack, simple()),
  'errors({ stack }), metadata()': combine(withStack, metadata(), json()),
  'errors({ stack }), logstash()': combine(withStack, timestamp(), logstash()),
  'errors({ stack }), cli()': combine(withStack, align(), cli()),
  'logstash()': logstash(),
  'a copy of the fields': copy(),
}

describe.each(Object.entries(formats))('with %s', (name, format) => {
  it('an Error arrives with its name, message, code and cause', async () => {
    const event = await arrived(format, logger => logger.error(failure()))
    expect(event).toMatchObject({ name: 'TypeError', message: expect.stringContaining('boom'), cause })
    expect(JSON.stringify(event)).toContain('E_BOOM')
    if (!name.startsWith('a copy')) expect(JSON.stringify(event)).toContain('winston-formats.test') // its stack
  })

  it('an Error after a text arrives with its name, message, code and cause', async () => {
    const event = await arrived(format, logger => logger.error('context', failure()))
    const { cause: moved } = (event.metadata ?? {}) as { cause?: unknown }
    expect(event).toMatchObject({ message: expect.stringContaining('context boom'), error: { name: 'TypeError' } })
    expect(event.cause ?? moved).toMatchObject(cause)
  })

  it('an Error that a child logs arrives whole, except for the name after metadata()', async () => {
    const event = await arrived(format, logger => logger.child({ requestId: 'r' }).error(failure()))
    const told = { ...(event.metadata as object | undefined), ...event }
    expect(told).toMatchObject({ message: expect.stringContaining('boom'), requestId: 'r', cause })
    if (event.metadata === undefined) expect(event.name).toBe('TypeError')
  })

  it('the errors of an aggregate arrive', async () => {
    const event = await arrived(format, logger => logger.error(new AggregateError([failure()], 'all')))
    expect(event).toMatchObject({
      name: 'AggregateError',
      message: expect.stringContaining('all'),
      errors: [{ name: 'TypeError', message: 'boom', cause }],
    })
  })

  it('both errors of a SuppressedError arrive', async () => {
    const suppressed = () => new SuppressedError(failure(), new RangeError('root'), 'both')
    const event = await arrived(format, logger => logger.error(suppressed()))
    expect(event).toMatchObject({
      name: 'SuppressedError',
      error: { name: 'TypeError', message: 'boom', cause },
      suppressed: { name: 'RangeError', message: 'root' },
    })
    const beside = await arrived(format, logger => logger.error('context', suppressed()))
    expect(beside.error).toMatchObject({ message: 'both', error: { message: 'boom' }, suppressed: { message: 'root' } })
  })

  it('an Error in a field arrives whole', async () => {
    const event = await arrived(format, logger => logger.error('context', { err: failure() }))
    const told = { ...(event.metadata as object | undefined), ...event }
    expect(told).toMatchObject({ err: { name: 'TypeError', message: 'boom', code: 'E_BOOM', cause } })
  })

  it('an Error in a field after a text with a token arrives whole', async () => {
    const event = await arrived(format, logger => logger.error('order %s failed', 7, { err: failure() }))
    const [, left] = (event.splat ?? []) as object[]
    const told = { ...(event.metadata as object | undefined), ...event, ...left }
    expect(told).toMatchObject({ err: { name: 'TypeError', message: 'boom', code: 'E_BOOM', cause } })
  })

  it.each<[string, object, unknown]>([
    ['a Map', new Map([['a', 1]]), { a: 1 }],
    ['a Set', new Set([1]), [1]],
    ['a Date', new Date(0), '1970-01-01T00:00:00.000Z'],
    ['a URL', new URL('http://a.example/'), 'http://a.example/'],
    ['an object that tells by toJSON alone', new Secretive(), { a: 1 }],
  ])('%s after a text arrives in splat', async (_, argument, expected) => {
    const event = await arrived(format, logger => logger.info('text', argument))
    expect(event).toMatchObject({ message: expect.stringContaining('text'), splat: [expected] })
  })

  it('metadata arrives once, and nothing else', async () => {
    const {
      _time,
      timestamp: _,
      metadata: moved,
      ...event
    } = await arrived(format, logger => logger.info('m', { a: 1 }))
    expect({ ...(moved as object | undefined), ...event }).toEqual({
      level: 'info',
      message: expect.stringMatching(/^\s*m$/),
      a: 1,
    })
  })
})

describe('data that a format removes from an Error', () => {
  it('is not shipped: its stack, its own fields, and those of its cause', async () => {
    const inner = Object.assign(new Error('root'), { config: { headers: { authorization: 'hunter1' } } })
    const error = Object.assign(new Error('boom', { cause: inner }), { password: 'hunter2' })
    const format = combine(errors(), winston.format(({ password, ...info }) => info)())
    const event = await arrived(format, logger => logger.error(error))
    expect(event).toEqual({
      _time: expect.any(String),
      level: 'error',
      name: 'Error',
      message: 'boom',
      cause: { name: 'Error', message: 'root', stack: inner.stack },
    })
  })

  it.each(['cause', 'message'])('is not shipped: a %s set to undefined', async name => {
    const mask = winston.format(info => Object.assign(info, { [name]: undefined }))
    const event = await arrived(combine(withStack, mask()), logger => logger.error(failure()))
    expect(event).not.toHaveProperty(name)
  })

  it('is not shipped: a cause that is masked where format.metadata() has moved it', async () => {
    const mask = winston.format(info => Object.assign(info, { metadata: { cause: '***' } }))
    const format = combine(errors({ stack: true, cause: true }), metadata(), mask())
    const event = await arrived(format, logger => logger.error(failure()))
    expect(event).toMatchObject({ name: 'TypeError', message: 'boom', metadata: { cause: '***' } })
    expect(event).not.toHaveProperty('cause')
  })

  it('is not restored from another Error that the logger handles', async () => {
    await using shipping = await startShipping()
    const transport = new LogferryTransport({ shipper: shipping.ship() })
    const format = combine(withStack, json())
    const [first, second] = [1, 2].map(() => winston.createLogger({ format, transports: [transport] }))
    const nosy = Object.defineProperty(failure(), 'nosy', {
      enumerable: true,
      get: () => second?.error(new Error('inner')),
    })
    first?.error(nosy)
    await transport.shipper.flush()
    const inner = shipping.emulator.events('d').filter(({ message }) => message === 'inner')
    expect(inner.length).toBeGreaterThan(0)
    for (const event of inner) expect(event).not.toHaveProperty('cause')
  })
})

describe('an argument of a class with a toJSON', () => {
  class User {
    readonly id = 7
    readonly passwordHash = 'secret'
    toJSON() {
      return { id: this.id, message: 'hidden', level: 'hidden' }
    }
  }
  const anyTime = { _time: expect.any(String), level: 'info' }

  it.each([
    ['no format', undefined],
    ['splat(), json()', combine(splat(), json())],
    ['timestamp(), json()', combine(timestamp({ format: () => 'now' }), json())],
  ])('is shipped as that method tells it, with %s', async (name, format) => {
    const time = name.startsWith('timestamp') ? { timestamp: 'now' } : {}
    const event = await arrived(format, logger => logger.info('signed in', new User()))
    expect(event).toEqual({ ...anyTime, ...time, message: 'signed in', id: 7 })
  })

  it('is shipped so where format.metadata() has moved it', async () => {
    const event = await arrived(metadata(), logger => logger.info('signed in', new User()))
    expect(event).toEqual({ ...anyTime, message: 'signed in', metadata: { id: 7, level: 'hidden' } })
    const failed = await arrived(metadata(), logger => logger.error('call failed', new RequestError('refused')))
    expect(failed.metadata).toEqual({ stack: told.stack, code: told.code, config: told.config })
  })

  it.each([
    ['under another name', { key: 'meta' }, { meta: { id: 7, level: 'hidden' } }],
    ['but for some', { fillExcept: ['level', 'message', 'id'] }, { metadata: { id: 7, level: 'hidden' } }],
    ['in part', { fillWith: ['id'] }, { metadata: { id: 7, level: 'hidden' } }],
  ])('is shipped so where format.metadata() has moved its fields %s', async (_, options, expected) => {
    const event = await arrived(metadata(options), logger => logger.info('signed in', new User()))
    expect(event).toEqual({ ...anyTime, message: 'signed in', ...expected })
    const failed = await arrived(metadata({ key: 'meta' }), logger =>
      logger.error('failed', new RequestError('refused')),
    )
    expect(failed.meta).toEqual({ stack: told.stack, code: told.code, config: told.config })
  })

  it('is shipped so if the result of the method cannot be read', async () => {
    class Broken extends User {
      override toJSON() {
        return Object.defineProperty({ id: 7, message: '', level: '' }, 'id', { get: () => expect.unreachable('now') })
      }
    }
    const event = await arrived(undefined, logger => logger.info('signed in', new Broken()))
    const id = expect.stringMatching(/^\[Throws: .*now/)
    expect(event).toEqual({ ...anyTime, message: 'signed in', body: { id, message: '', level: '' } })
  })

  it('does not show what a format has set, nor the metadata of the logger', async () => {
    class Account {
      readonly id = 7
      toJSON() {
        return { id: this.id, password: 'secret', service: 'hidden', message: 'hidden' }
      }
    }
    const masked = winston.format(info => Object.assign(info, { password: '***' }))()
    const shop = { service: 'shop' }
    const event = await arrived(masked, logger => logger.child(shop).info('signed in', new Account()))
    expect(event).toEqual({ ...anyTime, message: 'signed in', id: 7, password: '***', ...shop })
    const own = { ...new Account(), password: 'secret', toJSON: () => new Account().toJSON() }
    const other = await arrived(masked, logger => logger.child(shop).info('signed in', own))
    expect(other).toEqual({ ...anyTime, message: 'signed in', id: 7, password: '***', ...shop })
    const moved = await arrived(combine(masked, metadata()), logger => logger.info('signed in', own))
    expect(moved).toMatchObject({ ...anyTime, message: 'signed in', metadata: { id: 7, password: '***' } })
  })

  it('is shipped so beside other arguments, which are in splat', async () => {
    const event = await arrived(undefined, logger => logger.info('signed in', new User(), 'by token'))
    expect(event).toEqual({ ...anyTime, message: 'signed in', id: 7, splat: ['by token'] })
    const own = { passwordHash: 'secret', toJSON: () => ({ id: 7 }) }
    const other = await arrived(asIs, log => (log.info as (...args: unknown[]) => void)('signed in', own, 'by token'))
    expect(other).toEqual({ ...anyTime, message: 'signed in', id: 7, splat: ['by token'] })
  })

  it('is shipped as a format leaves it, if the format has changed one of its fields', async () => {
    const masked = winston.format(info => Object.assign(info, { id: '***' }))()
    const event = await arrived(masked, logger => logger.info('signed in', new User()))
    expect(event).toEqual({ ...anyTime, message: 'signed in', id: '***', passwordHash: 'secret' })
  })

  it('is a body, if the method returns no group of fields', async () => {
    class Money {
      readonly cents = 150
      toJSON() {
        return '1.50'
      }
    }
    const event = await arrived(undefined, logger => logger.info('paid', new Money()))
    expect(event).toEqual({ ...anyTime, message: 'paid', body: '1.50' })
  })

  class RequestError extends Error {
    readonly code = 'ECONNREFUSED'
    readonly config = { url: '/pay', headers: { authorization: 'secret' } }
    readonly request = { _options: { headers: { authorization: 'secret' } }, retry() {} }
    toJSON() {
      return { name: this.name, message: this.message, stack: this.stack, config: { url: this.config.url } }
    }
  }
  const told = {
    _time: expect.any(String),
    level: 'error',
    stack: expect.stringContaining('refused'),
    code: 'ECONNREFUSED',
    config: { url: '/pay' },
  }

  it('keeps an Error recognizable, and hides its request, as axios needs it', async () => {
    const event = await arrived(undefined, logger => logger.error('call failed', new RequestError('refused')))
    expect(event).toEqual({ ...told, message: 'call failed refused', error: { name: 'Error', message: 'refused' } })
  })

  it('is shipped once, and asked once, if it is an Error without fields', async () => {
    let calls = 0
    class ToldError extends Error {
      toJSON() {
        calls++
        return { name: this.name, message: this.message, code: 'E_TOLD' }
      }
    }
    const event = await arrived(undefined, logger => logger.error('call failed', new ToldError('refused')))
    const error = { name: 'Error', message: 'refused', code: 'E_TOLD' }
    expect(event).toEqual({ ...anyTime, level: 'error', message: 'call failed refused', stack: told.stack, error })
    await arrived(winston.format(info => info)(), logger => logger.error(new ToldError('refused')))
    expect(calls).toBe(2)
  })

  it('does not show in another field what a format has masked in an Error', async () => {
    class LoginError extends Error {
      readonly password = 'secret'
      toJSON() {
        return { password: this.password, credentials: { password: this.password } }
      }
    }
    const masked = winston.format(info => Object.assign(info, { password: '***' }))()
    const event = await arrived(masked, logger => logger.error('login failed', new LoginError('refused')))
    expect(event).toMatchObject({ password: '***', error: { name: 'Error', message: 'refused' } })
    expect(JSON.stringify(event)).not.toContain('secret')
  })

  it('hides the same of an Error that format.errors() has taken apart', async () => {
    const event = await arrived(combine(withStack, json()), logger => logger.error(new RequestError('refused')))
    expect(event).toEqual({ ...told, message: 'refused', name: 'Error' })
    const masked = winston.format(info => Object.assign(info, { config: '***' }))()
    const other = await arrived(combine(withStack, masked), logger => logger.error(new RequestError('refused')))
    expect(other).toEqual({ ...told, message: 'refused', name: 'Error', config: '***' })
  })

  it('hides the same of an Error that another logger of the same transport logs', async () => {
    await using shipping = await startShipping()
    const transport = new LogferryTransport({ shipper: shipping.ship() })
    const options = { format: combine(withStack, json()), transports: [transport] }
    const loggers = [1, 2, 3].map(() => winston.createLogger(options))
    for (const logger of loggers) logger.error(new RequestError('refused'))
    await transport.shipper.flush()
    const event = { ...told, message: 'refused', name: 'Error' }
    expect(shipping.emulator.events('d')).toEqual([event, event, event])
  })
})

describe('an argument that is no metadata, but of which Winston makes a field for each item or character,', () => {
  const log = (...args: unknown[]) => {
    return (logger: winston.Logger) => (logger.info as (...args: unknown[]) => void)(...args)
  }
  const anyTime = { _time: expect.any(String), level: 'info' }

  it.each([
    ['no format', undefined],
    ['json()', json()],
    ['splat(), json()', combine(splat(), json())],
  ])('is in splat alone, with %s', async (_, format) => {
    const items = ['a', 7, { b: 1 }]
    expect(await arrived(format, log('ids', items))).toEqual({ ...anyTime, message: 'ids', splat: [items] })
    expect(await arrived(format, log('user created', 'ann'))).toEqual({
      ...anyTime,
      message: 'user created',
      splat: ['ann'],
    })
    expect((await arrived(format, log('bytes', Buffer.from('abc')))).splat).toEqual(['YWJj'])
    expect(await arrived(format, log({ a: 1 }, 'done'))).toEqual({ ...anyTime, message: 'done', a: 1 })
  })

  it('is in splat also if format.metadata() has moved these fields', async () => {
    const moved = { ...anyTime, message: 'ids', metadata: {} }
    expect(await arrived(metadata(), log('ids', ['a', { b: 1 }]))).toEqual({ ...moved, splat: [['a', { b: 1 }]] })
    expect(await arrived(combine(splat(), metadata()), log('ids', 'ann'))).toEqual({ ...moved, splat: ['ann'] })
    const meta = metadata({ key: 'meta' })
    expect(await arrived(meta, log('ids', { 0: 'a' }))).toEqual({ ...anyTime, message: 'ids', meta: { 0: 'a' } })
  })

  it('is in splat also if the message has the same text', async () => {
    const event = await arrived(splat(), log('hello ann', 'ann'))
    expect(event).toEqual({ ...anyTime, message: 'hello ann', splat: ['ann'] })
  })

  it.each<[string, unknown[], string]>([
    ['the only one', ['card %s', '4111'], 'card ****'],
    ['a number', ['card %d', 4111], 'card ****'],
    ['the first', ['%s paid by %s', '4111', 'ann'], '**** paid by ann'],
    [
      'one after an Error',
      ['%s for %s', Object.assign(new Error('no'), { stack: 'Error: no' }), '4111'],
      '[Error: no] for ****',
    ],
    ['one with a token', ['card %s', '4111 at 100%d'], 'card **** at 100%d'],
  ])('is not shipped if a format has masked it within the message, as %s', async (_, args, message) => {
    const masked = winston.format(info =>
      Object.assign(info, { message: String(info.message).replace('4111', '****') }),
    )()
    expect(await arrived(combine(splat(), masked), log(...args))).toEqual({ ...anyTime, message })
  })

  it('is in splat also if format.splat() has taken it out of several arguments', async () => {
    const format = combine(splat(), json())
    const text = 'text after the last token'
    expect(await arrived(format, log('order %s', 7, text))).toEqual({ ...anyTime, message: 'order 7', splat: [text] })
    const event = await arrived(format, log('order', text, { a: 1 }))
    expect(event).toEqual({ ...anyTime, message: 'order', a: 1, splat: [text] })
    expect(await arrived(format, log('grades', { 0: 'A', 1: 'B' }))).toEqual({
      ...anyTime,
      message: 'grades',
      0: 'A',
      1: 'B',
    })
  })

  it('is not shipped twice if a token of the message stands for it', async () => {
    const event = await arrived(splat(), log('ids %j of %s', ['a'], 'ann'))
    expect(event).toEqual({ ...anyTime, message: 'ids ["a"] of ann' })
  })

  it('does not show what a format has masked or removed', async () => {
    const masked = winston.format(info => Object.assign(info, { 1: '***' }))()
    const event = await arrived(masked, log('cards', ['4111', '4222']))
    expect(event).toEqual({ ...anyTime, message: 'cards', 0: '4111', 1: '***' })
    const removed = winston.format(({ 0: _first, 1: _second, ...info }) => info)()
    expect(await arrived(removed, log('cards', ['4111', '4222']))).toEqual({ ...anyTime, message: 'cards' })
  })

  it('keeps its fields if the application has a field `splat`, or if it has more than 10,000 items', async () => {
    const own = winston.format(info => Object.assign(info, { splat: 'own' }))()
    expect(await arrived(own, log('ids', ['a']))).toEqual({ ...anyTime, message: 'ids', splat: 'own', 0: 'a' })
    const event = await arrived(undefined, log('ids', Array(10_001).fill(1)))
    expect(event).toMatchObject({ message: 'ids', 0: 1, 10000: 1 })
  })
})

it('a text after an object is the message, as Fastify and pino log, and the object is its metadata', async () => {
  const log = (metadata: object) => (logger: winston.Logger) =>
    (logger.info as (...args: unknown[]) => void)(metadata, 'incoming request', { more: 1 })
  const event = { _time: expect.any(String), level: 'info', message: 'incoming request', splat: [{ more: 1 }] }
  expect(await arrived(undefined, log({ reqId: 'r', a: { b: 1 } }))).toEqual({ ...event, reqId: 'r', a: { b: 1 } })
  const inItsWay = JSON.parse('{"__proto__":{"a":1}}')
  for (const body of [{ level: 30, a: 1 }, inItsWay]) {
    expect(await arrived(undefined, log(body))).toEqual({ ...event, body })
  }
})

it('logstash() loses neither the message nor the timestamp, however unusual', async () => {
  for (const message of ['text', '"@message":"x"', 'a\n"},{', '{"@fields":{}}']) {
    const event = await arrived(combine(timestamp(), logstash()), logger =>
      logger.info(message, { nested: { '@message': 'inner', '@timestamp': 'inner' } }),
    )
    expect(event).toMatchObject({
      message,
      timestamp: expect.stringMatching(/^\d{4}-/),
      nested: { '@message': 'inner' },
    })
  }
  const unnamed = await arrived(logstash(), logger => logger.log({ level: 'info', '@message': 'mine' } as never))
  expect(unnamed).toEqual({ _time: expect.any(String), level: 'info', '@message': 'mine' })
})
