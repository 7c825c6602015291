import { type CommandLine, wanted } from './command-line.ts'
import type { Case, Experiment, Extent } from './experiments/experiment.ts'
import { Progress } from './harness/progress.ts'
import type { Receiver } from './harness/receiver-process.ts'
import type { ExperimentResults, Row } from './report/results.ts'

/** An experiment, and those of its cases that are asked for. */
export interface Planned {
  readonly experiment: Experiment
  readonly cases: readonly Case[]
  readonly rounds: number
}

export function planned(
  experiments: readonly Experiment[],
  extent: Extent,
  isWanted: (experiment: string, subject: string) => boolean,
  rounds: number | undefined,
): Planned[] {
  return experiments.flatMap(experiment => {
    const cases = experiment.cases(extent).filter(({ subject }) => isWanted(experiment.name, subject))
    return cases.length === 0 ? [] : [{ experiment, cases, rounds: rounds ?? experiment.rounds[extent] }]
  })
}

/**
 * All that is asked for.
 *
 * @throws Error if a part of it does not exist
 */
export function planOf(experiments: readonly Experiment[], { only, extent, rounds }: CommandLine): Planned[] {
  const names = experiments.map(({ name }) => name)
  const subjects = experiments.flatMap(experiment => experiment.cases('full').map(({ subject }) => subject))
  const plan = planned(experiments, extent, wanted(only, names, subjects), rounds)
  const isPlanned = (asked: string) => plan.some(({ experiment }) => experiment.name === asked)
  const missing = only.filter(asked => names.includes(asked) && !isPlanned(asked))
  if (missing.length === 0 && plan.length > 0) return plan
  if (extent === 'quick')
    throw new Error(`--quick measures nothing of ${missing.join(', ') || 'that'}; leave --quick out`)
  throw new Error(`none of these set-ups is in ${missing.join(', ')}; see --list`)
}

export function countRuns(plan: readonly Planned[]): number {
  return plan.reduce((sum, { cases, rounds }) => sum + cases.length * rounds, 0)
}

/**
 * Measures every case once in each round, so that what the machine does meanwhile meets all of them alike. The order within
 * a round turns, so that none always follows the same one.
 *
 * @param interrupted ends the measurement; what was measured until then is returned, without the run under way
 */
export async function measure(
  plan: readonly Planned[],
  receiver: Receiver,
  interrupted: AbortSignal,
): Promise<ExperimentResults[]> {
  const progress = new Progress(countRuns(plan))
  const results: ExperimentResults[] = []
  for (const { experiment, cases, rounds } of plan) {
    const { name, question, shows, charts } = experiment
    const rows: Row[] = cases.map(({ subject, variant }) => ({ subject, variant, rounds: [] }))
    results.push({ name, question, shows, charts, rows })
    for (let round = 0; round < rounds; round += 1) {
      const shift = Math.floor((round * cases.length) / rounds)
      for (let position = 0; position < cases.length; position += 1) {
        const index = (position + shift) % cases.length
        const each = cases[index] as Case
        const row = rows[index] as Row
        const what = `${name}: ${[each.subject, each.variant].filter(Boolean).join(', ')}, round ${round + 1} of ${rounds}`
        progress.begin(what)
        if (row.rounds.at(-1)?.kind === 'not available') continue
        const measured = await each.measure(receiver)
        if (interrupted.aborted) {
          progress.end()
          return results.filter(({ rows }) => rows.some(row => row.rounds.length > 0))
        }
        if (measured.kind !== 'figures') progress.note(`${what}: ${measured.why}`)
        row.rounds.push(measured)
      }
    }
  }
  progress.end()
  return results
}
