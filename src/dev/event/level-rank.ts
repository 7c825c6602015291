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

/**
 * Returns the rank of an event's level, 0 for trace to 5 for fatal, or -1.
 *
 * The level is the name or number in `level`, or else OpenTelemetry's `severity_number`, or the name in `severity` or
 * `severity_text`. An array or an object in `level` is no level.
 */
export function levelRank(event: Readonly<Record<string, unknown>>): number {
  const { level } = event
  if (typeof level === 'object' && level !== null) return noRank
  const named = typeof level === 'string' || typeof level === 'number' ? rankOfWord(String(level)) : undefined
  if (named !== undefined) return named
  const { severity_number: number, severity, severity_text: text } = event
  if (typeof number === 'number' && isSeverityNumber(number)) return severityOfNumber(number)
  return knownSeverity(severity) ?? knownSeverity(text) ?? noRank
}

/** Returns the rank that a word names, or `undefined`. Numbers are OpenTelemetry's severities, or pino's. */
export function rankOfWord(word: string): number | undefined {
  const named = knownSeverity(word)
  if (named !== undefined || !/^\d{1,2}$/.test(word)) return named
  const number = Number(word)
  return rankOfPino(number) ?? (isSeverityNumber(number) ? severityOfNumber(number) : undefined)
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
