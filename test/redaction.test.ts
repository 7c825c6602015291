/** Redaction as users see it: the secret appears nowhere, however an event comes and wherever it goes. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { BatchLogRecordProcessor, LoggerProvider } from '@opentelemetry/sdk-logs'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import winston from 'winston'
import type { ShipperOptions } from '../src/index.ts'
import { Budget } from '../src/org/budget.ts'
import { LogferryLogRecordExporter, LogferryLogRecordProcessor } from '../src/otel.ts'
import { LogferryTransport } from '../src/winston.ts'
import { type Shipping, startShipping } from './support/shipping.ts'
import { until } from './support/until.ts'

const secret = 'hunter2'
const redact = ['password', '**.token', 'user.email', 'headers.*', '*_secret', 'items[*].card']
/** The same paths, at any depth. */
const everywhere = ['password', 'token', '**.user.email', '**.headers.*', '*_secret', '**.items[*].card']

/** Returns everything that the service has received. */
const received = ({ emulator }: Shipping) =>
  emulator
    .datasets()
    .flatMap(dataset => emulator.lines(dataset))
    .join('\n')

/** Events of an application, with the secret at each path, and other values beside it. */
const logged = () => ({
  password: secret,
  deep: [{ token: { value: secret } }],
  user: { email: secret, name: 'Mary' },
  headers: { cookie: secret, 'x-list': [secret] },
  db_secret: secret,
  items: [{ card: secret, sku: 'A-1' }],
})

function directoryOfTest(): string {
  const directory = mkdtempSync(join(tmpdir(), 'logferry-redact-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  return directory
}

function filesIn(directory: string): string {
  return readdirSync(directory, { recursive: true, encoding: 'utf8', withFileTypes: true })
    .filter(file => file.isFile())
    .map(file => readFileSync(join(file.parentPath, file.name), 'latin1'))
    .join('\n')
}

describe('an event of Winston', () => {
  const formats: [string, winston.Logform.Format | undefined][] = [
    ['no format', undefined],
    ['format.json()', winston.format.json()],
    [
      'format.combine',
      winston.format.combine(winston.format.errors({ stack: true }), winston.format.splat(), winston.format.json()),
    ],
  ]

  it.each(formats)('is shipped without the secret, with %s', async (_, format) => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ redact: everywhere, redactText: [/pin \d+/g] })
    const logger = winston.createLogger({ transports: [new LogferryTransport({ shipper })], ...(format && { format }) })
    for (let i = 0; i < 3; i++) {
      logger.info('plain pin 1234', logged())
      logger.info('lost', 'extra', logged(), new Map(Object.entries(logged())))
      logger.info('lost %s', 'extra', logged())
      logger.info(logged() as never)
      logger.error(Object.assign(new Error('pin 1234', { cause: Object.assign(new Error('c'), logged()) }), logged()))
      logger.error('context', Object.assign(new Error('pin 1234'), { details: logged() }))
      logger.child(logged()).warn('child', {
        get user() {
          return { email: secret }
        },
        toTell: { toJSON: () => logged() },
      })
    }
    await shipper.flush()
    expect(shipping.emulator.eventCount('d')).toBe(21)
    expect(received(shipping)).not.toContain(secret)
    expect(received(shipping)).not.toContain('pin 1')
    const [first] = shipping.emulator.events('d').filter(({ message }) => message === 'plain [redacted]')
    expect(first).toMatchObject({
      password: '[redacted]',
      deep: [{ token: '[redacted]' }],
      user: { email: '[redacted]', name: 'Mary' },
      headers: { cookie: '[redacted]', 'x-list': '[redacted]' },
      db_secret: '[redacted]',
      items: [{ card: '[redacted]', sku: 'A-1' }],
    })
  })
})

