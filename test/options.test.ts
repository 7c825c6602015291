import { readFileSync } from 'node:fs'
import { inspect } from 'node:util'
import { Agent, interceptors, MockAgent, Pool, ProxyAgent } from 'undici'
import * as v from 'valibot'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import packageJson from '../package.json' with { type: 'json' }
import { ingestPath } from '../src/delivery/request.ts'
import { startEmulator } from '../src/emulator.ts'
import type { ResolvedTls } from '../src/http/verified-tls.ts'
import { createShipper, type Shipper, type TlsOptions } from '../src/index.ts'
import { withEnvironment } from '../src/options/environment.ts'
import { type Definitions, integer } from '../src/options/option.ts'
import { resolveOptions } from '../src/options/resolve.ts'
import type { ResolvedOptions } from '../src/options/resolved-options.ts'
import { type ShipperOptions, shipperOptions } from '../src/options/shipper-options.ts'
import { createOrgClient } from '../src/org.ts'
import { LogferryLogRecordExporter, LogferryLogRecordProcessor } from '../src/otel.ts'
import { LogferryTransport } from '../src/winston.ts'
import { runNode, runScript } from './support/run-script.ts'

const good = { baseUrl: 'https://logs.example', dataset: 'checkout', token: 'xaat-secret-0001' }
const secret = 'xaat-secret-0001'
const pem = `-----BEGIN CERTIFICATE-----\n${secret}`

/** As undici 6 makes it: its base class has this getter, and composes by a class of its own. */
const agentOfUndici6 = new (class Agent {
  dispatch() {
    return true
  }
  get interceptors() {
    return []
  }
  compose() {
    class ComposedDispatcher {
      dispatch = () => true
      compose() {
        return new ComposedDispatcher()
      }
    }
    return new ComposedDispatcher()
  }
})()

type Within = (value: unknown) => Record<string, unknown>

/** Every option and every option inside of another, with a function that puts a value in its place. */
function* optionsWithin(
  definitions: Definitions,
  outer: (own: Record<string, unknown>) => Record<string, unknown>,
  prefix = '',
): Generator<[name: string, definition: Definitions[string], within: Within]> {
  for (const [name, definition] of Object.entries(definitions)) {
    yield [`${prefix}${name}`, definition, value => outer({ [name]: value })]
    const needed = name === 'spool' ? { directory: 'd' } : {}
    const inner = (own: Record<string, unknown>) => outer({ [name]: { ...needed, ...own } })
    yield* optionsWithin(definition.options ?? {}, inner, `${prefix}${name}.`)
  }
}

