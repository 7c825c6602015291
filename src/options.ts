import { totalmem } from 'node:os'
import type { Dispatcher } from 'undici'
import * as v from 'valibot'
import { invalidOption } from './errors.ts'

/** The two regions of the service. An organization lives in one of them. */
export type Region = 'us' | 'eu'

/**
 * Options of `createShipper`, and of the Winston transport and the OpenTelemetry exporter and processor, which make a
 * shipper of their own from them. `undefined` means the default. Unknown names are refused, so that a slip of the pen
 * does not go unnoticed.
 */
export interface ShipperOptions {
  /**
   * Base address of the service, or one for each region (then `region` says which). `https:`, or `http:` to a loopback
   * host. It may carry a path; the service's paths are appended to it. No user name, password, query or fragment.
   *
   * @defaultValue the environment variable `LOGFERRY_URL`; without it, required
   */
  baseUrl?: string | { readonly us: string; readonly eu: string } | undefined
  /**
   * The region the organization lives in: `us` or `eu`. Required when `baseUrl` has an address for each.
   *
   * @defaultValue the environment variable `LOGFERRY_REGION`
   */
  region?: Region | undefined
  /**
   * Name of the dataset that events go to, or a function that names it for each event: it gets the event as it was
   * logged, runs inside the log call, and should be quick. An event for which it throws, or gives no usable name, is
   * dropped, counted and reported. Not empty, no control characters, not `.` or `..`.
   *
   * @defaultValue the environment variable `LOGFERRY_DATASET`; without it, required
   */
  dataset?: string | ((event: Readonly<Record<string, unknown>>) => string) | undefined
  /**
   * API token, sent as `Authorization: Bearer`. Visible ASCII characters, no spaces.
   *
   * @defaultValue the environment variable `LOGFERRY_TOKEN`; this or `personalAccessToken` is required
   */
  token?: string | undefined
  /** Personal access token, in place of `token`; needs `orgId`. An API token can do less and is the better choice. */
  personalAccessToken?: string | undefined
  /**
   * The organization's id, sent along with a personal access token. Visible ASCII characters, no spaces.
   *
   * @defaultValue the environment variable `LOGFERRY_ORG_ID`
   */
  orgId?: string | undefined
  /**
   * Name of the header that carries `orgId`.
   *
   * @defaultValue 'x-service-org-id'
   */
  orgIdHeader?: string | undefined
  /**
   * Allows `http:` to a host that is not loopback. The token then crosses the network unprotected.
   *
   * @defaultValue false
   */
  allowInsecure?: boolean | undefined
  /**
   * An undici `Dispatcher` (undici 7 or later) that sends the requests: a `ProxyAgent`, an `Agent` with a private CA.
   * It stays yours: `close()` leaves it open.
   *
   * @defaultValue a pool of `maxConcurrentRequests` connections of our own
   */
  dispatcher?: Dispatcher | undefined
  /**
   * Media type of requests: newline-delimited JSON, or a JSON array.
   *
   * @defaultValue 'ndjson'
   */
  format?: 'ndjson' | 'json' | undefined
  /**
   * Compression of request bodies. Where the service does not take it, the next of zstd, gzip, none is used from then on.
   *
   * @defaultValue 'zstd'
   */
  compression?: 'zstd' | 'gzip' | 'none' | undefined
  /**
   * Name of the field that carries the time stamp, RFC 3339 with nanoseconds. An event that has it already keeps its own.
   *
   * @defaultValue '_time'
   */
  timeField?: string | undefined
  /**
   * Longest time an event waits for company before its batch is sent, in milliseconds.
   *
   * Integer, 1 to 60 000. Raise it to send fewer requests; lower it to lose less in a crash.
   *
   * @defaultValue 1000
   */
  maxBatchAgeMs?: number | undefined
  /**
   * Most bytes of a batch before compression. Integer, 1 024 to 16 777 216. A batch that the service answers with 413 is
   * split, and the size that fitted is kept.
   *
   * @defaultValue 1048576
   */
  maxBatchBytes?: number | undefined
  /**
   * Most events of a batch. Integer, 1 to 100 000. The public service that resembles this one takes 10 000 in a request.
   *
   * @defaultValue 10000
   */
  maxBatchEvents?: number | undefined
  /**
   * Most bytes of one event. A larger one is cut to fit and marked with `logferry.cut`. Integer, 512 up to
   * `maxBatchBytes`. The public service that resembles this one takes 1 MB.
   *
   * @defaultValue 1000000, or `maxBatchBytes` if that is less
   */
  maxEventBytes?: number | undefined
  /**
   * Most memory for events that are not delivered yet, in bytes: what is being filled, waits or is in flight, and
   * compressed copies. As it fills, events of low severity are refused first; the last part is kept for errors.
   * Integer, at least 8 × `maxBatchBytes`.
   *
   * @defaultValue an eighth of the memory that the process may use, from 32 MiB to 512 MiB
   */
  maxBufferedBytes?: number | undefined
  /**
   * Most requests under way at once. Integer, 1 to 64.
   *
   * @defaultValue 4
   */
  maxConcurrentRequests?: number | undefined
  /**
   * Longest time from the start of a request to the end of its answer, in milliseconds; then it is given up and sent
   * again. Integer, 100 to 600 000.
   *
   * @defaultValue 30000
   */
  requestTimeoutMs?: number | undefined
  /**
   * Longest wait between two attempts while the service is unreachable, in milliseconds; waits grow towards it with full
   * jitter. A `Retry-After` of the service goes before it. Integer, 10 to 600 000.
   *
   * @defaultValue 30000
   */
  maxRetryDelayMs?: number | undefined
  /**
   * How long `flush()`, `close()` and what calls them (the end of a logger, `forceFlush`, `shutdown`) wait for delivery
   * when they are not told otherwise, in milliseconds. Integer, 0 to 600 000.
   *
   * @defaultValue 10000
   */
  flushTimeoutMs?: number | undefined
  /**
   * How long the end of the process is held up for delivery, in milliseconds. 0 turns that off. Integer, 0 to 60 000.
   *
   * @defaultValue 2000
   */
  exitTimeoutMs?: number | undefined
}

