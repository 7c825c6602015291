import { LoggerProvider } from '@opentelemetry/sdk-logs'
import fc from 'fast-check'
import { describe, expect, it, test, vi } from 'vitest'
import winston from 'winston'
import type { Shipper, ShipperOptions } from '../src/index.ts'
import { LogferryLogRecordProcessor } from '../src/otel.ts'
import { LogferryTransport } from '../src/winston.ts'
import { anyCharacter } from './support/any-character.ts'
import { cpuMs } from './support/cpu-ms.ts'
import { type Shipping, startShipping } from './support/shipping.ts'
import { isSoak } from './support/soak-runs.ts'

const many = 1_000_000

function objectOf(count: number, value: unknown): Record<string, unknown> {
  return Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, value]))
}

function nestedPairs(leaf: object): object {
  let pair = leaf
  for (let level = 0; level < 60; level++) pair = { left: pair, right: pair }
  return pair
}

function ofItself(count: number): object {
  const itself: Record<string, unknown> = {}
  for (let i = 0; i < count; i++) itself[`m${i}`] = itself
  return itself
}

function ringOf(objects: number, members: number): object {
  const ring = Array.from({ length: objects }, (): Record<string, unknown> => ({}))
  for (const [i, object] of ring.entries()) {
    Object.assign(object, objectOf(members, ring[(i + 1) % objects]))
  }
  return ring[0] as object
}

function* endlessly(): Generator<number> {
  for (;;) yield 1
}

function nestedProxies(): object {
  let proxy: object = { a: 1 }
  for (let level = 0; level < 200; level++) proxy = new Proxy(proxy, {})
  return proxy
}

/** Returns an object whose `toJSON` returns new objects of the same kind, without end. */
function endless(): object {
  return { toJSON: () => [endless(), endless()] }
}

function throwing(): object {
  return Object.defineProperty({}, 'a', {
    enumerable: true,
    get: () => {
      throw new Error('not for you')
    },
  })
}

/** Keeps the processor busy for a time, as code of an application does that computes a value. */
function compute(ms: number): number {
  const untilMs = performance.now() + ms
  while (performance.now() < untilMs);
  return untilMs
}

/** Returns rows of which none has so many columns that the reader of a row would look at the clock. */
function slowRows(rows: number): object[] {
  const column = { enumerable: true, get: () => compute(0.1) }
  const columns = Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`c${i}`, column]))
  return Array.from({ length: rows }, () => Object.defineProperties({}, columns))
}

/** Puts accessors on an object, each of which takes half a millisecond. */
function slowFields<T extends object>(count: number, target: T): T {
  for (let i = 0; i < count; i++) {
    Object.defineProperty(target, `slow${i}`, { enumerable: true, get: () => compute(0.5) })
  }
  return target
}

/** Returns an object that wraps each object read from it, as stores do that watch their objects. */
function watched<T extends object>(target: T): T {
  return new Proxy(target, {
    get: (object, name) => {
      compute(0.05)
      const value: unknown = Reflect.get(object, name)
      return typeof value === 'object' && value !== null ? watched(value) : value
    },
  })
}

