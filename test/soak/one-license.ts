import { setTimeout as sleep } from 'node:timers/promises'
import { startEmulator } from '../../src/emulator.ts'
import { numbersIn } from '../support/emulated.ts'
import { tally, type Watched, watched } from '../support/laws.ts'
import { brokenOf, type Figures, noProgress, type Progress } from './figures.ts'

export interface OneLicense {
  readonly clients: number
  readonly requestsPerSecond: number
  readonly seconds: number
  readonly minUtilisation: number
}

/** A client that has found little room makes a request every 20 seconds, and each client has up to six batches left. */
const drainTimeoutMs = 300_000

/** The first seconds, in which clients find their shares, are not judged. */
const partToSettle = 1 / 3

/** Scenario 26: many clients that do not know each other, each with more to send than its share, on one license. */
export async function oneLicense(scale: OneLicense, progress: Progress = noProgress): Promise<Figures> {
  const { clients, requestsPerSecond, seconds } = scale
  await using emulator = await startEmulator({ org: { license: { apiRateLimitPerSecond: requestsPerSecond } } })
  emulator.enforce({ apiRateLimitPerSecond: true })
  const { url: baseUrl, token, orgId, accessToken } = emulator
  const limits = { orgId, accessToken }
  const everybody: Watched[] = []
  for (let client = 0; client < clients; client++) {
    // Batches of 5 events: there is always something to send.
    everybody.push(watched({ baseUrl, token, limits, maxBatchAgeMs: 100, maxBatchEvents: 5, flushTimeoutMs: 60_000 }))
    await sleep(1000 / clients)
  }
  const startedAtMs = Date.now()
  const answers = (status: number) => emulator.stats().answers[status] ?? 0
  let before = { served: 0, refused: 0 }
  let judgedFromMs = startedAtMs
  let events = 0
  for (let elapsedMs = 0; elapsedMs < seconds * 1000; elapsedMs = Date.now() - startedAtMs) {
    for (const logs of everybody) {
      if (logs.stats().pending >= 20) continue
      logs.log(events, events + 10)
      events += 10
    }
    if (judgedFromMs === startedAtMs && elapsedMs > seconds * 1000 * partToSettle) {
      before = { served: answers(200), refused: answers(429) }
      judgedFromMs = Date.now()
    }
    progress(`${Math.ceil(seconds - elapsedMs / 1000)} s to go, ${emulator.stats().requests} requests`)
    await sleep(50)
  }
  const judgedSeconds = (Date.now() - judgedFromMs) / 1000
  const served = answers(200) - before.served
  const refusals = answers(429) - before.refused
  const utilisation = served / (judgedSeconds * requestsPerSecond)
  const refused = refusals / Math.max(served + refusals, 1)
  const starved = everybody.filter(logs => logs.stats().delivered === 0).length
  progress('draining')
  emulator.enforce(false)
  const results = await Promise.all(everybody.map(logs => logs.close(drainTimeoutMs)))
  const { lost, twice } = tally(numbersIn(emulator), events)
  const percent = (part: number) => `${(part * 100).toFixed(1)} %`
  return {
    events,
    lost,
    twice,
    requests: emulator.stats().requests,
    notes: `${clients} clients, ${percent(utilisation)} used, ${percent(refused)} refused, ${starved} starved`,
    broken: brokenOf({
      'nothing lost, nothing twice': results.every(({ complete }) => complete) && lost === 0 && twice === 0,
      'few refused': refused < 0.15,
      'most of the license is used': utilisation >= scale.minUtilisation,
      'none starves': starved === 0,
    }),
  }
}
