/**
 * Runs the long scenarios whole: `npm run soak`. `-- --only 12 --only outage` runs some of them. `--short` runs them at
 * a small scale. `--only chaos --seed 123` runs the chaos once, with that seed. `--only fleet --case full` runs the cases
 * of the fleet whose names begin with that word, and `--processes 20` sets their number of processes.
 *
 * Shows progress, and ends with a table. The exit code is 1 if a law is broken.
 */
import { cpus } from 'node:os'
import { parseArgs } from 'node:util'
import type { Figures } from './figures.ts'
import { chaosOf, type LongScenario, longScenarios } from './scenarios.ts'

interface Row extends Pick<LongScenario, 'number' | 'what'> {
  readonly seconds: number
  readonly figures: Figures
}

const values = given()
const seed = numberOf('seed')
const processes = numberOf('processes')
const unknown = values.only?.find(one => !longScenarios.some(({ number }) => String(number) === one))
const chosen = longScenarios
  .filter(isChosen)
  .map(one => (seed !== undefined && one.number === 'chaos' ? chaosOf(seed) : one))
if (chosen.length === 0 || unknown !== undefined) {
  const numbers = [...new Set(longScenarios.map(({ number }) => number))].join(', ')
  const names = longScenarios.flatMap(({ name }) => name ?? []).join(', ')
  refuse(`--only takes one of: ${numbers}. --case takes the beginning of one of: ${names}`)
}

function given() {
  try {
    return parseArgs({
      options: {
        only: { type: 'string', multiple: true },
        short: { type: 'boolean', default: false },
        seed: { type: 'string' },
        case: { type: 'string', multiple: true },
        processes: { type: 'string' },
      },
    }).values
  } catch (error) {
    return refuse(`${(error as Error).message}. The options are --only, --short, --seed, --case and --processes.`)
  }
}

function numberOf(option: 'seed' | 'processes'): number | undefined {
  const text = values[option]
  if (text === undefined || /^[1-9]\d{0,8}$/.test(text)) return text === undefined ? undefined : Number(text)
  return refuse(`--${option} must be a whole number, at least 1, not '${text}'`)
}

function refuse(why: string): never {
  console.error(`soak: ${why}`)
  process.exit(2)
}

/**
 * Returns true for the scenarios that the options ask for. A seed selects only scenarios with random choices, and the
 * first of several that differ in their seed alone.
 */
function isChosen({ number, name, short }: LongScenario, index: number): boolean {
  if (values.short && short === undefined) return false
  if (values.only !== undefined && !values.only.includes(String(number))) return false
  if (values.case !== undefined && !values.case.some(one => isNamed(name, one))) return false
  if (seed === undefined || number === 'fleet') return true
  return number === 'chaos' && longScenarios[index - 1]?.number !== 'chaos'
}

/** Returns true if the name equals the given one or, if no name does, begins with it. */
function isNamed(name: string | undefined, asked: string): boolean {
  const isWhole = longScenarios.some(one => one.name === asked)
  return isWhole ? name === asked : name?.startsWith(`${asked}-`) === true
}

const isTerminal = process.stdout.isTTY
let lastProgressAtMs = 0

function progress(line: string): void {
  const nowMs = performance.now()
  if (nowMs - lastProgressAtMs < (isTerminal ? 200 : 10_000)) return
  lastProgressAtMs = nowMs
  process.stdout.write(isTerminal ? `\r\u001b[K  ${line}` : `  ${line}\n`)
}

async function run(scenario: LongScenario): Promise<Row> {
  const { number, what, inShort } = scenario
  const name = values.short ? `${what} [${inShort}]` : what
  console.log(`${number}: ${name}`)
  lastProgressAtMs = performance.now()
  const startedAtMs = performance.now()
  let figures: Figures
  try {
    figures = await (values.short && scenario.short ? scenario.short() : scenario.whole(progress, seed, processes))
  } catch (error) {
    const broken = [error instanceof Error ? error.message : String(error)]
    figures = { events: 0, lost: Number.NaN, twice: Number.NaN, requests: 0, notes: 'did not end', broken }
  }
  const seconds = (performance.now() - startedAtMs) / 1000
  const verdict = figures.broken.length === 0 ? 'holds' : `BROKEN: ${figures.broken.join('; ')}`
  process.stdout.write(`${isTerminal ? '\r\u001b[K' : ''}  ${verdict} (${seconds.toFixed(0)} s; ${figures.notes})\n`)
  return { number, what: name, seconds, figures }
}

function table(rows: readonly Row[]): string {
  const lines = rows.map(({ number, what, seconds, figures }) => {
    const { events, lost, twice, requests, rssGrowthBytes, notes, broken } = figures
    const rss = rssGrowthBytes === undefined ? '' : `${Math.round(rssGrowthBytes / 1_048_576)} MiB`
    const numbers = [events, lost, twice, requests].map(one => one.toLocaleString('en'))
    const verdict = broken.length === 0 ? 'holds' : `**${broken.join('; ')}**`
    return `| ${[number, what, ...numbers, rss, `${seconds.toFixed(0)} s`, notes, verdict].join(' | ')} |`
  })
  const head = ['scenario', 'what', 'events', 'lost', 'twice', 'requests', 'RSS growth', 'duration', 'notes', 'verdict']
  return [`| ${head.join(' | ')} |`, `|${'---|'.repeat(head.length)}`, ...lines].join('\n')
}

const rows: Row[] = []
for (const scenario of chosen) rows.push(await run(scenario))
console.log(
  `\n${new Date().toISOString().slice(0, 10)}, Node ${process.versions.node}, ${cpus().length} × ${cpus()[0]?.model}\n`,
)
console.log(table(rows))
process.exitCode = rows.some(({ figures }) => figures.broken.length > 0) ? 1 : 0
