import { describe, expect, it } from 'vitest'
import { type Lease, type PacedAnswer, RateLimiter } from '../../src/delivery/rate-limiter.ts'
import { every } from './every.ts'

const accepted = { throttled: false }
const refused = { throttled: true }

/**
 * Starts requests as soon as they may start and the timer, which is late by `lateMs`, has run. Each is answered at
 * once.
 */
function starts(pace: RateLimiter, fromMs: number, untilMs: number, lateMs: () => number = () => 0): number[] {
  const at: number[] = []
  for (let nowMs = fromMs; nowMs < untilMs; ) {
    const notBeforeMs = pace.notBeforeMs(nowMs)
    if (notBeforeMs <= nowMs) {
      at.push(nowMs)
      pace.onStart(nowMs)
      pace.onAnswer(nowMs, accepted)
    } else {
      nowMs = notBeforeMs + lateMs()
    }
  }
  return at
}

/** Returns the maximum number of times in any window of a second. */
function maxInASecond(atMs: readonly number[]): number {
  let first = 0
  let most = 0
  for (const [index, ms] of atMs.entries()) {
    while ((atMs[first] as number) <= ms - 1000) first++
    most = Math.max(most, index - first + 1)
  }
  return most
}

function paced(requestsPerSecond: number, random = () => 0.5): RateLimiter {
  const pace = new RateLimiter(random)
  pace.setLimit(requestsPerSecond)
  return pace
}

describe('without a limit', () => {
  it('requests start at once', () => {
    const pace = new RateLimiter()
    for (let i = 0; i < 100; i++) {
      expect(pace.notBeforeMs(i)).toBeLessThanOrEqual(i)
      pace.onStart(i)
      pace.onAnswer(i, accepted)
    }
    expect(pace.inForce(0)).toEqual({ requestsPerSecond: Number.POSITIVE_INFINITY, because: 'none' })
  })

  it('a 429 sets the rate to the requests of the second before, once this rate is proven', () => {
    const pace = new RateLimiter(() => 0.5)
    for (let ms = 0; ms < 4000; ms += 100) {
      pace.onStart(ms)
      pace.onAnswer(ms + 20, accepted)
    }
    pace.onStart(4000)
    pace.onAnswer(4020, refused)
    expect(pace.inForce(4020).because).toBe('throttled')
    expect(pace.inForce(4020).requestsPerSecond).toBeCloseTo(8)
    expect(pace.notBeforeMs(4020)).toBeCloseTo(4020 + 1000 / 8, -1)
  })

  it('a 429 before that sets the same rate for all, which grows while nothing is refused', () => {
    const pace = new RateLimiter(() => 0.5)
    for (let i = 0; i < 10; i++) pace.onStart(i)
    pace.onAnswer(20, accepted)
    pace.onAnswer(20, refused)
    const rates: number[] = []
    for (let ms = 1000; ms < 13_000; ms = Math.max(pace.notBeforeMs(ms), ms + 1)) {
      rates.push(pace.inForce(ms).requestsPerSecond)
      pace.onStart(ms)
      pace.onAnswer(ms, accepted)
    }
    expect([...new Set(rates)].map(rate => Math.round(rate * 10) / 10)).toEqual([1, 1.5, 2.3, 3.4, 6.8, 13.5, 27, 54])
  })

  it('intervals vary no more than the limit allows', () => {
    const pace = new RateLimiter(() => 0)
    pace.setLimit(1)
    for (let ms = 0; ms < 12_000; ms += 1020) {
      pace.onStart(ms)
      pace.onAnswer(ms + 20, accepted)
    }
    pace.onStart(12_240)
    pace.onAnswer(12_260, refused)
    const { requestsPerSecond } = pace.inForce(12_260)
    expect(requestsPerSecond).toBeLessThan(0.98)
    expect(pace.notBeforeMs(12_260)).toBeGreaterThanOrEqual(12_260 + 1000 / 0.98)
  })

  it('the rate then becomes the part that is accepted', () => {
    const pace = new RateLimiter(() => 0.5)
    pace.onStart(0)
    pace.onAnswer(20, refused)
    for (let i = 0; i < 14; i++) {
      const ms = 1000 * (i + 1)
      pace.onStart(ms)
      pace.onAnswer(ms + 20, i % 2 === 0 ? refused : accepted)
    }
    expect(pace.inForce(14_020).requestsPerSecond).toBeGreaterThan(0.35)
    expect(pace.inForce(14_020).requestsPerSecond).toBeLessThan(0.65)
  })
})

