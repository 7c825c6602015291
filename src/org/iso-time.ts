const date = '(?<year>\\d{4}|[+-]\\d{6})-?(?<month>\\d\\d)-?(?<day>\\d\\d)'
const clock = '(?<hours>\\d\\d)(?::?(?<minutes>\\d\\d)(?::?(?<seconds>\\d\\d)(?:[.,](?<fraction>\\d+))?)?)?'
const zone = '(?:(?<utc>Z)|(?<zoneHours>[+-]\\d\\d)(?::?(?<zoneMinutes>\\d\\d))?)?'
/** The longest valid time has 38 characters: an expanded year, nanoseconds and an offset. */
const maxChars = 64
const isoTime = new RegExp(`^${date}(?:[T ]${clock}${zone})?$`, 'i')

/**
 * Parses a time in ISO 8601: the extended format (`2026-11-21T10:00:00Z`), the basic format (`20261121T100000Z`) or a
 * mixture of both. Seconds, minutes or the whole clock may be missing.
 *
 * Like `Date.parse`, which reads only the extended format, it takes a date as UTC and a time without offset as local.
 *
 * @returns milliseconds since 1970, or `NaN` if the text is missing or invalid
 */
export function isoTimeMs(text: string | undefined): number {
  const parts = text !== undefined && text.length <= maxChars ? isoTime.exec(text)?.groups : undefined
  if (parts === undefined) return Number.NaN
  const { year, month, day, hours, minutes = '00', seconds = '00', fraction = '0', utc, zoneHours, zoneMinutes } = parts
  if (hours === undefined) return Date.parse(`${year}-${month}-${day}`)
  const offset = utc ?? (zoneHours === undefined ? '' : `${zoneHours}:${zoneMinutes ?? '00'}`)
  return Date.parse(`${year}-${month}-${day}T${hours}:${minutes}:${seconds}.${fraction}${offset}`)
}