const graphs: readonly [string, () => unknown][] = [
  ['an object of 4,000 members that is referred to 40,000 times', () => Array(40_000).fill(objectOf(4000, 1))],
  ['the same with members that are undefined', () => Array(40_000).fill(objectOf(4000, undefined))],
  ['an object of 16,000 members that are the object itself', () => ofItself(16_000)],
  ['objects that refer to one another 2^60 times', () => nestedPairs({ leaf: 1 })],
  ['the same with nothing in them', () => nestedPairs({})],
  ['an array of a million objects', () => Array.from({ length: many }, (_, i) => ({ i }))],
  ['an array of a million objects and a function', () => [() => 1, ...Array.from({ length: many }, (_, i) => ({ i }))]],
  ['an array of a million undefined', () => Array(many).fill(undefined)],
  ['a sparse array', () => new Array(1_000_000_000)],
  [
    'a proxy that claims to be an array of 10^15 items',
    () => new Proxy([], { get: (_, name) => (name === 'length' ? 1e15 : name === 'toJSON' ? undefined : 1) }),
  ],
  ['a Map of a million', () => new Map(Array.from({ length: many }, (_, i) => [`k${i}`, i]))],
  [
    'a Map of 100,000 that is referred to a thousand times',
    () => Array(1000).fill(new Map(Array.from({ length: 100_000 }, (_, i) => [`k${i}`, i]))),
  ],
  ['a Set of a million', () => new Set(Array.from({ length: many }, (_, i) => i))],
  ['a Buffer of 10 MB', () => Buffer.alloc(10_000_000)],
  ['the toJSON of a Buffer of a megabyte', () => Buffer.alloc(many).toJSON()],
  ['a Float64Array of ten millions', () => new Float64Array(10_000_000)],
  ['a text of 100 MB', () => Buffer.alloc(100_000_000, 'x').toString()],
  ['a text of 20 MB, three bytes each', () => '€'.repeat(20_000_000)],
  ['a text of halves of surrogate pairs', () => '\ud800'.repeat(10_000_000)],
  ['a text of control characters', () => '\u0001'.repeat(10_000_000)],
  [
    'a thousand names of a megabyte',
    () => Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`${i}${'k'.repeat(many)}`, i])),
  ],
  ['a BigInt of 1,200 digits that is referred to 400,000 times', () => Array(400_000).fill(2n ** 4000n)],
  ['a symbol of a megabyte that is referred to 100,000 times', () => Array(100_000).fill(Symbol('x'.repeat(many)))],
  ['400,000 functions', () => Array(400_000).fill(() => 1)],
  ['a million dates', () => Array(many).fill(new Date())],
  ['an Error of 100,000 errors', () => new AggregateError(Array(100_000).fill(new Error('one')), 'all')],
  [
    'an Error with a toJSON and 10,000 fields, referred to 1,000 times',
    () => Array(1000).fill(Object.assign(new Error('e'), objectOf(10_000, [1, 2, 3]), { toJSON: () => ({}) })),
  ],
  ['200,000 getters that throw', () => Array(200_000).fill(throwing())],
  ['a toJSON without end', () => endless()],
  [
    'an Error with a toJSON and a thousand slow accessors',
    () => Object.assign(slowFields(1000, new Error('e')), { toJSON: () => ({}) }),
  ],
  ['60 rows of 50 slow accessors each', () => slowRows(60)],
  ['60 watched rows of 50 columns each', () => watched(Array.from({ length: 60 }, () => objectOf(50, 1)))],
  ['proxies of proxies, referred to 100,000 times', () => Array(100_000).fill(nestedProxies())],
  [
    'search parameters of 10,000 that are referred to a thousand times',
    () => Array(1000).fill(new URLSearchParams('key=value&'.repeat(10_000))),
  ],
  ['all there is in the process', () => [globalThis, process]],
  ['an array whose iterator never ends', () => Object.assign([1, 2], { [Symbol.iterator]: endlessly })],
  ['a ring of large objects', () => ringOf(20, 4000)],
  ['an object of 20,000 objects', () => objectOf(20_000, { x: 'y' })],
  ['numbers of many digits', () => Array.from({ length: 300_000 }, (_, i) => i * 1.1e15 + 2e19)],
]

/**
 * Returns the processor time of this thread for one log call, after a first one. The work of other threads does not
 * count.
 */
function callMs(log: () => void): number {
  log()
  const before = process.threadCpuUsage()
  log()
  const { user, system } = process.threadCpuUsage(before) // counted in ticks of 4 ms on some machines
  return (user + system) / 1000
}

const asIs = winston.format(info => info)() // Winston's default would make JSON of all of it, which takes long

type Way = readonly [name: string, loggerOf: (shipper: Shipper) => (value: unknown) => void]

const ways: readonly [Way, ...Way[]] = [
  ['ship', shipper => value => void shipper.ship({ message: 'm', value, after: { small: 1n } })],
  [
    'Winston',
    shipper => {
      const logger = winston.createLogger({ format: asIs, transports: [new LogferryTransport({ shipper })] })
      return value => void logger.info('m', { value, after: { small: 1n } })
    },
  ],
  [
    'OpenTelemetry',
    shipper => {
      const provider = new LoggerProvider({ processors: [new LogferryLogRecordProcessor({ shipper })] })
      const logger = provider.getLogger('x')
      return value => logger.emit({ body: { value, after: { small: 1n } } as never })
    },
  ],
]

/** Returns the logged events, whichever way they came. */
function loggedIn({ emulator }: Shipping): Record<string, unknown>[] {
  return emulator.events('d').map(event => (event.body ?? event) as Record<string, unknown>)
}

