/**
 * The rate limiter: processes with an endless backlog, for five minutes, on a license of 100 requests per second.
 * `npm run soak` simulates its full scale, up to 500 processes for ten minutes. Prints its measurements.
 */
import { afterEach, describe, expect, it, vi } from 'vitest'
import { isSoak } from '../support/soak-runs.ts'
import { World } from './simulated-world.ts'
import { fixedWindow, tokenBucket } from './simulation.ts'

vi.mock('../../src/time.ts', () => import('../support/time-of-globals.ts'))
afterEach(() => {
  vi.unstubAllGlobals()
})

const many = isSoak ? 200 : 40
const seeds = isSoak ? 7 : 3
const seedsOfMachine = isSoak ? 7 : 2

function median(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] as number
}

/** Returns how much more the process that was served best was served than the worst, from one second to another. */
async function bestToWorst(world: World, fromSecond: number, toSecond: number): Promise<number> {
  await world.runUntil(fromSecond)
  const before = world.clients.map(({ successes }) => successes)
  await world.runUntil(toSecond)
  const served = world.clients.map(({ successes }, i) => successes - (before[i] ?? 0))
  return Math.max(...served) / Math.min(...served)
}

function listed(ratios: readonly number[]): string {
  return `best to worst ${ratios.map(ratio => ratio.toFixed(1)).join(', ')}`
}

describe('one process', () => {
  it.each([fixedWindow, tokenBucket])('uses a limit of 5 per second from the first second on: $name', async limiter => {
    const world = new World({ limitPerSecond: 5, limiter })
    world.join()
    await world.run()
    expect(world.service.refused).toEqual([])
    expect(world.service.utilisation(0, 30)).toBeGreaterThan(0.95)
  })

  it('uses its share', async () => {
    const world = new World()
    world.join(0.5)
    await world.run()
    expect(world.service.utilisation(0, world.seconds)).toBeCloseTo(0.49)
  })
})