describe('a record of OpenTelemetry', () => {
  const resource = resourceFromAttributes({ 'service.name': 'checkout', 'db.password': secret })
  const paths = [...redact, 'resource.host.name', 'scope.attributes.tenant']
  const emit = (provider: LoggerProvider) => {
    const logger = provider.getLogger('orders', '1', { scopeAttributes: { tenant: secret } } as never)
    for (let i = 0; i < 3; i++) {
      logger.emit({ body: 'placed', attributes: { 'user.email': secret, 'user.name': 'Mary', 'http.token': secret } })
      logger.emit({ body: logged() as never, attributes: { 'user.email': secret, user: 'Mary' } })
      logger.emit({ body: Object.assign(new Error('e'), logged()) as never })
    }
  }

  it.each(['processor', 'exporter'])('is shipped without the secret, through the %s', async way => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ redact: paths })
    const processor =
      way === 'processor'
        ? new LogferryLogRecordProcessor({ shipper })
        : new BatchLogRecordProcessor({ exporter: new LogferryLogRecordExporter({ shipper }) })
    const provider = new LoggerProvider({ resource, processors: [processor] })
    emit(provider)
    await provider.shutdown()
    await shipper.flush()
    expect(shipping.emulator.eventCount('d')).toBe(9)
    expect(received(shipping)).not.toContain(secret)
    expect(shipping.emulator.events('d')[0]).toMatchObject({
      attributes: { user: { email: '[redacted]', name: 'Mary' }, http: { token: '[redacted]' } },
      resource: { service: { name: 'checkout' }, db: { password: '[redacted]' } },
      scope: { name: 'orders' },
    })
  })

  it('is redacted once, with its resource, if it was held for that', async () => {
    await using shipping = await startShipping()
    const hashKey = 'k'.repeat(32)
    const shipper = shipping.ship({ redact: { paths, censor: 'hash', hashKey } })
    const detected = resourceFromAttributes({
      'service.name': 'checkout',
      'host.name': new Promise<string>(resolve => setTimeout(resolve, 50, secret)),
    })
    const provider = new LoggerProvider({
      resource: detected,
      processors: [new LogferryLogRecordProcessor({ shipper })],
    })
    emit(provider)
    shipper.ship({ password: secret })
    await provider.shutdown()
    await shipper.flush()
    expect(received(shipping)).not.toContain(secret)
    const hashes = received(shipping).match(/hash:\w{32}/g) ?? []
    expect(hashes.length).toBeGreaterThan(10)
    const strings = shipping.emulator.events('d').filter(({ password }) => password !== undefined)
    expect(received(shipping)).toContain(`"name":"${strings[0]?.password}"`) // the name of the host
  })
})

