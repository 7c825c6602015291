/**
 * Less noise: a storm of one error becomes two events, and debug events are shipped only if their request fails.
 *
 *     npx node examples/noise.ts
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
  dataset: 'app',
  collapse: { windowMs: 10_000 },
  hold: { below: 'warn', trigger: 'error' },
})
const logger = winston.createLogger({ level: 'debug', transports: [transport] })

for (let attempt = 0; attempt < 500; attempt++) logger.error('no connection to the database', { attempt })

// Inside a span of OpenTelemetry, events have a trace id by themselves.
for (const trace_id of ['trace-1', 'trace-2']) {
  const request = logger.child({ trace_id })
  request.debug('order read', { order: 42 })
  request.info('card charged', { order: 42 })
  if (trace_id === 'trace-2') request.error('order not placed', { order: 42 })
}

logger.end()
await once(logger, 'finish')

console.log(`${emulator.events('app').length} events arrived:`)
for (const { message, trace_id = '-', logferry } of emulator.events('app')) {
  console.log(`  ${trace_id} ${message} ${logferry === undefined ? '' : JSON.stringify(logferry)}`.trimEnd())
}
console.log('dropped:', transport.shipper.stats().drops)
await emulator.close()
