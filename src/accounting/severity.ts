/**
 * The six classes into which OpenTelemetry groups its severity numbers 1 to 24, least severe first. They decide which
 * events are dropped first when memory fills, and drops are counted by class.
 *
 * @see https://opentelemetry.io/docs/specs/otel/logs/data-model/#field-severitynumber
 */
export const severities = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const

export type SeverityName = (typeof severities)[number]

/**
 * Index into `severities`: 0 is trace, 5 is fatal. It fits into one byte, so that a batch can keep it for each line.
 */
export type Severity = 0 | 1 | 2 | 3 | 4 | 5

const info: Severity = 2

/** Level names of npm, syslog and CLI loggers, and other common spellings, with their class. */
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

/** Maximum length of a level name, in characters. A longer name is not looked up. */
export const maxLevelLength = 64

/** Returns the class of a level name, regardless of case. An unknown name counts as info. */
export function severityOfLevel(level: unknown): Severity {
  return knownSeverity(level) ?? info
}

/** Returns the class of a level name, regardless of case, or `undefined` if the name is unknown. */
export function knownSeverity(level: unknown): Severity | undefined {
  if (typeof level !== 'string') return undefined
  if (level.length > maxLevelLength) return undefined
  return byLevelName[level] ?? byLevelName[level.toLowerCase()]
}

/** True if the value is one of OpenTelemetry's severity numbers, 1 to 24. The number 0 means unspecified. */
export function isSeverityNumber(value: number | undefined): value is number {
  return value !== undefined && value >= 1 && value <= 24
}

/**
 * Returns the class of an OpenTelemetry severity number. An unspecified number (0, absent or out of range) counts as
 * info.
 */
export function severityOfNumber(severityNumber: number | undefined): Severity {
  if (!isSeverityNumber(severityNumber)) return info
  return ((severityNumber - 1) >> 2) as Severity
}
