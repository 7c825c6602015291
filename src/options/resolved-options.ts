import type { Credentials } from '../http/credentials.ts'
import type { ResolvedTls } from '../http/verified-tls.ts'
import type { ResolvedFields } from './fields-options.ts'
import type { ResolvedCollapse, ResolvedHold } from './noise-options.ts'
import type { ResolvedProxy } from './proxy-env.ts'
import type { ResolvedLimits } from './resolve-limits.ts'
import type { ResolvedRedact } from './resolve-redact.ts'
import type { ResolvedShaping } from './shaping-options.ts'
import type { ShipperValues } from './shipper-options.ts'
import type { ResolvedSpool } from './spool-options.ts'

/** Options as the core uses them: checked, and filled in from the environment and the defaults. */
export interface ResolvedOptions extends Omit<ShipperValues, ConvertedName> {
  readonly baseUrl: URL
  readonly dataset: NonNullable<ShipperValues['dataset']>
  /** The token of every request. A personal access token comes with the id of its organization. */
  readonly credentials: Credentials
  readonly tls: ResolvedTls | undefined
  readonly proxy: ResolvedProxy
  readonly limits: ResolvedLimits | undefined
  /** `undefined` if this process adapts its request rate alone. */
  readonly rates: ResolvedRates | undefined
  readonly spool: ResolvedSpool | undefined
  readonly collapse: ResolvedCollapse | undefined
  readonly hold: ResolvedHold | undefined
  readonly shaping: ResolvedShaping
  readonly fields: ResolvedFields | undefined
  /** `undefined` if nothing is to be redacted. */
  readonly redact: ResolvedRedact | undefined
  /** Maximum bytes of a batch under a heavy load. Equals `maxBatchBytes` if the application set that option. */
  readonly maxUnlimitedBatchBytes: number
}

/** Where processes agree on their request rates, and what they must have in common. */
export interface ResolvedRates {
  /** `undefined` for the default. */
  readonly directory: string | undefined
  /** The address of the service, then `#` and the id of the organization if there is one. */
  readonly destination: string
  /** False if the id is unknown: the processes must then have the same token. */
  readonly isOfOrganization: boolean
}

/** Options that the core uses in another form. */
type ConvertedName =
  | 'baseUrl'
  | 'token'
  | 'personalAccessToken'
  | 'orgId'
  | 'orgIdHeader'
  | 'allowInsecure'
  | 'tls'
  | 'proxyEnv'
  | 'dataset'
  | 'limits'
  | 'rateDirectory'
  | 'spool'
  | 'collapse'
  | 'hold'
  | 'minSeverity'
  | 'context'
  | 'transform'
  | 'sample'
  | 'redact'
  | 'redactText'
  | 'fields'
