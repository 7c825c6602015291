import { isCalendarDay } from '../../text/calendar-day.ts'

/** The maximum by which the time of an event may be ahead of the service's clock, in milliseconds. */
const maxAheadMs = 5000

/** An event is late if its time is behind that of the newest one by more than this, in milliseconds. */
export const maxBehindMs = 2000

const timestamp = /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,12})?)?(?:[Zz]|[+-]\d\d:?\d\d)?$/
const maxTimestampChars = 48

/**
 * Returns the time that an event says, in milliseconds since 1970, or `undefined` if it says none. A text is a
 * timestamp of RFC 3339; one without an offset counts as UTC. A number counts as seconds, milliseconds, microseconds or
 * nanoseconds by its size.
 */
export function timeOfValue(value: unknown): number | undefined {
  if (typeof value === 'string') return timeOfText(value)
  if (typeof value === 'bigint') return timeOfValue(Number(value))
  if (typeof value !== 'number' || !(value >= 1e9) || value >= 1e20) return undefined
  if (value < 1e11) return value * 1000
  if (value < 1e14) return value
  return value < 1e17 ? value / 1000 : value / 1e6
}

function timeOfText(text: string): number | undefined {
  if (text.length > maxTimestampChars || !timestamp.test(text) || !isCalendarDay(text)) return undefined
  const withOffset = /[Zz]$|[+-]\d\d:?\d\d$/.test(text.slice(16)) ? text : `${text}Z`
  const ms = Date.parse(withOffset.replace(',', '.').replace(/([+-]\d\d)(\d\d)$/, '$1:$2'))
  return Number.isNaN(ms) ? undefined : ms
}

/** Why an event is not in its own time. */
export type ClockTrouble = 'clock' | 'no-time'

/** Returns the time that orders an event: its own, unless that is missing or ahead of the service's clock. */
export function orderingTime(
  value: unknown,
  receivedAt: number,
): { at: number; trouble: ClockTrouble | undefined; aheadMs: number } {
  const own = timeOfValue(value)
  if (own === undefined) return { at: receivedAt, trouble: 'no-time', aheadMs: 0 }
  const aheadMs = own - receivedAt
  if (aheadMs > maxAheadMs) return { at: receivedAt, trouble: 'clock', aheadMs }
  return { at: own, trouble: undefined, aheadMs: 0 }
}
