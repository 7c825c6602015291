/**
 * The six classes of severity that OpenTelemetry groups its numbers 1 to 24 into, least severe first. What is shed when
 * memory fills, and what drops are counted by.
 *
 * @see https://opentelemetry.io/docs/specs/otel/logs/data-model/#field-severitynumber
 */
export const severities = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const

export type SeverityName = (typeof severities)[number]

/** Index into `severities`: 0 is trace, 5 is fatal. One byte a line, so a batch can keep it for each of its lines. */
export type Severity = 0 | 1 | 2 | 3 | 4 | 5

const info: Severity = 2

/** Level names of npm, syslog and CLI loggers (and the common spellings beside them) by their class. */
const byLevelName: Readonly<Record<string, Severity>> = {
  __proto__: null as never,
  silly: 0,
  trace: 0,
  debug: 1,
  verbose: 1,
  input: 1,
  http: 2,
  info,
  information: info,
  notice: info,
  data: info,
  help: info,
  prompt: info,
  warn: 3,
  warning: 3,
  error: 4,
  err: 4,
  crit: 5,
  critical: 5,
  alert: 5,
  emerg: 5,
  emergency: 5,
  panic: 5,
  fatal: 5,
}

/** No level has a longer name. */
export const maxLevelLength = 64

/** The class of a level's name, in any case of letters; a name nobody uses counts as info. */
export function severityOfLevel(level: unknown): Severity {
  if (typeof level !== 'string') return info
  if (level.length > maxLevelLength) return info
  return byLevelName[level] ?? byLevelName[level.toLowerCase()] ?? info
}

/** Whether it is one of OpenTelemetry's; 0 stands for none. */
export function isSeverityNumber(value: number | undefined): value is number {
  return value !== undefined && value >= 1 && value <= 24
}

/** The class of an OpenTelemetry severity number; unspecified (0, absent, out of range) counts as info. */
export function severityOfNumber(severityNumber: number | undefined): Severity {
  if (!isSeverityNumber(severityNumber)) return info
  return ((severityNumber - 1) >> 2) as Severity
}