describe('other places', () => {
  it('of the disk have no secret: neither the spool nor rejected.ndjson', async () => {
    const directory = directoryOfTest()
    await using shipping = await startShipping()
    shipping.emulator.faults.rejectEvents(({ n }) => n === 1, 'no')
    const rejected: unknown[] = []
    const options: ShipperOptions = {
      redact: everywhere,
      spool: { directory },
      durability: 'disk',
      onRejected: event => rejected.push(event),
    }
    const shipper = shipping.ship(options)
    for (let n = 0; n < 3; n++) shipper.ship({ n, ...logged(), map: new Map(Object.entries(logged())) })
    expect(filesIn(directory)).toContain('Mary')
    expect(filesIn(directory)).not.toContain(secret)
    await shipper.flush()
    expect(filesIn(directory)).toContain('"reason":"no"')
    expect(filesIn(directory)).not.toContain(secret)
    expect(rejected).toMatchObject([{ n: 1, password: '[redacted]' }])
    expect(received(shipping)).not.toContain(secret)
  })

  it('of the license have no secret: folded fields and sampled events are redacted once', async () => {
    await using shipping = await startShipping({ org: { license: { maxFields: 30 } } })
    const { orgId, accessToken } = shipping.emulator
    const limits = { orgId, accessToken } as NonNullable<ShipperOptions['limits']>
    const hashKey = 'k'.repeat(32)
    const shipper = shipping.ship({ redact: { paths: everywhere, censor: 'hash', hashKey }, limits })
    await until(() => shipper.stats().limits?.readAt !== undefined, 'the license')
    shipper.ship({ password: secret })
    for (let n = 0; n < 60; n++)
      shipper.ship({ [`f${n}`]: { password: secret, n, user: new Map([['token', secret]]) } })
    await shipper.flush()
    expect(received(shipping)).not.toContain(secret)
    const hashes = new Set(received(shipping).match(/hash:\w{32}/g))
    expect(hashes.size).toBe(1)
    expect(shipping.emulator.events('d').filter(({ overflow }) => overflow !== undefined).length).toBeGreaterThan(30)
  })

  it('of a sample that the license allows are redacted once, too', async () => {
    await using shipping = await startShipping({ org: { license: { monthlyIngestGb: 1 } } })
    const kept = vi.spyOn(Budget.prototype, 'kept').mockReturnValue(1 - 1e-12)
    onTestFinished(() => kept.mockRestore())
    const { orgId, accessToken } = shipping.emulator
    const limits = { orgId, accessToken, onBudget: 'shed' } as NonNullable<ShipperOptions['limits']>
    const shipper = shipping.ship({ redact: { paths: everywhere, censor: 'hash', hashKey: 'k'.repeat(32) }, limits })
    await until(() => shipper.stats().limits?.ingest !== undefined, 'the license')
    for (let i = 0; i < 3; i++) {
      shipper.ship({ password: secret })
      shipper.ship({ map: new Map(Object.entries({ password: secret })) })
      shipper.ship(Object.assign(new Error('e'), { password: secret }) as never)
    }
    await shipper.flush()
    expect(shipping.emulator.events('d').filter(({ logferry }) => logferry !== undefined)).toHaveLength(9)
    expect(received(shipping)).not.toContain(secret)
    expect(new Set(received(shipping).match(/hash:\w{32}/g)).size).toBe(1)
  })

  it('of events that are cut have no secret', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ redact: everywhere, redactText: [/key-\w{20}/g], maxEventBytes: 1000 })
    shipper.ship({
      ...logged(),
      text: `${'x'.repeat(340)}key-${'s'.repeat(20)}`.repeat(40),
      many: Array(500).fill(logged()),
    })
    await shipper.flush()
    expect(shipping.emulator.events('d')).toMatchObject([{ logferry: { cut: true } }])
    expect(received(shipping)).not.toContain(secret)
    expect(received(shipping)).not.toContain('key-s')
  })

  it('of events whose long names are cut before they are compared have no secret', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ redact: ['password'], maxEventBytes: 2000, context: () => ({ region: 'eu' }) })
    const longName = `${'k'.repeat(201)}.password`
    class Fields {
      constructor(fields: object) {
        Object.assign(this, fields) // not plain, so the context is added to the event as it is sent
      }
    }
    shipper.ship(new Fields({ message: 'm', [longName]: secret, pad: 'x'.repeat(5000) }) as never)
    await shipper.flush()
    expect(received(shipping)).toContain('"region":"eu"')
    expect(received(shipping)).not.toContain(secret)
  })

  it('of warnings have no secret', async () => {
    await using shipping = await startShipping()
    shipping.emulator.faults.rejectEvents(() => true, `field pin 1234 is wrong`)
    const shipper = shipping.ship({ redact, redactText: [/pin \d+/g] })
    const format = winston.format(() => {
      throw new Error(`cannot format ${secret}`)
    })
    const transport = new LogferryTransport({ shipper, format: format() })
    transport.cork()
    transport.write({ level: 'info', message: 'x', [Symbol.for('level')]: 'info' })
    transport.write({ level: 'info', message: 'y', [Symbol.for('level')]: 'info' })
    transport.uncork()
    shipper.ship({ a: 1 })
    await shipper.flush()
    await until(() => shipping.warnings.length >= 2, 'two warnings')
    const printed = JSON.stringify(shipping.warnings)
    expect(printed).toMatch(/dropped \(the format of the transport: Error\)/)
    expect(printed).toMatch(/field \[redacted\] is wrong/)
    expect(printed).not.toContain(secret)
  })

  it('of a stack that ends have no secret, and every event is counted', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ redact, redactText: [/pin \d+/g] })
    let calls = 0
    const down = (): void => {
      calls++
      shipper.ship({ password: secret, message: 'pin 1234', map: new Map([['token', secret]]) })
      down()
    }
    expect(down).toThrow(RangeError)
    await shipper.flush()
    expect(received(shipping)).not.toContain(secret)
    expect(received(shipping)).not.toContain('pin 1')
    const { accepted, delivered, dropped, pending } = shipper.stats()
    expect(accepted).toBe(delivered + dropped + pending)
    expect(delivered).toBeGreaterThan(calls / 2)
    expect(shipper.ship({ password: secret, message: 'pin 1234' })).toBe(true)
    await shipper.flush()
    expect(received(shipping)).not.toContain(secret)
  })
})

describe('a censor function that logs', () => {
  it('leaves the mark on an event whose text is too long to be examined', async () => {
    await using shipping = await startShipping()
    const censor = () => {
      shipper.ship({ message: 'redacted' })
      return '*'
    }
    const shipper = shipping.ship({ redact: { paths: ['secret'], censor }, redactText: [/\d{16}/g] })
    shipper.ship({ message: 'm', long: 'x'.repeat(100_000), secret })
    await shipper.flush()
    expect(shipper.stats().cut).toBe(1)
    const marked = shipping.emulator.events('d').map(({ message, logferry }) => [message, logferry])
    expect(Object.fromEntries(marked)).toEqual({ m: { cut: true }, redacted: undefined })
  })
})

