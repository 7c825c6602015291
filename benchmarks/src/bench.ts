/** `npm run bench`: plans, measures, and reports. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { constants } from 'node:os'
import { dirname, resolve } from 'node:path'
import { commandLine, help, wanted } from './command-line.ts'
import { experiments } from './experiments/all.ts'
import { benchmarksFolder, killChildren } from './harness/child.ts'
import { startReceiver } from './harness/receiver-process.ts'
import { countRuns, measure, type Planned, planned } from './measure.ts'
import { thisMachine } from './report/machine.ts'
import type { Results } from './report/results.ts'
import { resultsAsText } from './report/text.ts'

/** Where the user stands; npm itself goes to the package's folder. */
const userFolder = process.env.INIT_CWD ?? process.cwd()

try {
  await main(process.argv.slice(2))
} catch (error) {
  console.error(`bench: ${(error as Error).message}\n\n${help}`)
  process.exitCode = 2
}

async function main(args: string[]): Promise<void> {
  const given = commandLine(args)
  if (given.help) return console.log(help)
  const names = experiments.map(({ name }) => name)
  const subjects = experiments.flatMap(experiment => experiment.cases('full').map(({ subject }) => subject))
  const isWanted = wanted(given.only, names, subjects)
  const plan = planned(experiments, given.extent, isWanted, given.rounds)
  if (plan.length === 0) {
    if (given.extent === 'quick') throw new Error('--quick measures nothing of that; leave --quick out')
    throw new Error('these experiments have none of these set-ups; see --list')
  }
  if (given.list) return list(plan)

  const startedAt = new Date().toISOString()
  const machine = thisMachine() // its load is that of others, as long as nothing has begun
  const interrupted = untilInterrupted()
  using receiver = await startReceiver()
  const measured = await measure(plan, receiver, interrupted)
  if (interrupted.aborted) process.exitCode = 128 + constants.signals[interrupted.reason as NodeJS.Signals]
  if (measured.length === 0) return console.error('bench: interrupted before anything was measured')
  const results: Results = {
    startedAt,
    command: ['npm run bench', ...(args.length > 0 ? ['--', ...args] : [])].join(' '),
    version: JSON.parse(readFileSync(resolve(benchmarksFolder, '../package.json'), 'utf8')).version,
    machine,
    interrupted: interrupted.aborted || undefined,
    experiments: measured,
  }
  console.log(`\n${resultsAsText(results)}\n`)
  if (given.json !== undefined) write(resolve(userFolder, given.json), `${JSON.stringify(results, null, 2)}\n`)
  const { reportPage } = await import('./report/page.ts')
  write(resolve(userFolder, given.html ?? resolve(benchmarksFolder, 'results/report.html')), reportPage(results))
}

/** Aborted by the first Ctrl-C or SIGTERM, with the name of the signal; the second one ends the process. */
function untilInterrupted(): AbortSignal {
  const interruption = new AbortController()
  const interrupt = (signal: NodeJS.Signals): void => {
    process.off('SIGINT', interrupt).off('SIGTERM', interrupt)
    interruption.abort(signal)
    killChildren()
  }
  process.on('SIGINT', interrupt).on('SIGTERM', interrupt)
  return interruption.signal
}

function list(plan: readonly Planned[]): void {
  for (const { experiment, cases, rounds } of plan) {
    console.log(`${experiment.name}: ${experiment.question} (${rounds} rounds)`)
    for (const { subject, variant } of cases) console.log(`  ${[subject, variant].filter(Boolean).join(', ')}`)
  }
  console.log(`\n${countRuns(plan)} runs`)
}

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
  console.log(`Written: ${path}`)
}