/** The primitive types in the description of the values of an option. */
function typesIn(values: string): ReadonlySet<string> {
  const words: [type: string, pattern: RegExp][] = [
    ['string', /^(string|path|PEM|`')/],
    ['number', /^(at least|above|\d)/],
    ['function', /function/],
    ['boolean', /`true`/],
  ]
  return new Set(words.filter(([, pattern]) => pattern.test(values)).map(([type]) => type))
}

function refusal(options: unknown, environment = {}): Error & { code: string; option: string } {
  return thrownBy(() => resolveOptions(options as ShipperOptions, environment))
}

function thrownBy(make: () => unknown): Error & { code: string; option: string } {
  try {
    make()
  } catch (error) {
    return error as Error & { code: string; option: string }
  }
  throw new Error('accepted')
}

const neededNode = `${packageJson.engines.node.replace('>=', '')} or later`

describe.each(['20.20.2', '22.18.0'])('Node %s', version => {
  const real = process.versions.node
  const pretend = (value: string) => Object.defineProperty(process.versions, 'node', { value })
  beforeAll(() => pretend(version))
  afterAll(() => pretend(real))

  it.each([
    ['the shipper', () => createShipper(good)],
    ['the client of the organization', () => createOrgClient({ baseUrl: good.baseUrl, token: secret })],
    ['the emulator', () => startEmulator()],
  ])('is too old, and is refused when %s is made', async (_, make) => {
    await expect(async () => make()).rejects.toThrow(`logferry needs Node ${neededNode}; this is Node ${version} (`)
  })
})

it.each(['index', 'winston', 'otel'])(
  'Node 18, which lacks a function that %s calls while loading, causes a clear error',
  async name => {
    const old = `
    process.getBuiltinModule = undefined
    Object.defineProperty(process.versions, 'node', { value: '18.20.8' })`
    const preload = ['--import', `data:text/javascript,${encodeURIComponent(old)}`]
    const { stderr } = await runNode([...preload, '--input-type=module', '--eval', `import './dist/${name}.js'`])
    expect(stderr).toMatch(`Error: logferry needs Node ${neededNode}; this is Node 18.20.8 (`)
  },
)

it.each(['index', 'winston', 'otel', 'org', 'emulator'])(
  'an edge runtime, which has a part of the process of Node, causes a clear error when it loads %s',
  async name => {
    const edge = `
    process.getBuiltinModule = () => { throw new Error('not supported in the Edge Runtime') }
    Object.defineProperty(process, 'versions', { value: undefined })`
    const preload = ['--import', `data:text/javascript,${encodeURIComponent(edge)}`]
    const { stderr } = await runNode([...preload, '--input-type=module', '--eval', `import './dist/${name}.js'`])
    expect(stderr).toContain(`Error: logferry needs Node ${neededNode}; this runtime is not Node. Import logferry only`)
  },
)

it('an old Node can load the emulator, and gets a clear error', async () => {
  const module = (source: string) => `data:text/javascript,${encodeURIComponent(source)}`
  const withoutNames = module(`export default process.getBuiltinModule('zlib')`)
  const old = module(`
    import { registerHooks } from 'node:module'
    const url = ${JSON.stringify(withoutNames)}
    registerHooks({ resolve: (name, context, next) => name === 'node:zlib' ? { url, shortCircuit: true } : next(name, context) })
    Object.defineProperty(process.versions, 'node', { value: '20.20.2' })`)
  const source = `import { startEmulator } from './dist/emulator.js'
    await startEmulator().catch(error => console.log(error.message))`
  const { stdout, stderr } = await runNode(['--import', old, '--input-type=module', '--eval', source])
  expect(stdout + stderr).toMatch(`logferry needs Node ${neededNode}; this is Node 20.20.2 (`)
})

describe('an unknown option causes an error that suggests the most similar one', () => {
  it.each([
    ['another case', { baseURL: 'https://logs.example' }, 'baseUrl'],
    ['two letters swapped', { dataste: 'd' }, 'dataset'],
    ['a letter too many in a short name', { ttls: {} }, 'tls'],
    ['underscores', { flush_timeout_ms: 1 }, 'flushTimeoutMs'],
    ['the end of a name', { url: 'https://logs.example' }, 'baseUrl'],
    ['the beginning of a name', { spool: { dir: 'd' } }, 'spool.directory'],
    ['a longer name', { apiToken: secret }, 'token'],
    ['a digit, which hides the name itself', { token2: secret }, 'token'],
    ['a group', { spool: { directory: 'd', maxByte: 1 } }, 'spool.maxBytes'],
    ['a required option, which is missing therefore', { spool: { directry: 'd' } }, 'spool.directory'],
    ['a group in a group', { limits: { orgId: 'o', fleet: { reddis: {} } } }, 'limits.fleet.redis'],
    ['a name of other transports', { batchCount: 100 }, 'maxBatchEvents'],
    ['a name of the SDK of OpenTelemetry', { scheduledDelayMillis: 100 }, 'maxBatchAgeMs'],
    ['an option of Winston, which a shipper does not take', { level: 'info' }, 'minSeverity'],
    ['redact', { redact: { path: [] } }, 'redact.paths'],
    ['sample', { sample: { infos: 1 } }, 'sample.info'],
    ['sample in full', { sample: { rats: {} } }, 'sample.rates'],
  ])('%s', (_, options, similar) => {
    expect(refusal({ ...good, ...options }).message).toMatch(
      new RegExp(`: there is no option \`[^\`]+\`\\. Did you mean \`${similar}\`\\?$`),
    )
  })

  it.each([
    ['a name that resembles none', 'retries'],
    ['a short word that shares some letters with an option', 'port'],
    ['the beginning of several options', 'max'],
    ['a name of a megabyte', 'token'.repeat(200_000)],
  ])('but not for %s', (_, name) => {
    expect(refusal({ ...good, [name]: 1 }).message).toMatch(/: there is no option `[^`]+`\. Known options: /)
  })

  it.each([
    ['a transport', (shipper: never) => new LogferryTransport(shipper)],
    ['an exporter', (shipper: never) => new LogferryLogRecordExporter(shipper)],
    ['a processor', (shipper: never) => new LogferryLogRecordProcessor(shipper)],
  ])('a shipper that is given to %s in place of options is to be given by its name', (_, make) => {
    const shipper = createShipper(good) as never
    expect(thrownBy(() => make(shipper))).toMatchObject({
      code: 'LOGFERRY_INVALID_OPTION',
      message: 'logferry: option `shipper` must be given by its name: { shipper }; got the shipper itself',
    })
  })

  it('also of the options that a transport, an exporter or a method has itself', () => {
    const message = (similar: string) => expect.objectContaining({ message: expect.stringMatching(similar) })
    const shipper = createShipper(good)
    const make = (options: object) => new LogferryTransport(options as never)
    expect(() => make({ ...good, levle: 'warn' })).toThrow(message('Did you mean `level`\\?'))
    expect(() => make({ ...good, other: 1 })).toThrow(message('Known options: level, .*, shipper, baseUrl, '))
    expect(() => make({ shipper, handleException: true })).toThrow(message('Did you mean `handleExceptions`\\?'))
    expect(() => make({ ...good, shiper: shipper })).toThrow(message('Did you mean `shipper`\\?'))
    expect(() => new LogferryLogRecordExporter({ shipper, acknowlege: 'delivered' } as never)).toThrow(
      message('Did you mean `acknowledge`\\?'),
    )
    expect(() => shipper.setMinSeverity('warn', { formMs: 5 } as never)).toThrow(message('Did you mean `forMs`\\?'))
  })
})

describe.each([null, 'https://logs.example', 5, [], () => good])('%j in place of options', options => {
  it.each<[string, (options: never) => unknown]>([
    ['the shipper', createShipper],
    ['the transport', given => new LogferryTransport(given)],
    ['the exporter', given => new LogferryLogRecordExporter(given)],
    ['the processor', given => new LogferryLogRecordProcessor(given)],
    ['the client of the organization', createOrgClient],
  ])('is refused when %s is made', (_, make) => {
    const message = expect.stringMatching(/^logferry: argument `options` must be an object; got (null|an? .*)$/)
    const refused = { name: 'TypeError', code: 'LOGFERRY_INVALID_OPTION', option: 'options', message }
    expect(() => make(options as never)).toThrow(expect.objectContaining(refused))
  })
})

describe('options that are asked for, and not awaited', () => {
  beforeEach(() => {
    for (const [name, value] of Object.entries({ URL: good.baseUrl, TOKEN: good.token, DATASET: good.dataset }))
      vi.stubEnv(`LOGFERRY_${name}`, value)
  })
  afterEach(() => {
    vi.unstubAllEnvs()
  })

  it.each<[string, object, string]>([
    ['a promise', Promise.resolve({ redact: ['password'] }), 'a promise'],
    ['a Map', new Map([['redact', ['password']]]), 'a Map'],
    ['a URL', new URL(good.baseUrl), 'an object of a built-in class'],
  ])('are refused as %s, although the environment has all that is required', (_, options, got) => {
    const message = `logferry: argument \`options\` must be an object; got ${got}`
    expect(() => createShipper(options)).toThrow(message)
    expect(() => new LogferryTransport(options)).toThrow(message)
    expect(() => new LogferryLogRecordProcessor(options)).toThrow(message)
  })
})

describe('an error about an argument', () => {
  it.each<[string, (shipper: Shipper) => unknown]>([
    ['severity', shipper => shipper.setMinSeverity('INFO' as never)],
    ['options', shipper => shipper.setMinSeverity('info', null as never)],
    ['options', shipper => shipper.usage([] as never)],
  ])('calls %s an argument, not an option', (argument, call) => {
    const shipper = createShipper(good)
    const message = expect.stringContaining(`logferry: argument \`${argument}\` must be `)
    const refused = { code: 'LOGFERRY_INVALID_OPTION', option: argument, message }
    expect(() => call(shipper)).toThrow(expect.objectContaining(refused))
  })
})

describe('invalid options throw when the shipper is made', () => {
  it.each<[string, object | string | null, string, RegExp, 'TypeError' | 'RangeError']>([
    ['no options', 'https://logs.example', 'options', /an object; got a string of 20/, 'TypeError'],
    ['null', null, 'options', /an object; got null$/, 'TypeError'],
    ['a list', [good], 'options', /an object; got an array$/, 'TypeError'],
    ['null for an option', { ...good, region: null }, 'region', /'us' or 'eu'; got null$/, 'TypeError'],
    ['null for an option that a variable can fill in', { ...good, token: null }, 'token', /; got null$/, 'TypeError'],
    [
      'a limit of fields that is too low',
      { ...good, fields: { max: 19 } },
      'fields.max',
      /from 20 to 20000/,
      'RangeError',
    ],
    [
      'a list of fields that is a text',
      { ...good, fields: { asText: 'a.*' } },
      'fields.asText',
      /an array of/,
      'TypeError',
    ],
    [
      'a star inside a path',
      { ...good, fields: { asText: ['a.*.b'] } },
      'fields.asText[0]',
      /only at its end/,
      'RangeError',
    ],
    [
      'a Map for a group of options',
      { ...good, sample: new Map([['debug', 0.01]]) },
      'sample',
      /got a Map$/,
      'TypeError',
    ],
    ['a promise for a group of options', { ...good, hold: Promise.resolve({}) }, 'hold', /got a promise$/, 'TypeError'],
    [
      'too many paths',
      { ...good, fields: { asText: Array(101).fill('a') } },
      'fields.asText',
      /at most 100 .*; got 101 of them$/,
      'RangeError',
    ],
    ['an index in a path', { ...good, fields: { asText: ['a[0]'] } }, 'fields.asText[0]', /brackets/, 'RangeError'],
    ['a star alone', { ...good, fields: { asText: ['*'] } }, 'fields.asText[0]', /only at its end/, 'RangeError'],
    ['a list for a group of options', { ...good, fields: [] }, 'fields', /an object: .*; got an array$/, 'TypeError'],
    [
      'an overflow in place of the message',
      { ...good, fields: { overflowField: 'message' } },
      'fields.overflowField',
      /other than level, message, logferry, resource, scope/,
      'RangeError',
    ],
    [
      'an overflow in place of a resource',
      { ...good, fields: { overflowField: 'resource' } },
      'fields.overflowField',
      /other than level, message, logferry, resource, scope/,
      'RangeError',
    ],
    [
      'an overflow in place of the time',
      { ...good, timeField: 'at', fields: { overflowField: 'at' } },
      'fields.overflowField',
      /another name than timeField/,
      'RangeError',
    ],
    [
      'an overflow by default in place of the time',
      { ...good, timeField: 'overflow', fields: { max: 20 } },
      'fields.overflowField',
      /another name than timeField/,
      'RangeError',
    ],
    ...['trace_id', 'body', 'logferry.cut'].map((overflowField): [string, object, string, RegExp, 'RangeError'] => [
      `an overflow in place of ${overflowField}`,
      { ...good, fields: { overflowField } },
      'fields.overflowField',
      /none that begins with logferry\./,
      'RangeError',
    ]),
    [
      'a time in a group that becomes a text',
      { ...good, timeField: 'ts.at', fields: { asText: ['ts.*'] } },
      'timeField',
      /outside of the groups of fields\.asText/,
      'RangeError',
    ],
    [
      'two names for the overflow',
      { ...good, limits: { orgId: 'o', accessToken: 't', overflowField: 'a' }, fields: { overflowField: 'b' } },
      'limits.overflowField',
      /the same name as fields\.overflowField/,
      'RangeError',
    ],
    [
      'no name for the overflow',
      { ...good, fields: { overflowField: '' } },
      'fields.overflowField',
      /1 to 200/,
      'RangeError',
    ],
    [
      'fields of another name',
      { ...good, fields: { maximum: 5 } },
      'fields.maximum',
      /Did you mean `fields\.max`\?$/,
      'TypeError',
    ],
    ['a text for a flag', { ...good, countUsage: 'no' }, 'countUsage', /true or false/, 'TypeError'],
    ['reports too often', { ...good, reportUsageEveryMs: 999 }, 'reportUsageEveryMs', /from 1000 to/, 'RangeError'],
    [
      'reports of what is not counted',
      { ...good, reportUsageEveryMs: 1000, countUsage: false },
      'countUsage',
      /true with the option reportUsageEveryMs; got false/,
      'RangeError',
    ],
    [
      'no base address',
      { ...good, baseUrl: undefined },
      'baseUrl',
      /LOGFERRY_URL must be set; got nothing/,
      'TypeError',
    ],
    [
      'no dataset',
      { ...good, dataset: undefined },
      'dataset',
      /LOGFERRY_DATASET must be set; got nothing/,
      'TypeError',
    ],
    [
      'none of the three required options',
      {},
      'dataset',
      /`dataset` must be given \(or LOGFERRY_DATASET set\), and so must `token` and `baseUrl` \(or LOGFERRY_TOKEN and LOGFERRY_URL set\); got nothing/,
      'TypeError',
    ],
    [
      'a dataset alone',
      { dataset: 'app' },
      'token',
      /`token` must be given .*, and so must `baseUrl` \(or LOGFERRY_URL set\)/,
      'TypeError',
    ],
    ['no token', { ...good, token: undefined }, 'token', /LOGFERRY_TOKEN must be set; got nothing/, 'TypeError'],
    [
      'an unknown option',
      { ...good, maxChunkSize: 5 },
      'maxChunkSize',
      /there is no option `\w+`\. Known options: baseUrl, /,
      'TypeError',
    ],
    [
      'a number for the address',
      { ...good, baseUrl: 5 },
      'baseUrl',
      /an address, or \{ us, eu \}.*; got a number/,
      'TypeError',
    ],
    ['a relative address', { ...good, baseUrl: '/v1' }, 'baseUrl', /absolute http\(s\) address/, 'RangeError'],
    [
      'a host without a scheme',
      { ...good, baseUrl: 'localhost:4800' },
      'baseUrl',
      /in front, or http:\/\//,
      'RangeError',
    ],
    ['the same, far away', { ...good, baseUrl: 'logs.example' }, 'baseUrl', /Put https:\/\/ in front/, 'RangeError'],
    [
      'quotes, as docker run --env-file leaves them',
      { ...good, baseUrl: '"https://logs.example"' },
      'baseUrl',
      /got one with quotes around it/,
      'RangeError',
    ],
    ['an ftp address', { ...good, baseUrl: 'ftp://logs.example' }, 'baseUrl', /got the scheme ftp:/, 'RangeError'],
    [
      'plain http to a far host',
      { ...good, baseUrl: 'http://logs.example' },
      'baseUrl',
      /http: to logs.example/,
      'RangeError',
    ],
    ['plain http to a private host', { ...good, baseUrl: 'http://10.0.0.1' }, 'baseUrl', /allowInsecure/, 'RangeError'],
    [
      'the address of a request',
      { ...good, baseUrl: 'https://logs.example/v1/datasets/d/ingest' },
      'baseUrl',
      /without the path of a request, because logferry appends/,
      'RangeError',
    ],
    [
      'a token with its scheme',
      { ...good, token: 'Bearer abc' },
      'token',
      /without spaces.* or "Bearer"/,
      'RangeError',
    ],
    ['a token in quotes, as of an .env file', { ...good, token: '"abc"' }, 'token', /quotes around it/, 'RangeError'],
    ['a dataset in quotes', { ...good, dataset: '"app"' }, 'dataset', /no quotes around it/, 'RangeError'],
    ['an id in quotes', { ...good, orgId: "'acme'" }, 'orgId', /quotes around it/, 'RangeError'],
    ['a query', { ...good, baseUrl: 'https://logs.example/?a=1' }, 'baseUrl', /without a query/, 'RangeError'],
    [
      'regions without region',
      { ...good, baseUrl: { us: 'https://u.example', eu: 'https://e.example' } },
      'region',
      /got nothing/,
      'TypeError',
    ],
    [
      'a region too few',
      { ...good, region: 'eu', baseUrl: { us: 'https://u.example' } },
      'baseUrl',
      /\{ us, eu \}/,
      'TypeError',
    ],
    [
      'a malformed region address',
      { ...good, region: 'eu', baseUrl: { us: 'https://u.example', eu: 'x' } },
      'baseUrl.eu',
      /absolute/,
      'RangeError',
    ],
    [
      'no meter provider',
      { ...good, meterProvider: { createCounter() {} } },
      'meterProvider',
      /a MeterProvider of @opentelemetry\/api \(an object with a getMeter method\); got an object$/,
      'TypeError',
    ],
    [
      'a meter provider of null',
      { ...good, meterProvider: null },
      'meterProvider',
      /getMeter.*; got null$/,
      'TypeError',
    ],
    ['a word to identify', { ...good, identify: 'yes' }, 'identify', /true or false; got "yes"$/, 'TypeError'],
    ['an unknown region', { ...good, region: 'mars' }, 'region', /'us' or 'eu'; got "mars"/, 'RangeError'],
    ['an empty dataset', { ...good, dataset: '' }, 'dataset', /got an empty string/, 'RangeError'],
    [
      'a dataset of too many characters',
      { ...good, dataset: 'd'.repeat(1025) },
      'dataset',
      /1 to 1024 characters.*got a string of 1025/,
      'RangeError',
    ],
    ['a dataset of two dots', { ...good, dataset: '..' }, 'dataset', /not "\." or "\.\."/, 'RangeError'],
    [
      'both tokens',
      { ...good, personalAccessToken: 'p', orgId: 'o' },
      'personalAccessToken',
      /one of the two\); got both/,
      'TypeError',
    ],
    [
      'a personal token alone',
      { ...good, token: undefined, personalAccessToken: 'p' },
      'orgId',
      /got nothing/,
      'TypeError',
    ],
    [
      'a header name with a space',
      { ...good, orgIdHeader: 'x y' },
      'orgIdHeader',
      /name of an HTTP header/,
      'RangeError',
    ],
    ['an object that is not a dispatcher', { ...good, dispatcher: {} }, 'dispatcher', /undici Dispatcher/, 'TypeError'],
    ['an Agent of undici 6', { ...good, dispatcher: agentOfUndici6 }, 'dispatcher', /undici 7 or later/, 'RangeError'],
    [
      'an Agent of undici 6 with interceptors',
      { ...good, dispatcher: agentOfUndici6.compose() },
      'dispatcher',
      /undici 7 or later/,
      'RangeError',
    ],
    [
      'the path of a certificate',
      { ...good, tls: { ca: '/etc/ca.pem' } },
      'tls.ca',
      /PEM.*got a string of 11/,
      'RangeError',
    ],
    ['no certificate', { ...good, tls: { ca: [] } }, 'tls.ca', /PEM/, 'RangeError'],
    ['PEM in place of an object', { ...good, tls: pem }, 'tls', /\{ ca, cert, key \}; got a string of/, 'TypeError'],
    [
      'a certificate without key',
      { ...good, tls: { cert: pem } },
      'tls',
      /or with neither; got one with cert only/,
      'RangeError',
    ],
    [
      'an unknown option of TLS',
      { ...good, tls: { rejectUnauthorized: false } },
      'tls.rejectUnauthorized',
      /Known options: tls\.ca, tls\.cert, tls\.key$/,
      'TypeError',
    ],
    [
      'a format unknown',
      { ...good, contentType: 'xml' },
      'contentType',
      /'application\/json'; got "xml"/,
      'RangeError',
    ],
    ['a compression unknown', { ...good, compression: true }, 'compression', /got true/, 'TypeError'],
    [
      'a severity unknown',
      { ...good, minSeverity: 'loud' },
      'minSeverity',
      /'trace', .* or 'fatal'; got "loud"/,
      'RangeError',
    ],
    ['no function of context', { ...good, context: { id: 1 } }, 'context', /a function .*; got an object/, 'TypeError'],
    [
      'no function of transform',
      { ...good, transform: secret },
      'transform',
      /function of the event; got a str/,
      'TypeError',
    ],
    ['a rate in place of rates', { ...good, sample: 0.5 }, 'sample', /\{ debug: 0\.1, … \}.*; got 0\.5/, 'TypeError'],
    ['a list of rates', { ...good, sample: [1] }, 'sample', /an object.*; got an array/, 'TypeError'],
    [
      'a rate above 1',
      { ...good, sample: { debug: 10 } },
      'sample.debug',
      /a number from 0 to 1; got 10/,
      'RangeError',
    ],
    ['a rate below 0', { ...good, sample: { rates: { info: -1 } } }, 'sample.rates.info', /got -1/, 'RangeError'],
    ['a rate that is no number', { ...good, sample: { info: '1' } }, 'sample.info', /got a string of 1/, 'TypeError'],
    ['NaN for a rate', { ...good, sample: { info: Number.NaN } }, 'sample.info', /got NaN/, 'RangeError'],
    [
      'a rate for an unknown severity',
      { ...good, sample: { verbose: 0.1 } },
      'sample.verbose',
      /Known options: sample\.trace, sample\.debug, /,
      'TypeError',
    ],
    [
      'an unknown unit',
      { ...good, sample: { rates: {}, by: 'span' } },
      'sample.by',
      /'trace'; got "span"/,
      'RangeError',
    ],
    ['a unit without rates', { ...good, sample: { by: 'trace' } }, 'sample.rates', /got nothing/, 'TypeError'],
    ['rates that are none', { ...good, sample: { rates: 0.5 } }, 'sample.rates', /got a number/, 'TypeError'],
    [
      'rates beside `rates`',
      { ...good, sample: { rates: {}, debug: 0.1 } },
      'sample.debug',
      /Known options: sample\.rates, sample\.by$/,
      'TypeError',
    ],
    ['an empty time field', { ...good, timeField: '' }, 'timeField', /1 to 200 characters, .*; got ""/, 'RangeError'],
    ['a time field for the level', { ...good, timeField: 'level' }, 'timeField', /other than level,/, 'RangeError'],
    [
      'a time field for a field of logferry',
      { ...good, timeField: 'logferry.cut' },
      'timeField',
      /none that begins with logferry\.; got/,
      'RangeError',
    ],
    ['a time field for attributes', { ...good, timeField: 'attributes' }, 'timeField', /, attributes,/, 'RangeError'],
    [
      'a text for a number',
      { ...good, maxBatchAgeMs: '1000' },
      'maxBatchAgeMs',
      /an integer from 1 to 60000 \(milliseconds\); got "1000"/,
      'TypeError',
    ],
    ['a fraction', { ...good, maxBatchAgeMs: 1.5 }, 'maxBatchAgeMs', /got 1.5/, 'RangeError'],
    ['NaN', { ...good, maxBatchEvents: Number.NaN }, 'maxBatchEvents', /got NaN/, 'RangeError'],
    ['too little', { ...good, maxBatchAgeMs: 0 }, 'maxBatchAgeMs', /got 0/, 'RangeError'],
    ['too much', { ...good, maxBatchBytes: 2 ** 30 }, 'maxBatchBytes', /got 1073741824/, 'RangeError'],
    [
      'an event larger than a batch',
      { ...good, maxBatchBytes: 2048, maxEventBytes: 4096 },
      'maxEventBytes',
      /at most maxBatchBytes \(2048\)/,
      'RangeError',
    ],
    [
      'too little memory',
      { ...good, maxBufferedBytes: 65_536 },
      'maxBufferedBytes',
      /at least 8 × maxBatchBytes/,
      'RangeError',
    ],
    ['no connection', { ...good, maxConcurrentRequests: 0 }, 'maxConcurrentRequests', /got 0/, 'RangeError'],
    ['no time', { ...good, requestTimeoutMs: 10 }, 'requestTimeoutMs', /got 10/, 'RangeError'],
    ['a wait too short', { ...good, maxRetryDelayMs: 1 }, 'maxRetryDelayMs', /got 1/, 'RangeError'],
    ['a negative time', { ...good, flushTimeoutMs: -1 }, 'flushTimeoutMs', /got -1/, 'RangeError'],
    [
      'an endless exit',
      { ...good, exitTimeoutMs: Number.POSITIVE_INFINITY },
      'exitTimeoutMs',
      /got Infinity/,
      'RangeError',
    ],
    [
      'a path in place of an object',
      { ...good, spool: '/var/spool' },
      'spool',
      /\{ directory, maxBytes \}/,
      'TypeError',
    ],
    [
      'a spool nowhere',
      { ...good, spool: {} },
      'spool.directory',
      /must be the path of a directory \(.*\); got nothing$/,
      'TypeError',
    ],
    ['a spool in an empty path', { ...good, spool: { directory: '' } }, 'spool.directory', /not empty/, 'RangeError'],
    ['a spool in a NUL', { ...good, spool: { directory: 'a\0b' } }, 'spool.directory', /no NUL/, 'RangeError'],
    [
      'a spool too small',
      { ...good, spool: { directory: 'd', maxBytes: 65_535 } },
      'spool.maxBytes',
      /an integer from 65536 .*got 65535/,
      'RangeError',
    ],
    [
      'an endless spool',
      { ...good, spool: { directory: 'd', maxBytes: Number.POSITIVE_INFINITY } },
      'spool.maxBytes',
      /got Infinity/,
      'RangeError',
    ],
    [
      'an unknown option of the spool',
      { ...good, spool: { directory: 'd', path: 'd' } },
      'spool.path',
      /Known options: spool\.directory, spool\.maxBytes$/,
      'TypeError',
    ],
    [
      'an unknown option of the limits',
      { ...good, limits: { accesToken: secret } },
      'limits.accesToken',
      /Did you mean `limits\.accessToken`\?$/,
      'TypeError',
    ],
    [
      'a fleet without Redis',
      { ...good, limits: { orgId: 'o', fleet: {} } },
      'limits.fleet.redis',
      /must be a client of ioredis or redis; got nothing$/,
      'TypeError',
    ],
    [
      'an unknown option with the name of a method',
      { ...good, spool: { directory: 'd', constructor: 1 } },
      'spool.constructor',
      /there is no option `[^`]+`\. Known options: /,
      'TypeError',
    ],
    [
      'durability without a spool',
      { ...good, durability: 'disk' },
      'durability',
      /without the option spool/,
      'RangeError',
    ],
    [
      'a durability unknown',
      { ...good, spool: { directory: 'd' }, durability: 'tape' },
      'durability',
      /'memory' or 'disk'; got "tape"/,
      'RangeError',
    ],
    ['a path for a callback', { ...good, onRejected: 'rejected.log' }, 'onRejected', /a function; got/, 'TypeError'],
    ['a text for a flag', { ...good, allowInsecure: 'yes' }, 'allowInsecure', /true or false; got "yes"/, 'TypeError'],
  ])('%s', (_, options, option, message, type) => {
    const error = refusal(options)
    expect(error.message).toMatch(message)
    expect(error.message).toContain(`\`${option}\``)
    expect([error.name, error.code, error.option]).toEqual([type, 'LOGFERRY_INVALID_OPTION', option])
    expect(inspect(error)).not.toContain(secret)
  })

  it.each([...optionsWithin(shipperOptions, value => value)])(
    '%s: a wrong type is a TypeError, and any other wrong value a RangeError',
    (name, { values }, within) => {
      const rightTypes = typesIn(values)
      const given = ['', 'a\0', 'x'.repeat(2000), -1, 0.001, Number.NaN, true, 7n, Symbol('s'), () => {}]
      const kinds = given.map(value => {
        const context = { ...good, orgId: 'o', spool: { directory: 'd' }, limits: {}, hold: {} }
        if (name === 'personalAccessToken') Object.assign(context, { token: undefined })
        try {
          resolveOptions({ ...context, ...within(value) } as ShipperOptions, {})
          return 'accepted'
        } catch (error) {
          const isOf = (error as { option?: string }).option === name
          const right = rightTypes.has(typeof value) ? 'RangeError' : 'TypeError'
          return isOf && (error as Error).name !== right ? `${String(value)}: ${error}` : 'as it should be'
        }
      })
      expect(kinds.filter(kind => kind !== 'accepted' && kind !== 'as it should be')).toEqual([])
      expect(kinds).toContain('as it should be')
    },
  )

  const hostile = ['secret\r\nX-Evil: 1', 'secret\n', 'secret\0', 'sec ret', 'secrét', ' secret', 'secret\u2028']
  const secretOptions = ['token', 'personalAccessToken', 'orgId'] as const
  it.each(secretOptions.flatMap(option => hostile.map(value => [option, value] as const)))(
    '%s %j is refused, and not shown',
    (option, value) => {
      const error = refusal({
        ...good,
        ...(option === 'token' ? {} : { token: undefined }),
        orgId: 'org',
        [option]: value,
      })
      expect(error.option).toBe(option)
      expect(inspect(error)).not.toMatch(/secr|évil|Evil/)
    },
  )

  it.each(['a\nb', 'a\0', '\ud800', '.', '..', 'x'.repeat(2000)])('dataset %j is refused', dataset => {
    expect(refusal({ ...good, dataset }).option).toBe('dataset')
  })

  const takenHeaders = [
    ...['accept', 'Authorization', 'connection', 'CONTENT-ENCODING', 'content-length', 'Content-Type', 'cookie'],
    ...['expect', 'Host', 'keep-alive', 'proxy-authorization', 'te', 'Transfer-Encoding', 'upgrade', 'user-agent'],
  ]
  it.each(takenHeaders)(
    '%s cannot carry the id of the organization, because requests use it otherwise',
    orgIdHeader => {
      const error = refusal({ ...good, token: undefined, personalAccessToken: 'p', orgId: 'o', orgIdHeader })
      expect([error.name, error.option]).toEqual(['RangeError', 'orgIdHeader'])
      expect(error.message).toMatch(/an HTTP header that requests do not use otherwise, unlike authorization/)
    },
  )

  it('an address with a password is refused, and not shown', () => {
    const error = refusal({ ...good, baseUrl: 'https://me:hunter2@logs.example' })
    expect(inspect(error)).not.toContain('hunter2')
    expect(error.message).toContain('without a user name and password')
  })
})

