import { setTimeout as sleep } from 'node:timers/promises'
import { startEmulator } from '../../src/emulator.ts'
import { numbersIn } from '../support/emulated.ts'
import { tally } from '../support/laws.ts'
import { brokenOf, type Figures, noProgress, type Progress } from './figures.ts'
import { SteadyChild } from './steady-child.ts'

export interface BlockedLoop {
  readonly perSecond: number
  readonly blockedMs: number
  readonly rounds: number
}

/** Scenario 20: the event loop is blocked for longer than a request may take, while answers wait in the sockets. */
export async function blockedLoop(scale: BlockedLoop, progress: Progress = noProgress): Promise<Figures> {
  const { perSecond, blockedMs, rounds } = scale
  await using emulator = await startEmulator()
  // Long enough that requests are always in flight, so that the loop is blocked during some of them.
  emulator.faults.latencyMs = 150
  const { url: baseUrl, token } = emulator
  const options = { baseUrl, token, maxBatchAgeMs: 20, requestTimeoutMs: Math.ceil(blockedMs / 2) }
  using child = new SteadyChild({ options, perSecond, text: 'x'.repeat(100), flushTimeoutMs: 30_000 })
  for (let round = 0; round < rounds; round++) {
    await child.whenLogged(child.logged + perSecond / 4, 30_000)
    progress(`blocked, ${round + 1} of ${rounds}`)
    child.order({ kind: 'block', forMs: blockedMs })
    await sleep(blockedMs)
  }
  const { logged, stats } = await child.end(40_000)
  const { lost, twice } = tally(numbersIn(emulator), logged)
  return {
    events: logged,
    lost,
    twice,
    requests: stats.requests,
    notes: `${rounds} × ${blockedMs / 1000} s, ${stats.retries} retries`,
    broken: brokenOf({
      'nothing lost': lost === 0 && stats.dropped === 0,
      'no timeout although the answer had arrived': twice === 0 && stats.retries === 0,
    }),
  }
}
