/** Obtains an access token. */
export type ObtainAccessToken = (request: {
  /** True when the service refused the last token: one from a cache will not do. */
  readonly renew: boolean
  /** Aborted when nobody waits for the token any more. */
  readonly signal: AbortSignal
}) => string | Promise<string>
