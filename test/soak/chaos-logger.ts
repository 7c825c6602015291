/**
 * A process of the chaos: several shippers of every kind, which log in bursts, flush and close at random. After each
 * burst, it reports what it has logged, by a write that kill -9 cannot undo. chaos.ts runs it.
 */
import { writeSync } from 'node:fs'
import { createHistogram, type RecordableHistogram } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { createShipper, type Shipper, type ShipperOptions, type ShipperStats } from 'logferry'
import { randomFrom } from '../support/random.ts'
import {
  type ChaosJob,
  type ChaosReport,
  type ChaosShipper,
  isPoison,
  numbersEach,
  shippersEach,
} from './chaos-report.ts'
import { processorWaitNs } from './processor-wait.ts'

const job = JSON.parse(process.env.CHAOS_JOB as string) as ChaosJob
const random = randomFrom(job.seed)
const oneOf = <T>(...values: readonly T[]): T => values[Math.floor(random() * values.length)] as T
const tellsPerStats = 20
/** The times of log calls, in nanoseconds: those that the application sees, and without the waits for a processor. */
const calls = { seen: createHistogram(), own: createHistogram() }
let stallMs = 0
let isToEnd = job.forMs === 0

class Logger {
  readonly number = job.index * shippersEach + loggers.length
  readonly shipper: Shipper
  readonly maxBufferedBytes: number
  readonly #kind: ChaosShipper['kind']
  readonly #datasets = oneOf(1, 3, 50, 1000, 5000)
  #logged = 0
  readonly #wronglyRejected: number[] = []
  #closing = 0
  #stats: ShipperStats
  #droppedSince = 0

