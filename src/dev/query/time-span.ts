import { unitMs } from '../../text/time-units.ts'
import { SystemDate } from '../../time.ts'
import { timeOfValue } from '../event/event-time.ts'
import { clockTime } from './clock-time.ts'
import { numberOf } from './value-test.ts'

/** The times that a text names, in milliseconds since 1970: those of a day, or a single one. */
export interface TimeSpan {
  readonly first: number
  readonly last: number
}

/**
 * Returns the times that a text names: `10:42` of today, `2026-11-22`, a timestamp, `now` or `now-5m`. Clock times and
 * days are local. Returns `undefined` if the text names no time.
 */
export function timeSpan(text: string, nowMs: number): TimeSpan | undefined {
  const day = /^(\d{4})-(\d\d)-(\d\d)$/.exec(text)
  if (day !== null) return daySpan(Number(day[1]), Number(day[2]), Number(day[3]))
  const time = clockTime(text, nowMs) ?? relativeTime(text, nowMs) ?? timeOfValue(text) ?? timeOfValue(numberOf(text))
  return time === undefined ? undefined : { first: time, last: time }
}

function daySpan(year: number, month: number, date: number): TimeSpan | undefined {
  const first = new SystemDate(year, month - 1, date)
  const isThere = first.getMonth() === month - 1 && first.getDate() === date
  return isThere ? { first: first.getTime(), last: new SystemDate(year, month - 1, date + 1).getTime() - 1 } : undefined
}

function relativeTime(text: string, nowMs: number): number | undefined {
  const [whole, sign, count, unit = ''] = /^now(?:([+-])(\d{1,9})(ms|[smhdw]))?$/.exec(text) ?? []
  if (whole === undefined) return undefined
  const ms = Number(count ?? 0) * (unitMs.get(unit) ?? 0)
  return sign === '-' ? nowMs - ms : nowMs + ms
}
