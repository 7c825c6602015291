/** Applications replace the global `Promise` by that of a library, such as bluebird, which lacks newer functions. */
import { expect, it } from 'vitest'
import { runScript } from './support/run-script.ts'

/** A promise of a library: unlike a subclass, it is no native promise, and takes none of its functions. */
const replace = `
  const Native = Promise
  class LibraryPromise {
    #native
    constructor(run) { this.#native = new Native(run) }
    then(...handlers) { return LibraryPromise.of(this.#native.then(...handlers)) }
    catch(handler) { return this.then(undefined, handler) }
    finally(handler) { return LibraryPromise.of(this.#native.finally(handler)) }
    static of(native) { return new LibraryPromise((resolve, reject) => native.then(resolve, reject)) }
    static resolve(value) { return LibraryPromise.of(Native.resolve(value)) }
    static reject(reason) { return LibraryPromise.of(Native.reject(reason)) }
    static all(values) { return LibraryPromise.of(Native.all(values)) }
    static allSettled(values) { return LibraryPromise.of(Native.allSettled(values)) }
    static race(values) { return LibraryPromise.of(Native.race(values)) }
  }
  globalThis.Promise = LibraryPromise
`

const ship = `
  const { default: winston } = await import('winston')
  const { LogferryTransport } = await import('./dist/winston.js')
  const { LogferryLogRecordProcessor } = await import('./dist/otel.js')
  const { startEmulator } = await import('./dist/emulator.js')
  const emulator = await startEmulator()
  const transport = new LogferryTransport({ baseUrl: emulator.url, token: emulator.token, dataset: 'd', maxBatchAgeMs: 20 })
  const { shipper } = transport
  shipper.on('delivered', async () => { throw new Error('of a listener') })
  const logger = winston.createLogger({ transports: [transport] })
  const codes = new Set()
  logger.on('warn', ({ code }) => codes.add(code))
  logger.info('first')
  await emulator.waitForEvents('d', 1)
  const receipt = shipper.shipAndConfirm({ message: 'second' })
  new LogferryLogRecordProcessor({ shipper }).onEmit({ hrTime: [1, 0], body: 'third', attributes: {}, resource: { attributes: {} } })
  await receipt
  await shipper.flush()
  logger.info('fourth')
  logger.end()
  await new Native(resolve => logger.once('finish', resolve))
  console.log(JSON.stringify({ ...shipper.stats(), codes: [...codes], stored: emulator.eventCount('d') }))
  await emulator.close()
`

it.each([
  ['before', `${replace}${ship}`],
  ['after', `await import('./dist/winston.js')\n${replace}${ship}`],
])('delivers if the application replaces Promise %s the package is loaded', async (_, script) => {
  const { stdout, stderr, code } = await runScript(script)
  expect(stderr).toBe('')
  expect(code).toBe(0)
  const delivered = { accepted: 4, delivered: 4, dropped: 0, pending: 0, stored: 4 }
  expect(JSON.parse(stdout)).toMatchObject({ ...delivered, codes: ['LOGFERRY_CALLBACK_THREW'] })
})
