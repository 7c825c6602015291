import { describe, expect, test } from 'vitest'
import winston from 'winston'
import Transport from 'winston-transport'
import { eventToJson } from '../../src/record/event-to-line.ts'
import { severityOfInfo, winstonToEvent } from '../../src/record/winston-to-event.ts'

const { combine, colorize, splat, errors, label, timestamp, metadata } = winston.format
const untouched = winston.format(info => info)()
const trace = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331', traceFlags: 1 }

type Info = Record<PropertyKey, unknown>

/** Returns the infos that a transport gets for the log calls in `log`. */
function infosOf(log: (logger: winston.Logger) => void, options: winston.LoggerOptions = {}): Info[] {
  const infos: Info[] = []
  class Capture extends Transport {
    override log(info: Info, next: () => void) {
      infos.push(info)
      next()
    }
  }
  log(winston.createLogger({ level: 'silly', format: untouched, transports: [new Capture()], ...options }))
  return infos
}

/** Returns the parsed line for the log call in `log`. */
function found(log: (logger: winston.Logger) => void, options?: winston.LoggerOptions) {
  const [info] = infosOf(log, options)
  return line(winstonToEvent(info as Info, undefined))
}

function line(event: object) {
  return JSON.parse(eventToJson(event, 1_000_000, { stubbed: 0, cut: 0 }))
}

describe('an ordinary info is the event itself', () => {
  test.each<[string, (logger: winston.Logger) => void]>([
    ['a text', logger => logger.info('text')],
    ['a text and metadata', logger => logger.info('text', { order: { id: 42 } })],
    ['metadata with an Error', logger => logger.info('text', { err: new Error('e') })],
    ['log() with a level', logger => logger.log('warn', 'text')],
    ['log() with an object', logger => logger.log({ level: 'info', message: 'text', a: 1 })],
    ['an object with a message', logger => logger.info({ message: 'text', a: 1 })],
    ['a per cent sign', logger => logger.info('at 50% now', { a: 1 })],
    ['a child', logger => logger.child({ requestId: 'r' }).info('text', { a: 1 })],
    ['no text', logger => (logger.info as unknown as () => void)()],
  ])('%s', (_, log) => {
    const [info] = infosOf(log)
    expect(winstonToEvent(info as Info, undefined)).toBe(info)
  })

  test.each([
    ['splat', splat()],
    ['label and timestamp', combine(label({ label: 'l' }), timestamp())],
    ['metadata', metadata()],
    ['errors', errors({ stack: true })],
    ['json', winston.format.json()],
  ])('also after format.%s()', (_, format) => {
    const [info] = infosOf(logger => logger.info('text', { a: 1 }), { format })
    expect(winstonToEvent(info as Info, undefined)).toBe(info)
  })
})

