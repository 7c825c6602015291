// A Jest suite in CommonJS, as Jest runs it by default: modules have a separate context, without `import()`.
const { once } = require('node:events')
const { setTimeout } = require('node:timers/promises')
const { LoggerProvider } = require('@opentelemetry/sdk-logs')
const { createShipper } = require('logferry')
const { startEmulator } = require('logferry/emulator')
const { createOrgClient } = require('logferry/org')
const { LogferryLogRecordProcessor } = require('logferry/otel')
const { LogferryTransport } = require('logferry/winston')
const winston = require('winston')

let emulator
let options

beforeAll(async () => {
  emulator = await startEmulator()
  options = { baseUrl: emulator.url, token: emulator.token }
})
afterAll(() => emulator.close())

test('ships what is logged through Winston, as it is', async () => {
  const logger = winston.createLogger({ transports: [new LogferryTransport({ ...options, dataset: 'winston' })] })
  const error = new TypeError('refused', { cause: new Error('no money') })
  for (let id = 0; id < 1000; id++) logger.info(`order ${id}`, { order: { id, placed: new Date(0) } })
  logger.error('payment', { error })
  logger.end()
  await once(logger, 'finish')

  const events = emulator.events('winston')
  expect(events).toHaveLength(1001)
  expect(events[999]).toMatchObject({ message: 'order 999', order: { id: 999, placed: '1970-01-01T00:00:00.000Z' } })
  expect(events[1000].error).toMatchObject({ name: 'TypeError', message: 'refused', cause: { message: 'no money' } })
})

test('ships log records of the OpenTelemetry SDK', async () => {
  const processors = [new LogferryLogRecordProcessor({ ...options, dataset: 'otel' })]
  const provider = new LoggerProvider({ processors })
  provider.getLogger('orders').emit({ body: 'order placed', attributes: { 'order.id': 42 } })
  await provider.shutdown()

  expect(emulator.events('otel')).toMatchObject([{ message: 'order placed', attributes: { order: { id: 42 } } }])
})

test('reads the organization, and keeps to its license', async () => {
  const accessToken = emulator.accessToken
  const client = createOrgClient({ baseUrl: emulator.url, accessToken })
  expect(await client.get(emulator.orgId)).toMatchObject({ id: emulator.orgId })
  await client.close()

  const shipper = createShipper({ ...options, dataset: 'limited', limits: { orgId: emulator.orgId, accessToken } })
  while (shipper.stats().limits.readAt === undefined) await setTimeout(10)
  shipper.ship({ message: 'within the license' })
  expect(await shipper.flush()).toEqual({ complete: true, pending: 0 })
  await shipper.close()
})
