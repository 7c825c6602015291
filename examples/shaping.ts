/**
 * Shapes events before they are shipped: adds the fields of the request, removes passwords and health checks, keeps a
 * tenth of the traces' debug events, and ships everything for a while when that is needed.
 *
 *     npx node examples/shaping.ts
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { once } from 'node:events'
import { startEmulator } from 'logferry/emulator'
import { LogferryTransport } from 'logferry/winston'
import winston from 'winston'

// The service, in this process. With an account of your own: leave it out, and set LOGFERRY_URL and LOGFERRY_TOKEN.
const emulator = await startEmulator()

const requests = new AsyncLocalStorage<{ request_id: string; customer: number }>()

const transport = new LogferryTransport({
  baseUrl: emulator.url,
  token: emulator.token,
  dataset: 'shop',
  minSeverity: 'debug',
  context: () => requests.getStore(),
  transform: ({ password, ...event }) => (event.url === '/health' ? undefined : event),
  sample: { rates: { debug: 0.1 }, by: 'trace' },
})
const logger = winston.createLogger({ level: 'silly', transports: [transport] })

requests.run({ request_id: 'r-7', customer: 1234 }, () => {
  logger.info('signed in', { user: 'ann', password: 'correct horse' })
  logger.silly('not shipped: below the minimum severity')
})
logger.info('GET', { url: '/health' })

// The last 14 digits of a trace id decide. The second id is among the highest tenth, and is kept.
for (const trace_id of ['0af7651916cd43dd8448eb211c80319c', '0af7651916cd43dd84f8eb211c80319c']) {
  logger.debug('cache miss', { trace_id })
}

transport.shipper.setMinSeverity('trace', { forMs: 60_000 })
logger.silly('shipped, for a minute')

logger.end()
await once(logger, 'finish')

const { accepted, delivered, drops } = transport.shipper.stats()
console.log(`${delivered} of ${accepted} events were delivered. Dropped as intended:`, drops)
for (const { _time, ...event } of emulator.events('shop')) console.log(event)
await emulator.close()