describe('an Error', () => {
  const error = Object.assign(new RangeError('it broke', { cause: new Error('why') }), { code: 'E_BROKE' })
  const whole = {
    name: 'RangeError',
    message: 'it broke',
    stack: error.stack,
    code: 'E_BROKE',
    cause: { message: 'why' },
  }

  test.each<[string, (logger: winston.Logger) => void, object]>([
    [
      'in place of the message',
      logger => logger.error(Object.assign(new RangeError('it broke', { cause: error.cause }), { code: 'E_BROKE' })),
      { level: 'error', ...whole, stack: expect.stringContaining('RangeError: it broke') },
    ],
    ['in log()', logger => logger.log('error', error as unknown as string), { level: 'error', ...whole }],
    [
      'with an empty message',
      logger => logger.error(new TypeError()),
      { level: 'error', message: '', error: { name: 'TypeError', stack: expect.stringContaining('TypeError') } },
    ],
    [
      'as message of an object',
      logger => logger.log({ level: 'error', message: error as unknown as string, a: 1 }),
      { level: 'error', message: 'it broke', a: 1, error: whole },
    ],
    [
      'as message with metadata',
      logger => logger.error(error as unknown as string, { a: 1 }),
      { level: 'error', message: 'it broke', a: 1, error: whole },
    ],
    [
      'after a text',
      logger => logger.error('context', error),
      {
        level: 'error',
        message: 'context it broke',
        stack: error.stack,
        code: 'E_BROKE',
        cause: { message: 'why' },
        error: { name: 'RangeError', message: 'it broke' },
      },
    ],
    [
      'after a text and metadata',
      logger => logger.error('context', { a: 1 }, error),
      { level: 'error', message: 'context', a: 1, splat: [whole] },
    ],
    [
      'after a text with a token',
      logger => logger.error('context %s', error),
      { level: 'error', message: 'context %s', splat: [whole] },
    ],
    [
      'in metadata',
      logger => logger.error('context', { err: error }),
      { level: 'error', message: 'context', err: whole },
    ],
    [
      'of a child',
      logger => logger.child({ requestId: 'r' }).error(error),
      { level: 'error', message: 'it broke', stack: error.stack, requestId: 'r', cause: { message: 'why' } },
    ],
  ])('%s is shipped in full', (_, log, expected) => {
    expect(found(log)).toMatchObject(expected)
  })

  test('after a text adds its stack and other fields once', () => {
    const json = JSON.stringify(found(logger => logger.error('context', error)))
    expect(json.split('RangeError: it broke')).toHaveLength(2)
    expect(json.split('E_BROKE')).toHaveLength(2)
  })

  test('that is an aggregate keeps its errors after a text, too', () => {
    const aggregate = new AggregateError([new Error('one')], 'all')
    expect(found(logger => logger.error('context', aggregate))).toMatchObject({
      error: { name: 'AggregateError', errors: [{ message: 'one' }] },
    })
  })

  test('leaves a field with the same name alone', () => {
    expect(found(logger => logger.error('context', error), { defaultMeta: { error: 'mine' } })).toMatchObject({
      error: 'mine',
    })
    expect(
      found(logger => logger.log({ level: 'error', message: error as unknown as string, error: 'mine' })),
    ).toMatchObject({
      message: 'it broke',
      error: 'mine',
      body: whole,
    })
  })

  test('has the default metadata beside it', () => {
    expect(found(logger => logger.error(new Error('e')), { defaultMeta: { service: { name: 's' } } })).toMatchObject({
      message: 'e',
      service: { name: 's' },
    })
  })
})

describe('a message that is not a text', () => {
  test.each<[string, unknown, object]>([
    ['a number', 5, { level: 'info', message: '5' }],
    ['a boolean', false, { level: 'info', message: 'false' }],
    ['null', null, { level: 'info', message: null }],
    ['undefined', undefined, { level: 'info' }],
    ['a BigInt', 5n, { level: 'info', message: '5' }],
    ['an object', { a: 1 }, { level: 'info', body: { a: 1 } }],
    ['an array', [1, 2], { level: 'info', body: [1, 2] }],
  ])('%s', (_, message, expected) => {
    expect(found(logger => logger.info(message as string))).toEqual(expected)
  })

  test('stays in place if there is already a body', () => {
    const info = { level: 'info', message: { a: 1 }, body: 'mine' }
    expect(found(logger => logger.log({ ...info } as unknown as winston.LogEntry))).toEqual(info)
  })
})

describe('arguments after the message', () => {
  const logged =
    (...args: unknown[]) =>
    (logger: winston.Logger) =>
      void (logger.info as (...args: unknown[]) => void)(...args)

  test.each<[string, unknown[], object]>([
    ['texts and objects', ['text', 'extra', { second: 1 }], { message: 'text', splat: ['extra', { second: 1 }] }],
    [
      'more after the metadata',
      ['text', { a: 1 }, 'extra', { b: 2 }],
      { message: 'text', a: 1, splat: ['extra', { b: 2 }] },
    ],
    [
      'those for tokens, without format.splat()',
      ['hello %s', 'you', { a: 1 }],
      { message: 'hello %s', splat: ['you', { a: 1 }] },
    ],
    ['metadata after what looks like a token', ['at 91%done', { a: 1 }], { message: 'at 91%done', splat: [{ a: 1 }] }],
    ['a number', ['count', 5], { message: 'count', splat: [5] }],
    ['nothing', ['text', undefined, null], { message: 'text' }],
    ['a callback', ['text', { a: 1 }, () => {}], { message: 'text', a: 1 }],
    [
      'metadata that Object.assign takes for a prototype',
      ['text', JSON.parse('{"__proto__":{"admin":true},"a":1}')],
      { message: 'text', a: 1, splat: [JSON.parse('{"__proto__":{"admin":true},"a":1}')] },
    ],
    ['metadata after nothing', ['text', undefined, { a: 1 }], { message: 'text', splat: [{ a: 1 }] }],
  ])('%s: lost arguments are in splat', (_, args, expected) => {
    expect(found(logged(...args))).toEqual({ level: 'info', ...expected })
  })

  test.each<[string, unknown[], object]>([
    ['a text', ['hello %s', 'you'], { message: 'hello you' }],
    ['several', ['%s has %d of %j', 'you', 5, { a: 1 }], { message: 'you has 5 of {"a":1}' }],
    ['an object first', ['%j for %s', { a: 1 }, 'you'], { message: '{"a":1} for you' }],
    ['metadata beyond the tokens', ['hello %s', 'you', { a: 1 }], { message: 'hello you', a: 1 }],
    ['a text that has a per cent sign', ['at %d%% of %s', 5, 'all'], { message: 'at 5% of all' }],
    ['metadata alone', ['text', { a: 1 }], { message: 'text', a: 1 }],
  ])('%s: arguments that format.splat() used are not repeated', (_, args, expected) => {
    expect(found(logged(...args), { format: splat() })).toEqual({ level: 'info', ...expected })
  })
})

