/** How a level looks: a mark, a word and a color, so that no one of them is needed alone. */
import type { Level } from '../protocol.ts'

export const levelMarks: Readonly<Record<Level, string>> = {
  fatal: '✖',
  error: '●',
  warn: '▲',
  info: '○',
  debug: '·',
  trace: '‥',
}

/** Highest first, as facets list them. */
export const levelsFromFatal: readonly Level[] = ['fatal', 'error', 'warn', 'info', 'debug', 'trace']

export function isError(level: Level | null): boolean {
  return level === 'error' || level === 'fatal'
}
