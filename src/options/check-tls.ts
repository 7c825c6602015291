import type { X509Certificate } from 'node:crypto'
import { invalidOption } from '../errors.ts'
import type { ResolvedTls } from './tls-options.ts'

/**
 * Refuses what the first connection would choke on, or pass over: `ca` is read only as far as it can be. What is given is
 * not shown, and neither module is loaded where there is no such option.
 *
 * @throws RangeError with `code` `LOGFERRY_INVALID_OPTION`
 */
export function checkTls(tls: ResolvedTls): ResolvedTls {
  const { ca, cert, key } = tls
  const { createSecureContext } = process.getBuiltinModule('node:tls')
  for (const text of ca ?? []) attempt('tls.ca', 'certificates in PEM', () => certificatesIn(text))
  for (const text of cert ?? []) attempt('tls.cert', 'certificates in PEM', () => certificatesIn(text))
  attempt('tls.key', 'a private key in PEM that needs no passphrase', () => createSecureContext({ key }))
  attempt('tls.key', 'the private key of `tls.cert`', () => createSecureContext({ cert, key }))
  return tls
}

/** @throws Error when one of them cannot be read, or there is none */
function certificatesIn(text: string): X509Certificate[] {
  const { X509Certificate } = process.getBuiltinModule('node:crypto')
  const parts = text.split(/^(?=-----BEGIN )/m).filter(part => /^-----BEGIN [\w ]*CERTIFICATE-----/.test(part))
  return (parts.length > 0 ? parts : [text]).map(part => new X509Certificate(part))
}

function attempt(option: string, expected: string, read: () => unknown): void {
  try {
    read()
  } catch (error) {
    const { code, name } = error as NodeJS.ErrnoException
    throw invalidOption(option, expected, `a text that OpenSSL refuses (${code ?? name})`, 'range')
  }
}
