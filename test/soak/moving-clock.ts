import { setTimeout as sleep } from 'node:timers/promises'
import { startEmulator } from '../../src/emulator.ts'
import { numbersIn } from '../support/emulated.ts'
import { tally } from '../support/laws.ts'
import { brokenOf, type Figures, noProgress, type Progress } from './figures.ts'
import { SteadyChild } from './steady-child.ts'

export interface MovingClock {
  readonly perSecond: number
  /** Time of logging between two changes. */
  readonly stepMs: number
  readonly suspendedMs: number
}

const aDayMs = 86_400_000

/**
 * Scenario 19: the wall clock of a process moves by days, while the service is well and in an outage. Then the process
 * is suspended.
 */
export async function movingClock(scale: MovingClock, progress: Progress = noProgress): Promise<Figures> {
  const { perSecond, stepMs, suspendedMs } = scale
  await using emulator = await startEmulator()
  const { url: baseUrl, token } = emulator
  const options = { baseUrl, token, maxBatchAgeMs: 100, maxRetryDelayMs: 500 }
  using child = new SteadyChild({ options, perSecond, text: 'x'.repeat(100), flushTimeoutMs: 30_000 })
  await child.whenLogged(1)
  const startedAtMs = performance.now()
  let stalledMs = 0
  const step = async (what: string): Promise<void> => {
    progress(what)
    await sleep(stepMs)
    const fromMs = performance.now()
    await emulator.waitForEvents('d', child.logged, { timeoutMs: 30_000 })
    stalledMs = Math.max(stalledMs, performance.now() - fromMs)
  }
  for (const days of [1, -1, 0]) {
    child.order({ kind: 'move the clock', byMs: days * aDayMs })
    await step(`the wall clock is ${days} days ahead`)
    emulator.faults.answerNext(3, { status: 503, headers: days === 0 ? { 'retry-after': '1' } : {} })
    child.order({ kind: 'move the clock', byMs: -days * aDayMs })
    await step(`the wall clock is ${-days} days ahead, after three 503`)
  }
  child.signal('SIGSTOP')
  progress(`suspended for ${suspendedMs / 1000} s`)
  await sleep(suspendedMs)
  child.signal('SIGCONT')
  await step('awake again')
  const { logged, stats } = await child.end(40_000)
  const seconds = (performance.now() - startedAtMs) / 1000
  const { lost, twice } = tally(numbersIn(emulator), logged)
  const times = new Set(emulator.events('d').map(event => event._time))
  return {
    events: logged,
    lost,
    twice,
    requests: stats.requests,
    notes: `longest stall ${(stalledMs / 1000).toFixed(1)} s`,
    broken: brokenOf({
      'nothing lost, nothing twice': lost === 0 && twice === 0 && stats.dropped === 0,
      'no storm': stats.requests <= seconds * 10 + 20,
      'no stall': stalledMs < 15_000,
      'each event has its own timestamp': times.size === logged,
    }),
  }
}
