import { describe, expect, it } from 'vitest'
import { startFaultServer } from '../support/fault-server.ts'
import { startRawServer } from '../support/raw-server.ts'
import { runScript } from '../support/run-script.ts'
import { startShipping } from '../support/shipping.ts'
import { startNode } from '../support/start-node.ts'
import { core, enoughMs, environmentFor } from './running.ts'

const winstonLogger = (transport = '', logger = '') => `
  import winston from 'winston'
  import { LogferryTransport } from 'logferry/winston'
  const transport = new LogferryTransport({ exitTimeoutMs: ${enoughMs}, ${transport} })
  const logger = winston.createLogger({ transports: [transport], ${logger} })
`

/** Runs a script against an emulator. Returns its end and the events that arrived. */
async function run(source: string) {
  await using shipping = await startShipping()
  const { url, token } = shipping.emulator
  const ended = await runScript(source, { LOGFERRY_URL: url, LOGFERRY_TOKEN: token, LOGFERRY_DATASET: 'd' })
  return { ...ended, events: shipping.emulator.events('d') }
}

describe('a process that ends by itself', () => {
  it('delivers its Winston logs', async () => {
    const { code, stderr, events } = await run(
      `${winstonLogger()} for (let n = 0; n < 1000; n++) logger.info('hello', { n })`,
    )
    expect([code, stderr]).toEqual([0, ''])
    expect(events.map(({ n }) => n)).toEqual(Array.from({ length: 1000 }, (_, n) => n))
  })

  it('delivers its events through the core and OpenTelemetry', async () => {
    const { code, stderr, events } = await run(`
      import { LoggerProvider, BatchLogRecordProcessor } from '@opentelemetry/sdk-logs'
      import { createShipper } from 'logferry'
      import { LogferryLogRecordProcessor } from 'logferry/otel'
      const shipper = createShipper()
      const provider = new LoggerProvider({ processors: [new LogferryLogRecordProcessor({ shipper })] })
      shipper.ship({ message: 'core' })
      provider.getLogger('demo').emit({ body: 'otel' })
    `)
    expect([code, stderr]).toEqual([0, ''])
    expect(events.map(({ message }) => message).sort()).toEqual(['core', 'otel'])
  })

  it('delivers events that are logged while it ends', async () => {
    const { events } = await run(`${winstonLogger()}
      let rounds = 0
      logger.info('first')
      process.on('beforeExit', () => { if (rounds++ < 3) logger.info('round ' + rounds) })
    `)
    expect(events.map(({ message }) => message)).toEqual(['first', 'round 1', 'round 2'])
  })

  it.each([
    ['at once', `() => logger.info('bye')`],
    ['after a promise', `async () => { await null; await Promise.all([null]); logger.info('bye') }`],
    ['in the next tick', `() => process.nextTick(() => logger.info('bye'))`],
  ])('ends although a listener of beforeExit logs each time %s', async (_, listener) => {
    const { code, stderr, events } = await run(`${winstonLogger()}
      logger.info('first')
      process.on('beforeExit', ${listener})
    `)
    expect([code, stderr]).toEqual([0, ''])
    expect(events.map(({ message }) => message)).toEqual(['first', 'bye', 'bye']) // Node emits it again after the delivery
  })

  it.each([
    ['each delivery', `transport.shipper.on('delivered', () => logger.info('again'))`],
    [
      'each request of the process',
      `process.getBuiltinModule('node:diagnostics_channel').subscribe('http.client.request.start', () => logger.info('again'))`,
    ],
  ])('ends after exitTimeoutMs although it logs %s', async (_, listen) => {
    const source = `${winstonLogger('exitTimeoutMs: 500')} ${listen}; logger.info('first')`
    const startedAt = performance.now()
    const { code, stderr, events } = await run(source)
    expect(performance.now() - startedAt).toBeLessThan(3000)
    expect(code).toBe(0)
    expect(stderr).toMatch(
      /\d events? could not be delivered within 500 ms, because events are logged whenever others are/,
    )
    expect(events[0]).toMatchObject({ message: 'first' })
  })

  it.skipIf(process.platform === 'win32')(
    'drops nothing if it was frozen, as a machine that sleeps, while the answer came',
    async () => {
      await using server = await startFaultServer(request => {
        if (!request.isWhole) return
        frozen.signal('SIGSTOP')
        setTimeout(() => request.take(), 50)
        setTimeout(() => frozen.signal('SIGCONT'), 950)
      })
      await using frozen = startNode(
        ['--input-type=module', '--eval', `${core('exitTimeoutMs: 600')} log(0, 10)`],
        environmentFor(server),
      )
      expect([await frozen.end(), frozen.stderr()]).toEqual([0, ''])
      expect(server.numbers).toHaveLength(10)
    },
  )

  it('is not kept alive by a shipper without pending events', async () => {
    const { code, ms, events } = await run(`${winstonLogger()}
      logger.info('hello')
      await transport.shipper.flush()
      process.on('exit', () => console.log(process.getActiveResourcesInfo().filter(name => name !== 'PipeWrap').join()))
    `)
    expect([code, events.length]).toEqual([0, 1])
    expect(ms).toBeLessThan(3500)
  })

  it('ends by exitTimeoutMs when the service does not answer, and says how many events are lost', async () => {
    const server = await startRawServer(() => {})
    const { code, stderr, ms } = await runScript(
      `${winstonLogger('exitTimeoutMs: 500')} for (let n = 0; n < 7; n++) logger.info('hello', { n })`,
      { LOGFERRY_URL: server.url, LOGFERRY_TOKEN: 't', LOGFERRY_DATASET: 'd' },
    )
    await server.close()
    expect(code).toBe(0)
    expect(stderr).toContain('7 events could not be delivered within 500 ms')
    expect(ms).toBeLessThan(5000)
  })

  it.each([429, 503])('does not wait in vain if the service answers %i and asks for a longer wait', async status => {
    await using server = await startFaultServer(request => {
      if (request.isWhole) request.answer(`${status} X`, '', 'retry-after: 120')
    })
    const source = `${core('exitTimeoutMs: 60_000')} log(0, 10)`
    const { code, stderr } = await runScript(source, environmentFor(server))
    expect([code, server.requestCount]).toEqual([0, 1])
    expect(stderr).toContain(`10 events could not be delivered within 60000 ms (the service answers ${status}`)
  })

  it.each(['http', 'https'])('ends in time if %s has a host of two addresses, the first of which refuses', async by => {
    const server = await startRawServer(() => {})
    const { code, stdout, stderr } = await runScript(
      `import dns from 'node:dns'
      dns.lookup = (name, options, tell) => tell(null, [{ address: '::1', family: 6 }, { address: '127.0.0.1', family: 4 }])
      ${core('exitTimeoutMs: 500, requestTimeoutMs: 4000')} const startedAtMs = performance.now(); log(0)
      await shipper.flush({ timeoutMs: 100 })
      process.on('exit', () => console.log(performance.now() - startedAtMs < 3500))`,
      environmentFor({ url: `${by}://localhost:${new URL(server.url).port}` }),
    )
    await server.close()
    expect([code, stdout, server.sockets.length]).toEqual([0, 'true\n', 1])
    expect(stderr).toMatch(/\d events? could not be delivered within 500 ms/)
  })

  it('sends events again that are not answered within requestTimeoutMs, although nothing else keeps it alive', async () => {
    await using server = await startFaultServer(request => {
      if (request.isWhole && request.index >= 2) request.take()
    })
    const { stdout, stderr } = await runScript(
      `${core('requestTimeoutMs: 500, maxRetryDelayMs: 50')} const startedAtMs = performance.now(); log(0)
      process.on('exit', () => console.log(shipper.stats().delivered, performance.now() - startedAtMs < 5000))`,
      environmentFor(server),
    )
    expect([stdout, stderr, server.requestCount]).toEqual(['1 true\n', '', 3])
  })

  it('ends in time although each loss is logged', async () => {
    const { code, stderr, ms } = await runScript(
      `${winstonLogger('exitTimeoutMs: 300')}
      transport.shipper.on('dropped', ({ count }) => logger.error('lost', { count }))
      logger.info('hello')`,
      environmentFor({ url: 'http://127.0.0.1:1' }),
    )
    expect([code, stderr.includes('1 event could not be delivered within 300 ms')]).toEqual([0, true])
    expect(ms).toBeLessThan(4000)
  })

  it.each([
    ['is closed', '', 'logger.close()'],
    ['removes the transport', '', 'logger.remove(transport)'],
    [
      'has caught an error and goes on',
      'handleExceptions: true',
      `setTimeout(() => { throw new Error('boom') }, 50)`,
      'exitOnError: false',
    ],
  ])('ends in time if its logger %s', async (_, options, then, ofLogger = '') => {
    const server = await startRawServer(() => {})
    const { code, ms } = await runScript(
      `${winstonLogger(`exitTimeoutMs: 300, ${options}`, ofLogger)} logger.info('hello'); ${then}`,
      environmentFor(server),
    )
    await server.close()
    expect(code).toBe(0)
    expect(ms).toBeLessThan(5000)
  })

  it('does not wait if exitTimeoutMs is 0', async () => {
    const { code, events } = await run(`${winstonLogger('exitTimeoutMs: 0')} logger.info('hello')`)
    expect([code, events]).toEqual([0, []])
  })
})