describe("with the license's limit", () => {
  it.each([1, 5, 20, 50, 1000])(
    'of %d per second, at least 98 % and never more is used, although timers are late',
    limit => {
      let turn = 0
      const at = starts(paced(limit), 5000, 35_000, () => [0.3, 2, 14, 1][turn++ % 4] as number)
      expect(at.length / 30 / limit).toBeGreaterThan(0.975)
      expect(maxInASecond(at)).toBeLessThanOrEqual(limit)
    },
  )

  it('requests start evenly spaced', () => {
    const at = starts(paced(5), 0, 10_000)
    const gaps = at.slice(1).map((ms, i) => ms - (at[i] as number))
    for (const gap of gaps.slice(5)) expect(gap).toBeCloseTo(1000 / 4.9)
  })

  it('unused requests are not made up for', () => {
    const pace = paced(5)
    starts(pace, 0, 1000)
    expect(maxInASecond(starts(pace, 60_000, 63_000))).toBe(5)
  })

  it('requests missed by a blocked event loop are not made up for in a burst', () => {
    let turn = 0
    const at = starts(paced(5), 0, 20_000, () => (turn++ === 20 ? 3000 : 1))
    expect(maxInASecond(at)).toBeLessThanOrEqual(5)
  })

  it('requests before the limit was known count', () => {
    const pace = new RateLimiter()
    const before = [0, 10, 20, 30]
    for (const ms of before) pace.onStart(ms)
    pace.onAnswer(40, accepted)
    pace.setLimit(5)
    expect(maxInASecond([...before, ...starts(pace, 50, 5000)])).toBeLessThanOrEqual(5)
  })

  it('requests before the limit was known count for one second at most', () => {
    const pace = new RateLimiter()
    for (let ms = 0; ms < 1000; ms++) pace.onStart(ms)
    pace.setLimit(1)
    expect(pace.notBeforeMs(1000)).toBe(2000)
  })

  it('the second request waits for the first answer for a second at most, because other processes may share the limit', () => {
    const pace = paced(100)
    pace.onStart(0)
    expect(pace.notBeforeMs(500)).toBe(1000)
    pace.onAnswer(500, accepted)
    expect(pace.notBeforeMs(500)).toBeLessThanOrEqual(500)
  })

  it('the limit in force is reported', () => {
    expect(paced(5).inForce(0)).toEqual({ requestsPerSecond: 4.9, because: 'license' })
  })

  it('a raised limit applies at once, and no request waits for a slot of the lower limit', () => {
    const pace = paced(0.01)
    for (const ms of [0, 100]) {
      pace.onStart(ms)
      pace.onAnswer(ms, accepted)
    }
    expect(pace.notBeforeMs(200)).toBeGreaterThan(100_000)
    pace.setLimit(1000)
    expect(pace.notBeforeMs(200)).toBeLessThanOrEqual(200)
    expect(maxInASecond([100, ...starts(pace, 101, 5000)])).toBeLessThanOrEqual(1000)
  })

  it('a raised limit ends the wait after a 429, and a lowered one does not', () => {
    const pace = paced(10)
    pace.onStart(0)
    pace.onAnswer(5, { ...refused, retryAfterMs: 3_600_000 })
    pace.setLimit(5)
    expect(pace.notBeforeMs(10)).toBeGreaterThan(3_600_000)
    pace.setLimit(20)
    expect(pace.notBeforeMs(10)).toBeLessThan(100)
  })

  it('the same limit does not end the wait, unless another limit of the license was raised', () => {
    const pace = paced(10)
    pace.onStart(0)
    pace.onAnswer(5, { ...refused, retryAfterMs: 3_600_000 })
    pace.setLimit(10)
    expect(pace.notBeforeMs(10)).toBeGreaterThan(3_600_000)
    pace.forgetRefusals()
    expect(pace.notBeforeMs(10)).toBeLessThan(200)
  })

  it('the learned rate is forgotten when the license changes, and only then', () => {
    const pace = paced(100)
    pace.onStart(0)
    pace.onAnswer(10, refused)
    pace.setLimit(100)
    expect(pace.inForce(0).because).toBe('throttled')
    pace.setLimit(200)
    expect(pace.inForce(0)).toEqual({ requestsPerSecond: 196, because: 'license' })
    pace.setLimit(undefined)
    expect(pace.inForce(0).because).toBe('none')
  })
})

