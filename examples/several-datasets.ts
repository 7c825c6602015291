/**
 * Several datasets from one logger: `dataset` may be a function of the event.
 *
 *     npx node examples/several-datasets.ts
 */
import { once } from 'node:events'
import { startEmulator } from 'logferry/emulator'
import { LogferryTransport } from 'logferry/winston'
import winston from 'winston'

// The service, in this process. With an account of your own: leave it out, and set LOGFERRY_URL and LOGFERRY_TOKEN.
const emulator = await startEmulator()

const transport = new LogferryTransport({
  baseUrl: emulator.url,
  token: emulator.token,
  // Runs inside each log call: keep it short. Each dataset has batches of its own.
  dataset: ({ audit, http }) => (audit ? 'audit' : http ? 'requests' : 'app'),
})
const logger = winston.createLogger({ transports: [transport] })

logger.info('listening', { port: 8080 })
logger.info('GET /orders/42', { http: { method: 'GET', path: '/orders/42', status: 200 } })
logger.info('role granted', { audit: { actor: 'ada', action: 'grant', role: 'admin', to: 'grace' } })
logger.warn('GET /orders/43', { http: { method: 'GET', path: '/orders/43', status: 404 } })

logger.end()
await once(logger, 'finish')

for (const dataset of emulator.datasets()) {
  console.log(`${dataset}:`)
  for (const line of emulator.lines(dataset)) console.log(`  ${line}`)
}
await emulator.close()
