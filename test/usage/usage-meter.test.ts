/** Accuracy and bounds of the counts, beside a counter that determines the statement of every event. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { describe, expect, it, vi } from 'vitest'
import type { Severity } from '../../src/accounting/severity.ts'
import { statementText } from '../../src/usage/statement-text.ts'
import type { Usage } from '../../src/usage/usage.ts'
import { type CountedEvent, UsageMeter } from '../../src/usage/usage-meter.ts'
import { isSoak } from '../support/soak-runs.ts'

interface Logged {
  readonly dataset: string
  readonly counted: CountedEvent
  readonly bytes: number
  /** One message of the statement, from which it has its text. By default the message of the event. */
  readonly usual?: string | undefined
}

/** A generator of random numbers from 0 to 1 that gives the same ones for the same seed. */
function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
}

function meterWith(seed: number): UsageMeter {
  const scopeName = (resource: Uint8Array) => Buffer.from(resource).toString()
  return new UsageMeter({ scopeName, nowMs: () => 0, random: randomFrom(seed) })
}

/** Exact bytes and events by dataset, level and text. */
function countedSlowly(events: readonly Logged[]): Map<string, { bytes: number; events: number }> {
  const counts = new Map<string, { bytes: number; events: number }>()
  for (const { dataset, counted, bytes, usual } of events) {
    const { level, message } = counted.event as { level: string; message: string }
    const key = `${dataset} ${level} ${statementText(usual ?? message)}`
    const count = counts.get(key) ?? { bytes: 0, events: 0 }
    counts.set(key, { bytes: count.bytes + bytes, events: count.events + 1 })
  }
  return counts
}

const nouns =
  'order payment user session cart invoice customer shipment refund product stock price search cache request job batch'.split(
    ' ',
  )
const verbs = 'created updated removed placed cancelled failed'.split(' ')