it('a license that becomes known does not reset the rate learned from 429s, which revealed other processes', () => {
  const headers = { limit: 100, limitPerSecond: 100, remaining: 90 }
  for (const answer of [accepted, { ...accepted, ...headers }]) {
    const pace = new RateLimiter(() => 0.5)
    for (let ms = 0; ms < 100; ms += 10) pace.onStart(ms)
    pace.onAnswer(110, answer)
    pace.onAnswer(110, refused)
    const { requestsPerSecond } = pace.inForce(120)
    expect(requestsPerSecond).toBeLessThan(10)
    pace.setLimit(100)
    expect(pace.inForce(120).requestsPerSecond).toBe(requestsPerSecond)
  }
})

describe('with a limit in the headers', () => {
  it('the lower limit of headers and license applies', () => {
    const pace = paced(100)
    pace.onAnswer(0, { ...accepted, limitPerSecond: 200 })
    expect(pace.inForce(0)).toEqual({ requestsPerSecond: 98, because: 'license' })
    pace.onAnswer(0, { ...accepted, limitPerSecond: 50 })
    expect(pace.inForce(0)).toEqual({ requestsPerSecond: 49, because: 'headers' })
  })

  it('a higher limit is believed after two minutes, because the end of a minute looks like a window of a second', () => {
    const pace = new RateLimiter()
    pace.onAnswer(0, { ...accepted, limitPerSecond: 100 })
    pace.onAnswer(60_000, { ...accepted, limitPerSecond: 6000 })
    expect(pace.inForce(0).requestsPerSecond).toBe(98)
    pace.onAnswer(120_000, { ...accepted, limitPerSecond: 6000 })
    expect(pace.inForce(0).requestsPerSecond).toBe(5880)
  })
})

