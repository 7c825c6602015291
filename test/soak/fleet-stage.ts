import { cpus } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { randomFrom } from '../support/random.ts'
import type { Progress } from './figures.ts'
import { Books, type Life, type Span } from './fleet-books.ts'
import { type ChildJob, type Demand, FleetChild } from './fleet-child.ts'
import { RedisServer } from './fleet-redis.ts'
import { FleetService, orgId, type ServiceReport, type ServiceSettings } from './fleet-service.ts'

export interface StageSettings {
  /** Seed for the random choices. */
  readonly seed: number
  readonly limitPerSecond: number
  readonly service: Partial<ServiceSettings>
  /** Set-up of the clients of Redis. Without Redis, the processes know nothing of each other. */
  readonly redisClients: 'default' | 'fast' | undefined
  readonly refreshMs: number
}

export interface Troupe {
  readonly demand: Demand
  readonly blocks?: ChildJob['blocks']
  readonly warmsUp?: ChildJob['warmsUp']
  readonly isCold?: ChildJob['isCold']
  readonly options?: ChildJob['options']
}

/** A period that is judged, and the measurements besides the records of the service. */
export interface JudgedSpan extends Span {
  /**
   * Calls to Redis per process and second: scripts, and reads of any kind. `undefined` if Redis was not available all
   * the time.
   */
  readonly redisPerSecond: { readonly scripts: number; readonly reads: number } | undefined
  /** Delay of the event loops that no process blocked on purpose: the worst 99th percentile, in milliseconds. */
  readonly lateMs: number
  /** Share of the machine's processor time in use, from 0 to 1. */
  readonly busy: number
}

/** Number of processes that load at the same time. */
const loadAtOnce = 3
/** Reads of Redis that the harness causes: the end of the connection of its last question, and its next question. */
const readsOfOurs = 2

/** The stage of a case: a service, a Redis server, and the processes of the fleet. */
export class FleetStage implements AsyncDisposable {
  readonly service: FleetService
  readonly redis: RedisServer | undefined
  readonly random: () => number
  /** All processes that were ever started, in order. */
  readonly children: FleetChild[] = []
  readonly progress: Progress
  readonly #settings: StageSettings
  #loaded = 0

  static async open(settings: StageSettings, progress: Progress): Promise<FleetStage> {
    const { limitPerSecond, service } = settings
    const redis = settings.redisClients && (await RedisServer.start())
    const started = await FleetService.start({
      licensePerSecond: limitPerSecond,
      enforcedPerSecond: limitPerSecond,
      headerPerSecond: limitPerSecond,
      isRefusingAll: false,
      ...service,
    })
    return new FleetStage(settings, started, redis, progress)
  }

  private constructor(
    settings: StageSettings,
    service: FleetService,
    redis: RedisServer | undefined,
    progress: Progress,
  ) {
    this.#settings = settings
    this.service = service
    this.redis = redis
    this.progress = progress
    this.random = randomFrom(settings.seed)
  }

  /** The processes that have begun and not ended, in the order of their beginning. */
  get working(): FleetChild[] {
    const begun = this.children.filter(
      ({ startedAtMs, endedAtMs }) => startedAtMs !== undefined && endedAtMs === undefined,
    )
    return begun.sort((one, other) => (one.startedAtMs as number) - (other.startedAtMs as number))
  }

