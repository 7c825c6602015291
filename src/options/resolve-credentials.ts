import { invalidOption } from '../errors.ts'
import { Credentials } from '../http/credentials.ts'
import { expectedOrgId, expectedToken } from './checks.ts'

/** Options that authenticate requests, each of them already checked. */
interface Bearer {
  readonly token?: string | undefined
  readonly personalAccessToken?: string | undefined
  readonly orgId?: string | undefined
  readonly orgIdHeader: string
}

/**
 * Returns credentials with the one token that was given. A personal access token also takes the id of its organization.
 *
 * @throws TypeError with `code` `LOGFERRY_INVALID_OPTION` if no token or two tokens are given, or the id is missing
 */
export function resolveCredentials(options: Bearer): Credentials {
  const { token, personalAccessToken, orgId, orgIdHeader } = options
  if (personalAccessToken === undefined) {
    if (token !== undefined) return new Credentials(token)
    throw invalidOption('token', `${expectedToken}, or LOGFERRY_TOKEN must be set`, 'nothing')
  }
  if (token !== undefined) {
    throw invalidOption('personalAccessToken', 'given without `token` (one of the two)', 'both')
  }
  if (orgId === undefined) {
    throw invalidOption('orgId', `given together with personalAccessToken: ${expectedOrgId}`, 'nothing')
  }
  return new Credentials(personalAccessToken, orgIdHeader, orgId)
}
