// Logs 3,000 times through Winston, and compares the calls with the events that the service received.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { startEmulator } from 'logferry/emulator'
import { LogferryTransport } from 'logferry/winston'
import winston from 'winston'
import { arrived } from './arrived.mjs'

const emulator = await startEmulator()
const options = { baseUrl: emulator.url, token: emulator.token, dataset: 'orders' }
const logger = winston.createLogger({ transports: [new LogferryTransport(options)] })

for (let id = 0; id < 3000; id++) logger.warn(`order ${id} is late`, { order: { id, total: 99.5 } })
logger.end()
await once(logger, 'finish')

assert.equal(emulator.eventCount('orders'), 3000, 'delivered when the logger has finished')
for (const [id, { _time, ...event }] of arrived(emulator, 'orders').entries()) {
  assert.deepEqual(event, { level: 'warn', message: `order ${id} is late`, order: { id, total: 99.5 } })
}
await emulator.close()
