import { totalmem } from 'node:os'
import { type Encoding, encodings } from '../http/encodings.ts'
import { type AccountingOptions, accountingOptions } from './accounting-options.ts'
import { isFunction, isUnquoted, TimeFieldSchema } from './checks.ts'
import { isDatasetName } from './dataset-name.ts'
import { type FieldsOptions, fieldsOptions } from './fields-options.ts'
import { type LimitsOptions, limitsOptions } from './limits-options.ts'
import { type CollapseOptions, collapseOptions, type HoldOptions, holdOptions } from './noise-options.ts'
import { custom, type DefinitionsOf, flag, group, integer, option, type ValuesOf, word } from './option.ts'
import type { RedactOptions } from './redact-options.ts'
import { type ServiceOptions, serviceOptions } from './service-options.ts'
import { type ShapingOptions, shapingOptions } from './shaping-options.ts'
import { directoryPattern, expectedDirectory, type SpoolOptions, spoolOptions } from './spool-options.ts'
import { type UsageOptions, usageOptions } from './usage-options.ts'

/**
 * Options of `createShipper`. The Winston transport and the OpenTelemetry exporter and processor take them as well, and
 * create a shipper from them.
 *
 * `undefined` means the default. A value of the wrong type throws a `TypeError`, and so does an option that is unknown,
 * missing, or excluded by another option. A value of the right type that is not allowed throws a `RangeError`: a number
 * out of range, an unknown word, an empty text, or a value that another option excludes. Both have the `code`
 * `LOGFERRY_INVALID_OPTION`.
 *
 * Only own enumerable properties count, here and in nested objects. Properties inherited from a class or from
 * `Object.prototype` are ignored.
 */