describe('an uncaught exception that Winston handles', () => {
  it.each([
    ['handleExceptions of the transport', winstonLogger('handleExceptions: true')],
    ['exceptionHandlers of the logger', winstonLogger('', 'exceptionHandlers: [transport]')],
  ])('is delivered before the process ends with code 1, without delay (%s)', async (_, logger) => {
    const { code, ms, events } = await run(`${logger}
      logger.info('before')
      setTimeout(() => { throw new TypeError('boom') })
    `)
    expect(code).toBe(1)
    expect(events).toHaveLength(2)
    expect(events[1]).toMatchObject({ level: 'error', exception: true })
    expect(JSON.stringify(events[1])).toMatch(/TypeError.*boom/)
    expect(ms).toBeLessThan(4000)
  })

  it.each([
    ['its format throws', `format: { transform() { throw new Error('format') } }`],
    ['its format leaves the error out', 'format: { transform: () => false }'],
    ['it is silent', 'silent: true'],
    ['its level is more severe', `level: 'none'`],
  ])('ends the process without delay if %s', async (_, option) => {
    const { code, ms, events } = await run(`${winstonLogger(`handleExceptions: true, ${option}`)}
      setTimeout(() => { throw new Error('boom') })`)
    expect([code, events]).toEqual([1, []])
    expect(ms).toBeLessThan(3000) // Winston itself waits as long for a transport
  })

  it.each([
    ['drops the error', 'format: { transform: info => !info.exception && info }', []],
    ['moves what marks the error', 'format: winston.format.metadata()', [{ metadata: { exception: true } }]],
  ])('ends the process without delay if the format of the logger %s', async (_, option, expected) => {
    const { code, ms, events } = await run(`${winstonLogger('handleExceptions: true', option)}
      setTimeout(() => { throw new Error('boom') })`)
    expect([code, events]).toMatchObject([1, expected])
    expect(ms).toBeLessThan(3000)
  })

  it('ends the process without delay if the logger is silent', async () => {
    const { code, ms, events } = await run(`${winstonLogger('handleExceptions: true', 'silent: true')}
      setTimeout(() => { throw new Error('boom') })`)
    expect([code, events]).toEqual([1, []])
    expect(ms).toBeLessThan(3000)
  })

  it.each([
    [
      'a subclass passes it on later',
      'const { log } = transport; transport.log = (...args) => later(() => log.apply(transport, args))',
    ],
    ['the transport is corked', 'transport.cork(); later(() => transport.uncork())'],
  ])('is delivered if %s', async (_, delays) => {
    const { code, events } = await run(`${winstonLogger('handleExceptions: true')}
      const later = pass => void setTimeout(pass, 200)
      ${delays}
      setTimeout(() => { throw new Error('boom') })`)
    expect([code, events]).toMatchObject([1, [{ exception: true }]])
  })

  it('is delivered if the logger has no level `error`', async () => {
    const { code, events } =
      await run(`${winstonLogger('handleExceptions: true', 'levels: { low: 0, high: 1 }, level: "high"')}
      setTimeout(() => { throw new Error('boom') })`)
    expect([code, events]).toMatchObject([1, [{ level: 'error', exception: true }]])
  })

  describe.each([
    ['exceptionHandlers', `setTimeout(() => { throw new Error('boom') })`],
    ['rejectionHandlers', `void Promise.reject(new Error('boom'))`],
  ])('in %s', (handlers, throws) => {
    it('is shipped as the format of the transport leaves it', async () => {
      const format = `format: winston.format(() => ({ message: 'masked' }))()`
      const { code, ms, events } = await run(
        `${winstonLogger(format, `transports: [], ${handlers}: [transport]`)} ${throws}`,
      )
      expect([code, events]).toEqual([1, [{ _time: expect.any(String), message: 'masked' }]])
      expect(ms).toBeLessThan(3000)
    })

    it.each(['silent: true', 'format: { transform: () => false }'])('is not shipped with %s', async option => {
      const { code, ms, events } = await run(
        `${winstonLogger(option, `transports: [], ${handlers}: [transport]`)} ${throws}`,
      )
      expect([code, events]).toEqual([1, []])
      expect(ms).toBeLessThan(3000)
    })
  })

  it.each(['exception', 'rejection'])('is one event if the transport has a format, too (an %s)', async kind => {
    const options = `format: winston.format.timestamp(), handleExceptions: true, handleRejections: true`
    const { events } = await run(`${winstonLogger(options, `${kind}Handlers: [transport]`)}
      setTimeout(() => { ${kind === 'exception' ? `throw new Error('boom')` : `Promise.reject(new Error('boom'))`} })
    `)
    expect(events).toHaveLength(1)
  })

  it.each([
    ['', ['last']],
    ['logger.add(new winston.transports.Console({ handleExceptions: true }))', ['meanwhile', 'last']],
  ])('is followed by the events until the process ends (%s)', async (others, after) => {
    const { code, events } = await run(`${winstonLogger('handleExceptions: true')} ${others}
      process.on('exit', () => logger.info('last'))
      setTimeout(() => logger.info('meanwhile'), 1500)
      setTimeout(() => { throw new Error('boom') })`)
    expect([code, events.map(({ message }) => String(message).split(':')[0])]).toEqual([
      1,
      ['uncaughtException', ...after],
    ])
  })

  it('is one event if another transport handles it', async () => {
    const { code, events } = await run(`${winstonLogger('', 'exceptionHandlers: [new LogferryTransport()]')}
      setTimeout(() => { throw new Error('boom') })`)
    expect([code, events]).toMatchObject([1, [{ exception: true }]])
  })

  it('is one event of each of two loggers that handle it', async () => {
    const { code, events } = await run(`${winstonLogger('handleExceptions: true')}
      winston.createLogger({ transports: [new LogferryTransport({ handleExceptions: true })] })
      setTimeout(() => { throw new Error('boom') })`)
    expect([code, events]).toMatchObject([1, [{ exception: true }, { exception: true }]])
  })

  it('is an argument of `exitOnError` once, also if the format of the logger removes the error', async () => {
    const logger = winstonLogger(
      'handleExceptions: true',
      `exitOnError: error => { logger.info(error.message); return true },
      format: winston.format(({ error, ...info }) => info)()`,
    )
    const { code, ms, events } = await run(`${logger} setTimeout(() => { throw new Error('boom') })`)
    expect([code, events]).toMatchObject([1, [{ message: 'boom' }, { exception: true }]])
    expect(ms).toBeLessThan(3000)
  })

  it('leaves no listener on a transport whose logger continues', async () => {
    const { events } = await run(`${winstonLogger('handleExceptions: true', 'exitOnError: false')}
      const count = () => transport.listenerCount('finish') + transport.listenerCount('error')
      const before = count()
      setTimeout(() => { throw new Error('boom') })
      setTimeout(() => logger.info('after', { left: count() - before }), 300)
    `)
    expect(events).toMatchObject([{ exception: true }, { message: 'after', left: 0 }])
  })

  it('does not remove a transport that was put back from a logger that continues', async () => {
    const { code, events } = await run(`${winstonLogger('handleExceptions: true', 'exitOnError: false')}
      logger.remove(transport).add(transport)
      setTimeout(() => { throw new Error('boom') })
      setTimeout(() => logger.info('after'), 300)
    `)
    expect(code).toBe(0)
    expect(events.map(({ message }) => String(message).split('\n')[0])).toEqual(['uncaughtException: boom', 'after'])
  })

  it('does not remove the transport from a logger that continues', async () => {
    const { code, events } = await run(`${winstonLogger('handleExceptions: true', 'exitOnError: false')}
      setTimeout(() => { throw new Error('boom') })
      setTimeout(() => logger.info('after'), 300)
    `)
    expect(code).toBe(0)
    expect(events.map(({ message }) => String(message).split('\n')[0])).toEqual(['uncaughtException: boom', 'after'])
  })

  it('is delivered as an unhandled rejection, too', async () => {
    const { code, events } = await run(
      `${winstonLogger('handleRejections: true')} void Promise.reject(new Error('late'))`,
    )
    expect(code).toBe(1)
    expect(events).toMatchObject([{ level: 'error', rejection: true }])
  })

  it('is delivered as an unhandled rejection of a Winston before 3.13, which marks it as an exception', async () => {
    const { code, events } = await run(`${winstonLogger('handleRejections: true')}
      const { getAllInfo } = logger.rejections
      logger.rejections.getAllInfo = error => {
        const { rejection, ...info } = getAllInfo.call(logger.rejections, error)
        return { ...info, exception: rejection }
      }
      void Promise.reject(new Error('late'))`)
    expect([code, events]).toMatchObject([1, [{ level: 'error', exception: true }]])
  })
})
