import { describe, expect, it } from 'vitest'
import { Budget, type BudgetNews, periodAt } from '../../src/org/budget.ts'

const day = 86_400_000
const startMs = Date.parse('2026-11-01T00:00:00Z')
const period = { startMs, endMs: startMs + 30 * day }
const [debug, info, error] = [1, 2, 4]

/** Ships so many bytes of each severity every ten seconds for some days: all bytes, or as many as the budget keeps. */
function run(
  budget: Budget,
  days: number,
  perTick: readonly (readonly [severity: number, bytes: number])[],
  isSampled = false,
): BudgetNews[] {
  const news: BudgetNews[] = []
  let tokens = [0, 0, 0, 0, 0, 0]
  for (let nowMs = startMs; nowMs < startMs + days * day; nowMs += 10_000) {
    for (const [severity, bytes] of perTick) {
      for (let line = 0; line < 10; line++) {
        tokens = tokens.with(severity, (tokens[severity] ?? 0) + (isSampled ? budget.kept(severity) : 1))
        if ((tokens[severity] ?? 0) >= 0.999) {
          tokens = tokens.with(severity, (tokens[severity] ?? 0) - 1)
          budget.use(severity, bytes / 10)
        } else budget.spare(severity)
      }
    }
    news.push(...budget.tick(nowMs))
  }
  return news
}

describe('the monthly budget', () => {
  it('reports nothing while it lasts', () => {
    const budget = new Budget(30e9, period, startMs)
    expect(run(budget, 1, [[info, 80_000]])).toEqual([])
    expect(budget.usedUpAtMs(startMs + day)).toBeUndefined()
  })

  it('reports an expected overrun once, with the day', () => {
    const budget = new Budget(30e9, period, startMs)
    const news = run(budget, 1, [[info, 231_481]]) // 2 GB a day
    expect(news).toHaveLength(1)
    const [overrun] = news
    expect(overrun?.kind).toBe('overrun')
    expect(((overrun as { atMs: number }).atMs - startMs) / day).toBeCloseTo(15, 0)
  })

  it('reports when 80 % and 95 % are used', () => {
    const budget = new Budget(1e9, period, startMs)
    const news = run(budget, 1, [[info, 115_740]]) // 1 GB a day
    expect(news.filter(({ kind }) => kind === 'used')).toEqual([
      { kind: 'used', share: 0.8 },
      { kind: 'used', share: 0.95 },
    ])
  })

  it('reports the shares again that a raised license makes free, and no others', () => {
    const budget = new Budget(10e9, period, startMs)
    budget.use(info, 9e9)
    expect(budget.tick(startMs)).toEqual([{ kind: 'used', share: 0.8 }])
    budget.renew(11e9, period) // 82 % are used
    expect(budget.tick(startMs)).toEqual([])
    budget.renew(20e9, period)
    expect(budget.tick(startMs)).toEqual([])
    budget.use(info, 8e9)
    expect(budget.tick(startMs)).toEqual([{ kind: 'used', share: 0.8 }])
  })

  it('reports an expected overrun again if the license was raised meanwhile', () => {
    const budget = new Budget(30e9, period, startMs)
    expect(run(budget, 1, [[info, 231_481]])).toMatchObject([{ kind: 'overrun' }]) // 2 GB a day
    budget.renew(40e9, period)
    expect(budget.tick(startMs + day)).toMatchObject([{ kind: 'overrun' }])
    budget.renew(35e9, period)
    expect(budget.tick(startMs + day)).toEqual([])
  })

  it('keeps every event while the rate fits', () => {
    const budget = new Budget(30e9, period, startMs)
    run(budget, 1, [
      [debug, 20_000],
      [info, 60_000],
    ])
    expect([debug, info, error].map(severity => budget.kept(severity))).toEqual([1, 1, 1])
  })

  it('samples debug before info, and errors never, so that it lasts to the end of the period', () => {
    const budget = new Budget(3e9, period, startMs)
    run(
      budget,
      30,
      [
        [debug, 10_000],
        [info, 10_000],
        [error, 2000],
      ],
      true,
    ) // 5.7 GB in 30 days
    expect(budget.kept(debug)).toBeLessThan(0.2)
    expect(budget.kept(info)).toBeGreaterThan(budget.kept(debug))
    expect(budget.kept(error)).toBe(1)
    expect(budget.usedBytes / 3e9).toBeGreaterThan(0.9)
    expect(budget.usedBytes / 3e9).toBeLessThan(1.03)
  })

  it('follows the remaining amount that the service reports', () => {
    const budget = new Budget(1e9, period, startMs)
    budget.correct(100_000_000)
    expect(budget.tick(startMs)).toEqual([{ kind: 'used', share: 0.8 }])
  })

  it('believes the last report of the service, and counts its own bytes in any case', () => {
    const budget = new Budget(100e9, period, startMs)
    budget.use(info, 1e9)
    budget.correct(0)
    expect(budget.usedBytes).toBe(100e9)
    budget.correct(60e9)
    budget.use(info, 2e9)
    expect(budget.usedBytes).toBe(42e9)
    budget.correct(99.9e9)
    expect(budget.usedBytes).toBe(3e9)
  })

  it('forgets an impossible license when the next report comes', () => {
    const budget = new Budget(100e9, period, startMs)
    budget.renew(1e305 * 1e9, period)
    budget.correct(60e9)
    budget.renew(100e9, period)
    budget.correct(60e9)
    expect(budget.usedBytes).toBe(40e9)
  })

  it('samples by the present state, also after the clock was set back', () => {
    const budget = new Budget(1e9, period, startMs)
    const later = startMs + day
    for (let nowMs = startMs; nowMs < later; nowMs += 60_000) {
      budget.use(info, 2e6)
      budget.tick(nowMs)
    }
    expect(budget.kept(info)).toBeLessThan(0.1)
    budget.renew(1e15, period)
    budget.tick(later - day / 2)
    expect(budget.kept(info)).toBe(1)
  })

  it('starts again with the next period', () => {
    const budget = new Budget(1e9, period, startMs)
    budget.use(info, 9e8)
    expect(budget.tick(startMs)).toHaveLength(1)
    budget.renew(1e9, { startMs: period.endMs, endMs: period.endMs + 30 * day })
    expect([budget.usedBytes, budget.tick(period.endMs)]).toEqual([0, []])
  })
})

