import { nextTurn } from '../../time.ts'

/** Lets long tasks run in turn, one slice in each turn of the event loop, so that requests are served between slices. */
export class Turns {
  #last: Promise<unknown> = Promise.resolve()

  /** Waits for the caller's next turn. */
  next(): Promise<void> {
    const turn = this.#last.then(() => nextTurn())
    this.#last = turn
    return turn
  }
}
