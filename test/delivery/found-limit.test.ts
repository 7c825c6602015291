import { describe, expect, it } from 'vitest'
import { AnswerRates } from '../../src/delivery/answer-rates.ts'
import { FoundLimit } from '../../src/delivery/found-limit.ts'
import type { SharedRate } from '../../src/delivery/rate-limiter.ts'

const unknown = Number.POSITIVE_INFINITY

/** The rates of ten processes that are served alike. */
function ten(acceptedInAll: number, refusedInAll: number, sinceAcceptedMs = 100): SharedRate[] {
  return Array.from({ length: 10 }, () => ({
    requestsPerSecond: (acceptedInAll + refusedInAll) / 10,
    refusedPart: 0.1,
    sinceRefusedMs: 100,
    acceptedPerSecond: acceptedInAll / 10,
    refusedPerSecond: refusedInAll / 10,
    sinceAcceptedMs,
    isTrial: false,
    isMaximum: false,
    nextStartMs: 0,
  }))
}

function afterUpdates(...updates: readonly (readonly [atMs: number, rates: readonly SharedRate[]])[]): FoundLimit {
  const found = new FoundLimit()
  for (const [atMs, rates] of updates) found.update(atMs, rates, 1)
  return found
}

describe('the limit that is found by what the service accepts', () => {
  it('is a little more than that, if many requests are refused', () => {
    expect(afterUpdates([0, ten(10, 30)]).orLower(40)).toBeCloseTo(10.8)
    expect(afterUpdates([0, ten(10, 30)]).orLower(unknown)).toBeCloseTo(10.8)
  })

  it.each([
    ['few requests are refused', ten(36, 4)],
    ['hardly any was accepted', ten(2, 30)],
    ['nothing has been accepted for more than a second', ten(10, 30, 1500)],
    ['there is one process only', ten(100, 300).slice(0, 1)],
  ])('is not found if %s', (_, rates) => {
    expect(afterUpdates([0, rates]).orLower(unknown)).toBe(unknown)
  })

  it('does not count if it is nearly the known one, which all processes know alike', () => {
    expect(afterUpdates([0, ten(32, 10)]).orLower(40)).toBe(40)
  })

  it('is not found anew from answers to the rates before', () => {
    const found = afterUpdates([0, ten(10, 30)], [2000, ten(6, 6)])
    expect(found.orLower(40)).toBeCloseTo(10.8)
    found.update(4000, ten(6, 6), 1)
    expect(found.orLower(40)).toBeCloseTo(6.48)
  })

  it('is not found from the answers of an outage, nor soon after it', () => {
    const found = afterUpdates([0, ten(10, 30, 1500)], [2000, ten(10, 30)])
    expect(found.orLower(40)).toBe(40)
    found.update(5000, ten(10, 30), 1)
    expect(found.orLower(40)).toBeCloseTo(10.8)
  })

  it('grows with each exchange, so that it ends within two minutes, and sooner if nothing is refused', () => {
    const found = afterUpdates([0, ten(10, 30)])
    let atMs = 0
    for (; found.orLower(40) < 40; atMs += 2000) found.update(atMs + 2000, ten(10, 0), 1)
    expect(atMs).toBeGreaterThan(60_000)
    expect(atMs).toBeLessThan(120_000)
    const sooner = afterUpdates([0, ten(10, 30)])
    for (let exchange = 1; exchange <= 6; exchange++) sooner.update(exchange * 2000, ten(10, 0), 1.2)
    expect(sooner.orLower(40)).toBe(40)
  })

  it('is forgotten if there was no exchange for a while', () => {
    expect(afterUpdates([0, ten(10, 30)], [16_000, ten(10, 0)]).orLower(40)).toBe(40)
  })
})

describe('the rates of answers', () => {
  it('are right from the first seconds on, and follow a change within seconds', () => {
    const rates = new AnswerRates()
    let atMs = 0
    const answer = (perSecond: number, refusedOf: number, forMs: number) => {
      for (const endMs = atMs + forMs; atMs < endMs; atMs += 1000 / perSecond)
        rates.onAnswer(atMs, Math.floor(atMs / (1000 / perSecond)) % refusedOf !== 0)
    }
    answer(20, 1, 2000)
    expect(rates.at(atMs).acceptedPerSecond).toBeCloseTo(20, -0.5)
    expect(rates.at(atMs)).toMatchObject({ refusedPerSecond: 0, sinceAcceptedMs: 50 })
    answer(20, 4, 6000)
    expect(rates.at(atMs).acceptedPerSecond).toBeLessThan(7)
    expect(rates.at(atMs).refusedPerSecond).toBeGreaterThan(12)
  })

  it('of an outage are forgotten', () => {
    const rates = new AnswerRates()
    for (let atMs = 0; atMs < 10_000; atMs += 100) rates.onAnswer(atMs, true)
    rates.restart()
    rates.onAnswer(10_000, false)
    expect(rates.at(10_500)).toMatchObject({ refusedPerSecond: 0, sinceAcceptedMs: 500 })
  })
})
