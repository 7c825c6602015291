import type { Credentials } from '../http/credentials.ts'
import type { Dispatcher } from '../http/dispatcher.ts'
import type { Region } from './base-url.ts'
import type { ResolvedProxy } from './proxy-env.ts'
import type { ResolvedLimits } from './resolve-limits.ts'
import type { ContentType, ShipperOptions } from './shipper-options.ts'
import type { ResolvedSpool } from './spool-options.ts'
import type { ResolvedTls } from './tls-options.ts'

/** Options as the core uses them: checked, with defaults and environment filled in. */
export interface ResolvedOptions {
  readonly baseUrl: URL
  readonly region: Region | undefined
  readonly dataset: string | ((event: Readonly<Record<string, unknown>>) => string)
  /** The bearer of every request; an organization's id goes with a personal one. */
  readonly credentials: Credentials
  readonly dispatcher: Dispatcher | undefined
  readonly tls: ResolvedTls | undefined
  readonly proxy: ResolvedProxy
  readonly limits: ResolvedLimits | undefined
  readonly spool: ResolvedSpool | undefined
  readonly durability: 'memory' | 'disk'
  readonly onRejected: ShipperOptions['onRejected']
  readonly contentType: ContentType
  readonly compression: 'zstd' | 'gzip' | 'none'
  readonly timeField: string
  readonly maxBatchAgeMs: number
  readonly maxBatchBytes: number
  /** What batches may grow to under a heavy load: the same, where it was given. */
  readonly maxUnlimitedBatchBytes: number
  readonly maxBatchEvents: number
  readonly maxEventBytes: number
  readonly maxBufferedBytes: number
  readonly maxConcurrentRequests: number
  readonly requestTimeoutMs: number
  readonly maxRetryDelayMs: number
  readonly flushTimeoutMs: number
  readonly exitTimeoutMs: number
  readonly exitOnSignals: boolean
}
