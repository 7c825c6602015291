import type { Severity } from '../accounting/severity.ts'
import { NativePromise } from '../native-promise.ts'
import type { Line } from '../record/event-to-line.ts'
import { openBatchBytes, useDiskBytes } from '../stack-reserve.ts'
import { monotonicMs, nextTurn, queueMicrotask } from '../time.ts'
import { Acceptances } from './acceptances.ts'
import type { Acknowledgement } from './acknowledgements.ts'
import type { Batch } from './batch.ts'
import type { BatchStore } from './batch-store.ts'
import { type BatchLimits, DatasetQueue, type DatasetQueueDeps } from './dataset-queue.ts'
import type { MemoryBudget } from './memory-budget.ts'
import type { PieceOrigin } from './refusals.ts'
import { type ReloadListeners, Reloads } from './reloads.ts'
import { maxTurnMs, Spill } from './spill.ts'

/** Callbacks from the batch queue to its owner. */
interface BatchQueueListeners extends ReloadListeners {
  /** Called when lines went to the store for lack of memory; also inside a log call. */
  onSpooled(dataset: string, count: number, bytes: number): void
  /** Called when memory may have room again because batches moved to the store; never inside a log call. */
  onRoom(): void
}

/** Some of the datasets. */
export interface DatasetChoice {
  /** Datasets that are left out. */
  readonly without: ReadonlySet<string> | undefined
  /** True if only datasets are included whose last request was accepted. */
  readonly isAccepted: boolean | undefined
}

/**
 * A flush that waits for batches. A batch has a reference to one flush only. Otherwise, a caller that flushes again and
 * again in an outage would fill memory with an entry for each flush and batch.
 */
interface Flush extends PromiseWithResolvers<void> {
  /** Number of unsettled batches that no earlier flush waits for. */
  batches: number
}

const nothingPending = NativePromise.resolve()

/**
 * Collects lines into batches, in one queue for each dataset. Resolves a flush when the lines of that moment are
 * settled.
 */
