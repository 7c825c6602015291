import type { X509Certificate } from 'node:crypto'
import { invalidOption } from '../errors.ts'
import type { ResolvedTls } from '../http/verified-tls.ts'
import { type Pem, pemTexts, type TlsOptions } from './tls-options.ts'

/**
 * Converts the option `tls` to texts, and checks certificates and key in advance. The first connection would fail on
 * some mistakes, and ignore others: it reads `ca` only up to the first unreadable part. Errors do not show the given
 * texts. `node:tls` and `node:crypto` load only if the option is given.
 *
 * @throws RangeError with `code` `LOGFERRY_INVALID_OPTION` if one of `cert` and `key` is missing, or if OpenSSL refuses
 * a certificate, the key, or the pair of both
 */
export function resolveTls(tls: TlsOptions): ResolvedTls {
  if ((tls.cert === undefined) !== (tls.key === undefined)) {
    const got = tls.key === undefined ? 'one with cert only' : 'one with key only'
    throw invalidOption('tls', 'an object with both cert and key, or with neither', got, 'range')
  }
  const [ca, cert, key] = [textsIn(tls.ca), textsIn(tls.cert), textsIn(tls.key)]
  const { createSecureContext } = process.getBuiltinModule('node:tls')
  for (const text of ca ?? []) attempt('tls.ca', 'certificates in PEM', () => certificatesIn(text))
  const chain = (cert ?? []).flatMap(text => attempt('tls.cert', 'certificates in PEM', () => certificatesIn(text)))
  attempt('tls.key', 'a private key in PEM that needs no passphrase', () => createSecureContext({ key }))
  attempt('tls.key', 'the private key of `tls.cert`', () => createSecureContext({ cert, key }))
  return { ca, cert, key, certExpiresMs: chain[0] && Date.parse(chain[0].validTo) }
}

/** Returns the texts of a value that has been checked to be PEM. */
function textsIn(pem: Pem | undefined): string[] | undefined {
  return pem === undefined ? undefined : (pemTexts(pem) as string[])
}

/** @throws Error if a certificate cannot be read, or the text has none */
function certificatesIn(text: string): X509Certificate[] {
  const { X509Certificate } = process.getBuiltinModule('node:crypto')
  const parts = text.split(/^(?=-----BEGIN )/m).filter(part => /^-----BEGIN [\w ]*CERTIFICATE-----/.test(part))
  return (parts.length > 0 ? parts : [text]).map(part => new X509Certificate(part))
}

function attempt<Read>(option: string, expected: string, read: () => Read): Read {
  try {
    return read()
  } catch (error) {
    const { code, name } = error as NodeJS.ErrnoException
    throw invalidOption(option, expected, `a text that OpenSSL refuses (${code ?? name})`, 'range')
  }
}
