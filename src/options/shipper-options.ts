import type { Dispatcher } from '../http/dispatcher.ts'
import type { BaseUrl, Region } from './base-url.ts'
import type { FieldsOptions } from './fields-options.ts'
import type { LimitsOptions } from './limits-options.ts'
import type { ProxyEnv } from './proxy-env.ts'
import type { SpoolOptions } from './spool-options.ts'
import type { TlsOptions } from './tls-options.ts'
import type { UsageOptions } from './usage-options.ts'

/**
 * Options of `createShipper`. The Winston transport and the OpenTelemetry exporter and processor take them as well, and
 * create a shipper from them.
 *
 * `undefined` means the default. An unknown name throws a `TypeError`, so that a typing mistake does not go unnoticed.
 * A value of the wrong type throws a `TypeError`, and a value out of range throws a `RangeError`. Both have the `code`
 * `LOGFERRY_INVALID_OPTION`.
 *
 * Only own enumerable properties count, here and in nested objects. Properties inherited from a class or from
 * `Object.prototype` are ignored.
 */
export interface ShipperOptions extends UsageOptions {
  /**
   * Base address of the service, or one for each region; then `region` selects one.
   *
   * The scheme is `https:`, or `http:` for a loopback host (see also `allowInsecure`). The address may have a path, to
   * which the service's paths are appended. It must not have a user name, password, query or fragment.
   *
   * @defaultValue the environment variable `LOGFERRY_URL`; without it, required
   */
  baseUrl?: BaseUrl | undefined
  /**
   * Region that the organization lives in: `us` or `eu`. Required if `baseUrl` has an address for each region.
   *
   * @defaultValue the environment variable `LOGFERRY_REGION`
   */
  region?: Region | undefined
  /**
   * Name of the dataset that events go to, or a function that names the dataset of each event. A name has 1 to 1 024
   * characters, has no control characters, and is not `.` or `..`.
   *
   * The function gets the event as it was logged. It runs inside the log call, and should be quick. If it throws or
   * returns no usable name, the event is dropped, counted and reported.
   *
   * @defaultValue the environment variable `LOGFERRY_DATASET`; without it, required
   */
  dataset?: string | ((event: Readonly<Record<string, unknown>>) => string) | undefined
  /**
   * API token, sent as `Authorization: Bearer`. Visible ASCII characters, no spaces. Giving `personalAccessToken` as
   * well throws a `TypeError`.
   *
   * @defaultValue the environment variable `LOGFERRY_TOKEN`; this or `personalAccessToken` is required
   */
  token?: string | undefined
  /**
   * Personal access token, in place of `token`; requires `orgId`. Visible ASCII characters, no spaces. Prefer an API
   * token, which has fewer rights.
   *
   * @defaultValue none
   */
  personalAccessToken?: string | undefined
  /**
   * Id of the organization, sent with a personal access token. Visible ASCII characters, no spaces.
   *
   * It is also the default of `limits.orgId`. With a `spool`, only a process with the same id adopts events.
   *
   * @defaultValue the environment variable `LOGFERRY_ORG_ID`
   */
  orgId?: string | undefined
  /**
   * Name of the header that carries `orgId`. Headers that a request has for other purposes, such as `authorization` or
   * `content-type`, throw a `RangeError`.
   *
   * @defaultValue 'x-service-org-id'
   */
  orgIdHeader?: string | undefined
  /**
   * Allows `http:` to a host other than `localhost` and the loopback addresses. The token then crosses the network
   * unprotected.
   *
   * @defaultValue false
   */
  allowInsecure?: boolean | undefined
  /**
   * An undici `Dispatcher` (undici 7 or later) that sends the requests, such as a `ProxyAgent` or an `Agent`. The
   * application owns it: `close()` leaves it open. A dispatcher of an older undici throws a `RangeError`.
   *
   * The worker that delivers after `process.exit()` cannot use it. The worker makes connections of its own, with `tls`
   * and `proxyEnv`.
   *
   * @defaultValue connections of the shipper's own, one for each concurrent request
   */
  dispatcher?: Dispatcher | undefined
  /**
   * Private CA to trust, client certificate and key, all in PEM: `{ ca, cert, key }`. Used for the shipper's own
   * connections, also at the end of the process. A `dispatcher` does not get it.
   *
   * `NODE_EXTRA_CA_CERTS` and `--use-system-ca` need no option.
   *
   * @defaultValue the certificates that Node trusts
   */
  tls?: TlsOptions | undefined
  /**
   * Proxies, as Node's own agents take them: `process.env`, or an object with `HTTPS_PROXY`, `HTTP_PROXY` and
   * `NO_PROXY`. `{}` means no proxy.
   *
   * Used for the shipper's own connections, also at the end of the process. A `dispatcher` does not get it. A service
   * on this machine (`localhost`, 127.x.x.x, [::1]) is always reached directly.
   *
   * Requires Node 22.21 or later, or 24.5 or later. On other versions the option throws a `RangeError`.
   *
   * @defaultValue `process.env` if Node uses proxies of the environment (`NODE_USE_ENV_PROXY=1`, `--use-env-proxy`),
   * else none
   */
  proxyEnv?: ProxyEnv | undefined
  /**
   * Media type of request bodies: newline-delimited JSON, or a JSON array.
   *
   * @defaultValue 'application/x-ndjson'
   */
  contentType?: 'application/x-ndjson' | 'application/json' | undefined
  /**
   * Compression of request bodies. Bodies of less than 1 024 bytes are not compressed.
   *
   * If the service does not accept the compression, the next one of zstd, gzip, none is used. The better one is tried
   * again after a minute, then after ever longer waits, up to a day.
   *
   * @defaultValue 'zstd'
   */
  compression?: 'zstd' | 'gzip' | 'none' | undefined
  /**
   * Name of the field for the time stamp, which is RFC 3339 with nanoseconds. 1 to 200 characters. An event that has
   * this field keeps its own value.
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
   * With a `spool`, a batch of several events also has at most an eighth of `spool.maxBytes`. A second bound is
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
   * and at the end of the process there may be more than the maximum: one for each dataset, up to 32.
   *
   * @defaultValue 4
   */
  maxConcurrentRequests?: number | undefined
  /**
   * Maximum time from the start of a request to the end of its answer, in milliseconds. Integer, 100 to 600 000. A
   * request that takes longer is aborted and sent again.
   *
   * @defaultValue 30000
   */
  requestTimeoutMs?: number | undefined
  /**
   * Maximum wait between two attempts while the service is unreachable, in milliseconds. Integer, 10 to 600 000.
   *
   * Waits grow toward it, with full jitter. A `Retry-After` of the service takes precedence, up to an hour.
   *
   * @defaultValue 30000
   */
  maxRetryDelayMs?: number | undefined
  /**
   * Default maximum time that `flush()` and `close()` wait for delivery, in milliseconds. Integer, 0 to 600 000.
   *
   * It also applies to their callers: the end of a Winston logger, `forceFlush` and `shutdown`.
   *
   * @defaultValue 10000
   */
  flushTimeoutMs?: number | undefined
  /**
   * Maximum time that delivery may delay the end of the process, in milliseconds. Integer, 0 to 60 000. 0 means no
   * delay.
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
   * Reads the organization's license at the start and every hour (`limits.refreshMs`), and stays within it: request
   * rate, monthly ingest, and fields of a dataset. Never delays a log call.
   *
   * @defaultValue none: batches and request rate follow the options above and the answers of the service
   */
  limits?: LimitsOptions | undefined
  /**
   * Keeps the number of fields in bounds, with or without a license: groups that become one text each, and a maximum
   * number of fields per dataset. Warns of fields whose names look like values, and of fields that change their type.
   *
   * @defaultValue none: events keep their fields
   */
  fields?: FieldsOptions | undefined
}

/** The media types that the ingest operation accepts. */
export type ContentType = NonNullable<ShipperOptions['contentType']>
