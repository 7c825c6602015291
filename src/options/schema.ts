import type { Dispatcher } from 'undici'
import * as v from 'valibot'
import { expectedUrl } from './base-url.ts'
import { isDatasetName } from './dataset-name.ts'
import type { ResolvedOptions } from './shipper-options.ts'

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
const expectedTimeField = 'the name of a field, 1 to 200 characters'

/** Visible ASCII characters without spaces: what can stand in a header as it is. */
const headerValue = (expected: string) => v.pipe(v.string(expected), v.regex(/^[\x21-\x7e]+$/, expected))

export const TokenSchema = headerValue(expectedToken)

/** Where the service is, and who asks. */
export const serviceEntries = {
  baseUrl: v.optional(
    v.union([v.string(), v.strictObject({ us: v.string(expectedUrl), eu: v.string(expectedUrl) })], expectedUrl),
  ),
  region: v.optional(v.picklist(['us', 'eu'], "'us' or 'eu'")),
  token: v.optional(TokenSchema),
  personalAccessToken: v.optional(TokenSchema),
  orgId: v.optional(headerValue(expectedOrgId)),
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
}

export const ShipperOptionsSchema = v.strictObject({
  ...serviceEntries,
  dataset: v.optional(
    v.custom<ResolvedOptions['dataset']>(value => typeof value === 'function' || isDatasetName(value), expectedDataset),
  ),
  contentType: v.optional(
    v.picklist(['application/x-ndjson', 'application/json'], "'application/x-ndjson' or 'application/json'"),
    'application/x-ndjson',
  ),
  compression: v.optional(v.picklist(['zstd', 'gzip', 'none'], "'zstd', 'gzip' or 'none'"), 'zstd'),
  timeField: v.optional(
    v.pipe(v.string(expectedTimeField), v.minLength(1, expectedTimeField), v.maxLength(200, expectedTimeField)),
    '_time',
  ),
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
})