describe('an event that cannot be redacted', () => {
  it('passes objects to the censor function that have the usual methods', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ redact: { paths: ['card'], censor: value => `…${String(value).slice(-4)}` } })
    shipper.ship({ card: { number: '1234' } })
    shipper.ship({ card: [{ number: '1234' }] })
    await shipper.flush()
    expect(shipping.emulator.events('d').map(({ card }) => card)).toEqual(['…ect]', '…ect]'])
  })

  it('is dropped, counted and reported, once a minute and without its value', async () => {
    await using shipping = await startShipping()
    const censor = () => {
      throw new Error(secret)
    }
    const shipper = shipping.ship({ redact: { paths: ['password'], censor } })
    const drops: unknown[] = []
    shipper.on('dropped', drop => drops.push(drop))
    for (let i = 0; i < 3; i++) expect(shipper.ship({ level: 'error', password: secret })).toBe(false)
    expect(shipper.ship({ level: 'info', n: 1 })).toBe(true)
    await shipper.flush()
    expect(shipping.emulator.events('d')).toMatchObject([{ n: 1 }])
    expect(shipper.stats()).toMatchObject({ accepted: 4, delivered: 1, dropped: 3, drops: { redact: { error: 3 } } })
    expect(drops).toHaveLength(3)
    expect(shipping.warnings).toEqual([
      {
        code: 'LOGFERRY_DROPPED',
        message: 'logferry: redact.censor threw Error. Events that cannot be redacted are dropped.',
        suppressed: 0,
      },
    ])
  })

  it('is dropped with the kind of the error and the severity, also if rules for fields redact first', async () => {
    await using shipping = await startShipping()
    const censor = () => {
      throw new TypeError('x')
    }
    const transform = (event: object) => ({ ...event, level: 'error' })
    const shipper = shipping.ship({ redact: { paths: ['password'], censor }, fields: { max: 100 }, transform })
    shipper.ship({ level: 'info', password: secret })
    shipper.ship({ level: 'info', n: 1 }) // in the same turn
    await shipper.flush()
    expect(shipper.stats().drops).toEqual({ redact: { error: 1 } })
    expect(shipping.warnings.map(({ message }) => message)).toEqual([
      'logferry: redact.censor threw TypeError. Events that cannot be redacted are dropped.',
    ])
  })

  it.each(['', 'Error'])('is not named by an error that has its value as a name, with %j', async suffix => {
    await using shipping = await startShipping()
    const censor = (value: unknown) => {
      throw Object.assign(new Error('x'), { name: `${value}${suffix}` })
    }
    shipping.ship({ redact: { paths: ['password'], censor } }).ship({ password: secret })
    expect(shipping.warnings.map(({ message }) => message)).toEqual([
      'logferry: redact.censor threw Error. Events that cannot be redacted are dropped.',
    ])
  })

  it.each([undefined, null, Number.NaN, 'text'])(
    'is dropped, whatever is thrown (%s), and so is a report',
    async thrown => {
      await using shipping = await startShipping()
      const censor = () => {
        throw thrown
      }
      const redact = { paths: ['password', 'statements'], censor }
      const shipper = shipping.ship({ redact, reportUsageEveryMs: 60_000, hold: {} })
      expect(shipper.ship({ password: secret })).toBe(false)
      expect(shipper.ship({ level: 'info', trace_id: 't', password: secret })).toBe(false)
      expect(shipper.ship({ n: 1 })).toBe(true)
      expect(await shipper.close()).toMatchObject({ complete: true })
      expect(shipper.stats()).toMatchObject({ accepted: 4, delivered: 1, drops: { redact: { info: 3 } } })
    },
  )

  it('fails the export of its record', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ redact: { paths: ['password'], censor: (() => ({})) as never } })
    const exporter = new LogferryLogRecordExporter({ shipper })
    const provider = new LoggerProvider({ processors: [new BatchLogRecordProcessor({ exporter })] })
    provider.getLogger('l').emit({ body: 'x', attributes: { password: secret } })
    await provider.shutdown()
    expect(shipper.stats().drops).toEqual({ redact: { info: 1 } })
  })
})

describe('shippers', () => {
  it('redact each by its own paths, the same resource too', async () => {
    await using shipping = await startShipping()
    const plain = shipping.ship({ dataset: 'plain' })
    const masked = shipping.ship({ dataset: 'masked', redact: ['user.email', 'resource.zone'] })
    const resource = resourceFromAttributes({ zone: 'z-1' })
    const processors = [plain, masked].map(shipper => new LogferryLogRecordProcessor({ shipper }))
    const logger = new LoggerProvider({ resource, processors }).getLogger('l')
    for (let i = 0; i < 3; i++) logger.emit({ body: 'x', attributes: { 'user.email': 'mary' } })
    await Promise.all([plain.flush(), masked.flush()])
    for (const event of shipping.emulator.events('plain')) {
      expect(event).toMatchObject({ attributes: { user: { email: 'mary' } }, resource: { zone: 'z-1' } })
    }
    for (const event of shipping.emulator.events('masked')) {
      expect(event).toMatchObject({ attributes: { user: { email: '[redacted]' } }, resource: { zone: '[redacted]' } })
    }
  })
})
