/** The result for one request, and the capacity that is left for the next requests. */
export interface Place {
  admitted: boolean
  /** Requests that the window still admits: an integer from 0. */
  remaining: number
  /** The start of the next window, in seconds since the epoch. */
  resetsAtSeconds: number
}

/**
 * Counts requests in fixed windows. Each window is one second of the clock, so that it ends at a whole second, the unit
 * of the headers. Refused requests are not counted.
 */
export class RequestWindow {
  #second = 0
  #admitted = 0

  admit(limit: number, nowMs: number): Place {
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
