/** Numbers, sizes, durations and times as people read them. */

const grouped = new Intl.NumberFormat('en-US')

export function count(value: number): string {
  return grouped.format(value)
}

/** A count that must stay short: `98.1 k`, `1.2 M`. */
export function shortCount(value: number): string {
  if (value < 10_000) return count(value)
  if (value < 1_000_000) return `${threeDigits(value / 1000)} k`
  if (value < 1_000_000_000) return `${threeDigits(value / 1_000_000)} M`
  return `${threeDigits(value / 1_000_000_000)} G`
}

export function bytes(value: number): string {
  const units = ['B', 'KB', 'MB', 'GB', 'TB', 'PB']
  let unit = 0
  let rest = value
  while (rest >= 999.5 && unit < units.length - 1) {
    rest /= 1000
    unit++
  }
  return `${unit === 0 ? Math.round(rest) : threeDigits(rest)} ${units[unit]}`
}

function threeDigits(value: number): string {
  return value >= 100 ? String(Math.round(value)) : value >= 10 ? value.toFixed(1) : value.toFixed(value < 1 ? 2 : 1)
}

export function percent(share: number): string {
  if (share > 0 && share < 0.005) return '< 1 %'
  return `${Math.round(share * 100)} %`
}

/** `41 ms`, `5.21 s`, `4 m 12 s`, `3 h 5 m`. */
export function duration(ms: number): string {
  const abs = Math.abs(ms)
  if (abs < 1000) return `${Math.round(ms)} ms`
  if (abs < 60_000) return `${(ms / 1000).toFixed(abs < 10_000 ? 2 : 1)} s`
  const seconds = Math.round(ms / 1000)
  if (abs < 3_600_000) return `${Math.trunc(seconds / 60)} m ${Math.abs(seconds % 60)} s`
  if (abs < 86_400_000) return `${Math.trunc(seconds / 3600)} h ${Math.trunc(Math.abs(seconds % 3600) / 60)} m`
  return `${Math.trunc(seconds / 86_400)} d ${Math.trunc(Math.abs(seconds % 86_400) / 3600)} h`
}

/** Whole seconds, for texts that count up: `38 s`, `4 m 12 s`. */
export function age(ms: number): string {
  return ms < 60_000 ? `${Math.max(0, Math.floor(ms / 1000))} s` : duration(ms)
}

let utc = false

/** Sets whether times show in UTC instead of the time of this computer. */
export function showUtc(isOn: boolean): void {
  utc = isOn
}

function two(value: number): string {
  return value < 10 ? `0${value}` : String(value)
}

/** A year: `2026`, `0001`, `-0006`. */
function four(value: number): string {
  return `${value < 0 ? '-' : ''}${String(Math.abs(value)).padStart(4, '0')}`
}

/** `10:42:07.123` */
export function clockTime(ms: number): string {
  return `${clockSeconds(ms)}.${String(new Date(ms).getUTCMilliseconds()).padStart(3, '0')}`
}

/** `10:42:07` */
export function clockSeconds(ms: number): string {
  const date = new Date(ms)
  return utc
    ? `${two(date.getUTCHours())}:${two(date.getUTCMinutes())}:${two(date.getUTCSeconds())}`
    : `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`
}

/** A time as precisely as a scale of such steps needs it: `10:42:07.1`, `10:42:07`, `10:42`. */
export function clockStep(ms: number, stepMs: number): string {
  if (stepMs >= 60_000) return clockSeconds(ms).slice(0, -3)
  if (stepMs >= 1000) return clockSeconds(ms)
  return clockTime(ms).slice(0, stepMs >= 100 ? -2 : stepMs >= 10 ? -1 : undefined)
}

/** The marks of a scale of times. A mark has the day before it if another day begins with it. */
export function scaleTimes(times: readonly number[], stepMs: number): string[] {
  const spansDays = day(times[0] ?? 0) !== day(times.at(-1) ?? 0)
  return times.map((ms, at) => {
    const date = day(ms)
    if (stepMs >= 86_400_000) return date
    const before = times[at - 1]
    const isNewDay = before === undefined ? spansDays : date !== day(before)
    return isNewDay ? `${date.slice(-5)} ${clockStep(ms, stepMs)}` : clockStep(ms, stepMs)
  })
}

/** `2026-11-22` */
export function day(ms: number): string {
  const date = new Date(ms)
  return utc
    ? `${four(date.getUTCFullYear())}-${two(date.getUTCMonth() + 1)}-${two(date.getUTCDate())}`
    : `${four(date.getFullYear())}-${two(date.getMonth() + 1)}-${two(date.getDate())}`
}

/** The clock time, with the day if it is not the day of `now`, or to the minute if it is in another year. */
export function listTime(ms: number, now: number): string {
  if (!Number.isFinite(new Date(ms).getTime())) return '–'
  const date = day(ms)
  if (Math.abs(now - ms) < 43_200_000 || date === day(now)) return clockTime(ms)
  const isSameYear = date.slice(0, -6) === day(now).slice(0, -6)
  return isSameYear ? `${date.slice(-5)} ${clockTime(ms)}` : `${date} ${clockStep(ms, 60_000)}`
}

/** The clock time, with the day if it is not today. */
export function timeOf(ms: number): string {
  return listTime(ms, Date.now())
}

/** `1 event`, `2 events`. */
export function plural(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`
}
