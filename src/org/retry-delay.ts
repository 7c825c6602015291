import type { OrgError, OrgErrorCode } from './org-error.ts'

/** Maximum number of attempts of a call of the application. */
const usualAttempts = 3
/**
 * Maximum delay before the second attempt if the service names none, in milliseconds. The maximum doubles before the
 * third.
 */
const firstDelayMs = 500

const transient: ReadonlySet<OrgErrorCode> = new Set(['RATE_LIMITED', 'UNAVAILABLE', 'UNREACHABLE'])

/**
 * Returns the delay before the next attempt, in milliseconds. It is the delay that the service asked for, or else a
 * random one up to a maximum that doubles (full jitter).
 *
 * @param attempts number of attempts made, from 1
 * @param random number from 0 to 1
 * @returns `undefined` if another attempt would not help, or if all attempts are used
 */
export function retryDelayMs(
  error: OrgError,
  attempts: number,
  random: number,
  maxAttempts = usualAttempts,
): number | undefined {
  if (!transient.has(error.code) || attempts >= maxAttempts) return undefined
  return error.retryAfterMs ?? random * firstDelayMs * 2 ** (attempts - 1)
}