  /** Makes processes load and connect, a few at a time, so that later they need the processor for their work only. */
  async load(count: number, troupe: Troupe): Promise<FleetChild[]> {
    const loaded: FleetChild[] = []
    while (loaded.length < count) {
      const some = Array.from({ length: Math.min(loadAtOnce, count - loaded.length) }, () => this.#spawn(troupe))
      await Promise.all(some.map(child => child.ready()))
      loaded.push(...some)
      this.progress(`${loaded.length} of ${count} processes loaded`)
    }
    return loaded
  }

  /** Makes loaded processes begin, spread over this time. */
  async begin(children: readonly FleetChild[], withinMs: number): Promise<void> {
    await Promise.all(
      children.map(async (child, index) => {
        await sleep((withinMs * index) / children.length)
        await child.go()
      }),
    )
  }

  /** Starts processes at the same time. Each begins as soon as it has loaded, while the others still load. */
  async start(count: number, troupe: Troupe): Promise<void> {
    const some = Array.from({ length: count }, () => this.#spawn({ ...troupe, isCold: true }))
    await Promise.all(some.map(child => child.ready().then(() => child.go())))
  }

  /** Waits, up to the beginning of a second of the service's clock. */
  async pass(seconds: number, what: string): Promise<void> {
    const untilMs = Math.ceil(Date.now() / 1000 + seconds) * 1000
    for (let leftMs = untilMs - Date.now(); leftMs > 0; leftMs = untilMs - Date.now()) {
      this.progress(`${what}: ${Math.ceil(leftMs / 1000)} s`)
      await sleep(Math.min(leftMs, 1000))
    }
  }

  /** Judges the next seconds, while `meanwhile` runs. */
  async judge(seconds: number, meanwhile?: () => Promise<void>): Promise<JudgedSpan> {
    const fromMs = await this.#onTheSecond()
    await this.#measure()
    const callsBefore = await this.redis?.calls()
    const busyBefore = processorTimes()
    await Promise.all([this.pass(seconds - 0.5, 'judged'), meanwhile?.()])
    const toMs = Math.round(Date.now() / 1000) * 1000
    const callsAfter = await this.redis?.calls()
    const busyAfter = processorTimes()
    const perSecond = (count: number) => count / this.working.length / ((toMs - fromMs) / 1000)
    return {
      fromMs,
      toMs,
      redisPerSecond: callsBefore &&
        callsAfter && {
          scripts: perSecond(callsAfter.scripts - callsBefore.scripts),
          reads: perSecond(callsAfter.reads - callsBefore.reads - readsOfOurs),
        },
      lateMs: await this.#measure(),
      busy: (busyAfter.used - busyBefore.used) / (busyAfter.all - busyBefore.all),
    }
  }

  /** Judges the next seconds without measurements that need Redis or the processes. */
  async watch(seconds: number): Promise<Span> {
    const fromMs = await this.#onTheSecond()
    await this.pass(seconds - 0.5, 'watched')
    return { fromMs, toMs: Math.round(Date.now() / 1000) * 1000 }
  }

  /** Ends all processes, each of which delivers its events, and returns the records of the service. */
  async close(): Promise<{ books: Books; report: ServiceReport }> {
    this.progress('ending')
    await Promise.all(this.children.filter(({ endedAtMs }) => endedAtMs === undefined).map(child => child.end()))
    const report = await this.service.report()
    const lives = this.children.flatMap((child): Life | [] => {
      const { name, startedAtMs, endedAtMs, demand } = child
      if (startedAtMs === undefined) return []
      const { distinct = 0, twice = 0 } = report.numbers[name] ?? {}
      const { logged, dropped = 0 } = child.report ?? {}
      return { name, isFull: demand.kind === 'full', startedAtMs, endedAtMs, logged, dropped, distinct, twice }
    })
    return { books: new Books(report.arrivals, lives), report }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const child of this.children) child[Symbol.dispose]()
    this.redis?.[Symbol.dispose]()
    this.service[Symbol.dispose]()
  }

  #spawn({ demand, blocks, warmsUp = false, isCold = false, options }: Troupe): FleetChild {
    const { seed, redisClients, refreshMs } = this.#settings
    const index = this.#loaded++
    const child = new FleetChild({
      name: `p${index}`,
      seed: seed * 10_000 + index,
      demand,
      blocks,
      warmsUp,
      isCold,
      redis: this.redis &&
        redisClients && {
          library: index % 2 === 0 ? 'ioredis' : 'redis',
          settings: redisClients,
          port: this.redis.port,
        },
      options: { baseUrl: this.service.url, flushTimeoutMs: 90_000, ...options },
      limits: { orgId, refreshMs },
    })
    this.children.push(child)
    return child
  }

  async #onTheSecond(): Promise<number> {
    const fromMs = Math.ceil(Date.now() / 1000) * 1000
    await sleep(Math.max(fromMs - Date.now(), 0))
    return fromMs
  }

  /** Returns the greatest delay of the event loops of working processes since the last call, in milliseconds. */
  async #measure(): Promise<number> {
    const unblocked = this.working.filter(({ isBlocked }) => !isBlocked)
    const measured = await Promise.all(unblocked.map(child => child.measure()))
    return Math.max(0, ...measured.map(({ lateMs }) => lateMs))
  }
}

function processorTimes(): { readonly used: number; readonly all: number } {
  let used = 0
  let all = 0
  for (const { times } of cpus()) {
    const ofThis = Object.values(times).reduce((sum, time) => sum + time, 0)
    all += ofThis
    used += ofThis - times.idle
  }
  return { used, all }
}
