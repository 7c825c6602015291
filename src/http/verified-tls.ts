import type { Socket } from 'node:net'
import { ownProperties } from '../own-properties.ts'
import { SystemDate } from '../time.ts'

/** The option `tls` as texts, which can be passed to a worker. */
export interface ResolvedTls {
  readonly ca?: string[] | undefined
  readonly cert?: string[] | undefined
  readonly key?: string[] | undefined
  /** Time at which the client certificate expires, in milliseconds since 1970. */
  readonly certExpiresMs?: number | undefined
}

/** TLS options of a connection. */
export interface ConnectionTls extends ResolvedTls {
  readonly rejectUnauthorized?: true
}

/**
 * Keeps verification on if the application names the authorities to trust, even if the environment turns it off
 * (`NODE_TLS_REJECT_UNAUTHORIZED=0`).
 */
export function verifiedTls(tls: ResolvedTls | undefined): ConnectionTls | undefined {
  return tls?.ca === undefined ? tls : { ...tls, rejectUnauthorized: true }
}

/**
 * Returns an addition to the reason why no answer came, if the client certificate has expired. Most servers then close the
 * connection without a reason.
 */
export function expiryHint(tls: ResolvedTls | undefined, nowMs: number): string {
  const { certExpiresMs = Number.NaN } = ownProperties(tls ?? {})
  if (!(certExpiresMs <= nowMs)) return '' // NaN also if OpenSSL cannot tell the date
  return `; tls.cert expired on ${new SystemDate(certExpiresMs).toISOString()}: a new shipper is needed, with the renewed certificate`
}

/**
 * Holds back the data for a new TLS connection until the server's certificate is verified. Node verifies the
 * certificate in JavaScript after the handshake, but encrypts waiting data before that.
 *
 * A worker that is ended during the handshake runs no more JavaScript, so the request would reach an unverified server.
 * A tunnel through a proxy needs no such care: Node hands it out after the verification.
 */
export function holdUntilVerified(socket: Socket): void {
  if (!socket.connecting || !Object.hasOwn(socket, 'encrypted')) return
  socket.cork()
  socket.once('secureConnect', socket.uncork)
}
