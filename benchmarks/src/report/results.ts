import type { Measured } from '../experiments/experiment.ts'
import { type Summary, summaryOf } from './statistics.ts'

/** All that was measured of one case, round by round. */
export interface Row {
  readonly subject: string
  readonly variant: string
  readonly rounds: Measured[]
}

export interface ExperimentResults {
  readonly name: string
  readonly question: string
  readonly shows: readonly string[]
  readonly charts: readonly string[]
  readonly rows: readonly Row[]
}

export interface Machine {
  readonly cpu: string
  readonly cores: number
  readonly memoryGiB: number
  readonly platform: string
  readonly node: string
  /** Processes that wanted a processor when it began, on average over a minute; 0 where the system does not tell. */
  readonly load: number
}

/** Everything a report is made of; what `--json` writes. */
export interface Results {
  readonly startedAt: string
  readonly command: string
  readonly version: string
  readonly machine: Machine
  /** Whether the measurement was ended before all that was asked for had been measured. */
  readonly interrupted?: boolean | undefined
  readonly experiments: readonly ExperimentResults[]
}

export const interruptedNote = 'Interrupted: some set-ups were not measured, or in fewer rounds.'

export function valuesOf(row: Row | undefined, figure: string): number[] {
  return (row?.rounds ?? []).flatMap(measured => {
    const value = measured.kind === 'figures' ? measured.figures[figure] : undefined
    return value === undefined ? [] : [value]
  })
}

export function figureOf(row: Row | undefined, figure: string): Summary | undefined {
  return summaryOf(valuesOf(row, figure))
}

export function rowOf(results: Results, experiment: string, subject: string, variant = ''): Row | undefined {
  const found = results.experiments.find(({ name }) => name === experiment)
  return found?.rows.find(row => row.subject === subject && row.variant === variant)
}

/** What is missing of a case: all figures, or those of rounds that failed. */
export function whatIsMissing(row: Row): string | undefined {
  const { rounds } = row
  const failed = rounds.filter(measured => measured.kind === 'failed')
  if (failed.length === 0 || failed.length === rounds.length) return whyNone(row)
  return `${failed.length} of ${rounds.length} rounds failed: ${failed.at(-1)?.why}`
}

/** Why a case has no figures, if it has none. */
export function whyNone({ rounds }: Row): string | undefined {
  if (rounds.some(({ kind }) => kind === 'figures')) return undefined
  const last = rounds.at(-1)
  return last === undefined || last.kind === 'figures' ? 'not measured' : last.why
}
