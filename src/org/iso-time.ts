const date = '(?<year>\\d{4}|[+-]\\d{6})-?(?<month>\\d\\d)-?(?<day>\\d\\d)'
const clock = '(?<hours>\\d\\d)(?::?(?<minutes>\\d\\d)(?::?(?<seconds>\\d\\d)(?:[.,](?<fraction>\\d+))?)?)?'
const zone = '(?:(?<utc>Z)|(?<zoneHours>[+-]\\d\\d)(?::?(?<zoneMinutes>\\d\\d))?)?'
/** With nanoseconds and an offset a time has 38. */
const maxChars = 64
const isoTime = new RegExp(`^${date}(?:[T ]${clock}${zone})?$`, 'i')

/**
 * Milliseconds since 1970 of a time in ISO 8601, in its extended format (`2026-11-21T10:00:00Z`), its basic one
 * (`20261121T100000Z`) or anything between, with as much of the clock as there is; `NaN` where it cannot be read.
 * As for `Date.parse`, which reads the extended format alone, a date is in UTC and a time without offset is local.
 */
export function isoTimeMs(text: string | undefined): number {
  const parts = text !== undefined && text.length <= maxChars ? isoTime.exec(text)?.groups : undefined
  if (parts === undefined) return Number.NaN
  const { year, month, day, hours, minutes = '00', seconds = '00', fraction = '0', utc, zoneHours, zoneMinutes } = parts
  if (hours === undefined) return Date.parse(`${year}-${month}-${day}`)
  const offset = utc ?? (zoneHours === undefined ? '' : `${zoneHours}:${zoneMinutes ?? '00'}`)
  return Date.parse(`${year}-${month}-${day}T${hours}:${minutes}:${seconds}.${fraction}${offset}`)
}
