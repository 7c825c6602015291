import type { Severity } from '../accounting/severity.ts'
import type { Line } from '../record/event-to-line.ts'
import { reserveStack } from '../stack-reserve.ts'
import { detached } from '../text/detached.ts'
import { monotonicMs } from '../time.ts'
import type { Acceptances } from './acceptances.ts'
import type { Acknowledgement } from './acknowledgements.ts'
import { Batch } from './batch.ts'
import type { BatchStore, StoredBatch } from './batch-store.ts'
import { BehindEvidence } from './behind-evidence.ts'
import { blockSize } from './line-buffer.ts'
import type { MemoryBudget } from './memory-budget.ts'
import type { Pause, PauseCause } from './pause.ts'
import { Refusals } from './refusals.ts'

/**
 * The limits of a batch, shared by every dataset queue. Size and age are tuned to the request rate that the service
 * allows.
 */
export interface BatchLimits {
  maxBatchBytes: number
  maxBatchAgeMs: number
  /** Bytes up to which `maxBatchBytes` may be raised. */
  readonly batchBytesCeiling: number
  /** Bytes up to which `maxBatchBytes` may be raised while the request rate is not limited. */
  readonly maxUnlimitedBytes: number
  /** Bytes that one event alone may always take. */
  readonly maxBlockBytes: number
  maxBatchEvents: number
  /** Bytes of the lines in the batches sealed so far, and of the lines added in the store. */
  sealedBytes: number
  /** Number of these lines. */
  sealedEvents: number
}

/** Moves batches and lines to the store while memory is short: see `Spill`. */
export interface WayToStore {
  /** True while memory is so short that new lines follow the stored lines of their dataset into the store. */
  readonly isMemoryShort: boolean
  /** While memory is short, moves one batch of `queue` now, and schedules other batches to move. */
  spill(queue: DatasetQueue): void
  /** Opens an empty batch in the store. Returns `undefined` if memory has room for a block of so many bytes. */
  open(dataset: string, bytes: number): Batch | undefined
  /** Reports the lines that were written straight to the store, in the next turn of the event loop. */
  reportSoon(): void
  /** Reports lines that went to the store. */
  onSpooled(dataset: string, count: number, bytes: number): void
}

export interface DatasetQueueDeps {
  readonly limits: BatchLimits
  readonly memory: MemoryBudget
  readonly acceptances: Acceptances
  /** `undefined` without a store. */
  readonly spill: WayToStore | undefined
  /**
   * Opens a stored copy for a new batch, to which each line is written at once. Returns `undefined` if the store opens
   * none.
   */
  readonly openStored: (dataset: string) => StoredBatch | undefined
  /** Stack that opening a batch takes, with everything that may be called for it, in bytes. */
  readonly stackBytes: number
  /** Called with a new batch before it has a line, so that a flush of all lines includes the batch. */
  readonly onOpened: (queue: DatasetQueue, batch: Batch) => void
  /** Announces that a batch may be ready soon. Makes no request now, inside a log call. */
  readonly scheduleReady: () => void
}

/** Age from which the open batch is sent before others, in milliseconds, if the service does not accept these. */
const firstLatestMs = 1000

/** Part of the memory that a dataset may fill while it is behind (`BehindEvidence`). */
const partIfBehind = 0.5

