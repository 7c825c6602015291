import { wallClockMs } from './clock.ts'

/**
 * Number of digits for each kind of line. The six digits below a millisecond are shared: even numbers for lines logged
 * live, odd numbers for other lines. So both kinds start at the millisecond itself, and stay a few nanoseconds away
 * from it.
 */
const half = 500_000

/**
 * Maximum step back of the clock that is not followed, in milliseconds (NTP makes such steps). Time stands still until
 * the clock has caught up.
 */
const hiddenStepBackMs = 10_000

/**
 * Number of laps into which the digits of live lines are divided.
 *
 * A clock set back by more than `hiddenStepBackMs` is followed at once: it was wrong. A process that started in the
 * wrong year must not stay there. Milliseconds then repeat. So lines that pass through the same time again take digits
 * of another lap.
 */
const laps = 10
const digitsPerLap = half / laps

/** Maximum number of milliseconds whose counts are remembered, for lines that bring their own time. */
const maxCounts = 1000

/**
 * Makes unique digits for times that are known only to the millisecond.
 *
 * A call leaves its result in `ms` and `digits`, because returning both would cost an allocation for every line.
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
  /** Latest millisecond of each lap. Within a lap, time only increases. */
  readonly #latestMs = new Float64Array(laps)
  /** Number of lines in each of the latest milliseconds, for lines that bring their own time. */
  readonly #counts = new Map<number, number>()
  /** Maximum of the forgotten counts. The count of a new millisecond starts here. */
  #forgotten = 0

  constructor(now: () => number = wallClockMs) {
    this.now = now
  }

  /**
   * Sets the time of a line logged now. The time is different from all others, and later than the one before, unless
   * the clock was set back by more than ten seconds since.
   */
  live(ms: number): void {
    if (ms > this.#liveMs) this.#goOn(ms)
    else if (ms >= this.#liveMs - hiddenStepBackMs || !this.#goBack(ms)) this.#countOn()
    this.ms = this.#liveMs
    this.digits = 2 * this.#liveDigits
  }

  /**
   * Sets the time of a line that brings its own time. A line that follows the last live line continues the same count.
   * A line that comes late (from a batch, from a backfill) or from the future keeps its own millisecond. It must not
   * move the live clock.
   */
  recorded(ms: number): void {
    if (ms === this.#liveMs || (ms > this.#liveMs && ms <= this.now())) return this.live(ms)
    this.ms = ms
    this.digits = 2 * this.#count(ms) + 1
  }

  /** Returns the number of lines that have brought this millisecond, and counts one more. */
  #count(ms: number): number {
    const known = this.#counts.get(ms)
    if (known === undefined && this.#counts.size === maxCounts) this.#forgetCounts()
    const count = known ?? this.#forgotten
    this.#counts.set(ms, (count + 1) % half)
    return count
  }

  /**
   * Forgets all counts. Later counts start at the highest forgotten one, so that alternating streams stay unique. If
   * that one is above 90 % of the digits, counts start at 0 again.
   */
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

  /**
   * Follows the clock back, in a lap whose times are all earlier. Returns false if there is no such lap, and time
   * stands still.
   */
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
