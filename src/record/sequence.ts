import { wallClockMs } from './clock.ts'

/**
 * The six digits below a millisecond are shared out: even numbers to lines logged live, odd numbers to the others. So both
 * begin at the millisecond itself, and are a few nanoseconds away from it.
 */
const half = 500_000

/** A clock set back by this or less (NTP does that) is not followed: time stands still until it has caught up. */
const hiddenStepBackMs = 10_000

/**
 * A clock set back by more is followed at once: it was wrong, and a process that started in the wrong year must not stay
 * there. Then milliseconds come again. So the digits of live lines are divided into this many laps, and lines that pass
 * through the same time once more have digits of another lap.
 */
const laps = 10
const digitsPerLap = half / laps

/** Milliseconds of lines that bring their own time, whose counts are remembered. */
const maxCounts = 1000

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
  #liveDigits = 0
  #lap = 0
  /** The latest millisecond of each lap. Within a lap, time only ever increases. */
  readonly #latestMs = new Float64Array(laps)
  /** How many lines there were in each of the latest milliseconds of those that bring their own time. */
  readonly #counts = new Map<number, number>()
  /** No millisecond whose count has been forgotten had more lines: there a count goes on from here. */
  #forgotten = 0

  constructor(now: () => number = wallClockMs) {
    this.now = now
  }

  /**
   * For a line logged now: unlike all others, and later than the one before, unless the clock was set back by more than ten
   * seconds since.
   */
  live(ms: number): void {
    if (ms > this.#liveMs) this.#goOn(ms)
    else if (ms >= this.#liveMs - hiddenStepBackMs || !this.#goBack(ms)) this.#countOn()
    this.ms = this.#liveMs
    this.digits = 2 * this.#liveDigits
  }

  /**
   * For a line that brings its own time. One that follows the last live line continues the same count. One that comes
   * late (from a batch, from a backfill) or from the future keeps its own millisecond and must not move the live clock.
   */
  recorded(ms: number): void {
    if (ms === this.#liveMs || (ms > this.#liveMs && ms <= this.now())) return this.live(ms)
    this.ms = ms
    this.digits = 2 * this.#count(ms) + 1
  }

  /** How many lines have brought this millisecond. */
  #count(ms: number): number {
    const known = this.#counts.get(ms)
    if (known === undefined && this.#counts.size === maxCounts) this.#forgetCounts()
    const count = known ?? this.#forgotten
    this.#counts.set(ms, (count + 1) % half)
    return count
  }

  /** Streams that alternate stay unique, as no count begins where one may have been. After half a million it must. */
  #forgetCounts(): void {
    for (const count of this.#counts.values()) this.#forgotten = Math.max(this.#forgotten, count)
    if (this.#forgotten > 0.9 * half) this.#forgotten = 0
    this.#counts.clear()
  }

  #goOn(ms: number): void {
    if (this.#lap > 0 && ms > (this.#latestMs[0] as number)) this.#beginLap(0)
    this.#liveMs = ms
    this.#liveDigits = this.#lap * digitsPerLap
  }

  #countOn(): void {
    if (++this.#liveDigits === (this.#lap + 1) * digitsPerLap) this.#goOn(this.#liveMs + 1)
  }

  /** Follows the clock back, in a lap that has not been there. `false` without one: time stands still then. */
  #goBack(ms: number): boolean {
    this.#latestMs[this.#lap] = this.#liveMs
    const lap = this.#latestMs.findIndex(latestMs => latestMs < ms)
    if (lap < 0) return false
    this.#beginLap(lap)
    this.#goOn(ms)
    return true
  }

  #beginLap(lap: number): void {
    this.#latestMs[this.#lap] = this.#liveMs
    this.#lap = lap
  }
}
