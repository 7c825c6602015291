import { AsyncLocalStorage } from 'node:async_hooks'
import { setTimeout as delay } from 'node:timers/promises'
import { detectResources } from '@opentelemetry/resources'
import { LoggerProvider } from '@opentelemetry/sdk-logs'
import { describe, expect, it } from 'vitest'
import type { Shipper, ShipperOptions } from '../../src/index.ts'
import { LogferryLogRecordProcessor } from '../../src/otel.ts'
import { type Shipping, startShipping } from '../support/shipping.ts'
import { ways } from './ways.ts'

type Event = Record<string, unknown>

async function arrived({ emulator }: Shipping, shipper: Shipper): Promise<Event[]> {
  await shipper.flush()
  return emulator.events('d').map(({ _time, observed_time, ...event }) => event)
}

describe.each(ways)('context, by %s', (_, logOf) => {
  it('adds the fields of the request that logs', async () => {
    await using shipping = await startShipping()
    const requests = new AsyncLocalStorage<{ request_id: string }>()
    const shipper = shipping.ship({ context: () => requests.getStore() })
    const log = logOf(shipper)
    const handle = async (request_id: string, ms: number) => {
      await delay(ms)
      log('info', `handled ${request_id}`)
    }
    await Promise.all(
      ['a', 'b'].map((request_id, n) => requests.run({ request_id }, () => handle(request_id, 20 - 10 * n))),
    )
    log('info', 'without')
    const events = await arrived(shipping, shipper)
    expect(events.map(({ message, request_id }) => [message, request_id])).toEqual([
      ['handled b', 'b'],
      ['handled a', 'a'],
      ['without', undefined],
    ])
  })

  it('adds the entries of a Map, and warns of an object without fields', async () => {
    await using shipping = await startShipping()
    class Store {
      get request_id(): string {
        return 'r-2'
      }
    }
    const stores: object[] = [new Map([['request_id', 'r-1']]), new Store()]
    const shipper = shipping.ship({ context: () => stores.shift() as Event })
    const log = logOf(shipper)
    log('info', 'first')
    log('info', 'second')
    const [first, second] = await arrived(shipping, shipper)
    expect(first).toMatchObject({ request_id: 'r-1' })
    expect(second).not.toHaveProperty('request_id')
    expect(shipping.warnings.map(({ message }) => message).join()).toContain('without fields of its own')
  })

  it.each<[string, (store: object) => object]>([
    ['a copy of the object, toJSON included', store => ({ ...store, token: undefined })],
    ['a Map with a toJSON', store => new Map(Object.entries({ ...store, token: undefined }))],
  ])('keeps the event if the toJSON of an object returns %s', async (_, copied) => {
    await using shipping = await startShipping()
    const store = { request_id: 'r-1', token: 'hidden', toJSON: (): object => copied(store) }
    const shipper = shipping.ship({ dataset: 'd', context: () => store })
    shipper.ship({ level: 'error', message: 'payment failed', token: 'of the event' })
    await shipper.flush()
    const [event] = shipping.emulator.events('d')
    expect(event).toMatchObject({ message: 'payment failed', token: 'of the event', request_id: 'r-1' })
    expect(event).not.toHaveProperty('toJSON')
  })

  it('adds what the toJSON of an object leaves of it', async () => {
    await using shipping = await startShipping()
    const session = { user: 'u-1', secret: 'hidden', toJSON: () => ({ user: 'u-1' }) }
    const shipper = shipping.ship({ context: () => session })
    logOf(shipper)('error', 'payment failed')
    const [event] = await arrived(shipping, shipper)
    expect(event).toMatchObject({ level: 'error', message: 'payment failed', user: 'u-1' })
    expect(JSON.stringify(event)).not.toContain('hidden')
  })

  it('does not replace fields of the event', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({
      context: () => ({ message: 'no', level: 'no', trace_id: 'of the context', _time: 'no', n: 1 }),
    })
    logOf(shipper)('info', 'm')
    await shipper.flush()
    const [event] = shipping.emulator.events('d')
    expect(event).toMatchObject({ message: 'm', level: 'info', trace_id: 'of the context', n: 1 })
    expect(event?._time).toMatch(/^20/)
  })

  it.each<[string, () => unknown, RegExp]>([
    [
      'throws',
      () => {
        throw new TypeError('x')
      },
      /`context` function threw TypeError; the event is shipped without its fields\./,
    ],
    ['returns a promise', async () => ({ n: 1 }), /returned a promise/],
    [
      'returns a promise that is rejected',
      async () => {
        throw new Error('x')
      },
      /returned a promise/,
    ],
    ['returns a number', () => 5, /returned a number/],
    ['returns an array', () => [1], /returned an array/],
  ])('that %s ships the event without fields, and one warning says so', async (_, context, message) => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ context: context as NonNullable<ShipperOptions['context']> })
    const log = logOf(shipper)
    for (let n = 0; n < 3; n++) log('info', 'm')
    const events = await arrived(shipping, shipper)
    expect(events).toHaveLength(3)
    for (const event of events) {
      expect(event).toMatchObject({ message: 'm' })
      expect(event).not.toHaveProperty('n')
    }
    expect(shipping.warnings).toEqual([
      { code: 'LOGFERRY_CALLBACK_THREW', message: expect.stringMatching(message), suppressed: 0 },
    ])
  })

  it('that logs does not recurse without end', async () => {
    await using shipping = await startShipping()
    const shipper: Shipper = shipping.ship({ context: () => void log('info', 'no context') as undefined })
    const log = logOf(shipper)
    log('info', 'outer')
    await shipper.flush()
    const { accepted, delivered, dropped } = shipper.stats()
    expect(delivered).toBeGreaterThan(0)
    expect(accepted).toBe(delivered + dropped)
    expect(accepted).toBeLessThan(20)
  })
})

