/**
 * Obtains an access token: visible ASCII characters, no spaces. If the function throws, rejects or returns anything
 * else, the request fails.
 */
export type ObtainAccessToken = (request: {
  /** True if the service has refused an earlier token: a cached token will not do. */
  readonly renew: boolean
  /** Aborted when the time for the token is up: `timeoutMs` of an organization client, 10 seconds for a shipper. */
  readonly signal: AbortSignal
}) => string | Promise<string>
