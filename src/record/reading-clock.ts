import { monotonicMs } from '../time.ts'

/**
 * Number of members between two readings of the clock. They take 10 µs or less, unless an accessor or a proxy is slow.
 */
export const membersPerClock = 64
/**
 * Nesting depth from which on each object is timed. A cycle through a large object lists the object's names once for
 * each level.
 */
export const deep = 8
/** Maximum time between two readings of the clock, in milliseconds. */
const maxMsPerClock = 3
/** Maximum time since the first reading of the clock, in milliseconds. */
const maxMs = 10

/** Tells if reading an object of the application takes long. `SafeCopy`, which limits that time, then copies the object. */
export class ReadingClock {
  /** Time between the first and the last reading of the clock, in milliseconds, if reading took long; else 0. */
  slowMs = 0
  #startedAtMs = 0
  #readAtMs = 0

  /** Begins an object. */
  begin(): void {
    this.#startedAtMs = 0
    this.slowMs = 0
  }

  /** Reads the clock. Returns true if the time since the last or since the first reading is too long. */
  isSlow(): boolean {
    const nowMs = monotonicMs()
    const isFirst = this.#startedAtMs === 0
    if (isFirst) this.#startedAtMs = nowMs
    const isSlow = !isFirst && (nowMs - this.#readAtMs > maxMsPerClock || nowMs - this.#startedAtMs > maxMs)
    this.#readAtMs = nowMs
    if (isSlow) this.slowMs = nowMs - this.#startedAtMs
    return isSlow
  }
}
