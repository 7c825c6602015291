import { inspect } from 'node:util'
import { mistake } from './checks.ts'

/** Limits of a license to enforce: those that are `true`. */
export interface LimitChoice {
  /** Requests of any kind, in each second of the clock. One more is a 429. */
  apiRateLimitPerSecond?: boolean | undefined
  /** Distinct fields of a dataset. An event with one more fails, inside a 200; those without are stored. */
  maxFields?: boolean | undefined
  /** Bytes of decoded bodies, in units of 10^9. Once they are used up, ingest requests are a 429. */
  monthlyIngestGb?: boolean | undefined
  /** Datasets. A request that would create one more is a 403. */
  maxDatasets?: boolean | undefined
  /** `validFrom`, `expiresAt` and a `paymentStatus` of `blocked`: ingest requests are a 403 then. */
  expiry?: boolean | undefined
}

/** What organizations are held to: every limit of their licenses, none, or a choice. */
export type Enforcement = boolean | LimitChoice

export type Limit = keyof LimitChoice

export const limits: readonly Limit[] = [
  'apiRateLimitPerSecond',
  'maxFields',
  'monthlyIngestGb',
  'maxDatasets',
  'expiry',
]

/** The limits that are meant; what makes no sense throws, with `name` in front. */
export function enforcedLimits(name: string, enforcement: Enforcement): ReadonlySet<Limit> {
  if (typeof enforcement === 'boolean') return new Set(enforcement ? limits : [])
  if (typeof enforcement !== 'object' || enforcement === null || Array.isArray(enforcement)) {
    throw mistake(name, 'true, false or an object', enforcement)
  }
  for (const [limit, chosen] of Object.entries(enforcement)) {
    if (!limits.includes(limit as Limit)) throw new TypeError(`${name}: there is no limit ${inspect(limit)}`)
    if (typeof (chosen ?? false) !== 'boolean') throw mistake(`${name}.${limit}`, 'true or false', chosen)
  }
  return new Set(limits.filter(limit => Object.hasOwn(enforcement, limit) && enforcement[limit]))
}
