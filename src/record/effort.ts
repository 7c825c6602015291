import { monotonicMs } from '../time.ts'

/** Maximum work of one log call, in units. A unit is the time it takes to read and copy a number, 0.1 to 0.2 µs. */
const maxUnits = 100_000
/** Maximum time for application code (accessors, `toJSON`, proxy traps) during one log call, in milliseconds. */
const maxMs = 40
/**
 * Maximum time that counts between two readings of the clock, in milliseconds. A single pause of the runtime must not
 * cost an event any member.
 */
const maxStepMs = 10
/**
 * Age of an effort, in milliseconds, up to which waiting for a processor does not count. In an older effort,
 * application code itself may be waiting.
 */
const maxWaitMs = 250
/** Time is up if less than this is left, in milliseconds: parts of parts never reach zero. */
const minMs = 0.5
/** Units that every walk may spend, even if fewer are left. */
const minUnits = 10_000
/** Time that every walk may take, in milliseconds, even if less is left. */
const minWalkMs = 5
/** Number of steps between two readings of the clock, and number of first steps after each of which the clock is read. */
const stepsPerClock = 8
/**
 * Time between two readings of the clock that does not count, in milliseconds. Steps without application code take no
 * longer.
 */
const freeMsPerClock = 0.001 * stepsPerClock

/** Time between two readings of the clock from which on the clock is read after each step, in milliseconds. */
const slowMs = 0.5

/** A part of an effort that is set aside for later work. */
interface Reserve {
  readonly units: number
  readonly ms: number
}

/**
 * The effort that one log call may still spend on the objects it was given. Log calls made within that call share its
 * effort.
 *
 * Units are the main limit, because they are the same on every machine. The limit on time is for work that cannot be
 * counted: application code that takes long, again and again.
 */
export class Effort {
  #units = maxUnits
  #leftMs = maxMs
  readonly #startedAtMs = monotonicMs()
  /** Time that counted since `#waits` began. */
  #spentMs = 0
  #waits: Waits | undefined
  #sinceMs = this.#startedAtMs
  #steps = 0
  /** True if steps took long at the last reading of the clock, which is then read after each step. */
  #isSlow = false

  /** Number of units left. Negative if a caller has overspent. */
  get units(): number {
    return this.#units
  }

  /** True if no units or no time are left. */
  get isSpent(): boolean {
    return this.#units <= 0 || this.#leftMs < minMs
  }

  spend(units: number): void {
    this.#units -= units
  }

  /** Counts time that reading the event took before: at most as much as one step, because the thread may have waited. */
  spendTime(ms: number): void {
    this.#leftMs -= Math.min(ms, maxStepMs)
  }

  /** Pays for `total` members, with at most half of the units left. Returns the number of members paid for. */
  afford(total: number, unitsEach = 1): number {
    const count = Math.min(total, Math.floor(Math.max(this.#units, 0) / 2 / unitsEach))
    this.#units -= count * unitsEach
    return count
  }

  /**
   * Limits the effort to `units`, and sets the other units aside until `giveBack`.
   *
   * At least `minUnits` and `minWalkMs` remain in any case. Missing units and time are borrowed until `giveBack`,
   * because a log call that has begun must be able to copy the start of its event.
   */
  limitTo(units: number): Reserve {
    const allowed = Math.max(Math.min(units, this.#units), minUnits)
    return this.#setAside({ units: this.#units - allowed, ms: Math.min(this.#leftMs - minWalkMs, 0) })
  }

  /** Sets aside a quarter of the units and of the time left, until `giveBack`. */
  reserve(): Reserve {
    return this.#setAside({ units: this.#units / 4, ms: this.#leftMs / 4 })
  }

  /**
   * Adds a reserve back to the effort. Overspending is forgiven first, because later work must find the whole reserve.
   */
  giveBack({ units, ms }: Reserve): void {
    this.#units = Math.max(this.#units, 0) + units
    this.#leftMs = Math.max(this.#leftMs, 0) + ms
  }

  #setAside(reserve: Reserve): Reserve {
    this.#units -= reserve.units
    this.#leftMs -= reserve.ms
    return reserve
  }

  /** True if the time is up. Called after each step that may run application code. */
  isLate(): boolean {
    const steps = ++this.#steps
    if (this.#isSlow || steps < stepsPerClock || steps % stepsPerClock === 0) this.readClock()
    return this.#leftMs < minMs
  }

  readClock(): void {
    const nowMs = monotonicMs()
    const passedMs = Math.max(nowMs - this.#sinceMs - freeMsPerClock, 0)
    const spentMs = Math.min(passedMs, maxStepMs)
    this.#sinceMs = nowMs
    this.#isSlow = passedMs > slowMs
    if (spentMs === 0) return
    this.#leftMs -= spentMs
    // Reading the processor time takes as long as copying a small object, so the first steps that take long count in full.
    if (this.#waits === undefined) this.#waits = new Waits(nowMs)
    else this.#spentMs += spentMs
    if (this.#leftMs >= minMs || nowMs - this.#startedAtMs >= maxWaitMs) return
    const forgivenMs = this.#waits.forgive(nowMs, this.#spentMs)
    this.#spentMs -= forgivenMs
    this.#leftMs += forgivenMs
  }
}

/**
 * The time during which this thread waited for a processor. It is forgiven, because a busy machine must not be the
 * reason for a cut.
 */
class Waits {
  /**
   * The clock minus the processor time, in milliseconds, as it was at the beginning, plus the waits that were forgiven since.
   * The present difference is greater by the waits that were not forgiven.
   */
  #differenceMs: number

  constructor(nowMs: number) {
    this.#differenceMs = nowMs - cpuMs()
  }

  /** Forgives at most `maxMs` of the waits so far, each once. Returns how much. */
  forgive(nowMs: number, maxMs: number): number {
    const waitedMs = nowMs - cpuMs() - this.#differenceMs
    const forgivenMs = Math.min(Math.max(waitedMs, 0), maxMs)
    this.#differenceMs += forgivenMs
    return forgivenMs
  }
}

/**
 * Returns the processor time used so far, in milliseconds: of this thread, or of all threads if Node has no
 * `process.threadCpuUsage`.
 */
export function cpuMs(): number {
  const { user, system } = process.threadCpuUsage?.() ?? process.cpuUsage()
  return (user + system) / 1000
}
