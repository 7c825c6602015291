import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { RateLimiter } from '../../src/delivery/rate-limiter.ts'
import { randomFrom } from '../support/random.ts'
import { soakRuns } from '../support/soak-runs.ts'
import { every } from './every.ts'

/** A rate limiter and the time, in milliseconds. */
class Scene {
  nowMs = 1000
  readonly pace: RateLimiter

  constructor(seed: number) {
    this.pace = new RateLimiter(randomFrom(seed))
  }

  get waitMs(): number {
    return this.pace.notBeforeMs(this.nowMs) - this.nowMs
  }
}

type Step = (scene: Scene) => void

const request = fc
  .record({
    throttled: fc.boolean(),
    headers: fc.record(
      {
        limit: fc.constantFrom(1, 5, 40, 1000),
        limitPerSecond: fc.constantFrom(1, 5, 40, 1000),
        remaining: fc.constantFrom(0, 1, 20, 1000),
        resetMs: fc.constantFrom(0, 500, 1000),
      },
      { requiredKeys: [] },
    ),
  })
  .map(
    ({ throttled, headers }): Step =>
      scene => {
        if (scene.waitMs > 0) return
        scene.pace.onStart(scene.nowMs)
        scene.pace.onAnswer(scene.nowMs, { throttled, ...headers })
      },
  )

const wait = fc.constantFrom(1, 20, 300, 1000, 9000).map(
  (ms): Step =>
    scene => {
      scene.nowMs += ms
    },
)

const change = fc.oneof(
  fc.constantFrom(undefined, 0.1, 1, 5, 40, 1000).map(
    (limit): Step =>
      ({ pace }) =>
        pace.setLimit(limit),
  ),
  fc.constantFrom(25, 1000, 4000).map(
    (periodMs): Step =>
      ({ pace }) =>
        pace.setLease(every(periodMs)),
  ),
  fc.constantFrom(0, 1, 300, 2000, 30_000).map(
    (ms): Step =>
      ({ pace, nowMs }) =>
        pace.setDeadline(nowMs + ms),
  ),
  fc.constantFrom<Step>(
    ({ pace }) => pace.setLease(undefined),
    ({ pace, nowMs }) => pace.onOtherRequest(nowMs),
    ({ pace }) => pace.onIdle(),
    ({ pace }) => pace.forgetRefusals(),
  ),
)

const steps = fc.array(fc.oneof({ weight: 4, arbitrary: request }, { weight: 4, arbitrary: wait }, change), {
  maxLength: 60,
})

describe('whatever happened before', () => {
  it('a request may start at a known time, at most a minute from now', () => {
    fc.assert(
      fc.property(steps, fc.integer({ min: 1 }), (taken, seed) => {
        const scene = new Scene(seed)
        for (const step of taken) {
          step(scene)
          expect(scene.waitMs).toBeLessThan(60_000) // false for NaN
        }
      }),
      { numRuns: soakRuns(5000) },
    )
  })
})
