import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import type { ShipperOptions, ShipperStats } from '../../src/index.ts'
import { surroundings } from '../support/surroundings.ts'
import { until } from '../support/until.ts'

export interface Job {
  readonly options: ShipperOptions
  /** Events per second. */
  readonly perSecond: number
  /** Text of a field of each event, which sets its size. */
  readonly text: string
  /** Maximum time for delivery at the end. */
  readonly flushTimeoutMs: number
}

export type Order =
  | { readonly kind: 'end' }
  | { readonly kind: 'move the clock'; readonly byMs: number }
  | { readonly kind: 'block'; readonly forMs: number }

/** The report of the process, five times a second. */
export interface Report {
  readonly logged: number
  readonly stats: ShipperStats
  readonly rssBytes: number
  readonly warnings: readonly string[]
  readonly isDone: boolean
}

/** A separate process that logs at a steady rate, so that its memory can be measured and its event loop stopped. */
export class SteadyChild implements Disposable {
  readonly #process: ChildProcess
  readonly #closed: Promise<unknown[]>
  #stderr = ''
  latest: Report | undefined
  maxRssBytes = 0

  constructor(job: Job) {
    this.#process = fork(new URL('./steady-logger.ts', import.meta.url), {
      env: { ...surroundings(), STEADY_JOB: JSON.stringify(job) },
      execArgv: [],
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    })
    this.#process.stderr?.setEncoding('utf8').on('data', text => {
      this.#stderr += text
    })
    this.#process.on('message', (report: Report) => {
      this.latest = report
      this.maxRssBytes = Math.max(this.maxRssBytes, report.rssBytes)
    })
    this.#closed = once(this.#process, 'close')
  }

  get logged(): number {
    return this.latest?.logged ?? 0
  }

  order(order: Order): void {
    this.#process.send(order)
  }

  signal(signal: 'SIGSTOP' | 'SIGCONT'): void {
    this.#process.kill(signal)
  }

  /** Waits until this number of events has been logged. */
  async whenLogged(count: number, timeoutMs = 20_000): Promise<void> {
    await until(() => this.logged >= count, `the process has logged ${count} events ${this.#stderr}`, timeoutMs)
  }

  /** Makes the process deliver its events. Returns its last report when it has ended by itself. */
  async end(timeoutMs: number): Promise<Report> {
    this.order({ kind: 'end' })
    await until(() => this.latest?.isDone === true || this.#hasFailed, 'the process is done', timeoutMs)
    const report = this.latest
    if (this.#hasFailed || report === undefined) throw new Error(`the process has failed: ${this.#stderr}`)
    const endedInTime = await Promise.race([this.#closed, new Promise(resolve => setTimeout(resolve, 10_000))])
    if (endedInTime === undefined) throw new Error('the process is kept alive by something after close()')
    return report
  }

  get #hasFailed(): boolean {
    return this.#process.exitCode !== null && this.#process.exitCode !== 0
  }

  [Symbol.dispose](): void {
    this.#process.kill('SIGKILL')
  }
}