describe('processes that do not communicate', () => {
  it.each(isSoak ? [2, 10, 50, 500] : [2, 10, 50])(
    '%d: use the limit, few requests are rejected, no process starves',
    async processes => {
      const world = new World()
      world.joinWithinASecond(processes)
      await world.run()
      const { rejected, utilisation, longestGapMs } = world.measured(`${processes} by themselves`)
      // Growth and cuts that refuse 500 less, most of them in their first minute, serve 40 and 80 less alike.
      expect(rejected).toBeLessThan(processes === 500 ? 0.13 : 0.1)
      expect(world.service.rejected(60, world.seconds)).toBeLessThan(0.08)
      expect(utilisation).toBeGreaterThan(0.9)
      expect(longestGapMs).toBeLessThan(120_000)
    },
  )

  it.each([
    [2, tokenBucket, true],
    [10, tokenBucket, true],
    [many, tokenBucket, true],
    [10, fixedWindow, false],
    [many, fixedWindow, false],
  ])('%d: the same with another kind of limiter, or without headers', async (processes, limiter, tellsRemaining) => {
    const world = new World({ limiter, tellsRemaining })
    world.joinWithinASecond(processes)
    await world.run()
    const title = `${processes} by themselves, ${limiter.name}${tellsRemaining ? '' : ', no headers'}`
    const { rejected, utilisation, longestGapMs } = world.measured(title)
    expect(rejected).toBeLessThan(processes === 200 && !tellsRemaining ? 0.11 : 0.1)
    expect(world.service.rejected(60, world.seconds)).toBeLessThan(0.08)
    expect(utilisation).toBeGreaterThan(0.9)
    expect(longestGapMs).toBeLessThan(120_000)
  })

  it.each([2, 10, many])('%d: the same with 429s without Retry-After', async processes => {
    const world = new World({ retryAfterMs: undefined })
    world.joinWithinASecond(processes)
    await world.run()
    const { rejected, utilisation, longestGapMs } = world.measured(`${processes} by themselves, no Retry-After`)
    expect(rejected).toBeLessThan(0.1)
    expect(utilisation).toBeGreaterThan(0.9)
    expect(longestGapMs).toBeLessThan(120_000)
  })

  it.each([true, false])(
    '40 on 40 per second that read the license at their start are served alike (headers: %s, usually less than 4.5 times better)',
    async tellsRemaining => {
      const ratios: number[] = []
      const later: number[] = []
      for (let seed = 1; seed <= seeds; seed++) {
        const world = new World({ limitPerSecond: 40, tellsRemaining }, seed)
        for (let i = 0; i < 40; i++) world.clock.after(5000 * world.random(), () => world.joinAndRead())
        ratios.push(await bestToWorst(world, 60, 180))
        later.push(await bestToWorst(world, 240, 300))
        expect(world.service.rejected(0, 180)).toBeLessThan(0.1)
        expect(world.service.rejected(60, 300)).toBeLessThan(0.06)
        expect(world.service.utilisation(60, 300)).toBeGreaterThan(0.92)
      }
      console.log(`40 on 40/s, headers ${tellsRemaining}: ${listed(ratios)}, and later ${listed(later)}`)
      expect(median(ratios)).toBeLessThan(4.5)
      expect(median(later)).toBeLessThan(4)
    },
  )

  it.each([
    [20, 40],
    [40, 100],
  ])('%d on %d per second that start one after another are soon served alike', async (processes, limitPerSecond) => {
    const ratios: number[] = []
    for (let seed = 1; seed <= 11; seed++) {
      const world = new World({ limitPerSecond }, seed)
      for (let i = 0; i < processes; i++) world.clock.after(5000 * world.random(), () => world.joinAndRead())
      ratios.push(await bestToWorst(world, 60, 120))
      expect(world.service.utilisation(60, 120)).toBeGreaterThan(0.92)
    }
    console.log(`${processes} on ${limitPerSecond}/s: ${listed(ratios)}`)
    expect(median(ratios)).toBeLessThan(4.5)
  })

  it.each([
    [true, 5.5],
    [false, 5],
  ])(
    '80 on 40 per second are served alike, and no more than a tenth is refused (headers: %s, usually less than %d times better)',
    async (tellsRemaining, maxRatio) => {
      const ratios: number[] = []
      for (let seed = 1; seed <= 11; seed++) {
        const world = new World({ limitPerSecond: 40, tellsRemaining }, seed)
        for (let i = 0; i < 80; i++) world.clock.after(5000 * world.random(), () => world.joinAndRead())
        ratios.push(await bestToWorst(world, 45, 105))
        expect(world.service.rejected(30, 105)).toBeLessThan(0.1)
        expect(world.service.utilisation(30, 105)).toBeGreaterThan(0.94)
      }
      console.log(`80 on 40/s, headers ${tellsRemaining}: ${listed(ratios)}`)
      expect(median(ratios)).toBeLessThan(maxRatio)
    },
  )

  it('an outage does not delay the share of a process that came second', async () => {
    const ratios: number[] = []
    for (let seed = 1; seed <= seeds; seed++) {
      const world = new World({ limitPerSecond: 40 }, seed)
      world.joinAndRead()
      world.clock.after(8000, () => world.joinAndRead())
      world.clock.after(20_000, () => world.service.refuseAllUntil(34_500))
      ratios.push(await bestToWorst(world, 166, 226))
    }
    console.log(`2 on 40/s, one first, after an outage: ${listed(ratios)}`)
    expect(median(ratios)).toBeLessThan(8)
  })

  it('two that start in an outage are served alike afterwards', async () => {
    const ratios: number[] = []
    for (let seed = 1; seed <= 3 * seeds; seed++) {
      const world = new World({ limitPerSecond: 40 }, seed)
      world.service.refuseAllUntil(15_000)
      world.joinAndRead()
      world.clock.after(2000, () => world.joinAndRead())
      ratios.push(await bestToWorst(world, 60, 120))
    }
    console.log(`2 on 40/s, started in an outage: ${listed(ratios)}`)
    expect(median(ratios)).toBeLessThan(9)
  })

  it('a process that starts beside another one has its share after a minute, if headers tell what is left', async () => {
    const ratios: number[] = []
    for (let seed = 1; seed <= 3 * seeds; seed++) {
      const world = new World({ limitPerSecond: 40 }, seed)
      world.joinAndRead()
      world.clock.after(10_000, () => world.joinAndRead())
      ratios.push(await bestToWorst(world, 70, 130))
      expect(world.service.utilisation(60, 130)).toBeGreaterThan(0.8)
    }
    console.log(`2 on 40/s, one first, soon: ${listed(ratios)}`)
    expect(median(ratios)).toBeLessThan(3)
  })

  it('a busy process beside one that wants little uses what that one leaves, but for a short while now and then', async () => {
    const world = new World({ limitPerSecond: 40 })
    world.joinAndRead()
    world.clock.after(5000, () => world.join(1, 1))
    await world.runUntil(600)
    expect(world.service.utilisation(60, 600)).toBeGreaterThan(0.88)
  })

  it('a process that is alone makes room for nobody, although single requests are refused', async () => {
    const world = new World({ limitPerSecond: 40 })
    world.joinAndRead()
    for (let s = 30; s < 300; s += 60) world.clock.after(s * 1000, () => world.service.refuseAllUntil(s * 1000 + 60))
    await world.runUntil(300)
    expect(world.service.utilisation(60, 300)).toBeGreaterThan(0.94)
  })

  it.each([
    [2, 40, true],
    [10, 100, true],
    [10, 100, false],
  ])(
    '%d on %d per second, of which one was there first, are served alike in the fourth minute (headers: %s)',
    async (processes, limitPerSecond, tellsRemaining) => {
      const ratios: number[] = []
      for (let seed = 1; seed <= seeds; seed++) {
        const world = new World({ limitPerSecond, tellsRemaining }, seed)
        world.joinAndRead()
        for (let i = 1; i < processes; i++) world.clock.after(10_000 + 100 * i, () => world.joinAndRead())
        ratios.push(await bestToWorst(world, 180, 240))
        expect(world.service.rejected(60, 240)).toBeLessThan(0.02)
        expect(world.service.utilisation(60, 240)).toBeGreaterThan(0.88)
      }
      console.log(`${processes} on ${limitPerSecond}/s, one first: ${listed(ratios)}`)
      expect(median(ratios)).toBeLessThan(8)
    },
  )

  it('10 that are refused at once are served alike, however many requests each had made by then', async () => {
    const ratios: number[] = []
    for (let seed = 1; seed <= seeds; seed++) {
      const world = new World({ tellsRemaining: false }, seed)
      world.joinWithinASecond(10)
      ratios.push(await bestToWorst(world, 0, 120))
    }
    expect(median(ratios)).toBeLessThan(5)
  })

  it.each([1, 9])('one with half a share and %d others: use the limit, few requests are rejected', async others => {
    const world = new World()
    world.join(0.5)
    world.joinWithinASecond(others)
    await world.run()
    const { rejected, utilisation } = world.measured(`one of half a share and ${others}, by themselves`)
    expect(rejected).toBeLessThan(0.01)
    expect(utilisation).toBeGreaterThan(0.9)
  })

  it.each([
    [2, 1],
    [10, 5],
    [many, many / 2],
  ])('%d, of which %d leave: the others use the freed requests', async (processes, leave) => {
    const world = new World()
    world.joinWithinASecond(processes)
    world.clock.after((world.seconds / 3) * 1000, () => {
      for (let i = 0; i < leave; i++) world.leave(i)
    })
    await world.run()
    world.measured(`${processes}, of which ${leave} leave, by themselves`)
    expect(world.service.rejected(0, world.seconds)).toBeLessThan(0.1)
    expect(world.service.utilisation((world.seconds * 2) / 3, world.seconds)).toBeGreaterThan(0.9)
  })

  it.each([
    [10, 60_000],
    [many, 10_000],
  ])('%d, one of which is replaced every %d ms', async (processes, everyMs) => {
    const world = new World()
    world.joinWithinASecond(processes)
    world.renewEvery(everyMs)
    await world.run()
    const { rejected, utilisation, longestGapMs } = world.measured(`${processes}, one renewed every ${everyMs} ms`)
    expect(rejected).toBeLessThan(0.1)
    expect(utilisation).toBeGreaterThan(0.9)
    expect(longestGapMs).toBeLessThan(120_000)
  })
})

