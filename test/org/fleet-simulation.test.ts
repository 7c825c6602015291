/**
 * The fleet: processes that come, go and die, on licenses of 5 to 1,000 requests per second. `npm run soak` simulates
 * its full scale, up to 500 processes. Lua runs the script for Redis. Prints its measurements.
 */
import { afterEach, describe, expect, it, vi } from 'vitest'
import { isSoak } from '../support/soak-runs.ts'
import { World } from './simulated-world.ts'

vi.mock('../../src/time.ts', () => import('../support/time-of-globals.ts'))

/** The work of Redis for 500 processes takes a while here, and longer beside other tests. */
vi.setConfig({ testTimeout: isSoak ? 3_600_000 : 60_000 })
const secondsOfMany = 40

const shortScale: [number, number][] = [
  [4, 1],
  [40, 5],
]
const fullScale: [number, number][] = [
  [4, 1],
  [7, 2],
  [40, 1000],
  [80, 5],
  [500, 100],
]

afterEach(() => {
  vi.unstubAllGlobals()
})

describe('processes that lease their shares', () => {
  it.each<[processes: number, limitPerSecond: number]>([[1, 100], [10, 100], ...(isSoak ? fullScale : shortScale)])(
    '%d on %d per second: use the limit, few requests are rejected, no process waits',
    async (processes, limitPerSecond) => {
      const isMany = processes === 500 || limitPerSecond === 1000
      const world = await World.withRedis({ limitPerSecond }, isMany ? secondsOfMany : undefined)
      world.joinWithinASecond(processes)
      await world.run()
      const { rejected, utilisation, longestGapMs } = world.measured(`${processes} with leases on ${limitPerSecond}/s`)
      expect(rejected).toBeLessThan(0.01)
      expect(utilisation).toBeGreaterThan(0.94)
      expect(longestGapMs).toBeLessThan(30_000)
      // Once a second at the start, then once in a lease.
      expect(world.redis.calls / processes).toBeLessThanOrEqual(world.seconds / 5 + 10)
    },
  )

  it.each<[processes: number, withinMs: number, limitPerSecond: number, maxSeconds: number]>([
    [40, 1000, 40, 1],
    [40, 5000, 40, 1.5],
    [80, 1000, 40, 1.5],
    [80, 3000, 40, 2.5],
    [80, 8000, 40, 3],
    [10, 1000, 5, 2],
  ])(
    '%d that start within %d ms on %d per second have their first requests accepted within %d seconds, or soon after a 429',
    async (processes, withinMs, limitPerSecond, maxSeconds) => {
      const waits: number[] = []
      for (let run = 0; run < (isSoak ? 12 : 2); run++) {
        const world = await World.withRedis({ limitPerSecond }, 20)
        for (let n = 0; n < run; n++) world.random() // another run each time
        for (let n = 0; n < processes; n++) world.clock.after(withinMs * world.random(), () => world.join())
        await world.run()
        waits.push(...world.clients.map(({ firstWaitMs }) => firstWaitMs))
        expect(world.service.rejected(0, 20)).toBeLessThan(0.01)
        vi.unstubAllGlobals()
      }
      console.log(
        `${processes} that start within ${withinMs} ms on ${limitPerSecond}/s wait for the first accepted request: ${listedMs(waits)} (median, 99 %, maximum)`,
      )
      expect(quantile(waits, 0.99)).toBeLessThan(maxSeconds * 1000)
      expect(Math.max(...waits)).toBeLessThan(5000)
    },
  )

  it.each<[processes: number, aheadMs: number, maxRejected: number]>([
    [80, 0, 0.01],
    [40, 0, 0.01],
    [80, -3_600_000, 0.12],
  ])(
    '%d that start within a second on a busy machine, so that their calls to Redis are late, whose clock is ahead by %d ms',
    async (processes, aheadMs, maxRejected) => {
      const world = await World.withRedis({ limitPerSecond: 40 }, 15)
      world.redis.aheadMs -= aheadMs
      world.callsAreLateMs = 900
      world.clock.after(4000, () => {
        world.callsAreLateMs = 0
      })
      world.joinWithinASecond(processes)
      await world.run()
      const waits = world.clients.map(({ firstWaitMs }) => firstWaitMs)
      console.log(
        `${processes} that start on a busy machine wait for ${listedMs(waits)} (median, 99 %, maximum); ` +
          `${(world.service.rejected(0, 10) * 100).toFixed(1)} % rejected`,
      )
      expect(quantile(waits, 0.5)).toBeLessThan(1500)
      expect(world.service.rejected(0, 10)).toBeLessThan(maxRejected)
      expect(world.service.utilisation(2, 12)).toBeGreaterThan(0.9)
      expect(world.redis.calls / processes).toBeLessThan(9)
    },
  )

  it.each(isSoak ? [200] : [40])('%d, one of which is replaced every two seconds', async processes => {
    const world = await World.withRedis({}, secondsOfMany)
    world.joinWithinASecond(processes)
    world.renewEvery(2000, 10)
    await world.run()
    const { rejected, utilisation, longestGapMs } = world.measured(`${processes} with leases, one renewed every 2 s`)
    expect(rejected).toBeLessThan(0.01)
    expect(utilisation).toBeGreaterThan(0.9)
    expect(longestGapMs).toBeLessThan(30_000)
  })

  it.each([
    [20, 20, 5],
    [80, 40, 20],
  ])('%d that %d others join on %d per second leave no slot to two processes', async (processes, more, limit) => {
    const world = await World.withRedis({ limitPerSecond: limit }, 70)
    world.joinWithinASecond(processes)
    world.clock.after(40_000, () => world.joinWithinASecond(more))
    await world.run()
    const waits = world.clients.slice(processes).map(({ firstWaitMs }) => firstWaitMs)
    console.log(`${more} join ${processes} on ${limit}/s: they wait for ${listedMs(waits)} (median, 99 %, maximum)`)
    expect(world.service.rejected(40, 70)).toBeLessThan(0.005)
    expect(world.service.utilisation(40, 70)).toBeGreaterThan(0.9)
    expect(Math.max(...waits)).toBeLessThan(15_000)
  })

  it.each([
    [3, 40, 1500],
    [10, 40, 2000],
    [40, 40, 4500],
    [20, 80, 2500],
  ])(
    '%d that join %d busy ones on 40 per second wait for slots that no process was promised',
    async (more, busy, maxMs) => {
      const waits: number[] = []
      for (let run = 0; run < (isSoak ? 12 : 2); run++) {
        const world = await World.withRedis({ limitPerSecond: 40 }, 60)
        for (let n = 0; n < run; n++) world.random() // another run each time
        world.joinWithinASecond(busy)
        world.clock.after(40_000, () => world.joinWithinASecond(more))
        await world.run()
        waits.push(...world.clients.slice(busy).map(({ firstWaitMs }) => firstWaitMs))
        expect(world.service.rejected(30, 60)).toBeLessThan(0.01)
        expect(world.service.utilisation(30, 60)).toBeGreaterThan(0.94)
        vi.unstubAllGlobals()
      }
      console.log(`${more} join ${busy} on 40/s: they wait for ${listedMs(waits)} (median, 99 %, maximum)`)
      expect(quantile(waits, 0.95)).toBeLessThan(maxMs)
    },
  )

  it('80 on 40 per second, all of which are replaced within 20 seconds, as in a deployment', async () => {
    const world = await World.withRedis({ limitPerSecond: 40 }, 60)
    world.joinWithinASecond(80)
    for (let n = 0; n < 80; n++) {
      world.clock.after(30_000 + 250 * n, () => {
        world.leave(n)
        world.join()
      })
    }
    await world.run()
    const waits = world.clients.slice(80).map(({ firstWaitMs }) => firstWaitMs)
    console.log(`80 replaced on 40/s: newcomers wait for ${listedMs(waits)} (median, 99 %, maximum)`)
    expect(quantile(waits, 0.5)).toBeLessThan(1500)
    expect(quantile(waits, 0.98)).toBeLessThan(3000)
    expect(Math.max(...waits)).toBeLessThan(5000)
    expect(world.service.rejected(30, 50)).toBeLessThan(0.01)
    expect(world.service.utilisation(30, 50)).toBeGreaterThan(0.95)
  })

  it.each([
    ['left', 40, 4],
    ['killed', 40, 0],
    ['killed', 40, 12],
    ['killed', 80, 6],
  ] as const)(
    'that have all %s, %d of them, leave the limit to as many that start %d s later',
    async (end, processes, pauseSeconds) => {
      const startSecond = 30 + pauseSeconds
      const world = await World.withRedis({ limitPerSecond: 40 }, startSecond + 20)
      world.joinWithinASecond(processes)
      world.clock.after(30_000, () => {
        for (let n = 0; n < processes; n++) {
          if (end === 'left') world.leave(n)
          else world.kill(n)
        }
      })
      world.clock.after(startSecond * 1000, () => world.joinWithinASecond(processes))
      await world.run()
      const waits = world.clients.slice(processes).map(({ firstWaitMs }) => firstWaitMs)
      console.log(
        `${processes} ${end}, ${pauseSeconds} s: the next ones wait for ${listedMs(waits)} (median, 99 %, maximum)`,
      )
      expect(quantile(waits, 0.5)).toBeLessThan(2500)
      expect(Math.max(...waits)).toBeLessThan(5000)
      expect(world.service.rejected(startSecond, startSecond + 20)).toBeLessThan(0.01)
      expect(world.service.utilisation(startSecond + 4, startSecond + 20)).toBeGreaterThan(0.9)
    },
  )

  it.each(isSoak ? [750, 5000] : [750])(
    '40, one of which is killed and replaced every %d ms, use the slots of killed processes',
    async everyMs => {
      const world = await World.withRedis({ limitPerSecond: 40 }, 80)
      world.joinWithinASecond(40)
      world.renewEvery(everyMs, 0, 'killed')
      await world.run()
      const { rejected, utilisation, longestGapMs } = world.measured(`40 with leases, one killed every ${everyMs} ms`)
      expect(rejected).toBeLessThan(0.01)
      expect(utilisation).toBeGreaterThan(0.9)
      expect(longestGapMs).toBeLessThan(30_000)
    },
  )

  it.each(isSoak ? [600, 200] : [200])(
    '40, beside which one crashes and starts again every %d ms, use the limit after a minute of that',
    async everyMs => {
      const world = await World.withRedis({ limitPerSecond: 40 }, 120)
      world.joinWithinASecond(40)
      const start = (): void => {
        world.join()
        const index = world.clients.length - 1
        world.clock.after(everyMs * 0.9, () => world.kill(index))
        world.clock.after(everyMs, start)
      }
      world.clock.after(20_000, start)
      await world.run()
      world.measured(`40 with leases, and one that crashes every ${everyMs} ms`)
      expect(world.service.rejected(20, 120)).toBeLessThan(0.01)
      expect(world.service.utilisation(85, 120)).toBeGreaterThan(0.91)
    },
  )

  it('40, of which five use the slots that the others do not need', async () => {
    const world = await World.withRedis({ limitPerSecond: 40 })
    for (let i = 0; i < 40; i++) world.join(1, i < 5 ? undefined : 0.4)
    await world.run()
    const { rejected, utilisation } = world.measured('40 with leases, of which 5 are heavy')
    expect(rejected).toBeLessThan(0.01)
    expect(utilisation).toBeGreaterThan(0.9)
    const served = world.clients.map(client => client.successes / world.seconds)
    expect(Math.min(...served.slice(0, 5))).toBeGreaterThan(3)
    expect(Math.min(...served.slice(5))).toBeGreaterThan(0.06)
  })

  it.each<[busy: number, rare: number, limitPerSecond: number]>(
    isSoak
      ? [
          [5, 35, 40],
          [10, 70, 40],
          [2, 38, 20],
        ]
      : [[5, 35, 40]],
  )(
    '%d busy ones leave slots to %d that rarely send, which wait for a second or two',
    async (busy, rare, limitPerSecond) => {
      const world = await World.withRedis({ limitPerSecond }, 90)
      for (let i = 0; i < busy + rare; i++) {
        world.clock.after(5000 * world.random(), () => world.join(1, i < busy ? undefined : 0.25))
      }
      await world.run()
      const { rejected, utilisation } = world.measured(
        `${busy} busy and ${rare} rare ones with leases on ${limitPerSecond}/s`,
      )
      expect(rejected).toBeLessThan(0.01)
      expect(utilisation).toBeGreaterThan(0.9)
      const waits = world.clients.filter(({ isHeavy }) => !isHeavy).map(({ waitsMs }) => waitsMs)
      const first = waits.map(([firstMs]) => firstMs as number)
      const later = waits.flatMap(([, ...laterMs]) => laterMs)
      console.log(
        `rare ones wait for ${listedMs(first)} at first, and for ${listedMs(later)} later (median, 99 %, maximum)`,
      )
      expect(quantile(first, 0.99)).toBeLessThan(6000)
      expect(quantile(later, 0.5)).toBeLessThan(1200)
      expect(quantile(later, 0.99)).toBeLessThan(2500)
    },
  )

  it('leave the rare ones to the answers of the service while Redis is away', async () => {
    const world = await World.withRedis({ limitPerSecond: 40 }, 130)
    for (let i = 0; i < 40; i++) world.clock.after(5000 * world.random(), () => world.join(1, i < 5 ? undefined : 0.25))
    world.clock.after(40_000, () => {
      world.redis.state = 'refusing'
    })
    world.clock.after(80_000, () => {
      world.redis.state = 'there'
      world.redis.forget()
    })
    await world.run()
    const { rejected } = world.measured('5 busy and 35 rare ones with leases on 40/s, Redis away for 40 s')
    expect(rejected).toBeLessThan(0.02)
    const waits = world.clients
      .filter(({ isHeavy }) => !isHeavy)
      .flatMap(({ startsMs, waitsMs }) => waitsMs.filter((_, request) => (startsMs[request] as number) > 40_000))
    expect(quantile(waits, 0.99)).toBeLessThan(2500)
  })

  it.each([
    [20, 5, 3.5],
    [40, 5, 3.5],
    [58, 5, 3.5],
    [80, 5, 3.5],
    [80, 20, 2],
    [20, 40, 1.5],
  ])(
    'one that joins %d others on %d per second makes its first request within %d seconds',
    async (processes, limit, seconds) => {
      const world = await World.withRedis({ limitPerSecond: limit })
      world.joinWithinASecond(processes)
      for (let second = 40; second < 110; second += 10) world.clock.after(second * 1000, () => world.join())
      await world.run()
      for (const { startedMs, startsMs } of world.clients.slice(processes)) {
        expect((startsMs[0] ?? Number.POSITIVE_INFINITY) - startedMs).toBeLessThan(seconds * 1000)
      }
      const { rejected, utilisation, longestGapMs } = world.measured(`one joins ${processes} with leases on ${limit}/s`)
      expect(rejected).toBeLessThan(0.01)
      expect(utilisation).toBeGreaterThan(0.95)
      expect(longestGapMs).toBeLessThan(30_000)
    },
  )

  it('300 whose free places are next to no others use the whole limit', async () => {
    const world = await World.withRedis({ limitPerSecond: 40 }, 30)
    world.joinWithinASecond(300)
    await world.run()
    const { rejected, utilisation } = world.measured('300 with leases on 40/s')
    expect(rejected).toBeLessThan(0.01)
    expect(utilisation).toBeGreaterThan(0.94)
  })

  it.each(isSoak ? [0.55, 0.8] : [0.8])(
    '40 that need %d requests a second each on 40 wait for a slot and a second, rarely longer',
    async demand => {
      const world = await World.withRedis({ limitPerSecond: 40 })
      world.joinWithinASecond(40, demand)
      await world.run()
      world.measured(`40 with leases on 40/s that need ${demand}/s each`)
      const settledMs = 30_000
      const waits = world.clients.flatMap(({ startsMs, waitsMs }) =>
        waitsMs.filter((_, request) => (startsMs[request] as number) > settledMs),
      )
      waits.sort((one, other) => one - other)
      expect(waits.length).toBeGreaterThan(1000)
      expect(waits[Math.floor(waits.length * 0.99)]).toBeLessThan(2000)
      expect(waits.at(-1)).toBeLessThan(3000)
    },
  )

  it.each([
    [40, 40, 0.01],
    [5, 40, 0.01],
    [20, 200, 0.01],
    [40, 10, 0.017],
  ])('%d on %d per second, whose timers are late by 20 to 200 ms', async (processes, limitPerSecond, maxRejected) => {
    const world = await World.withRedis({ limitPerSecond })
    world.joinWithinASecond(processes)
    world.clock.after(1500, () => {
      for (const client of world.clients) client.timersAreLateMs = [20, 200]
    })
    await world.run()
    const { rejected, utilisation } = world.measured(`${processes} with late timers on ${limitPerSecond}/s`)
    expect(rejected).toBeLessThan(maxRejected)
    expect(utilisation).toBeGreaterThan(0.9)
  })

  it.each([40, 80])(
    '%d of which half are blocked again and again miss turns, and none waits for long',
    async processes => {
      const world = await World.withRedis({ limitPerSecond: 5 }, isSoak ? 600 : 160)
      world.joinWithinASecond(processes)
      world.clock.after(1500, () => {
        for (const client of world.clients.slice(processes / 2)) client.blockEverySecond(100, 400)
      })
      await world.run()
      const { rejected, utilisation, longestGapMs } = world.measured(`${processes}, half of them blocked, on 5/s`)
      expect(rejected).toBeLessThan(0.01)
      expect(utilisation).toBeGreaterThan(0.9)
      expect(longestGapMs).toBeLessThan(processes === 40 ? 18_000 : 30_000)
      expect(world.redis.calls / processes).toBeLessThan(0.25 * world.seconds)
    },
  )

  it('40 follow a limit that only headers name, within two leases', async () => {
    const world = await World.withRedis({ limitPerSecond: 40 })
    world.joinWithinASecond(40)
    world.clock.after(30_000, () => world.service.setLimit(10))
    world.clock.after(75_000, () => world.service.setLimit(40))
    await world.run()
    const { service } = world
    world.measured('40 with leases, limit 40, 10, 40')
    expect(service.rejected(40, 75)).toBeLessThan(0.01)
    expect(service.utilisation(45, 75, 10)).toBeGreaterThan(0.9)
    expect(service.utilisation(90, world.seconds, 40)).toBeGreaterThan(0.9)
  })

  it.each([4, 9, 11])(
    '40 of which one reads the license while the limit is lowered: none waits for long (%d)',
    async reader => {
      const world = await World.withRedis({ limitPerSecond: 40 }, 90)
      world.joinWithinASecond(40)
      world.readEvery(10_000, reader)
      world.clock.after(25_000 + 120 * reader, () => world.service.setLimit(10))
      await world.run()
      const { longestGapMs } = world.measured(`40 with leases, limit 40, 10, process ${reader} reads the license`)
      expect(longestGapMs).toBeLessThan(20_000)
      expect(world.service.rejected(40, 90)).toBeLessThan(0.015)
    },
  )

  it.each([
    ['hanging', isSoak ? 50 : 20],
    ['refusing', isSoak ? 100 : 20],
  ] as const)('whose Redis is %s for 40 s and comes back empty use the limit: %d', async (state, processes) => {
    const world = await World.withRedis()
    world.joinWithinASecond(processes)
    world.clock.after(40_000, () => {
      world.redis.state = state
    })
    world.clock.after(80_000, () => {
      world.redis.state = 'there'
      world.redis.forget()
    })
    await world.run()
    const { rejected, utilisation, longestGapMs } = world.measured(`${processes} with leases, Redis ${state} for 40 s`)
    expect(rejected).toBeLessThan(0.01)
    expect(utilisation).toBeGreaterThan(0.9)
    expect(longestGapMs).toBeLessThan(40_000)
    expect(world.troubles).toHaveLength(processes)
  })

  it('40 on 10 per second, whose Redis is away for 20 s and comes back empty, use the slots of no process meanwhile', async () => {
    const world = await World.withRedis({ limitPerSecond: 10 }, 90)
    world.joinWithinASecond(40)
    world.clock.after(30_000, () => {
      world.redis.state = 'refusing'
    })
    world.clock.after(50_000, () => {
      world.redis.state = 'there'
      world.redis.forget()
    })
    await world.run()
    const { rejected, longestGapMs } = world.measured('40 with leases on 10/s, Redis away for 20 s')
    expect(rejected).toBeLessThan(0.01)
    expect(world.service.utilisation(30, 75)).toBeGreaterThan(0.9)
    expect(longestGapMs).toBeLessThan(15_000)
  })

  it.each([
    [40, 2000, 'and keeps its data'],
    [40, 8000, 'and keeps its data'],
    [80, 20_000, 'and keeps its data'],
    [40, 4000, 'and comes back empty'],
  ])('%d, whose Redis hangs for %d ms %s', async (processes, awayMs, how) => {
    const world = await World.withRedis({ limitPerSecond: 40 })
    world.joinWithinASecond(processes)
    for (let second = 30; second < 120; second += 30) {
      world.clock.after(second * 1000, () => {
        world.redis.state = 'hanging'
        if (how.endsWith('empty')) world.redis.forget()
      })
      world.clock.after(second * 1000 + awayMs, () => {
        world.redis.state = 'there'
      })
    }
    await world.run()
    const { rejected, utilisation } = world.measured(`${processes} with leases, Redis away for ${awayMs} ms ${how}`)
    expect(rejected).toBeLessThan(0.005)
    expect(utilisation).toBeGreaterThan(0.94)
  })

  it('10 without a reachable Redis find their shares by themselves', async () => {
    const world = await World.withRedis()
    world.redis.state = 'refusing'
    world.joinWithinASecond(10)
    await world.run()
    const { rejected, utilisation } = world.measured('10 with leases, but no Redis')
    expect(rejected).toBeLessThan(0.1)
    expect(utilisation).toBeGreaterThan(0.9)
  })
})

function quantile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((one, other) => one - other)
  return sorted[Math.min(Math.floor(sorted.length * part), sorted.length - 1)] as number
}

function listedMs(values: readonly number[]): string {
  return `${[0.5, 0.99, 1].map(part => Math.round(quantile(values, part))).join(', ')} ms`
}