test('a colored level is the logged level', () => {
  const event = found(logger => logger.warn('text', { a: 1 }), { format: colorize() })
  expect(event).toEqual({ level: 'warn', message: 'text', a: 1 })
})

describe('trace ids', () => {
  test('are added', () => {
    const [info] = infosOf(logger => logger.info('text', { a: 1 }))
    expect(line(winstonToEvent(info as Info, trace))).toEqual({
      level: 'info',
      message: 'text',
      a: 1,
      trace_id: trace.traceId,
      span_id: trace.spanId,
      trace_flags: '01',
    })
    expect(info).not.toHaveProperty('trace_id')
  })

  test('are not added if the info has its own', () => {
    const [info] = infosOf(logger => logger.info('text', { trace_id: 'mine' }))
    expect(winstonToEvent(info as Info, trace)).toBe(info)
  })
})

describe('whatever is logged', () => {
  test('the info is not changed', () => {
    const infos = infosOf(
      logger => {
        logger.info('text', 'extra', { a: 1 })
        logger.error('context', new Error('e'))
        logger.error(new Error('e'))
        logger.info({ body: 1, message: { b: 2 } })
        logger.info(5)
      },
      { format: colorize() },
    )
    for (const info of infos) {
      const before = Object.getOwnPropertyDescriptors(info)
      winstonToEvent(info, trace)
      expect(Object.getOwnPropertyDescriptors(info)).toEqual(before)
    }
  })

  test('nothing throws', () => {
    const hostile = {
      level: 'error',
      message: 5,
      get a(): never {
        throw new Error('no a')
      },
    }
    expect(line(winstonToEvent(hostile, trace))).toEqual({ level: 'error', message: 5, a: '[Throws: no a]' })
    const { proxy, revoke } = Proxy.revocable({}, {})
    revoke()
    expect(winstonToEvent(proxy, trace)).toBe(proxy)
    expect(severityOfInfo(proxy)).toBe(2)
    const error = new Error('e')
    Object.defineProperty(error, 'stack', {
      get: () => {
        throw new Error('no stack')
      },
    })
    expect(line(winstonToEvent(Object.assign(error, { level: 'error' }) as unknown as Info, trace))).toMatchObject({
      level: 'error',
      message: 'e',
      stack: '[Throws: no stack]',
    })
  })
})

test('the severity is that of the logged level', () => {
  const [coloured, plain] = infosOf(
    logger => {
      logger.error('e')
      logger.silly('s')
    },
    { format: colorize() },
  )
  expect(severityOfInfo(coloured as Info)).toBe(4)
  expect(severityOfInfo(plain as Info)).toBe(0)
  expect(severityOfInfo({ level: 'warn' })).toBe(3)
  expect(severityOfInfo({})).toBe(2)
})

test('an uncaught exception that Winston reports is shipped with its Error', () => {
  const info = {
    error: new Error('boom'),
    level: 'error',
    message: 'uncaughtException: boom',
    exception: true,
    trace: [{ line: 1 }],
  }
  expect(line(winstonToEvent(info, undefined))).toMatchObject({
    level: 'error',
    exception: true,
    error: { name: 'Error', message: 'boom' },
  })
})
