import type { Socket } from 'node:net'
import type { ResolvedTls } from '../options/tls-options.ts'

/** TLS options of a connection. */
export interface ConnectionTls extends ResolvedTls {
  readonly rejectUnauthorized?: true
}

/**
 * An application that names the authorities to trust means it: verification stays on, whatever the environment says
 * (`NODE_TLS_REJECT_UNAUTHORIZED=0`).
 */
export function verifiedTls(tls: ResolvedTls | undefined): ConnectionTls | undefined {
  return tls?.ca === undefined ? tls : { ...tls, rejectUnauthorized: true }
}

/**
 * Gives nothing to a new TLS connection before the certificate of the other side is verified. Node verifies it in
 * JavaScript after the handshake, and encrypts what it was given before: in a worker that is ended during the handshake no
 * JavaScript runs any more, and the request would be sent to whatever server answered. A connection through a tunnel needs no
 * such care: Node gives it out once it is verified.
 */
export function holdUntilVerified(socket: Socket & { readonly encrypted?: boolean }): void {
  if (!socket.connecting || socket.encrypted !== true) return
  socket.cork()
  socket.once('secureConnect', socket.uncork)
}