describe('context', () => {
  it('never changes what was logged, and takes any event', async () => {
    await using shipping = await startShipping()
    const fields = Object.freeze({ tenant: 'blue', ['__proto__']: 1 })
    const shipper = shipping.ship({ context: () => fields })
    class Row {
      id = 1
    }
    const events = [
      Object.freeze({ message: 'frozen' }),
      new Row(),
      Object.assign(new Error('boom'), { code: 5 }),
      { toJSON: () => ({ message: 'shown' }) },
      new Proxy({ message: 'proxy' }, {}),
      { message: 'undefined', tenant: undefined },
      { message: 'null', tenant: null },
      { message: 'own', tenant: 'red' },
      'a text',
    ]
    for (const event of events) shipper.ship(event as never)
    const tenants = [...Array(6).fill('blue'), null, 'red', 'blue']
    const lines = await arrived(shipping, shipper)
    expect(lines.map(({ tenant }) => tenant)).toEqual(tenants)
    expect(lines).toMatchObject([
      { message: 'frozen' },
      { id: 1 },
      { message: 'boom', code: 5 },
      { message: 'shown' },
      { message: 'proxy' },
      { message: 'undefined' },
      { message: 'null' },
      { message: 'own' },
      { message: 'a text' },
    ])
  })

  it('is seen by transform, sample and dataset functions', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({
      context: () => ({ tenant: 'blue' }),
      transform: event => ({ ...event, tenant: `${event.tenant}!` }),
      sample: event => (event.tenant === 'blue!' ? 1 : 0),
      dataset: event => (event.tenant === 'blue!' ? 'd' : 'elsewhere'),
    })
    shipper.ship({ message: 'm' })
    expect(await arrived(shipping, shipper)).toEqual([{ message: 'm', tenant: 'blue!' }])
  })

  it('does not replace resource and scope of a record', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ context: () => ({ resource: 'no', scope: 'no', n: 1 }) })
    const provider = new LoggerProvider({ processors: [new LogferryLogRecordProcessor({ shipper })] })
    provider.getLogger('orders').emit({ body: 'm' })
    shipper.ship({ message: 'core' })
    const [record, event] = await arrived(shipping, shipper)
    expect(record).toMatchObject({ n: 1, scope: { name: 'orders' } })
    expect(record?.resource).not.toBe('no')
    expect(event).toMatchObject({ resource: 'no', scope: 'no' })
  })

  it('is that of the log call for records that are held until their resource is known', async () => {
    await using shipping = await startShipping()
    const requests = new AsyncLocalStorage<{ request_id: string }>()
    const detected = Promise.withResolvers<string>()
    const resource = detectResources({
      detectors: [{ detect: () => ({ attributes: { 'host.id': detected.promise } }) }],
    })
    let calls = 0
    const shipper = shipping.ship({
      context: () => {
        calls++
        return requests.getStore()
      },
      transform: event => ({ ...event, host: (event.resource as { host?: { id: string } }).host?.id }),
    })
    const provider = new LoggerProvider({ resource, processors: [new LogferryLogRecordProcessor({ shipper })] })
    const logger = provider.getLogger('x')
    requests.run({ request_id: 'r-1' }, () => logger.emit({ body: 'in a request' }))
    logger.emit({ body: 'without' })
    requests.run({ request_id: 'another' }, () => detected.resolve('h-1'))
    await provider.forceFlush()
    const events = await arrived(shipping, shipper)
    expect(events).toMatchObject([
      { message: 'in a request', request_id: 'r-1', host: 'h-1' },
      { message: 'without', host: 'h-1' },
    ])
    expect(events[1]).not.toHaveProperty('request_id')
    expect(calls).toBe(2)
    expect(shipper.stats()).toMatchObject({ accepted: 2, delivered: 2 })
  })
})

