const seconds = 64

/** Counts events and bytes by second, for the last minute. */
export class EventRate {
  readonly #events = new Float64Array(seconds)
  readonly #bytes = new Float64Array(seconds)
  #second = 0

  add(nowMs: number, bytes: number): void {
    const at = this.#moveTo(nowMs)
    this.#events[at] = (this.#events[at] as number) + 1
    this.#bytes[at] = (this.#bytes[at] as number) + bytes
  }

  /** Returns the events of the last whole second. */
  perSecond(nowMs: number): number {
    this.#moveTo(nowMs)
    return this.#events[(this.#second - 1) % seconds] as number
  }

  /** Returns the mean of the bytes per second over the last whole minute, or over less if there was less. */
  bytesPerSecond(nowMs: number, sinceMs: number): number {
    this.#moveTo(nowMs)
    let total = 0
    for (let back = 1; back <= 60; back++) total += this.#bytes[(this.#second - back) % seconds] as number
    const span = Math.min(Math.max(Math.floor((nowMs - sinceMs) / 1000), 1), 60)
    return total / span
  }

  /** Clears the seconds that have come since the last call. Returns the place of the present one. */
  #moveTo(nowMs: number): number {
    const second = Math.floor(nowMs / 1000)
    // A clock that was set back a little counts into the latest second. If it was set back by more, all counts are old.
    if (second < this.#second - seconds) this.#second = second - seconds
    for (let left = Math.min(second - this.#second, seconds); left > 0; left--) {
      const at = (second - left + 1) % seconds
      this.#events[at] = 0
      this.#bytes[at] = 0
    }
    if (second > this.#second) this.#second = second
    return this.#second % seconds
  }
}