/** Options as the core uses them: checked, with defaults and environment filled in. */
export interface ResolvedOptions {
  readonly baseUrl: URL
  readonly region: Region | undefined
  readonly dataset: string | ((event: Readonly<Record<string, unknown>>) => string)
  /** The bearer of every request; an organization's id goes with a personal one. */
  readonly credentials: Credentials
  readonly dispatcher: Dispatcher | undefined
  readonly format: 'ndjson' | 'json'
  readonly compression: 'zstd' | 'gzip' | 'none'
  readonly timeField: string
  readonly maxBatchAgeMs: number
  readonly maxBatchBytes: number
  readonly maxBatchEvents: number
  readonly maxEventBytes: number
  readonly maxBufferedBytes: number
  readonly maxConcurrentRequests: number
  readonly requestTimeoutMs: number
  readonly maxRetryDelayMs: number
  readonly flushTimeoutMs: number
  readonly exitTimeoutMs: number
}

/** Headers that authenticate a request. Not enumerable, so that printing an object that holds them shows nothing. */
export class Credentials {
  readonly #token: string
  readonly #headers: Readonly<Record<string, string>>

  constructor(token: string, orgIdHeader?: string, orgId?: string) {
    this.#token = token
    const organization = orgIdHeader !== undefined && orgId !== undefined ? { [orgIdHeader]: orgId } : {}
    this.#headers = { authorization: `Bearer ${token}`, ...organization }
  }

  headers(): Readonly<Record<string, string>> {
    return this.#headers
  }

  /** The text without the token, should a server repeat it to us. */
  redact(text: string): string {
    return text.replaceAll(this.#token, '[token]')
  }
}

const MiB = 1_048_576

const integer = (min: number, max: number, unit: string) => {
  const expected = `an integer from ${min} to ${max} (${unit})`
  return v.optional(
    v.pipe(v.number(expected), v.integer(expected), v.minValue(min, expected), v.maxValue(max, expected)),
  )
}

const expectedToken = 'a token of visible ASCII characters without spaces'
const expectedOrgId = 'an id of visible ASCII characters without spaces'
const expectedDataset =
  'a dataset name (not empty, no control characters, not "." or "..") or a function that gives one'
const expectedHeaderName = 'the name of an HTTP header'
const expectedTimeField = 'the name of a field, 1 to 200 characters'
const expectedUrl = 'an address, or { us, eu } with an address for each'

const headerValue = (expected: string) => v.optional(v.pipe(v.string(expected), v.regex(/^[\x21-\x7e]+$/, expected)))

const OptionsSchema = v.strictObject({
  baseUrl: v.optional(
    v.union([v.string(), v.strictObject({ us: v.string(expectedUrl), eu: v.string(expectedUrl) })], expectedUrl),
  ),
  region: v.optional(v.picklist(['us', 'eu'], "'us' or 'eu'")),
  dataset: v.optional(
    v.custom<ResolvedOptions['dataset']>(value => typeof value === 'function' || isDatasetName(value), expectedDataset),
  ),
  token: headerValue(expectedToken),
  personalAccessToken: headerValue(expectedToken),
  orgId: headerValue(expectedOrgId),
  orgIdHeader: v.optional(
    v.pipe(v.string(expectedHeaderName), v.regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, expectedHeaderName)),
    'x-service-org-id',
  ),
  allowInsecure: v.optional(v.boolean('true or false'), false),
  dispatcher: v.optional(
    v.custom<Dispatcher>(
      value => typeof (value as Dispatcher | null)?.dispatch === 'function',
      'an undici Dispatcher (an object with a dispatch method)',
    ),
  ),
  format: v.optional(v.picklist(['ndjson', 'json'], "'ndjson' or 'json'"), 'ndjson'),
  compression: v.optional(v.picklist(['zstd', 'gzip', 'none'], "'zstd', 'gzip' or 'none'"), 'zstd'),
  timeField: v.optional(
    v.pipe(v.string(expectedTimeField), v.minLength(1, expectedTimeField), v.maxLength(200, expectedTimeField)),
    '_time',
  ),
  maxBatchAgeMs: integer(1, 60_000, 'milliseconds'),
  maxBatchBytes: integer(1024, 16 * MiB, 'bytes'),
  maxBatchEvents: integer(1, 100_000, 'events'),
  maxEventBytes: integer(512, 16 * MiB, 'bytes'),
  maxBufferedBytes: integer(8192, Number.MAX_SAFE_INTEGER, 'bytes'),
  maxConcurrentRequests: integer(1, 64, 'requests'),
  requestTimeoutMs: integer(100, 600_000, 'milliseconds'),
  maxRetryDelayMs: integer(10, 600_000, 'milliseconds'),
  flushTimeoutMs: integer(0, 600_000, 'milliseconds'),
  exitTimeoutMs: integer(0, 60_000, 'milliseconds'),
})

