import { invalidOption } from '../errors.ts'
import { Credentials } from '../http/credentials.ts'
import type { RedisClient } from '../org/fleet.ts'
import type { ObtainAccessToken } from './obtain-access-token.ts'
import { expectedOrgId } from './schema.ts'

/** What of `limits` is left to fill in once it is checked. */
interface CheckedLimits {
  readonly orgId?: string | undefined
  readonly accessToken?: string | ObtainAccessToken | undefined
  readonly share: number
  readonly refreshMs?: number | undefined
  readonly onBudget: 'warn' | 'shed'
  readonly overflowField: string
  readonly fleet?: { readonly redis: RedisClient } | undefined
}

/** `limits` as the core uses it. */
export interface ResolvedLimits {
  readonly orgId: string
  /** Who asks for the organization. */
  readonly bearer: Credentials | ObtainAccessToken
  readonly share: number
  readonly refreshMs: number
  readonly onBudget: 'warn' | 'shed'
  readonly overflowField: string
  readonly redis: RedisClient | undefined
}

/**
 * Fills `limits` in from the options of its shipper.
 *
 * @throws TypeError with `code` `LOGFERRY_INVALID_OPTION` when the organization is not named anywhere
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