const maxBufferedBytes = 64 * 1_048_576
const shaping: ShipperOptions = {
  context: () => ({ request_id: 'r-1' }),
  transform: event => ({ ...event }),
  sample: () => 0.999_999,
}

const [[, ship], ...adapters] = ways
const otherWays: readonly [name: string, options: ShipperOptions, loggerOf: Way[1]][] = [
  ...adapters.map(([name, loggerOf]): [string, ShipperOptions, Way[1]] => [name, {}, loggerOf]),
  ['ship, with functions that shape events', shaping, ship],
  ['ship, with rules for fields', { fields: { max: 100 } }, ship],
  ['ship, with groups as texts', { fields: { asText: ['value'] } }, ship],
]

describe('a log call takes less than 50 ms', () => {
  it.each(graphs)(
    'for %s, by ship, and by adapters, with functions that shape events, or with rules for fields',
    { timeout: 60_000 },
    async (graphName, graph) => {
      const value = graph()
      const turn = graphs.findIndex(([name]) => name === graphName) % otherWays.length
      for (const [name, options, loggerOf] of [
        ['ship', {}, ship] as const,
        ...otherWays.filter((_, index) => isSoak || index === turn), // `npm run soak` tries every graph by every way
      ]) {
        await using shipping = await startShipping()
        const shipper = shipping.ship({ maxBufferedBytes, ...options })
        const log = loggerOf(shipper)
        for (let i = 0; i < 500; i++) log(i)
        expect(
          callMs(() => log(value)),
          name,
        ).toBeLessThan(100) // 50 if nothing else runs beside it
        await shipper.flush()
        const event = loggedIn(shipping).at(-1)
        expect(event?.after, name).toEqual({ small: '1' })
        expect(event?.request_id, name).toBe(options === shaping ? 'r-1' : undefined)
      }
    },
  )
})

it.each<[string, (accessors: PropertyDescriptorMap) => object]>([
  ['in a group', accessors => ({ message: 'm', group: Object.defineProperties({}, accessors) })],
  ['as fields', accessors => Object.defineProperties({ message: 'm' }, accessors)],
])('leaves out the rest of few accessors that each take long, and of many, %s', async (_, made) => {
  await using shipping = await startShipping()
  const shipper = shipping.ship()
  for (const count of [80, 500]) {
    let calls = 0
    const read = () => {
      calls++
      return compute(2)
    }
    const names = Array.from({ length: count }, (_, i) => [`g${i}`, { enumerable: true, get: read }])
    shipper.ship(made(Object.fromEntries(names)))
    expect(calls).toBeLessThan(70) // 100 ms, and more if other processes take the processor meanwhile, which does not count
  }
  await shipper.flush()
  const cut = { message: 'm', logferry: { cut: true } }
  expect(shipping.emulator.events('d')).toMatchObject([cut, cut])
})

it.each<[string, ShipperOptions]>([
  ['context', { context: () => ({ region: 'eu' }) }],
  ['transform', { transform: event => event }],
  ['sample', { sample: { info: 0.999_999 } }],
])('an event of a thousand slow accessors is not read to its end by %s', async (_, options) => {
  await using shipping = await startShipping()
  const shipper = shipping.ship(options)
  const event = slowFields(1000, { message: 'm', group: slowFields(1000, {}) })
  expect(callMs(() => shipper.ship(event))).toBeLessThan(200)
  await shipper.flush()
  expect(shipping.emulator.events('d').at(-1)).toMatchObject({ message: 'm', logferry: { cut: true } })
})

it.each<[string, (i: number) => [PropertyKey, PropertyDescriptor]]>([
  ['symbols', i => [Symbol(i), { value: i, enumerable: true }]],
  ['names that are not enumerable', i => [`k${i}`, { value: i }]],
])('an object of 20,000 %s that is referred to 60 times is not copied each time for a transform', async (_, member) => {
  await using shipping = await startShipping()
  const shipper = shipping.ship({ transform: event => event })
  const object = { shown: 1 }
  for (let i = 0; i < 20_000; i++) Object.defineProperty(object, ...member(i))
  const times = Array(60).fill(object)
  expect(callMs(() => shipper.ship({ message: 'm', times }))).toBeLessThan(200)
  await shipper.flush()
  expect(shipping.emulator.events('d').at(-1)).toMatchObject({ message: 'm', times: Array(60).fill({ shown: 1 }) })
})