describe('among other processes', () => {
  it('a new process that cannot have caused the use starts with most of one share', () => {
    const pace = paced(100)
    pace.onStart(0)
    pace.onAnswer(30, { ...accepted, limit: 100, remaining: 51 })
    expect(pace.inForce(0)).toEqual({ requestsPerSecond: expect.closeTo(1.4), because: 'throttled' })
  })

  it('a new process makes room for those that come later', () => {
    const pace = paced(100)
    for (const [ms, remaining] of [
      [0, 93],
      [500, 51],
      [2000, 10],
    ] as const) {
      pace.onStart(ms)
      pace.onAnswer(ms + 30, { ...accepted, limit: 100, remaining })
    }
    expect(pace.inForce(0).requestsPerSecond).toBeCloseTo((0.7 * 98) / 90)
    pace.onAnswer(6000, { ...accepted, limit: 100, remaining: 5 })
    expect(pace.inForce(0).requestsPerSecond).toBeGreaterThan((0.7 * 98) / 92)
  })

  it('the rate rises quickly after a first 429, but only until an answer reveals other processes', () => {
    const rateAfter = (remaining: number) => {
      const pace = paced(100)
      pace.onStart(0)
      pace.onAnswer(10, refused)
      for (let ms = 1000; ms < 20_000; ms = Math.max(pace.notBeforeMs(ms), ms + 1)) {
        pace.onStart(ms)
        pace.onAnswer(ms, { ...accepted, limit: 100, remaining })
      }
      return pace.inForce(20_000).requestsPerSecond
    }
    expect(rateAfter(95)).toBe(98)
    expect(rateAfter(40)).toBeLessThan(1.8)
  })

  it('slows down slightly when a window is nearly full, but not when a token bucket is nearly empty', () => {
    const rateAfter = (remaining: readonly number[]) => {
      const pace = paced(100)
      starts(pace, 0, 4000)
      pace.onAnswer(4000, refused)
      starts(pace, 4000, 5000)
      pace.onAnswer(5000, refused)
      const before = pace.inForce(5000).requestsPerSecond
      for (const left of remaining) {
        const ms = pace.notBeforeMs(5000)
        pace.onStart(ms)
        pace.onAnswer(ms, { ...accepted, limit: 100, remaining: left }, ms)
      }
      return pace.inForce(5000).requestsPerSecond / before
    }
    expect(rateAfter([80, 40, 20])).toBeCloseTo(1, 2)
    expect(rateAfter([80, 40, 1])).toBeCloseTo(0.97, 2)
    expect(rateAfter([10, 2, 1])).toBeCloseTo(1, 2)
  })

  it('slows down slightly when a window of a minute is nearly full', () => {
    const pace = paced(100)
    pace.onStart(0)
    pace.onAnswer(30, { ...accepted, limit: 6000, limitPerSecond: 100, remaining: 3000 })
    expect(pace.inForce(0).requestsPerSecond).toBeCloseTo(1.37)
    for (const ms of starts(pace, 1000, 60_000)) {
      pace.onAnswer(ms, { ...accepted, limit: 6000, limitPerSecond: 100, remaining: 5000 })
    }
    expect(pace.inForce(60_000).requestsPerSecond).toBeLessThan(5)
  })

  it('follows a raised limit within a second, and a lowered one at once', () => {
    const pace = new RateLimiter(() => 0.5)
    const answer = (nowMs: number, limit: number) => pace.onAnswer(nowMs, { ...accepted, limit, limitPerSecond: limit })
    answer(0, 40)
    answer(100, 10)
    expect(pace.headerLimit).toBe(10)
    answer(200, 40) // to a request that was in flight
    expect(pace.headerLimit).toBe(10)
    answer(1200, 40)
    expect(pace.headerLimit).toBe(40)
  })

  it('forgets a limit that answers no longer name', () => {
    const named = { ...accepted, limit: 60, limitPerSecond: 1 }
    const pace = new RateLimiter(() => 0.5)
    pace.onAnswer(0, named)
    for (let ms = 1000; ms < 5000; ms += 1000) pace.onAnswer(ms, accepted)
    pace.onAnswer(5000, refused)
    expect(pace.headerLimit).toBe(1)
    pace.onAnswer(6000, accepted)
    expect(pace.headerLimit).toBeUndefined()
    pace.onAnswer(7000, named)
    pace.onAnswer(8000, accepted)
    expect(pace.headerLimit).toBe(1)
    pace.onAnswer(20_000, accepted)
    expect(pace.headerLimit).toBeUndefined()
  })

  it('asks once a minute, however low the limit is: the next answer may name another one', () => {
    const pace = new RateLimiter(() => 0.5)
    pace.onAnswer(0, { ...accepted, limit: 1, limitPerSecond: 1 / 3600 })
    expect(pace.inForce(0).requestsPerSecond).toBeCloseTo(1 / 60)
  })

  it('tells other processes of a limit only while answers name it', () => {
    const pace = new RateLimiter(() => 0.5)
    pace.onAnswer(0, { ...accepted, limit: 2, limitPerSecond: 2 })
    expect(pace.namedHeaderLimit(5000)).toEqual({ perSecond: 2, ageMs: 5000 })
    expect(pace.namedHeaderLimit(15_000)).toBeUndefined()
    expect(pace.headerLimit).toBe(2)
  })

  it('ignores a limit in the headers if its window is unknown', () => {
    const pace = new RateLimiter()
    pace.onStart(0)
    pace.onAnswer(30, { ...accepted, limit: 6000, remaining: 3000 })
    expect(pace.inForce(0).because).toBe('none')
  })

  it('a process that used the whole limit alone keeps its rate', () => {
    const pace = paced(100)
    for (const ms of starts(pace, 0, 800)) pace.onAnswer(ms, { ...accepted, limit: 100, remaining: 22 })
    expect(pace.inForce(0).because).toBe('license')
  })

  it('several 429s to requests in flight count once', () => {
    const pace = paced(100)
    for (let i = 0; i < 4; i++) pace.onStart(i)
    pace.onAnswer(10, refused)
    const { requestsPerSecond } = pace.inForce(0)
    for (let i = 0; i < 3; i++) pace.onAnswer(10, refused)
    expect(pace.inForce(0).requestsPerSecond).toBe(requestsPerSecond)
  })

  it('a 429 after a success lowers the rate less than consecutive 429s', () => {
    const pace = paced(100, () => 0.5)
    starts(pace, 0, 5000)
    pace.onAnswer(5000, refused)
    const once = pace.inForce(0).requestsPerSecond
    pace.onStart(6000)
    pace.onAnswer(6000, refused)
    expect(once).toBeGreaterThan(75)
    expect(pace.inForce(0).requestsPerSecond).toBeLessThan(once / 1.7)
  })

  it('the rate never falls below one request in 20 seconds', () => {
    const pace = paced(100)
    for (let ms = 0; ms < 1_000_000; ms += 1000) {
      pace.onStart(ms)
      pace.onAnswer(ms, ms % 3000 === 0 ? accepted : refused)
    }
    expect(pace.inForce(1_000_000).requestsPerSecond).toBeCloseTo(0.05)
  })

  it('waits for the reset that a 429 names', () => {
    const pace = paced(100)
    pace.onStart(0)
    pace.onAnswer(10, { ...refused, resetMs: 30_000 })
    expect(pace.notBeforeMs(10)).toBe(30_010)
  })

  it('waits for a minute at most, and not for a window that is not used up', () => {
    for (const [remaining, maxMs] of [
      [0, 60_010],
      [950, 5000],
    ] as const) {
      const pace = paced(100)
      pace.onStart(0)
      pace.onAnswer(10, { ...refused, limit: 1000, remaining, resetMs: 3_000_000 })
      expect(pace.notBeforeMs(10)).toBeLessThanOrEqual(maxMs)
    }
  })

  it('speeds up with answers, faster if the window has room, up to the whole limit', () => {
    const pace = paced(100, () => 0.5)
    pace.onStart(0)
    pace.onAnswer(10, refused)
    const slow = pace.inForce(0).requestsPerSecond
    starts(pace, 1000, 61_000)
    const faster = pace.inForce(0).requestsPerSecond
    expect(faster).toBeGreaterThan(slow)
    for (let nowMs = 61_000; nowMs < 181_000; nowMs = Math.max(pace.notBeforeMs(nowMs), nowMs)) {
      pace.onStart(nowMs)
      const remaining = 100 - Math.ceil(pace.inForce(0).requestsPerSecond)
      pace.onAnswer(nowMs, { ...accepted, limit: 100, remaining })
    }
    expect(pace.inForce(0)).toEqual({ requestsPerSecond: 98, because: 'license' })
  })

  it('speeds up while it makes no requests, and forgets the learned rate', () => {
    const pace = paced(100, () => 0.5)
    starts(pace, 0, 20_000)
    pace.onAnswer(20_000, refused)
    const rates = [0, 60, 100, 110, 260].map(seconds => pace.inForce(20_000 + seconds * 1000).requestsPerSecond)
    expect(rates.toSorted((one, other) => one - other)).toEqual(rates)
    expect(pace.inForce(280_000)).toEqual({ requestsPerSecond: 98, because: 'license' })
  })
})

