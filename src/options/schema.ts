import * as v from 'valibot'
import type { Dispatcher } from '../http/dispatcher.ts'
import type { RedisClient } from '../org/fleet.ts'
import { expectedUrl } from './base-url.ts'
import { isDatasetName } from './dataset-name.ts'
import { FieldsOptionsSchema } from './fields-schema.ts'
import type { ObtainAccessToken } from './obtain-access-token.ts'
import type { ProxyEnv } from './proxy-env.ts'
import type { ShipperOptions } from './shipper-options.ts'
import { strictObject } from './strict-object.ts'
import type { Pem } from './tls-options.ts'

export const integer = (min: number, max: number, unit: string) => {
  const expected = `an integer from ${min} to ${max} (${unit})`
  return v.optional(
    v.pipe(v.number(expected), v.integer(expected), v.minValue(min, expected), v.maxValue(max, expected)),
  )
}

export const expectedToken = 'a token of visible ASCII characters without spaces'
export const expectedOrgId = 'an id of visible ASCII characters without spaces'
export const expectedDataset =
  'a dataset name (not empty, no control characters, not "." or "..") or a function that gives one'
const expectedHeaderName = 'the name of an HTTP header'
const expectedOwnHeader = `${expectedHeaderName} that a request does not have for a purpose of its own, as authorization is`
const expectedField = 'the name of a field, 1 to 200 characters'
const expectedShare = 'a number above 0, up to 1'

const expectedRedis = 'a client of ioredis or redis'
const expectedFleet = 'an object: { redis }'

/**
 * Headers that authenticate a request, describe its body, or control its transport. An id in one of them breaks every
 * request.
 */
const headersOfRequests = new Set(
  (
    'accept accept-encoding authorization connection content-encoding content-length content-type cookie expect host ' +
    'keep-alive proxy-authorization proxy-connection te trailer transfer-encoding upgrade user-agent'
  ).split(' '),
)

/** Visible ASCII characters without spaces can stand in a header as they are. */
const headerValue = (expected: string) => v.pipe(v.string(expected), v.regex(/^[\x21-\x7e]+$/, expected))

export const TokenSchema = headerValue(expectedToken)

/** True if a value has the method of ioredis (`call`) or of redis (`sendCommand`). */
function isRedisClient(value: unknown): boolean {
  const client = value as { call?: unknown; sendCommand?: unknown } | null | undefined
  return typeof client?.call === 'function' || typeof client?.sendCommand === 'function'
}

const expectedProxyEnv = 'an object: { HTTPS_PROXY, HTTP_PROXY, NO_PROXY }, or process.env'

function isPlainObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

const expectedPem = 'PEM: a string or a Buffer (not the path of a file), or an array of them'
const expectedTls = 'an object: { ca, cert, key }'
const expectedKeyPair = 'an object with cert and key, or with neither'

const PemSchema = v.optional(
  v.pipe(
    v.custom<Pem>(value => pemTexts(value).every(text => text?.includes('-----BEGIN ')), expectedPem),
    v.transform(value => pemTexts(value) as string[]),
  ),
)

const TlsSchema = v.pipe(
  strictObject({ ca: PemSchema, cert: PemSchema, key: PemSchema }, expectedTls),
  v.check(({ cert, key }) => (cert === undefined) === (key === undefined), expectedKeyPair),
)

/** Returns the texts of a value that should be PEM, with `undefined` for each part that is not a text. */
function pemTexts(value: unknown): (string | undefined)[] {
  if (Array.isArray(value) && value.length > 0) return value.flatMap(pemTexts)
  if (value instanceof Uint8Array) return [Buffer.from(value).toString('latin1')]
  return [typeof value === 'string' ? value : undefined]
}

/**
 * True unless the dispatcher is of an older undici, which calls other methods of the handler. Dispatchers carry no
 * version; the check looks for features that undici 7 removed.
 */
function isOfUndici7(dispatcher: Dispatcher & { compose?: unknown }): boolean {
  return !('interceptors' in dispatcher) && !String(dispatcher.compose).includes('ComposedDispatcher')
}

