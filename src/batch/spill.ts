import { reserveStack, useDiskBytes } from '../stack-reserve.ts'
import { monotonicMs, nextTurn, setImmediate } from '../time.ts'
import { Batch } from './batch.ts'
import type { BatchStore } from './batch-store.ts'
import type { DatasetQueue } from './dataset-queue.ts'
import type { MemoryBudget } from './memory-budget.ts'

/**
 * Shares of the memory, from the first on batches that wait move to the store, from the second on those that are open for new
 * lines, and from the last on no more are opened in memory: all that before any event is refused for lack of memory. Batches
 * come back up to a share in between: above the first, so that new lines cannot keep them away, and below the second.
 */
const moveWaitingFrom = 0.5
export const readUpTo = 0.6
const moveOpenFrom = 0.62
const openInStoreFrom = 0.7
/** How long batches are moved in one turn of the event loop, in milliseconds. */
const maxTurnMs = 4
/**
 * Most batches that there may be before none moves to the store any more: objects stay here of each, about 3 KB, and a
 * store of many small ones would take any amount of memory.
 */
const maxBatches = 32_768

export interface SpillDeps {
  readonly memory: MemoryBudget
  readonly store: BatchStore
  readonly queues: () => Iterable<DatasetQueue>
  /** Batches that are neither delivered nor dropped. */
  readonly batchCount: () => number
  /** Called when batches have moved, never inside a log call. */
  readonly onMoved: () => void
}

/**
 * Keeps the memory from filling up by way of the store. A file may have to be made for each batch, which takes long: so a log
 * call moves one batch at most, or writes its line straight to the store. The others move between log calls.
 */
export class Spill {
  readonly #deps: SpillDeps
  #isSpillScheduled = false

  constructor(parts: SpillDeps) {
    this.#deps = parts
  }

  /** True while the store can take batches. */
  get isReady(): boolean {
    return this.#deps.store.isReady && this.#deps.batchCount() < maxBatches
  }

  /** True while lines follow those of their dataset into the store, rather than have a batch opened in memory. */
  get isMemoryShort(): boolean {
    return this.#uses(readUpTo)
  }

  /** Moves one batch of the row, for which a block of memory is wanted, and the others soon, while memory is short. */
  spill(row?: DatasetQueue): void {
    if (!this.#uses(moveWaitingFrom) || !this.isReady) return
    row?.moveOldestTo(this.#deps.store)
    this.#scheduleSpill()
  }

  /** An empty batch in the store alone; `undefined` if there is memory for a block of so many bytes, or it cannot be made. */
  open(dataset: string, bytes: number): Batch | undefined {
    const { memory, store } = this.#deps
    if (!this.#uses(openInStoreFrom, bytes) || !this.isReady) return undefined
    const copy = store.write(dataset, nothing, nothing)
    return copy && Batch.stored(dataset, nothing, 0, copy, memory)
  }

  /** Moves everything to the store for good, a little in each turn of the event loop: there is no time left to deliver it. */
  async spillAll(): Promise<void> {
    const { store } = this.#deps
    let endMs = monotonicMs() + maxTurnMs
    for (const row of [...this.#deps.queues()]) {
      for (let isMoving = true; isMoving; ) {
        if (!this.isReady) return
        isMoving = row.moveOldestTo(store) || row.moveOpenTo(store)
        if (!isMoving) row.sealStored()
        if (monotonicMs() < endMs) continue
        await nextTurn()
        endMs = monotonicMs() + maxTurnMs
      }
    }
  }

  #scheduleSpill(): void {
    if (this.#isSpillScheduled) return
    setImmediate(() => this.#move()).unref()
    this.#isSpillScheduled = true // not before: where the stack ends, the call above fails
  }

  /** Moves what waits before what is open for new lines, and the largest first. */
  #move(): void {
    this.#isSpillScheduled = false
    reserveStack(useDiskBytes)
    const { store, onMoved } = this.#deps
    const endMs = monotonicMs() + maxTurnMs
    const isOver = () => !this.isReady || monotonicMs() >= endMs
    this.#moveFrom(
      ({ waitingBytes }) => waitingBytes,
      row => row.moveOldestTo(store),
      () => !this.#uses(moveWaitingFrom) || isOver(),
    )
    this.#moveFrom(
      ({ openBytes }) => openBytes,
      row => row.moveOpenTo(store),
      () => !this.#uses(moveOpenFrom) || isOver(),
    )
    if (isOver()) this.spill()
    onMoved()
  }

  #moveFrom(bytesOf: (row: DatasetQueue) => number, move: (row: DatasetQueue) => boolean, isDone: () => boolean): void {
    if (isDone()) return
    const rows = [...this.#deps.queues()].map(row => ({ row, bytes: bytesOf(row) })).filter(({ bytes }) => bytes > 0)
    for (const { row } of rows.sort((one, other) => other.bytes - one.bytes)) {
      while (!isDone() && move(row));
      if (isDone()) return
    }
  }

  #uses(share: number, moreBytes = 0): boolean {
    const { usedBytes, maxBytes } = this.#deps.memory
    return usedBytes + moreBytes > maxBytes * share
  }
}

const nothing = Buffer.alloc(0)
