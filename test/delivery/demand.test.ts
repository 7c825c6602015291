import { describe, expect, it } from 'vitest'
import { Demand } from '../../src/delivery/demand.ts'

const limits = {
  maxBatchBytes: 1e6,
  maxBatchEvents: 1000,
  maxBatchAgeMs: 1000,
  batchBytesCeiling: 4e6,
  maxUnlimitedBytes: 4e6,
}

/** A process that has logged and sent for some seconds, with a look every five, and its demand after that. */
function demandAfter(
  seconds: number,
  perSecond: { events: number; requests: number; allowed?: number },
  waitingEvents = 0,
  datasets = 1,
) {
  let events = 0
  let requests = 0
  const load = () => ({
    addedBytes: events * 100,
    addedEvents: events,
    waitingBytes: waitingEvents * 100,
    waitingEvents,
    datasets,
  })
  const tuned = { ...limits }
  const allowed = perSecond.allowed ?? Number.POSITIVE_INFINITY
  const demand = new Demand(
    { limits: tuned, load },
    () => requests,
    () => allowed,
  )
  if (datasets / allowed > 0.5) tuned.maxBatchAgeMs = 0 // as tuning does where turns are rare
  demand.measure(0)
  for (let second = 5; second <= seconds; second += 5) {
    events += perSecond.events * 5
    requests += perSecond.requests * 5
    demand.measure(second * 1000)
  }
  return demand.measure(seconds * 1000)
}

describe('the demand of a process', () => {
  it('is zero before the first event', () => {
    expect(demandAfter(0, { events: 0, requests: 0 })).toEqual({ needed: 0, wanted: 0 })
  })

  it('with few events is slightly more than its recent use', () => {
    expect(demandAfter(60, { events: 20, requests: 0.4 }).wanted).toBeCloseTo(0.444)
    expect(demandAfter(60, { events: 20, requests: 1 }).wanted).toBeCloseTo(1)
    expect(demandAfter(60, { events: 20, requests: 3 }, 0, 3).wanted).toBeCloseTo(3)
  })

  it('with few events is at least one request in five seconds, and at most one per event', () => {
    expect(demandAfter(60, { events: 20, requests: 0 }).wanted).toBeCloseTo(0.2)
    expect(demandAfter(60, { events: 1, requests: 1 }, 0, 3).wanted).toBeCloseTo(1)
  })

  it('with very few events follows the events of the last seconds, whether one waits or not', () => {
    for (const waitingEvents of [0, 1]) {
      const { wanted } = demandAfter(60, { events: 0.2, requests: 0.2 }, waitingEvents)
      expect(wanted).toBeGreaterThan(0.2)
      expect(wanted).toBeLessThan(0.25)
    }
    expect(demandAfter(60, { events: 0.2, requests: 0 }, 5000).wanted).toBeGreaterThan(0.9)
  })

  it('with very few events that come in bursts follows the requests, but does not vanish if none could be made', () => {
    expect(demandAfter(60, { events: 0.25, requests: 0.05 }).wanted).toBeLessThan(0.1)
    expect(demandAfter(60, { events: 0.2, requests: 0 }, 1).wanted).toBeGreaterThan(0.04)
  })

  it('whose turns are rare is one batch per dataset and second if it makes every request that is allowed', () => {
    const { wanted } = demandAfter(60, { events: 60, requests: 1, allowed: 1.02 }, 0, 12)
    expect(wanted).toBeCloseTo(12, 1)
  })

  it('whose turns are rare is slightly more than its recent use if it leaves some of them', () => {
    const { wanted } = demandAfter(60, { events: 60, requests: 1, allowed: 1.5 }, 0, 12)
    expect(wanted).toBeCloseTo(1.11)
  })

  it('with a backlog is the number of batches of the configured size, whatever its recent use', () => {
    expect(demandAfter(60, { events: 5000, requests: 0.1 }, 10_000).wanted).toBeCloseTo(5 + 2)
  })

  it('that is necessary to lose no event counts batches of the maximum size', () => {
    expect(demandAfter(60, { events: 50_000, requests: 1 }, 250_000).needed).toBeCloseTo((5e6 + 5e6) / 4e6)
  })

  it('falls when the application logs less', () => {
    let events = 1e6
    const load = () => ({ addedBytes: events, addedEvents: events, waitingBytes: 0, waitingEvents: 0, datasets: 1 })
    const demand = new Demand(
      { limits, load },
      () => 0,
      () => Number.POSITIVE_INFINITY,
    )
    demand.measure(0)
    events += 1
    for (let second = 5; second <= 120; second += 5) demand.measure(second * 1000)
    expect(demand.measure(125_000).wanted).toBeLessThan(0.05)
  })
})
