import type { OrgError, OrgErrorCode } from './org-error.ts'

const maxAttempts = 3
/** Longest wait before the second attempt where the service names none; twice that before the third. */
const firstDelayMs = 500

const transient: ReadonlySet<OrgErrorCode> = new Set(['RATE_LIMITED', 'UNAVAILABLE', 'UNREACHABLE'])

/**
 * How long to wait before the next attempt, in milliseconds: as long as the service asked for, or up to a limit that
 * doubles (full jitter). `undefined` when another attempt would not help.
 *
 * @param attempts how many were made, from 1
 * @param random 0 to 1
 */
export function retryDelayMs(error: OrgError, attempts: number, random: number): number | undefined {
  if (!transient.has(error.code) || attempts >= maxAttempts) return undefined
  return error.retryAfterMs ?? random * firstDelayMs * 2 ** (attempts - 1)
}
