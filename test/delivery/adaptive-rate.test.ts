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

it('keeps its share if a 429 disproves that the 429s of its search were an outage', () => {
  const rate = new AdaptiveRate(() => 0.5)
  rate.onAccepted(0)
  rate.onRefused(1000, 40, true, 1)
  rate.onRefused(2000, 1, true, 1)
  expect(rate.perSecond(2000)).toBe(1)
  for (let second = 3; second <= 22; second++) rate.onAccepted(second * 1000)
  expect(rate.perSecond(22_000)).toBe(2)
  rate.onRefused(23_000, 2, true, 1)
  expect(rate.perSecond(23_000)).toBe(1)
  for (let second = 24; second <= 43; second++) rate.onAccepted(second * 1000)
  expect(rate.perSecond(43_000)).toBeLessThan(1.5)
})
