import { scratchBuffers } from '../files/scratch-buffers.ts'
import { clearTimeout, monotonicMs, setTimeout } from '../time.ts'
import type { Batch } from './batch.ts'
import type { BatchStore } from './batch-store.ts'
import { type DatasetQueue, resentIn } from './dataset-queue.ts'
import type { MemoryBudget } from './memory-budget.ts'
import { readUnpausedUpTo, readUpTo } from './spill.ts'

/** Maximum number of batches that are read from the store at the same time, for all datasets together. */
const readAhead = 2

/** Maximum bytes that the store usually adds to a line. */
const addedPerLine = 64

/** Time after a failed reload until batches are reloaded again, in milliseconds. */
const retryReadAfterMs = 1000

/** Callbacks about reloads; never inside a log call. */
export interface ReloadListeners {
  /** Called when a batch may be ready to send. */
  onReady(): void
  /** Called when a reload returned `count` lines fewer than the batch had. */
  onLost(count: number, dataset: string): void
  /** Called when a reload returned `count` lines more than the batch had. */
  onFound(count: number): void
  /** Called with a batch that the store has failed to read for too long. The batch is in no queue any more. */
  onUnreadable(batch: Batch): void
}

interface ReloadsDeps {
  readonly memory: MemoryBudget
  readonly store: BatchStore
  /** Maximum bytes of a batch at present. */
  readonly maxBatchBytes: () => number
  readonly queues: () => Iterable<DatasetQueue>
  readonly queueFor: (dataset: string) => DatasetQueue
  readonly listeners: ReloadListeners
}

/**
 * Reloads batches from the store when they can be sent next, as far as memory allows. A batch that can never fit,
 * because a process with more memory wrote it, does not block other batches. Reloaded batches of a dataset that the service
 * refuses meanwhile make room for those of others.
 */
export class Reloads {
  readonly #deps: ReloadsDeps
  /** Batches whose reload is in progress. */
  #reading = new Set<Batch>()
  #isSyncMode = false
  #resting: NodeJS.Timeout | undefined

  constructor(deps: ReloadsDeps) {
    this.#deps = deps
  }

  /** True if a batch can be reloaded now. */
  get isDue(): boolean {
    return this.#nextQueue() !== undefined
  }

