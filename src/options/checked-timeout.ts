import { invalidOption } from '../errors.ts'
import { maxTimeoutMs } from '../time.ts'
import { described } from './described.ts'

/**
 * Checks the time that a caller allows, in milliseconds.
 *
 * @throws TypeError | RangeError with `code` `LOGFERRY_INVALID_OPTION` if it is not a number from 0 to 2 147 483 647
 */
export function checkedTimeoutMs(given: number | undefined, defaultMs: number): number {
  if (given === undefined) return defaultMs
  if (typeof given === 'number' && given >= 0 && given <= maxTimeoutMs) return given
  const expected = `a number from 0 to ${maxTimeoutMs} (milliseconds)`
  throw invalidOption('timeoutMs', expected, described(given), typeof given === 'number' ? 'range' : 'type')
}
