/** A transport of the same logger that falls behind: Winston then keeps infos back from every transport. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { inspect } from 'node:util'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import winston from 'winston'
import TransportStream from 'winston-transport'
import type { ShipperOptions } from '../src/index.ts'
import { LogferryTransport } from '../src/winston.ts'
import { startShipping } from './support/shipping.ts'

setFlagsFromString('--expose-gc')
const gc = runInNewContext('gc') as () => void

class Slow extends TransportStream {
  readonly infos: { n: number }[] = []

  get written(): unknown[] {
    return this.infos.map(({ n }) => n)
  }

  override log(info: { n: number }, next: () => void): void {
    this.infos.push(info)
    setTimeout(next, 1)
  }
}

async function startLogging(options: ShipperOptions = {}) {
  const shipping = await startShipping()
  const shipper = shipping.ship(options)
  const slow = new Slow()
  const transports = [slow, new LogferryTransport({ shipper }), new LogferryTransport({ shipper })]
  const logger = winston.createLogger({ transports })
  const allWritten = async (count: number): Promise<void> => {
    while (slow.written.length < count) await delay(5)
    await shipper.flush()
  }
  return Object.assign(shipping, { shipper, slow, logger, allWritten })
}

/** Ends a logger. It has an error if Winston ends the slow transport before that has every info. */
function ended(logger: winston.Logger): Promise<void> {
  logger.on('error', () => {})
  return new Promise(resolve => logger.on('finish', resolve).end())
}

const upTo = (count: number): number[] => Array.from({ length: count }, (_, n) => n)

const requests = new AsyncLocalStorage<{ request: number }>()