export interface ShipperOptions extends ServiceOptions, ShapingOptions, AccountingOptions, UsageOptions {
  /**
   * Name of the dataset that events go to, or a function that names the dataset of each event. A name has 1 to 1 024
   * characters, has no control characters, and is not `.` or `..`.
   *
   * The function gets the event as `context`, `transform` and `sample` leave it. It runs inside the log call, and should
   * be quick. If it throws or returns no usable name, the event is dropped, counted and reported.
   *
   * @defaultValue the environment variable `LOGFERRY_DATASET`; without it, required
   */
  dataset?: string | ((event: Readonly<Record<string, unknown>>) => string) | undefined
  /**
   * Media type of request bodies: newline-delimited JSON, or a JSON array.
   *
   * @defaultValue 'application/x-ndjson'
   */
  contentType?: 'application/x-ndjson' | 'application/json' | undefined
  /**
   * Compression of request bodies. Bodies of less than 1 024 bytes are not compressed.
   *
   * If the service does not accept the compression, the next value of the type is used, down to `'none'`. The better
   * one is tried again after a minute, then after ever longer waits, up to a day.
   *
   * @defaultValue 'zstd'
   */
  compression?: Encoding | undefined
  /**
   * Name of the field for the timestamp, which is RFC 3339 with nanoseconds. 1 to 200 characters; not a name that logferry
   * or OpenTelemetry fills with something else, such as `level`, `attributes` or `logferry.cut`, and not in a group of
   * `fields.asText`. An event that has this field keeps its own value.
   *
   * @defaultValue '_time'
   */
  timeField?: string | undefined
  /**
   * Maximum time that an event waits for others before its batch is sent, in milliseconds.
   *
   * Integer, 1 to 60 000. Raise it to send fewer requests; lower it to lose less in a crash. The batch may wait longer
   * if the service is unreachable or the request rate is limited.
   *
   * @defaultValue 1000
   */
  maxBatchAgeMs?: number | undefined
  /**
   * Maximum bytes of a batch, before compression. Integer, 1 024 to 16 777 216.
   *
   * A batch that the service answers with 413 is split, and the size that the service accepts is kept. While the
   * request rate is limited, batches grow beyond this option if they must. Their limit is then an eighth of
   * `maxBufferedBytes`, or 16 777 216 bytes if that is less.
   *
   * With a `spool`, a batch of several events also has at most an eighth of `spool.maxBytes`, and at most
   * `maxBufferedBytes` divided by 4 × `maxConcurrentRequests`.
   *
   * @defaultValue 1048576; up to 4194304 while more than 40 MB/s are logged, which would otherwise take more than 40
   * requests a second
   */
  maxBatchBytes?: number | undefined
  /**
   * Maximum events of a batch. Integer, 1 to 100 000. While the request rate is limited, batches grow beyond this
   * option if they must, up to 100 000 events.
   *
   * The default comes from a comparable public service, which accepts 10 000 events in a request.
   *
   * @defaultValue 10000
   */
  maxBatchEvents?: number | undefined
  /**
   * Maximum bytes of one event. A larger event is cut to fit, and marked with `logferry.cut`. Integer, 512 up to
   * `maxBatchBytes`.
   *
   * The default comes from a comparable public service, which accepts 1 MB.
   *
   * @defaultValue 1000000, or `maxBatchBytes` if that is less
   */
  maxEventBytes?: number | undefined
  /**
   * Memory budget for undelivered events, in bytes. Integer, at least 8 × `maxBatchBytes`.
   *
   * The budget covers batches that are being filled, wait or are in flight, and their compressed copies. When 75 % of
   * it is used, trace and debug events are refused; from 90 % info as well, and from 95 % warnings too. With a `spool`,
   * batches go to disk when half of the budget is used.
   *
   * @defaultValue without a `spool`, an eighth of the memory that the process may use, from 32 MiB to 512 MiB. With a
   * `spool`, 32 MiB, or 4 × `maxConcurrentRequests` × `maxBatchBytes` if that is more. In either case at least 8 ×
   * `maxBatchBytes`
   */
  maxBufferedBytes?: number | undefined
  /**
   * Maximum number of concurrent requests. Integer, 1 to 64.
   *
   * After five failures in a row, or when too many attempts fail, only one request is made at a time. During `close()`
   * and at the end of the process there may be more than the maximum: one for each dataset, up to 32. A request that has had
   * no answer for five seconds does not count if the service has answered a later one. If none has been answered for so
   * long, up to two more are made. A request that the service has taken does not count if its answer does not end within
   * a second.
   *
   * @defaultValue 4
   */
  maxConcurrentRequests?: number | undefined
  /**
   * Maximum time from the start of a request to the end of its answer, in milliseconds. Integer, 100 to 600 000. A
   * request that takes longer is aborted and sent again. From the status of an answer to its end there are at most five
   * seconds.
   *
   * During `close()` and at the natural end of the process, a request without an answer is made a second time after five
   * seconds, or after half of the time. The service must have answered later requests.
   *
   * @defaultValue 30000
   */
  requestTimeoutMs?: number | undefined
  /**
   * Maximum wait between two attempts while the service is unreachable, in milliseconds. Integer, 10 to 600 000.
   *
   * Waits grow toward it, with full jitter, and are at most 5 s while memory is so short that events are dropped. During
   * `close()` and at the end of the process they are at most 0.4 s. A `Retry-After` of the service takes precedence, up
   * to an hour.
   *
   * @defaultValue 30000
   */
  maxRetryDelayMs?: number | undefined
  /**
   * Default maximum time that `flush()` and `close()` wait for delivery, in milliseconds. Integer, 0 to 600 000.
   *
   * It also applies to their callers: the end of a Winston logger, `forceFlush` and `shutdown`. If the event loop was
   * blocked past that time, or the process frozen, they wait one second longer for answers that have come meanwhile.
   *
   * @defaultValue 10000
   */
  flushTimeoutMs?: number | undefined
  /**
   * Maximum time that delivery may delay the end of the process, in milliseconds. Integer, 0 to 60 000. 0 means no
   * delay: events that are pending then are dropped with a warning, or handed off to the spool.
   *
   * At its natural end, the process continues for this time at most. After `process.exit()` or an uncaught error, a
   * worker thread sends the remaining events, including those that were in flight, while the main thread waits. Events
   * that a later handler of `'exit'` logs are sent before their log call returns, within the remaining time. The same
   * happens if a signal ends the process, unless `exitOnSignals` is false.
   *
   * @defaultValue 2000
   */
  exitTimeoutMs?: number | undefined
  /**
   * Makes SIGTERM, SIGINT and SIGHUP wait for delivery, for `exitTimeoutMs` at most.
   *
   * If the application has no handler for the signal, pending events are delivered. Then the signal is raised again, so
   * that the process ends as it would have. If the application has a handler, pending events are sent after 50 ms, and
   * the handler decides about the end.
   *
   * The option has no effect while no event is pending, in a worker thread, or if `exitTimeoutMs` is 0.
   *
   * @defaultValue true
   */
  exitOnSignals?: boolean | undefined
  /**
   * Lets events that cannot be delivered yet wait on disk. Batches go to disk when the memory budget is half used, or
   * when the process ends before they are delivered. They are sent as soon as possible, by a later process if
   * necessary.
   *
   * @defaultValue none: events are dropped if memory is full, or if the process ends before they are delivered
   */
  spool?: SpoolOptions | undefined
  /**
   * The point at which an event is safe.
   *
   * - `'memory'`: an event is lost if the process is killed before the event is delivered.
   * - `'disk'`: an event is written to the spool before its log call returns, and survives even kill -9. A power
   *   failure can cost the last seconds. Each log call takes some microseconds longer. Without `spool`, a `RangeError`
   *   is thrown.
   *
   * @defaultValue 'memory'
   */
  durability?: 'memory' | 'disk' | undefined
  /**
   * Called with each event that the service refuses, and with the service's reason. The event is passed as it was sent.
   * The event is `undefined` if the service did not say which event it refused.
   *
   * With a `spool`, refused events are also appended to `rejected.ndjson` in its directory. An error that the function
   * throws is reported as `LOGFERRY_CALLBACK_THREW`, and does no harm.
   *
   * @defaultValue none: a refusal is counted, and causes a warning
   */
  onRejected?: ((event: Record<string, unknown> | undefined, reason: string) => void) | undefined
  /**
   * Paths of values that are never shipped, or the long form with `censor`: `['password', '**.token', 'user.email',
   * 'headers.*', '*_secret', 'items[*].card']`. A malformed path throws a `RangeError`. See `RedactOptions`.
   *
   * Redaction applies to the event as it is shipped, and to everything that is made of it: message, metadata, Errors,
   * arguments in `splat`, attributes, resource and scope. An event that cannot be redacted is dropped, with the reason
   * `redact`.
   *
   * @defaultValue none: events are shipped as they are logged
   */
  redact?: readonly string[] | RedactOptions | undefined
  /**
   * Patterns of parts of texts that are never shipped, at most 100. Each is a RegExp with the flag `g`, and without the
   * flag `y`. Every match in every text of an event is replaced as `redact.censor` says.
   *
   * Each text of each event is searched, so this costs more than `redact`. Of a text, 65 536 characters are searched, of
   * an event as many as can be within some 20 ms, and the rest is cut. A pattern with nested repetition, such as
   * `/(a+)+$/g`, can still take long.
   *
   * @defaultValue none
   */
  redactText?: readonly RegExp[] | undefined
  /**
   * Reads the organization's license at the start and every hour (`limits.refreshMs`), and stays within it: request
   * rate, monthly ingest, and fields of a dataset. Never delays a log call.
   *
   * @defaultValue none: batches and request rate follow the options above and the answers of the service
   */
  limits?: LimitsOptions | undefined
  /**
   * Directory in which the processes of this machine agree on equal shares of the request rate. They do so if the service
   * refuses requests with 429, or if its headers show that the limit is shared. Absolute, or relative to the working
   * directory of the process. Each process writes 128 bytes every two seconds then. With `limits`, one process reads the license for
   * all that start within ten seconds. `false`: each process adapts alone.
   *
   * The processes must have the same `baseUrl` and `orgId` (of `limits` or of the shipper), or without an `orgId` the
   * same token. Containers share a directory if they mount one volume, and run on one machine. With `limits.fleet`, the
   * directory is used only while Redis gives no requests. With a `limits.share` below 1, it is not used.
   *
   * The directory and its parents must be as private as those of a spool. If the directory cannot be used, each process
   * adapts alone; a warning says so, unless the directory is the default.
   *
   * @defaultValue `logferry-<user id>/rates` in the temporary directory of the system
   */
  rateDirectory?: string | false | undefined
  /**
   * Keeps the number of fields in bounds, with or without a license. Groups can become one text each, and each dataset
   * can have a maximum number of fields. Warns of field names that look like values, and of fields that change their type.
   *
   * @defaultValue none: events keep their fields
   */
  fields?: FieldsOptions | undefined
  /**
   * Ships the first of identical events, and one event that stands for its repetitions: `{ windowMs }`. Events are
   * identical if they have the same dataset, level, message and event name, and the same error.
   *
   * Dropped repetitions count as `collapsed`.
   *
   * @defaultValue none: every event is shipped
   */
  collapse?: CollapseOptions | undefined
  /**
   * Holds debug and info events in memory, and ships them only if their trace logs an error: `{ below, trigger,
   * maxEvents, maxBytes, maxAgeMs }`.
   *
   * Held events are pending, and `stats().held` counts them. A flush does not wait for them. Events that no error
   * releases in time are dropped, and count as `untriggered`.
   *
   * @defaultValue none: every event is shipped
   */
  hold?: HoldOptions | undefined
}