it.each<[string, (logger: winston.Logger) => void]>([
  ['is returned by a toJSON', logger => logger.info('m', { toJSON: () => slowFields(1000, {}) })],
  ['comes before its text', logger => logger.info(slowFields(1000, {}) as unknown as string, 'm')],
  [
    'has a number as its message',
    logger => logger.log(slowFields(1000, { level: 'info', message: 1 as unknown as string })),
  ],
  ['is an Error', logger => logger.log(slowFields(1000, Object.assign(new Error('m'), { level: 'info' })))],
])('an object of a thousand slow accessors that %s is not read to its end for Winston', async (_, log) => {
  await using shipping = await startShipping()
  const transport = new LogferryTransport({ shipper: shipping.ship() })
  const logger = winston.createLogger({ format: asIs, transports: [transport] })
  expect(callMs(() => log(logger))).toBeLessThan(200)
  await transport.shipper.flush()
  expect(JSON.stringify(shipping.emulator.events('d').at(-1))).toMatch(/"(message|body)":/)
})

/** A class whose fields are hidden by its `toJSON`. */
class Told {
  toJSON() {
    return { id: 7 }
  }
}

describe.each([
  ['', asIs],
  [', moved by format.metadata()', winston.format.metadata()],
])('an argument with 100,000 fields%s,', (_, format) => {
  it.each<[string, (fields: object) => object]>([
    ['an object with a toJSON of its class', fields => Object.assign(new Told(), fields)],
    ['an object with a toJSON of its own', fields => Object.assign(fields, { toJSON: () => ({ id: 7 }) })],
    ['an Error with a toJSON', fields => Object.assign(new Error('m'), fields, { toJSON: () => ({ id: 7 }) })],
  ])('which is %s, is not read to its end, and shows none', async (_, made) => {
    await using shipping = await startShipping()
    const transport = new LogferryTransport({ shipper: shipping.ship() })
    const logger = winston.createLogger({ format, transports: [transport] })
    const infos: object[] = []
    logger.on('data', info => infos.push(info))
    logger.error('told', made(objectOf(100_000, 'secret')))
    expect(Math.min(...[1, 2, 3].map(() => cpuMs(() => transport.log(infos[0] as object))))).toBeLessThan(200)
    await transport.shipper.flush()
    const [event] = shipping.emulator.events('d')
    expect(event).toMatchObject({ message: expect.stringContaining('told') })
    expect(JSON.stringify(event)).not.toContain('secret')
  })
})

it.each<[string, unknown[]]>([
  ['a long text', [`${'a'.repeat(25_000)}b${'a'.repeat(25_000)}`]],
  ['a thousand long texts', Array.from({ length: 1000 }, (_, i) => `${'a'.repeat(300)}b${'a'.repeat(300)}${i}`)],
  ['a huge BigInt', [2n ** 5_000_000n]],
])('%s after a long message is looked for in it in no time', async (_, args) => {
  await using shipping = await startShipping()
  const transport = new LogferryTransport({ shipper: shipping.ship() })
  const logger = winston.createLogger({ format: asIs, transports: [transport] })
  const ms = Math.min(...[1, 2, 3].map(() => cpuMs(() => logger.info('a'.repeat(100_000), ...args))))
  expect(ms).toBeLessThan(50)
})

it('an event with many names takes as long for many groups of the context as for one', async () => {
  await using shipping = await startShipping()
  const event = objectOf(20_000, 1)
  const msWith = (groups: number) => {
    const context = Object.fromEntries(Array.from({ length: groups }, (_, i) => [`group${i}`, { a: 1 }]))
    const shipper = shipping.ship({ context: () => context })
    return Math.min(...[1, 2, 3, 4, 5].map(() => cpuMs(() => shipper.ship(event))))
  }
  expect(msWith(100)).toBeLessThan(4 * msWith(1))
})

it('objects that look like requests of follow-redirects, each in the next, are read once', async () => {
  await using shipping = await startShipping()
  const shipper = shipping.ship()
  let reads = 0
  class Endless {
    readonly _redirectCount = 0
    get _currentRequest() {
      reads++
      return new Endless()
    }
  }
  shipper.ship({ message: 'm', request: new Endless() })
  expect(reads).toBe(1)
})