describe('with a lease', () => {
  it('requests start in the slots of the lease', () => {
    const pace = paced(100)
    pace.setLease(every(500, 120))
    expect(starts(pace, 0, 2000)).toEqual([120, 620, 1120, 1620])
    expect(pace.inForce(0)).toEqual({ requestsPerSecond: 2, because: 'lease' })
  })

  it('a late start is not lost, and does not delay later starts', () => {
    const pace = paced(100)
    pace.setLease(every(100))
    const lateMs = [10, 30, 0, 0]
    expect(starts(pace, 1, 600, () => lateMs.shift() ?? 0)).toEqual([1, 110, 230, 300, 400, 500])
  })

  it.each([
    [500, 190, [0, 690, 1000]],
    [500, 210, [0, 1000]],
  ])(
    'with slots %d ms apart, a start may be up to 200 ms late; this one would be %d ms late',
    (slotMs, lateMs, expected) => {
      const pace = paced(100)
      pace.setLease({ ...every(slotMs), slotMs })
      const delays = [lateMs]
      expect(starts(pace, 0, 1100, () => delays.shift() ?? 0)).toEqual(expected)
    },
  )

  it('slots that are announced again with slightly different times are used once', () => {
    const pace = paced(100)
    pace.setLease(every(100))
    expect(starts(pace, 0, 250)).toEqual([0, 100, 200])
    pace.setLease(every(100, 199))
    expect(starts(pace, 250, 450)).toEqual([299, 399])
    pace.setLease(every(100, 401))
    expect(starts(pace, 450, 650)).toEqual([501, 601])
  })

  it('uses the next slot after a 429, which may be chance', () => {
    const pace = paced(100)
    pace.setLease(every(100))
    starts(pace, 0, 1000)
    pace.onAnswer(1000, refused)
    expect(starts(pace, 1001, 2000)).toEqual([1100, 1200, 1300, 1400, 1500, 1600, 1700, 1800, 1900])
    expect(pace.inForce(2000).because).toBe('lease')
  })

  it('skips slots after two 429s in a row, and soon uses all again', () => {
    const pace = paced(100, () => 0.5)
    pace.setLease(every(100))
    starts(pace, 0, 1000)
    pace.onAnswer(950, refused)
    pace.onStart(1000)
    pace.onAnswer(1000, refused)
    expect(pace.inForce(0).because).toBe('throttled')
    pace.setLease(every(100))
    expect(pace.inForce(0).because).toBe('throttled')
    starts(pace, 2000, 4000)
    expect(pace.inForce(0)).toEqual({ requestsPerSecond: 10, because: 'lease' })
  })

  it('returns to the limit when the lease ends', () => {
    const pace = paced(100)
    pace.setLease(every(1000))
    pace.setLease(undefined)
    expect(pace.inForce(0).because).toBe('license')
  })
})