/** The batches of one dataset: one batch that is open for new lines, and the batches that wait to be sent. */
export class DatasetQueue {
  readonly dataset: string
  #acceptedAtMs = Number.NEGATIVE_INFINITY
  /** Time of the latest answer that blocked events of the dataset, such as a 403; monotonic, in milliseconds. */
  #blockedAtMs = Number.NEGATIVE_INFINITY
  /** Size of the largest batch that was sent and accepted since then, in bytes of its lines. */
  #acceptedBytes = 0
  /** The failed requests since the service last accepted events of the dataset; `undefined` if there are none. */
  #behind: BehindEvidence | undefined
  #pause: Pause | undefined
  #heldUntilMs = 0
  #refusals: Refusals | undefined
  readonly #deps: DatasetQueueDeps
  readonly #limits: BatchLimits
  /** Batches that were never only in the store, oldest first. A batch whose attempt failed is at the head again. */
  #waiting: Batch[] = []
  /** Batches that were reloaded from the store and wait, in the same order. */
  readonly #reloaded: Batch[] = []
  /** True if the last request with events of the dataset brought no answer. */
  isUnanswered = false
  /** Batches that are only in the store, oldest first. */
  #stored: Batch[] = []
  /** The youngest stored batch while a line is being added to it. It must not be dropped to make room for that line. */
  #extended: Batch | undefined
  /** True if a reloaded batch is sent next, should there be one. */
  #isTurnOfReloaded = false
  /** True if another batch than the head of the queue is sent next, should there be one. */
  #isTurnOfOthers = false
  /** Number of open batches that were sealed although others waited, since events of the dataset were last accepted. */
  #latestProbes = 0
  #open: Batch | undefined
  #openedAtMs = 0
  #isFlushing = false
  #lastSealedBytes = 0
  /** Lines that were written straight to the store and are not reported yet. */
  #extendedCount = 0
  #extendedBytes = 0

  constructor(dataset: string, deps: DatasetQueueDeps) {
    this.dataset = detached(dataset) // the name may be a part of a long text, and its batches wait
    this.#deps = deps
    this.#limits = deps.limits
  }

  /** Start of the latest request with events of the dataset that was accepted; monotonic, in milliseconds. */
  get acceptedAtMs(): number {
    return this.#acceptedAtMs
  }

