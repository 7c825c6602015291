/**
 * Minimum time of an observation, in milliseconds. It is longer than a `Retry-After` of one second that another process
 * waits out.
 */
const minObservationMs = 3000
/** Minimum number of answers in an observation. */
const minAnswers = 5
/** Part of a window that is left free. */
const keptFree = 0.03

/**
 * Measures the part of a shared limit that no process uses, by the answers of the service. Answers come at any moment of
 * the service's window, so only the minimum of several answers shows that part. Time is monotonic, in milliseconds.
 */
export class FreePart {
  #minimum = 1
  #answers = 0
  #sinceMs = 0

  /** Starts a new observation. */
  restart(nowMs: number): void {
    this.#minimum = 1
    this.#answers = 0
    this.#sinceMs = nowMs
  }

  /**
   * Notes the part of a window that an answer says is free, from 0 to 1. At the end of an observation, returns the part
   * that is surely free, which may be negative, and starts a new observation; until then returns `undefined`.
   */
  observe(nowMs: number, free: number): number | undefined {
    this.#minimum = Math.min(this.#minimum, free)
    if (++this.#answers < minAnswers || nowMs - this.#sinceMs < minObservationMs) return undefined
    // For n random moments of a window that is fully used, the minimum is 1 / (n + 1) on average.
    const surelyFree = this.#minimum - keptFree - 1.6 / this.#answers
    this.restart(nowMs)
    return surelyFree
  }
}