/** Names of the options, for adapters that have options of their own beside them. */
export const optionNames: ReadonlySet<string> = new Set(Object.keys(OptionsSchema.entries))

/** Options whose value may be a secret or may have been mistaken for one; errors never show it. */
const secretOptions = new Set(['token', 'personalAccessToken', 'orgId', 'orgIdHeader', 'baseUrl', 'dataset'])

/**
 * Checks options, fills what is missing from the environment and the defaults.
 *
 * @throws TypeError | RangeError with `code` `LOGFERRY_INVALID_OPTION`, naming the option, what it must be and what came
 */
export function resolveOptions(
  given: ShipperOptions | undefined,
  environment: Readonly<Record<string, string | undefined>>,
): ResolvedOptions {
  if (given !== undefined && (typeof given !== 'object' || given === null)) {
    throw invalidOption('options', 'an object', typeof given)
  }
  const options = checked(withEnvironment(given ?? {}, environment))
  const maxBatchBytes = options.maxBatchBytes ?? MiB
  const maxEventBytes = options.maxEventBytes ?? Math.min(1_000_000, maxBatchBytes)
  if (maxEventBytes > maxBatchBytes) {
    throw invalidOption('maxEventBytes', `at most maxBatchBytes (${maxBatchBytes})`, `${maxEventBytes}`, 'range')
  }
  const maxBufferedBytes = options.maxBufferedBytes ?? Math.max(defaultMaxBufferedBytes(), 8 * maxBatchBytes)
  if (maxBufferedBytes < 8 * maxBatchBytes) {
    const expected = `at least 8 × maxBatchBytes (${8 * maxBatchBytes})`
    throw invalidOption('maxBufferedBytes', expected, `${maxBufferedBytes}`, 'range')
  }
  if (options.dataset === undefined) {
    throw invalidOption('dataset', `${expectedDataset}, or LOGFERRY_DATASET must be set`, 'nothing')
  }
  return {
    baseUrl: resolveBaseUrl(options.baseUrl, options.region, options.allowInsecure),
    region: options.region,
    dataset: options.dataset,
    credentials: resolveCredentials(options),
    dispatcher: options.dispatcher,
    format: options.format,
    compression: options.compression,
    timeField: options.timeField,
    maxBatchAgeMs: options.maxBatchAgeMs ?? 1000,
    maxBatchBytes,
    maxBatchEvents: options.maxBatchEvents ?? 10_000,
    maxEventBytes,
    maxBufferedBytes,
    maxConcurrentRequests: options.maxConcurrentRequests ?? 4,
    requestTimeoutMs: options.requestTimeoutMs ?? 30_000,
    maxRetryDelayMs: options.maxRetryDelayMs ?? 30_000,
    flushTimeoutMs: options.flushTimeoutMs ?? 10_000,
    exitTimeoutMs: options.exitTimeoutMs ?? 2000,
  }
}

/** Whether a text can name a dataset: it becomes one segment of a path, and `..` would lead out of it. */
export function isDatasetName(name: unknown): name is string {
  if (typeof name !== 'string' || name === '' || name === '.' || name === '..') return false
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
  return name.length <= 1024 && !/[\u0000-\u001f\u007f]/.test(name) && name.isWellFormed()
}

