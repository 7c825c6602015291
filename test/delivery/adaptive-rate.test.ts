import { expect, it } from 'vitest'
import { AdaptiveRate } from '../../src/delivery/adaptive-rate.ts'

it('grows after a long outage as after a short one', () => {
  const growthAfter = (refusals: number) => {
    const rate = new AdaptiveRate(() => 0.5)
    rate.headersTellRemaining = true
    for (let n = 0; n < refusals; n++) rate.onRefused(n, 1, true)
    for (let n = 0; n < 100; n++) rate.onAccepted(1000 + n)
    rate.start(2000, 1)
    return rate.perSecond(32_000) - 1
  }
  expect(growthAfter(300)).toBeGreaterThan(0)
  expect(growthAfter(300)).toBe(growthAfter(9))
})
