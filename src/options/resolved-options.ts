import type { Credentials } from '../http/credentials.ts'
import type { Dispatcher } from '../http/dispatcher.ts'
import type { Region } from './base-url.ts'
import type { ResolvedFields } from './fields-schema.ts'
import type { ResolvedProxy } from './proxy-env.ts'
import type { ResolvedLimits } from './resolve-limits.ts'
import type { ContentType, ShipperOptions } from './shipper-options.ts'
import type { ResolvedSpool } from './spool-options.ts'
import type { ResolvedTls } from './tls-options.ts'

/** Options as the core uses them: checked, and filled in from the environment and the defaults. */
export interface ResolvedOptions {
  readonly baseUrl: URL
  readonly region: Region | undefined
  readonly dataset: string | ((event: Readonly<Record<string, unknown>>) => string)
  /** The token of every request. A personal access token comes with the id of its organization. */
  readonly credentials: Credentials
  readonly dispatcher: Dispatcher | undefined
  readonly tls: ResolvedTls | undefined
  readonly proxy: ResolvedProxy
  readonly limits: ResolvedLimits | undefined
  readonly fields: ResolvedFields | undefined
  readonly countUsage: boolean
  readonly reportUsageEveryMs: number | undefined
  readonly spool: ResolvedSpool | undefined
  readonly durability: 'memory' | 'disk'
  readonly onRejected: ShipperOptions['onRejected']
  readonly contentType: ContentType
  readonly compression: 'zstd' | 'gzip' | 'none'
  readonly timeField: string
  readonly maxBatchAgeMs: number
  readonly maxBatchBytes: number
  /** Maximum bytes of a batch under a heavy load. Equals `maxBatchBytes` if the application set that option. */
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