const MiB = 1_048_576

/** Maximum bytes of a batch under a heavy load, if the application does not set `maxBatchBytes`. */
export const maxUnlimitedBatchBytes = 4 * MiB

export const expectedDataset =
  'a dataset name (1 to 1024 characters, no control characters, no quotes around it, not "." or "..") or a function that returns one'

/** Minimum of `maxEventBytes`. */
export const minEventBytes = 512

/** Options that the defaults of other options depend on. `ShipperValues` does not compile if a type differs. */
interface Basis {
  readonly maxBatchBytes: number
  readonly maxConcurrentRequests: number
  readonly spool: SpoolOptions | undefined
}

/**
 * With a spool, the default memory budget is this many times the bytes in flight: room for batches and their compressed
 * copies.
 */
const timesInFlight = 4

function defaultMaxBufferedBytes({ maxBatchBytes, maxConcurrentRequests, spool }: Basis): number {
  if (spool === undefined) return Math.max(shareOfMemory(), 8 * maxBatchBytes)
  return Math.max(32 * MiB, Math.max(8, timesInFlight * maxConcurrentRequests) * maxBatchBytes)
}

function shareOfMemory(): number {
  const limit = process.constrainedMemory() // 0, or more than the machine has, if no limit is set
  const memory = limit > 0 ? Math.min(limit, totalmem()) : totalmem()
  return Math.min(Math.max(Math.floor(memory / 8), 32 * MiB), 512 * MiB)
}

