import { parseArgs } from 'node:util'
import type { Extent } from './experiments/experiment.ts'

export const help = `Usage: npm run bench -- [options]

Measures logferry, other libraries, and the limits of both, side by side; see benchmarks/README.md.

Options:
  --quick              the most important part, in less than two minutes
  --only <pattern>     an experiment, or set-ups whose name matches ('logferry-*'); several with commas between
  --rounds <number>    number of rounds for each set-up
  --json <file>        writes every sample
  --html <file>        writes the report there (default: benchmarks/results/report.html)
  --list               shows what would be measured
  --help               shows this`

export interface CommandLine {
  readonly extent: Extent
  readonly only: readonly string[]
  readonly rounds: number | undefined
  readonly json: string | undefined
  readonly html: string | undefined
  readonly list: boolean
  readonly help: boolean
}

/** @throws Error that says what makes no sense */
export function commandLine(args: string[]): CommandLine {
  const { values } = parseArgs({
    args,
    options: {
      quick: { type: 'boolean', default: false },
      only: { type: 'string', multiple: true, default: [] },
      rounds: { type: 'string' },
      json: { type: 'string' },
      html: { type: 'string' },
      list: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
  const { quick, json, html, list, help } = values
  const only = values.only.flatMap(patterns => patterns.split(','))
  return { extent: quick ? 'quick' : 'full', only, rounds: roundsOf(values.rounds), json, html, list, help }
}

function roundsOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const rounds = Number(text)
  if (!Number.isInteger(rounds) || rounds < 1)
    throw new Error(`--rounds must be a whole number, at least 1, not '${text}'`)
  return rounds
}

/**
 * Whether a case is asked for: patterns that name experiments choose among these, all others among the set-ups.
 *
 * @throws Error when a pattern matches nothing
 */
export function wanted(
  patterns: readonly string[],
  experiments: readonly string[],
  subjects: readonly string[],
): (experiment: string, subject: string) => boolean {
  const chosen = patterns.filter(pattern => experiments.includes(pattern))
  const expressions = patterns.filter(pattern => !experiments.includes(pattern)).map(expressionOf)
  for (const { pattern, expression } of expressions) {
    if (!subjects.some(subject => expression.test(subject)))
      throw new Error(`no experiment or set-up is called '${pattern}'; see --list`)
  }
  return (experiment, subject) =>
    (chosen.length === 0 || chosen.includes(experiment)) &&
    (expressions.length === 0 || expressions.some(({ expression }) => expression.test(subject)))
}

/** A pattern as a shell has it: `*` stands for any text. */
function expressionOf(pattern: string): { pattern: string; expression: RegExp } {
  const literally = (text: string) => text.replaceAll(/[^\w-]/g, '\\$&')
  const source = pattern.split('*').map(literally).join('.*')
  return { pattern, expression: new RegExp(`^${source}$`) }
}