/** A hundred statements of an application, a few of which cost most, in a style of its messages. */
function application(style: string, seed: number, count: number): Logged[] {
  const random = randomFrom(seed)
  const pick = (max: number) => Math.floor(random() * max)
  const hex = (length: number) => {
    let digits = ''
    while (digits.length < length) digits += '0123456789abcdef'[pick(16)]
    return digits
  }
  const uuid = () => [8, 4, 4, 4, 12].map(hex).join('-')
  /** The latest identifier, which may look like a name. */
  let id = ''
  const base64url = (length: number) => {
    const chars = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
    id = Array.from({ length }, () => chars.charAt(pick(64))).join('')
    return id
  }
  const podHash = (length: number) =>
    Array.from({ length }, () => 'bcdfghjklmnpqrstvwxz2456789'.charAt(pick(27))).join('')
  const date = () => new Date(1.7e12 + pick(1e11))
  const message: Record<string, (noun: string, verb: string) => string> = {
    constant: (noun, verb) => `${noun} ${verb}`,
    'a value at the end': (noun, verb) => `${noun} ${verb} ${pick(1e6)}`,
    'a value first': (noun, verb) => `${uuid()} ${noun} ${verb}`,
    'the same beginning': (noun, verb) => `[checkout-service] ${noun} ${verb} id=${hex(8)} took ${pick(100)}ms`,
    'the same beginning and a value': (noun, verb) => `order ${pick(1e6)}: ${noun} ${verb} in ${pick(100)} ms`,
    'two values first': (noun, verb) => `"${nouns[pick(17)]}" ${uuid()} ${noun} [${pick(9)}, ${pick(9)}] ${verb}`,
    'a path': (noun, verb) => `GET /${noun}/${pick(1e6)}/${verb}?page=${pick(50)} 200 in ${pick(300)} ms`,
    'the same beginning, and ends that differ': (noun, verb) =>
      `[job] step ${pick(1e6)} of ${pick(99)}: ${noun} ${verb}`,
    'words between values': (noun, verb) => `worker-${pick(8)} ${noun} ${verb} for ${pick(1e6)}`,
    'words after a value with spaces': (noun, verb) =>
      `user "${nouns.slice(0, pick(4)).join(' ')}" ${noun} ${verb} at ${pick(60)}`,
    'a stack': (noun, verb) =>
      `request ${pick(1e6)} ${noun} ${verb}\n    at run (/app/${nouns[pick(17)]}.js:${pick(99)})`,
    columns: (noun, verb) => `${pick(1e6)}|${noun}_${verb}|${pick(1e5)},ok`,
    Chinese: (noun, verb) => `用户${pick(1e6)}的${noun}${verb}，耗时${pick(99)}毫秒`,
    'names and values': (noun, verb) => `user=${hex(6)} ip=10.0.0.${pick(255)} ${noun}=${pick(99)} ${verb}`,
    'a random id in a path': (noun, verb) => `GET /users/${base64url(22)}/${noun}/${verb}`,
    'a short id in a path': (noun, verb) => `PUT /r/${base64url(11)}/${noun}-${verb}`,
    'a short id first': (noun, verb) => `${base64url(11)} ${noun} ${verb}`,
    'a short id beside a name': (noun, verb) => `[MailService] [req-${base64url(11)}] ${noun} ${verb}`,
    'units that vary': (noun, verb) =>
      `${noun} took ${pick(2) ? `${pick(900)}ms` : `${pick(90) / 10}s`} for ${pick(900)} ${pick(2) ? 'KB' : 'B'} ${verb}`,
    'addresses of all kinds': (noun, verb) =>
      `${pick(2) ? '10.0.0.1' : `2001:db8::${hex(4)}`}: ${noun} ${verb} at (${pick(9) - 5}, ${pick(9) - 5})`,
    'names of pods': (noun, verb) => `checkout-${podHash(9)}-${podHash(5)} ${noun} ${verb}`,
    'the thread and the class': (noun, verb) =>
      `${date().toISOString()}  INFO ${pick(9999)} --- [nio-8080-exec-${pick(9)}] c.e.shop.${noun} : ${verb} ${pick(1e5)}`,
    'dates with names': (noun, verb) => `[${date().toUTCString()}] ${noun} ${verb} until ${date().toUTCString()}`,
    'words for values': (noun, verb) => `"${nouns[pick(17)]}" has ${verb} the ${noun} ${pick(1e9)}`,
  }
  const make = message[style] ?? ((noun, verb) => `${noun} ${verb}`)
  const statements = Array.from({ length: 100 }, (_, i) => ({
    message: () => make(nouns[i % 17] as string, verbs[Math.floor(i / 17)] as string),
    bytes: 150 + pick(800),
    weight: 1.25 ** -i,
    severity: (i % 5 === 0 ? 4 : 2) as Severity,
    dataset: i % 3 === 0 ? 'http' : 'app',
  }))
  const total = statements.reduce((sum, { weight }) => sum + weight, 0)
  return Array.from({ length: count }, () => {
    let rest = random() * total
    const statement = statements.find(({ weight }) => {
      rest -= weight
      return rest <= 0
    })
    if (statement === undefined) throw new Error('no statement')
    const { severity, dataset } = statement
    const event = { level: severity === 4 ? 'error' : 'info', message: statement.message() }
    const bytes = statement.bytes + pick(statement.bytes)
    const usual = id === '' ? event.message : event.message.replace(id, 'dQw4w9WgXcQ')
    return { dataset, counted: { event, severity, resource: undefined }, bytes, usual }
  })
}

const keyOf = ({ dataset, level, text }: Usage['statements'][number]) => `${dataset} ${level} ${text}`

/**
 * Checks that the statements are the ten most expensive ones, in order, and nearly exact. Statements whose bytes differ
 * by half a percent may change places.
 */
