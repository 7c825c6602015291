import { timeOfValue } from '../../dev/event/event-time.ts'
import type { SpooledEvent } from '../../spool/read-spool.ts'

/**
 * Returns when an event of a spool was written, as far as it is known. It was logged before that. In an outage, a file
 * grows for as long as its batch waits.
 *
 * @param time what the event says of its time
 */
export function writtenTime({ writtenMs, modifiedMs }: SpooledEvent, time: unknown): number {
  return Math.min(Math.max(writtenMs, timeOfValue(time) ?? writtenMs), modifiedMs)
}
