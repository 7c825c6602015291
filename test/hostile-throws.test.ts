/** Functions of the application may throw anything. Delivery goes on, and the books stay exact. */
import { Agent } from 'undici'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { startEmulator } from '../src/emulator.ts'
import { createShipper, type ShipperOptions } from '../src/index.ts'
import { startShipping } from './support/shipping.ts'
import { until } from './support/until.ts'

const secret = 'hunter2 was here'
const thrown: [string, unknown][] = [
  ['an Error', new Error(secret)],
  ['an Error whose name is a symbol', Object.assign(new Error(secret), { name: Symbol(secret) })],
  ['an Error whose name is a text', Object.assign(new Error(secret), { name: secret })],
  [
    'an Error that throws when it is read',
    Object.defineProperty(new Error(secret), 'name', { get: () => fail(new Error(secret)) }),
  ],
  ['a proxy that throws', new Proxy({}, { getPrototypeOf: () => fail(new Error(secret)) })],
  ['nothing', undefined],
]

function fail(error: unknown): never {
  throw error
}

/** Returns the errors that nothing handles, which would end a process. */
function unhandledErrors(): unknown[] {
  const errors: unknown[] = []
  const keep = (error: unknown) => void errors.push(error)
  const others = process.listeners('unhandledRejection')
  process.removeAllListeners('unhandledRejection')
  process.on('unhandledRejection', keep)
  onTestFinished(() => {
    process.off('unhandledRejection', keep)
    for (const other of others) process.on('unhandledRejection', other)
  })
  return errors
}

/** What a dispatcher is told of one request, as far as these tests use it. */
interface Handler {
  onRequestStart(controller: object): void
  onResponseStart(controller: object, status: number, headers: object): void
  onResponseEnd(): void
  onResponseError(controller: object, error: unknown): void
}

const noRequest = { abort() {} }

function withThrowing(names: readonly string[]): Error {
  const thrower = { get: () => fail(new Error('not for you')) }
  return Object.defineProperties(new Error(), Object.fromEntries(names.map(name => [name, thrower])))
}

describe.each(thrown)('%s', (_, error) => {
  it('thrown by listeners loses no event', async () => {
    await using shipping = await startShipping()
    shipping.emulator.faults.answerNext(1, { status: 503 })
    const shipper = shipping.ship({ maxRetryDelayMs: 10, onRejected: () => fail(error) })
    for (const name of ['delivered', 'attempted', 'retried', 'dropped', 'rejected', 'warning'] as const) {
      shipper.on(name, () => fail(error))
    }
    shipper.ship({ n: 1 })
    expect(await shipper.flush()).toEqual({ complete: true, pending: 0 })
    shipper.ship({ n: 2 })
    expect(await shipper.close()).toEqual({ complete: true, pending: 0 })
    expect(shipping.emulator.eventCount('d')).toBe(2)
    expect(shipper.stats()).toMatchObject({ accepted: 2, delivered: 2, pending: 0 })
    expect(JSON.stringify(shipping.warnings)).not.toContain(secret)
  })

  it('thrown by a replaced `process.emitWarning` loses no event', async () => {
    await using emulator = await startEmulator()
    using emitWarning = vi.spyOn(process, 'emitWarning').mockImplementation(() => fail(error))
    emulator.faults.answerNext(1, { status: 403 })
    const { url: baseUrl, token } = emulator
    const shipper = createShipper({ baseUrl, token, dataset: 'd', context: () => fail(error) })
    expect(shipper.ship({ n: 1 })).toBe(true)
    expect(await shipper.close()).toEqual({ complete: true, pending: 0 })
    expect(emulator.eventCount('d')).toBe(1)
    expect(emitWarning).toHaveBeenCalledTimes(2)
  })

  const hooks: [string, ShipperOptions][] = [
    ['context', { context: () => fail(error) }],
    ['transform', { transform: () => fail(error) }],
    ['sample', { sample: () => fail(error) }],
  ]
  it.each(hooks)('thrown by `%s` ships the event as it is', async (name, options) => {
    await using shipping = await startShipping()
    const shipper = shipping.ship(options)
    expect(shipper.ship({ n: 1 })).toBe(true)
    await shipper.flush()
    expect(shipping.emulator.events('d')).toMatchObject([{ n: 1 }])
    expect(shipping.warnings).toMatchObject([{ message: expect.stringContaining(`\`${name}\` function threw`) }])
    expect(JSON.stringify(shipping.warnings)).not.toContain(secret)
  })

  const dropping: [string, ShipperOptions][] = [
    ['dataset', { dataset: () => fail(error) }],
    ['redact', { redact: { paths: ['n'], censor: () => fail(error) } }],
  ]
  it.each(dropping)('thrown by the function of `%s` drops the event for that reason', async (reason, options) => {
    await using shipping = await startShipping()
    const shipper = shipping.ship(options)
    expect(shipper.ship({ n: 1 })).toBe(false)
    expect(Object.keys(shipper.stats().drops)).toEqual([reason])
    expect(shipping.warnings).toHaveLength(1)
    expect(JSON.stringify(shipping.warnings)).not.toContain(secret)
  })

  it.each(['getMeter', 'createHistogram', 'createObservableCounter', 'addBatchObservableCallback'])(
    'thrown by `%s` of the meter provider costs nothing but the metrics',
    async method => {
      await using shipping = await startShipping()
      const meter: Record<string, unknown> = {
        createHistogram: () => ({ record() {} }),
        createObservableCounter: () => ({}),
        createObservableUpDownCounter: () => ({}),
        addBatchObservableCallback() {},
        removeBatchObservableCallback() {},
        getMeter: () => meter,
        [method]: () => fail(error),
      }
      const shipper = shipping.ship({ meterProvider: meter as never })
      shipper.ship({ n: 1 })
      expect(await shipper.close()).toEqual({ complete: true, pending: 0 })
    },
  )
})