function expectTopTen(statements: Usage['statements'], events: readonly Logged[]): void {
  const exact = countedSlowly(events)
  const bytesOf = (key: string) => exact.get(key)?.bytes ?? 0
  const keys = statements.map(keyOf)
  const largest = [...exact.keys()].sort((one, other) => bytesOf(other) - bytesOf(one)).slice(0, 10)
  const isTie = keys.every((key, i) => bytesOf(key) > 0.995 * bytesOf(largest[i] ?? ''))
  if (!isTie) expect(keys).toEqual(largest)
  for (const statement of statements) {
    const count = exact.get(keyOf(statement)) ?? { bytes: 0, events: 0 }
    expect(Math.abs(statement.bytes / count.bytes - 1)).toBeLessThan(0.02)
    expect(Math.abs(statement.events / count.events - 1)).toBeLessThan(0.05)
  }
}

it('counts statements of a list, of JSON and of an access log exactly, although they have values alone', () => {
  const random = randomFrom(1)
  const meter = meterWith(1)
  const logged = { '[*]': 0, '{*}': 0, '* - - [*] *': 0 }
  for (let n = 0; n < 60_000; n++) {
    const id = Math.floor(random() * 1e6)
    const [text, message] = (
      [
        ['[*]', `[${id},${id + 1}]`],
        ['{*}', `{"id":${id}}`],
        ['* - - [*] *', `10.0.0.${id % 256} - - [10/Oct/2026:13:55:36 +0000] "GET /${id} HTTP/1.1" 200 ${id}`],
      ] as const
    )[Math.floor(random() ** 4 * 3)] as [keyof typeof logged, string]
    const bytes = Math.round(300 * (1 + random() * 5))
    logged[text] += bytes
    meter.add('d', { event: { level: 'info', message }, severity: 2, resource: undefined }, bytes)
  }
  expect(Object.fromEntries(meter.usage(20).statements.map(({ text, bytes }) => [text, bytes]))).toEqual(logged)
})

describe('statements whose message is always the same', () => {
  const counted = (message: string, level = 'info'): CountedEvent => ({
    event: { level, message },
    severity: level === 'error' ? 4 : 2,
    resource: undefined,
  })

  it('are counted exactly, and need no samples after the first ones', () => {
    const random = vi.fn(randomFrom(1))
    const meter = new UsageMeter({ scopeName: () => undefined, nowMs: () => 0, random })
    const messages = ['order placed', 'order paid', 'user left']
    for (let n = 0; n < 300; n++) meter.add('d', counted(messages[n % 3] as string), 100)
    random.mockClear()
    meter.takePeriod(5)
    for (let n = 0; n < 30_000; n++) meter.add('d', counted(messages[n % 3] as string), 200 + (n % 7))
    expect(random).not.toHaveBeenCalled()
    const bytesOf = (index: number) =>
      Array.from({ length: 10_000 }, (_, n) => 200 + ((3 * n + index) % 7)).reduce((one, other) => one + other)
    const expected = messages.map((text, index) => ({ text, events: 10_000, bytes: bytesOf(index) }))
    const byText = new Map(
      meter.takePeriod(5).statements.map(({ text, events, bytes }) => [text, { text, events, bytes }]),
    )
    expect(messages.map(text => byText.get(text))).toEqual(expected)
  })

  it('are kept apart in other datasets, at other levels, and among messages with values', () => {
    const random = randomFrom(4)
    const meter = meterWith(4)
    const logged = Array.from({ length: 40_000 }, (): Logged => {
      const message = random() < 0.6 ? 'order placed' : `order placed for ${Math.floor(random() * 1e6)} by retry`
      const level = random() < 0.7 ? 'info' : 'error'
      return { dataset: random() < 0.7 ? 'a' : 'b', counted: counted(message, level), bytes: 100 + random() * 300 }
    })
    for (const { dataset, counted, bytes } of logged) meter.add(dataset, counted, bytes)
    const exact = countedSlowly(logged)
    const { statements } = meter.usage(20)
    expect(statements.map(keyOf).sort()).toEqual([...exact.keys()].sort())
    for (const one of statements) {
      expect(Math.abs(one.bytes / (exact.get(keyOf(one))?.bytes ?? 0) - 1)).toBeLessThan(0.02)
    }
  })

  it('are counted again after others have taken their place', () => {
    const meter = meterWith(2)
    const letters = 'abcdefghijklmnopqrstuvwxyz'
    for (let n = 0; n < 4; n++) meter.add('d', counted('the early one'), 10)
    for (let n = 0; n < 3 * 600; n++) {
      const id = n % 600
      meter.add('d', counted(`the ${letters[id % 26]}${letters[Math.floor(id / 26)]} task ends`), 1000)
    }
    for (let n = 0; n < 100_000; n++) meter.add('d', counted('the early one'), 100)
    const [first] = meter.usage(1).statements
    expect(first).toMatchObject({ text: 'the early one' })
    expect(Math.abs((first?.bytes ?? 0) / 1e7 - 1)).toBeLessThan(0.02)
  })
})

