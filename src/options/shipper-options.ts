import type { Dispatcher } from '../http/dispatcher.ts'
import type { BaseUrl, Region } from './base-url.ts'
import type { LimitsOptions } from './limits-options.ts'
import type { ProxyEnv } from './proxy-env.ts'
import type { SpoolOptions } from './spool-options.ts'
import type { TlsOptions } from './tls-options.ts'

/**
 * Options of `createShipper`, and of the Winston transport and the OpenTelemetry exporter and processor, which make a
 * shipper of their own from them. `undefined` means the default. Unknown names are refused, so that a slip of the pen
 * does not go unnoticed. Options are own enumerable properties, here and in the objects below: a property that is inherited,
 * from a class or from `Object.prototype`, is ignored.
 */
export interface ShipperOptions {
  /**
   * Base address of the service, or one for each region (then `region` says which). `https:`, or `http:` to a loopback
   * host. It may carry a path; the service's paths are appended to it. No user name, password, query or fragment.
   *
   * @defaultValue the environment variable `LOGFERRY_URL`; without it, required
   */
  baseUrl?: BaseUrl | undefined
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
   * Name of the header that carries `orgId`. None that a request has anyway, such as `authorization` or `content-type`.
   *
   * @defaultValue 'x-service-org-id'
   */
  orgIdHeader?: string | undefined
  /**
   * Allows `http:` to a host other than `localhost` and the loopback addresses. The token then crosses the network unprotected.
   *
   * @defaultValue false
   */
  allowInsecure?: boolean | undefined
  /**
   * An undici `Dispatcher` (undici 7 or later) that sends the requests: a `ProxyAgent`, an `Agent` of your own. It stays
   * yours: `close()` leaves it open. It cannot follow into the worker that delivers after `process.exit()`: that one
   * connects to the service by itself, with `tls` and `proxyEnv`.
   *
   * @defaultValue a pool of `maxConcurrentRequests` connections of our own
   */
  dispatcher?: Dispatcher | undefined
  /**
   * A private CA to trust, a client's certificate and key, in PEM: `{ ca, cert, key }`. For connections of our own, at the
   * end of the process too; a `dispatcher` does not see it. `NODE_EXTRA_CA_CERTS` and `--use-system-ca` need no option.
   *
   * @defaultValue what Node trusts
   */
  tls?: TlsOptions | undefined
  /**
   * Proxies, as Node's own agents take them: `process.env`, or an object of your own with `HTTPS_PROXY`, `HTTP_PROXY` and
   * `NO_PROXY`; `{}` for none. Used by connections of our own, at the end of the process too; a `dispatcher` does not see it.
   * A service on this machine (`localhost`, 127.x.x.x, [::1]) is always reached directly. Needs Node 22.21 or later, or 24.5
   * or later; on any other, the option throws.
   *
   * @defaultValue `process.env` if Node uses proxies of the environment (`NODE_USE_ENV_PROXY=1`, `--use-env-proxy`), else none
   */
  proxyEnv?: ProxyEnv | undefined
  /**
   * Media type of request bodies: newline-delimited JSON, or a JSON array.
   *
   * @defaultValue 'application/x-ndjson'
   */
  contentType?: 'application/x-ndjson' | 'application/json' | undefined
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
   * split, and the size that fitted is kept. With a `spool`, also at most an eighth of its `maxBytes`, and of
   * `maxBufferedBytes` divided by 4 × `maxConcurrentRequests`.
   *
   * @defaultValue 1048576, and up to 4194304 while so much is logged (more than 40 MB/s) that there would be more than 40
   * requests a second
   */
  maxBatchBytes?: number | undefined
  /**
   * Most events of a batch. Integer, 1 to 100 000. The public service that resembles this one takes 10 000 in a request.
   *
   * @defaultValue 10000, and up to 100000 while the request rate is limited and the events would not fit into it otherwise
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
   * compressed copies. As it fills, events of low severity are refused first; the last part is kept for errors. With a
   * `spool`, batches go to disk when half of it is used. Integer, at least 8 × `maxBatchBytes`.
   *
   * @defaultValue an eighth of the memory that the process may use, from 32 MiB to 512 MiB; with a `spool` 32 MiB, or
   * 4 × `maxConcurrentRequests` × `maxBatchBytes` if that is more; in either case at least 8 × `maxBatchBytes`
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
   * jitter. A `Retry-After` of the service goes before it, up to an hour. Integer, 10 to 600 000.
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
   * At its natural end the process goes on for as long. After `process.exit()` or an uncaught error a worker thread sends
   * what is left, also what was in flight, and the main thread waits for it. What a later handler of `'exit'` logs is sent
   * before its log call returns, within what is left of the time. The same happens when a signal ends the process, unless
   * `exitOnSignals` is false.
   *
   * @defaultValue 2000
   */
  exitTimeoutMs?: number | undefined
  /**
   * Whether SIGTERM, SIGINT and SIGHUP wait for delivery, for `exitTimeoutMs` at most. If the application has no handler for
   * the signal, pending events are delivered and the signal is raised again, so that the process ends as it would have. If
   * it has one, pending events are sent without further delay, and the end of the process is left to the handler.
   *
   * Does nothing while no event is pending, in a worker thread, or if `exitTimeoutMs` is 0.
   *
   * @defaultValue true
   */
  exitOnSignals?: boolean | undefined
  /**
   * Has events wait on disk that delivery cannot take yet: batches go there when memory for them is half full, or when the
   * process ends before they are delivered, and are sent as soon as they can be, by the next process if need be.
   *
   * @defaultValue none: what memory cannot hold, or the end of the process does not wait for, is dropped
   */
  spool?: SpoolOptions | undefined
  /**
   * When an event is safe. `'memory'`: it is lost if the process is killed before it is delivered. `'disk'`: it is written
   * to the spool before the log call returns, and survives even kill -9; a failure of power can cost the last seconds.
   * Costs some microseconds an event, and needs `spool`.
   *
   * @defaultValue 'memory'
   */
  durability?: 'memory' | 'disk' | undefined
  /**
   * Called with each event that the service refuses, as it was sent, and the service's reason; the event is `undefined`
   * where the service did not say which it was. With a `spool`, they are also appended to `rejected.ndjson` in its
   * directory. What it throws is reported, and does no harm.
   *
   * @defaultValue none: the refusal is counted, and warned of
   */
  onRejected?: ((event: Record<string, unknown> | undefined, reason: string) => void) | undefined
  /**
   * Reads the organization's license, at the start and every hour, and keeps to it: request rate, batch size and age,
   * monthly ingest, fields of a dataset. Never delays a log call.
   *
   * @defaultValue none: batches and pace follow the options above and what the answers say
   */
  limits?: LimitsOptions | undefined
}

/** The media types of the ingest operation. */
export type ContentType = NonNullable<ShipperOptions['contentType']>
