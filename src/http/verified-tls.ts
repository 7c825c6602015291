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