  constructor() {
    const kinds = ['memory', 'spool', 'disk'] as const
    const kind = job.forMs === 0 ? 'disk' : (kinds[loggers.length % 3] as ChaosShipper['kind'])
    const maxBatchBytes = oneOf(8192, 65_536, 1_048_576)
    const bufferedMiB = oneOf(1, 4, 16)
    // The last process needs room for the largest batch that another process has left.
    this.maxBufferedBytes = Math.max(8 * maxBatchBytes, (job.forMs === 0 ? 16 : bufferedMiB) * 1_048_576)
    this.#kind = kind
    const options: ShipperOptions = {
      baseUrl: job.url,
      token: 'a-token-of-tests',
      dataset: ({ n, to }) => (typeof to === 'string' ? to : `d${Number(n) % this.#datasets}`),
      maxBatchBytes,
      maxBufferedBytes: this.maxBufferedBytes,
      maxBatchAgeMs: oneOf(20, 200, 1000),
      maxConcurrentRequests: oneOf(1, 4, 16),
      compression: oneOf('zstd', 'gzip', 'none'),
      requestTimeoutMs: 1000,
      maxRetryDelayMs: 300,
      flushTimeoutMs: 1000,
      ...(kind === 'memory' ? {} : { spool: { directory: job.directory } }),
      ...(kind === 'disk' ? { durability: 'disk' } : {}),
    }
    this.shipper = createShipper(options)
    this.#stats = this.shipper.stats()
    this.shipper.on('warning', () => {})
    this.shipper.on('dropped', ({ dataset, count }) => {
      if (dataset !== undefined) this.#droppedSince += count // `#ship` counts events that were dropped in their log calls
    })
    this.shipper.on('rejected', ({ event }) => {
      if (this.#closing > 0 || event === undefined || event.poison === true || this.#wronglyRejected.length >= 1000)
        return
      if (typeof event.n === 'number') this.#wronglyRejected.push(event.n)
    })
  }

  /** Logs events that the service has no reason to refuse, to some of the datasets that have pending events. */
  beat(): void {
    const waiting = Object.entries(this.shipper.stats().datasets).filter(([, { pending }]) => pending > 0)
    for (const [to] of waiting.slice(0, 20)) {
      while (isPoison(this.number * numbersEach + this.#logged)) this.#logged++
      this.#ship({ level: 'info', n: this.number * numbersEach + this.#logged++, to })
    }
  }

  burst(): void {
    const count = random() < 0.02 ? 3000 : Math.floor(random() * 100)
    const usedBefore = process.threadCpuUsage()
    for (let n = 0; n < count; n++) {
      const text = 'x'.repeat(random() < 0.001 ? 200_000 : Math.floor(10 ** (1 + 3 * random() ** 2)))
      const number = this.number * numbersEach + this.#logged
      const event = { level: oneOf('debug', 'info', 'warn', 'error', 'fatal'), n: number, text }
      const waitedNs = processorWaitNs()
      const startedAt = process.hrtime.bigint()
      this.#ship(isPoison(number) ? { ...event, poison: true } : event)
      const seenNs = process.hrtime.bigint() - startedAt || 1n
      calls.seen.record(seenNs)
      const ownNs = seenNs - (processorWaitNs() - waitedNs)
      calls.own.record(ownNs > 0n ? ownNs : 1n)
      this.#logged++
    }
    inCallsMs += cpuMs(process.threadCpuUsage(usedBefore))
  }

  async flushOrClose(): Promise<void> {
    const timeoutMs = Math.floor(random() * 500)
    if (random() < 0.7) return void (await this.shipper.flush({ timeoutMs }))
    await this.close(timeoutMs)
  }

  async close(timeoutMs: number): Promise<void> {
    this.#closing++
    await this.shipper.close({ timeoutMs })
    this.#closing--
  }

  /** Takes the counts of the shipper, with those of up to 1,000 datasets. Often taken, they would take most of the memory. */
  takeStats(): void {
    this.#stats = this.shipper.stats()
    this.#droppedSince = 0
  }

  get report(): ChaosShipper {
    const { accepted, delivered, dropped, pending, bufferedBytes, spool } = this.#stats
    const { number, maxBufferedBytes } = this
    const left = spool?.handedOff ?? 0
    const counts = { accepted, delivered, dropped, pending, left, bufferedBytes, maxBufferedBytes }
    const since = { logged: this.#logged, droppedSince: this.#droppedSince }
    return { number, kind: this.#kind, ...counts, ...since, wronglyRejected: this.#wronglyRejected }
  }

  #ship(event: Record<string, unknown>): void {
    if (!this.shipper.ship(event)) this.#droppedSince++
  }
}

let told = 0
const rssAtStartBytes = process.memoryUsage.rss()
const loggers: Logger[] = []
const tell = (isDone: boolean): void => {
  if (isDone || ++told % tellsPerStats === 0) for (const logger of loggers) logger.takeStats()
  const shippers = loggers.map(logger => logger.report)
  const p999Ms = (histogram: RecordableHistogram) => (histogram.count === 0 ? 0 : histogram.percentile(99.9) / 1e6)
  const callMs = { seen: p999Ms(calls.seen), own: p999Ms(calls.own) }
  const { rss: rssBytes, heapTotal: heapBytes, external: externalBytes } = process.memoryUsage()
  const memory = { rssBytes, heapBytes, externalBytes }
  const report = { shippers, callMs, stallMs, rssAtStartBytes, memory, isDone } satisfies ChaosReport
  writeSync(1, `${JSON.stringify(report)}\n`)
}

/** Returns the work of this thread since the last turn of the loop. Waiting for a processor does not count. */
let usedAt = process.threadCpuUsage()
let inCallsMs = 0
const watch = setInterval(() => {
  const usedMs = cpuMs(process.threadCpuUsage(usedAt))
  usedAt = process.threadCpuUsage()
  stallMs = Math.max(stallMs, usedMs - inCallsMs)
  inCallsMs = 0
}, 1)

function cpuMs({ user, system }: NodeJS.CpuUsage): number {
  return (user + system) / 1000
}

process.on('message', () => {
  isToEnd = true
})
while (loggers.length < (job.forMs === 0 ? 1 : shippersEach)) loggers.push(new Logger())
tell(false)
const endAtMs = performance.now() + job.forMs
while (!isToEnd && performance.now() < endAtMs) {
  for (const logger of loggers) {
    logger.burst()
    if (random() < 0.01) void logger.flushOrClose()
  }
  tell(false)
  await sleep(random() * 10)
}
// The last process delivers what the others have left: a request for each dataset of each process, up to 100,000. It
// logs meanwhile: without other events of its dataset, a refused event is dropped only after a minute.
if (job.forMs === 0) {
  const heart = setInterval(() => loggers[0]?.beat(), 1000)
  await Promise.all(loggers.map(({ shipper }) => shipper.flush({ timeoutMs: 600_000 })))
  clearInterval(heart)
}
await Promise.all(loggers.map(logger => logger.close(job.closeMs)))
clearInterval(watch)
tell(true)
process.disconnect() // the process ends here, because nothing is left open
