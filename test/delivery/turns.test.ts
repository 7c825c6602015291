/**
 * Batches and the slots of a lease: each slot is used while there is something to send, and no event waits for a second
 * slot.
 */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { RateLimiter } from '../../src/delivery/rate-limiter.ts'
import { every } from './every.ts'
import { delivered, numbers, pipelineTo, retryable } from './wired.ts'

vi.mock('../../src/time.ts', () => import('../support/time-of-globals.ts'))

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

describe('a lease', () => {
  it.each([
    [5000, 100],
    [2040, 100],
    [1020, 100],
    [800, 50],
    [510, 50],
  ])(
    'with a slot every %d ms and an event every %d ms uses every slot, and no event waits for two',
    async (periodMs, everyMs) => {
      const pace = new RateLimiter()
      pace.setLease(every(periodMs, performance.now() + 7))
      const { log, sent } = pipelineTo(() => delivered, { pace })
      const loggedAtMs: number[] = []
      const untilMs = performance.now() + 120_000
      while (performance.now() < untilMs) {
        log(loggedAtMs.length)
        loggedAtMs.push(performance.now())
        await vi.advanceTimersByTimeAsync(everyMs)
      }
      expect(sent.length / (120_000 / periodMs)).toBeGreaterThanOrEqual(0.9)
      for (const { lines, atMs } of sent) {
        for (const n of numbers(lines)) expect(atMs - (loggedAtMs[n] as number)).toBeLessThanOrEqual(periodMs + 1000)
      }
    },
  )

  it('with more slots than batches: an event waits for others as long as configured', async () => {
    const pace = new RateLimiter()
    pace.setLease(every(50, performance.now()))
    const { log, sent } = pipelineTo(() => delivered, { pace })
    for (let n = 0; n < 100; n++) {
      log(n)
      await vi.advanceTimersByTimeAsync(100)
    }
    expect(sent.length).toBeLessThanOrEqual(10)
  })
})

describe('429s', () => {
  it('are not failures for the breaker: a recovered service gets all events within ten seconds', async () => {
    const wellAtMs = performance.now() + 60_000
    const tooMany = { ...retryable(), status: 429 }
    const { log, sent, ledger } = pipelineTo(() => (performance.now() < wellAtMs ? tooMany : delivered))
    for (let second = 0; second < 60; second++) {
      for (let of = 0; of < 20; of++) log(second, { dataset: `d${of}` })
      await vi.advanceTimersByTimeAsync(1000)
    }
    expect(sent.length).toBeLessThan(60)
    await vi.advanceTimersByTimeAsync(20_000)
    expect(ledger.pending).toBe(0)
  })
})
