import { isSeverityNumber, knownSeverity, severityOfNumber } from '../../accounting/severity.ts'
import { type Level, levels } from '../protocol.ts'

/** Rank of an event without a level, or with one that is unknown. */
export const noRank = -1

/** Spellings of the six levels. Other names, such as `notice`, are levels of their own with the rank of their class. */
const spellings: ReadonlyMap<string, string> = new Map([
  ['err', 'error'],
  ['information', 'info'],
  ['warning', 'warn'],
])

/** Fields in which some loggers write the name of the level. */
const otherFields = ['log.level', 'lvl', '@l', 'LogLevel', 'severityText'] as const

/** Ranks of syslog's numbers, 0 (emergency) to 7 (debug), which GELF and journald use. */
const ranksOfSyslog: readonly number[] = [5, 5, 5, 4, 3, 2, 2, 1]

/**
 * Returns the rank of an event's level, 0 for trace to 5 for fatal, or -1.
 *
 * The level is the name or number in `level`, or else OpenTelemetry's `severity_number`, or the name in `severity` or
 * `severity_text`. Otherwise it is where other loggers write it: `logferry pipe` ships their lines as they are. An array
 * or an object in `level` is no level.
 */
export function levelRank(event: Readonly<Record<string, unknown>>): number {
  const { level, levelname } = event
  const ofPython = knownSeverity(levelname) // Python's numbers in `level` are not those of Pino
  if (ofPython !== undefined) return ofPython
  if (typeof level === 'object' && level !== null) return noRank
  const named = typeof level === 'string' || typeof level === 'number' ? rankOfWord(String(level)) : undefined
  if (named !== undefined) return named
  const { severity_number: number, severity, severity_text: text } = event
  if (typeof number === 'number' && isSeverityNumber(number)) return severityOfNumber(number)
  return knownSeverity(severity) ?? knownSeverity(text) ?? rankOfOtherLogger(event)
}

/** Returns the rank by the fields of ECS, Serilog, .NET, OpenTelemetry in JSON, and journald. */
function rankOfOtherLogger(event: Readonly<Record<string, unknown>>): number {
  const { log, severityNumber, PRIORITY: priority } = event
  for (const name of otherFields) {
    const rank = knownSeverity(event[name])
    if (rank !== undefined) return rank
  }
  if (typeof log === 'object' && log !== null && Object.hasOwn(log, 'level')) {
    const rank = knownSeverity((log as { level: unknown }).level)
    if (rank !== undefined) return rank
  }
  if (typeof severityNumber === 'number' && isSeverityNumber(severityNumber)) return severityOfNumber(severityNumber)
  if (typeof priority !== 'string' && typeof priority !== 'number') return noRank
  return /^[0-7]$/.test(String(priority)) ? (ranksOfSyslog[Number(priority)] as number) : noRank
}

/**
 * Returns the rank that a word names, or `undefined`. Numbers are those of syslog, pino or Monolog, or OpenTelemetry's
 * severities from 8 on.
 */
export function rankOfWord(word: string): number | undefined {
  const named = knownSeverity(word)
  if (named !== undefined || !/^\d{1,3}$/.test(word)) return named
  const number = Number(word)
  return (
    ranksOfSyslog[number] ??
    rankOfPino(number) ??
    rankOfMonolog(number) ??
    (isSeverityNumber(number) ? severityOfNumber(number) : undefined)
  )
}

/** Returns the rank of a word that is a spelling of one of the six levels: `ERROR` and `err`, but not `crit`. */
export function rankOfSpelling(word: string): number | undefined {
  const name = word.toLowerCase()
  const rank = (levels as readonly string[]).indexOf(spellings.get(name) ?? name)
  return rank === -1 ? undefined : rank
}

/** Returns the level as it was logged: the name or number in `level`, or else in the other fields of a level. */
export function levelText(event: Readonly<Record<string, unknown>>): string | undefined {
  for (const value of [event.level, event.severity, event.severity_text]) {
    if (typeof value === 'string' && value !== '') return value
    if (typeof value === 'number') return String(value)
  }
  return undefined
}

export function levelOfRank(rank: number): Level | null {
  return levels[rank] ?? null
}

/** pino's levels are 10 for trace to 60 for fatal. */
function rankOfPino(level: number): number | undefined {
  if (level < 10 || level > 60 || level % 10 !== 0) return undefined
  return level / 10 - 1
}

/** Monolog's levels are 100 for debug, 200 for info and 250 for notice, to 600 for emergency. */
function rankOfMonolog(level: number): number | undefined {
  if (level < 100 || level > 600 || level % 50 !== 0) return undefined
  return Math.min(Math.floor(level / 100), 5)
}
