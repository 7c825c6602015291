import { isCalendarDay } from '../../text/calendar-day.ts'
import { unitMs } from '../../text/time-units.ts'
import { systemTimeMs } from '../../time.ts'
import { type Given, Misuse } from '../command.ts'

/**
 * Reads a time: a duration before now (`10m`, `1h30m`), a time of today (`10:42`, `10:42:07`), or a date with or
 * without a time as in RFC 3339. Times without a zone are local, or UTC with `--utc`.
 *
 * @returns milliseconds since 1970
 * @throws Misuse
 */
export function timeArgument(name: string, given: string, nowMs: number, isUtc: boolean): number {
  const ms = durationMs(given)
  const time = ms === undefined ? timeOf(given, nowMs, isUtc) : nowMs - ms
  // Shortly after midnight, 23:50 probably means yesterday. A time with a date is taken as it is, because the clocks of
  // other machines may run ahead.
  if (name === 'since' && time > nowMs && /^\d{1,2}:/.test(given)) {
    throw new Misuse(`--since ${given} is yet to come today. For a time of yesterday, give its date as well`)
  }
  if (!Number.isNaN(new Date(time).getTime())) return time
  throw new Misuse(`--${name} must be a duration such as 10m or 1h30m, or a time such as 10:42 or 2026-11-21T10:42:07Z`)
}

/**
 * Reads an option that is a time. Returns `undefined` without the option.
 *
 * @throws Misuse
 */
export function timeOption(given: Given, name: string): number | undefined {
  const time = given[name]
  return time === undefined ? undefined : timeArgument(name, String(time), systemTimeMs(), given.utc === true)
}

function durationMs(given: string): number | undefined {
  if (!/^(?:\d+(?:\.\d+)?(?:ms|[smhdw]))+$/.test(given)) return undefined
  let total = 0
  for (const [, count = '', unit = ''] of given.matchAll(/([\d.]+)(ms|[smhdw])/g)) {
    total += Number(count) * (unitMs.get(unit) ?? Number.NaN)
  }
  return total
}

function timeOf(given: string, nowMs: number, isUtc: boolean): number {
  const clock = /^(\d{1,2}):(\d\d)(?::(\d\d)(?:\.(\d{1,3}))?)?$/.exec(given)
  if (clock === null) return dateOf(given, isUtc)
  const [hours = 0, minutes = 0, seconds = 0, ms = 0] = clock.slice(1).map((part = '0') => Number(part))
  if (hours > 23 || minutes > 59 || seconds > 59) return Number.NaN
  const time = new Date(nowMs)
  return isUtc ? time.setUTCHours(hours, minutes, seconds, ms) : time.setHours(hours, minutes, seconds, ms)
}

function dateOf(given: string, isUtc: boolean): number {
  const date = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?))?(Z|[+-]\d\d:\d\d)?$/i.exec(given)
  if (date === null) return Number.NaN
  const [, day = '', clock = '00:00', zone = isUtc ? 'Z' : ''] = date
  return isCalendarDay(day) ? Date.parse(`${day}T${clock}${zone.toUpperCase()}`) : Number.NaN
}
