import { mark } from '../event/entry.ts'
import { eventStatement, noMessage } from '../event/event-statement.ts'
import { maxBehindMs, orderingTime } from '../event/event-time.ts'
import { levelRank, noRank } from '../event/level-rank.ts'
import type { ArrivedEvent } from './index-api.ts'

/** What is read of an event when it arrives. */
export interface Described {
  readonly at: number
  readonly rank: number
  readonly marks: number
  readonly skewMs: number
  readonly statement: string
}

/** @param newestAt time of the newest event so far */
export function describe({ event, receivedAt, duplicate }: ArrivedEvent, newestAt: number): Described {
  const { at, trouble, aheadMs } = orderingTime(event._time, receivedAt)
  const behindMs = newestAt - at
  const isLate = behindMs > maxBehindMs
  let marks = duplicate ? mark.duplicate : 0
  if (isLate) marks |= mark.late
  if (trouble !== undefined) marks |= trouble === 'clock' ? mark.clock : mark.noTime
  if (wasCut(event.logferry)) marks |= mark.cut
  const skewMs = Math.round(trouble === 'clock' ? aheadMs : isLate ? behindMs : 0)
  return { at, rank: levelRank(event), marks, skewMs, statement: eventStatement(event) }
}

/** Describes an event that cannot be read. */
export function undescribed({ receivedAt }: ArrivedEvent): Described {
  return { at: receivedAt, rank: noRank, marks: mark.noTime, skewMs: 0, statement: noMessage }
}

/** True if the shipper has cut the event: see `record/cut-to-fit.ts`. */
function wasCut(own: unknown): boolean {
  return typeof own === 'object' && own !== null && (own as { cut?: unknown }).cut === true
}