describe('a secret in the place of another option is not shown', () => {
  const limits = { orgId: 'o', accessToken: secret }
  it.each<[string, object]>([
    ['fleet.redis', { limits: { ...limits, fleet: { redis: `redis://:${secret}@redis.example:6379` } } }],
    ['fleet', { limits: { ...limits, fleet: secret } }],
    ['dispatcher', { dispatcher: `http://user:${secret}@proxy.example:3128` }],
    ['limits', { limits: secret }],
    ['a number in limits', { limits: { ...limits, share: secret } }],
    ['a list in limits', { limits: [secret] }],
    ['onBudget', { limits: { ...limits, onBudget: secret } }],
    ['overflowField', { limits: { ...limits, overflowField: secret.repeat(20) } }],
    ['region', { region: secret }],
    ['compression', { compression: secret }],
    ['contentType', { contentType: secret }],
    ['durability', { durability: secret }],
    ['spool', { spool: secret }],
    ['the directory of the spool', { spool: { directory: `${secret}\0` } }],
    ['the size of the spool', { spool: { directory: 'd', maxBytes: secret } }],
    ['onRejected', { onRejected: secret }],
    ['allowInsecure', { allowInsecure: secret }],
    ['a number', { maxBatchAgeMs: secret }],
    ['timeField', { timeField: secret.repeat(20) }],
    ['orgIdHeader', { orgIdHeader: `${secret} ` }],
    ['the scheme of the address', { baseUrl: `${secret}:443` }],
    ['the host of the address', { baseUrl: `http://${secret}` }],
    ['the address of a region', { baseUrl: { us: secret, eu: 5 } }],
    ['the name of an option', { [secret]: true }],
    ['the name of an option of limits', { limits: { ...limits, [secret]: true } }],
    ['a token that is a number', { token: 1234567890 }],
  ])('%s', (_, options) => {
    const environment = { LOGFERRY_REGION: '' }
    for (const make of [
      () => resolveOptions({ ...good, ...options } as ShipperOptions, environment),
      () => new LogferryTransport({ ...good, ...options } as never),
      () => new LogferryLogRecordExporter({ ...good, ...options } as never),
    ]) {
      const error = thrownBy(make)
      expect(error.code).toBe('LOGFERRY_INVALID_OPTION')
      expect(inspect(error, { showHidden: true })).not.toMatch(/secret|1234567890/)
    }
  })

  it('in options of an exporter, a listener and the end of the process', async () => {
    const shipper = createShipper(good)
    expect(inspect(thrownBy(() => shipper.on(secret as 'warning', () => {})))).not.toContain(secret)
    expect(inspect(await shipper.flush({ timeoutMs: secret as never }).catch(error => error))).not.toContain(secret)
    const acknowledge = secret as never
    expect(inspect(thrownBy(() => new LogferryLogRecordExporter({ ...good, acknowledge })))).not.toContain(secret)
    expect(inspect(thrownBy(() => new LogferryTransport({ shipper, [secret]: 1 } as never)))).not.toContain(secret)
  })
})

