import { wallClockMs } from '../../record/clock.ts'
import { isHrTime } from '../../record/timestamp.ts'
import type { IntakeEvent } from './intake-event.ts'

/** Returns the time of a log call, in milliseconds since 1970. */
export function timeMsOf({ time }: IntakeEvent): number {
  if (typeof time === 'number') return time
  return isHrTime(time) ? time[0] * 1000 + Math.floor(time[1] / 1e6) : wallClockMs()
}

/**
 * Returns the time of an event that is taken long after its log call: seconds and nanoseconds. An event with such a
 * time keeps it. A time in milliseconds is that of a log call made now, and moves the clock of the process.
 */
export function lateTime(ms: number): readonly [number, number] {
  const seconds = Math.floor(ms / 1000)
  return [seconds, Math.floor(ms - seconds * 1000) * 1_000_000]
}
