/**
 * What the pace and the fleet are for, at the sizes they are for: up to 500 processes with all the backlog they could
 * want, for ten minutes, on a licence of 100 requests per second. Prints what it measured.
 */
import { afterEach, describe, expect, it, vi } from 'vitest'
import { Fleet } from '../../src/org/fleet.ts'
import {
  Client,
  fixedWindow,
  randomFrom,
  Service,
  type ServiceSettings,
  stubTime,
  tokenBucket,
  VirtualClock,
} from './simulation.ts'
import { SimulatedRedis } from './simulation-redis.ts'

vi.mock('../../src/time.ts', () => import('../support/time-of-globals.ts'))

const limitPerSecond = 100
/** Processes that do not talk to each other take longer to find their shares. */
const secondsAlone = 600
const secondsWithRedis = 200

/** A simulated service, and the processes that come and go. */
class World {
  readonly random = randomFrom(1)
  readonly clock = new VirtualClock()
  readonly service: Service
  readonly clients: Client[] = []
  readonly fleets: Fleet[] = []
  readonly troubles: string[] = []
  readonly #dead = new Set<number>()
  #redis: SimulatedRedis | undefined

  constructor(settings: Partial<ServiceSettings> = {}) {
    this.service = new Service({ limitPerSecond, ...settings })
  }

  static async withRedis(settings: Partial<ServiceSettings> = {}): Promise<World> {
    const world = new World(settings)
    world.#redis = await SimulatedRedis.start(world.clock, world.random)
    return world
  }

  get redis(): SimulatedRedis {
    return this.#redis as SimulatedRedis
  }

  get seconds(): number {
    return this.#redis === undefined ? secondsAlone : secondsWithRedis
  }