describe('the option proxyEnv', () => {
  const url = `http://user:${secret}@proxy.example:3128`
  const resolved = (options: ShipperOptions, environment: Record<string, string> = {}) =>
    resolveOptions({ ...good, ...options }, environment).proxy
  const used = { https_proxy: url, no_proxy: 'a,b' }

  it.each<[string, ShipperOptions, Record<string, string>]>([
    ['as an object', { proxyEnv: { HTTPS_PROXY: url, HTTP_PROXY: 'http://other', NO_PROXY: 'a,b' } }, {}],
    ['in lower case first', { proxyEnv: { https_proxy: url, HTTPS_PROXY: 'http://other', no_proxy: 'a,b' } }, {}],
    ['as an environment', { proxyEnv: { ...process.env, HTTPS_PROXY: url, NO_PROXY: 'a,b' } }, {}],
    ['from the environment', {}, { NODE_USE_ENV_PROXY: '1', HTTPS_PROXY: url, NO_PROXY: 'a,b' }],
  ])('is read %s', (_, options, environment) => {
    expect(resolved(options, environment).env).toEqual(used)
  })

  it.each<[string, ShipperOptions, Record<string, string>]>([
    ['the environment, which Node does not use', {}, { HTTPS_PROXY: url }],
    ['an empty object', { proxyEnv: {} }, { NODE_USE_ENV_PROXY: '1', HTTPS_PROXY: url }],
    ['one for another scheme', { proxyEnv: { HTTP_PROXY: url } }, {}],
    ['one that Node does not know, of the environment', {}, { NODE_USE_ENV_PROXY: '1', HTTPS_PROXY: 'socks5://proxy' }],
    ['one for this machine', { baseUrl: 'http://127.0.0.1:4800', proxyEnv: { HTTP_PROXY: url } }, {}],
    ['what it inherits', { proxyEnv: Object.create({ HTTPS_PROXY: url }) }, {}],
  ])('does not use %s', (_, options, environment) => {
    expect(resolved(options, environment).env).toEqual({})
  })

  it.each<[string, unknown, string]>([
    ['a text', url, 'proxyEnv'],
    ['a list', [url], 'proxyEnv'],
    ['a Map', new Map([['HTTPS_PROXY', url]]), 'proxyEnv'],
    ['a promise', Promise.resolve({ HTTPS_PROXY: url }), 'proxyEnv'],
    ['a number for an address', { HTTPS_PROXY: 5 }, 'proxyEnv.HTTPS_PROXY'],
    ['an address without a scheme', { HTTPS_PROXY: `user:${secret}@proxy:3128` }, 'proxyEnv.HTTPS_PROXY'],
    ['another kind of proxy', { https_proxy: `socks5://user:${secret}@proxy` }, 'proxyEnv.https_proxy'],
    ['a broken escape', { HTTPS_PROXY: `http://user:%zz${secret}@proxy` }, 'proxyEnv.HTTPS_PROXY'],
    ['a line break', { HTTPS_PROXY: `${url}\r\nx: y` }, 'proxyEnv.HTTPS_PROXY'],
  ])('refuses %s, and does not show it', (_, proxyEnv, option) => {
    const error = thrownBy(() => createShipper({ ...good, proxyEnv: proxyEnv as never }))
    expect(error).toMatchObject({ code: 'LOGFERRY_INVALID_OPTION', option })
    expect(inspect(error)).not.toContain(secret)
  })

  it('throws on a Node without proxy support, and names the versions with it', () => {
    const { allowedNodeEnvironmentFlags } = process
    Object.defineProperty(process, 'allowedNodeEnvironmentFlags', { value: new Set() })
    const error = thrownBy(() => createShipper({ ...good, proxyEnv: { HTTPS_PROXY: url } }))
    expect(error.message).toContain('it needs Node 22.21 or later, or 24.5 or later; got Node ')
    expect(resolved({}, { NODE_USE_ENV_PROXY: '1', HTTPS_PROXY: url })).toMatchObject({
      env: {},
      unused: 'HTTPS_PROXY',
    })
    Object.defineProperty(process, 'allowedNodeEnvironmentFlags', { value: allowedNodeEnvironmentFlags })
  })

  it('redacts the credentials of the proxy, however short they are', () => {
    const { credentials } = resolved({ proxyEnv: { HTTPS_PROXY: 'http://u:pw@proxy.example' } })
    expect(credentials?.redact('via http://u:pw@proxy.example: 407', 'message')).toBe('via http://proxy.example: 407')
  })

  it('shows the credentials of the proxy nowhere in the shipper', () => {
    expect(
      inspect(createShipper({ ...good, proxyEnv: { HTTPS_PROXY: url } }), { depth: 9, showHidden: true }),
    ).not.toContain(secret)
  })
})

