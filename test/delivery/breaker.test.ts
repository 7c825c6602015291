import { describe, expect, it } from 'vitest'
import { Breaker } from '../../src/delivery/breaker.ts'

const always = (value: number) => () => value

describe('the breaker', () => {
  it('lets the first attempt go at once', () => {
    expect(new Breaker(30_000).notBeforeMs).toBe(0)
  })

  it('after one failure holds back that batch alone, with full jitter', () => {
    const breaker = new Breaker(30_000, always(0.5))
    expect(breaker.onFailed(1000, undefined)).toBe(1200)
    expect(breaker.notBeforeMs).toBe(0)
    expect(breaker.isOpen).toBe(false)
  })

  it('after five failures in a row asks with one request at a time, with growing waits up to the most allowed', () => {
    const breaker = new Breaker(30_000, always(1))
    const waits = Array.from({ length: 10 }, () => breaker.onFailed(0, undefined))
    expect(waits).toEqual([400, 800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000, 30_000])
    expect(breaker.isOpen).toBe(true)
    expect(breaker.notBeforeMs).toBe(30_000)
  })

  it('closes with the first answer', () => {
    const breaker = new Breaker(30_000, always(1))
    for (let i = 0; i < 7; i++) breaker.onFailed(0, undefined)
    breaker.onAnswered()
    expect(breaker.isOpen).toBe(false)
    expect(breaker.notBeforeMs).toBe(0)
  })

  it('spends at most one retry for ten answers in the long run, then asks with one request at a time', () => {
    const breaker = new Breaker(30_000, always(0))
    let failuresWhileClosed = 0
    for (let i = 0; i < 1000; i++) {
      breaker.onAnswered()
      if (breaker.isOpen) continue
      breaker.onFailed(0, undefined)
      if (!breaker.isOpen) failuresWhileClosed++
    }
    expect(failuresWhileClosed).toBeGreaterThanOrEqual(100)
    expect(failuresWhileClosed).toBeLessThanOrEqual(110)
  })

  it('holds everything back for as long as the service asks, whatever another connection is told', () => {
    const breaker = new Breaker(30_000, always(0))
    expect(breaker.onFailed(1000, 120_000)).toBe(121_000)
    breaker.onAnswered()
    breaker.skipBackoff()
    expect(breaker.notBeforeMs).toBe(121_000)
    expect(breaker.isOpen).toBe(false)
  })

  it('hurries on demand when the wait is its own', () => {
    const breaker = new Breaker(30_000, always(1))
    for (let i = 0; i < 7; i++) breaker.onFailed(0, undefined)
    breaker.skipBackoff()
    expect(breaker.notBeforeMs).toBe(0)
  })
})
