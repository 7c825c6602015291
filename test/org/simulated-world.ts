import { vi } from 'vitest'
import { rarePerSecond } from '../../src/delivery/demand.ts'
import { RateAgreement, rateOfNewcomer } from '../../src/delivery/rate-agreement.ts'
import type { SharedRate } from '../../src/delivery/rate-limiter.ts'
import { Fleet } from '../../src/org/fleet.ts'
import { isSoak } from '../support/soak-runs.ts'
import { Client, randomFrom, Service, type ServiceSettings, stubTime, VirtualClock } from './simulation.ts'
import { SimulatedRedis } from './simulation-redis.ts'

const limitPerSecond = 100
const exchangeMs = 2000
const firstExchangeMs = 300
/** Processes that do not talk to each other take longer to find their shares. */
const secondsAlone = isSoak ? 600 : 300
const secondsWithRedis = 120

/** A simulated service, and processes that come and go. */
export class World {
  readonly random: () => number
  readonly clock = new VirtualClock()
  readonly service: Service
  readonly clients: Client[] = []
  readonly fleets: Fleet[] = []
  readonly troubles: string[] = []
  seconds = secondsAlone
  readonly #dead = new Set<number>()
  /** The last rates of the processes that exchange theirs. */
  readonly #rates = new Map<Client, SharedRate & { readonly machine: number; readonly atMs: number }>()
  readonly #machines: number | undefined
  #redis: SimulatedRedis | undefined

  /** @param machines number of machines on which processes exchange their rates; without it they do not */
  constructor(settings: Partial<ServiceSettings> = {}, seed = 1, machines?: number) {
    this.#machines = machines
    this.random = randomFrom(seed)
    this.service = new Service({ limitPerSecond, ...settings })
  }

  static async withRedis(settings: Partial<ServiceSettings> = {}, seconds = secondsWithRedis): Promise<World> {
    const world = new World(settings)
    world.seconds = seconds
    world.#redis = await SimulatedRedis.start(world.clock, world.random)
    stubTime(world.clock) // a process that joins before the clock runs starts at time 0
    let processes = 0
    vi.stubGlobal('crypto', { randomUUID: () => `process-${++processes}` })
    return world
  }

  get redis(): SimulatedRedis {
    return this.#redis as SimulatedRedis
  }

  /** @param demandPerSecond number of requests that the process could use; more than the limit by default */
  join(share = 1, demandPerSecond = Number.POSITIVE_INFINITY): void {
    const client = new Client(this.clock, this.service, this.random, demandPerSecond)
    client.pace.setLimit(this.service.limitPerSecond * share)
    this.#exchangeRates(client)
    this.clients.push(client)
    if (this.#redis !== undefined) this.#lease(client, this.#redis)
    client.pump()
  }

  /** Exchanges the client's rate with those of its machine, as `RateExchange` does. */
  #exchangeRates(client: Client): void {
    if (this.#machines === undefined) return
    const machine = Math.floor(this.random() * this.#machines)
    const agreement = new RateAgreement()
    const othersAt = (nowMs: number) =>
      [...this.#rates.values()]
        .filter(rate => rate.machine === machine)
        .map(rate => ({
          ...rate,
          sinceRefusedMs: rate.sinceRefusedMs + nowMs - rate.atMs,
          sinceAcceptedMs: rate.sinceAcceptedMs + nowMs - rate.atMs,
          nextStartMs: rate.nextStartMs - nowMs + rate.atMs,
        }))
    const exchange = () => {
      const { nowMs } = this.clock
      const own = client.pace.isShared(nowMs) || this.#rates.has(client) ? client.pace.rateToShare(nowMs) : undefined
      this.#rates.delete(client)
      if (own !== undefined && client.isActive) {
        const { allowedPerSecond: limitPerSecond, headersTellRemaining } = client.pace
        const others = othersAt(nowMs)
        const agreed = agreement.among(nowMs, { own, others, limitPerSecond, headersTellRemaining })
        this.#rates.set(client, { ...own, machine, atMs: nowMs })
        if (agreed !== undefined) client.pace.agreeOn(nowMs, agreed)
        client.pump()
      }
      const afterMs = own === undefined ? firstExchangeMs : exchangeMs
      this.clock.after(afterMs * (0.9 + 0.2 * this.random()), exchange)
    }
    const joined = rateOfNewcomer(othersAt(this.clock.nowMs), client.pace.allowedPerSecond)
    if (joined !== undefined) client.pace.agreeOn(this.clock.nowMs, joined)
    this.clock.after(firstExchangeMs * this.random(), exchange)
  }

  joinWithinASecond(processes: number, demandPerSecond?: number): void {
    for (let i = 0; i < processes; i++) this.clock.after(1000 * this.random(), () => this.join(1, demandPerSecond))
  }

  /** Joins as a process does that must read the license first. Its reads count as requests. */
  joinAndRead(): void {
    const client = new Client(this.clock, this.service, this.random)
    this.#exchangeRates(client)
    this.clients.push(client)
    const read = (waitMs: number): void => {
      client.pace.onOtherRequest(this.clock.nowMs)
      this.clock.after(20, () => {
        const { throttled } = this.service.answer(this.clock.nowMs)
        if (throttled) this.clock.after(waitMs * (0.5 + this.random()), () => read(Math.min(2 * waitMs, 10_000)))
        else client.pace.setLimit(this.service.limitPerSecond)
      })
    }
    read(1000)
    client.pump()
  }

  /** Joins as a process does that knows of no limit. */
  joinWithoutLimit(): void {
    const client = new Client(this.clock, this.service, this.random)
    this.#exchangeRates(client)
    this.clients.push(client)
    client.pump()
  }

  /** @param index index of the process, in the order of joining */
  leave(index: number): void {
    this.clients[index]?.stop()
    void this.fleets[index]?.close()
  }

  /** Kills the process. */
  kill(index: number): void {
    this.clients[index]?.stop()
    this.#dead.add(index)
  }

  /** Lets the oldest process leave and a new one join, from time to time. */
  renewEvery(ms: number, index = 0, end: 'left' | 'killed' = 'left'): void {
    this.clock.after(ms, () => {
      if (end === 'left') this.leave(index)
      else this.kill(index)
      this.join()
      this.renewEvery(ms, index + 1, end)
    })
  }

  async run(): Promise<void> {
    await this.clock.runUntil(this.seconds * 1000, this.#redis !== undefined)
  }

  /** Returns the share of the limit in use, from the time when the first processes have found their shares. */
  measured(title: string): { rejected: number; utilisation: number; longestGapMs: number } {
    const rejected = this.service.rejected(0, this.seconds)
    const utilisation = this.service.utilisation(this.#redis === undefined ? 60 : 20, this.seconds)
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
      namedHeaderLimit: nowMs => client.pace.namedHeaderLimit(nowMs),
      rarePerSecond,
      demand: nowMs => client.demand.measure(nowMs),
      isWaiting: () => client.isWaiting,
      requests: () => client.startsMs.length - client.refusals,
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
