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

const seconds = 600
const limitPerSecond = 100

/** A simulated service, and the processes that come and go. */
class World {
  readonly random = randomFrom(1)
  readonly clock = new VirtualClock()
  readonly redis = new SimulatedRedis(this.clock, this.random)
  readonly service: Service
  readonly clients: Client[] = []
  readonly fleets: Fleet[] = []
  readonly troubles: string[] = []
  readonly #hasRedis: boolean

  constructor(settings: Partial<ServiceSettings> = {}, hasRedis = false) {
    this.service = new Service({ limitPerSecond, ...settings })
    this.#hasRedis = hasRedis
  }

  join(share = 1): void {
    const client = new Client(this.clock, this.service, this.random)
    client.pace.setLimit(this.service.limitPerSecond * share)
    this.clients.push(client)
    if (this.#hasRedis) this.#lease(client)
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

  /** From time to time the oldest leaves and a new one joins. */
  renewEvery(ms: number, index = 0): void {
    this.clock.after(ms, () => {
      this.leave(index)
      this.join()
      this.renewEvery(ms, index + 1)
    })
  }

  async run(): Promise<void> {
    if (this.#hasRedis) stubTime(this.clock)
    await this.clock.runUntil(seconds * 1000, this.#hasRedis)
  }

  /** Utilisation from the second minute on, by when those at the start have found their shares. */
  measured(title: string): { rejected: number; utilisation: number; longestGapMs: number } {
    const rejected = this.service.rejected(0, seconds)
    const utilisation = this.service.utilisation(60, seconds)
    const longestGapMs = Math.max(...this.clients.map(client => client.longestGapMs()))
    const percent = (part: number) => `${(part * 100).toFixed(2)} %`
    const gap = `${(longestGapMs / 1000).toFixed(1)} s`
    const served = this.clients.map(client => client.successes)
    const shares = `${Math.min(...served)} to ${Math.max(...served)} served`
    console.log(`${title}: ${percent(rejected)} rejected, ${percent(utilisation)} used, longest wait ${gap}, ${shares}`)
    return { rejected, utilisation, longestGapMs }
  }

  #lease(client: Client): void {
    const fleet = new Fleet({
      redis: this.redis,
      key: 'org',
      limitPerSecond: () => limitPerSecond,
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
    expect(world.service.utilisation(0, seconds)).toBeCloseTo(0.49)
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
    expect(world.service.rejected(0, seconds)).toBeLessThan(0.1)
    expect(world.service.utilisation(400, seconds)).toBeGreaterThan(0.9)
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
  it.each([1, 10, 500])('%d: use the limit, hardly any is rejected, none waits', async processes => {
    const world = new World({}, true)
    world.joinWithinASecond(processes)
    await world.run()
    const { rejected, utilisation, longestGapMs } = world.measured(`${processes} with leases`)
    expect(rejected).toBeLessThan(0.01)
    expect(utilisation).toBeGreaterThan(0.9)
    expect(longestGapMs).toBeLessThan(30_000)
    expect(world.redis.calls / processes).toBeLessThanOrEqual(seconds / 5 + 1)
  })

  it('500, one of which is another every two seconds', async () => {
    const world = new World({}, true)
    world.joinWithinASecond(500)
    world.renewEvery(2000, 10)
    await world.run()
    const { rejected, utilisation, longestGapMs } = world.measured('500 with leases, one renewed every 2 s')
    expect(rejected).toBeLessThan(0.01)
    expect(utilisation).toBeGreaterThan(0.9)
    expect(longestGapMs).toBeLessThan(30_000)
  })

  it('500, without Redis for a minute, which then has forgotten everything', async () => {
    const world = new World({}, true)
    world.joinWithinASecond(500)
    world.clock.after(270_000, () => {
      world.redis.state = 'hanging'
    })
    world.clock.after(300_000, () => {
      world.redis.state = 'refusing'
    })
    world.clock.after(330_000, () => {
      world.redis.state = 'there'
      world.redis.forget()
    })
    await world.run()
    const { rejected, utilisation, longestGapMs } = world.measured('500 with leases, Redis away for 60 s')
    expect(rejected).toBeLessThan(0.01)
    expect(utilisation).toBeGreaterThan(0.9)
    expect(longestGapMs).toBeLessThan(30_000)
    expect(world.troubles).toHaveLength(500)
  })

  it('10, whose Redis was never there, find their shares by themselves', async () => {
    const world = new World({}, true)
    world.redis.state = 'refusing'
    world.joinWithinASecond(10)
    await world.run()
    const { rejected, utilisation } = world.measured('10 with leases, but no Redis')
    expect(rejected).toBeLessThan(0.1)
    expect(utilisation).toBeGreaterThan(0.9)
  })
})