  /** Notes that the service has accepted a batch, whose request started at that time. */
  onAccepted(batch: Batch, startedAtMs: number): void {
    this.#acceptedAtMs = Math.max(this.#acceptedAtMs, startedAtMs)
    this.#behind = undefined
    this.#latestProbes = 0
    this.#deps.acceptances.onAccepted(this.dataset, monotonicMs())
    if (startedAtMs >= this.#blockedAtMs) this.#acceptedBytes = Math.max(this.#acceptedBytes, batch.byteLength)
  }

  /**
   * Notes that an answer has blocked events.
   *
   * @returns the time since the previous such answer, in milliseconds, and the bytes of the largest batch that was sent
   *   and accepted since then; 0 without one
   */
  onBlocked(nowMs: number): { readonly sinceMs: number; readonly acceptedBytes: number } {
    const before = { sinceMs: nowMs - this.#blockedAtMs, acceptedBytes: this.#acceptedBytes }
    this.#blockedAtMs = nowMs
    this.#acceptedBytes = 0
    return before
  }

  /**
   * Notes that the service has not accepted a batch whose request started at that time. The reason is neither the rate,
   * the size nor the compression.
   */
  onFailed(startedAtMs: number): void {
    const { acceptances } = this.#deps
    this.#behind ??= new BehindEvidence(this.dataset, acceptances)
    this.#behind.onFailed(startedAtMs)
    acceptances.onFailed(this.dataset)
  }

  /** True if the service accepts nothing of this dataset while it accepts other datasets. */
  get isBehind(): boolean {
    return this.#behind?.isBehind(this.#pause) === true
  }

  get isEmpty(): boolean {
    return this.#open === undefined && this.#waiting.length + this.#reloaded.length + this.#stored.length === 0
  }

  /** Number of batches in memory: the open batch and the waiting batches. */
  get batchesInMemory(): number {
    return this.#inMemory().length
  }

  /** Number of batches that are only in the store. */
  get batchesInStore(): number {
    return this.#stored.length
  }

  /** Bytes of the lines in the open batch. */
  get openBytes(): number {
    return this.#open?.byteLength ?? 0
  }

  /** Bytes of the lines in batches that wait in memory. */
  get waitingBytes(): number {
    return byteLengthOf(this.#waiting) + byteLengthOf(this.#reloaded)
  }

  /** Bytes of the lines in batches that are only in the store. */
  get storedBytes(): number {
    return byteLengthOf(this.#stored)
  }

  /** Number of lines in the open batch. */
  get openCount(): number {
    return this.#open?.count ?? 0
  }

  /** Number of lines in batches that wait, in memory or in the store. */
  get waitingCount(): number {
    return countOf(this.#waiting) + countOf(this.#reloaded) + countOf(this.#stored)
  }

  /** Number of lines in batches that were sent before and wait for another attempt. */
  get resentCount(): number {
    return resentIn(this.#waiting) + resentIn(this.#reloaded) + resentIn(this.#stored)
  }

  /** Severity of the most severe line in memory; -1 if there is none. */
  get maxSeverity(): number {
    let max = -1
    for (const batch of this.#inMemory()) for (const severity of batch.severities) max = Math.max(max, severity)
    return max
  }

  /**
   * Approximate monotonic time since which lines wait, in milliseconds. It is 0 if a batch waits to be sent, because
   * such lines have waited longer than the lines of an open batch.
   */
  get waitingSinceMs(): number {
    return this.#waiting.length + this.#reloaded.length > 0 ? 0 : this.#openedAtMs
  }

  /** Number of reloaded batches that wait. */
  get reloadedCount(): number {
    return this.#reloaded.length
  }

  /** True if a reloaded batch waits of which the service has refused nothing. The others must not hold up stored batches. */
  get hasUnrefusedReloaded(): boolean {
    return this.#reloaded.some(({ wasRefused }) => !wasRefused)
  }

  /** Returns the oldest batch that is only in the store and has at most `maxBytes`. */
  oldestStored(maxBytes = Number.POSITIVE_INFINITY): Batch | undefined {
    return this.#stored.find(batch => batch.byteLength <= maxBytes && batch !== this.#extended)
  }

  /**
   * True if the open batch has waited long enough for more lines. Thousands of datasets are asked this for each request, so
   * no number is returned, for which V8 would make an object each time.
   */
  #isDue(nowMs: number): boolean {
    if (this.#open === undefined) return false
    if (this.#isFlushing || this.#open.count >= this.#limits.maxBatchEvents) return true
    return this.#openedAtMs + this.#limits.maxBatchAgeMs <= nowMs
  }

  /**
   * Adds a line. Returns false if neither memory nor the store has room for the line. Nothing is called after the line
   * is in its batch, so that the line counts fully or not at all: see `Batch.append`.
   */
  enqueue(severity: Severity, line: Line, acknowledgement?: Acknowledgement): boolean {
    const { maxBatchBytes, maxBatchEvents, maxBlockBytes } = this.#limits
    const open = this.#open
    if (open !== undefined && open.count < maxBatchEvents) {
      if (open.count + 1 === maxBatchEvents) this.#deps.scheduleReady()
      const mayGrow = !this.#behind?.mayBeBehind(this.#pause) || this.#hasRoomFor(severity)
      const maxBytes = mayGrow ? maxBatchBytes : Math.min(open.blockBytes, maxBatchBytes)
      if (open.append(severity, line, maxBytes, acknowledgement)) return true
    }
    reserveStack(this.#deps.stackBytes)
    if (open !== undefined) {
      this.#deps.scheduleReady()
      this.#seal()
    }
    const blockBytes = this.#nextBlockBytes(line)
    if (this.#addToStored(severity, line, blockBytes, acknowledgement)) return true
    const batch = this.#hasRoomFor(severity) ? this.#openFor(blockBytes) : undefined
    if (batch === undefined) return false
    if (batch.append(severity, line, maxBlockBytes, acknowledgement)) return true
    this.#seal()
    return false
  }

  /** Reports the lines that were written straight to the store since the last call. */
  reportExtended(): void {
    const [count, bytes] = [this.#extendedCount, this.#extendedBytes]
    this.#extendedCount = 0
    this.#extendedBytes = 0
    if (count > 0) this.#deps.spill?.onSpooled(this.dataset, count, bytes)
  }

  /** Makes the open batch due without waiting for more lines. */
  flush(): void {
    this.#isFlushing = this.#open !== undefined
  }

  /** Makes the open batch due if a caller waits for one of its lines. */
  flushAwaited(): void {
    if (this.#open?.isAwaited) this.#isFlushing = true
  }

  /**
   * Returns the next batch that may be sent now. An open batch that is due is sealed only here, when a request can be
   * made. During an outage the open batch goes on filling, so that the outage does not leave many small batches.
   *
   * Every other probe from the third on is of another batch than the head of the queue, to which most batches return that the
   * service does not accept. Otherwise these would hold up all events behind them.
   *
   * If the events may be the reason for a pause, the probe is one event. Of a large batch, a few events to blame would have
   * each probe refused. If the size may be the reason, the probe is no larger than the last part of a blocked one: during the
   * pause, other batches become ever larger.
   */
  dequeue(nowMs: number): Batch | undefined {
    if (this.#notBeforeMs > nowMs) return undefined
    const pause = this.#pause
    const isProbeOfOthers = pause !== undefined && pause.refusals >= 3 && pause.refusals % 2 === 1
    const other = isProbeOfOthers || this.#isTurnOfOthers ? this.#takeOther(nowMs) : undefined
    const ready = other ?? this.#takeReady(nowMs)
    if (ready === undefined) return undefined
    this.#isTurnOfReloaded = !ready.isReloaded
    this.#isTurnOfOthers = false
    const maxBytes = pause?.mayBeForEvents === true ? 1 : (pause?.maxProbeBytes ?? Number.POSITIVE_INFINITY)
    if (ready.count === 1 || ready.byteLength <= maxBytes) return ready
    const [first, rest] = ready.splitAt(maxBytes)
    this.requeueLast(rest)
    return first
  }

  /** False if no batch can be sent now. Of many datasets few have one, so this is asked before each `dequeue`. */
  mayBeReady(nowMs: number): boolean {
    return this.#waiting.length > 0 || this.#reloaded.length > 0 || this.#isDue(nowMs)
  }

  /** Puts batches back at the head of their queue, in the given order. */
  requeue(...batches: readonly Batch[]): void {
    const queue = batches[0]?.isReloaded ? this.#reloaded : this.#waiting
    queue.unshift(...batches)
  }

  /** Lets another batch than the head of the queue be sent next, should there be one. */
  yieldTurn(): void {
    this.#isTurnOfOthers = true
  }

  /** Puts a part of a split batch back. If the part that follows it is at the head of the queue, the two are joined. */
  requeueJoined(batch: Batch): void {
    const queue = batch.isReloaded ? this.#reloaded : this.#waiting
    const joined = queue[0] && batch.withNext(queue[0])
    if (joined === undefined) queue.unshift(batch)
    else queue[0] = joined
  }

  /** The refusals of the dataset; `undefined` if no refused piece of a batch waits. */
  get refusals(): Refusals | undefined {
    if (this.#refusals?.isSettled) this.#refusals = undefined
    return this.#refusals
  }

  /** Returns the refusals of the dataset, and starts to record them if there were none. */
  beginRefusals(nowMs: number): Refusals {
    this.#refusals = this.refusals ?? new Refusals(nowMs)
    return this.#refusals
  }

  /** Puts a batch at the end of its queue. */
  requeueLast(batch: Batch): void {
    const queue = batch.isReloaded ? this.#reloaded : this.#waiting
    queue.push(batch)
  }

  /** Moves the batch that has waited longest to the store. Returns false if no batch can be moved. */
  moveOldestTo(store: BatchStore): boolean {
    for (const batches of [this.#waiting, this.#reloaded]) {
      const oldest = batches.findIndex(batch => batch.moveTo(store))
      if (oldest < 0) continue
      this.#putMovedIntoStored(...batches.splice(oldest, 1))
      return true
    }
    return false
  }

  /** Moves a reloaded batch back to the store. Returns false if there is none, or if it cannot be moved. */
  returnReloadedTo(store: BatchStore): boolean {
    const at = this.#reloaded.findIndex(batch => batch.moveTo(store))
    if (at < 0) return false
    this.putIntoStored(...this.#reloaded.splice(at, 1))
    return true
  }

  /** Moves the open batch to the store as it is. Returns false if there is none, or if it cannot be moved. */
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

  /** Adds batches that are only in the store, in order of age. */
  putIntoStored(...batches: readonly Batch[]): void {
    for (const batch of batches) {
      const younger = this.#stored.findLastIndex(({ order }) => order <= batch.order) + 1
      if (younger === this.#stored.length) this.#stored = withLast(this.#stored, batch)
      else this.#stored.splice(younger, 0, batch)
    }
  }

  /** Removes and returns the oldest batch that is only in the store. */
  takeOldestStored(): Batch | undefined {
    const oldest = this.oldestStored()
    if (oldest !== undefined) this.#stored.splice(this.#stored.indexOf(oldest), 1)
    return oldest
  }

  /** Removes and returns the batches that were only in the store and have vanished there. */
  takeLost(): Batch[] {
    const lost = this.#stored.filter(({ isLost }) => isLost)
    for (const batch of lost) this.#stored.splice(this.#stored.indexOf(batch), 1)
    return lost
  }

  /**
   * Removes and returns the oldest stored batch of at most `maxBytes`, joined with the batches after it as far as one
   * batch can hold them.
   */
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
      if (batch.wasSent !== next.wasSent) return batch // only lines that were sent count as retries
      batch.join(next)
      this.#stored.splice(at, 1)
    }
  }

  /**
   * Monotonic time from which `dequeue` may return a batch that it does not return now, in milliseconds; `Infinity` if
   * unknown.
   */
  wakeAtMs(): number {
    if (this.isEmpty) return Number.POSITIVE_INFINITY
    // A stored batch is reloaded once the dataset may send. From then on it waits for room in memory, not for a time.
    const isToBeReloaded = this.#stored.length > 0 && this.#notBeforeMs > monotonicMs()
    let readyAtMs = isToBeReloaded ? 0 : this.#dueAtMs
    for (const { notBeforeMs } of this.#waiting) readyAtMs = Math.min(readyAtMs, notBeforeMs)
    for (const { notBeforeMs } of this.#reloaded) readyAtMs = Math.min(readyAtMs, notBeforeMs)
    return Math.max(readyAtMs, this.#notBeforeMs)
  }

  /**
   * Monotonic time at which the open batch has waited long enough for more lines, in milliseconds; `Infinity` if there
   * is none.
   */
  get #dueAtMs(): number {
    if (this.#open === undefined) return Number.POSITIVE_INFINITY
    const isDue = this.#isFlushing || this.#open.count >= this.#limits.maxBatchEvents
    return isDue ? 0 : this.#openedAtMs + this.#limits.maxBatchAgeMs
  }

  /** The pause of the dataset; `undefined` if the dataset is not paused. */
  get pause(): Pause | undefined {
    return this.#pause
  }

  /** Holds the batches back until that time, because the service asked to wait. */
  holdUntil(untilMs: number): void {
    this.#heldUntilMs = Math.max(this.#heldUntilMs, untilMs)
  }

  /** Time until which the service asked to wait with this dataset; monotonic, in milliseconds. */
  get heldUntilMs(): number {
    return this.#heldUntilMs
  }

  /** False while no batch is sent: the next probe is not due, or the service asked to wait. */
  maySend(nowMs: number): boolean {
    return this.#notBeforeMs <= nowMs
  }

  /** Time before which no batch is sent: the next probe is not due, or the service asked to wait. */
  get #notBeforeMs(): number {
    return Math.max(this.#probeAtMs, this.#heldUntilMs)
  }

  /** Time of the next probe; 0 if the dataset is not paused, `Infinity` while a probe is in flight. */
  get #probeAtMs(): number {
    if (this.#pause === undefined) return 0
    return this.#pause.kind === 'probing' ? Number.POSITIVE_INFINITY : this.#pause.untilMs
  }

  /** Pauses the dataset, or prolongs its pause: the next probe is due at that time. */
  pauseUntil(untilMs: number, { refusals, status, reason, mayBeForEvents, maxProbeBytes }: PauseCause): void {
    this.#pause = { kind: 'waiting', untilMs, refusals, status, reason, mayBeForEvents, maxProbeBytes }
  }

  unpause(): void {
    this.#pause = undefined
  }

  /** Notes that a batch is in flight: if the dataset is paused, as a probe. */
  beginProbe(startedAtMs: number): void {
    if (this.#pause === undefined) return
    const { refusals, status, reason, mayBeForEvents, maxProbeBytes } = this.#pause
    this.#pause = { kind: 'probing', startedAtMs, refusals, status, reason, mayBeForEvents, maxProbeBytes }
  }

  /**
   * Notes that an attempt that began at that time has ended. If it was the probe, the next one is due now, unless the pause ends
   * or is prolonged. An attempt that began before the probe was in flight when the pause began.
   *
   * @returns true if the attempt was the probe
   */
  endProbe(startedAtMs: number): boolean {
    if (this.#pause?.kind !== 'probing' || startedAtMs < this.#pause.startedAtMs) return false
    this.pauseUntil(0, this.#pause)
    return true
  }

  /** Makes the next probe due now if the dataset waits for it. */
  probeNow(): void {
    if (this.#pause?.kind === 'waiting') this.pauseUntil(0, this.#pause)
  }

  /** Makes every batch that waits after a failure due now, and the next probe as well if the dataset is paused. */
  skipBackoff(): void {
    for (const batches of [this.#waiting, this.#reloaded, this.#stored]) {
      for (const batch of batches) batch.skipBackoff()
    }
    this.probeNow()
  }

  /** Removes and returns the batches, in memory or in the store, even if they are held back, for which `isTaken` returns true. */
  takeAll(isTaken: (batch: Batch) => boolean): Batch[] {
    if (this.#open !== undefined && isTaken(this.#open)) this.#seal()
    const taken: Batch[] = []
    for (const batches of [this.#stored, this.#reloaded, this.#waiting]) {
      for (const batch of batches.splice(0)) (isTaken(batch) ? taken : batches).push(batch)
    }
    return taken
  }

  /**
   * Adds batches that have just moved to the store, and seals the large ones. Small batches stay open for more lines,
   * so that a long outage makes no more batches and files than its bytes need.
   */
  #putMovedIntoStored(...batches: readonly Batch[]): void {
    for (const batch of batches) if (batch.byteLength > this.#limits.maxBatchBytes / 2) batch.seal()
    this.putIntoStored(...batches)
    for (const { count, byteLength } of batches) this.#deps.spill?.onSpooled(this.dataset, count, byteLength)
  }

  /** Adds a line to the store if memory is short: to the youngest stored batch of the dataset, or to a new one. */
  #addToStored(severity: Severity, line: Line, blockBytes: number, acknowledgement?: Acknowledgement): boolean {
    const { spill } = this.#deps
    const { maxBatchBytes, maxBatchEvents } = this.#limits
    const youngest = this.#stored.at(-1)
    this.#extended = youngest
    try {
      if (spill?.isMemoryShort) spill.reportSoon()
      const mayFollow = spill?.isMemoryShort && youngest !== undefined && youngest.count < maxBatchEvents
      if (mayFollow && this.#extend(youngest, severity, line, maxBatchBytes, acknowledgement)) return true
      spill?.spill(this)
      const batch = spill?.open(this.dataset, blockBytes)
      return batch !== undefined && this.#begin(batch, severity, line, acknowledgement)
    } finally {
      this.#extended = undefined
    }
  }

  /** Adds a line to a new batch that is only in the store. Discards the batch if the line cannot be added. */
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

  /** Nothing is called after the line is in its batch, except to count the line. */
  #extend(batch: Batch, severity: Severity, line: Line, maxBytes: number, acknowledgement?: Acknowledgement): boolean {
    if (!batch.appendInStore(severity, line, maxBytes, acknowledgement)) return false
    this.#limits.sealedBytes += line.length + 1
    this.#limits.sealedEvents++
    this.#extendedBytes += line.length + 1
    this.#extendedCount++
    return true
  }

  #inMemory(): Batch[] {
    return [...this.#waiting, ...this.#reloaded, ...(this.#open === undefined ? [] : [this.#open])]
  }

  /** Removes and returns the next batch that may be sent now. Reloaded batches and others take turns. */
  #takeReady(nowMs: number): Batch | undefined {
    return this.#isTurnOfReloaded
      ? (takeReady(this.#reloaded, nowMs) ?? this.#takeNew(nowMs))
      : (this.#takeNew(nowMs) ?? takeReady(this.#reloaded, nowMs))
  }

  /** Removes and returns another batch than the head of the queue: of the latest events, never sent, or the last one. */
  #takeOther(nowMs: number): Batch | undefined {
    return (
      this.#takeLatest(nowMs) ??
      takeReady(this.#waiting, nowMs, isUnsent) ??
      takeReady(this.#reloaded, nowMs, isUnsent) ??
      takeLastReady(this.#waiting, nowMs) ??
      takeLastReady(this.#reloaded, nowMs)
    )
  }

  /**
   * Seals, removes and returns the open batch, to find out if the service accepts the latest events. It must be twice as old
   * each time, so that an hour of outage leaves a dozen small batches.
   */
  #takeLatest(nowMs: number): Batch | undefined {
    const isOld = nowMs - this.#openedAtMs >= firstLatestMs * 2 ** this.#latestProbes
    const latest = isOld || this.#isFlushing ? this.#takeOpen(nowMs) : undefined
    if (latest !== undefined) this.#latestProbes++
    return latest
  }

  /**
   * Removes and returns the next batch that was never only in the store, joined with those after it as far as one batch can
   * hold them. Seals the open batch if that one is due.
   */
  #takeNew(nowMs: number): Batch | undefined {
    const at = this.#waiting.findIndex(({ notBeforeMs }) => notBeforeMs <= nowMs)
    if (at < 0) return this.#takeOpen(nowMs)
    const [batch, ...others] = this.#waiting.slice(at, at + this.#joinableFrom(at)) as [Batch, ...Batch[]]
    const isJoined = others.length > 0 && batch.joinInMemory(others, this.#limits.maxBatchBytes)
    this.#waiting.splice(at, isJoined ? 1 + others.length : 1) // afterwards, because memory for the joined lines may be short
    return batch
  }

  /**
   * Returns how many of the waiting batches, from that one on, one batch can hold; at least 1. Many small batches wait if
   * `maxBatchEvents` is small and was raised later, because the request rate is low.
   */
  #joinableFrom(at: number): number {
    const { maxBatchBytes, maxBatchEvents } = this.#limits
    const first = this.#waiting[at] as Batch
    if (this.#pause !== undefined) return 1
    let { count, byteLength } = first
    let end = at + 1
    for (; end < this.#waiting.length; end++) {
      const next = this.#waiting[end] as Batch
      count += next.count
      byteLength += next.byteLength
      if (count > maxBatchEvents || byteLength > maxBatchBytes || !first.mayJoin(next)) break
    }
    return end - at
  }

  /** Seals, removes and returns the open batch if it is due. */
  #takeOpen(nowMs: number): Batch | undefined {
    return this.#isDue(nowMs) && this.#seal() ? this.#waiting.pop() : undefined
  }

  /** Returns the size of a block for a new batch with room for this line. */
  #nextBlockBytes(line: Line): number {
    const expectedBytes = Math.max(this.#lastSealedBytes, line.length + 1)
    const { maxBatchBytes, maxBlockBytes } = this.#limits
    return blockSize(expectedBytes, expectedBytes <= maxBatchBytes ? maxBatchBytes : maxBlockBytes)
  }

  /**
   * Returns true if memory may take an event of this severity. Without a store, a dataset that is behind may fill only a part
   * of the memory.
   */
  #hasRoomFor(severity: Severity): boolean {
    const { memory, spill } = this.#deps
    if (severity < memory.minSeverity) return false
    return spill !== undefined || !this.isBehind || memory.hasRoomInPart(partIfBehind, severity)
  }

  /** Opens a new batch in memory. Returns `undefined` if there is no memory for it. */
  #openFor(blockBytes: number): Batch | undefined {
    const { memory, openStored, onOpened } = this.#deps
    const batch = Batch.open(this.dataset, blockBytes, memory, () => openStored(this.dataset))
    if (batch === undefined) return undefined
    onOpened(this, batch)
    this.#openedAtMs = monotonicMs()
    this.#open = batch
    return batch
  }

  /**
   * Closes the open batch, which then waits to be sent. Returns false if the batch has no line; it is then discarded.
   */
  #seal(): boolean {
    const batch = this.#closeOpen()
    if (batch.count === 0) batch.settle()
    else batch.seal()
    return batch.count > 0
  }

  #closeOpen(): Batch {
    const batch = this.#open as Batch
    if (batch.count > 0) this.#waiting = withLast(this.#waiting, batch) // first, so that a queue always has it
    this.#open = undefined
    this.#isFlushing = false
    if (batch.count > 0) this.#lastSealedBytes = batch.byteLength
    this.#limits.sealedBytes += batch.byteLength
    this.#limits.sealedEvents += batch.count
    return batch
  }
}

/**
 * Returns the batches with another one at the end. In an empty array, `push` and `splice` make room for 17 batches: 130
 * bytes for each of thousands of datasets.
 */
function withLast(batches: Batch[], batch: Batch): Batch[] {
  if (batches.length === 0) return [batch]
  batches.push(batch)
  return batches
}

function isUnsent({ wasSent }: Batch): boolean {
  return !wasSent
}

function takeReady(
  batches: Batch[],
  nowMs: number,
  isEligible: (batch: Batch) => boolean = () => true,
): Batch | undefined {
  const ready = batches.findIndex(batch => batch.notBeforeMs <= nowMs && isEligible(batch))
  return ready < 0 ? undefined : batches.splice(ready, 1)[0]
}

function takeLastReady(batches: Batch[], nowMs: number): Batch | undefined {
  const ready = batches.findLastIndex(({ notBeforeMs }) => notBeforeMs <= nowMs)
  return ready < 0 ? undefined : batches.splice(ready, 1)[0]
}

/** Returns the number of lines in the batches that were sent before. */
export function resentIn(batches: Iterable<Batch>): number {
  let count = 0
  for (const batch of batches) if (batch.wasSent) count += batch.count
  return count
}

function countOf(batches: readonly Batch[]): number {
  let count = 0
  for (const batch of batches) count += batch.count
  return count
}

function byteLengthOf(batches: readonly Batch[]): number {
  let bytes = 0
  for (const batch of batches) bytes += batch.byteLength
  return bytes
}
