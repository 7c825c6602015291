import { monotonicMs, timeOrigin } from '../time.ts'

/** Milliseconds from 1970 to the year 10000, where RFC 3339 ends. */
const endOfTimeMs = 253_402_300_800_000

/**
 * The time of an event, in milliseconds since 1970: of `Date.now`, or of the process if that throws or tells no time. Never
 * throws.
 *
 * An application may have a clock of its own, in its tests for one, and expects it on what it logs. It is followed as long
 * as it tells a time, and no longer: whatever `Date` has become, a log call returns.
 */
export function wallClockMs(): number {
  try {
    const ms: unknown = Date.now()
    if (isTimeMs(ms)) return ms
  } catch {
    // Not the system's.
  }
  return timeOrigin + monotonicMs()
}

/** Whether a value is a time that RFC 3339 can write, in milliseconds since 1970. */
export function isTimeMs(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value < endOfTimeMs
}