it.each<[string, RegExp[]]>([
  ['ten patterns', Array.from({ length: 10 }, (_, n) => new RegExp(`[a-z]+${n}@[a-z]+\\.com`, 'g'))],
  ['a hundred', Array.from({ length: 100 }, (_, n) => new RegExp(`[a-z]+${n}@[a-z]+\\.com`, 'g'))],
])('an event of 60,000 short texts is not searched to its end for %s of redactText', async (_, redactText) => {
  await using shipping = await startShipping()
  const shipper = shipping.ship({ redactText, maxBufferedBytes: 64 * 1_048_576 })
  const items = Array.from({ length: 60_000 }, (_, n) => `${'abcdefghij'.repeat(5)}${n}@example.com`)
  const ms = Math.min(...[1, 2, 3].map(() => callMs(() => shipper.ship({ message: 'm', items }))))
  expect(ms).toBeLessThan(redactText.length === 10 ? 200 : 600)
  await shipper.flush()
  expect(JSON.stringify(shipping.emulator.events('d').at(-1))).not.toMatch(/[a-z]\d+@example/)
})

it.each<[string, ShipperOptions]>([
  ['nothing', {}],
  ['rules for fields', { fields: {} }],
  ['rules for fields, and a transform', { fields: { asText: ['labels'] }, transform: event => event }],
])(
  'an event of texts that are slow to search takes no longer than a log call may, beside redactText and %s',
  async (_, others) => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ redactText: [/\S+@\S+/g], ...others })
    const event = { message: 'm', items: Array<string>(300).fill('x'.repeat(3000)) }
    const ms = Math.min(...Array.from({ length: 7 }, () => cpuMs(() => shipper.ship(event))))
    expect(ms).toBeLessThan(50)
  },
)

describe('the names of a large object are listed at most twice', () => {
  const names = Array.from({ length: 100_000 }, (_, i) => `k${i}`)

  it.each([
    ['with values', { enumerable: true, configurable: true, value: 1 }, {}],
    ['without values', undefined, {}],
    ['with rules for fields', { enumerable: true, configurable: true, value: 1 }, { fields: { max: 100 } }],
    ['with rules for fields, without values', undefined, { fields: { asText: ['proxy'] } }],
  ])('%s, however often it is referred to', async (_, descriptor, options) => {
    await using shipping = await startShipping()
    let listings = 0
    const proxy = new Proxy({} as object, {
      ownKeys: () => {
        listings++
        return names
      },
      getOwnPropertyDescriptor: () => descriptor,
    })
    shipping.ship(options).ship({ message: 'm', list: Array(1000).fill(proxy), proxy })
    expect(listings).toBeLessThanOrEqual(2)
  })
})

it.each([
  ['an event', {}],
  ['a redacted event', { redact: ['secret'] }],
])('the names of %s that is too large are listed once', async (_, options) => {
  await using shipping = await startShipping()
  const shipper = shipping.ship(options)
  const event = Object.fromEntries(Array.from({ length: 200_000 }, (_, i) => [`name${i}`, i]))
  const keys = vi.spyOn(Object, 'keys')
  shipper.ship(event)
  const listings = keys.mock.calls.filter(([listed]) => listed === event).length
  keys.mockRestore()
  expect(listings).toBe(1)
})

it('waits for a few slow getters, and leaves out the rest', async () => {
  await using shipping = await startShipping()
  const shipper = shipping.ship()
  class Slow {
    get name() {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5)
      return 'slow'
    }
  }
  Object.defineProperty(Slow.prototype, 'toJSON', {
    value() {
      return { name: this.name }
    },
  })
  const startedAt = performance.now()
  shipper.ship({ message: 'm', list: Array(10_000).fill(new Slow()), after: 1 })
  expect(performance.now() - startedAt).toBeLessThan(2000)
  await shipper.flush()
  expect(shipping.emulator.events('d')).toMatchObject([{ message: 'm', after: 1, logferry: { cut: true } }])
})

it('an event that is not plain data is sent whole if it fits', async () => {
  await using shipping = await startShipping()
  const shipper = shipping.ship()
  class Row {
    readonly id: number
    readonly name = 'some name'
    readonly price = 9.99
    constructor(id: number) {
      this.id = id
    }
  }
  const rows = Array.from({ length: 5000 }, (_, i) => new Row(i))
  shipper.ship({ message: 'm', rows, error: new Error('e') })
  await shipper.flush()
  const [event] = shipping.emulator.events('d')
  expect(event?.rows).toEqual(rows.map(row => ({ ...row })))
  expect(event?.error).toMatchObject({ message: 'e' })
  expect(shipper.stats()).toMatchObject({ cut: 0, stubbed: 0 })
})

