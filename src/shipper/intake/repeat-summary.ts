import { wallClockMs } from '../../record/clock.ts'
import { isValidDate } from '../../record/is-plain-data.ts'
import { isPlainObject, type Plain } from '../../record/plain.ts'
import { detached } from '../../text/detached.ts'
import { SystemDate } from '../../time.ts'
import type { IntakeEvent } from './intake-event.ts'
import { lateTime, timeMsOf } from './late-time.ts'
import type { EventTime } from './repeat-windows.ts'

/** Maximum length of a timestamp that is repeated in a summary, in characters. */
const maxTimeLength = 64

/** Fields that a summary has besides those of the repeated event. */
export const summaryFields = [
  'logferry.repeated.count',
  'logferry.repeated.first_time',
  'logferry.repeated.last_time',
] as const

/**
 * Returns the timestamp that an event brings along, or else the time of its log call.
 *
 * @param shown returns the timestamp as another event may repeat it; `undefined` if it may not
 */
export function eventTime(
  intake: IntakeEvent,
  timeField: string,
  shown: (time: string | number) => string | number | undefined = time => time,
): EventTime {
  const own = ownTime(intake.event, timeField)
  const shownOwn = own === undefined ? undefined : shown(own)
  return shownOwn === undefined ? timeMsOf(intake) : String(shownOwn)
}

/** Returns the later one of two times, or the second one if they cannot be compared. */
export function later(one: EventTime, other: EventTime): EventTime {
  return msOf(one) > msOf(other) ? one : other
}

function msOf(time: EventTime): number {
  if (typeof time === 'number') return time
  const ms = SystemDate.parse(time)
  return Number.isNaN(ms) ? Number(time) : ms
}

function ownTime(event: object, timeField: string): string | number | undefined {
  try {
    const own = (event as Record<string, unknown>)[timeField]
    if (typeof own === 'number') return Number.isFinite(own) ? own : undefined
    if (typeof own === 'string' && own.length <= maxTimeLength) return detached(own)
    return typeof own === 'object' && own !== null && isValidDate(own)
      ? Date.prototype.toISOString.call(own)
      : undefined
  } catch {
    return undefined // a getter or a proxy threw
  }
}

/** The repetitions of an event. */
interface Repetitions {
  readonly count: number
  readonly firstTime: EventTime
  readonly lastTime: EventTime
}

/**
 * Returns the event that stands for repeated events: a copy of one of them, at the time of the last one. It keeps the
 * message, so that the search that finds the event finds its repetitions as well.
 *
 * @param json the copy, as JSON
 */
export function repeatSummary(
  json: string,
  { count, firstTime, lastTime }: Repetitions,
  timeField: string,
): { event: object; time: readonly [number, number] } {
  const event = JSON.parse(json) as Record<string, unknown>
  const { logferry } = event
  const repeated = { count, first_time: timeText(firstTime), last_time: timeText(lastTime) }
  // A value of the application's own with the name of the group stays.
  const group = logferry === undefined ? {} : (logferry as Plain)
  if (isPlainObject(group)) event.logferry = { ...group, repeated }
  else event['logferry.repeated'] = repeated
  if (typeof lastTime === 'string') event[timeField] = ofSameType(lastTime, event[timeField])
  else delete event[timeField]
  return { event, time: lateTime(typeof lastTime === 'number' ? lastTime : wallClockMs()) }
}

/** Returns a timestamp as a number if the copy has one: the field keeps its type. */
function ofSameType(time: string, copied: unknown): string | number {
  return typeof copied === 'number' && String(Number(time)) === time ? Number(time) : time
}

function timeText(time: EventTime): string {
  return typeof time === 'string' ? time : new SystemDate(time).toISOString()
}
