/**
 * An application may load a library that adds to `Object.prototype`, or may be attacked in this way. Inherited
 * properties are no options.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { startEmulator } from '../src/emulator.ts'
import { createShipper, type ShipperOptions } from '../src/index.ts'
import { resolveOptions } from '../src/options/resolve.ts'
import { resolveClientOptions } from '../src/org/resolve-client-options.ts'
import { createOrgClient } from '../src/org.ts'
import { LogferryLogRecordExporter, LogferryLogRecordProcessor } from '../src/otel.ts'
import { LogferryTransport } from '../src/winston.ts'
import { runScript } from './support/run-script.ts'

const service = { baseUrl: 'https://logs.example', token: 'a-token-of-tests' }
const good = { ...service, dataset: 'checkout' }

const added: string[] = []
function pollute(members: object, enumerable = true): void {
  for (const [name, value] of Object.entries(members)) {
    Object.defineProperty(Object.prototype, name, { value, enumerable, configurable: true, writable: true })
    added.push(name)
  }
}

/** Returns the result of `read` while `Object.prototype` has more members. `read` must not wait for anything. */
function whilePolluted<T>(members: object, read: () => T, enumerable = true): T {
  pollute(members, enumerable)
  try {
    return read()
  } finally {
    clean()
  }
}

function clean(): void {
  for (const name of added.splice(0)) delete (Object.prototype as Record<string, unknown>)[name]
}
afterEach(clean)

const inherited = {
  baseUrl: 'https://evil.example',
  region: 'eu',
  token: 'inherited-token',
  personalAccessToken: 'inherited-token',
  accessToken: 'inherited-token',
  orgId: 'inherited',
  orgIdHeader: 'x-inherited',
  allowInsecure: true,
  dispatcher: { dispatch: () => true },
  tls: { ca: '-----BEGIN CERTIFICATE-----' },
  ca: '-----BEGIN CERTIFICATE-----',
  cert: '-----BEGIN CERTIFICATE-----',
  contentType: 'application/json',
  compression: 'none',
  timeField: 'inherited',
  dataset: 'inherited',
  onRejected: () => {},
  spool: { directory: '/nowhere' },
  directory: '/nowhere',
  maxBytes: 65_536,
  durability: 'disk',
  limits: { accessToken: 'inherited-token' },
  share: 0.5,
  fleet: { redis: { call: () => {} } },
  maxBatchAgeMs: 1,
  maxBatchBytes: 1024,
  maxBufferedBytes: 8192,
  maxEventBytes: 512,
  exitTimeoutMs: 0,
  timeoutMs: 100,
  LOGFERRY_URL: 'https://evil.example',
  LOGFERRY_TOKEN: 'inherited-token',
  LOGFERRY_ORG_ID: 'inherited',
  LOGFERRY_DATASET: 'inherited',
}

