import { SystemDate } from '../../time.ts'

/** A time as [seconds, nanoseconds] since 1970. */
export type EventTime = readonly [seconds: number, nanoseconds: number]

/**
 * Fields in which loggers write the time of an event, in the order in which they are asked:
 *
 * - `@timestamp`: ECS, Logstash
 * - `timestamp`: Winston, structlog, python-json-logger, tracing (Rust), GELF, AWS Lambda, Google Cloud
 * - `time`: Pino, Bunyan, slog, zerolog, logrus
 * - `ts`: zap, klog, Caddy
 * - `@t`: Serilog
 * - `Timestamp`: .NET
 * - `datetime`: Monolog
 * - `instant`: Log4j
 * - `__REALTIME_TIMESTAMP`: journald
 */
const usualFields = [
  '@timestamp',
  'timestamp',
  'time',
  'ts',
  '@t',
  'Timestamp',
  'datetime',
  'instant',
  '__REALTIME_TIMESTAMP',
] as const

/** Date, time of day, digits of the fraction, and zone. A time without a zone could mean any zone. */
const dateTime = /^(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:\d\d)(?:[.,](\d{1,9})\d*)?(Z|z| ?UTC| ?GMT|[+-]\d\d:?\d\d)$/
const unixTime = /^\d{10,19}$/
const unixSeconds = /^\d{10}\.\d+$/

/** Range of the seconds that count as a time: from 2001 to 2128. A duration or an identifier is mostly outside of it. */
const minSeconds = 1e9
const maxSeconds = 5e9

/**
 * Returns the time of an event, or `undefined` if no field holds one.
 *
 * @param field the only field to ask, if it is known
 */
export function timeOf(event: Readonly<Record<string, unknown>>, field?: string): EventTime | undefined {
  if (field !== undefined) return timeIn(event[field])
  for (const name of usualFields) {
    const value = event[name]
    if (value === undefined) continue
    const time = timeIn(value)
    if (time !== undefined) return time
  }
  return undefined
}

function timeIn(value: unknown): EventTime | undefined {
  if (typeof value === 'string') return timeInText(value)
  if (typeof value === 'number') return timeOfNumber(value)
  if (typeof value === 'object' && value !== null) return timeInParts(value)
  return undefined
}

/** The second of the last text, because consecutive events mostly have the same one. */
let lastSecondText = ''
let lastSeconds = 0

function timeInText(text: string): EventTime | undefined {
  if (text.length > 64) return undefined
  const [, date, timeOfDay, fraction = '', zone = ''] = dateTime.exec(text) ?? []
  if (date === undefined) return timeInDigits(text)
  const secondText = `${date}T${timeOfDay}${zoneOf(zone)}`
  if (secondText !== lastSecondText) {
    const ms = SystemDate.parse(secondText)
    if (!Number.isFinite(ms)) return undefined
    lastSecondText = secondText
    lastSeconds = ms / 1000
  }
  return [lastSeconds, Number(fraction.padEnd(9, '0'))]
}

function zoneOf(zone: string): string {
  if (!/^[+-]/.test(zone)) return 'Z'
  return zone.includes(':') ? zone : `${zone.slice(0, 3)}:${zone.slice(3)}`
}

function timeInDigits(text: string): EventTime | undefined {
  if (unixTime.test(text) && text.length === 19) {
    return plausible(Number(text.slice(0, 10)), Number(text.slice(10))) // more digits than a number has
  }
  return unixTime.test(text) || unixSeconds.test(text) ? timeOfNumber(Number(text)) : undefined
}

/** Returns the time that a number since 1970 stands for. Its size shows its unit: seconds, or 10^-3, 10^-6 or 10^-9 s. */
function timeOfNumber(value: number): EventTime | undefined {
  for (let perSecond = 1; perSecond <= 1e9; perSecond *= 1000) {
    if (value >= maxSeconds * perSecond) continue
    const seconds = Math.floor(value / perSecond)
    // A number of seconds or milliseconds may have a fraction. It is good for microseconds.
    const micros = perSecond === 1e9 ? 0 : Math.round((value - seconds * perSecond) * (1e6 / perSecond))
    const nanos = perSecond === 1e9 ? value - seconds * perSecond : micros * 1000
    return nanos < 1e9 ? plausible(seconds, nanos) : plausible(seconds + 1, 0)
  }
  return undefined
}

/** Returns the time in an object such as Log4j's `instant`. */
function timeInParts(value: object): EventTime | undefined {
  const { epochSecond, nanoOfSecond = 0 } = value as { epochSecond?: unknown; nanoOfSecond?: unknown }
  return typeof epochSecond === 'number' && typeof nanoOfSecond === 'number'
    ? plausible(epochSecond, nanoOfSecond)
    : undefined
}

function plausible(seconds: number, nanos: number): EventTime | undefined {
  const isTime = Number.isInteger(seconds) && seconds >= minSeconds && seconds < maxSeconds
  return isTime && Number.isInteger(nanos) && nanos >= 0 && nanos < 1e9 ? [seconds, nanos] : undefined
}
