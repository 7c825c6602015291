import type { Dispatcher } from '../http/dispatcher.ts'
import { AccessTokenSchema } from '../options/checks.ts'
import type { ObtainAccessToken } from '../options/obtain-access-token.ts'
import { type DefinitionsOf, integer, option } from '../options/option.ts'
import { type ServiceOptions, serviceOptions } from '../options/service-options.ts'

/**
 * Options of `createOrgClient`. Exactly one token is required: `accessToken`, `token` or `personalAccessToken`.
 * `undefined` means the default. An unknown name throws a `TypeError`.
 */
export interface OrgClientOptions extends ServiceOptions {
  /**
   * Access token from an OAuth 2.0 flow, or a function that obtains one. The token consists of visible ASCII characters
   * without spaces.
   *
   * The client calls the function when the first call needs a token. If the service answers 401 or 403, the client asks
   * the function again, at most once per call. Concurrent calls share the result. A call fails if the function fails,
   * returns anything else than a token, or takes longer than `timeoutMs`.
   */
  accessToken?: string | ObtainAccessToken | undefined
  /**
   * API token that was set up for organizations.
   *
   * @defaultValue the environment variable `LOGFERRY_TOKEN`, if no other token is given
   */
  token?: string | undefined
  /**
   * An undici `Dispatcher` (undici 7 or later) that sends the requests, such as a `ProxyAgent` or an `Agent` with a
   * private CA. The application owns the dispatcher: `close()` does not close it.
   *
   * @defaultValue the client's own connection pool, with up to 4 connections
   */
  dispatcher?: Dispatcher | undefined
  /**
   * Maximum duration of a call, in milliseconds. It covers obtaining a token, every attempt, and the waits between
   * attempts.
   *
   * Integer, 100 to 600 000; any other value throws a `TypeError` or a `RangeError` when the client is created.
   *
   * @defaultValue 10000
   */
  timeoutMs?: number | undefined
}

/** The definition of each of `OrgClientOptions`. */
export const orgClientOptions = {
  ...serviceOptions,
  accessToken: option({
    check: AccessTokenSchema,
    isSecret: true,
    values: 'string or function',
    summary: 'access token, or a function that obtains one; in place of `token`',
  }),
  timeoutMs: integer({
    min: 100,
    max: 600_000,
    unit: 'milliseconds',
    default: 10_000,
    summary: 'maximum duration of a call, with the waits between attempts',
  }),
} satisfies DefinitionsOf<OrgClientOptions>