describe.each([
  ['enumerable', true],
  ['hidden', false],
])('a member that is %s', (_, enumerable) => {
  it('does not prevent any object from being made', () => {
    const made = whilePolluted(
      { extend: (a: object, b: object) => Object.assign(a, b), custom: 1 },
      () => [
        createShipper({ ...good, exitTimeoutMs: 0 }),
        new LogferryTransport(good),
        new LogferryLogRecordExporter(good),
        new LogferryLogRecordProcessor(good),
        createOrgClient(service),
      ],
      enumerable,
    )
    expect(made).toHaveLength(5)
  })

  it('is not an option of a shipper', () => {
    const resolved = whilePolluted(inherited, () => resolveOptions(good, {}), enumerable)
    expect(resolved).toEqual(resolveOptions(good, {}))
    expect(resolved.credentials.headers()).toEqual({ authorization: 'Bearer a-token-of-tests' })
  })

  it('is not a nested option', () => {
    const options = { ...good, limits: { orgId: 'o' }, spool: { directory: 'd' } }
    const resolved = whilePolluted(inherited, () => resolveOptions(options, {}), enumerable)
    expect(resolved).toEqual(resolveOptions(options, {}))
  })

  it.each([
    { redact: ['password'] },
    { redact: { paths: ['password'] } },
    { redactText: [/\d{16}/g] },
    { collapse: {}, hold: {}, fields: {}, sample: { debug: 0.5 } },
  ])('is not an option of %j', given => {
    const members = {
      censor: (value: unknown) => value,
      ignoreCase: true,
      windowMs: 100,
      below: 'debug',
      trigger: 'fatal',
      maxEvents: 1,
      maxAgeMs: 100,
      max: 1,
      asText: ['a'],
      overflowField: 'inherited',
      info: 0,
    }
    const options = { ...good, ...given } as ShipperOptions
    const resolved = whilePolluted(members, () => resolveOptions(options, {}), enumerable)
    expect(resolved).toEqual(resolveOptions(options, {}))
  })

  it('is not an option of redaction that is off', () => {
    const make = () => whilePolluted({ censor: 1, hashKey: 1 }, () => resolveOptions(good, {}), enumerable)
    expect(make).not.toThrow()
  })

  it.each([
    [{ ...good, baseUrl: 'http://logs.example' }, 'baseUrl'],
    [{ ...good, baseUrl: { eu: 'https://eu.example' }, region: 'eu' }, 'baseUrl'],
    [{ ...good, baseUrl: { us: 'https://us.example', eu: 'https://eu.example' } }, 'region'],
    [{ ...good, token: undefined }, 'token'],
    [{ ...good, dataset: undefined }, 'dataset'],
    [{ ...good, spool: {} }, 'spool.directory'],
    [{ ...good, limits: { orgId: 'o', fleet: {} } }, 'limits.fleet.redis'],
    [{ ...good, tls: { cert: '-----BEGIN CERTIFICATE-----' } }, 'tls'],
  ])('does not replace a missing option in %j', (options, option) => {
    const members = {
      ...inherited,
      us: 'https://evil.example',
      key: '-----BEGIN PRIVATE KEY-----',
      redis: { call() {} },
    }
    const make = () => whilePolluted(members, () => resolveOptions(options as never, {}), enumerable)
    expect(make).toThrow(expect.objectContaining({ option }))
  })

  it('is not an option of the client of the organization', () => {
    const resolved = whilePolluted(inherited, () => resolveClientOptions(service, {}), enumerable)
    expect(resolved).toEqual(resolveClientOptions(service, {}))
  })

  it('is not an option of a transport, an exporter or a processor', () => {
    const shipper = createShipper(good)
    const members = {
      level: 'error',
      silent: true,
      handleExceptions: true,
      acknowledge: 'never',
      close: 1,
      log: 1,
      shipper,
    }
    const [transport, exporter, processor] = whilePolluted(
      members,
      () => [new LogferryTransport(good), new LogferryLogRecordExporter(good), new LogferryLogRecordProcessor(good)],
      enumerable,
    ) as [LogferryTransport, LogferryLogRecordExporter, LogferryLogRecordProcessor]
    expect([transport.level, transport.silent, transport.handleExceptions]).toEqual([undefined, undefined, undefined])
    expect([Object.hasOwn(transport, 'log'), Object.hasOwn(transport, 'close')]).toEqual([false, false])
    for (const adapter of [transport, exporter, processor]) expect(adapter.shipper).not.toBe(shipper)
  })
})

it('options are own properties, not those of a prototype of the application', () => {
  class Configuration {
    baseUrl = good.baseUrl
    token = good.token
    get dataset() {
      return 'of-a-getter'
    }
  }
  expect(() => resolveOptions(new Configuration(), {})).toThrow(/`dataset`.*; got nothing/)
})

const shipAll = `
  import winston from 'winston'
  import { LoggerProvider } from '@opentelemetry/sdk-logs'
  import { createShipper } from './dist/index.js'
  import { LogferryTransport } from './dist/winston.js'
  import { LogferryLogRecordProcessor } from './dist/otel.js'
  import { createOrgClient } from './dist/org.js'
  import { startEmulator } from './dist/emulator.js'

  const emulator = await startEmulator()
  const options = { baseUrl: emulator.url, token: emulator.token, dataset: 'd' }
  const calls = []
  const dispatcher = { dispatch: request => calls.push(request.headers) }
  pollute()
  const limits = { orgId: emulator.orgId, accessToken: emulator.accessToken }
  const shipper = createShipper({ ...options, limits })
  const logger = winston.createLogger({ transports: [new LogferryTransport({ shipper })] })
  const processor = new LogferryLogRecordProcessor({ shipper })
  const provider = new LoggerProvider({ processors: [processor] })
  shipper.ship({ n: 1, nested: { list: [{ a: 1 }] }, error: new Error('e').message, big: 10n })
  logger.info('two', { n: 2, nested: { a: 1 } })
  provider.getLogger('l').emit({ body: 'three', attributes: { 'a.b': 1 } })
  const flushed = await shipper.flush()
  const org = await createOrgClient({ baseUrl: emulator.url, accessToken: emulator.accessToken }).get(emulator.orgId)
  await shipper.flush()
  while (shipper.stats().limits.readAt === undefined) await new Promise(resolve => setTimeout(resolve, 10))
  const stats = emulator.stats()
  console.log(JSON.stringify({
    flushed, calls, lines: emulator.lines('d'), orgName: org.name, own: Object.keys(org.license).length,
    answers: stats.answers, limits: shipper.stats().limits?.requestsPerSecond ?? null,
  }))
  await shipper.close()
  await emulator.close()`