describe('a read of the license', () => {
  const noSlots: Lease = { ...every(60_000), nextMs: () => Number.POSITIVE_INFINITY }

  /** Returns a process whose requests started at 0 and 500. */
  function leased(): RateLimiter {
    const pace = paced(100)
    pace.setLease(every(500))
    expect(starts(pace, 0, 700)).toEqual([0, 500])
    return pace
  }

  it('takes one slot of a lease, and further reads take none until a request has started', () => {
    const pace = leased()
    for (let ms = 700; ms < 1000; ms += 50) pace.onOtherRequest(ms)
    expect(starts(pace, 1000, 2600)).toEqual([1500, 2000, 2500])
  })

  it('does not delay the first request under a lease', () => {
    const pace = paced(100)
    pace.setLease({ ...noSlots, nextMs: fromMs => (fromMs <= 1000 ? 1000 : Number.POSITIVE_INFINITY) })
    pace.onOtherRequest(100)
    pace.setLease(every(500))
    expect(starts(pace, 200, 1100)).toEqual([500, 1000])
  })

  it('delays no request of the next lease if there is no slot', () => {
    const pace = leased()
    pace.setLease(noSlots)
    pace.onOtherRequest(900)
    pace.setLease(every(500))
    expect(pace.notBeforeMs(900)).toBeLessThan(1100)
  })

  it('takes the first slot of the next lease if that comes before the slot that it took', () => {
    const pace = leased()
    pace.setLease(every(60_000))
    pace.onOtherRequest(900)
    pace.setLease(noSlots)
    pace.setLease(every(500))
    expect(starts(pace, 900, 2100)).toEqual([1500, 2000])
  })

  it('delays no request by the slots of a lease that has ended', () => {
    const pace = leased()
    pace.setLease(every(60_000))
    pace.onOtherRequest(900)
    pace.setLease(undefined)
    expect(pace.notBeforeMs(900)).toBeLessThan(1000)
  })
})

