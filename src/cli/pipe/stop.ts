import { clearTimeout, monotonicMs, setTimeout } from '../../time.ts'
import { stopSignals } from '../stop-signals.ts'

/**
 * Signals within this time after the first one count as the same, in milliseconds: a terminal and a program such as npm
 * may both send one.
 */
const sameSignalMs = 500

export interface StopOptions {
  /** Maximum time after a signal for which the input is read on, in milliseconds. */
  readonly readOnMs: number
  /** Called a moment after the first signal, if the command still runs. */
  readonly onFirst: () => void
}

/**
 * Stops the command in two steps. After the first signal, the input is read until it ends, because the program that
 * writes it usually gets the same signal and has last words. The second signal stops at once.
 */
export class Stop {
  readonly #options: StopOptions
  readonly #reading = new AbortController()
  readonly #all = new AbortController()
  readonly #timers: NodeJS.Timeout[] = []
  readonly #onSignal = (): void => this.#step()
  #firstAtMs: number | undefined

  constructor(options: StopOptions) {
    this.#options = options
    for (const signal of stopSignals) process.on(signal, this.#onSignal)
  }

  /** Aborted when no more input is to be read. */
  get reading(): AbortSignal {
    return this.#reading.signal
  }

  /** Aborted when nothing more is to be delivered either. */
  get all(): AbortSignal {
    return this.#all.signal
  }

  end(): void {
    for (const timer of this.#timers) clearTimeout(timer)
    for (const signal of stopSignals) process.off(signal, this.#onSignal)
  }

  #step(): void {
    if (this.#firstAtMs === undefined) {
      this.#firstAtMs = monotonicMs()
      const { readOnMs, onFirst } = this.#options
      this.#timers.push(setTimeout(onFirst, sameSignalMs).unref())
      this.#timers.push(setTimeout(() => this.#reading.abort(), readOnMs))
    } else if (monotonicMs() - this.#firstAtMs > sameSignalMs) {
      this.#reading.abort()
      this.#all.abort()
    }
  }
}
