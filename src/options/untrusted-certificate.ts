/** True if an error of a connection has the code of a certificate by an authority that is not trusted. */
export function isUntrustedCertificate(code: string | undefined): boolean {
  return untrusted.has(code ?? '')
}

/** @see https://nodejs.org/api/tls.html#x509-certificate-error-codes */
const untrusted: ReadonlySet<string> = new Set([
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'CERT_UNTRUSTED',
])
