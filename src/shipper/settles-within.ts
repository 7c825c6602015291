import { invalidOption } from '../errors.ts'
import { described } from '../options/described.ts'
import { clearTimeout, setTimeout } from '../time.ts'

/** The longest delay of a timer, in milliseconds: 2^31 - 1. */
export const maxTimeoutMs = 0x7fffffff

/** Resolves to true if the work ends within the time. Keeps the process alive meanwhile, because a caller waits. */
export async function settlesWithin(work: Promise<unknown>, timeoutMs: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const timer = setTimeout(resolve, timeoutMs, false)
  void work.then(() => resolve(true))
  const isDone = await promise
  clearTimeout(timer)
  return isDone
}

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
