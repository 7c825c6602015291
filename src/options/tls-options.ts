import { custom, type DefinitionsOf } from './option.ts'

/** Text in PEM. Several texts can stand in an array, or one after the other in one text. */
export type Pem = string | Uint8Array | readonly (string | Uint8Array)[]

/**
 * Options for TLS connections to the service. They are checked when the shipper or client is created. A value of the
 * wrong type throws a `TypeError`. A text that is not PEM, PEM that OpenSSL cannot read, and `cert` without `key` throw a
 * `RangeError`.
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

const expectedPem = 'PEM in a string or a Buffer (not the path of a file), or an array of them'
const isPemType = (value: unknown): boolean =>
  Array.isArray(value) ? value.every(isPemType) : typeof value === 'string' || value instanceof Uint8Array
const isPem = (value: unknown) => pemTexts(value).every(text => text?.includes('-----BEGIN '))

/** Returns the texts of a value that should be PEM, with `undefined` for each part that is not a text. */
export function pemTexts(value: unknown): (string | undefined)[] {
  if (Array.isArray(value) && value.length > 0) return value.flatMap(pemTexts)
  if (value instanceof Uint8Array) return [Buffer.from(value).toString('latin1')]
  return [typeof value === 'string' ? value : undefined]
}

/** The definition of each of `TlsOptions`. */
export const tlsOptions = {
  ca: custom({
    accepts: isPem,
    hasType: isPemType,
    expected: expectedPem,
    values: 'PEM',
    defaultText: 'those that Node trusts',
    summary: 'authorities to trust; the service is then verified whatever `NODE_TLS_REJECT_UNAUTHORIZED` says',
  }),
  cert: custom({
    accepts: isPem,
    hasType: isPemType,
    expected: expectedPem,
    values: 'PEM',
    summary: 'client certificate; requires `key`',
  }),
  key: custom({
    accepts: isPem,
    hasType: isPemType,
    expected: expectedPem,
    values: 'PEM',
    summary: 'private key of `cert`, without a passphrase',
  }),
} satisfies DefinitionsOf<TlsOptions>