describe('a dispatcher of the application', () => {
  const errors: [string, unknown][] = [
    ['an Error whose message is no text', Object.assign(new Error(), { message: { text: 'no' } })],
    ['an Error with a number as its code, and without a message', Object.assign(new Error(), { code: 20 })],
    ['an Error whose message throws when it is read', withThrowing(['message', 'code', 'name'])],
    ['a proxy that throws', new Proxy({}, { get: () => fail(new Error('not for you')) })],
    ['nothing', undefined],
  ]
  const ways: [string, (error: unknown, handler: Handler) => unknown][] = [
    ['throws', error => fail(error)],
    ['rejects with', async error => fail(error)],
    ['fails a request with', (error, handler) => setImmediate(() => handler.onResponseError(noRequest, error))],
    ['fails an abort of a request with', (error, handler) => handler.onRequestStart({ abort: () => fail(error) })],
    [
      'gives headers that are no texts, beside',
      (error, handler) => {
        handler.onResponseStart(noRequest, 429, { ratelimit: 7, date: [error] })
        handler.onResponseEnd()
      },
    ],
  ]

  it.each(['close', 'destroy'] as const)('is named by the warning after its %s()', async end => {
    await using shipping = await startShipping()
    const dispatcher = new Agent()
    const shipper = shipping.ship({ dispatcher })
    await dispatcher[end]()
    shipper.ship({ n: 1 })
    expect((await shipper.close({ timeoutMs: 50 })).pending).toBe(0)
    const message = expect.stringContaining('The option dispatcher is closed: close it')
    expect(shipping.warnings).toContainEqual(expect.objectContaining({ code: 'LOGFERRY_DROPPED', message }))
  })

  describe.each(ways)('that %s', (_, misbehave) => {
    it.each(errors)('%s: the events are sent again', async (_, error) => {
      await using shipping = await startShipping()
      const agent = new Agent()
      onTestFinished(() => agent.close())
      let requests = 0
      const dispatcher = {
        dispatch: (options: Agent.DispatchOptions, handler: Handler) =>
          ++requests === 1 ? misbehave(error, handler) : agent.dispatch(options, handler as never),
      }
      const unhandled = unhandledErrors()
      const options = { dispatcher: dispatcher as never, requestTimeoutMs: 500, maxRetryDelayMs: 10 }
      const shipper = shipping.ship(options)
      shipper.ship({ n: 1 })
      expect(await shipper.close()).toEqual({ complete: true, pending: 0 })
      await new Promise(setImmediate)
      expect(requests).toBe(2)
      expect(shipper.stats()).toMatchObject({ accepted: 1, delivered: 1, pending: 0, requestsInFlight: 0 })
      expect(unhandled).toEqual([])
    })
  })
})

describe('a promise that rejects', () => {
  const reject = async () => fail(new Error(secret))
  const functions: [string, object, object, number][] = [
    ['`redact.censor`', { redact: { paths: ['secret'], censor: reject } }, { secret }, 0],
    ['`dataset`', { dataset: reject }, {}, 0],
    ['`context`', { context: reject }, {}, 1],
    ['`transform`', { transform: reject }, {}, 1],
    ['`sample`', { sample: reject }, {}, 1],
    ['a `toJSON`', {}, { order: { toJSON: reject } }, 1],
    ['the `toJSON` of an Error', {}, { error: Object.assign(new Error('failed'), { toJSON: reject }) }, 1],
  ]
  it.each(functions)('from %s does not end the process', async (_, options, fields, delivered) => {
    const errors = unhandledErrors()
    await using shipping = await startShipping()
    const shipper = shipping.ship(options)
    shipper.ship({ n: 1, ...fields })
    await shipper.flush()
    await new Promise(setImmediate) // Node reports unhandled rejections after the microtasks
    expect(shipper.stats()).toMatchObject({ accepted: 1, delivered, dropped: 1 - delivered })
    expect(errors).toEqual([])
    expect(JSON.stringify(shipping.warnings)).not.toContain(secret)
  })

  it('from a listener is reported as an error that is thrown', async () => {
    const errors = unhandledErrors()
    await using shipping = await startShipping()
    const shipper = shipping.ship({ onRejected: reject })
    shipper.on('delivered', reject)
    shipper.on('warning', reject)
    shipper.ship({ n: 1 })
    await shipper.flush()
    await until(() => shipping.warnings.length > 0, 'a warning')
    await new Promise(setImmediate)
    expect(shipping.warnings).toMatchObject([{ code: 'LOGFERRY_CALLBACK_THREW' }])
    expect(JSON.stringify(shipping.warnings)).not.toContain(secret)
    expect(errors).toEqual([])
  })
})
