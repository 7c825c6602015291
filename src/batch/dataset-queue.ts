import type { Severity } from '../accounting/severity.ts'
import type { Line } from '../record/event-to-line.ts'
import { reserveStack } from '../stack-reserve.ts'
import { monotonicMs } from '../time.ts'
import type { Acknowledgement } from './acknowledgements.ts'
import { Batch, blockSize } from './batch.ts'
import type { BatchStore, StoredBatch } from './batch-store.ts'
import type { MemoryBudget } from './memory-budget.ts'
import { Refusals } from './refusals.ts'
import type { Spill } from './spill.ts'

/** When a batch is full, shared by every row. Size and age follow the pace that the service allows. */
export interface BatchLimits {
  maxBatchBytes: number
  maxBatchAgeMs: number
  /** What `maxBatchBytes` may be raised to. */
  readonly batchBytesCeiling: number
  /** The same while requests are not limited. */
  readonly maxUnlimitedBytes: number
  /** What one event alone may always take. */
  readonly maxBlockBytes: number
  maxBatchEvents: number
  /** Bytes and lines of the batches sealed so far. */
  sealedBytes: number
  sealedEvents: number
}

/** Why a dataset's batches are held back: the service refuses its token, name or address until somebody acts. */
export interface Pause {
  /** Monotonic time of the next probe, in milliseconds. */
  untilMs: number
  /** How many times in a row the service has refused. */
  refusals: number
  /** One batch is under way to see whether the service takes it now; the others wait for what becomes of it. */
  isProbing: boolean
  /** The last refusal: its status, and the service's own words. */
  status: number
  reason: string
}

/** What a row has of its surroundings. */
export interface DatasetQueueDeps {
  readonly limits: BatchLimits
  readonly memory: MemoryBudget
  /** Where batches go while memory is short. */
  readonly spill: Spill | undefined
  /** Gives a copy for each batch that is opened, to which its lines are written at once. */
  readonly openStored: (dataset: string) => StoredBatch | undefined
  /** What opening a batch takes of the stack, with all that may come with it. */
  readonly stackBytes: number
  /** Told of a batch before there is a line in it, so that whoever asks for all lines knows of it. */
  readonly onOpened: (row: DatasetQueue, batch: Batch) => void
  /** There may be a batch to take soon: makes no request now, inside a log call. */
  readonly scheduleReady: () => void
}

/** The batches of one dataset: one open for new lines, and the rows of those that wait to be sent. */
export class DatasetQueue {
  readonly dataset: string
  pause: Pause | undefined
  #refusals: Refusals | undefined
  readonly #deps: DatasetQueueDeps
  readonly #limits: BatchLimits
  /** Oldest first; what comes back after a failed attempt stands at the head again. */
  readonly #waiting: Batch[] = []
  /** The same of those that have come back from the store. */
  readonly #backlog: Batch[] = []
  /** Those that are in the store alone, oldest first. */
  readonly #stored: Batch[] = []
  /** The youngest of them while a line is being added: it must not be dropped to make room for the line. */
  #extended: Batch | undefined
  #isBacklogsTurn = false
  #open: Batch | undefined
  #openedAtMs = 0
  #isFlushing = false
  #lastSealedBytes = 0

  constructor(dataset: string, parts: DatasetQueueDeps) {
    this.dataset = dataset
    this.#deps = parts
    this.#limits = parts.limits
  }

  get isEmpty(): boolean {
    return this.#open === undefined && this.#waiting.length + this.#backlog.length + this.#stored.length === 0
  }

  /** Bytes of its lines in the open batch, in those that wait in memory, and in those that are in the store alone. */
  get openBytes(): number {
    return this.#open?.byteLength ?? 0
  }

