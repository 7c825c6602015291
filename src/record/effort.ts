import { monotonicMs } from '../time.ts'

/** Most looks of one log call. A look is what it takes to read and copy a number, 0.1 to 0.2 µs. */
const maxLooks = 100_000
/** Most time that the application's own code may take meanwhile: accessors, `toJSON`, the traps of a proxy. */
const maxMs = 40
/** One step counts for no more than this: a single pause of the runtime costs an event nothing. */
const maxStepMs = 10
/** For so long, time that the thread waited for a processor does not count. Longer, code of the application waits itself. */
const maxWaitMs = 250
/** With less time left, it is up: halves of halves never reach zero. */
const minMs = 0.5
/** What a walk may spend in any case. */
const minLooks = 10_000
const minWalkMs = 5
const stepsPerClock = 8
/** What a step takes without code of the application, or less, does not count. */
const freeMsPerClock = 0.001 * stepsPerClock

/** A part of an effort that is left to what comes later. */
export interface Reserve {
  readonly looks: number
  readonly ms: number
}

/**
 * What one log call may still spend on the objects it was given, together with the log calls that are made within it.
 *
 * Looks are the limit in the first place, as they are the same on every machine. The time is for what cannot be counted:
 * code of the application that takes long, again and again.
 */
export class Effort {
  #looks = maxLooks
  #leftMs = maxMs
  #spentMs = 0
  readonly #startedAtMs = monotonicMs()
  readonly #startedAtCpuMs = cpuMs()
  #sinceMs = this.#startedAtMs
  #steps = 0

  /** Looks that are left. */
  get looks(): number {
    return this.#looks
  }

  /** True when nothing more is to be looked at. */
  get isSpent(): boolean {
    return this.#looks <= 0 || this.#leftMs < minMs
  }

  spend(looks: number): void {
    this.#looks -= looks
  }

  /** Pays for `total` members, or spends half of the looks that are left. Returns the number of members paid for. */
  afford(total: number, looksEach = 1): number {
    const count = Math.min(total, Math.floor(Math.max(this.#looks, 0) / 2 / looksEach))
    this.#looks -= count * looksEach
    return count
  }

  /**
   * Sets aside all but `looks`, and borrows what is missing from `minLooks` and `minWalkMs`: a log call that has begun can
   * tell the start of its event. `giveBack` returns both.
   */
  limitTo(looks: number): Reserve {
    const allowed = Math.max(Math.min(looks, this.#looks), minLooks)
    return this.#setAside({ looks: this.#looks - allowed, ms: Math.min(this.#leftMs - minWalkMs, 0) })
  }

  /** Sets aside a quarter of what is left. `giveBack` returns it. */
  reserve(): Reserve {
    return this.#setAside({ looks: this.#looks / 4, ms: this.#leftMs / 4 })
  }

  /** What was spent beyond the rest is forgiven: a reserve is there for what comes later, whatever came before. */
  giveBack({ looks, ms }: Reserve): void {
    this.#looks = Math.max(this.#looks, 0) + looks
    this.#leftMs = Math.max(this.#leftMs, 0) + ms
  }

  #setAside(reserve: Reserve): Reserve {
    this.#looks -= reserve.looks
    this.#leftMs -= reserve.ms
    return reserve
  }

  /** True when the time is up. Called after each step that may run code of the application. */
  isLate(): boolean {
    if (++this.#steps % stepsPerClock === 0) this.readClock()
    return this.#leftMs < minMs
  }

  readClock(): void {
    const nowMs = monotonicMs()
    const spentMs = Math.min(Math.max(nowMs - this.#sinceMs - freeMsPerClock, 0), maxStepMs)
    this.#sinceMs = nowMs
    this.#spentMs += spentMs
    this.#leftMs -= spentMs
    if (this.#leftMs < minMs && nowMs - this.#startedAtMs < maxWaitMs) this.#forgiveWaits()
  }

  /** On a busy machine the clock goes on while this thread does not: an event must not be cut for that. */
  #forgiveWaits(): void {
    const waitedMs = Math.max(this.#spentMs - (cpuMs() - this.#startedAtCpuMs), 0)
    this.#spentMs -= waitedMs
    this.#leftMs += waitedMs
  }
}

/** Time that a processor has worked: for this thread, or for all of them on versions of Node that do not tell. */
function cpuMs(): number {
  const { user, system } = process.threadCpuUsage?.() ?? process.cpuUsage()
  return (user + system) / 1000
}