describe('with a turn among processes that agree', () => {
  /** Returns a process with one request in two seconds, of which the last one started at 10,000, and an agreement then. */
  const inTurn = (moveMs: number) => {
    const pace = paced(5)
    const agreed = { requestsPerSecond: 0.5, refusedPart: 0.01, sinceRefusedMs: 1000, turn: undefined }
    pace.agreeOn(9990, agreed)
    pace.onStart(10_000)
    pace.onAnswer(10_010, accepted)
    pace.agreeOn(10_020, { ...agreed, turn: { moveMs, distanceMs: 200, maxPerSecond: 0.5 } })
    return pace
  }

  it.each([
    ['moves to its turn', 300, 12_300],
    ['moves to an earlier turn', -300, 11_700],
    ['stays if the turn is near', 40, 12_000],
    ['stays some time after the last one', -1900, 10_800],
  ])('the next request %s', (_, moveMs, expectedMs) => {
    expect(Math.abs(inTurn(moveMs).notBeforeMs(10_020) - expectedMs)).toBeLessThan(50)
  })

  it('the next request moves up when most of the processes before it have ended', () => {
    const pace = paced(5)
    const many = { requestsPerSecond: 0.05, refusedPart: 0, sinceRefusedMs: Number.POSITIVE_INFINITY }
    pace.join(10_000, { ...many, turn: { moveMs: 19_000, distanceMs: 200, maxPerSecond: 0.05 } })
    expect(pace.notBeforeMs(10_010)).toBeGreaterThan(28_000)
    pace.agreeOn(16_000, { ...many, requestsPerSecond: 2, turn: { moveMs: 0, distanceMs: 250, maxPerSecond: 2 } })
    expect(pace.notBeforeMs(16_010)).toBeLessThan(17_000)
  })

  it('requests follow at equal intervals, although the rate would grow', () => {
    const pace = inTurn(300)
    const intervals = starts(pace, 10_020, 19_000).map((ms, i, all) => ms - (all[i - 1] ?? Number.NaN))
    expect(intervals.slice(1).map(Math.round)).toEqual([2000, 2000, 2000])
  })

  it('a refused request does not delay the next turn', () => {
    const pace = inTurn(0)
    pace.onStart(12_000)
    pace.onAnswer(12_100, { throttled: true, retryAfterMs: 1000 })
    expect(pace.inForce(12_100).requestsPerSecond).toBeLessThan(0.5)
    expect(Math.abs(pace.notBeforeMs(12_100) - 14_000)).toBeLessThan(50)
  })

  it('a read of the license takes the next turn', () => {
    const pace = inTurn(300)
    pace.onOtherRequest(11_000)
    expect(Math.abs(pace.notBeforeMs(11_000) - 14_300)).toBeLessThan(50)
  })

  it('no request waits for it before the end of the process, or once the limit is raised', () => {
    const [ending, raised] = [inTurn(300), inTurn(300)]
    ending.setDeadline(10_500)
    expect(ending.notBeforeMs(10_100)).toBeLessThan(10_500)
    raised.setLimit(40)
    expect(raised.notBeforeMs(10_100)).toBeLessThan(10_100)
  })
})

