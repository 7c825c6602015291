import { vi } from 'vitest'
import { rarePerSecond } from '../../src/delivery/demand.ts'
import { RateExchange, type SharedRates } from '../../src/delivery/rate-exchange.ts'
import type { SharedRate } from '../../src/delivery/rate-limiter.ts'
import { Fleet } from '../../src/org/fleet.ts'
import { isSoak } from '../support/soak-runs.ts'
import { Client, randomFrom, Service, type ServiceSettings, stubTime, VirtualClock } from './simulation.ts'
import { SimulatedRedis } from './simulation-redis.ts'

const limitPerSecond = 100
const rowHoldsMs = 6000
/** Processes that do not talk to each other take longer to find their shares. */
const secondsAlone = isSoak ? 600 : 300
const secondsWithRedis = 120

/** The rates that the processes of a machine tell each other, as `RateTable` keeps them. */
class SimulatedMachine {
  isLicenseKnown = false
  readingUntilMs = 0
  readonly #rows = new Map<Client, { readonly rate: SharedRate; readonly atMs: number }>()
  readonly #clock: VirtualClock

  constructor(clock: VirtualClock) {
    this.#clock = clock
  }

  ratesOf(client: Client): SharedRates {
    const read = async () => this.#othersOf(client)
    return {
      read,
      exchange: own => {
        const others = read()
        this.#rows.set(client, { rate: own, atMs: this.#clock.nowMs })
        return others
      },
      leave: () => this.#rows.delete(client),
    }
  }

  #othersOf(client: Client): SharedRate[] {
    const others: SharedRate[] = []
    for (const [other, { rate, atMs }] of this.#rows) {
      const ageMs = this.#clock.nowMs - atMs
      if (other === client || ageMs > rowHoldsMs) continue
      const { sinceRefusedMs, sinceAcceptedMs, nextStartMs } = rate
      others.push({
        ...rate,
        sinceRefusedMs: sinceRefusedMs + ageMs,
        sinceAcceptedMs: sinceAcceptedMs + ageMs,
        nextStartMs: nextStartMs - ageMs,
      })
    }
    return others
  }
}

/** A simulated service, and processes that come and go. */
export class World {
  readonly random: () => number
  readonly clock = new VirtualClock()
  readonly service: Service
  readonly clients: Client[] = []
  readonly fleets: Fleet[] = []
  readonly troubles: string[] = []
  seconds = secondsAlone
  /** Maximum delay of calls to Redis, because the machine is busy, in milliseconds. */
  callsAreLateMs = 0
  readonly #dead = new Set<number>()
  readonly #machines: readonly SimulatedMachine[]
  readonly #machineOf = new Map<Client, SimulatedMachine>()
  #redis: SimulatedRedis | undefined

  /** @param machines number of machines on which processes exchange their rates; without it they do not */
  constructor(settings: Partial<ServiceSettings> = {}, seed = 1, machines = 0) {
    this.#machines = Array.from({ length: machines }, () => new SimulatedMachine(this.clock))
    if (machines > 0) stubTime(this.clock)
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

  /**
   * @param demandPerSecond number of requests that the process could use; more than the limit by default
   * @param idleMs time until the process has something to send
   */
  join(share = 1, demandPerSecond = Number.POSITIVE_INFINITY, idleMs?: number): void {
    const client = new Client(this.clock, this.service, this.random, demandPerSecond, idleMs)
    client.pace.setLimit(this.service.limitPerSecond * share)
    this.#exchangeRates(client)
    this.clients.push(client)
    if (this.#redis !== undefined) this.#lease(client, this.#redis)
    client.pump()
  }

  /** Exchanges the client's rate with those of its machine. */
  #exchangeRates(client: Client): void {
    if (this.#machines.length === 0) return
    const machine = this.#machines[Math.floor(this.random() * this.#machines.length)] as SimulatedMachine
    this.#machineOf.set(client, machine)
    const exchange = new RateExchange({
      rates: machine.ratesOf(client),
      rateLimiter: client.pace,
      isWaiting: () => client.isWaiting,
      onAgreed: client.pump,
      onTrouble: error => this.troubles.push(String(error)),
      random: this.random,
    })
    client.onAnswered = () => exchange.onAnswer()
    client.onFirstWaiting = () => void exchange.takePlace()
    client.onStopped = () => exchange.close()
    client.onLimit = () => void exchange.join().then(client.pump)
    void exchange.join()
  }

  joinWithinASecond(processes: number, demandPerSecond?: number): void {
    for (let i = 0; i < processes; i++) this.clock.after(1000 * this.random(), () => this.join(1, demandPerSecond))
  }

  /** Joins as a process does that must read the license first. Its reads count as requests. */
  joinAndRead(): void {
    const client = new Client(this.clock, this.service, this.random)
    this.#exchangeRates(client)
    this.clients.push(client)
    const machine = this.#machineOf.get(client)
    const know = (): void => {
      client.pace.setLimit(this.service.limitPerSecond)
      client.pace.holdUntil(Number.NEGATIVE_INFINITY)
      client.onLimit()
    }
    const read = (waitMs: number): void => {
      if (machine?.isLicenseKnown) return know()
      if (machine && machine.readingUntilMs > this.clock.nowMs) {
        return void this.clock.after(200, () => read(waitMs))
      }
      if (machine) machine.readingUntilMs = this.clock.nowMs + 3000
      client.pace.holdUntil(Number.NEGATIVE_INFINITY)
      client.pace.onOtherRequest(this.clock.nowMs)
      this.clock.after(20, () => {
        const { throttled } = this.service.answer(this.clock.nowMs)
        if (throttled) this.clock.after(waitMs * (0.5 + this.random()), () => read(Math.min(2 * waitMs, 10_000)))
        else {
          if (machine) machine.isLicenseKnown = true
          know()
        }
      })
    }
    if (machine) client.pace.holdUntil(this.clock.nowMs + 2500)
    read(1000)
    client.pump()
  }

  /** Lets a process read the license from time to time. Its reads wait for no turn, and count as requests. */
  readEvery(ms: number, index: number): void {
    this.clock.after(ms, () => {
      this.clients[index]?.pace.onOtherRequest(this.clock.nowMs)
      this.service.answer(this.clock.nowMs)
      this.readEvery(ms, index)
    })
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

  async runUntil(second: number): Promise<void> {
    await this.clock.runUntil(second * 1000, this.#redis !== undefined || this.#machines.length > 0)
  }

  async run(): Promise<void> {
    await this.runUntil(this.seconds)
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

  #pass(ms: number): Promise<void> {
    return new Promise(resolve => void this.clock.after(ms, resolve))
  }

  #lease(client: Client, redis: SimulatedRedis): void {
    const index = this.fleets.length
    const fleet = new Fleet({
      redis: {
        call: () => redis.call(),
        eval: async (...given: Parameters<SimulatedRedis['eval']>) => {
          if (this.#dead.has(index)) return new Promise(() => {})
          if (this.callsAreLateMs > 0) await this.#pass(this.callsAreLateMs * this.random())
          const answer = await redis.eval(...given)
          const blockedMs = client.blockedMs(this.clock.nowMs)
          if (blockedMs > 0) await this.#pass(blockedMs)
          return answer
        },
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
