/**
 * How soon a process is back at full speed after a service that limited its requests has recovered: `RateLimiter` on a
 * virtual clock, with more to send than the limit allows, and no other process on the limit.
 */
import { describe, expect, it } from 'vitest'
import { RateLimiter } from '../../src/delivery/rate-limiter.ts'
import { fixedWindow, randomFrom, VirtualClock } from '../org/simulation.ts'
import { isSoak } from '../support/soak-runs.ts'
import { every } from './every.ts'

interface Scene {
  /** Requests that become due in a second. */
  readonly demandPerSecond: number
  /** The demand from a moment on. */
  readonly later?: { readonly fromMs: number; readonly demandPerSecond: number }
  /** The license's limit, which the service enforces and the process knows. */
  readonly limitPerSecond?: number
  readonly isRefused: (nowMs: number) => boolean
  /** True if the headers of answers tell how much of the limit is left; those of `isRefused` have none. */
  readonly tellsRemaining?: boolean
  readonly untilMs: number
  readonly seed?: number
  readonly prepare?: (pace: RateLimiter) => void
}

/** Returns the times at which requests were accepted and refused. */
async function run({
  later,
  demandPerSecond,
  limitPerSecond,
  isRefused,
  tellsRemaining,
  untilMs,
  seed = 1,
  prepare,
}: Scene) {
  const clock = new VirtualClock()
  const random = randomFrom(seed)
  const pace = new RateLimiter(random)
  pace.setLimit(limitPerSecond)
  prepare?.(pace)
  const admit = fixedWindow(limitPerSecond ?? Number.POSITIVE_INFINITY)
  const accepted: number[] = []
  const refused: number[] = []
  let sent = 0
  let wakeMs = Number.POSITIVE_INFINITY
  let inFlight = 0
  const due = (nowMs: number) => {
    const laterMs = Math.max(nowMs - (later?.fromMs ?? Number.POSITIVE_INFINITY), 0)
    return ((nowMs - laterMs) * demandPerSecond + laterMs * (later?.demandPerSecond ?? 0)) / 1000
  }
  const wantsToSend = () => sent < due(clock.nowMs) && inFlight < 32
  const pump = (): void => {
    const { nowMs } = clock
    while (wantsToSend() && pace.notBeforeMs(nowMs) <= nowMs) send(nowMs)
    if (!wantsToSend()) return pace.onIdle()
    const atMs = pace.notBeforeMs(nowMs)
    if (atMs >= wakeMs) return
    wakeMs = atMs
    clock.after(Math.ceil(atMs - nowMs) + random(), () => {
      if (wakeMs !== atMs) return
      wakeMs = Number.POSITIVE_INFINITY
      pump()
    })
  }
  const send = (startedMs: number): void => {
    pace.onStart(startedMs)
    sent++
    inFlight++
    clock.after(3 + 4 * random(), () => {
      const isOutage = isRefused(clock.nowMs)
      const { admitted, remaining } = isOutage ? { admitted: false, remaining: 0 } : admit(clock.nowMs)
      const throttled = !admitted
      const told = tellsRemaining && !isOutage ? ({ limit: limitPerSecond, limitPerSecond, remaining } as object) : {}
      ;(throttled ? refused : accepted).push(clock.nowMs)
      if (throttled) sent--
      inFlight--
      pace.onAnswer(clock.nowMs, { throttled, ...told }, startedMs)
      pump()
    })
  }
  const tick = (): void => {
    pump()
    clock.after(Math.max(1000 / Math.max(demandPerSecond, later?.demandPerSecond ?? 0), 1), tick)
  }
  tick()
  await clock.runUntil(untilMs)
  return { accepted, refused, pace }
}

const perSecond = (atMs: readonly number[], fromMs: number, toMs: number) =>
  atMs.filter(ms => ms >= fromMs && ms < toMs).length / ((toMs - fromMs) / 1000)

const outage = { fromMs: 30_000, toMs: 50_000 }
/** Lengths of an outage, in seconds. */
const lengths = isSoak ? [0.6, 1, 2, 4, 8, 12, 20] : [0.6, 2, 8, 20]

const isOut = (nowMs: number) => nowMs >= outage.fromMs && nowMs < outage.toMs

