import { totalmem } from 'node:os'
import { resolve as resolvePath } from 'node:path'
import { invalidOption } from '../errors.ts'
import { withoutTrailing } from '../text/without-trailing.ts'
import { resolveBaseUrl } from './base-url.ts'
import { checkTls } from './check-tls.ts'
import { checked } from './checked.ts'
import { type Environment, fromEnvironment, withEnvironment } from './environment.ts'
import { resolveFields } from './fields-schema.ts'
import { checkNode } from './node-version.ts'
import { optionsOf } from './options-of.ts'
import { resolveProxy } from './proxy-env.ts'
import { resolveCredentials } from './resolve-credentials.ts'
import { resolveLimits } from './resolve-limits.ts'
import type { ResolvedOptions } from './resolved-options.ts'
import { expectedDataset, ShipperOptionsSchema } from './schema.ts'
import type { ShipperOptions } from './shipper-options.ts'
import type { ResolvedSpool, SpoolOptions } from './spool-options.ts'

const MiB = 1_048_576
/**
 * With a spool, the default memory budget is this many times the bytes in flight: room for batches and their compressed
 * copies.
 */
const timesInFlight = 4

/**
 * Checks options, and fills in missing ones from the environment and the defaults.
 *
 * @throws TypeError | RangeError with `code` `LOGFERRY_INVALID_OPTION`, naming the option, the expectation and the
 * value
 * @throws Error if Node is too old
 */
export function resolveOptions(given: ShipperOptions | undefined, environment: Environment): ResolvedOptions {
  checkNode()
  const own = optionsOf(given)
  const dataset = own.dataset ?? fromEnvironment(environment, 'LOGFERRY_DATASET')
  const options = checked(ShipperOptionsSchema, { ...withEnvironment(own, environment), dataset })
  if (options.durability === 'disk' && options.spool === undefined) {
    throw invalidOption('durability', "'memory' without the option spool", "'disk'", 'range')
  }
  const maxBatchBytes = options.maxBatchBytes ?? MiB
  const maxEventBytes = options.maxEventBytes ?? Math.min(1_000_000, maxBatchBytes)
  if (maxEventBytes > maxBatchBytes) {
    throw invalidOption('maxEventBytes', `at most maxBatchBytes (${maxBatchBytes})`, `${maxEventBytes}`, 'range')
  }
  const maxConcurrentRequests = options.maxConcurrentRequests ?? 4
  const maxBufferedBytes =
    options.maxBufferedBytes ??
    (options.spool === undefined
      ? Math.max(defaultMaxBufferedBytes(), 8 * maxBatchBytes)
      : Math.max(32 * MiB, Math.max(8, timesInFlight * maxConcurrentRequests) * maxBatchBytes))
  if (maxBufferedBytes < 8 * maxBatchBytes) {
    const expected = `at least 8 × maxBatchBytes (${8 * maxBatchBytes})`
    throw invalidOption('maxBufferedBytes', expected, `${maxBufferedBytes}`, 'range')
  }
  if (options.dataset === undefined) {
    throw invalidOption('dataset', `${expectedDataset}, or LOGFERRY_DATASET must be set`, 'nothing')
  }
  if (options.reportUsageEveryMs !== undefined && !options.countUsage) {
    throw invalidOption('countUsage', 'true with the option reportUsageEveryMs', 'false', 'range')
  }
  const credentials = resolveCredentials(options)
  const baseUrl = resolveBaseUrl(options.baseUrl, options.region, options.allowInsecure)
  return {
    baseUrl,
    region: options.region,
    dataset: options.dataset,
    credentials,
    limits: options.limits && resolveLimits(options.limits, options.orgId, credentials),
    fields: options.fields && resolveFields(options.fields, options.limits?.overflowField),
    countUsage: options.countUsage,
    reportUsageEveryMs: options.reportUsageEveryMs,
    spool: options.spool && resolveSpool(options.spool, destinationOf(baseUrl, options.orgId)),
    durability: options.durability,
    onRejected: options.onRejected,
    dispatcher: options.dispatcher,
    tls: options.tls && checkTls(options.tls),
    proxy: resolveProxy(options.proxyEnv, environment, baseUrl),
    contentType: options.contentType,
    compression: options.compression,
    timeField: options.timeField,
    maxBatchAgeMs: options.maxBatchAgeMs ?? 1000,
    maxBatchBytes,
    maxUnlimitedBatchBytes: options.maxBatchBytes ?? 4 * MiB,
    maxBatchEvents: options.maxBatchEvents ?? 10_000,
    maxEventBytes,
    maxBufferedBytes,
    maxConcurrentRequests,
    requestTimeoutMs: options.requestTimeoutMs ?? 30_000,
    maxRetryDelayMs: options.maxRetryDelayMs ?? 30_000,
    flushTimeoutMs: options.flushTimeoutMs ?? 10_000,
    exitTimeoutMs: options.exitTimeoutMs ?? 2000,
    exitOnSignals: options.exitOnSignals,
  }
}

function resolveSpool({ directory, maxBytes = 1024 * MiB }: SpoolOptions, destination: string): ResolvedSpool {
  return { directory: resolvePath(directory), maxBytes, destination }
}

/** Returns the destination of spooled events. The token is not a part of it, because it may change between two runs. */
function destinationOf({ origin, pathname }: URL, orgId: string | undefined): string {
  return `${origin}${withoutTrailing(pathname, '/')}/${orgId === undefined ? '' : `#${orgId}`}`
}

function defaultMaxBufferedBytes(): number {
  const limit = process.constrainedMemory() // 0, or more than the machine has, if no limit is set
  const memory = limit > 0 ? Math.min(limit, totalmem()) : totalmem()
  return Math.min(Math.max(Math.floor(memory / 8), 32 * MiB), 512 * MiB)
}
