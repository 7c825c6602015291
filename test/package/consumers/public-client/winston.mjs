import assert from 'node:assert/strict'
import { WinstonTransport } from '@axiomhq/winston'
import { startEmulator } from 'logferry/emulator'
import winston from 'winston'

const emulator = await startEmulator()
const transport = new WinstonTransport({ dataset: 'orders', url: emulator.url, token: emulator.token })
const logger = winston.createLogger({ transports: [transport] })

for (let id = 0; id < 100; id++) logger.info('order placed', { order: { id } })
await emulator.waitForEvents('orders', 100)

const ids = emulator.events('orders').map(event => event.order.id)
assert.deepEqual(ids, [...Array(100).keys()])
await emulator.close()
