import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { surroundings } from '../support/surroundings.ts'
import { until } from '../support/until.ts'

/** Each process logs events with numbers from its own range. The range is so long that no process reaches its end. */
export const numbersEach = 1_000_000

/**
 * A process that logs to a spool with `durability: 'disk'`, in bursts, until it is killed. After each burst, it prints
 * how many log calls have returned. It uses the built package: without types to strip, it starts in half the time.
 */
const source = `
  import { writeSync } from 'node:fs'
  import { createShipper } from 'logferry'
  const { index, most, maxBurst, options } = JSON.parse(process.env.KILLABLE)
  const shipper = createShipper({ token: 'a-token-of-tests', dataset: 'd', durability: 'disk', ...options })
  shipper.on('warning', () => {})
  const text = 'order placed, and what else a line may say of it '.repeat(4)
  let logged = 0
  const burst = () => {
    const until = Math.min(logged + Math.ceil(Math.random() * maxBurst), most)
    for (; logged < until; logged++) shipper.ship({ level: 'info', n: index * ${numbersEach} + logged, text })
    writeSync(1, logged + '\\n')
    if (logged < most) setTimeout(burst, Math.random() * 5)
    else if (most === 0) end()
  }
  const end = async () => {
    writeSync(1, JSON.stringify(await shipper.close({ timeoutMs: 60_000 })) + '\\n')
    process.disconnect() // the process ends here, because nothing is left open
  }
  process.on('message', end)
  burst()
`

export interface KillableOptions {
  readonly url: string
  readonly directory: string
  /** Index of the process. Its numbers start at `index * numbersEach`. */
  readonly index: number
  /**
   * Maximum number of events. The process then waits. With 0, it only delivers what other processes have left, and
   * ends.
   */
  readonly most: number
  readonly maxBurst: number
}

export class Killable {
  readonly index: number
  readonly #process: ChildProcess
  readonly #closed: Promise<unknown[]>
  #said = ''
  #stderr = ''

  constructor({ url, directory, index, most, maxBurst }: KillableOptions) {
    this.index = index
    const options = { baseUrl: url, spool: { directory }, maxRetryDelayMs: 200 }
    this.#process = spawn(process.execPath, ['--input-type=module', '--eval', source], {
      env: { ...surroundings(), KILLABLE: JSON.stringify({ index, most, maxBurst, options }) },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    })
    this.#process.stdout?.setEncoding('utf8').on('data', text => {
      this.#said += text
    })
    this.#process.stderr?.setEncoding('utf8').on('data', text => {
      this.#stderr += text
    })
    this.#closed = once(this.#process, 'close')
  }

  /** Number of log calls that have returned, according to the last report of the process. */
  get logged(): number {
    return Number(this.#lines.findLast(line => /^\d+$/.test(line)) ?? 0)
  }

  /** The line of its output that is not a number. */
  get result(): string | undefined {
    return this.#lines.find(line => line.startsWith('{'))
  }

  /** Resolves when the process logs. Rejects if it cannot. */
  async started(): Promise<void> {
    await until(() => this.#lines.length > 0 || this.#stderr !== '', 'the process has started')
    if (this.#stderr !== '') throw new Error(this.#stderr)
  }

  get #lines(): string[] {
    return this.#said.split('\n').slice(0, -1)
  }

  async kill(): Promise<void> {
    this.#process.kill('SIGKILL')
    await this.#closed
  }

  /** Makes the process deliver its own events and those that other processes have left. */
  async end(): Promise<void> {
    this.#process.send('end')
    await this.#closed
  }

  async closed(): Promise<void> {
    await this.#closed
  }
}
