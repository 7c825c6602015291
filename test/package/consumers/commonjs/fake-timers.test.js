// Jest's fake timers, which are in force before the package loads if the configuration says so
// (`fakeTimers.enableGlobally`).
const { once } = require('node:events')
const { createShipper } = require('logferry')
const { startEmulator } = require('logferry/emulator')
const { LogferryTransport } = require('logferry/winston')
const winston = require('winston')

let emulator
let options

beforeEach(async () => {
  emulator = await startEmulator()
  options = { baseUrl: emulator.url, token: emulator.token, dataset: 'faked', maxBatchAgeMs: 20 }
})
afterEach(async () => {
  jest.useRealTimers()
  await emulator.close()
})

const numbers = () => emulator.events('faked').map(({ n }) => n)

test('a shipper sends each event once while an hour passes between them, and ends', async () => {
  jest.useFakeTimers({ now: Date.UTC(2001, 0, 1) })
  const shipper = createShipper(options)
  for (let n = 0; n < 20; n++) {
    shipper.ship({ n })
    jest.advanceTimersByTime(3_600_000)
    if (n % 5 === 4) await emulator.waitForEvents('faked', n + 1) // batches depend on their age
  }
  expect(await shipper.flush()).toEqual({ complete: true, pending: 0 })
  await shipper.close()
  expect(numbers()).toEqual([...Array(20).keys()])
  expect(emulator.events('faked')[1]._time).toMatch('2001-01-01T01:00:00') // the application's clock
  expect(emulator.requests().length).toBeLessThan(20)
})

// Jest fakes `process.nextTick`, too. Winston waits for it, whatever its transports.
test.each([
  ['runs ticks by itself', { advanceTimers: true }],
  ['leaves ticks alone', { doNotFake: ['nextTick'] }],
])('a logger sends each event once, and ends, where Jest %s', async (_, config) => {
  jest.useFakeTimers(config)
  const logger = winston.createLogger({ transports: [new LogferryTransport(options)] })
  for (let n = 0; n < 20; n++) {
    logger.info('logged', { n })
    jest.advanceTimersByTime(3_600_000)
  }
  const finished = once(logger, 'finish')
  logger.end()
  await finished
  expect(numbers()).toEqual([...Array(20).keys()])
})
