import { Effort } from './effort.ts'

/** Log calls that may be made one within the other. */
const maxDepth = 8
/** Log calls that may be made within others before a logger's queue is empty again. */
const maxQueued = 1000
/** What a log call that is made within another takes of their effort besides its walks: at most 1000 can be made. */
const innerCallLooks = 100

/** How many log calls are under way, one within the other. */
export const logCalls = { depth: 0 }
let effort: Effort | undefined

/**
 * Begins a log call. False if it must not be made: an accessor, a `toJSON` or a listener that runs within another log call
 * has logged too deep, or too often. If true, `logCalls.depth--` must follow: where the stack ends, no function could be
 * called for it.
 */
export function beginLogCall(): boolean {
  if (logCalls.depth === 0) {
    effort = undefined
  } else {
    const shared = effortOfLogCall()
    shared.spend(innerCallLooks)
    shared.readClock()
    if (logCalls.depth >= maxDepth || shared.isSpent) return false
  }
  logCalls.depth++
  return true
}

/** What the outermost of the log calls that are under way may still spend, with all within it. */
export function effortOfLogCall(): Effort {
  if (logCalls.depth === 0) return new Effort()
  effort ??= new Effort()
  return effort
}

/**
 * Follows log calls whose logger is busy with another: what an accessor logs waits in the logger's queue until that one has been
 * taken. It is no less within it: if it has the same accessor, the queue never ends.
 */
export class QueuedLogCalls {
  /** How deep the calls at the head of the queue are, and how many of them are left. */
  #depth = 0
  #left = 0
  /** How many calls have been queued that are one deeper. */
  #deeper = 0
  /** How many calls have been queued since the queue was empty. */
  #total = 0

  /** Begins the call at the head of the queue. False if it must not be made; `end` follows in either case. */
  begin(): boolean {
    return this.#left === 0 || (this.#depth < maxDepth && this.#total <= maxQueued)
  }

  /** @param queued how many calls were queued during this one */
  end(queued: number): void {
    if (queued > 0) {
      this.#deeper += queued
      this.#total += queued
    }
    if (this.#left > 0) this.#left--
    if (this.#left > 0) return
    this.#depth = this.#deeper === 0 ? 0 : this.#depth + 1
    this.#left = this.#deeper
    this.#deeper = 0
    if (this.#left === 0) this.#total = 0
  }
}
