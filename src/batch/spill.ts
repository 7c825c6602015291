import { openBatchBytes, reserveStack, useDiskBytes } from '../stack-reserve.ts'
import { monotonicMs, nextTurn, setImmediate } from '../time.ts'
import { Batch } from './batch.ts'
import type { BatchStore } from './batch-store.ts'
import type { DatasetQueue, WayToStore } from './dataset-queue.ts'
import type { MemoryBudget } from './memory-budget.ts'

/**
 * Shares of the memory at which batches move to the store, all below the share at which events are refused. First
 * waiting batches move, then open batches, and finally new batches are opened in the store. Batches are reloaded up to
 * a share between the first two. That share is above the first one, so that new lines cannot prevent reloads.
 */
const moveWaitingFrom = 0.5
export const readUpTo = 0.6
/**
 * The share up to which a batch of a dataset that is not paused is reloaded if parts of batches of paused ones take all of
 * the usual share: an eighth more, as a batch has at most that.
 */
export const readUnpausedUpTo = 0.725
const moveOpenFrom = 0.62
const openInStoreFrom = 0.7
/** Maximum time for writing batches to the store in one turn of the event loop, in milliseconds. */
export const maxTurnMs = 4
/**
 * Number of batches at which no more batches move to the store. Each stored batch keeps about 2 KB of objects in
 * memory, so many small batches would defeat the purpose.
 */
const maxBatches = 32_768

interface SpillDeps {
  readonly memory: MemoryBudget
  readonly store: BatchStore
  readonly queues: () => Iterable<DatasetQueue>
  /** Number of batches that are neither delivered nor dropped. */
  readonly batchCount: () => number
  /** Called when batches have moved, never inside a log call. */
  readonly onMoved: () => void
  /** Called when lines went to the store; also inside a log call. */
  readonly onSpooled: (dataset: string, count: number, bytes: number) => void
}

/**
 * Moves batches to the store before memory is full. Each batch may need a new file, which is slow. So a log call moves
 * at most one batch, or writes its line straight to the store. Other batches move between log calls.
 */
export class Spill implements WayToStore {
  readonly #deps: SpillDeps
  #isSpillScheduled = false
  #isReportScheduled = false

  constructor(deps: SpillDeps) {
    this.#deps = deps
  }

  /** True while the store can take batches. */
  get isReady(): boolean {
    return this.#deps.store.isReady && this.#deps.batchCount() < maxBatches
  }

  onSpooled(dataset: string, count: number, bytes: number): void {
    this.#deps.onSpooled(dataset, count, bytes)
  }

  /** Reports the lines that log calls write straight to the store, together, in the next turn of the event loop. */
  reportSoon(): void {
    if (this.#isReportScheduled) return
    reserveStack(openBatchBytes)
    setImmediate(() => {
      this.#isReportScheduled = false
      for (const queue of this.#deps.queues()) queue.reportExtended()
    }).unref()
    this.#isReportScheduled = true // after the call, which fails if the stack is exhausted
  }

  /** True while memory is so short that new lines follow the stored lines of their dataset into the store. */
  get isMemoryShort(): boolean {
    return this.#uses(readUpTo)
  }

  /**
   * While memory is short, moves one batch of `queue` now, because that queue needs a block, and schedules other batches
   * to move.
   */
  spill(queue?: DatasetQueue): void {
    if (!this.#uses(moveWaitingFrom) || !this.isReady) return
    queue?.moveOldestTo(this.#deps.store)
    this.#scheduleSpill()
  }

  /**
   * Opens an empty batch that is only in the store. Returns `undefined` if memory has room for a block of so many
   * bytes, or if the store cannot open a batch.
   */
  open(dataset: string, bytes: number): Batch | undefined {
    const { memory, store } = this.#deps
    if (!this.#uses(openInStoreFrom, bytes) || !this.isReady) return undefined
    const copy = store.write(dataset, nothing, nothing)
    return copy && Batch.stored(dataset, nothing, 0, copy, memory)
  }

  /**
   * Moves every batch to the store and hands it off, because no time is left for delivery. Each turn of the event loop
   * handles some batches. Ends early at a batch for which `handOff` returns false.
   */
  async handOffAll(handOff: (batch: Batch) => boolean): Promise<void> {
    const { store } = this.#deps
    let endMs = monotonicMs() + maxTurnMs
    for (const queue of [...this.#deps.queues()]) {
      // Lines are logged meanwhile, and would be moved and handed off without end.
      let moves = queue.batchesInMemory
      for (let steps = 2 * moves + queue.batchesInStore; steps > 0; steps--) {
        const isMoved = moves-- > 0 && this.isReady && (queue.moveOldestTo(store) || queue.moveOpenTo(store))
        const stored = isMoved ? undefined : queue.takeOldestStored()
        if (stored !== undefined && !handOff(stored)) return queue.putIntoStored(stored)
        if (!isMoved && stored === undefined) break
        if (monotonicMs() < endMs) continue
        await nextTurn()
        endMs = monotonicMs() + maxTurnMs
      }
    }
  }

  #scheduleSpill(): void {
    if (this.#isSpillScheduled) return
    reserveStack(openBatchBytes)
    setImmediate(() => this.#move()).unref()
    this.#isSpillScheduled = true // after the call, which fails if the stack is exhausted
  }

  /** Moves waiting batches before open batches, and starts with the dataset that has the most bytes. */
  #move(): void {
    this.#isSpillScheduled = false
    reserveStack(useDiskBytes)
    const { store, onMoved } = this.#deps
    const endMs = monotonicMs() + maxTurnMs
    const isOver = () => !this.isReady || monotonicMs() >= endMs
    this.#moveFrom(
      ({ waitingBytes }) => waitingBytes,
      queue => queue.moveOldestTo(store),
      () => !this.#uses(moveWaitingFrom) || isOver(),
    )
    this.#moveFrom(
      ({ openBytes }) => openBytes,
      queue => queue.moveOpenTo(store),
      () => !this.#uses(moveOpenFrom) || isOver(),
    )
    if (isOver()) this.spill()
    onMoved()
  }

  #moveFrom(
    bytesOf: (queue: DatasetQueue) => number,
    move: (queue: DatasetQueue) => boolean,
    isDone: () => boolean,
  ): void {
    if (isDone()) return
    const queues: { readonly queue: DatasetQueue; readonly bytes: number }[] = []
    for (const queue of this.#deps.queues()) {
      const bytes = bytesOf(queue)
      if (bytes > 0) queues.push({ queue, bytes }) // few of many datasets have any
    }
    for (const { queue } of queues.sort((one, other) => other.bytes - one.bytes)) {
      while (!isDone() && move(queue));
      if (isDone()) return
    }
  }

  #uses(share: number, moreBytes = 0): boolean {
    const { usedBytes, maxBytes } = this.#deps.memory
    return usedBytes + moreBytes > maxBytes * share
  }
}

const nothing = Buffer.alloc(0)