describe('an application with a hundred log statements', () => {
  const styles = [
    'constant',
    'a value at the end',
    'a value first',
    'the same beginning',
    'the same beginning and a value',
    'two values first',
    'a path',
    'the same beginning, and ends that differ',
    'words between values',
    'words after a value with spaces',
    'a stack',
    'columns',
    'Chinese',
    'names and values',
    'a random id in a path',
    'a short id in a path',
    'a short id first',
    'a short id beside a name',
    'units that vary',
    'addresses of all kinds',
    'names of pods',
    'the thread and the class',
    'dates with names',
    'words for values',
  ]
  const seeds = isSoak ? [1, 2] : [1]
  const count = isSoak ? 100_000 : 50_000
  it.each(styles.flatMap(style => seeds.map(seed => [style, seed] as const)))(
    'has its ten most expensive listed in order, within a fiftieth of their bytes (messages: %s, seed %i)',
    { timeout: 60_000 },
    (style, seed) => {
      const events = application(style, seed, count)
      const meter = meterWith(seed)
      for (const { dataset, counted, bytes } of events) meter.add(dataset, counted, bytes)
      const { statements, bytes, otherStatements } = meter.usage(10)
      expectTopTen(statements, events)
      const sum = statements.reduce((total, one) => total + one.bytes, otherStatements.bytes)
      expect(sum).toBe(bytes)
      expect(bytes).toBe(events.reduce((total, one) => total + one.bytes, 0))
    },
  )

  it.each(['constant', 'a value first', 'the same beginning and a value'])(
    'has them listed as exactly after it has logged some very large events (messages: %s)',
    style => {
      const meter = meterWith(1)
      for (let n = 0; n < 300; n++) {
        const event = { level: 'info', message: `snapshot ${n} of the state` }
        meter.add('a', { event, severity: 2, resource: undefined }, 600_000)
      }
      meter.takePeriod(10)
      const events = application(style, 1, count)
      for (const { dataset, counted, bytes } of events) meter.add(dataset, counted, bytes)
      expectTopTen(meter.takePeriod(10).statements, events)
    },
  )
})

describe('an application whose events have no text for a message', () => {
  const count = 100_000
  it.each([
    ['event names', '', ({ name }: { name: string }) => ({ event: { event_name: name }, resource: undefined })],
    ['scopes', '@shop/', ({ scope }: { scope: Uint8Array }) => ({ event: { message: { a: 1 } }, resource: scope })],
  ])('has its ten most expensive %s listed in order, within a fiftieth of their bytes', (_, prefix, eventOf) => {
    const random = randomFrom(7)
    const meter = meterWith(7)
    const statements = Array.from({ length: 100 }, (_, i) => {
      const name = `${nouns[i % 17]}.${verbs[Math.floor(i / 17)]}`
      return { name, scope: Buffer.from(`@shop/${name}`), bytes: 100 + Math.floor(random() * 2000), total: 0 }
    })
    for (let i = 0; i < count; i++) {
      const statement = statements[Math.floor(100 * random() ** 3)]
      if (statement === undefined) throw new Error('no statement')
      const bytes = Math.round(statement.bytes * (0.5 + random()))
      statement.total += bytes
      meter.add('d', { severity: 2, ...eventOf(statement) }, bytes)
    }
    const exact = statements.sort((one, other) => other.total - one.total).slice(0, 10)
    const listed = meter.usage(10).statements
    expect(listed.map(({ text }) => text)).toEqual(exact.map(({ name }) => `[${prefix}${name}]`))
    for (const [i, { bytes }] of listed.entries()) {
      expect(Math.abs(bytes / (exact[i]?.total ?? 0) - 1)).toBeLessThan(0.02)
    }
  })
})

