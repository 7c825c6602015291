import { setTimeout as sleep } from 'node:timers/promises'
import { startEmulator } from '../../src/emulator.ts'
import { numbersIn } from '../support/emulated.ts'
import { tally, watched } from '../support/laws.ts'
import { until } from '../support/until.ts'
import { brokenOf, type Figures, noProgress, type Progress } from './figures.ts'

export interface RefusedToken {
  readonly status: 401 | 403
  readonly durationMs: number
  readonly perSecond: number
}

/** Probes are 1 s apart at first, then 2 s, 4 s, … up to a minute. Each wait may be shorter by up to a half. */
function maxProbes(durationMs: number): number {
  let probes = 1
  for (let [atMs, delayMs] = [0, 1000]; atMs < durationMs; delayMs = Math.min(2 * delayMs, 60_000)) {
    atMs += delayMs / 2
    probes++
  }
  return probes
}

/** Scenario 10: the service refuses the token for a while, and then accepts it. */
export async function refusedToken(scale: RefusedToken, progress: Progress = noProgress): Promise<Figures> {
  const { status, durationMs, perSecond } = scale
  await using emulator = await startEmulator()
  const body = { message: 'the token is not valid' }
  emulator.faults.answerNext(Number.POSITIVE_INFINITY, { status, body })
  await using logs = watched({ baseUrl: emulator.url, token: emulator.token, maxBatchAgeMs: 100 })
  let events = 0
  const startedAtMs = performance.now()
  for (let elapsedMs = 0; elapsedMs < durationMs; elapsedMs = performance.now() - startedAtMs) {
    const due = Math.floor((elapsedMs / 1000) * perSecond)
    logs.log(events, due, { text: 'x'.repeat(100) })
    events = due
    const left = `${Math.ceil((durationMs - elapsedMs) / 1000)} s to go`
    progress(`${left}, ${events} events wait, ${logs.stats().requests} probes`)
    await sleep(50)
  }
  await until(() => logs.warnings.length > 0, 'the first answer is reported') // late on a busy machine
  const probes = logs.stats().requests
  const allowed = maxProbes(performance.now() - startedAtMs)
  const warnings = logs.warnings.length
  emulator.faults.clear()
  const { complete } = await logs.flush(70_000)
  await logs.close()
  const { lost, twice } = tally(numbersIn(emulator), events)
  return {
    events,
    lost,
    twice,
    requests: emulator.stats().requests,
    notes: `${probes} probes (at most ${allowed}), ${warnings} warnings`,
    broken: brokenOf({
      'all delivered once the token is right': complete && lost === 0 && twice === 0,
      'few probes': probes <= allowed,
      'one warning a minute': warnings <= 1 + durationMs / 60_000 && logs.warnings[0]?.code === 'LOGFERRY_PAUSED',
    }),
  }
}
