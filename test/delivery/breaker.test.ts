import { describe, expect, it } from 'vitest'
import { Breaker } from '../../src/delivery/breaker.ts'

const always = (value: number) => () => value

describe('the breaker', () => {
  it('allows the first attempt at once', () => {
    expect(new Breaker(30_000).notBeforeMs).toBe(0)
  })

  it('holds back only the failed batch after one failure, with full jitter', () => {
    const breaker = new Breaker(30_000, always(0.5))
    expect(breaker.onFailed(1000, undefined, 900)).toBe(1100)
    expect(breaker.notBeforeMs).toBe(0)
    expect(breaker.isOpen).toBe(false)
  })

  it('probes with one request at a time after five failures in a row, with growing waits up to the maximum', () => {
    const breaker = new Breaker(30_000, always(1))
    const waits = Array.from({ length: 10 }, () => breaker.onFailed(0, undefined, 0))
    expect(waits).toEqual([200, 400, 800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000])
    expect(breaker.isOpen).toBe(true)
    expect(breaker.notBeforeMs).toBe(30_000)
  })

  it('waits for five seconds at most while memory is short', () => {
    let isShort = true
    const breaker = new Breaker(30_000, always(1), () => isShort)
    const waits = Array.from({ length: 8 }, () => breaker.onFailed(0, undefined, 0))
    expect(waits).toEqual([200, 400, 800, 1600, 3200, 5000, 5000, 5000])
    isShort = false
    expect(breaker.onFailed(0, undefined, 0)).toBe(30_000)
    isShort = true
    expect(breaker.onFailed(0, 60_000, 0)).toBe(66_000) // what the service asks for counts more
  })

  it('waits no longer if several requests that were in flight together fail', () => {
    const breaker = new Breaker(30_000, always(1))
    for (let i = 0; i < 4; i++) expect(breaker.onFailed(1000, undefined, 900 + i)).toBe(1200)
    for (let i = 0; i < 4; i++) breaker.onFailed(2000, undefined, 1200)
    expect(breaker.isOpen).toBe(true)
    expect(breaker.notBeforeMs).toBe(2400)
  })

  it('waits by itself if the service asks for less than a second', () => {
    const breaker = new Breaker(30_000, always(0.5))
    const waits = Array.from({ length: 8 }, () => breaker.onFailed(0, 0.1, 0))
    expect(waits).toEqual([100, 200, 400, 800, 1600, 3200, 6400, 12_800])
    expect(new Breaker(30_000, always(0)).onFailed(0, 500, 0)).toBe(500)
  })

  it('closes with the first answer', () => {
    const breaker = new Breaker(30_000, always(1))
    for (let i = 0; i < 7; i++) breaker.onFailed(0, undefined, 0)
    breaker.onAnswered()
    expect(breaker.isOpen).toBe(false)
    expect(breaker.notBeforeMs).toBe(0)
  })

  it('spends at most one retry per ten answers in the long run, then probes with one request at a time', () => {
    const breaker = new Breaker(30_000, always(0))
    let failuresWhileClosed = 0
    for (let i = 0; i < 1000; i++) {
      breaker.onAnswered()
      if (breaker.isOpen) continue
      breaker.onFailed(0, undefined, 0)
      if (!breaker.isOpen) failuresWhileClosed++
    }
    expect(failuresWhileClosed).toBeGreaterThanOrEqual(100)
    expect(failuresWhileClosed).toBeLessThanOrEqual(110)
  })

  it('waits as long as the service asked, whatever other connections are told', () => {
    const breaker = new Breaker(30_000, always(0))
    expect(breaker.onFailed(1000, 120_000, 900)).toBe(121_000)
    breaker.onAnswered()
    breaker.setDeadline(200_000)
    expect(breaker.notBeforeMs).toBe(121_000)
    expect(breaker.isOpen).toBe(false)
  })

  it('lets one request at a time ask, also while the service says how long to wait', () => {
    const breaker = new Breaker(30_000, always(0))
    for (let i = 0; i < 7; i++) breaker.onFailed(i * 1000, 1000, i * 1000 - 100)
    expect([breaker.isOpen, breaker.notBeforeMs]).toEqual([true, 7000])
  })

  it('skips its waits for a deadline, and keeps them short until then', () => {
    const breaker = new Breaker(30_000, always(1))
    for (let i = 0; i < 9; i++) breaker.onFailed(0, undefined, 0)
    breaker.setDeadline(10_000)
    expect(breaker.notBeforeMs).toBe(0)
    expect(breaker.onFailed(1000, undefined, 900)).toBe(1400)
    expect(breaker.onFailed(1500, 20_000, 1400)).toBe(23_500) // what the service asks for counts more
    breaker.clearDeadline()
    expect(breaker.onFailed(3000, undefined, 2900)).toBe(33_000)
  })
})