describe('counts', () => {
  const statement = fc.record({
    dataset: fc.constantFrom('a', 'b'),
    level: fc.constantFrom('info', 'error'),
    words: fc.constantFrom('order placed', 'order paid', 'user left', 'retry', ''),
    value: fc.oneof(fc.nat(), fc.uuid()),
    bytes: fc.integer({ min: 20, max: 2000 }),
  })

  it('of datasets are exact, and no statement is listed that was not logged', () => {
    fc.assert(
      fc.property(fc.array(statement, { maxLength: 60 }), fc.integer(), (logged, seed) => {
        const meter = meterWith(seed)
        const events = logged.map(({ dataset, level, words, value, bytes }): Logged => {
          const event = { level, message: `${words} ${value}` }
          return { dataset, bytes, counted: { event, severity: level === 'error' ? 4 : 2, resource: undefined } }
        })
        for (const { dataset, counted, bytes } of events) meter.add(dataset, counted, bytes)
        const exact = countedSlowly(events)
        const { statements, datasets } = meter.usage(240)
        for (const one of statements) expect([...exact.keys()]).toContain(keyOf(one))
        const sum = (name: string) =>
          events.filter(({ dataset }) => dataset === name).reduce((total, { bytes }) => total + bytes, 0)
        for (const name of Object.keys(datasets)) expect(datasets[name]?.bytes).toBe(sum(name))
      }),
    )
  })

  it('show an event without a text for a message by its event name, or by its scope', () => {
    const meter = meterWith(1)
    const resource = Buffer.from('http-server 2')
    const event = (fields: object, scope?: Buffer) => ({ event: fields, severity: 2 as const, resource: scope })
    meter.add('d', event({ event_name: 'order.placed' }, resource), 400)
    meter.add('d', event({ body: { a: 1 } }, resource), 300)
    meter.add('d', event({ body: { a: 1 } }), 200)
    const { statements } = meter.usage(10)
    expect(statements.map(({ text }) => text).sort()).toEqual(['[http-server *]', '[no message]', '[order.placed]'])
  })

  it.each([
    [{ msg: 'order 7 placed', event: 'e' }, 'order * placed'],
    [{ event: 'order.placed', name: 'n' }, '[order.placed]'],
    [{ name: 'order placed' }, '[order placed]'],
    [{ message: { a: 1 }, event: { b: 2 } }, '[no message]'],
  ])('show an event without a message by the field that names it: %j', (event, text) => {
    const meter = meterWith(1)
    meter.add('d', { event, severity: 2, resource: undefined }, 100)
    expect(meter.usage(1).statements).toMatchObject([{ text }])
  })

  it('show the scope of a package by its whole name', () => {
    const meter = meterWith(1)
    const resource = Buffer.from('@opentelemetry/instrumentation-http')
    meter.add('d', { event: { body: { a: 1 } }, severity: 2, resource }, 100)
    expect(meter.usage(1).statements).toMatchObject([{ text: '[@opentelemetry/instrumentation-http]' }])
  })

  it('go on where an accessor throws, or logs', () => {
    const meter = meterWith(1)
    const nested = { event: { level: 'info', message: 'nested' }, severity: 2 as const, resource: undefined }
    const events = [
      {
        get message(): string {
          throw new Error('no')
        },
      },
      {
        get level(): string {
          meter.add('d', nested, 50)
          return 'info'
        },
        message: 'logs',
      },
      null as unknown as object,
    ]
    for (const event of events) meter.add('d', { event, severity: 2, resource: undefined }, 100)
    const { events: count, bytes } = meter.usage(10)
    expect([count, bytes]).toEqual([4, 350])
  })

  it('of a period are those since the previous one', () => {
    const meter = meterWith(1)
    const event = (message: string) => ({
      event: { level: 'info', message },
      severity: 2 as const,
      resource: undefined,
    })
    for (let i = 0; i < 10; i++) meter.add('d', event(`first ${i}`), 100)
    expect(meter.takePeriod(5)).toMatchObject({
      events: 10,
      bytes: 1000,
      statements: [{ text: 'first *', events: 10 }],
    })
    for (let i = 0; i < 5; i++) meter.add('d', event(`second ${i}`), 100)
    expect(meter.takePeriod(5)).toMatchObject({ events: 5, bytes: 500, datasets: { d: { events: 5, bytes: 500 } } })
    expect(meter.usage(5)).toMatchObject({ events: 15, statements: [{ text: 'first *' }, { text: 'second *' }] })
  })

  it('of statements in a period of few events are no more than its total, although messages begin alike', () => {
    for (let seed = 1; seed <= 20; seed++) {
      const meter = meterWith(seed)
      for (let i = 0; i < 60; i++) {
        const message = `payment ${nouns[i % 7]} ${i}`
        meter.add('d', { event: { level: 'info', message }, severity: 2, resource: undefined }, 100 + 90 * (i % 5))
        if (i % 3 !== 2) continue
        const { statements, bytes, events } = meter.takePeriod(20)
        const sum = { bytes: 0, events: 0, share: 0 }
        for (const one of statements) {
          sum.bytes += one.bytes
          sum.events += one.events
          sum.share += one.share
        }
        expect(sum.bytes).toBeLessThanOrEqual(bytes + statements.length) // each is rounded
        expect(sum.events).toBeLessThanOrEqual(events + statements.length)
        expect(sum.share).toBeLessThan(1.01)
      }
    }
  })

  it('of a period do not have what a dataset had before, if another dataset takes its place', () => {
    const meter = meterWith(1)
    const counted = { event: { level: 'info', message: 'm' }, severity: 2 as const, resource: undefined }
    for (let i = 0; i < 64; i++) meter.add(`first ${i}`, counted, 1000)
    meter.takePeriod(5)
    for (let i = 0; i < 32; i++) meter.add(`second ${i}`, counted, 10)
    const { events, bytes, datasets, otherDatasets } = meter.takePeriod(5)
    expect({ events, bytes }).toEqual({ events: 32, bytes: 320 })
    expect(datasets).toEqual({ 'second 31': { events: 1, bytes: 10 } })
    expect(otherDatasets).toEqual({ events: 31, bytes: 310 })
  })

  it('of a statement include a message with another text that came once among its messages', () => {
    const meter = meterWith(1)
    const add = (message: string) =>
      meter.add('d', { event: { level: 'info', message }, severity: 2, resource: undefined }, 100)
    for (let i = 0; i < 100; i++) add(`session of user ${i} began`)
    for (const id of ['getUserA', 'getUserB', 'getUserC']) add(`session of user ${id} began`)
    for (let i = 0; i < 100; i++) add(`session of user ${i} began`)
    expect(meter.usage(10).statements).toMatchObject([{ text: 'session of user * began', events: 203 }])
  })

  it('begin anew on request', () => {
    const meter = meterWith(1)
    const event = { event: { level: 'info', message: 'm' }, severity: 2 as const, resource: undefined }
    meter.add('d', event, 100)
    meter.restart()
    expect(meter.usage(5)).toMatchObject({ events: 0, bytes: 0, statements: [], datasets: {} })
    meter.add('d', event, 70)
    expect(meter.usage(5)).toMatchObject({ events: 1, bytes: 70, statements: [{ text: 'm', bytes: 70 }] })
  })

  it('list the large statements among ten thousand small ones, and the large datasets among a thousand', () => {
    const meter = meterWith(3)
    const random = randomFrom(3)
    const letters = () => Array.from({ length: 12 }, () => 'ghijklmnop'[Math.floor(random() * 10)]).join('')
    const event = (message: string) => ({
      event: { level: 'info', message },
      severity: 2 as const,
      resource: undefined,
    })
    for (let i = 0; i < 50_000; i++) {
      meter.add(i % 2 === 0 ? 'large' : `d${i % 1000}`, event(letters()), 100)
      meter.add('large', event('the large one'), 100)
    }
    const { statements, datasets } = meter.usage(10)
    expect(statements[0]).toMatchObject({ dataset: 'large', text: 'the large one' })
    expect(Math.abs((statements[0]?.bytes ?? 0) / 5_000_000 - 1)).toBeLessThan(0.02)
    expect(Object.keys(datasets)).toHaveLength(64)
    expect(datasets.large).toEqual({ events: 75_000, bytes: 7_500_000 })
  })
})

