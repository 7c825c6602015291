import { invalidOption } from '../errors.ts'
import { maxTimeoutMs } from '../time.ts'
import { described, kindOfMistake } from './described.ts'
import { onlyOption } from './only-option.ts'

/**
 * Checks the options of a call that waits. Returns the time that the caller allows, in milliseconds.
 *
 * @throws TypeError | RangeError with `code` `LOGFERRY_INVALID_OPTION` if the options are malformed or have another name,
 * or `timeoutMs` is not a number from 0 to 2 147 483 647
 */
export function checkedTimeoutMs(options: { timeoutMs?: number | undefined }, defaultMs: number): number {
  const given = onlyOption(options, 'timeoutMs')
  if (given === undefined) return defaultMs
  if (typeof given === 'number' && given >= 0 && given <= maxTimeoutMs) return given
  const expected = `a number from 0 to ${maxTimeoutMs} (milliseconds)`
  throw invalidOption('timeoutMs', expected, described(given), kindOfMistake(given, 'number'))
}