describe('a logged event', () => {
  it.each([
    ['an old library', `Object.prototype.extend = function (other) { return Object.assign(this, other) }`],
    ['a `toJSON` that changes nothing', `Object.prototype.toJSON = function () { return this }`],
    [
      'an attacker',
      `Object.assign(Object.prototype, { inherited: 'inherited', dispatcher, tls: 'x', timeoutMs: 0, timeoutMillis: 0,
         body: Buffer.from('inherited'), bytesPerSecond: 1, afterMs: 60_000, thenReset: true, tolerance: 5,
         random: () => 7, leaseMs: 1, wrapped: 1, fallback: 1 })`,
    ],
  ])('arrives without members that %s added to Object.prototype', async (_, statement) => {
    const { stdout, stderr } = await runScript(`function pollute() { ${statement} }\n${shipAll}`)
    expect(stderr).toBe('')
    const seen = JSON.parse(stdout)
    expect(seen).toMatchObject({
      flushed: { complete: true, pending: 0 },
      calls: [],
      orgName: 'Emulated Organization',
      own: 24,
      limits: 980,
    })
    expect(seen.lines).toHaveLength(3)
    expect(seen.lines.map((line: string) => JSON.parse(line))).toMatchObject([
      { n: 1, nested: { list: [{ a: 1 }] } },
      { message: 'two', n: 2, nested: { a: 1 } },
      { message: 'three', attributes: { a: { b: 1 } } },
    ])
    expect(seen.lines.join()).not.toContain('inherited')
    expect(Object.keys(seen.answers)).toEqual(['200'])
  })

  it('is a JSON object, whatever a `toJSON` of Object.prototype makes of it', async () => {
    const { stdout, stderr } = await runScript(`
      import { createServer } from 'node:http'
      import { createShipper } from './dist/index.js'
      const lines = []
      const server = createServer((request, response) => {
        request.setEncoding('utf8').on('data', text => lines.push(...text.trim().split('\\n'))).on('end', () => response.end('{}'))
      })
      await new Promise(resolve => server.listen(0, '127.0.0.1', resolve))
      const baseUrl = 'http://127.0.0.1:' + server.address().port
      const shipper = createShipper({ baseUrl, token: 'secret-1', dataset: 'd', compression: 'none' })
      Object.defineProperty(Object.prototype, 'toJSON', { value: () => 'text', configurable: true })
      shipper.ship({ n: 1 })
      delete Object.prototype.toJSON
      shipper.ship({ n: 2 })
      await shipper.close()
      console.log(JSON.stringify(lines))
      server.close()`)
    expect(stderr).toBe('')
    expect(JSON.parse(stdout).map((line: string) => JSON.parse(line))).toMatchObject([{ message: 'text' }, { n: 2 }])
  })
})

/** Optional members of objects within this package, and options that it passes to Node. */
const optionalMembers = [
  'acknowledgement keepsText logged wasCut isUrgent preSerialized', // of an event
  'answer asAccepted cut doubt errorType retryAfterMs unanswered mayBeForEvents probeAfterMs hasTimedOut isTrial', // of an attempt
  'limit limitPerSecond remaining resetMs turn trial', // of a rate
  'isRepeated keepsAlive kept loss onReleased origins shipLast isWaiting isLoggedAtEnd', // of a flush or an end
  'isAtIntake isIntended isRefused settledAgain without isAccepted serviceReason', // of a loss
  'nowMs random rateLimiter openSpool onAdopted onRoom maxRejectedBytes reset toOneFrame encrypted deno certExpiresMs', // of parts
  'attributes code droppedAttributesCount errors', // of what is logged
  'HTTP_PROXY http_proxy bigint dictionary finishFlush limits maxOutputLength memLevel readOnly recursive exclusive', // of Node
]
  .join(' ')
  .split(' ')