/** Returns an object whose getter calls `log` each time it is read, `times` times. */
function logging(log: (value: object) => void, times = 1): object {
  const value = {
    get child() {
      for (let i = 0; i < times; i++) log(value)
      return 1
    },
  }
  return value
}

describe.each(ways)('a getter that logs its own object, by %s', (_, loggerOf) => {
  it.each([1, 2, 10])('ends, although it logs %d times', async times => {
    await using shipping = await startShipping()
    const shipper = shipping.ship(times === 2 ? { redact: ['password'] } : {})
    const log = loggerOf(shipper)
    expect(callMs(() => log(logging(log, times)))).toBeLessThan(200)
    const { accepted, pending, delivered, dropped, drops } = shipper.stats()
    expect(accepted).toBe(pending + delivered + dropped)
    expect(Object.keys(drops)).toEqual(['error'])
    expect(shipping.warnings.map(({ code }) => code)).toEqual(['LOGFERRY_DROPPED'])
    expect(shipping.warnings[0]?.message).toContain('logs again for each event')
    log('the next')
    await shipper.flush()
    const values = loggedIn(shipping).map(({ value }) => value)
    expect(values).toContain('the next')
    expect(values.length).toBeGreaterThan(8)
    expect(values.length).toBeLessThan(5 * 2500)
  })
})

it.each(['none', 'of the logger', 'of each transport'])(
  'a getter that logs its own object ends with two transports on one logger (format: %s)',
  async where => {
    await using shipping = await startShipping()
    const shippers = [shipping.ship(), shipping.ship({ dataset: 'audit' })]
    const copy = winston.format(info => ({ ...info }))
    const format = where === 'of each transport' ? { format: copy() } : {}
    const logger = winston.createLogger({
      format: where === 'of the logger' ? copy() : { transform: info => info },
      transports: shippers.map(shipper => new LogferryTransport({ shipper, ...format })),
    })
    let calls = 0
    const value = {
      get child() {
        if (++calls > 20_000) throw new Error('the calls do not end')
        logger.info('nested', { value })
        return 1
      },
    }
    logger.info('outer', { value })
    expect(calls).toBeGreaterThan(8)
    expect(calls).toBeLessThan(10_000)
    for (let n = 0; n < 20; n++) logger.info('afterwards')
    for (const shipper of shippers) await shipper.flush()
    for (const dataset of ['d', 'audit']) {
      const after = shipping.emulator.events(dataset).filter(({ message }) => message === 'afterwards')
      expect(after).toHaveLength(20)
    }
  },
)

describe('code that a log call runs may log', () => {
  test('in each of many objects', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship()
    class Old {
      get name() {
        shipper.ship({ message: 'name is deprecated' })
        return 'old'
      }
      toJSON() {
        return { name: this.name }
      }
    }
    shipper.ship({ message: 'm', list: Array.from({ length: 100 }, () => new Old()) })
    await shipper.flush()
    expect(shipping.emulator.eventCount('d')).toBe(101)
    expect(shipper.stats().dropped).toBe(0)
  })

  test('in the `dataset` function, without end', async () => {
    await using shipping = await startShipping()
    const shipper: Shipper = shipping.ship({
      dataset: () => {
        shipper.ship({ message: 'which one?' })
        return 'd'
      },
    })
    shipper.ship({ message: 'm' })
    await shipper.flush()
    expect(shipper.stats()).toMatchObject({ accepted: 9, delivered: 8, drops: { error: { info: 1 } } })
  })

  test('in a listener for drops', async () => {
    await using shipping = await startShipping()
    const shipper: Shipper = shipping.ship({ dataset: event => (event.bad ? '' : 'd') })
    shipper.on('dropped', () => void shipper.ship({ message: 'dropped', bad: true }))
    shipper.ship({ message: 'm', bad: true })
    const { accepted, dropped } = shipper.stats()
    expect(dropped).toBe(accepted)
    expect(accepted).toBeLessThan(20)
  })

  test('in a getter of the level, without end', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship()
    const event = {
      message: 'm',
      get level() {
        for (let i = 0; i < 3; i++) shipper.ship(event)
        return 'info'
      },
    }
    shipper.ship(event)
    await shipper.flush()
    const { accepted, delivered, drops } = shipper.stats()
    expect(Object.keys(drops)).toEqual(['error'])
    expect(delivered).toBeGreaterThan(7)
    expect(accepted).toBeLessThan(5000)
  })

  const dropDebug = winston.format(info => info.level !== 'debug' && info)

  test.each([
    ['below the level of the transport', { level: 'info' }, {}],
    ['that a format of the logger drops', {}, { format: dropDebug() }],
  ])('in the `context` function, an event %s', async (_, ofTransport, ofLogger) => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({
      context: () => {
        logger.debug('asked')
        return { user: 1 }
      },
    })
    const transports = [new LogferryTransport({ shipper, ...ofTransport })]
    const logger: winston.Logger = winston.createLogger({ level: 'debug', transports, ...ofLogger })
    for (let n = 0; n < 20; n++) logger.info('m')
    await shipper.flush()
    expect(shipper.stats()).toMatchObject({ delivered: 20, dropped: 0 })
  })

  test("in a listener for Winston's 'logged'", async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship()
    const transport = new LogferryTransport({ shipper })
    const logger = winston.createLogger({ transports: [transport] })
    transport.on('logged', () => void logger.info('logged'))
    logger.info('m')
    await shipper.flush()
    expect(shipper.stats()).toMatchObject({ accepted: 9, delivered: 8, drops: { error: { info: 1 } } })
  })
})