describe('processes that agree on their rates with those of their machine', () => {
  it.each([
    [40, 40],
    [5, 40],
    [20, 100],
  ])('%d on %d per second, whose timers are late by 20 to 200 ms, use it', async (processes, limitPerSecond) => {
    const world = new World({ limitPerSecond }, 1, 1)
    for (let i = 0; i < processes; i++) world.clock.after(1000 * world.random(), () => world.joinAndRead())
    world.clock.after(1500, () => {
      for (const client of world.clients) client.timersAreLateMs = [20, 200]
    })
    await world.runUntil(180)
    expect(world.service.rejected(60, 180)).toBeLessThan(0.01)
    expect(world.service.utilisation(60, 180)).toBeGreaterThan(0.9)
  })

  it.each([
    { processes: 2, onPerSecond: 40, machines: 1, maxRatio: 1.2 },
    { processes: 10, onPerSecond: 100, machines: 1, maxRatio: 1.2 },
    { processes: 10, onPerSecond: 100, machines: 1, maxRatio: 1.3, tellsRemaining: false },
    { processes: 40, onPerSecond: 40, machines: 1, maxRatio: 2 },
    { processes: 40, onPerSecond: 40, machines: 5, maxRatio: 5 },
    { processes: 80, onPerSecond: 40, machines: 1, maxRatio: 4 },
    { processes: 80, onPerSecond: 40, machines: 5, maxRatio: 4 },
    { processes: 40, onPerSecond: 40, machines: 5, maxRatio: 5, tellsRemaining: false },
  ])(
    '$processes on $onPerSecond per second on $machines machines, of which one was there first, are served alike within a minute',
    async ({ processes, onPerSecond, machines, maxRatio, tellsRemaining = true }) => {
      const ratios: number[] = []
      for (let seed = 1; seed <= seedsOfMachine; seed++) {
        const world = new World({ limitPerSecond: onPerSecond, tellsRemaining }, seed, machines)
        world.joinAndRead()
        for (let i = 1; i < processes; i++) world.clock.after(2000 + 5000 * world.random(), () => world.joinAndRead())
        ratios.push(await bestToWorst(world, 45, 105))
        await world.runUntil(300)
        expect(world.service.rejected(0, 300)).toBeLessThan(0.1)
        expect(world.service.rejected(60, 300)).toBeLessThan(0.06)
        expect(world.service.utilisation(60, 300)).toBeGreaterThan(0.9)
      }
      console.log(`${processes} on ${onPerSecond}/s, ${machines} machines: ${listed(ratios)}`)
      expect(Math.max(...ratios)).toBeLessThan(maxRatio)
    },
  )

  it.each([
    { processes: 20, onPerSecond: 5 },
    { processes: 40, onPerSecond: 5 },
    { processes: 40, onPerSecond: 5, tellsRemaining: true },
    { processes: 10, onPerSecond: 40 },
    { processes: 40, onPerSecond: 40 },
    { processes: 80, onPerSecond: 40 },
  ])(
    '$processes on $onPerSecond per second take turns: next to no request is refused (headers: $tellsRemaining)',
    async ({ processes, onPerSecond, tellsRemaining = false }) => {
      for (let seed = 1; seed <= seedsOfMachine; seed++) {
        const world = new World({ limitPerSecond: onPerSecond, tellsRemaining }, seed, 1)
        world.seconds = 120
        world.joinWithinASecond(processes)
        expect(await bestToWorst(world, 60, 120)).toBeLessThan(1.6)
        expect(world.service.rejected(60, 120)).toBeLessThan(0.03)
        expect(world.service.utilisation(60, 120)).toBeGreaterThan(0.92)
      }
    },
  )

  it.each([true, false])(
    '40 on 5 per second that begin to log at the same time, long after they know the limit, wait in line (headers: %s)',
    async tellsRemaining => {
      for (let seed = 1; seed <= seedsOfMachine; seed++) {
        const world = new World({ limitPerSecond: 5, tellsRemaining }, seed, 1)
        for (let i = 0; i < 40; i++)
          world.clock.after(1000 * world.random(), () => {
            world.join(1, undefined, 10_000 - world.clock.nowMs + 300 * world.random())
          })
        await world.runUntil(120)
        expect(world.service.rejected(10, 20)).toBeLessThan(0.15)
        expect(world.service.rejected(20, 120)).toBeLessThan(0.02)
        expect(world.service.utilisation(20, 120)).toBeGreaterThan(0.95)
      }
    },
  )

  it.each([
    { processes: 40, onPerSecond: 5, tellsRemaining: true },
    { processes: 40, onPerSecond: 5, tellsRemaining: false },
    { processes: 40, onPerSecond: 10, tellsRemaining: false },
    { processes: 10, onPerSecond: 2, tellsRemaining: true },
  ])(
    '$processes on $onPerSecond per second take turns again after 15 s in which all requests were refused (headers: $tellsRemaining)',
    async ({ processes, onPerSecond, tellsRemaining }) => {
      let utilisation = 0
      for (let seed = 1; seed <= seedsOfMachine; seed++) {
        const world = new World({ limitPerSecond: onPerSecond, tellsRemaining }, seed, 1)
        world.joinWithinASecond(processes)
        world.clock.after(30_000, () => world.service.refuseAllUntil(45_000))
        await world.runUntil(150)
        expect(world.service.rejected(55, 150)).toBeLessThan(0.05)
        utilisation += world.service.utilisation(90, 150) / seedsOfMachine
      }
      expect(utilisation).toBeGreaterThan(0.9)
    },
  )

  it.each([true, false])(
    '80 on 5 per second wait no longer than half a minute, also after a 429, although each has a turn in 16 seconds (headers: %s)',
    async tellsRemaining => {
      for (let seed = 1; seed <= seedsOfMachine; seed++) {
        const world = new World({ limitPerSecond: 5, tellsRemaining }, seed, 1)
        for (let i = 0; i < 80; i++) world.clock.after(1000 * world.random(), () => world.joinAndRead())
        await world.runUntil(240)
        expect(world.service.refused.length).toBeGreaterThan(0)
        expect(Math.max(...world.clients.map(client => client.longestGapMs()))).toBeLessThan(30_000)
        expect(world.service.rejected(60, 240)).toBeLessThan(0.02)
        expect(world.service.utilisation(60, 240)).toBeGreaterThan(0.96)
      }
    },
  )

  it.each([
    { processes: 40, onPerSecond: 5, firstSeconds: 20 },
    { processes: 80, onPerSecond: 10, firstSeconds: 20 },
    { processes: 40, onPerSecond: 40, firstSeconds: 4 },
    { processes: 80, onPerSecond: 40, firstSeconds: 7 },
  ])(
    '$processes that start on $onPerSecond per second wait in line for their first request, and read the license once',
    async ({ processes, onPerSecond, firstSeconds }) => {
      for (const tellsRemaining of [true, false]) {
        for (let seed = 1; seed <= seedsOfMachine; seed++) {
          const world = new World({ limitPerSecond: onPerSecond, tellsRemaining }, seed, 1)
          for (let i = 0; i < processes; i++) world.clock.after(1000 * world.random(), () => world.joinAndRead())
          await world.runUntil(60)
          expect(world.service.rejected(0, 60)).toBeLessThan(0.06)
          expect(world.service.utilisation(0, 60)).toBeGreaterThan(0.92)
          expect(Math.max(...world.clients.map(({ firstWaitMs }) => firstWaitMs))).toBeLessThan(firstSeconds * 1000)
        }
      }
    },
  )

  it.each([
    { processes: 2, from: 40, to: 10 },
    { processes: 10, from: 40, to: 10 },
    { processes: 40, from: 40, to: 10 },
    { processes: 80, from: 40, to: 10 },
    { processes: 40, from: 40, to: 30 },
  ])(
    '$processes on $from per second find a limit of $to within 20 seconds that nothing but 429s tells, and the old one later',
    async ({ processes, from, to }) => {
      const world = new World({ limitPerSecond: from, tellsRemaining: false }, 1, 1)
      world.joinWithinASecond(processes)
      world.clock.after(60_000, () => world.service.setLimit(to))
      world.clock.after(180_000, () => world.service.setLimit(from))
      await world.runUntil(300)
      const { service } = world
      console.log(
        `${processes} on ${from}/s, then ${to}/s: ${[60, 65, 70, 80, 100, 140].map(second => `${(service.rejected(second, second + 5) * 100).toFixed(0)} % after ${second - 60} s`).join(', ')} refused`,
      )
      expect(service.rejected(80, 180)).toBeLessThan(0.1)
      expect(service.utilisation(80, 180, to)).toBeGreaterThan(0.75)
      expect(service.utilisation(240, 300, from)).toBeGreaterThan(0.9)
      expect(service.rejected(180, 300)).toBeLessThan(0.02)
    },
  )

  it.each([
    { processes: 10, onPerSecond: 5 },
    { processes: 10, onPerSecond: 40 },
    { processes: 40, onPerSecond: 40 },
  ])(
    '$processes on $onPerSecond per second find the limit if nothing names one',
    async ({ processes, onPerSecond }) => {
      for (let seed = 1; seed <= seedsOfMachine; seed++) {
        const world = new World({ limitPerSecond: onPerSecond, tellsRemaining: false }, seed, 1)
        for (let i = 0; i < processes; i++) world.clock.after(1000 * world.random(), () => world.joinWithoutLimit())
        await world.runUntil(120)
        expect(world.service.rejected(10, 120)).toBeLessThan(0.1)
        expect(world.service.utilisation(20, 120)).toBeGreaterThan(0.68)
      }
    },
  )

  it.each([true, false])('use the limit again soon after an outage (headers: %s)', async tellsRemaining => {
    const world = new World({ limitPerSecond: 40, tellsRemaining }, 1, 1)
    for (let i = 0; i < 40; i++) world.clock.after(2000 * world.random(), () => world.joinAndRead())
    world.clock.after(30_000, () => world.service.refuseAllUntil(45_000))
    expect(await bestToWorst(world, 75, 135)).toBeLessThan(1.5)
    expect(world.service.utilisation(55, 75)).toBeGreaterThan(0.75)
    expect(world.service.utilisation(75, 135)).toBeGreaterThan(0.9)
  })

  it('leave the rest of the limit to one that wants more, if others want little', async () => {
    const world = new World({ limitPerSecond: 40 }, 1, 1)
    world.joinAndRead()
    for (let i = 0; i < 20; i++) world.clock.after(5000 + 500 * i, () => world.join(1, 0.2))
    await world.runUntil(300)
    expect(world.service.utilisation(60, 300)).toBeGreaterThan(0.78)
  })
})