describe('the option tls', () => {
  const file = (name: string) => readFileSync(new URL(name, import.meta.url), 'utf8')
  const [cert, key] = [file('emulator/tls/cert.pem'), file('emulator/tls/key.pem')]
  const [otherCert, otherKey] = [file('support/tls/wrong-host.cert.pem'), file('support/tls/wrong-host.key.pem')]
  const garbage = `-----BEGIN CERTIFICATE-----\n${secret}\n-----END CERTIFICATE-----\n`

  it.each<[string, TlsOptions]>([
    ['one authority', { ca: cert }],
    ['several in one text, with comments', { ca: `# one\n${cert}# two\r\n${otherCert.replaceAll('\n', '\r\n')}` }],
    ['several texts', { ca: [cert, Buffer.from(otherCert)] }],
    ['a key pair', { cert, key }],
    ['a key pair in one text', { cert: key + cert, key: key + cert }],
    ['a chain', { cert: cert + otherCert, key }],
  ])('takes %s', (_, tls) => {
    const { certExpiresMs, ...texts } = resolveOptions({ ...good, tls }, {}).tls as ResolvedTls
    expect(certExpiresMs === undefined).toBe(!('cert' in tls))
    expect(texts).toEqual(
      Object.fromEntries(Object.entries(tls).map(([name, pem]) => [name, [pem].flat().map(String)])),
    )
  })

  const certificates = 'must be certificates in PEM'
  it.each<[string, TlsOptions, string, string]>([
    ['a key for an authority', { ca: key }, 'tls.ca', certificates],
    ['garbage for an authority', { ca: garbage }, 'tls.ca', certificates],
    ['garbage after an authority', { ca: cert + garbage }, 'tls.ca', certificates],
    ['garbage beside an authority', { ca: [cert, garbage] }, 'tls.ca', certificates],
    ['an authority cut short', { ca: cert.slice(0, 200) }, 'tls.ca', certificates],
    ['a second one cut short', { ca: otherCert + cert.slice(0, 200) }, 'tls.ca', certificates],
    ['certificate and key swapped', { cert: key, key: cert }, 'tls.cert', certificates],
    ['garbage for a certificate', { cert: garbage, key }, 'tls.cert', certificates],
    ['a certificate for a key', { cert, key: cert }, 'tls.key', 'must be a private key in PEM'],
    [
      'garbage for a key',
      { cert, key: garbage.replaceAll('CERTIFICATE', 'PRIVATE KEY') },
      'tls.key',
      'must be a private',
    ],
    ['a key cut short', { cert, key: key.slice(0, 100) }, 'tls.key', 'must be a private key in PEM'],
    ['the key of another certificate', { cert, key: otherKey }, 'tls.key', 'must be the private key of `tls.cert`'],
  ])('refuses %s, and shows none of it', (_, tls, option, message) => {
    const { baseUrl, token } = good
    for (const make of [() => createShipper({ ...good, tls }), () => createOrgClient({ baseUrl, token, tls })]) {
      const error = thrownBy(make)
      expect(error).toMatchObject({ name: 'RangeError', code: 'LOGFERRY_INVALID_OPTION', option })
      expect(error.message).toContain(message)
      expect(inspect(error, { showHidden: true })).not.toMatch(/xaat|secret|MII|MIG/)
    }
  })

  it('loads neither TLS nor cryptography if it is not set', async () => {
    const source = `
      import { createShipper } from './dist/index.js'
      createShipper(${JSON.stringify({ ...good, baseUrl: 'http://127.0.0.1:1', rateDirectory: false })})
      console.log(process.moduleLoadList.filter(name => /^NativeModule (tls|crypto|internal.tls.*)$/.test(name)).join())`
    expect(await runScript(source)).toMatchObject({ stdout: '\n', stderr: '' })
  })
})

