import type { Severity } from '../accounting/severity.ts'
import type { Line } from '../record/event-to-line.ts'
import { openBatchBytes, useDiskBytes } from '../stack-reserve.ts'
import { clearTimeout, queueMicrotask, setTimeout } from '../time.ts'
import type { Acknowledgement } from './acknowledgements.ts'
import type { Batch } from './batch.ts'
import type { BatchStore } from './batch-store.ts'
import { type BatchLimits, DatasetQueue, type DatasetQueueDeps } from './dataset-queue.ts'
import type { MemoryBudget } from './memory-budget.ts'
import { readUpTo, Spill } from './spill.ts'

/** Batches of one dataset that are read back from the store before they are needed. */
const readAhead = 2
const retryReadAfterMs = 1000
/** Told of what happens to batches between their taking and giving. */
export interface BatchQueueListeners {
  /** Called when there may be a batch to take; never inside a log call. */
  onReady(): void
  /** So many lines are missing from what the store has given back; fewer than none where it had more than was known. */
  onLost(count: number, dataset: string): void
  /** Called when memory may have room again, as batches have moved to the store; never inside a log call. */
  onRoom(): void
}

/** Lines → batches: a row of batches for each dataset, and who waits for them. */
export class BatchQueue {
  readonly limits: BatchLimits
  readonly #memory: MemoryBudget
  readonly #store: BatchStore | undefined
  readonly #spill: Spill | undefined
  readonly #listeners: BatchQueueListeners
  readonly #queueDeps: DatasetQueueDeps
  /** Those that are being read back from the store. */
  readonly #reading = new Set<Batch>()
  #isSyncMode = false
  #resting: NodeJS.Timeout | undefined
  /** In the order in which they are served; the one served last stands last. */
  readonly #queues = new Map<string, DatasetQueue>()
  readonly #unsettled = new Set<Batch>()
  #isReadyScheduled = false

