import { monotonicMs, nextTurn } from '../time.ts'

const sliceMs = 8

/** Divides long work into slices. Other requests are served between them. */
export class Slices {
  #endMs = monotonicMs() + sliceMs

  /** True if the slice has ended, and the work must wait for the next one. */
  get isOver(): boolean {
    return monotonicMs() >= this.#endMs
  }

  async next(): Promise<void> {
    await nextTurn()
    this.#endMs = monotonicMs() + sliceMs
  }
}
