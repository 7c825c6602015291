/**
 * Winston: events keep their nested fields, errors their cause, child loggers their context.
 *
 *     npx node examples/winston.ts
 */
import { once } from 'node:events'
import { startEmulator } from 'logferry/emulator'
import { LogferryTransport } from 'logferry/winston'
import winston from 'winston'

// The service, in this process. With an account of your own: leave it out, and set LOGFERRY_URL and LOGFERRY_TOKEN.
const emulator = await startEmulator()

// No format: the transport ships what is logged, not a text made of it.
const logger = winston.createLogger({
  level: 'debug',
  transports: [new LogferryTransport({ baseUrl: emulator.url, token: emulator.token, dataset: 'checkout' })],
})

logger.info('order placed', { order: { id: 42, total: 99.5, items: [{ sku: 'A-1', quantity: 2 }] } })

const requestLogger = logger.child({ request: { id: 'r-7', customer: { id: 1234, plan: 'team' } } })
requestLogger.debug('cart loaded', { cart: { items: 3 } })

try {
  chargeCard()
} catch (error) {
  requestLogger.error('payment failed', { error })
}

// Ends the logger once everything is delivered, or after `flushTimeoutMs`.
logger.end()
await once(logger, 'finish')

console.log(`${emulator.eventCount('checkout')} events arrived:`)
console.dir(emulator.events('checkout'), { depth: null })
await emulator.close()

function chargeCard(): never {
  throw new Error('card declined', { cause: new Error('the bank answered 51: insufficient funds') })
}
