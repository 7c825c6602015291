/** Number of retries that each answer allows in the long run; unused retries are kept up to `fullBudget`. */
const retriesPerAnswer = 0.1
const fullBudget = 10
/** Number of failures in a row, over all connections, after which only one request at a time is made. */
const failuresUntilOpen = 5
const firstDelayMs = 200
/** Minimum `Retry-After` that takes the place of the waits below, in milliseconds. */
const minAskedMs = 1000
/** Maximum wait after a failure before a deadline, in milliseconds: a later attempt may come too late. */
const urgentDelayMs = 400
/** Maximum wait after a failure while memory is so short that events are dropped, in milliseconds. */
const maxDelayIfShortMs = 5000

/**
 * Decides when the next attempt may be made, for the whole core at once.
 *
 * Closed: batches are sent. A failed batch is tried again after a wait with full jitter, as long as the retry budget
 * lasts.
 *
 * Open, because the budget is used up or several requests in a row failed: one request at a time is made as a probe.
 * The waits grow, with full jitter.
 *
 * A `Retry-After` holds every request back for as long as it says.
 *
 * Time is monotonic, in milliseconds; `random` returns numbers from 0 to 1.
 */
export class Breaker {
  readonly #maxDelayMs: number
  readonly #random: () => number
  readonly #isMemoryShort: () => boolean
  #budget = fullBudget
  #failuresInRow = 0
  /** Number of failures in a row that count for the waits: requests that were in flight together count once. */
  #failedRounds = 0
  /** Time of the last of them. */
  #failedAtMs = Number.NEGATIVE_INFINITY
  #isOpen = false
  #backoffUntilMs = 0
  /** Time until which the service asked to wait. An answer on another connection does not shorten this wait. */
  #askedUntilMs = 0
  /** The deadline that `setDeadline` has set. */
  #endMs = Number.NEGATIVE_INFINITY

  /** @param isMemoryShort returns true while memory is so short that events are dropped: each second then costs events */
  constructor(maxDelayMs: number, random: () => number = Math.random, isMemoryShort: () => boolean = () => false) {
    this.#maxDelayMs = maxDelayMs
    this.#random = random
    this.#isMemoryShort = isMemoryShort
  }

  /** True if only one request may be in flight. */
  get isOpen(): boolean {
    return this.#isOpen
  }

  /** Time before which no request may start. */
  get notBeforeMs(): number {
    return Math.max(this.#backoffUntilMs, this.#askedUntilMs)
  }

  /** Time until which the service asked to wait. */
  get askedUntilMs(): number {
    return this.#askedUntilMs
  }

  /** Notes an answer. Even an answer that refuses the batch shows that the service can be reached. */
  onAnswered(): void {
    this.#budget = Math.min(this.#budget + retriesPerAnswer, fullBudget)
    this.#failuresInRow = 0
    this.#failedRounds = 0
    this.#failedAtMs = Number.NEGATIVE_INFINITY
    this.#isOpen = false
    this.#backoffUntilMs = 0
  }

  /** Notes the failure of a request. Returns the time before which its batch must not be tried again. */
  onFailed(nowMs: number, retryAfterMs: number | undefined, startedAtMs: number): number {
    this.#failuresInRow++
    if (startedAtMs >= this.#failedAtMs) {
      this.#failedRounds++
      this.#failedAtMs = nowMs
    }
    const staysClosed = this.#budget >= 1 && this.#failuresInRow < failuresUntilOpen
    if (staysClosed) this.#budget -= 1
    else this.#isOpen = true
    if (retryAfterMs !== undefined && retryAfterMs >= minAskedMs) {
      // Up to a tenth more, so that many clients that received the same `Retry-After` do not return at the same moment.
      const untilMs = nowMs + retryAfterMs * (1 + 0.1 * this.#random())
      this.#askedUntilMs = Math.max(this.#askedUntilMs, untilMs)
      return this.#askedUntilMs
    }
    const untilMs = nowMs + Math.max(this.#fullJitter(nowMs), retryAfterMs ?? 0)
    if (staysClosed) return untilMs
    this.#backoffUntilMs = Math.max(this.#backoffUntilMs, untilMs)
    return this.#backoffUntilMs
  }

  /**
   * Makes the next attempt due now, unless the service itself asked to wait. Waits after failures stay short until
   * `endMs`, the deadline for delivery.
   */
  setDeadline(endMs: number): void {
    this.#endMs = endMs
    this.#backoffUntilMs = 0
  }

  /** Forgets the deadline, because nothing waits for it any more. */
  clearDeadline(): void {
    this.#endMs = Number.NEGATIVE_INFINITY
  }

  #fullJitter(nowMs: number): number {
    return this.#random() * Math.min(firstDelayMs * 2 ** Math.min(this.#failedRounds - 1, 20), this.#maxMs(nowMs))
  }

  #maxMs(nowMs: number): number {
    if (nowMs < this.#endMs) return Math.min(urgentDelayMs, this.#maxDelayMs)
    return this.#isMemoryShort() ? Math.min(maxDelayIfShortMs, this.#maxDelayMs) : this.#maxDelayMs
  }
}
