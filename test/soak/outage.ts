import { mkdtempDisposable, readdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ShipperOptions } from '../../src/index.ts'
import { type FaultServer, startFaultServer } from '../support/fault-server.ts'
import { tally } from '../support/laws.ts'
import { until } from '../support/until.ts'
import { brokenOf, type Figures, noProgress, type Progress } from './figures.ts'
import { SteadyChild } from './steady-child.ts'

/** What the service does while it is down. */
export const troubles = ['refuses connections', 'is a black hole', 'closes connections', 'answers 503'] as const
export type Trouble = (typeof troubles)[number]

export interface Outage {
  readonly perSecond: number
  /** Time of logging before the outage. RSS is measured against its end, when the process has warmed up. */
  readonly beforeMs: number
  readonly outageMs: number
  /** Time of logging after the outage. */
  readonly afterMs: number
  /** The troubles, in turn, for equal parts of the outage. */
  readonly troubles: readonly Trouble[]
  /** Options of the shipper besides the address and a spool. */
  readonly options?: ShipperOptions
  readonly maxRequests: number
  readonly maxRssGrowthBytes: number
  readonly drainedWithinMs: number
}

/** Scenario 11, and the 60-second outage: a process with a spool logs at a steady rate while the service is down. */
export async function outage(scale: Outage, progress: Progress = noProgress): Promise<Figures> {
  await using directory = await mkdtempDisposable(join(tmpdir(), 'logferry-outage-'))
  const { perSecond, beforeMs, outageMs, afterMs } = scale
  await using service = await Service.start()
  const spool = { directory: directory.path }
  const options = { baseUrl: service.url, token: 'a-token-of-tests', spool, ...scale.options }
  const text = 'order placed, and what else a line may say of it '.repeat(2)
  using child = new SteadyChild({ options, perSecond, text, flushTimeoutMs: 120_000 })
  await child.whenLogged(1)

  await log(child, beforeMs, 'before the outage', progress)
  const rssBeforeBytes = child.maxRssBytes
  const requestsBefore = child.latest?.stats.requests ?? 0
  for (const trouble of scale.troubles) {
    await service.fail(trouble, () => child.latest?.stats.delivered ?? 0)
    await log(child, outageMs / scale.troubles.length, `the service ${trouble}`, progress)
  }
  const requestsMeanwhile = (child.latest?.stats.requests ?? 0) - requestsBefore
  const pendingMost = child.latest?.stats.pending ?? 0
  const spooledBytes = child.latest?.stats.spool?.bytes ?? 0
  await service.recover()
  const recoveredAtMs = performance.now()
  progress(`the service is back, ${pendingMost} events wait`)
  await until(() => (child.latest?.stats.pending ?? 0) < perSecond * 2, 'the backlog is drained', 300_000)
  const drainedMs = performance.now() - recoveredAtMs
  await log(child, afterMs, 'after the outage', progress)
  const { logged, stats } = await child.end(150_000)

  const { lost, twice } = tally(service.numbers(), logged)
  const left = await readdir(directory.path)
  const rssGrowthBytes = child.maxRssBytes - rssBeforeBytes
  const spooled = `${Math.round(spooledBytes / 1_048_576)} MiB`
  const drained = `drained after ${(drainedMs / 1000).toFixed(1)} s`
  return {
    events: logged,
    lost,
    twice,
    requests: stats.requests,
    rssGrowthBytes,
    notes: `${requestsMeanwhile} requests meanwhile, ${pendingMost} events waited, ${spooled} on disk, ${drained}`,
    broken: brokenOf({
      'nothing lost': lost === 0 && stats.dropped === 0,
      'nothing twice': twice === 0, // trouble begins when every answer has been read
      'events beyond the memory budget go to disk': spooledBytes > 0,
      'nothing is left on disk': left.length === 0,
      [`at most ${scale.maxRequests} requests meanwhile`]: requestsMeanwhile <= scale.maxRequests,
      'RSS stays within its bound': rssGrowthBytes <= scale.maxRssGrowthBytes,
      [`drained within ${scale.drainedWithinMs / 1000} s`]: drainedMs <= scale.drainedWithinMs,
    }),
  }
}

async function log(child: SteadyChild, forMs: number, what: string, progress: Progress): Promise<void> {
  const untilMs = performance.now() + forMs
  while (performance.now() < untilMs) {
    const { rssBytes = 0, stats } = child.latest ?? {}
    const rss = `RSS ${Math.round(rssBytes / 1_048_576)} MiB`
    const left = `${Math.ceil((untilMs - performance.now()) / 1000)} s more`
    progress(`${what}, ${left}: ${child.logged} logged, ${stats?.pending ?? 0} wait, ${rss}`)
    await sleep(Math.min(200, forMs))
  }
}

/** The service at one address, well or in trouble. */
class Service implements AsyncDisposable {
  /** Numbers that earlier servers at this address have stored. */
  readonly #storedEarlier: number[] = []
  #trouble: Trouble | undefined
  #server: FaultServer | undefined
  #port = 0

  static async start(): Promise<Service> {
    const service = new Service()
    await service.#listen()
    return service
  }

  *numbers(): Generator<number> {
    yield* this.#storedEarlier
    yield* this.#server?.numbers ?? []
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`
  }

  /** @param delivered returns the number of events for which the process has read the answer */
  async fail(trouble: Trouble, delivered: () => number): Promise<void> {
    this.#trouble = trouble
    const stored = [...this.numbers()].length // no more are stored from now on
    await until(() => delivered() >= stored, 'the answers for stored events are read', 30_000)
    await this.#stop() // ends the existing connections too, as when a machine goes down
    if (trouble !== 'refuses connections') await this.#listen()
  }

  async recover(): Promise<void> {
    await this.#stop()
    this.#trouble = undefined
    await this.#listen()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stop()
  }

  async #listen(): Promise<void> {
    this.#server = await startFaultServer(
      request => {
        if (!request.isWhole) return
        if (this.#trouble === undefined) request.take()
        else if (this.#trouble === 'answers 503') request.answer('503 Service Unavailable')
      },
      {
        port: this.#port,
        keepsRequests: false,
        onConnection: socket => {
          if (this.#trouble === 'closes connections') socket.destroy()
        },
      },
    )
    this.#port = this.#server.port
  }

  async #stop(): Promise<void> {
    await this.#server?.close()
    for (const n of this.#server?.numbers ?? []) this.#storedEarlier.push(n)
    this.#server = undefined
  }
}
