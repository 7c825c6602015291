import { SystemDate } from '../../time.ts'

/**
 * Returns the time of a clock time of today, such as `10:42` or `10:42:07.5`, in milliseconds since 1970. It is local
 * time. Returns `undefined` if the text is no clock time.
 */
export function clockTime(text: string, nowMs: number): number | undefined {
  const found = /^(\d{1,2}):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?$/.exec(text)
  if (found === null) return undefined
  const [, hours, minutes, seconds = '0', fraction = ''] = found
  const day = new SystemDate(nowMs)
  const ms = Math.trunc(Number(`0.${fraction || '0'}`) * 1000)
  const time = day.setHours(Number(hours), Number(minutes), Number(seconds), ms)
  return Number(hours) > 23 || Number(minutes) > 59 || Number(seconds) > 59 ? undefined : time
}
