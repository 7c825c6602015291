import { type Severity, severityOfLevel, severityOfNumber } from '../../accounting/severity.ts'

/** Fields in which loggers write the level of an event, in the order in which they are asked. */
const usualFields = [
  'levelname', // Python, which may have a number in `level`
  'level', // Winston, Pino, Bunyan, zap, slog, zerolog, logrus, structlog, GELF, Monolog
  'severity', // Google Cloud, Ruby
  'log.level', // ECS
  'lvl',
  '@l', // Serilog
  'LogLevel', // .NET
  'severity_text', // OpenTelemetry
  'severityText',
  'PRIORITY', // journald
] as const

/** Names that only some loggers use: zap, java.util.logging. */
const rareNames = new Map<string, string>([
  ['dpanic', 'fatal'],
  ['severe', 'error'],
  ['config', 'info'],
  ['fine', 'debug'],
  ['finer', 'trace'],
  ['finest', 'trace'],
])

/** Severity classes of syslog's numbers, 0 (emergency) to 7 (debug), which GELF and journald use. */
const bySyslogNumber: readonly Severity[] = [5, 5, 5, 4, 3, 2, 2, 1]

/** Returns the severity of an event by its level, or `undefined` if it has none. */
export function severityOf(event: Readonly<Record<string, unknown>>): Severity | undefined {
  for (const name of usualFields) {
    const level = event[name]
    if (typeof level === 'string' || typeof level === 'number') return severityOfValue(level)
  }
  const { log, severityNumber = event.severity_number } = event
  const nested = (log as { level?: unknown } | null | undefined)?.level // ECS
  if (typeof nested === 'string') return severityOfValue(nested)
  return typeof severityNumber === 'number' ? severityOfNumber(severityNumber) : undefined
}

function severityOfValue(level: string | number): Severity {
  if (typeof level === 'number') return severityOfLevelNumber(level)
  const name = level.trim()
  if (/^\d{1,3}$/.test(name)) return severityOfLevelNumber(Number(name))
  const rare = name.length <= 6 ? rareNames.get(name.toLowerCase()) : undefined
  return severityOfLevel(rare ?? (/[+-]\d+$/.test(name) ? name.replace(/[+-]\d+$/, '') : name)) // `INFO+2` of slog
}

/** Pino and Bunyan count 10 (trace), 20, … 60 (fatal); Monolog counts 100 (debug), 200, … 600 (fatal). */
function severityOfLevelNumber(level: number): Severity {
  const bySyslog = bySyslogNumber[level]
  if (bySyslog !== undefined) return bySyslog
  if (level >= 10 && level < 100) return (Math.min(Math.floor(level / 10), 6) - 1) as Severity
  if (level >= 100 && level < 1000) return Math.min(Math.floor(level / 100), 5) as Severity
  return severityOfLevel(undefined)
}