describe('a budget whose period ends before the license is read again', () => {
  it('goes on counting when the license names the end of the next period', () => {
    const budget = new Budget(1e9, period, startMs)
    budget.use(info, 7e8)
    budget.renew(1e9, { startMs: period.endMs, endMs: period.endMs + day })
    budget.use(info, 9e8)
    expect(budget.tick(period.endMs)).toEqual([{ kind: 'used', share: 0.8 }])
    budget.renew(1e9, { startMs: period.endMs, endMs: period.endMs + 30 * day })
    expect(budget.usedBytes).toBe(9e8)
    expect(budget.tick(period.endMs + 10_000).map(({ kind }) => kind)).not.toContain('used')
  })
})

describe('a budget whose clock is wrong for a while', () => {
  const next = { startMs: period.endMs, endMs: period.endMs + 30 * day }

  it('still knows what was used and reported, and adds what was used meanwhile', () => {
    const budget = new Budget(1e9, period, startMs)
    budget.use(info, 7e8)
    budget.correct(1e8)
    expect(budget.tick(startMs + 10_000)).toEqual([{ kind: 'used', share: 0.8 }])
    budget.renew(1e9, next)
    budget.use(info, 2e7)
    budget.renew(1e9, period)
    expect(budget.usedBytes).toBe(9.2e8)
    expect(budget.tick(startMs + 20_000)).toEqual([])
  })

  it('forgets it with the second period after that', () => {
    const budget = new Budget(1e9, period, startMs)
    budget.use(info, 7e8)
    budget.renew(1e9, next)
    budget.renew(1e9, { startMs: next.endMs, endMs: next.endMs + 30 * day })
    budget.renew(1e9, period)
    expect(budget.usedBytes).toBe(0)
  })
})

describe('the period', () => {
  const license = { billingPeriodStart: '2026-11-10T00:00:00Z', billingPeriodEnd: '2026-12-10T00:00:00Z' }
  it.each([
    ['the license’s', license, '2026-11-21T00:00:00Z', '2026-11-10T00:00:00.000Z', '2026-12-10T00:00:00.000Z'],
    [
      'the license’s in the basic format',
      { billingPeriodStart: '20261110', billingPeriodEnd: '20261210T000000Z' },
      '2026-11-21T00:00:00Z',
      '2026-11-10T00:00:00.000Z',
      '2026-12-10T00:00:00.000Z',
    ],
    [
      'the calendar month, where it names none',
      {},
      '2026-12-31T23:59:59Z',
      '2026-12-01T00:00:00.000Z',
      '2027-01-01T00:00:00.000Z',
    ],
    [
      'the calendar month, where its own is over',
      license,
      '2027-02-03T00:00:00Z',
      '2027-02-01T00:00:00.000Z',
      '2027-03-01T00:00:00.000Z',
    ],
    [
      'the rest of the calendar month, where its own has just ended',
      license,
      '2026-12-10T00:00:05Z',
      '2026-12-10T00:00:00.000Z',
      '2027-01-01T00:00:00.000Z',
    ],
    [
      'the calendar month, where it says nonsense',
      { billingPeriodStart: 'x' },
      '2026-11-21T00:00:00Z',
      '2026-11-01T00:00:00.000Z',
      '2026-12-01T00:00:00.000Z',
    ],
  ])('is %s', (_, of, now, start, end) => {
    const { startMs, endMs } = periodAt(of, Date.parse(now))
    expect([new Date(startMs).toISOString(), new Date(endMs).toISOString()]).toEqual([start, end])
  })
})