describe('after 20 seconds of 429s to every request', () => {
  it.each([1, 5, 40, 200, 1000])(
    'a limit of %d per second is used again within ten seconds, and few requests were made meanwhile',
    async limitPerSecond => {
      // Intervals vary by up to a half, which 20 seconds of a few requests each would show.
      const seeds = limitPerSecond < 40 || isSoak ? 5 : 1
      const rates: number[] = []
      for (let seed = 1; seed <= seeds; seed++) {
        const { accepted, refused } = await run({
          demandPerSecond: limitPerSecond * 1.2,
          limitPerSecond,
          isRefused: isOut,
          untilMs: 80_000,
          seed,
        })
        rates.push(perSecond(accepted, 60_000, 80_000))
        expect(refused.length).toBeLessThan(45)
      }
      expect(rates.reduce((sum, rate) => sum + rate) / rates.length).toBeGreaterThanOrEqual(0.9 * limitPerSecond)
    },
  )

  it.each([1, 20, 100, 1000])('%d datasets without a known limit recover within ten seconds', async datasets => {
    const { accepted, refused } = await run({ demandPerSecond: datasets, isRefused: isOut, untilMs: 80_000 })
    expect(perSecond(accepted, 60_000, 80_000) / datasets).toBeGreaterThanOrEqual(0.9)
    expect(refused.length).toBeLessThan(45)
  })

  it.each([5, 40, 200])('an unknown limit of %d per second is used again within ten seconds', async limitPerSecond => {
    const admit = fixedWindow(limitPerSecond)
    const { accepted } = await run({
      demandPerSecond: limitPerSecond * 1.2,
      isRefused: nowMs => isOut(nowMs) || !admit(nowMs).admitted,
      untilMs: 110_000,
    })
    const before = perSecond(accepted, 10_000, 30_000)
    expect(perSecond(accepted, 60_000, 110_000) / before).toBeGreaterThanOrEqual(0.9)
  })

  it.each([0.5, 3, 6, 9, 12, 20])(
    'a process that starts during the last %d seconds of them recovers within ten seconds',
    async seconds => {
      const endMs = seconds * 1000
      for (const limit of [{}, { limitPerSecond: 40 }]) {
        const { limitPerSecond = 100 } = limit as { limitPerSecond?: number }
        const demandPerSecond = limitPerSecond * 1.2
        const { accepted } = await run({
          ...limit,
          demandPerSecond,
          isRefused: nowMs => nowMs < endMs,
          untilMs: 60_000,
        })
        expect(perSecond(accepted, endMs + 10_000, endMs + 30_000)).toBeGreaterThanOrEqual(0.9 * limitPerSecond)
      }
    },
  )

  it.each([0.3, 0.7, 0.95])('a process that began %d seconds before an outage of any length recovers', async began => {
    const scenes = [
      { limitPerSecond: 20, demandPerSecond: 24 },
      { limitPerSecond: 200, demandPerSecond: 240 },
      { demandPerSecond: 10 },
      { demandPerSecond: 100 },
    ]
    for (const scene of scenes) {
      for (const seconds of lengths) {
        const [fromMs, toMs] = [began * 1000, (began + seconds) * 1000]
        const isRefused = (nowMs: number) => nowMs >= fromMs && nowMs < toMs
        const { accepted } = await run({ ...scene, isRefused, untilMs: toMs + 60_000 })
        const firstMs = accepted.find(ms => ms > toMs) as number
        // A single request that is refused in the outage may have met a full window: that takes more answers to tell.
        const recoveredMs = firstMs + (seconds < 3 ? 25_000 : 10_000)
        const wanted = Math.min(scene.demandPerSecond, scene.limitPerSecond ?? Number.POSITIVE_INFINITY)
        expect(perSecond(accepted, recoveredMs, recoveredMs + 10_000)).toBeGreaterThanOrEqual(0.9 * wanted)
      }
    }
  })

  it.each([4, 20, 40, 200])(
    'the same if headers tell what is left of %d per second, and nobody else uses it',
    async limit => {
      for (const began of [0.3, 0.95, 5]) {
        for (const seconds of lengths) {
          const [fromMs, toMs] = [began * 1000, (began + seconds) * 1000]
          const isRefused = (nowMs: number) => nowMs >= fromMs && nowMs < toMs
          const scene = { limitPerSecond: limit, demandPerSecond: 1.2 * limit, tellsRemaining: true, isRefused }
          const { accepted } = await run({ ...scene, untilMs: toMs + 60_000 })
          // With few requests per window, a process needs more answers until it knows that it is alone.
          const withinMs = limit < 20 && seconds > 8 ? 40_000 : 10_000
          const recoveredMs = (accepted.find(ms => ms > toMs) as number) + withinMs
          expect(perSecond(accepted, recoveredMs, recoveredMs + 10_000)).toBeGreaterThanOrEqual(0.9 * limit)
        }
      }
    },
  )

  it.each([
    [1, 100, 200],
    [1, 20, undefined],
    [20, 100, 200],
  ])('a demand of %d per second may rise to %d (limit: %s)', async (demandPerSecond, higher, limitPerSecond) => {
    const later = { fromMs: outage.toMs, demandPerSecond: higher }
    const limit = limitPerSecond === undefined ? {} : { limitPerSecond }
    const { accepted } = await run({ ...limit, demandPerSecond, later, isRefused: isOut, untilMs: 100_000 })
    expect(perSecond(accepted, outage.toMs + 17_000, 100_000)).toBeGreaterThanOrEqual(0.9 * higher)
  })

  it('the service is asked every few seconds if they began before a rate was proven', async () => {
    for (let seed = 1; seed <= 5; seed++) {
      const isRefused = (nowMs: number) => nowMs >= 300 && nowMs < 300_000
      const { accepted, refused } = await run({ demandPerSecond: 20, isRefused, untilMs: 320_000, seed })
      expect((accepted.find(ms => ms > 300_000) as number) - 300_000).toBeLessThan(6000)
      expect(refused.length).toBeLessThan(120)
    }
  })

  it('a rate that was learned under a limit of headers is forgotten when they name a higher one, or none', () => {
    for (const then of [{ limit: 100, limitPerSecond: 100, remaining: 99 }, {}]) {
      const pace = new RateLimiter(randomFrom(1))
      const answer = (nowMs: number, told: object, throttled = false): void => {
        pace.onStart(nowMs - 5)
        pace.onAnswer(nowMs, { throttled, ...told }, nowMs - 5)
      }
      for (let second = 1; second <= 20; second++) answer(second * 1000, { limit: 1, limitPerSecond: 1, remaining: 0 })
      for (let second = 21; second <= 30; second++) answer(second * 1000, {}, true)
      expect(pace.inForce(30_000).requestsPerSecond).toBeLessThan(1)
      for (let n = 0; n < 20; n++) answer(31_000 + n * 8000, then)
      expect(pace.inForce(31_000 + 20 * 8000).requestsPerSecond).toBeGreaterThan(90)
    }
  })

  it('a lease is fully used within two terms, at high and at low rates', async () => {
    for (const periodMs of [51, 500, 5000]) {
      const { accepted } = await run({
        demandPerSecond: 30,
        limitPerSecond: 100,
        isRefused: isOut,
        untilMs: 160_000,
        prepare: pace => pace.setLease(every(periodMs)),
      })
      expect((perSecond(accepted, 60_000, 160_000) * periodMs) / 1000).toBeGreaterThanOrEqual(0.9)
    }
  })
})