describe('a clock of the application', () => {
  const broken: readonly [string, unknown][] = [
    [
      'that throws',
      () => {
        throw new Error('no time')
      },
    ],
    ['that tells a text', () => '2026-11-21'],
    ['that tells NaN', () => Number.NaN],
    ['that tells nothing', () => undefined],
    [
      'that tells what throws when it is looked at',
      () => ({
        valueOf() {
          throw new Error('no')
        },
      }),
    ],
    ['that tells a time before all time', () => -1e15],
    ['that is not a function', 5],
  ]

  it.each(broken.flatMap(clock => ways.map(way => [...clock, ...way] as const)))(
    '%s does not keep an event from being shipped: %o %s',
    async (_, now, way, loggerOf) => {
      await using shipping = await startShipping()
      const shipper = shipping.ship()
      const log = loggerOf(shipper)
      const system = Object.getOwnPropertyDescriptor(Date, 'now') as PropertyDescriptor
      const before = Date.now()
      const called = attempt(() => {
        Object.defineProperty(Date, 'now', { ...system, value: now })
        log(1)
        log(2)
      })
      Object.defineProperty(Date, 'now', system)
      if (called !== undefined && way === 'OpenTelemetry') return // its SDK reads the clock itself
      expect(called).toBeUndefined()
      await shipper.flush()
      const times = shipping.emulator.events('d').map(({ _time }) => _time as string)
      expect(times).toHaveLength(2)
      expect(times.toSorted()).toEqual(times)
      for (const time of times) expect(Math.abs(Date.parse(time) - before)).toBeLessThan(60_000)
    },
  )

  it('is used if it returns a valid time', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship()
    const system = Date.now
    try {
      Date.now = () => Date.UTC(2050, 0, 1)
      shipper.ship({ message: 'm' })
      Date.now = () => Date.UTC(2040, 0, 1)
      shipper.ship({ message: 'm' })
    } finally {
      Date.now = system
    }
    shipper.ship({ message: 'm' })
    await shipper.flush()
    expect(shipping.emulator.events('d').map(({ _time }) => (_time as string).slice(0, 4))).toEqual([
      '2050',
      '2040',
      String(new Date().getFullYear()),
    ])
  })
})

function attempt(run: () => void): unknown {
  try {
    run()
    return undefined
  } catch (error) {
    return error
  }
}

test('plain data arrives as JSON.stringify writes it, whatever stands beside it', async () => {
  await using shipping: Shipping = await startShipping()
  const shipper = shipping.ship()
  const events = fc.sample(fc.dictionary(fc.string({ unit: anyCharacter }), fc.jsonValue()), 100)
  for (const data of events) shipper.ship({ _time: '2026-11-21T00:00:00Z', data, big: 1n })
  await shipper.flush()
  expect(shipping.emulator.events('d').map(({ data }) => data)).toEqual(
    events.map(data => JSON.parse(JSON.stringify(data))),
  )
})
