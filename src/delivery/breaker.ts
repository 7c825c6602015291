/** Retries that may be made for each answer, in the long run; what is unused is kept up to `fullBudget`. */
const retriesPerAnswer = 0.1
const fullBudget = 10
/** Failures in a row, over all connections, after which we stop asking with more than one request at a time. */
const failuresUntilOpen = 5
const firstDelayMs = 200
/** Longest wait after a failure while the process is held up for delivery. */
const urgentDelayMs = 400

/**
 * Decides when the next attempt may be made, for the whole core at once.
 *
 * Closed: batches flow, and one that failed is tried again after a wait with full jitter, as long as the retry budget
 * lasts. Open (the budget is used up, or nothing but failures): one request at a time, the probe, with waits that grow
 * with full jitter. A `Retry-After` holds everything back for as long as it says.
 *
 * Time is monotonic, in milliseconds; `random` gives numbers from 0 to 1.
 */
export class Breaker {
  readonly #maxDelayMs: number
  readonly #random: () => number
  /** Whether there is no later: waits after failures stay short. */
  isUrgent = false
  #budget = fullBudget
  #failuresInRow = 0
  #isOpen = false
  #backoffUntilMs = 0
  /** What the service asked for; no delivery of another connection shortens it. */
  #patienceUntilMs = 0

  constructor(maxDelayMs: number, random: () => number = Math.random) {
    this.#maxDelayMs = maxDelayMs
    this.#random = random
  }

  /** Whether only one request may be under way. */
  get isOpen(): boolean {
    return this.#isOpen
  }

  /** Time before which no request may start. */
  get notBeforeMs(): number {
    return Math.max(this.#backoffUntilMs, this.#patienceUntilMs)
  }

  /** Notes an answer, be it that the service refuses the batch: it can be reached. */
  onAnswered(): void {
    this.#budget = Math.min(this.#budget + retriesPerAnswer, fullBudget)
    this.#failuresInRow = 0
    this.#isOpen = false
    this.#backoffUntilMs = 0
  }

  /** Notes a failure; returns the time before which its batch should not be tried again. */
  onFailed(nowMs: number, retryAfterMs: number | undefined): number {
    if (retryAfterMs !== undefined && retryAfterMs > 0) {
      // Up to a tenth more, so that many clients that were told the same do not come back at the same moment.
      const untilMs = nowMs + retryAfterMs * (1 + 0.1 * this.#random())
      this.#patienceUntilMs = Math.max(this.#patienceUntilMs, untilMs)
      return this.#patienceUntilMs
    }
    this.#failuresInRow++
    const untilMs = nowMs + this.#fullJitter(this.#failuresInRow)
    if (this.#budget >= 1 && this.#failuresInRow < failuresUntilOpen) {
      this.#budget -= 1
      return untilMs
    }
    this.#isOpen = true
    this.#backoffUntilMs = Math.max(this.#backoffUntilMs, untilMs)
    return this.#backoffUntilMs
  }

  /** Makes the next attempt due now, unless the service itself asked for patience. */
  skipBackoff(): void {
    this.#backoffUntilMs = 0
  }

  #fullJitter(failures: number): number {
    const maxMs = this.isUrgent ? Math.min(urgentDelayMs, this.#maxDelayMs) : this.#maxDelayMs
    return this.#random() * Math.min(firstDelayMs * 2 ** Math.min(failures, 20), maxMs)
  }
}
