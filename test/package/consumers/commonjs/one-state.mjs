// An application imports the package, and one of its modules requires it: both share one copy of all state.
import assert from 'node:assert/strict'
import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)
const names = ['logferry', 'logferry/winston', 'logferry/otel', 'logferry/org', 'logferry/emulator']
for (const name of names) {
  const [imported, required] = [await import(name), require(name)]
  assert.notDeepEqual(Object.keys(required), [], `${name} exports nothing`)
  assert.deepEqual(Object.keys(imported).sort(), Object.keys(required).sort(), name)
  for (const key of Object.keys(required)) assert.equal(imported[key], required[key], `${key} of ${name}`)
}

// Each accepts the objects of the other, timestamps are unique among both, and the end of the process delivers for
// both.
const { startEmulator } = await import('logferry/emulator')
const { createShipper } = await import('logferry')
const { LogferryTransport } = require('logferry/winston')
const emulator = await startEmulator()
const listeners = process.listenerCount('exit')
const shipper = createShipper({ baseUrl: emulator.url, token: emulator.token, dataset: 'both' })
const logger = require('winston').createLogger({ transports: [new LogferryTransport({ shipper })] })
const other = require('logferry').createShipper({ baseUrl: emulator.url, token: emulator.token, dataset: 'both' })
const ownListeners = 2
assert.equal(process.listenerCount('exit'), listeners + ownListeners, 'one set of hooks')
for (let id = 0; id < 1000; id++) {
  shipper.ship({ id })
  logger.info('from Winston')
  other.ship({ id })
}
await Promise.all([shipper.close(), other.close()])
assert.equal(process.listenerCount('exit'), listeners, 'no hooks after the last close')
const events = emulator.events('both')
assert.equal(events.length, 3000)
assert.equal(new Set(events.map(event => event._time)).size, 3000)
await emulator.close()
