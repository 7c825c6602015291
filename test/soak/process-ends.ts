import { startEmulator } from '../../src/emulator.ts'
import { core, environmentFor } from '../exit/running.ts'
import { numbersIn } from '../support/emulated.ts'
import { tally } from '../support/laws.ts'
import { type Ended, runScript } from '../support/run-script.ts'
import { brokenOf, type Figures, noProgress, type Progress } from './figures.ts'

/** Ends of a process in the tick of its log calls, and the exit code of each. */
export const ends = {
  'process.exit()': ['process.exit()', 0],
  'an uncaught exception': [`throw new Error('boom')`, 1],
  'an unhandled rejection': [`void Promise.reject(new Error('boom')); await 1`, 1],
} as const

export interface ProcessEnds {
  readonly end: keyof typeof ends
  readonly processes: number
  readonly eventsEach: number
  /** Maximum delay of each end. Beside other tests, a machine may need longer than the default. */
  readonly exitTimeoutMs?: number
}

/** Scenario 15: fresh processes log and end in the same tick, eight at a time. */
export async function processEnds(scale: ProcessEnds, progress: Progress = noProgress): Promise<Figures> {
  const { processes, eventsEach, exitTimeoutMs = 2000 } = scale
  const [end, exitCode] = ends[scale.end]
  await using emulator = await startEmulator()
  const ended: Ended[] = []
  let started = 0
  const runSome = async (): Promise<void> => {
    while (started < processes) {
      const from = eventsEach * started++
      const program = core(`exitTimeoutMs: ${exitTimeoutMs}`)
      ended.push(await runScript(`${program} log(${from}, ${from + eventsEach}); ${end}`, environmentFor(emulator)))
      progress(`${ended.length} of ${processes} processes, ${emulator.eventCount('d')} events arrived`)
    }
  }
  await Promise.all(Array.from({ length: 8 }, runSome))
  const events = processes * eventsEach
  const { lost, twice } = tally(numbersIn(emulator), events)
  const said = ended.map(({ stderr }) => /logferry: .{0,100}/.exec(stderr)?.[0]).find(text => text !== undefined)
  const slowestMs = Math.max(...ended.map(({ ms }) => ms))
  return {
    events,
    lost,
    twice,
    requests: emulator.stats().requests,
    notes: `slowest process ${Math.round(slowestMs)} ms${said === undefined ? '' : `; “${said}”`}`,
    broken: brokenOf({
      'all delivered, none twice': lost === 0 && twice === 0,
      'exit codes are kept': ended.every(({ code }) => code === exitCode),
      'no warning, nothing on stdout': ended.every(
        ({ stdout, stderr }) => stdout === '' && !stderr.includes('logferry:'),
      ),
    }),
  }
}
