import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ShipperOptions } from '../../src/index.ts'

/** The load of a process. */
export type Demand =
  /** Number of events that are pending at every moment. */
  | { readonly kind: 'full'; readonly pendingEvents: number }
  /** Range of the random time between two events, in milliseconds. */
  | { readonly kind: 'now and then'; readonly minMs: number; readonly maxMs: number }
  /** Events per second, at a steady rate. */
  | { readonly kind: 'steady'; readonly eventsPerSecond: number }

/**
 * The client library of Redis, and its set-up: the defaults of the library, or an immediate failure while Redis is
 * away.
 */
export interface ClientOf {
  readonly library: 'ioredis' | 'redis'
  readonly settings: 'default' | 'fast'
  readonly port: number
}

export interface ChildJob {
  /** Name of the process, and of its dataset. */
  readonly name: string
  readonly seed: number
  readonly demand: Demand
  /** The client of Redis. Without one, the process shares nothing with others. */
  readonly redis: ClientOf | undefined
  readonly options: ShipperOptions
  readonly limits: { readonly orgId: string; readonly refreshMs: number }
  /** True if it first ships to a service of its own, so that its start takes less time of a processor. */
  readonly warmsUp: boolean
  /** True if it begins while its client of Redis connects. */
  readonly isCold: boolean
  /** Range of the time for which the event loop is blocked once a second, in milliseconds. */
  readonly blocks: { readonly minMs: number; readonly maxMs: number } | undefined
}

export type ChildOrder = { readonly kind: 'go' } | { readonly kind: 'measure' } | { readonly kind: 'end' }

export type ChildReply =
  | { readonly kind: 'ready' }
  /** Time by the clock that the service also uses, in milliseconds since 1970. */
  | { readonly kind: 'gone'; readonly atMs: number }
  /** Delay of the event loop since the last measurement, 99th percentile and maximum, in milliseconds. */
  | { readonly kind: 'measured'; readonly lateMs: number; readonly maxLateMs: number }
  | ({ readonly kind: 'ended' } & ChildReport)

/** The report of a process that has ended in an orderly way. */
export interface ChildReport {
  readonly logged: number
  readonly dropped: number
  readonly pending: number
  readonly warnings: readonly string[]
}

/** A process of the fleet. It loads and connects first. Its life begins with the order to go. */
export class FleetChild implements Disposable {
  readonly name: string
  readonly demand: Demand
  readonly isBlocked: boolean
  readonly #process: ChildProcess
  readonly #closed: Promise<unknown>
  #startedAtMs: number | undefined
  #endedAtMs: number | undefined
  #report: ChildReport | undefined
  #isKilled = false
  #stderr = ''

  constructor(job: ChildJob) {
    this.name = job.name
    this.demand = job.demand
    this.isBlocked = job.blocks !== undefined
    this.#process = fork(new URL('./fleet-logger.ts', import.meta.url), {
      env: {
        PATH: process.env.PATH,
        FLEET_JOB: JSON.stringify(job),
        NODE_COMPILE_CACHE: join(tmpdir(), 'logferry-fleet-compile-cache'),
      },
      execArgv: [],
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    })
    this.#process.stderr?.setEncoding('utf8').on('data', text => {
      this.#stderr = (this.#stderr + text).slice(0, 10_000)
    })
    this.#process.on('message', (reply: ChildReply) => {
      if (reply.kind === 'ended') this.#report = reply
    })
    this.#closed = once(this.#process, 'close')
  }

  get startedAtMs(): number | undefined {
    return this.#startedAtMs
  }

  /** Time at which the process was killed or told to end, in milliseconds since 1970. */
  get endedAtMs(): number | undefined {
    return this.#endedAtMs
  }

  get isKilled(): boolean {
    return this.#isKilled
  }

  /** Its report at the end; `undefined` if it was killed. */
  get report(): ChildReport | undefined {
    return this.#report
  }

  /** Resolves when the process has loaded and connected. */
  async ready(): Promise<void> {
    await this.#reply('ready')
  }

  async go(): Promise<void> {
    const gone = this.#reply('gone')
    this.#order({ kind: 'go' })
    this.#startedAtMs = (await gone).atMs
  }

  async measure(): Promise<{ readonly lateMs: number; readonly maxLateMs: number }> {
    const measured = this.#reply('measured')
    this.#order({ kind: 'measure' })
    return await measured
  }

  kill(): void {
    this.#isKilled = true
    this.#endedAtMs ??= Date.now()
    this.#process.kill('SIGKILL')
  }

  /** Makes the process deliver its events and end; by a signal if one is given. */
  async end(signal?: 'SIGTERM'): Promise<void> {
    this.#endedAtMs ??= Date.now()
    if (signal === undefined) this.#order({ kind: 'end' })
    else this.#process.kill(signal)
    await this.#closed
    if (this.#report === undefined) throw new Error(`${this.name} has ended without a report: ${this.#stderr}`)
  }

  #order(order: ChildOrder): void {
    if (!this.#process.connected) throw new Error(`${this.name} has ended by itself: ${this.#stderr}`)
    this.#process.send(order)
  }

  async #reply<Kind extends ChildReply['kind']>(kind: Kind): Promise<Extract<ChildReply, { kind: Kind }>> {
    const { promise, resolve, reject } = Promise.withResolvers<Extract<ChildReply, { kind: Kind }>>()
    const listen = (reply: ChildReply): void => {
      if (reply.kind === kind) resolve(reply as Extract<ChildReply, { kind: Kind }>)
    }
    this.#process.on('message', listen)
    void this.#closed.then(() => reject(new Error(`${this.name} has ended by itself: ${this.#stderr}`)))
    try {
      return await promise
    } finally {
      this.#process.off('message', listen)
    }
  }

  [Symbol.dispose](): void {
    this.#process.kill('SIGKILL')
  }
}
