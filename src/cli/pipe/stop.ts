import { clearTimeout, setTimeout } from '../../time.ts'
import { onStopSignals, sameSignalMs } from '../stop-signals.ts'

export interface StopOptions {
  /** Maximum time after a signal for which the input is read on, in milliseconds. */
  readonly readOnMs: number
  /** Called a moment after the first signal, if the command still runs. */
  readonly onFirst: () => void
}

/**
 * Stops the command in steps. After the first signal, the input is read until it ends, because the program that
 * writes it usually gets the same signal and has last words. The second signal stops at once. The third one ends the
 * process, should that take long.
 */
export class Stop {
  readonly #reading = new AbortController()
  readonly #all = new AbortController()
  readonly #timers: NodeJS.Timeout[] = []
  readonly #stopListening: () => void

  constructor({ readOnMs, onFirst }: StopOptions) {
    this.#stopListening = onStopSignals(({ count, end }) => {
      if (count === 1) {
        this.#timers.push(setTimeout(onFirst, sameSignalMs).unref())
        this.#timers.push(setTimeout(() => this.#reading.abort(), readOnMs))
      } else if (count === 2) {
        this.#reading.abort()
        this.#all.abort()
      } else end()
    })
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
    this.#stopListening()
  }
}
