import * as v from 'valibot'
import { invalidOption } from '../errors.ts'
import type { Credentials } from '../http/credentials.ts'
import type { Dispatcher } from '../http/dispatcher.ts'
import type { ResolvedTls } from '../http/verified-tls.ts'
import { resolveBaseUrl } from '../options/base-url.ts'
import { checkTls } from '../options/check-tls.ts'
import { checked } from '../options/checked.ts'
import { type Environment, withEnvironment } from '../options/environment.ts'
import { checkNode } from '../options/node-version.ts'
import { optionsOf } from '../options/options-of.ts'
import { type ResolvedProxy, resolveProxy } from '../options/proxy-env.ts'
import { resolveCredentials } from '../options/resolve-credentials.ts'
import { AccessTokenSchema, integer, serviceEntries } from '../options/schema.ts'
import { strictObject } from '../options/strict-object.ts'
import { ownProperties } from '../own-properties.ts'
import { AccessToken } from './access-token.ts'
import type { OrgClientOptions } from './client-options.ts'

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

const OrgClientOptionsSchema = strictObject({
  ...serviceEntries,
  accessToken: v.optional(AccessTokenSchema),
  timeoutMs: integer(100, 600_000, 'milliseconds'),
})

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
  const options = checked(OrgClientOptionsSchema, withEnvironment(optionsOf(given), environment))
  const [token, secondToken] = tokenOptions.filter(name => options[name] !== undefined)
  if (token === undefined) {
    throw invalidOption('accessToken', `one of ${tokenOptions.join(', ')}, or LOGFERRY_TOKEN must be set`, 'nothing')
  }
  if (secondToken !== undefined) {
    throw invalidOption(secondToken, `the only one of ${tokenOptions.join(', ')}`, `${token} too`)
  }
  const { accessToken, dispatcher, tls, timeoutMs = 10_000 } = options
  const baseUrl = resolveBaseUrl(options.baseUrl, options.region, options.allowInsecure)
  return {
    baseUrl,
    credentials:
      typeof accessToken === 'function'
        ? new AccessToken(accessToken, timeoutMs)
        : resolveCredentials(ownProperties({ ...options, token: options.token ?? accessToken })),
    dispatcher,
    tls: tls && checkTls(tls),
    proxy: resolveProxy(options.proxyEnv, environment, baseUrl),
    timeoutMs,
  }
}