describe('the texts of statements', () => {
  const random = randomFrom(5)
  const pick = (max: number) => Math.floor(random() * max)
  const letters = (length: number) => Array.from({ length }, () => 'ghijklmnop'.charAt(pick(10))).join('')
  const order = () => `${nouns[pick(17)]} ${pick(1e6)} ${verbs[pick(6)]} in ${pick(500)} ms`
  const long = () => `${nouns[pick(17)]} ${pick(1e6)} ${verbs[pick(6)]}: ${'lorem ipsum '.repeat(200)}`

  it.each([
    ['one of 150, if messages have numbers', order, () => 'd', 1 / 150],
    ['one of 10, if messages begin with random words', () => `${letters(12)} came`, () => 'd', 0.1],
    ['one of 25, if messages are long', long, () => 'd', 0.04],
    ['one of 10, if a hundred datasets take turns', order, () => `d${pick(100)}`, 0.1],
  ])('are made for less than %s', (_, message, dataset, maxShare) => {
    let texts = 0
    const shown = (event: object) => {
      texts++
      return event
    }
    const meter = new UsageMeter({ scopeName: () => '', nowMs: () => 0, random: randomFrom(5), shown })
    const count = 200_000
    for (let i = 0; i < count; i++) {
      const event = { level: 'info', message: message() }
      meter.add(dataset(), { event, severity: 2, resource: undefined }, 100 + pick(100))
    }
    expect(texts / count).toBeLessThan(maxShare)
  })
})

