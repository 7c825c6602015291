import { Effort } from './effort.ts'

/** Maximum number of log calls made one within the other. */
export const maxDepth = 8
/** Maximum number of log calls queued within others before a logger's queue is empty again. */
export const maxQueued = 1000
/**
 * Units that a nested log call takes from the shared effort, besides its walks. The effort thus allows at most 1000
 * nested calls.
 */
const innerCallUnits = 100

/** Number of log calls under way, one within the other. */
export const logCalls = { depth: 0 }
let effort: Effort | undefined

/**
 * Begins a log call. Returns false if the call must not be made, because an accessor, a `toJSON` or a listener has
 * logged too deep or too often.
 *
 * If this function returns true, `logCalls.depth--` must follow. That is a statement because no function can be called
 * where the stack ends.
 */
export function beginLogCall(): boolean {
  if (logCalls.depth === 0) {
    effort = undefined
  } else {
    const shared = effortOfLogCall()
    shared.spend(innerCallUnits)
    shared.readClock()
    if (logCalls.depth >= maxDepth || shared.isSpent) return false
  }
  logCalls.depth++
  return true
}

/** Returns the effort of the outermost log call under way. All log calls within that call share it. */
export function effortOfLogCall(): Effort {
  if (logCalls.depth === 0) return new Effort()
  effort ??= new Effort()
  return effort
}

/** Runs a step of a log call with three quarters of the effort left. The rest is for the work on its result. */
export function sparingly<T>(step: () => T): T {
  const shared = effortOfLogCall()
  const reserve = shared.reserve()
  try {
    return step()
  } finally {
    shared.giveBack(reserve)
  }
}

/**
 * Tracks log calls that wait in a logger's queue because the logger is busy with another call. If an accessor logs, its
 * call waits there until the call that reads the accessor is done. The waiting call still counts as nested: if its
 * event has the same accessor, the queue would never end.
 *
 * Several transports of a logger get the same info, one after the other.
 */
export class QueuedLogCalls {
  /** The info of the call under way, or of the last one; `undefined` if no calls are queued. */
  #info: object | undefined
  /** Depth of the calls at the head of the queue. */
  #depth = 0
  /** Number of calls left at that depth, with the call under way. */
  #left = 0
  /** Number of queued calls that are one level deeper. */
  #deeper = 0
  /** Number of calls queued since the queue was last empty. */
  #total = 0

  /**
   * Begins the call at the head of the queue. Returns false if it must not be made. `end` follows in either case.
   *
   * @param isFromQueue returns false if the call has not waited. Queued calls that are still counted have then ended
   * elsewhere: they were below the level of the transport, or a format of the logger has dropped them
   */
  begin(info: object, isFromQueue: () => boolean): boolean {
    if (info !== this.#info) {
      this.#info = info
      if (this.#left + this.#deeper > 0) {
        if (!isFromQueue()) this.#left = this.#deeper = 0
        this.#goOn()
      }
    }
    return this.#left === 0 || (this.#depth < maxDepth && this.#total <= maxQueued)
  }

  /** @param queued number of calls that were queued during this call */
  end(queued: number): void {
    if (queued > 0) {
      this.#deeper += queued
      this.#total += queued
    }
    if (this.#deeper === 0 && this.#left === 0) this.#info = undefined
  }

  /** Goes on to the next call: every transport has had the one before. */
  #goOn(): void {
    if (this.#left > 0) this.#left--
    if (this.#left > 0) return
    this.#depth = this.#deeper === 0 ? 0 : this.#depth + 1
    this.#left = this.#deeper
    this.#deeper = 0
    if (this.#left === 0) this.#total = 0
  }
}
