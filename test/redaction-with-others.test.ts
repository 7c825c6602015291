/** Redaction together with the options that keep, fold, count or number events: the secret appears nowhere. */
import { resourceFromAttributes } from '@opentelemetry/resources'
import { LoggerProvider } from '@opentelemetry/sdk-logs'
import { describe, expect, it, vi } from 'vitest'
import winston from 'winston'
import type { CensorFunction, ShipperOptions } from '../src/index.ts'
import { Budget } from '../src/org/budget.ts'
import { LogferryLogRecordProcessor } from '../src/otel.ts'
import { LogferryTransport } from '../src/winston.ts'
import { type Shipping, startShipping } from './support/shipping.ts'

const secret = 'hunter2'
const options: ShipperOptions = {
  redact: { paths: ['password'], censor: 'hash', hashKey: '0123456789abcdef' },
  redactText: [/hunter\d/g],
}

const received = ({ emulator }: Shipping) =>
  emulator
    .datasets()
    .flatMap(dataset => emulator.lines(dataset))
    .join('\n')

describe('redaction', () => {
  it('reaches events that are held until their trace fails, once', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ ...options, hold: { below: 'error' } })
    const trace = { trace_id: 'a'.repeat(32), span_id: 'b'.repeat(16), password: secret }
    shipper.ship({ level: 'info', message: `logs in with ${secret}`, ...trace })
    shipper.ship({ level: 'error', message: 'failed', ...trace })
    expect(await shipper.flush()).toMatchObject({ complete: true })
    const events = shipping.emulator.events('d')
    expect(events.map(({ level }) => level)).toEqual(['info', 'error'])
    expect(new Set(events.map(({ password }) => password)).size).toBe(1) // hashed once, even if the event was held
    expect(received(shipping)).not.toContain(secret)
  })

  it('hashes once if an event is held, and then stands for its repetitions', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({
      ...options,
      hold: { below: 'error' },
      collapse: {},
      fields: { asText: ['labels'] },
    })
    const fields = { trace_id: 'a'.repeat(32), password: secret, labels: { password: secret } }
    for (let n = 0; n < 3; n++) shipper.ship({ level: 'info', message: 'same', ...fields })
    shipper.ship({ level: 'error', message: 'failed', ...fields })
    await shipper.flush()
    const events = shipping.emulator.events('d') as unknown as { password: string; labels: string }[]
    expect(events).toHaveLength(3)
    expect(new Set(events.flatMap(event => [event.password, JSON.parse(event.labels).password])).size).toBe(1)
  })

  it.each<[string, ShipperOptions]>([
    ['nothing', {}],
    ['context', { context: () => ({ region: 'eu' }) }],
    ['sample', { sample: { info: 0.999_999 } }],
    ['transform', { transform: event => ({ ...event, seen: true }) }],
    ['hold', { hold: { below: 'error' } }],
    ['collapse', { collapse: {} }],
    ['fields', { fields: { asText: ['labels'] } }],
  ])('finds a path in an event that contains itself, whatever copies the event (%s)', async (_, copying) => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ redact: ['user.email'], ...copying })
    const trace = { trace_id: 'a'.repeat(32), span_id: 'b'.repeat(16) }
    const event: Record<string, unknown> = { level: 'info', message: 'm', user: { email: secret }, ...trace }
    event.self = event
    event.labels = { deeper: { self: event, all: [event] } }
    shipper.ship(event)
    shipper.ship({ level: 'error', message: 'failed', ...trace })
    await shipper.flush()
    expect(shipping.emulator.events('d')).toHaveLength(2)
    expect(received(shipping)).not.toContain(secret)
  })

  it('finds a path in an event to which `transform` adds the event itself, whatever copies the event before and after', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({
      redact: ['user.email'],
      context: () => ({ region: 'eu' }),
      transform: event => Object.assign(event, { self: event }),
      sample: { info: 0.999_999 },
    })
    shipper.ship({ level: 'info', message: 'm', user: { email: secret } })
    await shipper.flush()
    expect(shipping.emulator.events('d')).toMatchObject([{ region: 'eu', self: '[Circular]' }])
    expect(received(shipping)).not.toContain(secret)
  })

  it.each([
    ['metadata()', winston.format.metadata()],
    ['metadata() and json()', winston.format.combine(winston.format.metadata(), winston.format.json())],
    ['logstash()', winston.format.logstash()],
  ])('finds a path in the metadata of Winston, wherever format.%s puts them', async (_, format) => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ redact: ['user.email', 'headers.*'] })
    const logger = winston.createLogger({ format, transports: [new LogferryTransport({ shipper })] })
    logger.info('m', { user: { email: secret, id: 7 }, 'headers.cookie': secret })
    await shipper.flush()
    expect(received(shipping)).toContain('"id":7')
    expect(received(shipping)).not.toContain(secret)
  })

  it('finds a path in a Winston info that contains itself', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ redact: ['user.email'] })
    const logger = winston.createLogger({
      format: winston.format(info => Object.assign(info, { self: info, message: 1 }))(),
      transports: [new LogferryTransport({ shipper })],
    })
    logger.info('m', { user: { email: secret } })
    await shipper.flush()
    expect(shipping.emulator.events('d')).toMatchObject([{ message: '1', user: { email: '[redacted]' } }])
    expect(received(shipping)).not.toContain(secret)
  })

  it.each<[string, ShipperOptions]>([
    ['context', { context: () => ({ region: 'eu' }) }],
    ['sample', { sample: { info: 0.999_999 } }],
    ['transform', { transform: event => ({ ...event, seen: true }) }],
  ])('masks a long secret in an event that is copied and cut (%s)', async (_, copying) => {
    await using shipping = await startShipping()
    const pattern = /-----BEGIN[^-]+-----[^-]+-----END[^-]+-----/g
    const shipper = shipping.ship({ redactText: [pattern], maxEventBytes: 20_000, ...copying })
    const key = `-----BEGIN KEY-----${'k3y'.repeat(900)}-----END KEY-----`
    for (let before = 0; before < 20_000; before += 500) {
      const error = Object.assign(new Error('boot failed'), { log: `${'x '.repeat(before / 2)}${key}` })
      shipper.ship({ level: 'info', message: 'm', error, more: 'y'.repeat(30_000) })
    }
    await shipper.flush()
    expect(shipping.emulator.events('d')).toHaveLength(40)
    expect(received(shipping)).not.toContain('k3yk3y')
  })

  it('masks a long secret in a record that is held until its resource is known, and cut', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({
      redactText: [/-----BEGIN[^-]+-----[^-]+-----END[^-]+-----/g],
      maxEventBytes: 20_000,
    })
    const host = Promise.withResolvers<string>()
    const provider = new LoggerProvider({
      resource: resourceFromAttributes({ 'host.id': host.promise }),
      processors: [new LogferryLogRecordProcessor({ shipper })],
    })
    const key = `-----BEGIN KEY-----${'k3y'.repeat(900)}-----END KEY-----`
    for (let before = 0; before < 20_000; before += 500) {
      const body = `${'x '.repeat(before / 2)}${key}`
      provider.getLogger('boot').emit({ body, attributes: { more: 'y'.repeat(30_000) } })
    }
    host.resolve('h1')
    await shipper.flush()
    expect(shipping.emulator.events('d')).toHaveLength(40)
    expect(received(shipping)).not.toContain('k3yk3y')
    expect(shipper.stats().cut).toBe(40)
  })

  class Order {
    readonly trace_id = 't'
    readonly big = 'x'.repeat(9000)
  }

  const quotes = '"'.repeat(9000)
  const many = Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`field_${i}`, quotes]))

  it.each<[string, ShipperOptions, object?]>([
    ['context', { context: () => ({ note: 'y'.repeat(500) }) }],
    ['transform', { transform: event => ({ ...event }), redactText: [/hunter\d/g] }],
    ['hold', { context: () => ({ note: 'y'.repeat(500) }), hold: {} }],
    ['fields', { redactText: [/hunter\d/g], fields: { asText: ['big'] } }],
    ['context and fields', { context: () => ({ n: 1 }), redactText: [/hunter\d/g], fields: { max: 20 } }],
    ['a group that becomes a longer text', { fields: { asText: ['group'] } }, { group: { quotes }, n: new Set([1]) }],
    ['fields that become a longer text', { maxEventBytes: 10_000, fields: { max: 20 } }, many],
    ['toJSON', { redactText: [/hunter\d/g] }, { toJSON: () => ({ quotes }) }],
  ])('counts an event as cut once, although it is copied before it is written (%s)', async (_, copying, given) => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ maxEventBytes: 1000, ...copying })
    shipper.ship(given ?? new Order())
    shipper.ship({ level: 'error', trace_id: 't', message: 'failed' })
    await shipper.flush()
    expect(shipping.emulator.events('d')).toHaveLength(2)
    expect(shipper.stats().cut).toBe(1)
  })

  it('counts a record as cut once if both its body and its resource are too long', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ maxEventBytes: 1000 })
    const provider = new LoggerProvider({
      resource: resourceFromAttributes({ 'service.name': 'x'.repeat(3000) }),
      processors: [new LogferryLogRecordProcessor({ shipper })],
    })
    for (const body of ['short', 'x'.repeat(3000)]) provider.getLogger('l').emit({ body })
    expect(shipper.stats()).toMatchObject({ accepted: 2, cut: 2 })
  })

  it('marks a resource or a scope as cut of which a text takes too long to search', async () => {
    await using shipping = await startShipping()
    const provider = new LoggerProvider({
      resource: resourceFromAttributes({ 'process.command': 'x'.repeat(30_000) }),
      processors: [new LogferryLogRecordProcessor({ shipper: shipping.ship({ redactText: [/\S+@\S+/g] }) })],
    })
    provider.getLogger('l').emit({ body: 'm' })
    await provider.forceFlush()
    const command = expect.stringMatching(/^x+\.{3} \[\d+ more characters\]$/) as unknown
    expect(shipping.emulator.events('d')).toMatchObject([
      { resource: { process: { command }, logferry: { cut: true } }, scope: { name: 'l' } },
    ])
  })

  it('masks a match around a text that looks like the mark of a cut', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ redactText: [/password="[^"]*"/g] })
    shipper.ship({ message: `login with password="${secret}... [9 more characters]-the-rest" failed` })
    await shipper.flush()
    expect(shipping.emulator.events('d')).toMatchObject([{ message: 'login with [redacted] failed' }])
  })

  it('hashes once, also in an event that the budget of the license has sampled', async () => {
    const kept = vi.spyOn(Budget.prototype, 'kept').mockImplementation(severity => (severity < 4 ? 0.5 : 1))
    try {
      await using shipping = await startShipping({ org: { license: { maxFields: 1000, monthlyIngestGb: 0.000_001 } } })
      const { orgId, accessToken } = shipping.emulator
      const limits = { orgId, accessToken, onBudget: 'shed' } as const
      const shipper = shipping.ship({ ...options, limits, fields: {} })
      await vi.waitFor(() => expect(shipper.stats().limits?.readAt).toBeDefined(), 5000)
      shipper.ship({ level: 'error', message: 'm', password: secret })
      for (let n = 0; n < 100; n++) shipper.ship({ level: 'debug', message: `m ${n}`, password: secret })
      await shipper.flush()
      const events = shipping.emulator.events('d')
      expect(events.some(({ logferry }) => logferry !== undefined)).toBe(true)
      expect(new Set(events.map(({ password }) => password)).size).toBe(1)
    } finally {
      kept.mockRestore()
    }
  })

  it('reaches the times of repeated events', async () => {
    await using shipping = await startShipping()
    const masking = shipping.ship({ redactText: [/hunter\d/g], collapse: {}, timeField: 'at' })
    const naming = shipping.ship({ redact: ['at'], collapse: {}, timeField: 'at' })
    for (const shipper of [masking, naming]) {
      for (let n = 0; n < 3; n++) shipper.ship({ at: secret, message: 'same' })
      await shipper.flush()
    }
    expect(received(shipping)).not.toContain(secret)
  })

  it.each(
    [
      ['nothing', {}],
      ['identify', { identify: true }],
      ['hold', { hold: { below: 'error' } }],
      ['collapse', { collapse: {} }],
      ['fields', { fields: { max: 50 } }],
      ['identify, hold and collapse', { identify: true, hold: { below: 'error' }, collapse: {} }],
    ].flatMap((row): [string, ShipperOptions, string | CensorFunction][] => {
      const [name, others] = row as [string, ShipperOptions]
      return [
        [name, others, 'remove'],
        [`${name}, by a function`, others, () => undefined],
      ]
    }),
  )('gives an event whose timestamp is removed the time of its log call, beside %s', async (_, others, censor) => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ redact: { paths: ['_time'], censor }, ...others })
    const event = { message: 'same', trace_id: 'a'.repeat(32) }
    for (let n = 0; n < 2; n++) shipper.ship({ _time: '1999-12-31T00:00:00Z', ...event, level: 'info' })
    shipper.ship({ _time: new Date(0), ...event, level: 'error' })
    await shipper.flush()
    const lines = shipping.emulator.lines('d')
    expect(lines).toHaveLength(3)
    for (const line of lines) expect(line.match(/"_time":"[^"]*"/g)).toEqual([expect.stringMatching(/"20\d\d-.*Z"/)])
  })

  it('keeps a timestamp that a function replaces, once', async () => {
    await using shipping = await startShipping()
    const censor: CensorFunction = value => String(value).slice(0, 4)
    const shipper = shipping.ship({ redact: { paths: ['_time'], censor } })
    shipper.ship({ _time: new Date(0), message: 'm' })
    await shipper.flush()
    expect(shipping.emulator.lines('d')).toEqual(['{"_time":"1970","message":"m"}'])
  })

  it('drops an event if the function throws for its timestamp', async () => {
    await using shipping = await startShipping()
    const censor: CensorFunction = () => {
      throw new Error('no')
    }
    const shipper = shipping.ship({ redact: { paths: ['_time'], censor } })
    shipper.ship({ _time: new Date(0), message: 'm' })
    await shipper.flush()
    expect(shipper.stats().drops.redact).toEqual({ info: 1 })
  })

  it('reaches the summary of repeated events', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ ...options, collapse: {} })
    for (let n = 0; n < 3; n++) shipper.ship({ level: 'error', message: `no ${secret}`, password: secret })
    await shipper.flush()
    const events = shipping.emulator.events('d')
    expect(events).toHaveLength(2)
    expect(new Set(events.map(({ password }) => password)).size).toBe(1)
    expect(received(shipping)).not.toContain(secret)
  })

  it.each([true, false])('reaches groups that become one text (with a license: %s)', async hasLicense => {
    await using shipping = await startShipping({ org: { license: { maxFields: 1000 } } })
    const { orgId, accessToken } = shipping.emulator
    const limits = hasLicense ? { limits: { orgId, accessToken } } : {}
    const shipper = shipping.ship({ ...options, ...limits, fields: { asText: ['labels.*'] } })
    shipper.ship({ message: 'm', labels: { password: secret, note: `it is ${secret}` }, password: secret })
    await shipper.flush()
    const [event] = shipping.emulator.events('d') as [{ labels: string; password: string }]
    expect(typeof event.labels).toBe('string')
    expect(JSON.parse(event.labels).password).toBe(event.password)
    expect(received(shipping)).not.toContain(secret)
  })

  it('finds a secret in an object that was logged before without one, beside a guard of fields', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ ...options, fields: { max: 50 } })
    const session: Record<string, unknown> = { level: 'info', message: 'begins', user: { id: 7 } }
    shipper.ship(session)
    session.password = secret
    session.message = `goes on with ${secret}`
    shipper.ship(session)
    await shipper.flush()
    expect(shipping.emulator.events('d')).toMatchObject([{ message: 'begins', user: { id: 7 } }, { user: { id: 7 } }])
    expect(received(shipping)).not.toContain(secret)
    expect(session.password).toBe(secret)
  })

  const labels = () => ({ password: secret, note: `it is ${secret}` })
  let logsAgain = (): void => {}
  const nesting: [string, ShipperOptions, () => object][] = [
    [
      'a getter',
      options,
      () => ({
        labels: labels(),
        at: new Map([
          [
            'a',
            {
              get b() {
                logsAgain()
                return 1
              },
            },
          ],
        ]),
      }),
    ],
    [
      'the censor function',
      {
        redact: {
          paths: ['password', 'note'],
          censor: () => {
            logsAgain()
            return 'masked'
          },
        },
      },
      () => ({ labels: labels() }),
    ],
    [
      'nothing, but a getter changes its mind',
      options,
      () => {
        let reads = 0
        return {
          labels: {
            get note() {
              return reads++ === 0 ? 'none' : secret
            },
          },
        }
      },
    ],
  ]
  it.each(nesting)('reaches groups that become one text while %s logs another event', async (_, given, event) => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ ...given, fields: { asText: ['labels.*'] } })
    logsAgain = () => void shipper.ship({ message: 'within' })
    shipper.ship({ message: 'around', ...event() })
    await shipper.flush()
    expect(received(shipping)).toContain('around')
    expect(received(shipping)).not.toContain(secret)
  })

  it('leaves no part of a secret in the name of a function or a symbol that is cut', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ redactText: [/hunter2-\d{8}/g] })
    const name = `${'x'.repeat(190)}${secret}-12345678`
    shipper.ship({ symbol: Symbol(name), run: Object.defineProperty(() => {}, 'name', { value: name }) })
    await shipper.flush()
    expect(shipping.emulator.events('d')).toMatchObject([{ symbol: 'Symbol()', run: '[Function]' }])
  })

  it('finds the values of a Map by their names, whatever its other keys are', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ redact: ['password', 'session.id'] })
    const session = new Map<unknown, unknown>([
      ['password', secret],
      [7, { id: 8 }],
      [null, 1],
      ['id', secret],
    ])
    shipper.ship({ session })
    await shipper.flush()
    expect(shipping.emulator.events('d')).toMatchObject([
      { session: { password: '[redacted]', 7: { id: 8 }, null: 1, id: '[redacted]' } },
    ])
  })

  it.each<[string, ShipperOptions]>([
    ['a path', { redact: ['scope.name'] }],
    ['a pattern', { redactText: [/hunter\d/g] }],
  ])('keeps the scope of a record out of usage(), by %s', async (_, given) => {
    await using shipping = await startShipping()
    const shipper = shipping.ship(given)
    const provider = new LoggerProvider({ processors: [new LogferryLogRecordProcessor({ shipper })] })
    for (let n = 0; n < 100; n++) provider.getLogger(`of ${secret} alone`).emit({ body: { n } })
    await shipper.flush()
    const usage = shipper.usage()
    expect(usage.statements).toHaveLength(1)
    expect(JSON.stringify(usage)).not.toContain('hunter')
  })

  it('keeps secrets out of the log statements of usage()', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ ...options })
    for (let n = 0; n < 2000; n++) shipper.ship({ message: `${secret} came and went` })
    const { statements } = shipper.usage()
    expect(statements).toHaveLength(1)
    expect(JSON.stringify(statements)).not.toContain(secret)
    const nameless = shipping.ship({ redact: ['message'] })
    for (let n = 0; n < 2000; n++) nameless.ship({ message: 'a quiet word' })
    expect(JSON.stringify(nameless.usage())).not.toContain('quiet')
    await Promise.all([shipper.flush(), nameless.flush()])
  })

  it('leaves the numbers of identified events without a gap, whatever was held, collapsed or dropped', async () => {
    await using shipping = await startShipping()
    const censor = (value: unknown) => {
      if (value === 'bad') throw new Error('no')
      return 'x'
    }
    const shipper = shipping.ship({
      redact: { paths: ['password'], censor },
      identify: true,
      hold: { below: 'warn' },
      collapse: {},
    })
    const trace_id = 'c'.repeat(32)
    for (let n = 0; n < 20; n++) {
      shipper.ship({ level: 'info', message: `held ${n}`, trace_id })
      shipper.ship({ level: 'warn', message: 'same', password: n % 5 === 0 ? 'bad' : 'good' })
      shipper.ship({ level: 'warn', message: `other ${n}`, password: n % 7 === 0 ? 'bad' : 'good' })
    }
    shipper.ship({ level: 'error', message: 'failed', trace_id })
    await shipper.flush()
    await shipper.close()
    const uids = shipping.emulator
      .events('d')
      .map(event => (event as { log: { record: { uid: string } } }).log.record.uid)
    const numbers = uids.map(uid => Number(uid.split('-').at(-1))).sort((a, b) => a - b)
    expect(numbers).toEqual(numbers.map((_, i) => (numbers[0] as number) + i))
    const { accepted, delivered, dropped, pending } = shipper.stats()
    expect(accepted).toBe(delivered + dropped + pending)
    expect(numbers).toHaveLength(delivered)
  })
})