describe('memory', () => {
  it('is less than 256 KB, whatever is logged', { timeout: 60_000 }, () => {
    setFlagsFromString('--expose-gc')
    const collect = runInNewContext('gc') as () => void
    const usedBytes = () => {
      collect()
      collect()
      const { heapUsed, arrayBuffers } = process.memoryUsage()
      return heapUsed + arrayBuffers
    }
    const random = randomFrom(7)
    const text = (length: number) =>
      Array.from({ length }, () => String.fromCharCode(0x4e00 + random() * 20_000)).join(' ')
    const fill = (meter: UsageMeter) => {
      for (let i = 0; i < 2000; i++) {
        const event = { level: 'information', message: `${text(110)} ${'x '.repeat(5000)}` }
        meter.add(`${text(99)} ${i}`, { event, severity: 2, resource: undefined }, 1000 + i)
        const constant = {
          event: { level: 'information', message: text(99) },
          severity: 2 as const,
          resource: undefined,
        }
        for (let n = 0; n < 4; n++) meter.add('d', constant, 500 + i)
      }
      meter.takePeriod(20)
    }
    fill(meterWith(99))
    const before = usedBytes()
    const meters = Array.from({ length: 3 }, (_, i) => meterWith(i))
    for (const meter of meters) fill(meter)
    const eachBytes = (usedBytes() - before) / meters.length
    expect(eachBytes).toBeLessThan(256 * 1024)
    expect(meters.every(meter => meter.usage(5).events === 10_000)).toBe(true)
  })
})
