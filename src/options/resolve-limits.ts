import { invalidOption } from '../errors.ts'
import { Credentials } from '../http/credentials.ts'
import type { ObtainAccessToken } from './obtain-access-token.ts'
import type { RedisClient } from './redis-client.ts'
import { expectedOrgId } from './schema.ts'

/** The option `limits` after its check, before missing values are filled in. */
interface CheckedLimits {
  readonly orgId?: string | undefined
  readonly accessToken?: string | ObtainAccessToken | undefined
  readonly share: number
  readonly refreshMs?: number | undefined
  readonly onBudget: 'warn' | 'shed'
  readonly overflowField: string
  readonly fleet?: { readonly redis: RedisClient } | undefined
}

/** The option `limits` as the core uses it. */
export interface ResolvedLimits {
  readonly orgId: string
  /** The credentials that read the organization, or a function that obtains a token for that. */
  readonly bearer: Credentials | ObtainAccessToken
  readonly share: number
  readonly refreshMs: number
  readonly onBudget: 'warn' | 'shed'
  readonly overflowField: string
  readonly redis: RedisClient | undefined
}

/**
 * Fills in `limits` from the options of its shipper.
 *
 * @throws TypeError with `code` `LOGFERRY_INVALID_OPTION` if no option names the organization
 */
export function resolveLimits(
  limits: CheckedLimits,
  orgIdOfShipper: string | undefined,
  ofShipper: Credentials,
): ResolvedLimits {
  const { accessToken, share, refreshMs = 3_600_000, onBudget, overflowField } = limits
  const orgId = limits.orgId ?? orgIdOfShipper
  if (orgId === undefined) {
    throw invalidOption('limits.orgId', `${expectedOrgId}, or orgId or LOGFERRY_ORG_ID must be set`, 'nothing')
  }
  const bearer = typeof accessToken === 'string' ? new Credentials(accessToken) : (accessToken ?? ofShipper)
  return { orgId, bearer, share, refreshMs, onBudget, overflowField, redis: limits.fleet?.redis }
}