/** The definition of each of `ShipperOptions`. `npm run docs:tables` updates the tables in docs/options.md. */
export const shipperOptions = {
  ...serviceOptions,
  ...shapingOptions,
  ...accountingOptions,
  ...usageOptions,
  dataset: custom({
    accepts: value => isFunction(value) || (isDatasetName(value) && isUnquoted(value)),
    hasType: value => isFunction(value) || typeof value === 'string',
    expected: expectedDataset,
    env: 'LOGFERRY_DATASET',
    isSecret: true,
    values: 'string, or function of the event',
    summary: 'dataset that events go to',
  }),
  contentType: word(['application/x-ndjson', 'application/json'], {
    default: 'application/x-ndjson',
    summary: 'media type of request bodies: newline-delimited JSON, or a JSON array',
  }),
  compression: word(encodings, {
    default: 'zstd',
    summary: 'compression of request bodies; steps down by itself if the service does not accept the compression',
  }),
  timeField: option({
    check: TimeFieldSchema,
    values: 'string',
    default: '_time',
    summary: 'name of the field for the timestamp',
  }),
  limits: group<LimitsOptions>({
    options: limitsOptions,
    shape: '{ orgId, accessToken, … }',
    summary: 'keeps to the license of the organization, see [Limits](#limits)',
  }),
  rateDirectory: custom<string | false>({
    hasType: value => value === false || typeof value === 'string',
    accepts: value => value === false || directoryPattern.test(value as string),
    expected: `${expectedDirectory}, or false`,
    values: 'path, or `false`',
    defaultText: '`logferry-<user id>/rates` in the temporary directory',
    summary:
      'where the processes of a machine agree on equal request rates, see [Several processes](license-limits.md#several-processes-on-one-license)',
  }),
  spool: group<SpoolOptions>({
    options: spoolOptions,
    shape: '{ directory, maxBytes }',
    summary: 'events wait on disk, see [Spool](#spool)',
  }),
  redact: custom<NonNullable<ShipperOptions['redact']>>({
    accepts: () => true, // checked by `resolveRedact`
    expected: 'paths of values',
    isSecret: true,
    values: 'array of paths, or `{ paths, censor, hashKey, ignoreCase }`',
    summary: 'values that are never shipped, see [Redaction](redaction.md)',
  }),
  redactText: custom<readonly RegExp[]>({
    accepts: () => true, // checked by `resolveRedact`
    expected: 'patterns',
    values: 'array of RegExp with the flag `g`',
    summary: 'parts of texts that are never shipped, see [Redaction](redaction.md)',
  }),
  fields: group<FieldsOptions>({
    options: fieldsOptions,
    shape: '{ max, asText, overflowField }',
    summary: 'keeps the number of fields in bounds, see [Usage](usage.md)',
  }),
  collapse: group<CollapseOptions>({
    options: collapseOptions,
    shape: '{ windowMs }',
    summary: 'ships the first of identical events, and one for its repetitions, see [Less noise](noise.md)',
  }),
  hold: group<HoldOptions>({
    options: holdOptions,
    shape: '{ below, trigger, maxEvents, maxBytes, maxAgeMs }',
    summary:
      'ships debug and info events only if their trace logs an error, see [Less noise](noise.md#events-that-matter-only-after-an-error)',
  }),
  durability: word(['memory', 'disk'], {
    default: 'memory',
    summary: '`disk`, with a spool: each event is on disk before its log call returns',
  }),
  onRejected: custom({
    accepts: isFunction,
    expected: 'a function',
    values: 'function',
    summary:
      'called with each event that the service refuses, and the reason, see [Refused events](refused-events.md#refused-events)',
  }),
  maxBatchAgeMs: integer({
    min: 1,
    max: 60_000,
    unit: 'milliseconds',
    default: 1000,
    summary: 'maximum time that an event waits before its batch is sent',
  }),
  maxBatchBytes: integer({
    min: 1024,
    max: 16_777_216,
    unit: 'bytes',
    default: MiB,
    summary:
      'maximum bytes of a batch, before compression; without this option, up to 4 MiB while more than 40 MB/s are logged',
  }),
  maxBatchEvents: integer({
    min: 1,
    max: 100_000,
    unit: 'events',
    default: 10_000,
    summary:
      'maximum events of a batch; up to 100,000 while requests are limited, and the events would not fit otherwise',
  }),
  maxEventBytes: integer({
    min: minEventBytes,
    max: 16_777_216,
    unit: 'bytes',
    defaultFrom: ({ maxBatchBytes }: Basis) => Math.min(1_000_000, maxBatchBytes),
    defaultText: '1,000,000, or `maxBatchBytes` if that is less',
    summary: 'larger events are cut to fit and marked `logferry.cut`; at most `maxBatchBytes`',
  }),
  maxBufferedBytes: integer({
    min: 8192,
    max: Number.MAX_SAFE_INTEGER,
    unit: 'bytes',
    defaultFrom: defaultMaxBufferedBytes,
    defaultText: '⅛ of memory',
    summary:
      'memory for undelivered events, at least 8 × `maxBatchBytes`; the default is 32 MiB to 512 MiB, with a spool 32 MiB',
  }),
  maxConcurrentRequests: integer({
    min: 1,
    max: 64,
    unit: 'requests',
    default: 4,
    summary: 'maximum number of concurrent requests',
  }),
  requestTimeoutMs: integer({
    min: 100,
    max: 600_000,
    unit: 'milliseconds',
    default: 30_000,
    summary: 'maximum time from the start of a request to the end of its answer',
  }),
  maxRetryDelayMs: integer({
    min: 10,
    max: 600_000,
    unit: 'milliseconds',
    default: 30_000,
    summary: 'maximum wait between attempts in an outage',
  }),
  flushTimeoutMs: integer({
    min: 0,
    max: 600_000,
    unit: 'milliseconds',
    default: 10_000,
    summary: 'maximum duration of `flush()`, `close()`, `logger.end()`, `forceFlush()`, `shutdown()`',
  }),
  exitTimeoutMs: integer({
    min: 0,
    max: 60_000,
    unit: 'milliseconds',
    default: 2000,
    summary: 'maximum hold-up of [the end of the process](end-of-process.md); 0 turns the hold-up off',
  }),
  exitOnSignals: flag({ default: true, summary: 'makes SIGTERM, SIGINT and SIGHUP wait for delivery' }),
} satisfies DefinitionsOf<ShipperOptions>

/** The options of a shipper after their check, with their defaults. */
export interface ShipperValues extends ValuesOf<typeof shipperOptions>, Basis {}

/** The media types that the ingest operation accepts. */
export type ContentType = ShipperValues['contentType']