describe('options', () => {
  it('accept every kind of dispatcher of undici 7 and later', () => {
    const agent = new Agent()
    const composed = agent.compose(interceptors.retry()).compose(interceptors.dump())
    for (const dispatcher of [agent, composed, new Pool('http://a'), new MockAgent(), new ProxyAgent('http://a')]) {
      expect(resolveOptions({ ...good, dispatcher }, {}).dispatcher).toBe(dispatcher)
    }
  })

  it('have defaults', () => {
    const { baseUrl, credentials, maxBufferedBytes, ...rest } = resolveOptions(good, {})
    expect(baseUrl.href).toBe('https://logs.example/')
    expect(credentials.headers()).toEqual({ authorization: `Bearer ${secret}` })
    expect(maxBufferedBytes).toBeGreaterThanOrEqual(32 * 2 ** 20)
    expect(maxBufferedBytes).toBeLessThanOrEqual(512 * 2 ** 20)
    expect(rest).toEqual({
      region: undefined,
      limits: undefined,
      rates: { directory: undefined, destination: 'https://logs.example/', isOfOrganization: false },
      redact: undefined,
      dataset: 'checkout',
      dispatcher: undefined,
      spool: undefined,
      durability: 'memory',
      shaping: { minSeverity: 'trace', context: undefined, transform: undefined, sample: undefined },
      onRejected: undefined,
      tls: undefined,
      proxy: { env: {}, credentials: undefined, unused: undefined, ofOtherScheme: undefined },
      contentType: 'application/x-ndjson',
      compression: 'zstd',
      timeField: '_time',
      maxBatchAgeMs: 1000,
      maxBatchBytes: 1_048_576,
      maxUnlimitedBatchBytes: 4_194_304,
      maxBatchEvents: 10_000,
      maxEventBytes: 1_000_000,
      maxConcurrentRequests: 4,
      requestTimeoutMs: 30_000,
      maxRetryDelayMs: 30_000,
      flushTimeoutMs: 10_000,
      exitTimeoutMs: 2000,
      meterProvider: undefined,
      identify: false,
      exitOnSignals: true,
      collapse: undefined,
      hold: undefined,
      fields: undefined,
      countUsage: true,
      reportUsageEveryMs: undefined,
    } satisfies Omit<ResolvedOptions, 'baseUrl' | 'credentials' | 'maxBufferedBytes'>)
  })

  const environment = {
    LOGFERRY_URL: 'https://env.example/edge',
    LOGFERRY_TOKEN: 'env-token',
    LOGFERRY_DATASET: 'env-dataset',
    LOGFERRY_ORG_ID: 'env-org',
    LOGFERRY_REGION: 'eu',
  }

  it('batches do not grow beyond a configured size', () => {
    expect(resolveOptions({ ...good, maxBatchBytes: 1_048_576 }, {}).maxUnlimitedBatchBytes).toBe(1_048_576)
  })

  it('that are not set come from the environment', () => {
    const options = resolveOptions(undefined, environment)
    expect(options.baseUrl.href).toBe('https://env.example/edge')
    expect([options.dataset, options.region]).toEqual(['env-dataset', 'eu'])
    expect(options.credentials.headers()).toEqual({ authorization: 'Bearer env-token' })
  })

  it('that are integers can come from the environment, too, and are checked like others', () => {
    const range = { min: 0, max: 100, unit: 'events', default: 10, summary: '' } as const
    const definitions = { count: integer({ ...range, env: 'COUNT' }) }
    const { check } = definitions.count
    const valueFrom = (COUNT: string | undefined) => withEnvironment(definitions, {}, { COUNT }).count
    expect([valueFrom('20'), valueFrom('0'), valueFrom(''), valueFrom(undefined)]).toEqual([
      20,
      0,
      undefined,
      undefined,
    ])
    expect(withEnvironment(definitions, { count: 0 }, { COUNT: '20' })).toEqual({ count: 0 })
    const refused = ['2e1', '0x10', '-1', ' 7', '1.5', '101', 'Infinity'].map(text =>
      v.safeParse(check, valueFrom(text)),
    )
    expect(refused.map(({ success }) => success)).not.toContain(true)
  })

  it.each([
    ['LOGFERRY_URL', 'localhost:4800', 'baseUrl', 'RangeError'],
    ['LOGFERRY_TOKEN', `${secret} `, 'token', 'RangeError'],
    ['LOGFERRY_DATASET', '..', 'dataset', 'RangeError'],
    ['LOGFERRY_REGION', 'EU', 'region', 'RangeError'],
    ['LOGFERRY_ORG_ID', 'my org', 'orgId', 'RangeError'],
  ])(
    'that come from the environment are refused with the name of the variable, such as %s',
    (variable, text, option, name) => {
      const error = thrownBy(() => resolveOptions(undefined, { ...environment, [variable]: text }))
      expect(error).toMatchObject({ name, code: 'LOGFERRY_INVALID_OPTION', option })
      expect(error.message).toContain(`option \`${option}\` (from ${variable}) must be `)
      expect(inspect(error)).not.toContain(secret)
      const ownError = thrownBy(() => resolveOptions({ [option]: text }, { ...environment, [variable]: text }))
      expect(ownError.message).toContain(`option \`${option}\` must be `)
    },
  )

  it('that are set take precedence over the environment', () => {
    const options = resolveOptions({ ...good, region: 'us' }, environment)
    expect([options.baseUrl.host, options.dataset, options.region]).toEqual(['logs.example', 'checkout', 'us'])
    expect(options.credentials.headers()).toEqual({ authorization: `Bearer ${secret}` })
  })

  it('a personal access token takes precedence over a token of the environment, with the organization of the environment', () => {
    const options = resolveOptions({ personalAccessToken: 'pat' }, environment)
    expect(options.credentials.headers()).toEqual({ authorization: 'Bearer pat', 'x-service-org-id': 'env-org' })
  })

  it('the header for the organization can be renamed', () => {
    const options = resolveOptions(
      { ...good, token: undefined, personalAccessToken: 'pat', orgId: 'o', orgIdHeader: 'X-Org' },
      {},
    )
    expect(options.credentials.headers()).toEqual({ authorization: 'Bearer pat', 'X-Org': 'o' })
  })

  it('the region chooses the address', () => {
    const baseUrl = { us: 'https://us.example', eu: 'https://eu.example' }
    expect(resolveOptions({ ...good, baseUrl, region: 'eu' }, {}).baseUrl.host).toBe('eu.example')
    expect(resolveOptions({ ...good, baseUrl, region: 'us' }, {}).baseUrl.host).toBe('us.example')
  })

  it.each(['http://localhost:1', 'http://127.0.0.1', 'http://127.9.9.9:80', 'http://[::1]:8080'])(
    '%s is loopback and may be plain http',
    baseUrl => {
      expect(resolveOptions({ ...good, baseUrl }, {}).baseUrl.protocol).toBe('http:')
    },
  )

  it('an address with 200,000 slashes is handled quickly, at construction and at each request', () => {
    const startedAt = performance.now()
    const environment = { LOGFERRY_URL: `https://logs.example${'/'.repeat(200_000)}edge///` }
    const { baseUrl, spool } = resolveOptions({ ...good, baseUrl: undefined, spool: { directory: 'd' } }, environment)
    expect(spool?.destination).toMatch(/[^/]\/{200000}edge\/$/)
    expect(ingestPath(baseUrl.pathname, 'd')).toMatch(/^\/{200000}edge\/v1\/datasets\/d\/ingest$/)
    expect(performance.now() - startedAt).toBeLessThan(1000)
  })

  it('allowInsecure allows plain http to any host', () => {
    expect(resolveOptions({ ...good, baseUrl: 'http://logs.example', allowInsecure: true }, {}).baseUrl.protocol).toBe(
      'http:',
    )
  })

  it('never print a token', () => {
    const options = resolveOptions({ ...good, token: undefined, personalAccessToken: secret, orgId: 'o' }, {})
    expect(inspect(options, { depth: 10, showHidden: true })).not.toContain(secret)
    expect(JSON.stringify(options)).not.toContain(secret)
  })
})