it('context does not add a field that the event has by another way of writing its path', async () => {
  await using shipping = await startShipping()
  const shipper = shipping.ship({
    context: () => ({
      'user.id': 'no',
      'user.name': 'n',
      'http.request.id': 'no',
      tenant: { id: 'no', size: 5, plan: { name: 'no' } },
      team: { id: 'no' },
    }),
  })
  const event = {
    user: { id: 1 },
    http: { 'request.id': 2 },
    'tenant.id': 3,
    'tenant.plan': { name: 'free' },
    'team.id': 4,
  }
  shipper.ship({ level: 'info', message: 'm', ...event })
  const [sent] = await arrived(shipping, shipper)
  expect(sent).toEqual({
    level: 'info',
    message: 'm',
    ...event,
    'user.name': 'n',
    tenant: { size: 5 },
  })
})

it('a level that context adds is the severity of the event from then on, but not one that the event has', async () => {
  await using shipping = await startShipping()
  const shipper = shipping.ship({ context: () => ({ level: 'error' }), sample: { info: 0, error: 1 } })
  shipper.ship({ message: 'kept' })
  shipper.ship({ message: 'sampled away', level: 'info' })
  expect(await arrived(shipping, shipper)).toEqual([{ message: 'kept', level: 'error' }])
  expect(shipper.stats().drops).toMatchObject({ sample: { info: 1 } })
})

describe('a group of the context, beside dotted names of the event,', () => {
  const cyclic = () => {
    const user: Event = { id: 'no', name: 'n' }
    user.owner = user
    return user
  }
  const throwing = () =>
    Object.defineProperty({ id: 'no' }, 'name', {
      enumerable: true,
      get: () => {
        throw new Error('x')
      },
    })
  const shared = () => {
    let group: object = { leaf: 1 }
    for (let depth = 0; depth < 24; depth++) group = { a: group, b: group }
    return group
  }

  it.each<[string, () => object, object]>([
    ['may contain itself', cyclic, { name: 'n', owner: expect.anything() }],
    ['may have an accessor that throws', throwing, { name: expect.stringContaining('Throws') }],
    ['may refer to a group many times', shared, { a: expect.anything() }],
  ])('%s', async (_, makeUser, expected) => {
    await using shipping = await startShipping()
    const user = makeUser()
    const shipper = shipping.ship({ context: () => ({ user }) })
    const startedAtMs = performance.now()
    shipper.ship({ message: 'm', 'user.id': 1 })
    expect(performance.now() - startedAtMs).toBeLessThan(500)
    const [sent] = await arrived(shipping, shipper)
    expect(sent).toMatchObject({ message: 'm', 'user.id': 1, user: expected })
  })

  const many = (prefix: string) => Object.fromEntries(Array.from({ length: 3000 }, (_, n) => [`${prefix}${n}`, n]))

  it.each<[string, Event, string]>([
    ['of the group', many('k'), 'user.k'],
    ['of a group in it', { of: many('k') }, 'user.of.k'],
    ['that a group in it does not have', { of: many('l') }, 'user.of.k'],
  ])('costs no copy for each name %s', async (_, fields, prefix) => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ context: () => ({ user: { name: 'n', ...fields } }) })
    const startedAtMs = performance.now()
    shipper.ship(many(prefix))
    expect(performance.now() - startedAtMs).toBeLessThan(500)
    const [sent] = await arrived(shipping, shipper)
    expect(sent).toMatchObject({ ...many(prefix), user: { name: 'n' } })
  })
})
