import type { Dispatcher } from '../http/dispatcher.ts'
import type { ObtainAccessToken } from '../options/obtain-access-token.ts'
import type { ShipperOptions } from '../options/shipper-options.ts'

type ServiceOptions = Pick<
  ShipperOptions,
  'baseUrl' | 'region' | 'personalAccessToken' | 'orgId' | 'orgIdHeader' | 'allowInsecure' | 'tls' | 'proxyEnv'
>

/**
 * Options of `createOrgClient`. Exactly one token is needed: `accessToken`, `token` or `personalAccessToken`.
 * `undefined` means the default. Unknown names are refused.
 */
export interface OrgClientOptions extends ServiceOptions {
  /**
   * Access token from an OAuth 2.0 flow, or a function that obtains one. The function is called when the first request
   * needs a token, and again, once for a request, when the service answers 401 or 403; requests at the same time share
   * what it gives. Visible ASCII characters, no spaces; when the function gives something else, fails, or takes longer
   * than `timeoutMs`, the request fails.
   */
  accessToken?: string | ObtainAccessToken | undefined
  /**
   * API token that was set up for organizations.
   *
   * @defaultValue the environment variable `LOGFERRY_TOKEN`, where no other token is given
   */
  token?: string | undefined
  /**
   * An undici `Dispatcher` (undici 7 or later) that sends the requests: a `ProxyAgent`, an `Agent` with a private CA.
   * It stays yours: `close()` leaves it open.
   *
   * @defaultValue a pool of connections of our own
   */
  dispatcher?: Dispatcher | undefined
  /**
   * Longest time a call takes, in milliseconds: obtaining a token, every attempt and the waits between them. Integer,
   * 100 to 600 000.
   *
   * @defaultValue 10000
   */
  timeoutMs?: number | undefined
}