  /** Number of lines that are being reloaded and were sent before. */
  get resentCount(): number {
    return resentIn(this.#reading)
  }

  /** Starts every reload that may start now. */
  start(): void {
    for (let queue = this.#nextQueue(); queue !== undefined; queue = this.#nextQueue()) {
      const batch = queue.takeStored(this.#maxReadBytes) as Batch
      if (this.#isSyncMode) this.#readNow(batch)
      else void this.#read(batch)
    }
  }

  /** From now on the event loop is stopped, so batches are read synchronously. */
  enterSyncMode(): void {
    this.#isSyncMode = true
    this.#cancel()
  }

  /** The event loop runs again. */
  leaveSyncMode(): void {
    this.#isSyncMode = false
    this.#cancel()
  }

  /** Makes every batch that is being reloaded due now, even if its last attempt failed. */
  skipBackoff(): void {
    for (const batch of this.#reading) batch.skipBackoff()
  }

  /** Removes and returns the batches whose reload is in progress. */
  takeAll(): Batch[] {
    const reading = [...this.#reading]
    this.#reading = new Set()
    return reading
  }

  /** Cancels reloads in progress. Their batches are read again later. */
  #cancel(): void {
    clearTimeout(this.#resting)
    this.#resting = undefined
    for (const batch of this.takeAll()) {
      batch.cancelReload()
      this.#deps.queueFor(batch.dataset).putIntoStored(batch)
    }
  }

  /** Returns a dataset queue that waits for a reload, and for whose batch memory has room, or can be given room. */
  #nextQueue(): DatasetQueue | undefined {
    if (this.#resting !== undefined || this.#reading.size >= readAhead) return undefined
    const nowMs = monotonicMs()
    for (const queue of this.#deps.queues()) if (this.#isWaiting(queue, nowMs) && this.#hasRoomFor(queue)) return queue
    return this.#queueAfterOthers(nowMs)
  }

  /**
   * Makes room for a dataset queue that waits for a reload, and returns it: reloaded batches that may not be sent now go back
   * to the store. Parts of a split batch cannot. If these are left, and no other batch is ready, a dataset that is not paused
   * may use more memory.
   */
  #queueAfterOthers(nowMs: number): DatasetQueue | undefined {
    let waiting: DatasetQueue | undefined
    let isAnyReady = false
    for (const queue of this.#deps.queues()) {
      if (queue.reloadedCount > 0 && queue.maySend(nowMs)) isAnyReady = true
      const isFirst = waiting === undefined || (waiting.pause !== undefined && queue.pause === undefined)
      if (isFirst && this.#isWaiting(queue, nowMs)) waiting = queue
    }
    if (waiting === undefined) return undefined
    let isAnyHeld = false
    for (const queue of this.#deps.queues()) {
      if (queue.maySend(nowMs)) continue
      while (!this.#hasRoomFor(waiting) && queue.returnReloadedTo(this.#deps.store));
      isAnyHeld ||= queue.batchesInMemory > 0
    }
    const mayUseMore = isAnyHeld && !isAnyReady && waiting.pause === undefined
    return this.#hasRoomFor(waiting, mayUseMore ? readUnpausedUpTo : readUpTo) ? waiting : undefined
  }

  /**
   * True if a dataset queue has a stored batch that may be sent now, and no reloaded one waits. Pieces of refused batches do
   * not count.
   */
  #isWaiting(queue: DatasetQueue, nowMs: number): boolean {
    if (queue.batchesInStore === 0 || queue.hasUnrefusedReloaded || !queue.maySend(nowMs)) return false
    return queue.oldestStored(this.#maxReadBytes) !== undefined
  }

  #hasRoomFor(queue: DatasetQueue, share = readUpTo): boolean {
    const { usedBytes, maxBytes } = this.#deps.memory
    const oldest = queue.oldestStored(this.#maxReadBytes)
    return oldest !== undefined && usedBytes + oldest.byteLength <= maxBytes * share
  }

  get #maxReadBytes(): number {
    return this.#deps.memory.maxBytes * readUpTo
  }

  async #read(batch: Batch): Promise<void> {
    const reading = this.#reading // another one from `takeAll` on, when the batch may be read anew
    reading.add(batch)
    const lost = await this.#reload(batch).catch(() => undefined)
    this.#emitMissing(lost ?? 0, batch.dataset)
    reading.delete(batch)
    if (reading !== this.#reading) return // the batch was taken meanwhile, or sync mode began or ended
    if (this.#returnToQueue(batch, lost !== undefined)) this.#deps.listeners.onReady()
  }

  async #reload(batch: Batch): Promise<number | undefined> {
    const scratch = scratchBuffers.take(batch.byteLength + batch.count * addedPerLine)
    try {
      return await batch.reload(this.#deps.maxBatchBytes(), scratch)
    } finally {
      scratchBuffers.giveBack(scratch)
    }
  }

  #readNow(batch: Batch): void {
    let lost: number | undefined
    try {
      lost = batch.reloadNow(this.#deps.maxBatchBytes())
    } catch {
      // The batch stays in the store.
    }
    this.#emitMissing(lost ?? 0, batch.dataset)
    this.#returnToQueue(batch, lost !== undefined)
  }

  /** Reports `count` lines that are missing after a reload. A negative `count` means that the store had more lines. */
  #emitMissing(count: number, dataset: string): void {
    const { listeners } = this.#deps
    if (count > 0) listeners.onLost(count, dataset)
    if (count < 0) listeners.onFound(-count)
  }

  #returnToQueue(batch: Batch, isReloaded: boolean): boolean {
    const { queueFor, listeners } = this.#deps
    if (!isReloaded) {
      if (batch.isUnreadable) listeners.onUnreadable(batch)
      else queueFor(batch.dataset).putIntoStored(batch)
      this.#rest()
    } else if (batch.count > 0) queueFor(batch.dataset).requeue(batch)
    return isReloaded
  }

  /** Pauses reloading for a while, because a reload failed. */
  #rest(): void {
    this.#resting ??= setTimeout(() => {
      this.#resting = undefined
      this.#deps.listeners.onReady()
    }, retryReadAfterMs).unref()
  }
}
