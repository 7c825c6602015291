import { invalidOption } from '../errors.ts'
import type { Credentials } from '../http/credentials.ts'
import type { Dispatcher } from '../http/dispatcher.ts'
import type { ResolvedTls } from '../http/verified-tls.ts'
import { checkNode } from '../node-version.ts'
import { resolveBaseUrl } from '../options/base-url.ts'
import { checked } from '../options/checked.ts'
import { type Environment, namingVariables, withEnvironment } from '../options/environment.ts'
import { optionsOf } from '../options/options-of.ts'
import { type ResolvedProxy, resolveProxy } from '../options/proxy-env.ts'
import { resolveCredentials } from '../options/resolve-credentials.ts'
import { resolveTls } from '../options/resolve-tls.ts'
import { withDefaults } from '../options/with-defaults.ts'
import { AccessToken } from './access-token.ts'
import { type OrgClientOptions, orgClientOptions } from './client-options.ts'

/** The options as the client uses them: checked, with defaults and values from the environment. */
export interface ResolvedOrgClientOptions {
  readonly baseUrl: URL
  /** A fixed token, or one that is renewed. */
  readonly credentials: Credentials | AccessToken
  readonly dispatcher: Dispatcher | undefined
  readonly tls: ResolvedTls | undefined
  readonly proxy: ResolvedProxy
  readonly timeoutMs: number
}

const tokenOptions = ['accessToken', 'token', 'personalAccessToken'] as const

/**
 * Checks the options, and completes them from the environment and the defaults.
 *
 * @throws TypeError | RangeError with `code` `LOGFERRY_INVALID_OPTION`; the message names the option, the expectation
 * and the value
 * @throws Error if this version of Node is too old
 */
export function resolveClientOptions(
  given: OrgClientOptions | undefined,
  environment: Environment,
): ResolvedOrgClientOptions {
  checkNode()
  const own = optionsOf(given)
  return namingVariables(orgClientOptions, own, environment, () => resolve(own, environment))
}

function resolve(given: OrgClientOptions, environment: Environment): ResolvedOrgClientOptions {
  const set = checked(orgClientOptions, withEnvironment(orgClientOptions, given, environment))
  const options = withDefaults(orgClientOptions, set)
  const [token, secondToken] = tokenOptions.filter(name => options[name] !== undefined)
  if (token === undefined) {
    throw invalidOption('accessToken', 'set, unless token, personalAccessToken or LOGFERRY_TOKEN is', 'nothing')
  }
  if (secondToken !== undefined) {
    throw invalidOption(secondToken, `the only one of ${tokenOptions.join(', ')}`, `${token} too`)
  }
  const { accessToken, personalAccessToken, orgId, orgIdHeader, dispatcher, tls, timeoutMs } = options
  const baseUrl = resolveBaseUrl(options.baseUrl, options.region, options.allowInsecure)
  return {
    baseUrl,
    credentials:
      typeof accessToken === 'function'
        ? new AccessToken(accessToken, timeoutMs)
        : resolveCredentials({ token: options.token ?? accessToken, personalAccessToken, orgId, orgIdHeader }),
    dispatcher,
    tls: tls && resolveTls(tls),
    proxy: resolveProxy(options.proxyEnv, environment, baseUrl),
    timeoutMs,
  }
}