describe('while another process reads the license', () => {
  it('no request starts, and no rate is given as the reason', () => {
    const pace = new RateLimiter()
    pace.holdUntil(2500)
    expect([pace.notBeforeMs(10), pace.holdingBack(10)]).toEqual([2500, undefined])
    expect(pace.notBeforeMs(2500)).toBeLessThanOrEqual(2500)
  })

  it('requests start before the end of the process, also if the hold comes later', () => {
    const pace = new RateLimiter()
    pace.setDeadline(10_000)
    pace.holdUntil(2500)
    expect(pace.notBeforeMs(10)).toBeLessThanOrEqual(10)
  })
})

describe('before the end of the process', () => {
  const throttledOnce = (limit?: number) => {
    const pace = new RateLimiter(() => 0.5)
    pace.setLimit(limit)
    pace.onStart(0)
    pace.onAnswer(5, { ...refused, resetMs: 1000 })
    pace.onIdle()
    pace.onStart(3000)
    pace.onAnswer(3005, accepted)
    return pace
  }

  it('the learned rate does not hold requests back', () => {
    const pace = throttledOnce()
    expect(pace.notBeforeMs(3010)).toBeGreaterThan(3900)
    pace.setDeadline(5000)
    expect(pace.notBeforeMs(3010)).toBeLessThanOrEqual(3010)
  })

  it('after a 429 the rate doubles with each four accepted requests, and a further 429 halves it', () => {
    const pace = throttledOnce()
    pace.setDeadline(60_000)
    let nowMs = 3010
    const answered = (answer: PacedAnswer, times = 1) => {
      for (let count = 0; count < times; count++) {
        pace.onStart(nowMs)
        nowMs += 5
        pace.onAnswer(nowMs, answer)
        nowMs = Math.max(nowMs, pace.notBeforeMs(nowMs)) + 1
      }
      return pace.inForce(nowMs).requestsPerSecond
    }
    const rates = [
      answered(refused),
      answered(accepted, 4),
      answered(accepted, 4),
      answered(refused),
      answered(accepted, 4),
    ]
    expect(rates).toEqual([2.5, 5, 10, 5, 10])
    expect(answered(accepted, 4000)).toBe(1000)
    expect(answered(refused)).toBe(500)
  })

  it('the rate of the license holds requests back', () => {
    const pace = throttledOnce(1)
    pace.setDeadline(13_000)
    expect(pace.notBeforeMs(3010)).toBeCloseTo(3000 + 1000 / 0.98, 0)
  })

  it('the slots of a lease hold requests back', () => {
    const pace = paced(100)
    pace.setLease(every(500))
    starts(pace, 0, 900)
    pace.onAnswer(900, refused)
    pace.setDeadline(10_000)
    expect(starts(pace, 901, 2400)).toEqual([1000, 1500, 2000])
  })

  it('up to four requests whose turn would come too late start at once', () => {
    const pace = paced(0.1)
    starts(pace, 0, 100)
    pace.setDeadline(2000)
    expect(starts(pace, 100, 50_000).filter(ms => ms < 10_000)).toEqual([100, 100, 100, 100])
  })

  it('no request starts before the time that the service has asked for', () => {
    const pace = paced(0.1)
    pace.onStart(0)
    pace.onAnswer(5, { ...refused, resetMs: 1000 })
    pace.setDeadline(2000)
    expect(pace.notBeforeMs(10)).toBe(1005)
  })

  it('the rate applies again if the process continues after the deadline', () => {
    const pace = paced(0.1)
    starts(pace, 0, 100)
    pace.setDeadline(2000)
    expect(pace.notBeforeMs(2001)).toBeGreaterThan(10_000)
  })
})
