import { type DetailedPeerCertificate, rootCertificates, type TLSSocket } from 'node:tls'

const dayMs = 86_400_000
/** Maximum number of certificates that are followed from the server's to its authority. */
const maxChain = 20
const maxNamesChars = 200

/** What the certificate of a server says. The texts are the server's. */
export interface CertificateFacts {
  readonly subject: string
  readonly issuer: string
  /** Names that the certificate is for. */
  readonly names: string
  readonly validFrom: Date
  readonly validTo: Date
  /** Whole days until the end; negative after it. */
  readonly daysLeft: number
  readonly isSelfSigned: boolean
  /** True if its authority is none of those that Node brings along. */
  readonly isPrivate: boolean
}

/** @throws Error if the server has sent no certificate */
export function certificateOf(socket: TLSSocket, nowMs: number): CertificateFacts {
  const certificate = socket.getPeerCertificate(true)
  if (certificate?.raw === undefined) throw new Error('the server has no certificate')
  const validTo = new Date(certificate.valid_to)
  const isSelfSigned = certificate.issuerCertificate?.fingerprint256 === certificate.fingerprint256
  return {
    subject: nameOf(certificate.subject),
    issuer: nameOf(certificate.issuer),
    names: (certificate.subjectaltname ?? '').replaceAll(/(DNS|IP Address):/g, '').slice(0, maxNamesChars),
    validFrom: new Date(certificate.valid_from),
    validTo,
    daysLeft: Math.trunc((validTo.getTime() - nowMs) / dayMs),
    isSelfSigned,
    isPrivate: !isPublic(authorityOf(certificate)),
  }
}

function nameOf({ CN, O }: { readonly CN?: string | string[]; readonly O?: string | string[] }): string {
  return [CN ?? O ?? 'an unnamed subject'].flat()[0] ?? ''
}

/** Returns the last certificate of the chain, as far as it is known. */
function authorityOf(certificate: DetailedPeerCertificate): DetailedPeerCertificate {
  let last = certificate
  for (let length = 1; length < maxChain; length++) {
    const next = last.issuerCertificate
    if (next === undefined || next.fingerprint256 === last.fingerprint256) return last
    last = next
  }
  return last
}

function isPublic({ raw }: DetailedPeerCertificate): boolean {
  const text = raw.toString('base64')
  return rootCertificates.some(pem => pem.replace(/-----[^-]+-----|\s/g, '') === text)
}