  constructor(limits: BatchLimits, memory: MemoryBudget, listeners: BatchQueueListeners, store?: BatchStore) {
    this.limits = limits
    this.#memory = memory
    this.#listeners = listeners
    this.#store = store
    this.#spill =
      store &&
      new Spill({
        memory,
        store,
        queues: () => this.#queues.values(),
        batchCount: () => this.batchCount,
        onMoved: () => listeners.onRoom(),
      })
    this.#queueDeps = {
      limits,
      memory,
      spill: this.#spill,
      openStored: dataset => store?.open(dataset),
      stackBytes: store === undefined ? openBatchBytes : useDiskBytes,
      onOpened: (row, batch) => {
        this.#scheduleReady()
        this.#queues.set(row.dataset, row)
        this.#track(batch)
      },
      scheduleReady: () => this.#scheduleReady(),
    }
  }

  /**
   * Adds a line; `false` when there is no memory for it. What becomes of it is told to `acknowledgement`. A new row counts only once it
   * has a batch: names of datasets cost nothing while memory is full.
   *
   * Once the line is in its batch nothing is called any more: see `Batch.append`.
   */
  enqueue(dataset: string, severity: Severity, line: Line, acknowledgement?: Acknowledgement): boolean {
    return (this.#queues.get(dataset) ?? new DatasetQueue(dataset, this.#queueDeps)).enqueue(
      severity,
      line,
      acknowledgement,
    )
  }

  queueFor(dataset: string): DatasetQueue {
    let row = this.#queues.get(dataset)
    if (row === undefined) {
      row = new DatasetQueue(dataset, this.#queueDeps)
      this.#queues.set(dataset, row)
    }
    return row
  }

  get datasetCount(): number {
    return this.#queues.size
  }

  /** Batches that are neither delivered nor dropped. */
  get batchCount(): number {
    return this.#unsettled.size
  }

  pausedQueue(): DatasetQueue | undefined {
    for (const row of this.#queues.values()) {
      if (row.pause !== undefined && (row.pause.isProbing || !row.isEmpty)) return row
    }
    return undefined
  }

  /** What is needed to tune batches to the pace. */
  load(): {
    addedBytes: number
    addedEvents: number
    waitingBytes: number
    waitingEvents: number
    datasets: number
  } {
    const { sealedBytes, sealedEvents } = this.limits
    const load = { addedBytes: sealedBytes, addedEvents: sealedEvents, waitingBytes: 0, waitingEvents: 0 }
    for (const row of this.#queues.values()) {
      load.addedBytes += row.openBytes
      load.addedEvents += row.openCount
      load.waitingBytes += row.waitingBytes + row.storedBytes
      load.waitingEvents += row.waitingCount
    }
    return { ...load, datasets: this.#queues.size }
  }

  /** The next batch that may be sent now; datasets take turns. */
  dequeue(nowMs: number): Batch | undefined {
    this.#reload()
    for (const row of this.#queues.values()) {
      const batch = row.dequeue(nowMs)
      if (batch === undefined) continue
      this.#queues.delete(row.dataset)
      this.#queues.set(row.dataset, row)
      return batch
    }
    return undefined
  }

  /** Monotonic time from which on `take` may give a batch; `Infinity` when nothing waits. */
  wakeAtMs(): number {
    if (this.#queueToReload() !== undefined) return 0 // by `take`
    let atMs = Number.POSITIVE_INFINITY
    for (const row of this.#queues.values()) atMs = Math.min(atMs, row.wakeAtMs())
    return atMs
  }

  /** Lets every open batch go; resolves when all lines that are here now have been delivered or dropped. */
  async flush(): Promise<void> {
    for (const row of this.#queues.values()) row.flush()
    // Those of now, and not what making requests for them may log.
    const settled = [...this.#unsettled].filter(batch => batch.isUnsettled).map(batch => batch.whenSettled())
    this.#listeners.onReady()
    await Promise.all(settled)
  }

  /** Makes everything due that waits after a failure; what is most severe comes first, then what is oldest. */
  skipBackoff(): void {
    const rows = [...this.#queues.values()].map(row => ({
      row,
      severity: row.maxSeverity,
      sinceMs: row.waitingSinceMs,
    }))
    rows.sort((one, other) => other.severity - one.severity || one.sinceMs - other.sinceMs)
    this.#queues.clear()
    for (const { row } of rows) {
      row.skipBackoff()
      this.#queues.set(row.dataset, row)
    }
  }

  /** Moves batches to the store while memory is short: not now, but between log calls. */
  spill(): void {
    this.#spill?.spill()
  }

  /** Moves everything to the store for good, a little in each turn of the event loop. */
  async spillAll(): Promise<void> {
    await this.#spill?.spillAll()
  }

  /** True if an event of that severity is let in at this fullness, be it by way of the store. */
  hasRoomFor(severity: Severity): boolean {
    if (severity >= this.#memory.minSeverity) return true
    this.spill()
    return this.#spill?.isReady === true
  }

  /**
   * While the event loop stands still, what is in the store is read in the call that takes it; what was being read is read
   * again.
   */
  standStill(isStandingStill: boolean): void {
    this.#isSyncMode = isStandingStill
    clearTimeout(this.#resting)
    this.#resting = undefined
    for (const batch of this.#reading) {
      batch.cancelReload()
      this.queueFor(batch.dataset).putIntoStored(batch)
    }
    this.#reading.clear()
  }

  /** Takes in batches that somebody has left in the store. */
  adopt(batches: readonly Batch[]): void {
    for (const batch of batches) {
      this.queueFor(batch.dataset).putIntoStored(batch)
      this.#track(batch)
    }
    this.#listeners.onReady()
  }

  /** Puts right what has vanished from the store: what memory has is written again, and the rest is taken out. */
  recover(): Batch[] {
    const store = this.#store
    if (store === undefined) return []
    const lost = [...this.#queues.values()].flatMap(row => row.takeLost())
    for (const batch of [...this.#unsettled]) batch.rewriteTo(store)
    return lost
  }

  /** Takes the oldest of the batches that are in the store alone. */
  takeOldestStored(): Batch | undefined {
    let oldest: Batch | undefined
    for (const row of this.#queues.values()) {
      const batch = row.oldestStored()
      if (batch && (oldest === undefined || batch.order < oldest.order)) oldest = batch
    }
    return oldest && this.queueFor(oldest.dataset).takeOldestStored()
  }

  /** Takes every batch that is not in flight, held back or not. */
  takeAll(): Batch[] {
    const reading = [...this.#reading]
    this.#reading.clear()
    return [...reading, ...[...this.#queues.values()].flatMap(row => row.takeAll())]
  }

  #track(batch: Batch): void {
    this.#unsettled.add(batch)
    // Soon, as what settles it may have to do with its row still.
    batch.onSettled(() => queueMicrotask(() => this.#forget(batch)))
  }

  #forget(batch: Batch): void {
    this.#unsettled.delete(batch)
    const row = this.#queues.get(batch.dataset)
    if (row?.isEmpty && !row.pause?.isProbing && row.refusals === undefined) this.#queues.delete(batch.dataset)
  }

  /**
   * Requests are not made inside a log call: the stack may end there, in the middle of any step, and what they may log would
   * be inside it as well.
   */
  #scheduleReady(): void {
    if (this.#isReadyScheduled) return
    queueMicrotask(() => {
      this.#isReadyScheduled = false
      this.#listeners.onReady()
    })
    this.#isReadyScheduled = true
  }

  /**
   * Starts reading what can be taken next from the store, as far as memory allows. What there can never be memory for, as
   * another process with more of it has left it, does not stand before the others.
   */
  #reload(): void {
    for (let row = this.#queueToReload(); row !== undefined; row = this.#queueToReload()) {
      const batch = row.takeStored(this.#maxReadBytes) as Batch
      if (this.#isSyncMode) this.#readNow(batch)
      else void this.#read(batch)
    }
  }

  /** A row of which nothing is ready that is not fresh, and that has something in the store for which there is memory. */
  #queueToReload(): DatasetQueue | undefined {
    if (this.#store === undefined || this.#resting !== undefined || this.#reading.size >= readAhead) return undefined
    for (const row of this.#queues.values()) {
      const oldest = row.backlogCount > 0 ? undefined : row.oldestStored(this.#maxReadBytes)
      if (oldest !== undefined && this.#memory.usedBytes + oldest.byteLength <= this.#maxReadBytes) return row
    }
    return undefined
  }

  /** Leaves the store alone for a while, as reading has failed. */
  #rest(): void {
    this.#resting ??= setTimeout(() => {
      this.#resting = undefined
      this.#listeners.onReady()
    }, retryReadAfterMs).unref()
  }

  get #maxReadBytes(): number {
    return this.#memory.maxBytes * readUpTo
  }

  async #read(batch: Batch): Promise<void> {
    this.#reading.add(batch)
    const lost = await batch.reload(this.limits.maxBatchBytes).catch(() => undefined)
    if (lost !== undefined && lost !== 0) this.#listeners.onLost(lost, batch.dataset)
    if (!this.#reading.delete(batch)) return // it was taken meanwhile
    if (this.#putBack(batch, lost)) this.#listeners.onReady()
  }

  #readNow(batch: Batch): void {
    let lost: number | undefined
    try {
      lost = batch.reloadNow(this.limits.maxBatchBytes)
    } catch {
      // It stays where it is.
    }
    if (lost !== undefined && lost !== 0) this.#listeners.onLost(lost, batch.dataset)
    this.#putBack(batch, lost)
  }

  /** Puts a batch where it belongs that was to be read; whether it was. */
  #putBack(batch: Batch, lost: number | undefined): boolean {
    const row = this.queueFor(batch.dataset)
    if (lost === undefined) {
      row.putIntoStored(batch)
      this.#rest()
      return false
    }
    if (batch.count > 0) row.requeue(batch)
    return true
  }
}