describe('beside a slow transport, LogferryTransport', () => {
  it('calls `context` for each event as the code that logged it would, for all transports of the logger', async () => {
    await using logging = await startLogging({ context: () => requests.getStore() })
    const { logger, emulator, allWritten } = logging
    const log = async (request: number): Promise<void> => {
      for (let n = 0; n < 10; n++) {
        logger.info('m', { n, logged: request })
        await delay(0)
      }
    }
    await Promise.all(Array.from({ length: 30 }, (_, request) => requests.run({ request }, () => log(request))))
    await allWritten(300)
    const events = emulator.events('d')
    expect(events).toHaveLength(600)
    expect(events.filter(({ request, logged }) => request !== logged)).toEqual([])
  })

  it('gives each event the time of its log call, and a time of its own', async () => {
    await using logging = await startLogging()
    const { logger, emulator, allWritten } = logging
    for (let n = 0; n < 100; n++) logger.info('m', { n })
    const loggedMs = Date.now()
    await allWritten(100)
    const times = emulator.events('d').map(({ _time }) => String(_time))
    expect(times.filter(time => Date.parse(time) > loggedMs + 1)).toEqual([])
    expect(new Set(times).size).toBe(200)
  })

  it('takes the present context for an object that is logged again when the logger has caught up', async () => {
    await using logging = await startLogging({ context: () => requests.getStore() })
    const { logger, emulator, allWritten } = logging
    const info = { level: 'info', message: 'the same object', n: 0 }
    for (let n = 0; n < 40; n++) logger.info('m', { n })
    requests.run({ request: 1 }, () => logger.log(info))
    await allWritten(41)
    requests.run({ request: 2 }, () => logger.log(info))
    await allWritten(42)
    const same = emulator.events('d').filter(({ message }) => message === 'the same object')
    expect(same.map(({ request }) => request)).toEqual([1, 1, 2, 2])
  })

  it.each([
    ['a format that changes infos', winston.format.prettyPrint()],
    ['a format that copies infos', winston.format(info => ({ ...info, isCopy: true }))()],
  ])('leaves infos as they are without it, and keeps their context, with %s', async (_, format) => {
    await using logging = await startLogging({ context: () => requests.getStore() })
    const { logger, slow, emulator, allWritten } = logging
    const alone = winston.createLogger({ transports: [new Slow()] })
    const [expected] = (alone.transports as Slow[]).map(({ infos }) => infos)
    for (const one of [logger, alone]) {
      one.format = format
      for (let n = 0; n < 40; n++) requests.run({ request: n }, () => one.info('m', { n }))
    }
    await allWritten(40)
    while (expected?.length !== 40) await delay(5)
    expect(slow.infos).toEqual(expected)
    expect(slow.infos.map(info => inspect(info))).toEqual(expected.map(info => inspect(info)))
    expect(emulator.events('d').filter(({ request, n }) => request !== n)).toEqual([])
  })

  it('keeps the context of log calls if a child of the logger has it', async () => {
    await using shipping = await startShipping()
    const { emulator } = shipping
    const slow = new Slow()
    const shipper = shipping.ship({ context: () => requests.getStore() })
    const child = winston.createLogger({ transports: [slow] }).child({ isChild: true })
    child.add(new LogferryTransport({ shipper }))
    for (let n = 0; n < 40; n++) requests.run({ request: n }, () => child.info('m', { n }))
    while (slow.written.length < 40) await delay(5)
    await shipper.flush()
    expect(emulator.events('d').map(({ request, isChild }) => [request, isChild])).toEqual(upTo(40).map(n => [n, true]))
  })

  it('keeps the context of log calls if a transport is added while the logger keeps infos back', async () => {
    await using logging = await startLogging({ context: () => requests.getStore() })
    const { logger, shipper, emulator, allWritten } = logging
    const log = (from: number, to: number): void => {
      for (let n = from; n < to; n++) requests.run({ request: n }, () => logger.info('m', { n }))
    }
    log(0, 40)
    logger.add(new Slow())
    log(40, 80)
    logger.add(new LogferryTransport({ shipper }))
    log(80, 120)
    await allWritten(120)
    const events = emulator.events('d')
    expect(events).toHaveLength(240 + 120 - 16) // the last transport gets all that is not passed on yet
    expect(events.filter(({ request, n }) => request !== n)).toEqual([])
  })

  it('keeps the context of log calls if it is added while the logger keeps infos back', async () => {
    await using shipping = await startShipping()
    const { emulator } = shipping
    const slow = new Slow()
    const shipper = shipping.ship({ context: () => requests.getStore() })
    const logger = winston.createLogger({ transports: [slow] })
    const log = (from: number, to: number): void => {
      for (let n = from; n < to; n++) requests.run({ request: n }, () => logger.info('m', { n }))
    }
    log(0, 40)
    logger.add(new LogferryTransport({ shipper }))
    log(40, 80)
    while (slow.written.length < 80) await delay(5)
    await shipper.flush()
    const later = emulator.events('d').filter(({ n }) => Number(n) >= 40)
    expect(later.map(({ request }) => request)).toEqual(upTo(80).slice(40))
  })

  it('keeps the context of log calls if a listener logs while the logger catches up', async () => {
    await using logging = await startLogging({ context: () => requests.getStore() })
    const { logger, emulator, allWritten } = logging
    logger.transports[1]?.on('logged', ({ n }) => {
      if (n === 30) logger.info('while the logger catches up')
    })
    for (let n = 0; n < 60; n++) requests.run({ request: n }, () => logger.info('m', { n }))
    await allWritten(61)
    const events = emulator.events('d').filter(({ message }) => message === 'm')
    expect(events).toHaveLength(120)
    expect(events.filter(({ request, n }) => request !== n)).toEqual([])
  })

  it.each([['first'], ['last']])('delivers every event at logger.end(), as the %s transport', async place => {
    await using shipping = await startShipping()
    const { emulator } = shipping
    const ferry = new LogferryTransport({ baseUrl: emulator.url, token: emulator.token, dataset: 'd' })
    const transports = place === 'first' ? [ferry, new Slow()] : [new Slow(), ferry]
    const logger = winston.createLogger({ transports }).on('error', () => {}) // the slow transport: "write after end"
    for (let n = 0; n < 100; n++) logger.info('m', { n })
    await new Promise(resolve => logger.on('finish', resolve).end())
    expect(emulator.events('d').map(({ n }) => n)).toEqual(upTo(100))
  })

  it('keeps the context of log calls if the format of the transport logs through another logger', async () => {
    await using shipping = await startShipping()
    const { emulator } = shipping
    const slow = new Slow()
    const other = winston.createLogger({ format: { transform: info => info } })
    const format = winston.format(info => {
      if (info.n !== 'inner') other.info('m', { n: 'inner' })
      return { ...info }
    })()
    const shipper = shipping.ship({ context: () => requests.getStore() })
    const transport = new LogferryTransport({ shipper, format })
    const logger = winston.createLogger({ transports: [slow, transport] })
    other.add(transport)
    for (let n = 0; n < 40; n++) requests.run({ request: n }, () => logger.info('m', { n }))
    while (slow.written.length < 40) await delay(5)
    await shipper.flush()
    const events = emulator.events('d').filter(({ n }) => n !== 'inner')
    expect(events.map(({ request }) => request)).toEqual(upTo(40))
  })

  it('ships what format.errors() loses of an Error, and hides what its toJSON hides', async () => {
    class RequestError extends TypeError {
      readonly config = { url: '/pay', headers: { authorization: 'secret' } }
      toJSON() {
        return { config: { url: this.config.url } }
      }
    }
    await using logging = await startLogging()
    const { logger, emulator, allWritten } = logging
    logger.format = winston.format.errors({ stack: true })
    for (let n = 0; n < 40; n++) logger.error(new RequestError('refused', { cause: new RangeError('root') }))
    await allWritten(40)
    const event = { name: 'TypeError', config: { url: '/pay' }, cause: { message: 'root' } }
    expect(emulator.events('d')).toMatchObject(Array(80).fill(event))
    expect(JSON.stringify(emulator.events('d'))).not.toContain('secret')
  })

  it('drops no event if a listener logs once for each, and those of a listener that logs without end', async () => {
    await using shipping = await startShipping()
    const { emulator } = shipping
    const slow = new Slow()
    const shipper = shipping.ship({ context: () => requests.getStore() })
    const ferry = new LogferryTransport({ shipper })
    const logger = winston.createLogger({ transports: [ferry, slow] })
    ferry.on('logged', ({ n, request }) => {
      if (n !== undefined) logger.info('nested', { of: n })
      else if (request === 'endless') logger.info('without end', { request: 'endless' })
    })
    for (let n = 0; n < 500; n++) requests.run({ request: n }, () => logger.info('m', { n }))
    while (slow.infos.length < 1000) await delay(5)
    logger.info('without end', { request: 'endless' })
    while (shipper.stats().dropped === 0) await delay(5)
    await shipper.flush()
    const nested = emulator.events('d').filter(({ message }) => message === 'nested')
    expect(nested.map(({ of }) => of)).toEqual(upTo(500))
    expect(nested.filter(({ of, request }) => Number(of) >= 16 && of !== request)).toEqual([])
    expect(shipper.stats().dropped).toBe(1)
  })

  it('listens to no signal any more once the logger has caught up, if it ships none of the events', async () => {
    await using logging = await startLogging({ minSeverity: 'error' })
    const { logger, slow } = logging
    const listeners = () => process.listenerCount('SIGTERM')
    const before = listeners()
    for (let n = 0; n < 40; n++) logger.info('m', { n })
    const during = listeners()
    while (slow.written.length < 40) await delay(5)
    expect([during - before, listeners() - before]).toEqual([1, 0])
  })

  it('leaves nothing on the logger from which it is removed', async () => {
    await using logging = await startLogging()
    const { logger, allWritten } = logging
    const leftOn = () => [Object.keys(logger).toSorted(), logger.eventNames().filter(name => name === 'pause')]
    const before = leftOn()
    for (let n = 0; n < 40; n++) logger.info('m', { n })
    const during = leftOn()
    await allWritten(40)
    for (const transport of logger.transports.slice(1)) logger.remove(transport)
    expect(during).not.toEqual(before)
    expect(leftOn()).toEqual([before[0], []])
  })

  it('leaves every info to the slow transport, in order', async () => {
    await using logging = await startLogging()
    const { logger, slow } = logging
    for (let n = 0; n < 100; n++) logger.info('m', { n })
    while (slow.written.length < 100) await delay(5)
    expect(slow.written).toEqual(Array.from({ length: 100 }, (_, n) => n))
    await once(logger.end(), 'finish')
  })

  it('ships the other infos at logger.end() if the format drops some that the logger keeps back', async () => {
    await using logging = await startLogging()
    const { logger, emulator, shipper } = logging
    logger.format = winston.format(info => info.n !== 20 && info)()
    for (let n = 0; n < 32; n++) logger.info('m', { n })
    await ended(logger)
    await shipper.flush()
    const numbers = emulator.events('d').map(({ n }) => Number(n))
    expect(numbers.toSorted((one, other) => one - other)).toEqual(upTo(32).flatMap(n => (n === 20 ? [] : [n, n])))
  })

  it.each(['has caught up', 'was ended'])('keeps no logger and no transport in memory that %s', async what => {
    await using shipping = await startShipping()
    const shipper = shipping.ship()
    const createLogger = (slow: TransportStream) => {
      const logger = winston.createLogger({ transports: [slow, new LogferryTransport({ shipper })] })
      for (let n = 0; n < 40; n++) logger.info('m', { n })
      return logger
    }
    const use = async (): Promise<WeakRef<object>[]> => {
      const slow = new Slow()
      const logger = createLogger(slow)
      const used = [logger, logger.transports[1] as TransportStream].map(one => new WeakRef(one))
      if (what === 'was ended') await ended(logger)
      else while (slow.written.length < 40) await delay(5)
      return used
    }
    const stuck = createLogger(new TransportStream({ log: () => {} }))
    const used: WeakRef<object>[] = []
    for (let n = 0; n < 5; n++) used.push(...(await use()))
    await shipper.flush()
    await delay(100)
    gc()
    stuck.remove(stuck.transports[1] as TransportStream)
    expect(used.filter(one => one.deref() !== undefined).length).toBeLessThanOrEqual(2)
  })
})
