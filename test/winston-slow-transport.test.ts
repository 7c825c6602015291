/** A transport of the same logger that falls behind: Winston then keeps infos back from every transport. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import winston from 'winston'
import TransportStream from 'winston-transport'
import type { ShipperOptions } from '../src/index.ts'
import { LogferryTransport } from '../src/winston.ts'
import { startShipping } from './support/shipping.ts'

class Slow extends TransportStream {
  readonly written: unknown[] = []

  override log(info: { n: number }, next: () => void): void {
    this.written.push(info.n)
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

  it('leaves every info to the slow transport, in order', async () => {
    await using logging = await startLogging()
    const { logger, slow } = logging
    for (let n = 0; n < 100; n++) logger.info('m', { n })
    while (slow.written.length < 100) await delay(5)
    expect(slow.written).toEqual(Array.from({ length: 100 }, (_, n) => n))
    await once(logger.end(), 'finish')
  })
})
