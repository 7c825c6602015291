/** The six digits below a millisecond are shared out: the lower half to lines logged live, the upper half to the others. */
const half = 500_000

/** A clock set back by this or less (NTP does that) is not followed: time stands still until it has caught up. */
const hiddenStepBackMs = 10_000

/**
 * Unique digits for times that are known only to the millisecond.
 *
 * The answer to a call is left in `ms` and `digits`, because returning both would cost an allocation for every line.
 */
export class Sequence {
  /** Milliseconds since 1970. */
  ms = 0
  /** The six digits below the millisecond, 0 to 999 999. */
  digits = 0
  readonly now: () => number
  #liveMs = 0
  #liveCount = 0
  #otherMs = 0
  #otherCount = 0

  constructor(now: () => number = Date.now) {
    this.now = now
  }

  /** For a line logged now: always later than the one before, unless the clock was set back by more than ten seconds. */
  live(ms: number): void {
    if (ms > this.#liveMs || ms < this.#liveMs - hiddenStepBackMs) {
      this.#liveMs = ms
      this.#liveCount = 0
    } else if (++this.#liveCount === half) {
      this.#liveMs++
      this.#liveCount = 0
    }
    this.ms = this.#liveMs
    this.digits = this.#liveCount
  }

  /**
   * For a line that brings its own time. One that follows the last live line continues the same count. One that comes
   * late (from a batch, from a backfill) or from the future keeps its own millisecond and must not move the live clock.
   */
  recorded(ms: number): void {
    if (ms === this.#liveMs || (ms > this.#liveMs && ms <= this.now())) return this.live(ms)
    // The count goes on from one millisecond to the next, so that streams that alternate stay unique. It starts again
    // between two of them where it can, because within one their order would be lost.
    const startsAgain = ms !== this.#otherMs && this.#otherCount > 0.9 * half
    this.#otherCount = startsAgain ? 0 : (this.#otherCount + 1) % half
    this.#otherMs = ms
    this.ms = ms
    this.digits = half + this.#otherCount
  }
}
