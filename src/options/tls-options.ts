/** Text in PEM. Several texts can stand in an array, or one after the other in one text. */
export type Pem = string | Uint8Array | readonly (string | Uint8Array)[]

/**
 * Options for TLS connections to the service. They are checked when the shipper or client is created. A value that is
 * not PEM throws a `TypeError`; PEM that OpenSSL cannot read throws a `RangeError`, as `cert` without `key` does.
 */
export interface TlsOptions {
  /**
   * Certificates of the authorities to trust, in place of those that Node trusts. The service's certificate is then
   * always verified, even if the environment turns that off (`NODE_TLS_REJECT_UNAUTHORIZED=0`).
   *
   * @defaultValue the certificates that Node trusts
   */
  ca?: Pem | undefined
  /**
   * Client certificate, with the certificates between it and its authority; requires `key`.
   *
   * @defaultValue none
   */
  cert?: Pem | undefined
  /**
   * Private key of `cert`, without a passphrase; requires `cert`.
   *
   * @defaultValue none
   */
  key?: Pem | undefined
}