  /** @param demandPerSecond requests that it could use; more than there is, unless told */
  join(share = 1, demandPerSecond = Number.POSITIVE_INFINITY): void {
    const client = new Client(this.clock, this.service, this.random, demandPerSecond)
    client.pace.setLimit(this.service.limitPerSecond * share)
    this.clients.push(client)
    if (this.#redis !== undefined) this.#lease(client, this.#redis)
    client.pump()
  }

  joinWithinASecond(processes: number): void {
    for (let i = 0; i < processes; i++) this.clock.after(1000 * this.random(), () => this.join())
  }

  /** @param index of the process, in the order in which they joined */
  leave(index: number): void {
    this.clients[index]?.stop()
    void this.fleets[index]?.close()
  }

  /** From then on nothing is heard of it. */
  kill(index: number): void {
    this.clients[index]?.stop()
    this.#dead.add(index)
  }

  /** From time to time the oldest leaves and a new one joins. */
  renewEvery(ms: number, index = 0, end: 'left' | 'killed' = 'left'): void {
    this.clock.after(ms, () => {
      if (end === 'left') this.leave(index)
      else this.kill(index)
      this.join()
      this.renewEvery(ms, index + 1, end)
    })
  }

  async run(): Promise<void> {
    if (this.#redis !== undefined) stubTime(this.clock)
    await this.clock.runUntil(this.seconds * 1000, this.#redis !== undefined)
  }

  /** Utilisation from the second minute on, by when those at the start have found their shares. */
  measured(title: string): { rejected: number; utilisation: number; longestGapMs: number } {
    const rejected = this.service.rejected(0, this.seconds)
    const utilisation = this.service.utilisation(60, this.seconds)
    const longestGapMs = Math.max(...this.clients.map(client => client.longestGapMs()))
    const percent = (part: number) => `${(part * 100).toFixed(2)} %`
    const gap = `${(longestGapMs / 1000).toFixed(1)} s`
    const served = this.clients.map(client => client.successes)
    const shares = `${Math.min(...served)} to ${Math.max(...served)} served`
    console.log(`${title}: ${percent(rejected)} rejected, ${percent(utilisation)} used, longest wait ${gap}, ${shares}`)
    return { rejected, utilisation, longestGapMs }
  }

  #lease(client: Client, redis: SimulatedRedis): void {
    const index = this.fleets.length
    const fleet = new Fleet({
      redis: {
        call: () => redis.call(),
        eval: (...given: Parameters<SimulatedRedis['eval']>) =>
          this.#dead.has(index) ? new Promise(() => {}) : redis.eval(...given),
      },
      key: 'org',
      limitPerSecond: () => this.service.licensePerSecond,
      headerLimit: () => client.pace.headerLimit,
      demand: nowMs => client.demand.look(nowMs),
      isWaiting: () => client.isWaiting,
      onLease: lease => {
        client.pace.setLease(lease)
        client.pump()
      },
      onTrouble: message => this.troubles.push(message),
      random: this.random,
    })
    this.fleets.push(fleet)
    fleet.start()
  }
}

afterEach(() => {
  vi.unstubAllGlobals()
})

describe('one process', () => {
  it.each([fixedWindow, tokenBucket])('uses a limit of 5 a second from the first second on: $name', async limiter => {
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

describe('processes that do not talk to each other', () => {
  it.each([2, 10, 50, 500])('%d: use the limit, few are rejected, none starves', async processes => {
    const world = new World()
    world.joinWithinASecond(processes)
    await world.run()
    const { rejected, utilisation, longestGapMs } = world.measured(`${processes} by themselves`)
    expect(rejected).toBeLessThan(0.1)
    expect(utilisation).toBeGreaterThan(0.9)
    expect(longestGapMs).toBeLessThan(120_000)
  })

  it.each([
    [2, tokenBucket, true],
    [10, tokenBucket, true],
    [500, tokenBucket, true],
    [10, fixedWindow, false],
    [500, fixedWindow, false],
  ])('%d: the same at another limiter, or without headers', async (processes, limiter, tellsRemaining) => {
    const world = new World({ limiter, tellsRemaining })
    world.joinWithinASecond(processes)
    await world.run()
    const title = `${processes} by themselves, ${limiter.name}${tellsRemaining ? '' : ', no headers'}`
    const { rejected, utilisation, longestGapMs } = world.measured(title)
    expect(rejected).toBeLessThan(0.1)
    expect(utilisation).toBeGreaterThan(0.9)
    expect(longestGapMs).toBeLessThan(120_000)
  })

  it.each([2, 10, 500])('%d: the same where 429s do not say how long to wait', async processes => {
    const world = new World({ retryAfterMs: undefined })
    world.joinWithinASecond(processes)
    await world.run()
    const { rejected, utilisation, longestGapMs } = world.measured(`${processes} by themselves, no Retry-After`)
    expect(rejected).toBeLessThan(0.1)
    expect(utilisation).toBeGreaterThan(0.9)
    expect(longestGapMs).toBeLessThan(120_000)
  })

  it.each([1, 9])('one with half a share among %d others', async others => {
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
    [500, 250],
  ])('%d, of which %d leave: the others take what becomes free', async (processes, leave) => {
    const world = new World()
    world.joinWithinASecond(processes)
    world.clock.after(200_000, () => {
      for (let i = 0; i < leave; i++) world.leave(i)
    })
    await world.run()
    world.measured(`${processes}, of which ${leave} leave, by themselves`)
    expect(world.service.rejected(0, world.seconds)).toBeLessThan(0.1)
    expect(world.service.utilisation(400, world.seconds)).toBeGreaterThan(0.9)
  })

  it.each([
    [10, 60_000],
    [500, 10_000],
  ])('%d, one of which is another every %d ms', async (processes, everyMs) => {
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

describe('processes that lease their shares', () => {
  it.each([
    [1, 100],
    [10, 100],
    [40, 1000],
    [500, 100],
    [80, 5],
  ])('%d on %d a second: use the limit, hardly any is rejected, none waits', async (processes, limitPerSecond) => {
    const world = await World.withRedis({ limitPerSecond })
    world.joinWithinASecond(processes)
    await world.run()
    const { rejected, utilisation, longestGapMs } = world.measured(`${processes} with leases on ${limitPerSecond}/s`)
    expect(rejected).toBeLessThan(0.01)
    expect(utilisation).toBeGreaterThan(0.95)
    expect(longestGapMs).toBeLessThan(30_000)
    // Once a second at the start, then once in a lease.
    expect(world.redis.calls / processes).toBeLessThanOrEqual(world.seconds / 5 + 10)
  })

  it('500, one of which is another every two seconds', async () => {
    const world = await World.withRedis()
    world.joinWithinASecond(500)
    world.renewEvery(2000, 10)
    await world.run()
    const { rejected, utilisation, longestGapMs } = world.measured('500 with leases, one renewed every 2 s')
    expect(rejected).toBeLessThan(0.01)
    expect(utilisation).toBeGreaterThan(0.9)
    expect(longestGapMs).toBeLessThan(30_000)
  })

  it.each([750, 5000])(
    '40, one of which is killed and replaced every %d ms, use what the dead have held',
    async everyMs => {
      const world = await World.withRedis({ limitPerSecond: 40 })
      world.joinWithinASecond(40)
      world.renewEvery(everyMs, 0, 'killed')
      await world.run()
      const { rejected, utilisation, longestGapMs } = world.measured(`40 with leases, one killed every ${everyMs} ms`)
      expect(rejected).toBeLessThan(0.01)
      expect(utilisation).toBeGreaterThan(0.9)
      expect(longestGapMs).toBeLessThan(30_000)
    },
  )

  it('40, of which five need all that the others do not use', async () => {
    const world = await World.withRedis({ limitPerSecond: 40 })
    for (let i = 0; i < 40; i++) world.join(1, i < 5 ? undefined : 0.4)
    await world.run()
    const { rejected, utilisation } = world.measured('40 with leases, of which 5 are heavy')
    expect(rejected).toBeLessThan(0.01)
    expect(utilisation).toBeGreaterThan(0.9)
    const served = world.clients.map(client => client.successes / world.seconds)
    expect(Math.min(...served.slice(0, 5))).toBeGreaterThan(3)
    expect(Math.min(...served.slice(5))).toBeGreaterThan(0.15)
  })

  it.each([5, 40])(
    'one that joins twenty others on %d a second has its first request within three seconds',
    async limit => {
      const world = await World.withRedis({ limitPerSecond: limit })
      world.joinWithinASecond(20)
      for (let second = 100; second < 180; second += 10) world.clock.after(second * 1000, () => world.join())
      await world.run()
      for (const { startedMs, startsMs } of world.clients.slice(20)) {
        expect((startsMs[0] ?? Number.POSITIVE_INFINITY) - startedMs).toBeLessThan(3000)
      }
      expect(world.measured(`one joins twenty with leases on ${limit}/s`).rejected).toBeLessThan(0.01)
    },
  )

  it('40 follow a limit that only the headers of answers tell, within two leases', async () => {
    const world = await World.withRedis({ limitPerSecond: 40 })
    world.joinWithinASecond(40)
    world.clock.after(60_000, () => world.service.setLimit(10))
    world.clock.after(120_000, () => world.service.setLimit(40))
    await world.run()
    const { service } = world
    world.measured('40 with leases, limit 40, 10, 40')
    expect(service.rejected(70, 120)).toBeLessThan(0.01)
    expect(service.utilisation(80, 120, 10)).toBeGreaterThan(0.9)
    expect(service.utilisation(135, world.seconds, 40)).toBeGreaterThan(0.9)
  })

  it.each(['hanging', 'refusing'] as const)(
    '500, whose Redis is %s for a minute, and has then forgotten everything',
    async state => {
      const world = await World.withRedis()
      world.joinWithinASecond(500)
      world.clock.after(60_000, () => {
        world.redis.state = state
      })
      world.clock.after(120_000, () => {
        world.redis.state = 'there'
        world.redis.forget()
      })
      await world.run()
      const { rejected, utilisation, longestGapMs } = world.measured(`500 with leases, Redis ${state} for 60 s`)
      expect(rejected).toBeLessThan(0.01)
      expect(utilisation).toBeGreaterThan(0.9)
      expect(longestGapMs).toBeLessThan(30_000)
      expect(world.troubles).toHaveLength(500)
    },
  )

  it.each([2000, 8000])('40, whose Redis hangs for %d ms, and remembers', async awayMs => {
    const world = await World.withRedis({ limitPerSecond: 40 })
    world.joinWithinASecond(40)
    for (let second = 40; second < 160; second += 40) {
      world.clock.after(second * 1000, () => {
        world.redis.state = 'hanging'
      })
      world.clock.after(second * 1000 + awayMs, () => {
        world.redis.state = 'there'
      })
    }
    await world.run()
    const { rejected, utilisation } = world.measured(`40 with leases, Redis away for ${awayMs} ms`)
    expect(rejected).toBeLessThan(0.01)
    expect(utilisation).toBeGreaterThan(0.9)
  })

  it('10, whose Redis was never there, find their shares by themselves', async () => {
    const world = await World.withRedis()
    world.redis.state = 'refusing'
    world.joinWithinASecond(10)
    await world.run()
    const { rejected, utilisation } = world.measured('10 with leases, but no Redis')
    expect(rejected).toBeLessThan(0.1)
    expect(utilisation).toBeGreaterThan(0.9)
  })
})
