import { invalidOption } from '../errors.ts'
import { Credentials } from '../http/credentials.ts'
import { expectedOrgId } from './checks.ts'
import { type LimitsOptions, limitsOptions } from './limits-options.ts'
import type { ObtainAccessToken } from './obtain-access-token.ts'
import type { ValuesOf } from './option.ts'
import type { RedisClient } from './redis-client.ts'
import { withDefaults } from './with-defaults.ts'

/** The option `limits` as the core uses it. */
export interface ResolvedLimits extends Omit<ValuesOf<typeof limitsOptions>, 'orgId' | 'accessToken' | 'fleet'> {
  readonly orgId: string
  /** The credentials that read the organization, or a function that obtains a token for that. */
  readonly bearer: Credentials | ObtainAccessToken
  readonly redis: RedisClient | undefined
}

/**
 * Fills in `limits` from the options of its shipper, and the defaults.
 *
 * @throws TypeError with `code` `LOGFERRY_INVALID_OPTION` if no option names the organization
 */
export function resolveLimits(
  limits: LimitsOptions,
  orgIdOfShipper: string | undefined,
  ofShipper: Credentials,
): ResolvedLimits {
  const { accessToken, orgId = orgIdOfShipper, fleet, ...rest } = withDefaults(limitsOptions, limits)
  if (orgId === undefined) {
    throw invalidOption('limits.orgId', `${expectedOrgId}, or orgId or LOGFERRY_ORG_ID must be set`, 'nothing')
  }
  const bearer = typeof accessToken === 'string' ? new Credentials(accessToken) : (accessToken ?? ofShipper)
  return { ...rest, orgId, bearer, redis: fleet?.redis }
}