export class BatchQueue {
  readonly limits: BatchLimits
  readonly #memory: MemoryBudget
  readonly #store: BatchStore | undefined
  readonly #spill: Spill | undefined
  readonly #listeners: BatchQueueListeners
  readonly #acceptances = new Acceptances()
  readonly #queueDeps: DatasetQueueDeps
  readonly #reloads: Reloads | undefined
  /** In the order in which datasets take turns; the dataset served last is at the end. */
  readonly #queues = new Map<string, DatasetQueue>()
  /** The batches with unsettled lines, each with the earliest flush that waits for it. */
  readonly #unsettled = new Map<Batch, Flush | undefined>()
  /** The flushes that wait, the earliest one first. Each ends after those before it. */
  readonly #flushes: Flush[] = []
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
        onSpooled: (dataset, count, bytes) => listeners.onSpooled(dataset, count, bytes),
      })
    this.#reloads =
      store &&
      new Reloads({
        memory,
        store,
        maxBatchBytes: () => limits.maxBatchBytes,
        queues: () => this.#queues.values(),
        queueFor: dataset => this.queueFor(dataset),
        listeners,
      })
    this.#queueDeps = {
      limits,
      memory,
      acceptances: this.#acceptances,
      spill: this.#spill,
      openStored: dataset => store?.open(dataset),
      stackBytes: store === undefined ? openBatchBytes : useDiskBytes,
      onOpened: (queue, batch) => {
        this.#scheduleReady()
        this.#queues.set(queue.dataset, queue)
        this.#track(batch)
      },
      scheduleReady: () => this.#scheduleReady(),
    }
  }

  /**
   * Adds a line, and reports to `acknowledgement` when the line is delivered or lost. Returns false if neither memory
   * nor the store has room for the line.
   *
   * A new dataset queue is kept only when it has a batch, so dataset names cost nothing while memory is full.
   *
   * Nothing is called after the line is in its batch: see `Batch.append`.
   */
  enqueue(dataset: string, severity: Severity, line: Line, acknowledgement?: Acknowledgement): boolean {
    return (this.#queues.get(dataset) ?? new DatasetQueue(dataset, this.#queueDeps)).enqueue(
      severity,
      line,
      acknowledgement,
    )
  }

  queueFor(dataset: string): DatasetQueue {
    let queue = this.#queues.get(dataset)
    if (queue === undefined) {
      queue = new DatasetQueue(dataset, this.#queueDeps)
      this.#queues.set(queue.dataset, queue)
    }
    return queue
  }

  get datasetCount(): number {
    return this.#queues.size
  }

  /** Number of batches that are neither delivered nor dropped. */
  get batchCount(): number {
    return this.#unsettled.size
  }

  /** True if every line that was added is settled, or in the store. */
  get isEveryLineSafe(): boolean {
    for (const batch of this.#unsettled.keys()) if (!batch.isSafe) return false
    return true
  }

  pausedQueue(): DatasetQueue | undefined {
    for (const queue of this.#queues.values()) {
      if (queue.pause !== undefined && (queue.pause.kind === 'probing' || !queue.isEmpty)) return queue
    }
    return undefined
  }

  /** Returns a dataset of which the service accepts nothing while it accepts others; `undefined` if there is none. */
  behindDataset(): string | undefined {
    for (const queue of this.#queues.values()) if (queue.isBehind) return queue.dataset
    return undefined
  }

  /** Number of lines that wait for another attempt. Lines in flight do not count. */
  get resentCount(): number {
    let count = this.#reloads?.resentCount ?? 0
    for (const queue of this.#queues.values()) count += queue.resentCount
    return count
  }

  /** The batches with lines that are neither delivered nor dropped, in flight or not. */
  get unsettled(): Iterable<Batch> {
    return this.#unsettled.keys()
  }

  /** Returns the load to which batches are tuned, summed over all datasets. */
  load(): {
    addedBytes: number
    addedEvents: number
    waitingBytes: number
    waitingEvents: number
    datasets: number
  } {
    let { sealedBytes: addedBytes, sealedEvents: addedEvents } = this.limits
    let waitingBytes = 0
    let waitingEvents = 0
    for (const queue of this.#queues.values()) {
      addedBytes += queue.openBytes
      addedEvents += queue.openCount
      waitingBytes += queue.waitingBytes + queue.storedBytes
      waitingEvents += queue.waitingCount
    }
    return { addedBytes, addedEvents, waitingBytes, waitingEvents, datasets: this.#queues.size }
  }

  /** Returns the next batch that may be sent now, or `undefined` if there is none. Datasets take turns. */
  dequeue(nowMs: number, choice?: DatasetChoice): Batch | undefined {
    this.#reloads?.start()
    for (const queue of this.#queues.values()) {
      const batch = queue.mayBeReady(nowMs) && this.#isIn(choice, queue.dataset) ? queue.dequeue(nowMs) : undefined
      if (batch === undefined) continue
      this.#queues.delete(queue.dataset)
      this.#queues.set(queue.dataset, queue)
      return batch
    }
    return undefined
  }

  /**
   * Monotonic time from which `dequeue` may return a batch, in milliseconds; `Infinity` if no batch waits for a time.
   */
  wakeAtMs(choice?: DatasetChoice): number {
    if (this.#reloads?.isDue) return 0 // `dequeue` starts the reload
    let atMs = Number.POSITIVE_INFINITY
    for (const queue of this.#queues.values()) {
      if (this.#isIn(choice, queue.dataset)) atMs = Math.min(atMs, queue.wakeAtMs())
    }
    return atMs
  }

  #isIn(choice: DatasetChoice | undefined, dataset: string): boolean {
    if (choice === undefined) return true
    return choice.without?.has(dataset) !== true && (!choice.isAccepted || this.#acceptances.isAccepted(dataset))
  }

  /**
   * Makes every open batch due. Resolves when all lines that are pending now have been delivered or dropped. Callers that
   * wait for the same lines get the same promise.
   */
  flush(): Promise<void> {
    for (const queue of this.#queues.values()) queue.flush()
    // Noted before requests start: requests may log lines, and this flush does not wait for such lines.
    const flushed = this.#whenFlushed()
    this.#listeners.onReady()
    return flushed
  }

  /** Makes the open batches due that have a line for which a caller waits. */
  flushAwaited(): void {
    for (const queue of this.#queues.values()) queue.flushAwaited()
    this.#listeners.onReady()
  }

  /**
   * Makes every batch that waits after a failure due now. The datasets with the most severe line in memory are served
   * first, then the datasets with the oldest line.
   */
  skipBackoff(): void {
    const queues = [...this.#queues.values()].map(queue => ({
      queue,
      severity: queue.maxSeverity,
      sinceMs: queue.waitingSinceMs,
    }))
    queues.sort((one, other) => other.severity - one.severity || one.sinceMs - other.sinceMs)
    this.#queues.clear()
    for (const { queue } of queues) {
      queue.skipBackoff()
      this.#queues.set(queue.dataset, queue)
    }
    this.#reloads?.skipBackoff()
  }

  /** Makes the next probe of each dataset due now that is paused because of an answer with such a status. */
  probePaused(isProbed: (status: number) => boolean): void {
    for (const queue of this.#queues.values()) {
      if (queue.pause?.kind === 'waiting' && isProbed(queue.pause.status)) queue.probeNow()
    }
  }

  /**
   * Schedules batches to move to the store if memory is short. The batches move between log calls, not in this call.
   */
  spill(): void {
    this.#spill?.spill()
  }

  /**
   * Moves batches to the store, and hands them off, some in each turn of the event loop. Leaves the batches that are in
   * flight or cannot move, and all others from the first one for which `handOff` returns false.
   */
  async handOffAll(handOff: (batch: Batch) => boolean): Promise<void> {
    await this.#spill?.handOffAll(handOff)
  }

  /**
   * True if an event of this severity is accepted at the present use of memory, into memory or into the store.
   * Schedules a spill if memory alone refuses the event.
   */
  hasRoomFor(severity: Severity): boolean {
    if (severity >= this.#memory.minSeverity) return true
    this.spill()
    return this.#spill?.isReady === true
  }

  /** From now on the event loop is stopped, so `dequeue` reads stored batches synchronously. */
  enterSyncMode(): void {
    this.#reloads?.enterSyncMode()
  }

  /** The event loop runs again. */
  leaveSyncMode(): void {
    this.#reloads?.leaveSyncMode()
  }

  /** Adopts batches that another process, or an earlier `close` of this one, left in the store. */
  adopt(batches: readonly Batch[]): void {
    for (const batch of batches) {
      this.queueFor(batch.dataset).putIntoStored(batch)
      this.#track(batch)
    }
    this.#listeners.onReady()
  }

  /**
   * Repairs the queue after stored batches have vanished. Batches that are still in memory are written to the store
   * again. Removes and returns the batches that are lost.
   */
  recover(): Batch[] {
    const lost = [...this.#queues.values()].flatMap(queue => queue.takeLost())
    void this.#rewrite(batch => batch.hasVanished)
    return lost
  }

  /** Writes the batches to the store that only memory has in full. */
  async storeAll(): Promise<void> {
    await this.#rewrite(batch => !batch.isSafe)
  }

  /** Writes batches to the store, some in each turn of the event loop: thousands of datasets need thousands of files. */
  async #rewrite(isNeeded: (batch: Batch) => boolean): Promise<void> {
    let endMs = monotonicMs() + maxTurnMs
    for (const batch of [...this.#unsettled.keys()]) {
      if (!this.#store?.isReady) return
      if (isNeeded(batch)) batch.rewriteTo(this.#store)
      if (monotonicMs() < endMs) continue
      await nextTurn()
      endMs = monotonicMs() + maxTurnMs
    }
  }

  /** Removes and returns the oldest batch that is only in the store. */
  takeOldestStored(): Batch | undefined {
    let oldest: Batch | undefined
    for (const queue of this.#queues.values()) {
      const batch = queue.oldestStored()
      if (batch && (oldest === undefined || batch.order < oldest.order)) oldest = batch
    }
    return oldest && this.queueFor(oldest.dataset).takeOldestStored()
  }

  /** Returns the batches that are neither delivered nor dropped now, each as it was before any split. */
  origins(): Set<PieceOrigin> {
    return new Set(Array.from(this.#unsettled.keys(), ({ origin }) => origin))
  }

  /**
   * Removes and returns every batch that is not in flight, even if it is held back. If origins are given, batches of other
   * origins stay, unless they are being reloaded.
   */
  takeAll(origins?: ReadonlySet<PieceOrigin>): Batch[] {
    const isTaken = ({ origin }: Batch): boolean => origins?.has(origin) ?? true
    return [...(this.#reloads?.takeAll() ?? []), ...[...this.#queues.values()].flatMap(queue => queue.takeAll(isTaken))]
  }

  #track(batch: Batch): void {
    this.#unsettled.set(batch, undefined)
    batch.onSettled(this.#forgetSoon)
  }

  /** In a microtask, because the code that settles the batch may still use its dataset queue. */
  readonly #forgetSoon = (batch: Batch): void => queueMicrotask(() => this.#forget(batch))

  #forget(batch: Batch): void {
    const flush = this.#unsettled.get(batch)
    this.#unsettled.delete(batch)
    const queue = this.#queues.get(batch.dataset)
    if (queue?.isEmpty && queue.pause?.kind !== 'probing' && queue.refusals === undefined)
      this.#queues.delete(batch.dataset)
    if (flush !== undefined) flush.batches--
    while (this.#flushes[0]?.batches === 0) this.#flushes.shift()?.resolve()
  }

  /** Resolves when the batches that are unsettled now are settled. */
  #whenFlushed(): Promise<void> {
    const flush: Flush = { batches: 0, ...NativePromise.withResolvers<void>() }
    for (const [batch, earlier] of this.#unsettled) {
      if (earlier !== undefined || batch.count === 0) continue
      this.#unsettled.set(batch, flush)
      flush.batches++
    }
    if (flush.batches > 0) this.#flushes.push(flush)
    return this.#flushes.at(-1)?.promise ?? nothingPending
  }

  /**
   * Calls `onReady` in a microtask, because requests must not be made inside a log call. There, the stack may be
   * exhausted at any step, and a line that a request logs would be a log call within a log call.
   */
  #scheduleReady(): void {
    if (this.#isReadyScheduled) return
    queueMicrotask(() => {
      this.#isReadyScheduled = false
      this.#listeners.onReady()
    })
    this.#isReadyScheduled = true
  }
}
