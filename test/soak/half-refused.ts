import { setTimeout as sleep } from 'node:timers/promises'
import { startFaultServer } from '../support/fault-server.ts'
import { tally, watched } from '../support/laws.ts'
import { randomFrom } from '../support/random.ts'
import { brokenOf, type Figures, noProgress, type Progress } from './figures.ts'

export interface HalfRefused {
  readonly events: number
  readonly perSecond: number
  readonly seed: number
}

/**
 * Scenario 12: half of the answers, at random, are a 503. The necessary requests are one for each batch, and one more
 * for each 503. The size of the events tells the minimum number of batches.
 */
export async function halfRefused(scale: HalfRefused, progress: Progress = noProgress): Promise<Figures> {
  const { events, perSecond } = scale
  const random = randomFrom(scale.seed)
  const startedAtMs = performance.now()
  const requestsBySecond: number[] = []
  let refused = 0
  await using server = await startFaultServer(
    request => {
      if (!request.isWhole) return
      const second = Math.floor((performance.now() - startedAtMs) / 1000)
      requestsBySecond[second] = (requestsBySecond[second] ?? 0) + 1
      if (random() >= 0.5) return request.take()
      refused++
      request.answer('503 Service Unavailable')
    },
    { keepsRequests: false },
  )
  await using logs = watched({ baseUrl: server.url, maxBatchAgeMs: 100, maxRetryDelayMs: 1000 })
  for (let logged = 0; logged < events; await sleep(10)) {
    const due = Math.min(events, Math.floor(((performance.now() - startedAtMs) / 1000) * perSecond))
    logs.log(logged, due, { text: 'x'.repeat(200) })
    logged = due
    progress(`${logged} of ${events} events, ${refused} of ${server.requestCount} requests refused`)
  }
  const { complete } = await logs.flush(60_000)
  const { lost, twice } = tally(server.numbers, events)
  const { requests } = logs.stats()
  await logs.close()
  const batches = server.requestCount - refused
  const beyond = requests - batches - refused
  const peak = Math.max(...Object.values(requestsBySecond))
  const seconds = (performance.now() - startedAtMs) / 1000
  return {
    events,
    lost,
    twice,
    requests,
    notes: `${batches} batches, ${refused} refused, ${beyond} beyond the necessary, at most ${peak} in a second`,
    broken: brokenOf({
      'nothing lost, nothing twice': complete && lost === 0 && twice === 0,
      'requests ≤ 1.1 × batches beyond the necessary ones': beyond <= 0.1 * batches,
      'no more batches than the batch age requires': batches <= (seconds + 1) * 10 + 1,
      'no storm in any second': peak <= 40,
    }),
  }
}
