/** `npm run bench`: plans, measures, and reports. */
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { constants } from 'node:os'
import { dirname, resolve } from 'node:path'
import { type CommandLine, commandLine, help } from './command-line.ts'
import { experiments } from './experiments/all.ts'
import { benchmarksFolder, killChildren } from './harness/child.ts'
import { startReceiver } from './harness/receiver-process.ts'
import { countRuns, measure, type Planned, planOf } from './measure.ts'
import { thisMachine } from './report/machine.ts'
import type { Results } from './report/results.ts'
import { resultsAsText } from './report/text.ts'

/** Where the user stands; npm itself goes to the package's folder. */
const userFolder = process.env.INIT_CWD ?? process.cwd()

try {
  await main(process.argv.slice(2))
} catch (error) {
  console.error(`bench: ${(error as Error).message}`)
  process.exitCode = 1
}

async function main(args: string[]): Promise<void> {
  let given: CommandLine
  let plan: Planned[]
  try {
    given = commandLine(args)
    plan = planOf(experiments, given)
  } catch (error) {
    console.error(`bench: ${(error as Error).message}\n\n${help}`)
    process.exitCode = 2
    return
  }
  if (given.help) return console.log(help)
  if (given.list) return list(plan)
  const json = given.json === undefined ? undefined : writablePath(resolve(userFolder, given.json))
  const html = writablePath(resolve(userFolder, given.html ?? resolve(benchmarksFolder, 'results/report.html')))

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
  if (json !== undefined) write(json, `${JSON.stringify(results, null, 2)}\n`)
  const { reportPage } = await import('./report/page.ts')
  write(html, reportPage(results))
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

/**
 * Makes the folder of a file that is written after an hour of measuring.
 *
 * @throws Error if the file cannot be written
 */
function writablePath(path: string): string {
  mkdirSync(dirname(path), { recursive: true })
  const isThere = existsSync(path)
  closeSync(openSync(path, 'a'))
  if (!isThere) rmSync(path)
  return path
}

function write(path: string, text: string): void {
  writeFileSync(path, text)
  console.log(`Written: ${path}`)
}