function withEnvironment(
  given: ShipperOptions,
  environment: Readonly<Record<string, string | undefined>>,
): ShipperOptions {
  const from = (name: string) => environment[name] || undefined
  const token = given.personalAccessToken === undefined ? from('LOGFERRY_TOKEN') : undefined
  return {
    ...given,
    baseUrl: given.baseUrl ?? from('LOGFERRY_URL'),
    region: given.region ?? (from('LOGFERRY_REGION') as Region | undefined),
    dataset: given.dataset ?? from('LOGFERRY_DATASET'),
    token: given.token ?? token,
    orgId: given.orgId ?? from('LOGFERRY_ORG_ID'),
  }
}

function checked(options: ShipperOptions): v.InferOutput<typeof OptionsSchema> {
  const result = v.safeParse(OptionsSchema, options, { abortEarly: true })
  if (result.success) return result.output
  const issue = result.issues[0]
  const option = v.getDotPath(issue) ?? 'options'
  const root = option.split('.')[0] as string
  if (!optionNames.has(root)) throw invalidOption(option, `one of ${[...optionNames].join(', ')}`, 'an unknown option')
  const got = secretOptions.has(root) ? shape(issue.input) : shown(issue.input)
  throw invalidOption(option, issue.message, got, issue.kind === 'schema' ? 'type' : 'range')
}

function shown(value: unknown): string {
  if (typeof value === 'string')
    return value.length > 80 ? `${JSON.stringify(value.slice(0, 80))}…` : JSON.stringify(value)
  if (typeof value === 'number' || typeof value === 'boolean' || value === null) return String(value)
  return shape(value)
}

/** What kind of value came, without the value. */
function shape(value: unknown): string {
  if (value === '') return 'an empty string'
  if (typeof value === 'string') return `a string of ${value.length} characters (not shown)`
  if (value === null || value === undefined) return String(value)
  return Array.isArray(value) ? 'an array' : `${/^[aeiou]/.test(typeof value) ? 'an' : 'a'} ${typeof value}`
}

function resolveCredentials(options: v.InferOutput<typeof OptionsSchema>): Credentials {
  const { token, personalAccessToken, orgId, orgIdHeader } = options
  if (personalAccessToken === undefined) {
    if (token !== undefined) return new Credentials(token)
    throw invalidOption('token', `${expectedToken}, or LOGFERRY_TOKEN must be set`, 'nothing')
  }
  if (token !== undefined) {
    throw invalidOption('personalAccessToken', 'given without `token`: one of the two', 'both')
  }
  if (orgId === undefined) {
    throw invalidOption('orgId', `given together with personalAccessToken: ${expectedOrgId}`, 'nothing')
  }
  return new Credentials(personalAccessToken, orgIdHeader, orgId)
}

function resolveBaseUrl(
  baseUrl: string | { us: string; eu: string } | undefined,
  region: Region | undefined,
  allowInsecure: boolean,
): URL {
  if (baseUrl === undefined) throw invalidOption('baseUrl', `${expectedUrl}, or LOGFERRY_URL must be set`, 'nothing')
  if (typeof baseUrl === 'object' && region === undefined) {
    throw invalidOption('region', "'us' or 'eu' when baseUrl has an address for each", 'nothing')
  }
  const option = typeof baseUrl === 'object' ? `baseUrl.${region}` : 'baseUrl'
  const text = typeof baseUrl === 'object' ? baseUrl[region as Region] : baseUrl
  // The URL is not repeated in errors: a password or a token may stand in it.
  if (!URL.canParse(text)) throw invalidOption(option, 'an absolute http(s) address', shape(text), 'range')
  const url = new URL(text)
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    throw invalidOption(option, 'an http(s) address', `the scheme ${url.protocol}`, 'range')
  }
  if (url.username !== '' || url.password !== '') {
    throw invalidOption(option, 'an address without user name and password', 'one that has them', 'range')
  }
  if (url.search !== '' || url.hash !== '') {
    throw invalidOption(option, 'an address without query and fragment', 'one that has them', 'range')
  }
  if (url.protocol === 'http:' && !allowInsecure && !isLoopback(url.hostname)) {
    const expected = 'https: unless the host is loopback (or allowInsecure is true, and the token readable on the way)'
    throw invalidOption(option, expected, `http: to ${url.hostname}`, 'range')
  }
  return url
}

function isLoopback(hostname: string): boolean {
  return (
    hostname === 'localhost' ||
    hostname.endsWith('.localhost') ||
    hostname === '[::1]' ||
    /^127\.\d+\.\d+\.\d+$/.test(hostname)
  )
}

function defaultMaxBufferedBytes(): number {
  const limit = process.constrainedMemory() // 0, or more than there is, where no limit is set
  const memory = limit > 0 ? Math.min(limit, totalmem()) : totalmem()
  return Math.min(Math.max(Math.floor(memory / 8), 32 * MiB), 512 * MiB)
}
