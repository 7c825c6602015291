/** What became of one request, and what is left for the next ones. */
export interface Place {
  admitted: boolean
  /** Requests that the window still takes: an integer from 0. */
  remaining: number
  /** When the next window begins, in seconds since the epoch. */
  resetsAtSeconds: number
}

/**
 * Counts requests in fixed windows: the seconds of the clock, so that a window ends at a whole second as the headers
 * say it. Requests that are turned away take no place in it.
 */
export class RequestWindow {
  #second = 0
  #admitted = 0

  take(limit: number, nowMs: number): Place {
    const second = Math.floor(nowMs / 1000)
    if (second !== this.#second) {
      this.#second = second
      this.#admitted = 0
    }
    const admitted = this.#admitted < limit
    if (admitted) this.#admitted += 1
    return { admitted, remaining: Math.max(0, limit - this.#admitted), resetsAtSeconds: second + 1 }
  }
}
