import type { BatchQueue } from '../batch/batch-queue.ts'
import type { MemoryBudget } from '../batch/memory-budget.ts'
import { NativePromise } from '../native-promise.ts'
import type { Spool } from '../spool/spool.ts'
import { clearTimeout, setTimeout } from '../time.ts'

/** Share of the memory up to which events have room. It is below the share at which events are dropped. */
const maxMemoryShare = 0.7
/** Share of the spool up to which events have room, if memory is more than half as large as the spool. */
const minSpoolShare = 0.5
/** Interval between two checks, in milliseconds. Nothing else shows that a disk can be used again. */
const checkEveryMs = 500

interface RoomDeps {
  readonly memory: MemoryBudget
  readonly batchQueue: BatchQueue
  readonly spool: Spool | undefined
  /** The option `spool.maxBytes`. */
  readonly maxSpoolBytes: number | undefined
}

/**
 * Room for the events of a caller that can wait, such as a program that reads its events. No event is dropped for lack
 * of room if its caller waits for room first. The spool always has room for all events in memory.
 */
export class Room {
  readonly #deps: RoomDeps
  readonly #maxMemoryBytes: number
  readonly #maxSpooledBytes: number
  readonly #waiters = new Set<() => void>()

  constructor(deps: RoomDeps) {
    const { memory, maxSpoolBytes = Number.POSITIVE_INFINITY } = deps
    this.#deps = deps
    this.#maxMemoryBytes = memory.maxBytes * maxMemoryShare
    this.#maxSpooledBytes = Math.max(maxSpoolBytes - memory.maxBytes, maxSpoolBytes * minSpoolShare)
  }

  /** True if an event may be shipped now. */
  get isFree(): boolean {
    const { memory, spool } = this.#deps
    return memory.usedBytes <= this.#maxMemoryBytes && (spool === undefined || spool.usedBytes <= this.#maxSpooledBytes)
  }

  /** True if no event would be lost if the process were killed now: every event is settled, or in the spool. */
  get isEveryEventSafe(): boolean {
    return this.#deps.batchQueue.isEveryLineSafe
  }

  /** Resolves when there is room, or when `signal` is aborted. */
  async whenFree(signal: AbortSignal): Promise<void> {
    while (!this.isFree && !signal.aborted) {
      this.#deps.batchQueue.spill()
      const { promise, resolve } = NativePromise.withResolvers<void>()
      const timer = setTimeout(resolve, checkEveryMs)
      const wake = (): void => resolve()
      signal.addEventListener('abort', wake)
      this.#waiters.add(wake)
      await promise
      this.#waiters.delete(wake)
      signal.removeEventListener('abort', wake)
      clearTimeout(timer)
    }
  }

  /** Wakes the callers that wait: there may be room again. */
  resume(): void {
    for (const wake of this.#waiters) wake()
  }
}
