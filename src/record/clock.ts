import { monotonicMs, timeOrigin } from '../time.ts'

/** Milliseconds from 1970 to the year 10000, where RFC 3339 ends. */
const endOfTimeMs = 253_402_300_800_000

/**
 * Returns the time of an event, in milliseconds since 1970. The time is that of `Date.now()`, or that of the process
 * clock if `Date.now()` throws or returns no valid time. Never throws.
 *
 * An application may replace the clock, for example in its tests, and expects the replaced time on its events. A
 * replaced clock is used only while it returns valid times, because a log call must return whatever `Date` has become.
 */
export function wallClockMs(): number {
  try {
    const ms: unknown = Date.now()
    if (isTimeMs(ms)) return ms
  } catch {
    // `Date.now` has been replaced by a function that throws.
  }
  return timeOrigin + monotonicMs()
}

/** True if a value is a time that RFC 3339 can write, in milliseconds since 1970. */
export function isTimeMs(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value < endOfTimeMs
}