/** Node itself, Winston and OpenTelemetry's SDK read these, so that an accessor must not throw. */
const readByOthers = new Set(
  'attributes code droppedAttributesCount errors bigint recursive limit trial reset kept'.split(' '),
)

describe('the way of an event', () => {
  it.each(['text', 'function', 'object', 'true', 'number', 'accessor'])(
    'obeys no member of Object.prototype: %s',
    async kind => {
      await using emulator = await startEmulator()
      emulator.faults.answerNext(1, { status: 503 })
      const directory = await mkdtemp(join(tmpdir(), 'logferry-polluted-'))
      const names = kind === 'accessor' ? optionalMembers.filter(name => !readByOthers.has(name)) : optionalMembers
      const { code, stdout, stderr } = await runScript(`
        import winston from 'winston'
        import { BatchLogRecordProcessor, LoggerProvider } from '@opentelemetry/sdk-logs'
        import { createShipper } from './dist/index.js'
        import { LogferryTransport } from './dist/winston.js'
        import { LogferryLogRecordExporter, LogferryLogRecordProcessor } from './dist/otel.js'

        const kind = ${JSON.stringify(kind)}
        const values = { text: 'polluted', function: () => 'polluted', object: { polluted: 1 }, true: true, number: 7 }
        for (const name of ${JSON.stringify(names)}) {
          const own = value => ({ value, writable: true, enumerable: true, configurable: true })
          Object.defineProperty(Object.prototype, name, kind === 'accessor' ? {
            get() { throw new Error('polluted ' + name) },
            set(value) { Object.defineProperty(this, name, own(value)) },
          } : { value: values[kind], writable: true, configurable: true })
        }
        const service = { baseUrl: ${JSON.stringify(emulator.url)}, token: ${JSON.stringify(emulator.token)}, dataset: 'd' }
        const kinds = {
          memory: { ...service, maxRetryDelayMs: 10 },
          disk: { ...service, durability: 'disk', spool: { directory: ${JSON.stringify(directory)} } },
        }
        for (const [kind, options] of Object.entries(kinds)) {
          const shipper = createShipper(options)
          const transport = new LogferryTransport({ shipper })
          const logger = winston.createLogger({ transports: [transport] })
          const processors = [
            new LogferryLogRecordProcessor({ shipper }),
            new BatchLogRecordProcessor({ exporter: new LogferryLogRecordExporter({ shipper }) }),
          ]
          const provider = new LoggerProvider({ processors })
          await shipper.shipAndConfirm({ id: kind + '-confirmed' })
          shipper.ship({ id: kind + '-shipped', level: 'error', error: new Error('e') })
          logger.info(kind + '-winston')
          provider.getLogger('l').emit({ body: kind + '-otel', attributes: {} })
          const { complete } = await shipper.flush()
          await provider.shutdown()
          await new Promise(resolve => { logger.on('finish', resolve).end() })
          await shipper.close()
          const { pending, dropped } = shipper.stats()
          if (!complete || pending > 0 || dropped > 0) console.log('not delivered', kind, pending, dropped)
        }
        createShipper(service).ship({ id: 'natural-end' })
        const atExit = createShipper({ ...service, compression: 'none' })
        process.on('beforeExit', () => { atExit.ship({ id: 'exit' }); process.exit() })`)
      await rm(directory, { recursive: true })
      const events = emulator.lines('d').map(line => JSON.parse(line) as Record<string, unknown>)
      const ids = events.map(({ id, message }) => id ?? message)
      const perKind = ['confirmed', 'shipped', 'winston', 'otel', 'otel'] // by the processor, and by the exporter
      const expected = ['memory', 'disk'].flatMap(one => perKind.map(name => `${one}-${name}`))
      expect({ code, stdout, stderr, ids: ids.sort() }).toEqual({
        code: 0,
        stdout: '',
        stderr: '',
        ids: [...expected, 'natural-end', 'exit'].sort(),
      })
      expect(JSON.stringify(events)).not.toContain('polluted')
    },
  )
})
