import { isOptionGroup } from '../own-properties.ts'
import { checkFlag, checkKeys, mistake } from './checks.ts'

/** A choice of license limits. A limit is enforced if its property is `true`. */
export interface LimitChoice {
  /** Requests of any kind in each second of the clock. A request beyond the limit gets a 429. */
  apiRateLimitPerSecond?: boolean | undefined
  /**
   * Distinct fields of a dataset. An event that would add one more fails, inside a 200; the other events are stored.
   */
  maxFields?: boolean | undefined
  /**
   * Decoded bytes per month, in units of 10^9. After they are used up, ingest requests get a 429 until the billing
   * period ends.
   */
  monthlyIngestGb?: boolean | undefined
  /** Number of datasets. A request that would create one more gets a 403. */
  maxDatasets?: boolean | undefined
  /**
   * Validity of the license. Ingest requests get a 403 before `validFrom`, from `expiresAt` on, and while
   * `paymentStatus` is `blocked`.
   */
  expiry?: boolean | undefined
}

/** The license limits that the emulator enforces: `true` for every limit, `false` for none, or a choice. */
export type Enforcement = boolean | LimitChoice

export type Limit = keyof LimitChoice

export const limits: readonly Limit[] = [
  'apiRateLimitPerSecond',
  'maxFields',
  'monthlyIngestGb',
  'maxDatasets',
  'expiry',
]

/** Returns the limits to enforce. @throws TypeError that starts with `name` if the enforcement is invalid */
export function enforcedLimits(name: string, enforcement: Enforcement): ReadonlySet<Limit> {
  if (typeof enforcement === 'boolean') return new Set(enforcement ? limits : [])
  if (!isOptionGroup(enforcement)) throw mistake(name, 'true, false or an object', enforcement)
  checkKeys(name, enforcement, limits)
  for (const [limit, chosen] of Object.entries(enforcement)) checkFlag(`${name}.${limit}`, chosen ?? false)
  return new Set(limits.filter(limit => Object.hasOwn(enforcement, limit) && enforcement[limit]))
}
