/** One request according to the service, by the service's own clock. */
export interface Arrival {
  /** Time at which its headers had arrived, in milliseconds since 1970. */
  readonly atMs: number
  /** Name of the process that made the request. */
  readonly process: string
  readonly kind: 'ingest' | 'read'
  readonly isAccepted: boolean
  /** Age of its oldest event, in milliseconds; `undefined` without a numbered event, or if the request was refused. */
  readonly oldestAgeMs: number | undefined
}

/** Counts how often each number from 0 on has arrived. */
export class SeenNumbers {
  #times = new Uint8Array(1024)
  /** Number of different numbers that have arrived. */
  distinct = 0
  /** Number of arrivals beyond the first of each number. */
  twice = 0

  add(n: number): void {
    if (n >= this.#times.length) {
      const larger = new Uint8Array(2 ** Math.ceil(Math.log2(n + 1)))
      larger.set(this.#times)
      this.#times = larger
    }
    if (this.#times[n] === 0) this.distinct++
    else this.twice++
    this.#times[n] = 1
  }
}