describe('after a single 429', () => {
  it.each([20, 100])('%d datasets recover within ten seconds, however early the 429 comes', async datasets => {
    for (const atRequest of [1, 5, 500]) {
      let requests = 0
      let refusedAtMs = 0
      const { accepted } = await run({
        demandPerSecond: datasets,
        isRefused: nowMs => {
          if (++requests !== atRequest) return false
          refusedAtMs = nowMs
          return true
        },
        untilMs: 60_000,
      })
      const fromMs = refusedAtMs + 10_000
      expect(perSecond(accepted, fromMs, fromMs + 10_000)).toBeGreaterThanOrEqual(0.9 * datasets)
    }
  })
})

describe('a limit that nothing names', () => {
  it.each([40, 200])('is used within twenty seconds by a process that wants three times %d per second', async limit => {
    for (let seed = 1; seed <= 5; seed++) {
      const admit = fixedWindow(limit)
      const isRefused = (nowMs: number) => !admit(nowMs).admitted
      const { accepted } = await run({ demandPerSecond: 3 * limit, isRefused, untilMs: 60_000, seed })
      expect(perSecond(accepted, 20_000, 60_000)).toBeGreaterThanOrEqual(0.85 * limit)
    }
  })
})

describe('after a few 429s within seconds', () => {
  it.each([
    [10, undefined],
    [100, undefined],
    [12, 10],
    [240, 200],
  ])('a process alone is soon back at its rate: %d datasets, a limit of %s', async (demandPerSecond, limit) => {
    const limitPerSecond = limit === undefined ? {} : { limitPerSecond: limit }
    for (const seconds of [
      [2, 5],
      [2, 2.5],
      [2, 3, 4],
      [10, 13],
      [20, 25, 30, 35],
      [30, 31, 32, 33, 34],
    ]) {
      for (let seed = 1; seed <= (isSoak ? 5 : 2); seed++) {
        const due = seconds.map(second => second * 1000)
        const isRefused = (nowMs: number) => nowMs > (due[0] ?? Number.POSITIVE_INFINITY) && due.shift() !== undefined
        const { accepted } = await run({ demandPerSecond, ...limitPerSecond, isRefused, untilMs: 60_000, seed })
        const fromMs = (seconds.at(-1) as number) * 1000 + 14_000
        expect(perSecond(accepted, fromMs, fromMs + 10_000)).toBeGreaterThanOrEqual(0.9 * (limit ?? demandPerSecond))
      }
    }
  })
})