/** Options that locate and authenticate the service. */
export const serviceEntries = {
  baseUrl: v.optional(
    v.union([v.string(), strictObject({ us: v.string(expectedUrl), eu: v.string(expectedUrl) })], expectedUrl),
  ),
  region: v.optional(v.picklist(['us', 'eu'], "'us' or 'eu'")),
  token: v.optional(TokenSchema),
  personalAccessToken: v.optional(TokenSchema),
  orgId: v.optional(headerValue(expectedOrgId)),
  orgIdHeader: v.optional(
    v.pipe(
      v.string(expectedHeaderName),
      v.regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, expectedHeaderName),
      v.check(name => !headersOfRequests.has(name.toLowerCase()), expectedOwnHeader),
    ),
    'x-service-org-id',
  ),
  allowInsecure: v.optional(v.boolean('true or false'), false),
  dispatcher: v.optional(
    v.pipe(
      v.custom<Dispatcher>(
        value => typeof (value as Dispatcher | null)?.dispatch === 'function',
        'an undici Dispatcher (an object with a dispatch method)',
      ),
      v.check(isOfUndici7, 'a Dispatcher of undici 7 or later, and this one is of an older undici'),
    ),
  ),
  tls: v.optional(TlsSchema),
  proxyEnv: v.optional(v.custom<ProxyEnv>(isPlainObject, expectedProxyEnv)),
}

const FieldNameSchema = v.pipe(v.string(expectedField), v.minLength(1, expectedField), v.maxLength(200, expectedField))

/** An access token, or a function that obtains one. */
export const AccessTokenSchema = v.union(
  [TokenSchema, v.custom<ObtainAccessToken>(value => typeof value === 'function')],
  `${expectedToken}, or a function that gives one`,
)

const expectedDirectory = 'the path of a directory: a text that is not empty and has no NUL in it'

const SpoolOptionsSchema = strictObject(
  {
    directory: v.pipe(v.string(expectedDirectory), v.regex(/^[^\0]+$/, expectedDirectory)),
    maxBytes: integer(65_536, Number.MAX_SAFE_INTEGER, 'bytes'),
  },
  'an object: { directory, maxBytes }',
)

function isFunction(value: unknown): boolean {
  return typeof value === 'function'
}

const LimitsOptionsSchema = strictObject(
  {
    orgId: v.optional(headerValue(expectedOrgId)),
    accessToken: v.optional(AccessTokenSchema),
    share: v.optional(v.pipe(v.number(expectedShare), v.gtValue(0, expectedShare), v.maxValue(1, expectedShare)), 1),
    refreshMs: integer(1000, 86_400_000, 'milliseconds'),
    onBudget: v.optional(v.picklist(['warn', 'shed'], "'warn' or 'shed'"), 'warn'),
    overflowField: v.optional(FieldNameSchema, 'overflow'),
    fleet: v.optional(strictObject({ redis: v.custom<RedisClient>(isRedisClient, expectedRedis) }, expectedFleet)),
  },
  'an object: { orgId, accessToken, … }',
)

export const ShipperOptionsSchema = strictObject({
  ...serviceEntries,
  dataset: v.optional(
    v.custom<NonNullable<ShipperOptions['dataset']>>(
      value => typeof value === 'function' || isDatasetName(value),
      expectedDataset,
    ),
  ),
  contentType: v.optional(
    v.picklist(['application/x-ndjson', 'application/json'], "'application/x-ndjson' or 'application/json'"),
    'application/x-ndjson',
  ),
  compression: v.optional(v.picklist(['zstd', 'gzip', 'none'], "'zstd', 'gzip' or 'none'"), 'zstd'),
  timeField: v.optional(FieldNameSchema, '_time'),
  limits: v.optional(LimitsOptionsSchema),
  fields: v.optional(FieldsOptionsSchema),
  countUsage: v.optional(v.boolean('true or false'), true),
  reportUsageEveryMs: integer(1000, 86_400_000, 'milliseconds'),
  spool: v.optional(SpoolOptionsSchema),
  durability: v.optional(v.picklist(['memory', 'disk'], "'memory' or 'disk'"), 'memory'),
  onRejected: v.optional(v.custom<NonNullable<ShipperOptions['onRejected']>>(isFunction, 'a function')),
  maxBatchAgeMs: integer(1, 60_000, 'milliseconds'),
  maxBatchBytes: integer(1024, 16_777_216, 'bytes'),
  maxBatchEvents: integer(1, 100_000, 'events'),
  maxEventBytes: integer(512, 16_777_216, 'bytes'),
  maxBufferedBytes: integer(8192, Number.MAX_SAFE_INTEGER, 'bytes'),
  maxConcurrentRequests: integer(1, 64, 'requests'),
  requestTimeoutMs: integer(100, 600_000, 'milliseconds'),
  maxRetryDelayMs: integer(10, 600_000, 'milliseconds'),
  flushTimeoutMs: integer(0, 600_000, 'milliseconds'),
  exitTimeoutMs: integer(0, 60_000, 'milliseconds'),
  exitOnSignals: v.optional(v.boolean('true or false'), true),
})
