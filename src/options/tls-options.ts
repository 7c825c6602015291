/** Text in PEM; several in an array, or one after the other in one text. */
export type Pem = string | Uint8Array | readonly (string | Uint8Array)[]

/** How TLS connections to the service are made. What cannot be read throws where the shipper is made. */
export interface TlsOptions {
  /**
   * Certificates of the authorities to trust, in place of those that Node trusts. Where they are given, the service's
   * certificate is verified even if the environment turns that off for others (`NODE_TLS_REJECT_UNAUTHORIZED=0`).
   */
  ca?: Pem | undefined
  /** A client's certificate, with what stands between it and its authority; needs `key`. */
  cert?: Pem | undefined
  /** The private key of `cert`; without a passphrase. */
  key?: Pem | undefined
}

/** The same as texts: what a worker can be given. */
export interface ResolvedTls {
  readonly ca?: string[] | undefined
  readonly cert?: string[] | undefined
  readonly key?: string[] | undefined
}
