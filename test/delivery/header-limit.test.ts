import { describe, expect, it } from 'vitest'
import { HeaderLimit } from '../../src/delivery/header-limit.ts'
import type { RateLimit } from '../../src/delivery/rate-limit-headers.ts'

/** An answer that names a limit per minute, with the window. */
const perMinute = (limit: number): RateLimit => ({ limit, limitPerSecond: limit / 60 })

/** Passes on the same answer once a second, from the first time to the last. */
function hear(limit: HeaderLimit, fromMs: number, untilMs: number, answer: RateLimit, throttled = false): void {
  for (let ms = fromMs; ms <= untilMs; ms += 1000) limit.onAnswer(ms, answer, throttled)
}

describe('the limit that headers name', () => {
  it('applies at once if it is lower, and after a second without the lower one if it is higher', () => {
    const limit = new HeaderLimit()
    expect(limit.perSecond).toBe(Number.POSITIVE_INFINITY)
    limit.onAnswer(0, perMinute(600), false)
    limit.onAnswer(10, perMinute(60), false)
    limit.onAnswer(1000, perMinute(600), false)
    expect(limit.perSecond).toBe(1)
    limit.onAnswer(1010, perMinute(600), false)
    expect(limit.perSecond).toBe(10)
  })

  it('is forgotten after five answers without it, or after one if it was named long ago', () => {
    const limit = new HeaderLimit()
    limit.onAnswer(0, perMinute(60), false)
    hear(limit, 1000, 4000, {})
    expect(limit.perSecond).toBe(1)
    hear(limit, 5000, 5000, {})
    expect(limit.perSecond).toBe(Number.POSITIVE_INFINITY)
    limit.onAnswer(6000, perMinute(60), false)
    limit.onAnswer(16_000, {}, false)
    expect(limit.perSecond).toBe(Number.POSITIVE_INFINITY)
  })

  it('is kept for answers that name it without its window, and forgotten for a quota of a day, which is no rate', () => {
    const limit = new HeaderLimit()
    limit.onAnswer(0, perMinute(60), false)
    hear(limit, 1000, 20_000, { limit: 60 })
    expect(limit.perSecond).toBe(1)
    hear(limit, 21_000, 25_000, { limit: 100_000 })
    expect(limit.perSecond).toBe(Number.POSITIVE_INFINITY)
  })

  it('is kept for a 429 without headers, as of a gateway', () => {
    const limit = new HeaderLimit()
    limit.onAnswer(0, perMinute(60), false)
    hear(limit, 1000, 20_000, {}, true)
    expect(limit.perSecond).toBe(1)
  })
})
