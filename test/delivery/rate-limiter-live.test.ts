import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { RateLimiter } from '../../src/delivery/rate-limiter.ts'
import { randomFrom } from '../support/random.ts'
import { every } from './every.ts'

const limits = fc.constantFrom(undefined, 0.1, 1, 5, 40, 1000)
const headers = fc.record(
  {
    limit: fc.constantFrom(1, 5, 40, 1000),
    limitPerSecond: fc.constantFrom(1, 5, 40, 1000),
    remaining: fc.constantFrom(0, 1, 20, 1000),
    resetMs: fc.constantFrom(0, 500, 1000),
  },
  { requiredKeys: [] },
)

/** What may happen to a rate limiter at a moment. */
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('request' as const), throttled: fc.boolean(), headers }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('wait' as const), ms: fc.constantFrom(1, 20, 300, 1000, 9000) }) },
  fc.record({ kind: fc.constant('limit' as const), perSecond: limits }),
  fc.record({ kind: fc.constant('lease' as const), periodMs: fc.constantFrom(undefined, 25, 1000, 4000) }),
  fc.record({ kind: fc.constant('deadline' as const), ms: fc.constantFrom(0, 1, 300, 2000, 30_000) }),
  fc.record({ kind: fc.constantFrom('other request' as const, 'idle' as const, 'raised' as const) }),
)

describe('whatever happened before', () => {
  it('a request may start at a known time, at most a minute from now', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), fc.integer({ min: 1 }), (steps, seed) => {
        const pace = new RateLimiter(randomFrom(seed))
        let nowMs = 1000
        for (const one of steps) {
          if (one.kind === 'wait') nowMs += one.ms
          else if (one.kind === 'limit') pace.setLimit(one.perSecond)
          else if (one.kind === 'lease') pace.setLease(one.periodMs === undefined ? undefined : every(one.periodMs))
          else if (one.kind === 'deadline') pace.setDeadline(nowMs + one.ms)
          else if (one.kind === 'other request') pace.onOtherRequest(nowMs)
          else if (one.kind === 'idle') pace.onIdle()
          else if (one.kind === 'raised') pace.forgetRefusals()
          else if (pace.notBeforeMs(nowMs) <= nowMs) {
            pace.onStart(nowMs)
            pace.onAnswer(nowMs, { throttled: one.throttled, ...one.headers })
          }
          const inMs = pace.notBeforeMs(nowMs) - nowMs
          expect(inMs).toBeLessThan(60_000) // false for NaN
        }
      }),
      { numRuns: 20_000 },
    )
  })
})
