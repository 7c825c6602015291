import { setTimeout as sleep } from 'node:timers/promises'
import { startFaultServer } from '../support/fault-server.ts'
import { tally, watched } from '../support/laws.ts'
import { brokenOf, type Figures, noProgress, type Progress } from './figures.ts'

export interface RetryAfter {
  readonly status: 429 | 503
  readonly seconds: number
  /** The service writes a date by its own clock, which differs from ours by this time. */
  readonly form: 'seconds' | { readonly clockSkewMs: number }
}

/** Scenario 9: the service asks for a wait, while logging goes on. */
export async function retryAfter(scale: RetryAfter, progress: Progress = noProgress): Promise<Figures> {
  const { status, seconds, form } = scale
  let refusedAtMs = 0
  await using server = await startFaultServer(request => {
    if (!request.isWhole) return
    if (request.index > 0) return request.take()
    refusedAtMs = performance.now()
    request.answer(`${status} Later`, '', ...patience(seconds, form))
  })
  await using logs = watched({ baseUrl: server.url, maxBatchAgeMs: 50, maxConcurrentRequests: 1 })
  let events = 0
  const untilMs = performance.now() + seconds * 1000
  while (performance.now() < untilMs) {
    logs.log(events, events + 5)
    events += 5
    progress(`${Math.ceil((untilMs - performance.now()) / 1000)} s to go, ${logs.stats().requests} requests so far`)
    await sleep(100)
  }
  const { complete } = await logs.flush(seconds * 1000 + 20_000)
  const { lost, twice } = tally(server.numbers, events)
  const waitedMs = (server.requests[1]?.atMs ?? Number.NaN) - refusedAtMs
  // A date has whole seconds, so up to a second has passed when it is written.
  const minMs = (form === 'seconds' ? seconds : seconds - 1) * 1000
  await logs.close()
  await server.whenDeserted()
  return {
    events,
    lost,
    twice,
    requests: server.requestCount,
    notes: `waited ${(waitedMs / 1000).toFixed(1)} s`,
    broken: brokenOf({
      'all delivered': complete && lost === 0 && twice === 0,
      'no request before the time is up': waitedMs >= minMs,
    }),
  }
}

function patience(seconds: number, form: RetryAfter['form']): string[] {
  if (form === 'seconds') return [`retry-after: ${seconds}`]
  const nowMs = Date.now() + form.clockSkewMs
  return [`date: ${new Date(nowMs).toUTCString()}`, `retry-after: ${new Date(nowMs + seconds * 1000).toUTCString()}`]
}
