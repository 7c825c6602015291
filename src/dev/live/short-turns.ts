import { monotonicMs, nextTurn } from '../../time.ts'

const maxTurnMs = 10

/** Divides work into turns of the event loop, so that the service answers meanwhile. */
export class ShortTurns {
  #startMs = monotonicMs()

  /** Waits for the next turn if the present one has been used up. */
  async next(): Promise<void> {
    if (monotonicMs() - this.#startMs < maxTurnMs) return
    await nextTurn()
    this.#startMs = monotonicMs()
  }
}