describe('after 20 seconds in which every other request is refused', () => {
  it.each([20, 100])('%d datasets recover within half a minute', async datasets => {
    let turn = 0
    const { accepted } = await run({
      demandPerSecond: datasets,
      isRefused: nowMs => isOut(nowMs) && turn++ % 2 === 0,
      untilMs: 110_000,
    })
    expect(perSecond(accepted, 80_000, 110_000)).toBeGreaterThanOrEqual(0.9 * datasets)
  })
})

describe('reading the license', () => {
  it('delays no batch by more than one interval of the allowed rate, however often it happens', () => {
    const pace = new RateLimiter(() => 0.5)
    pace.setLimit(2)
    pace.onStart(0)
    pace.onAnswer(5, { throttled: false })
    const dueMs = pace.notBeforeMs(10)
    for (let ms = 10; ms < dueMs + 511; ms += 50) {
      pace.onOtherRequest(ms)
      expect(pace.notBeforeMs(ms)).toBeLessThanOrEqual(dueMs + 511)
    }
  })

  it('does not stop delivery after a burst of 429s', async () => {
    const { accepted } = await run({
      demandPerSecond: 20,
      limitPerSecond: 100,
      isRefused: isOut,
      untilMs: 80_000,
      prepare: pace => {
        const start = pace.onStart.bind(pace)
        let readMs = 0
        pace.onStart = (nowMs, wantedMs) => {
          for (; readMs < nowMs; readMs += 1000) pace.onOtherRequest(nowMs)
          start(nowMs, wantedMs)
        }
      },
    })
    expect(perSecond(accepted, 60_000, 80_000)).toBeGreaterThanOrEqual(18)
  })
})

describe('slots missed because the event loop is late', () => {
  /** Always has something to send, with timers late by up to 60 ms. */
  function startsOf(pace: RateLimiter): number[] {
    const random = randomFrom(3)
    const atMs: number[] = []
    let nowMs = 0
    while (nowMs < 60_000) {
      if (pace.notBeforeMs(nowMs) <= nowMs) {
        atMs.push(nowMs)
        pace.onStart(nowMs)
        pace.onAnswer(nowMs, { throttled: false })
      } else nowMs = pace.notBeforeMs(nowMs) + 60 * random()
    }
    return atMs
  }

  it.each([5, 50, 200])('are used late: %d per second, and never more in any second', limitPerSecond => {
    const pace = new RateLimiter()
    pace.setLimit(limitPerSecond)
    const atMs = startsOf(pace)
    expect(atMs.length / 60 / limitPerSecond).toBeGreaterThan(0.9)
    for (const ms of atMs) expect(perSecond(atMs, ms, ms + 1000)).toBeLessThan(limitPerSecond + 0.5)
  })

  it('are used late under a lease, too', () => {
    const pace = new RateLimiter()
    pace.setLimit(100)
    pace.setLease(every(51))
    expect(startsOf(pace).length / (60_000 / 51)).toBeGreaterThan(0.9)
  })

  it('are not made up for if no request wanted them', () => {
    const pace = new RateLimiter()
    pace.setLimit(50)
    pace.onStart(0)
    pace.onAnswer(5, { throttled: false })
    pace.onIdle()
    pace.onStart(10_000)
    expect(pace.notBeforeMs(10_000)).toBeCloseTo(10_000 + 1000 / 49)
  })
})
