import { monotonicMs, setTimeout } from '../time.ts'

const restEveryMs = 5

/** Rests between the steps of long work. A process with nothing else to do ends in such a rest. */
export class Rests {
  #restAtMs: number

  /** @param startedAtMs time at which the work began; monotonic. Without it, the first rest is due at once */
  constructor(startedAtMs = Number.NEGATIVE_INFINITY) {
    this.#restAtMs = startedAtMs + restEveryMs
  }

  /** Returns a promise to await if the event loop must have its turn, as it must every few milliseconds. */
  due(): Promise<void> | undefined {
    return monotonicMs() < this.#restAtMs ? undefined : this.#rest()
  }

  async #rest(): Promise<void> {
    await new Promise(resolve => setTimeout(resolve, 0).unref())
    this.#restAtMs = monotonicMs() + restEveryMs
  }
}