  get waitingBytes(): number {
    return byteLengthOf(this.#waiting) + byteLengthOf(this.#backlog)
  }

  get storedBytes(): number {
    return byteLengthOf(this.#stored)
  }

  /** Lines in the open batch, and in those that wait. */
  get openCount(): number {
    return this.#open?.count ?? 0
  }

  get waitingCount(): number {
    return countOf(this.#waiting) + countOf(this.#backlog) + countOf(this.#stored)
  }

  /** The severity of the most severe line in memory; -1 when there is none. */
  get maxSeverity(): number {
    let max = -1
    for (const batch of this.#inMemory()) for (const severity of batch.severities) max = Math.max(max, severity)
    return max
  }

  /** Monotonic time from which on its lines have waited, about: what waits to be sent has waited longer than what is open. */
  get waitingSinceMs(): number {
    return this.#waiting.length + this.#backlog.length > 0 ? 0 : this.#openedAtMs
  }

  /** Batches that have come back from the store and wait. */
  get backlogCount(): number {
    return this.#backlog.length
  }

  /** The oldest of those that are in the store alone and have at most so many bytes. */
  oldestStored(maxBytes = Number.POSITIVE_INFINITY): Batch | undefined {
    return this.#stored.find(batch => batch.byteLength <= maxBytes && batch !== this.#extended)
  }

  /** Monotonic time at which the open batch has waited long enough for company; `Infinity` when there is none. */
  get dueAtMs(): number {
    if (this.#open === undefined) return Number.POSITIVE_INFINITY
    const isDue = this.#isFlushing || this.#open.count >= this.#limits.maxBatchEvents
    return isDue ? 0 : this.#openedAtMs + this.#limits.maxBatchAgeMs
  }

  /**
   * Adds a line; `false` when there is no memory for it. Once the line is in its batch nothing is called any more, so that
   * it counts as a whole or not at all: see `Batch.append`.
   */
  enqueue(severity: Severity, line: Line, acknowledgement?: Acknowledgement): boolean {
    const { maxBatchBytes, maxBatchEvents, maxBlockBytes } = this.#limits
    const open = this.#open
    if (open !== undefined && open.count < maxBatchEvents) {
      if (open.count + 1 === maxBatchEvents) this.#deps.scheduleReady()
      if (open.append(severity, line, maxBatchBytes, acknowledgement)) return true
    }
    reserveStack(this.#deps.stackBytes)
    if (open !== undefined) {
      this.#deps.scheduleReady()
      this.#seal()
    }
    const blockBytes = this.#nextBlockBytes(line)
    if (this.#addToStored(severity, line, blockBytes, acknowledgement)) return true
    const batch = severity < this.#deps.memory.minSeverity ? undefined : this.#openFor(blockBytes)
    if (batch === undefined) return false
    if (batch.append(severity, line, maxBlockBytes, acknowledgement)) return true
    this.#seal()
    return false
  }

  /** Lets the open batch go without waiting for company. */
  flush(): void {
    this.#isFlushing = this.#open !== undefined
  }

  /**
   * The next batch that may be sent now. The open one is sealed only here, when it is due and somebody can send it: while
   * nobody can, it goes on filling up, and an outage does not leave a trail of small batches.
   */
  dequeue(nowMs: number): Batch | undefined {
    if (this.pause !== undefined && (this.pause.isProbing || this.pause.untilMs > nowMs)) return undefined
    const ready = this.#isBacklogsTurn
      ? (takeReady(this.#backlog, nowMs) ?? this.#takeFresh(nowMs))
      : (this.#takeFresh(nowMs) ?? takeReady(this.#backlog, nowMs))
    if (ready !== undefined) this.#isBacklogsTurn = !ready.isBacklog
    return ready
  }

  /** Puts batches back at the head, the first of them first. */
  requeue(...batches: readonly Batch[]): void {
    const row = batches[0]?.isBacklog ? this.#backlog : this.#waiting
    row.unshift(...batches)
  }

  /** The refusals of the dataset, as long as a refused piece of it waits. */
  get refusals(): Refusals | undefined {
    return this.#refusals
  }

  /** The same; they begin now if there were none. */
  beginRefusals(nowMs: number): Refusals {
    this.#refusals ??= new Refusals(nowMs)
    return this.#refusals
  }

  /** Notes that lines were settled that the service had refused before. */
  onRefusedSettled(lines: number): void {
    this.#refusals?.onSettled(lines)
    if (this.#refusals?.isSettled) this.#refusals = undefined
  }

  /** Puts a batch behind all others that wait. */
  requeueLast(batch: Batch): void {
    const row = batch.isBacklog ? this.#backlog : this.#waiting
    row.push(batch)
  }

  /** Moves what has waited longest to the store; `false` when nothing can be moved. */
  moveOldestTo(store: BatchStore): boolean {
    for (const batches of [this.#waiting, this.#backlog]) {
      const oldest = batches.findIndex(batch => batch.moveTo(store))
      if (oldest < 0) continue
      this.#putMovedIntoStored(...batches.splice(oldest, 1))
      return true
    }
    return false
  }

  /** Moves the batch that is open for new lines to the store, as it is. */
  moveOpenTo(store: BatchStore): boolean {
    if (this.#open === undefined || this.#open.count === 0) return false
    const batch = this.#closeOpen()
    if (!batch.moveTo(store)) {
      batch.seal()
      return false
    }
    this.#waiting.pop()
    this.#putMovedIntoStored(batch)
    return true
  }

  /** No line follows those in the store any more. */
  sealStored(): void {
    for (const batch of this.#stored) batch.seal()
  }

  /** Adds batches that are in the store alone, by their age. */
  putIntoStored(...batches: readonly Batch[]): void {
    for (const batch of batches) {
      const younger = this.#stored.findLastIndex(({ order }) => order <= batch.order) + 1
      this.#stored.splice(younger, 0, batch)
    }
  }

  /** Takes the oldest of those that are in the store alone. */
  takeOldestStored(): Batch | undefined {
    const oldest = this.oldestStored()
    if (oldest !== undefined) this.#stored.splice(this.#stored.indexOf(oldest), 1)
    return oldest
  }

  /** Takes those that were in the store alone, and have vanished there. */
  takeLost(): Batch[] {
    const lost = this.#stored.filter(({ isLost }) => isLost)
    for (const batch of lost) this.#stored.splice(this.#stored.indexOf(batch), 1)
    return lost
  }

  /** Takes that one, and with it as many of the next as make one batch. */
  takeStored(maxBytes: number): Batch | undefined {
    const batch = this.oldestStored(maxBytes)
    if (batch === undefined) return undefined
    const at = this.#stored.indexOf(batch)
    this.#stored.splice(at, 1)
    const { maxBatchBytes, maxBatchEvents } = this.#limits
    for (;;) {
      const next = this.#stored[at]
      if (next === undefined || batch.byteLength + next.byteLength > maxBatchBytes) return batch
      if (batch.count + next.count > maxBatchEvents) return batch
      batch.join(next)
      this.#stored.splice(at, 1)
    }
  }

  /** Monotonic time from which on `take` may give a batch that it does not give now; `Infinity` when that is not known. */
  wakeAtMs(): number {
    if (this.isEmpty || this.pause?.isProbing) return Number.POSITIVE_INFINITY
    let readyAtMs = this.dueAtMs
    for (const { notBeforeMs } of this.#waiting) readyAtMs = Math.min(readyAtMs, notBeforeMs)
    for (const { notBeforeMs } of this.#backlog) readyAtMs = Math.min(readyAtMs, notBeforeMs)
    return Math.max(readyAtMs, this.pause?.untilMs ?? 0)
  }

  /** Makes everything due that waits after a failure. */
  skipBackoff(): void {
    for (const batch of [...this.#waiting, ...this.#backlog]) batch.notBeforeMs = 0
    if (this.pause !== undefined) this.pause.untilMs = 0
  }

  /** Takes everything, held back or not, in memory or not. */
  takeAll(): Batch[] {
    if (this.#open !== undefined) this.#seal()
    return [...this.#stored.splice(0), ...this.#backlog.splice(0), ...this.#waiting.splice(0)]
  }

  /** Small ones stay open, so that in a long outage there are neither more batches nor more files than their bytes need. */
  #putMovedIntoStored(...batches: readonly Batch[]): void {
    for (const batch of batches) if (batch.byteLength > this.#limits.maxBatchBytes / 2) batch.seal()
    this.putIntoStored(...batches)
  }

  /** Has the line follow others of its dataset into the store, or begin a batch there, if there is no memory for one. */
  #addToStored(severity: Severity, line: Line, blockBytes: number, acknowledgement?: Acknowledgement): boolean {
    const { spill } = this.#deps
    const { maxBatchBytes, maxBatchEvents } = this.#limits
    const youngest = this.#stored.at(-1)
    this.#extended = youngest
    try {
      const mayFollow = spill?.isMemoryShort && youngest !== undefined && youngest.count < maxBatchEvents
      if (mayFollow && this.#extend(youngest, severity, line, maxBatchBytes, acknowledgement)) return true
      spill?.spill(this)
      const batch = spill?.open(this.dataset, blockBytes)
      return batch !== undefined && this.#begin(batch, severity, line, acknowledgement)
    } finally {
      this.#extended = undefined
    }
  }

  /** Has the line begin a batch that is in the store alone. */
  #begin(batch: Batch, severity: Severity, line: Line, acknowledgement?: Acknowledgement): boolean {
    try {
      this.#deps.onOpened(this, batch)
      this.putIntoStored(batch)
      this.#extended = batch
      return this.#extend(batch, severity, line, this.#limits.maxBlockBytes, acknowledgement)
    } finally {
      if (batch.count === 0) this.#discard(batch)
    }
  }

  #discard(stored: Batch): void {
    const at = this.#stored.indexOf(stored)
    if (at >= 0) this.#stored.splice(at, 1)
    stored.settle()
  }

  /** Once the line is in its place nothing is called any more. */
  #extend(batch: Batch, severity: Severity, line: Line, maxBytes: number, acknowledgement?: Acknowledgement): boolean {
    if (!batch.appendInStore(severity, line, maxBytes, acknowledgement)) return false
    this.#limits.sealedBytes += line.length + 1
    this.#limits.sealedEvents++
    return true
  }

  #inMemory(): Batch[] {
    return [...this.#waiting, ...this.#backlog, ...(this.#open === undefined ? [] : [this.#open])]
  }

  #takeFresh(nowMs: number): Batch | undefined {
    const ready = takeReady(this.#waiting, nowMs)
    if (ready !== undefined || this.dueAtMs > nowMs) return ready
    return this.#seal() ? this.#waiting.pop() : undefined
  }

  /** Size of the block for a batch in which there is room for this line. */
  #nextBlockBytes(line: Line): number {
    const expectedBytes = Math.max(this.#lastSealedBytes, line.length + 1)
    const { maxBatchBytes, maxBlockBytes } = this.#limits
    return blockSize(expectedBytes, expectedBytes <= maxBatchBytes ? maxBatchBytes : maxBlockBytes)
  }

  /** A new batch; nothing when there is no memory for it. */
  #openFor(blockBytes: number): Batch | undefined {
    const { memory, openStored: openCopy, onOpened } = this.#deps
    const batch = Batch.open(this.dataset, blockBytes, memory, () => openCopy(this.dataset))
    if (batch === undefined) return undefined
    onOpened(this, batch)
    this.#openedAtMs = monotonicMs()
    this.#open = batch
    return batch
  }

  /** Has the open batch wait to be sent; `false` when it has no line, and is no more. */
  #seal(): boolean {
    const batch = this.#closeOpen()
    if (batch.count === 0) batch.settle()
    else batch.seal()
    return batch.count > 0
  }

  #closeOpen(): Batch {
    const batch = this.#open as Batch
    if (batch.count > 0) this.#waiting.push(batch) // first: it must not be in neither place
    this.#open = undefined
    this.#isFlushing = false
    if (batch.count > 0) this.#lastSealedBytes = batch.byteLength
    this.#limits.sealedBytes += batch.byteLength
    this.#limits.sealedEvents += batch.count
    return batch
  }
}

function takeReady(batches: Batch[], nowMs: number): Batch | undefined {
  const ready = batches.findIndex(batch => batch.notBeforeMs <= nowMs)
  return ready < 0 ? undefined : batches.splice(ready, 1)[0]
}

function countOf(batches: readonly Batch[]): number {
  return batches.reduce((count, batch) => count + batch.count, 0)
}

function byteLengthOf(batches: readonly Batch[]): number {
  return batches.reduce((bytes, batch) => bytes + batch.byteLength, 0)
}
