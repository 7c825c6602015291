const bucketMs = 20
const windowMs = 1000
/** One bucket more than the window has: the bucket that is only partly outside the window counts fully. */
const buckets = windowMs / bucketMs + 1

/**
 * Counts the events of the last second, and of up to a fiftieth of a second more. Time is monotonic, in milliseconds.
 */
export class SlidingWindow {
  readonly #counts = new Uint32Array(buckets)
  #latest = 0
  #total = 0

  /** Counts an event. */
  add(nowMs: number): void {
    this.#advance(nowMs)
    const index = this.#latest % buckets
    this.#counts[index] = (this.#counts[index] as number) + 1
    this.#total++
  }

  /** Returns the number of events in the window. */
  count(nowMs: number): number {
    this.#advance(nowMs)
    return this.#total
  }

  /**
   * Returns the time at which the window has fewer than `max` events, if no event is added until then. `max` is at
   * least 1.
   */
  fewerAtMs(nowMs: number, max: number): number {
    let left = this.count(nowMs)
    if (left < max) return nowMs
    let bucket = this.#latest
    while (left >= max) left -= this.#counts[++bucket % buckets] as number
    return bucket * bucketMs
  }

  #advance(nowMs: number): void {
    const bucket = Math.floor(nowMs / bucketMs)
    for (let next = Math.max(this.#latest + 1, bucket - buckets + 1); next <= bucket; next++) {
      const index = next % buckets
      this.#total -= this.#counts[index] as number
      this.#counts[index] = 0
    }
    this.#latest = Math.max(this.#latest, bucket)
  }
}
