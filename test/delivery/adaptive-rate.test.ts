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

it('goes on growing from the rate on which processes agree, and remembers the last 429 of any of them', () => {
  const rate = new AdaptiveRate(() => 0.5)
  rate.onAccepted(0)
  rate.onRefused(1000, 10, true)
  rate.start(1000, 10)
  const grown = rate.perSecond(20_000)
  expect(grown).toBeGreaterThan(10)
  rate.agreeOn(20_000, grown / 2, 0.05, 19_000)
  expect(rate.perSecond(20_000)).toBeCloseTo(grown / 2, 6)
  expect(rate.refusedPart).toBe(0.05)
  expect(rate.perSecond(40_000)).toBeGreaterThan(grown / 2)
  expect(rate.perSecond(258_000)).toBeLessThan(Number.POSITIVE_INFINITY)
  expect(rate.perSecond(260_000)).toBe(Number.POSITIVE_INFINITY)
})

it('is neither a trial nor interrupted after single 429s, but while only 429s come, and on its way back', () => {
  const rate = new AdaptiveRate(() => 0.5)
  expect(rate.isTrial).toBe(true)
  rate.start(0, 8)
  for (let second = 1; second <= 12; second++) rate.onAccepted(second * 1000)
  expect([rate.isTrial, rate.isInterrupted]).toEqual([false, false])
  rate.onRefused(13_000, 8, true)
  expect([rate.isTrial, rate.isInterrupted]).toEqual([false, false])
  for (let second = 15; second <= 30; second++) rate.onRefused(second * 1000, 1, true)
  expect(rate.isInterrupted).toBe(true)
  rate.onAccepted(31_000)
  expect([rate.isTrial, rate.isInterrupted]).toEqual([false, true])
})
