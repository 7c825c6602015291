import { addCounts, type DropsBySeverity } from '../accounting/ledger.ts'
import { type Severity, severities } from '../accounting/severity.ts'
import type { Line } from '../record/event-to-line.ts'
import { fewCallsBytes, openBatchBytes, reserveStack } from '../stack-reserve.ts'
import type { Acknowledgement, Loss } from './acknowledgements.ts'
import { Attempts } from './attempts.ts'
import type { BatchStore, StoredBatch, StoredContent } from './batch-store.ts'
import { blockSize, type Cut, LineBuffer, newline, type StoredLines } from './line-buffer.ts'
import type { MemoryBudget } from './memory-budget.ts'
import type { PieceOrigin } from './refusals.ts'
import { RequestBody } from './request-body.ts'
import { type BlockOwner, noBlock, SharedBlock } from './shared-block.ts'

/**
 * Lines on their way to the service, as one block of bytes. Each line is written straight into the block. A retry sends
 * the same bytes. A split cuts at a newline and copies nothing. While a batch waits, it may be only in the store.
 */
export class Batch implements BlockOwner {
  readonly dataset: string
  #lines: LineBuffer | StoredLines
  readonly #shared: SharedBlock
  #attempts: Attempts | undefined
  #body: RequestBody | undefined
  #onSettled: ((batch: Batch) => void) | undefined
  /** Number of the first line among the lines of the batch before any split. */
  #first = 0
  #isSplit = false
  #isReloaded = false
  #isSealed = false
  /** Counts reloads and cancellations. A reload is discarded if the number has changed when the reload ends. */
  #reloads = 0

  private constructor(dataset: string, lines: LineBuffer | StoredLines, shared: SharedBlock, attempts?: Attempts) {
    this.dataset = dataset
    this.#lines = lines
    this.#shared = shared
    this.#attempts = attempts
  }

  /**
   * Opens an empty batch. Returns `undefined` if there is no memory for its block. Each line is also written to the
   * stored batch that `copy` returns.
   */
  static open(
    dataset: string,
    blockBytes: number,
    memory: MemoryBudget,
    copy?: () => StoredBatch | undefined,
  ): Batch | undefined {
    const block = memory.allocate(blockBytes)
    return block && new Batch(dataset, new LineBuffer(block), new SharedBlock(block, memory, copy?.()))
  }

  /** Creates a batch whose lines are only in the store. */
  static stored(
    dataset: string,
    severities: Uint8Array,
    byteLength: number,
    copy: StoredBatch,
    memory: MemoryBudget,
  ): Batch {
    const count = severities.length
    const shared = new SharedBlock(noBlock, memory, copy)
    shared.unsettled = count
    const lines = inStore(new LineBuffer(noBlock, severities, count, byteLength))
    return new Batch(dataset, lines, shared)
  }

  /** The attempts to send the batch. Thousands of batches may wait for their first one, and keep nothing here. */
  get attempts(): Attempts {
    this.#attempts ??= new Attempts()
    return this.#attempts
  }

  /** True if the batch was sent before. */
  get wasSent(): boolean {
    return this.#attempts !== undefined && this.#attempts.count > 0
  }

  /** True if the service has refused or blocked the batch, or the one that it was split from. */
  get wasRefused(): boolean {
    return this.#attempts !== undefined && (this.#attempts.refusal !== undefined || this.#attempts.wasBlocked)
  }

  /** Monotonic time before which the batch is not sent again, in milliseconds. */
  get notBeforeMs(): number {
    return this.#attempts?.notBeforeMs ?? 0
  }

  /** Makes the next attempt due now, if the batch waits after a failure. */
  skipBackoff(): void {
    if (this.notBeforeMs > 0) this.attempts.delayUntil(0)
  }

  /** The request body of the next attempt, if it differs from the lines. Most batches that wait need none. */
  get body(): RequestBody {
    this.#body ??= new RequestBody(this.#shared.memory)
    return this.#body
  }

  /** Number of lines. */
  get count(): number {
    return this.#lines.count
  }

  /** Bytes of the lines, newlines included. */
  get byteLength(): number {
    return this.#lines.byteLength
  }

  /** The lines in the order in which they were added; empty while they are only in the store. */
  get bytes(): Buffer {
    return this.#lines.isInMemory ? this.#lines.bytes : noBlock
  }

  /** The severity class of each line; empty while the lines are only in the store. */
  get severities(): Uint8Array {
    return this.#lines.isInMemory ? this.#lines.severities : noBlock
  }

  /** Number of lines of each severity. */
  get bySeverity(): DropsBySeverity {
    return this.#lines.bySeverity
  }

  /** Yields each line as text, without its newline; none while the lines are only in the store. */
  lines(): Iterable<string> {
    return this.#lines.isInMemory ? this.#lines.texts() : []
  }

  /** True if the batch was reloaded from the store. Reloaded batches and others take turns. */
  get isReloaded(): boolean {
    return this.#isReloaded
  }

  /** True if the store has failed to read the batch for too long. */
  get isUnreadable(): boolean {
    return this.#shared.copies.some(copy => copy.isUnreadable)
  }

  /** Orders batches by their age in the store; empty if the store has no copy of the batch. */
  get order(): string {
    return this.#shared.copies[0]?.order ?? ''
  }

  /** Number of requests made for the lines of the batch before any split. */
  get requests(): number {
    return this.#shared.requests
  }

  countRequest(): void {
    this.#shared.requests++
  }

  /** Calls `run` with the batch when every line has been delivered or dropped. Call it once, before any split. */
  onSettled(run: (batch: Batch) => void): void {
    this.#onSettled = run
    this.#shared.owner = this
  }

  /** @internal called by `SharedBlock` */
  onBlockSettled(): void {
    this.#onSettled?.(this)
  }

  /** Number of lines of the batch before any split that are neither delivered nor dropped. */
  get unsettledCount(): number {
    return this.#shared.unsettled
  }

  /** The batch before any split. It tells how many of its lines are unsettled. */
  get origin(): PieceOrigin {
    return this.#shared
  }

  /** True if every line of the batch before any split is settled, or in the store. */
  get isSafe(): boolean {
    return this.#shared.unsettled === 0 || this.#shared.isKnownStored
  }

  /** True if a caller waits for a line of the batch before any split. */
  get isAwaited(): boolean {
    return this.#shared.acknowledgements?.isEmpty === false
  }

  /** True if one caller waits for all lines of the batch. */
  get hasSingleOwner(): boolean {
    return this.#shared.acknowledgements?.hasSingleOwner(this.#first, this.#first + this.count) ?? false
  }

  /**
   * Adds a line, and reports to `acknowledgement` when the line is delivered or lost. Returns false, with nothing
   * added, if the line does not fit within `maxBytes` or the memory budget.
   *
   * All steps that can fail come first, and change no count. After these steps nothing is called, so that nothing can
   * fail, not even for lack of stack. The same holds in the callers, until the line is counted as accepted.
   */
  append(severity: Severity, line: Line, maxBytes: number, acknowledgement?: Acknowledgement): boolean {
    const lines = this.#lines
    if (!lines.isInMemory) return false
    const start = lines.byteLength
    const end = start + line.length + 1
    if (end > maxBytes || (end > lines.block.length && !this.#grow(lines, end, maxBytes))) return false
    lines.put(severity, line)
    const range = acknowledgement && this.#shared.rangeBefore(this.#first + lines.count, acknowledgement)
    const copy = this.#shared.copies[0]
    if (copy !== undefined) {
      reserveStack(fewCallsBytes)
      copy.append(lines.count, severity, lines.block, start, end)
    }
    lines.byteLength = end
    lines.count++
    this.#shared.unsettled++
    if (range === undefined) return true
    range.to++
    range.acknowledgement.pending++
    return true
  }

  /** Bytes for which the batch has memory. */
  get blockBytes(): number {
    return this.#lines.isInMemory ? this.#lines.block.length : 0
  }

  /**
   * Adds a line while the other lines are only in the store; otherwise like `append`. Returns false, with nothing
   * added, if the line does not fit within `maxBytes` or the store cannot take it.
   */
  appendInStore(
    severity: Severity,
    { bytes, length }: Line,
    maxBytes: number,
    acknowledgement?: Acknowledgement,
  ): boolean {
    const lines = this.#lines
    const [copy, other] = this.#shared.copies
    if (lines.isInMemory || lines.byteLength + length + 1 > maxBytes) return false
    // No line joins a batch that was sent before, because the service may object to that batch.
    if (this.wasSent || this.#attempts?.refusal !== undefined) return false
    if (other !== undefined || copy?.count !== lines.count || !copy.isOpen) return false
    const line = takeSpareLine(length + 1)
    bytes.copy(line, 0, 0, length)
    line[length] = newline
    const { bySeverity } = lines
    const range = acknowledgement && this.#shared.rangeBefore(this.#first + lines.count, acknowledgement)
    const name = severities[severity]
    const isToBeKept = line.length === spareLineBytes
    const isAdded = copy.extend(severity, line, 0, length + 1)
    if (isToBeKept) spareLine = line
    if (!isAdded) return false
    bySeverity[name] = (bySeverity[name] ?? 0) + 1
    lines.byteLength += length + 1
    lines.count++
    this.#shared.unsettled++
    if (range === undefined) return true
    range.to++
    range.acknowledgement.pending++
    return true
  }

  /** Splits the batch after half of its lines. The batch must be in memory, with at least two lines. */
  split(): [Batch, Batch] {
    return this.#split(lines => lines.after(lines.count >> 1))
  }

  /**
   * Splits off the first lines: as many as fit into `maxBytes`, and at least one. The batch must be in memory, with at
   * least two lines.
   */
  splitAt(maxBytes: number): [Batch, Batch] {
    return this.#split(lines => lines.within(maxBytes))
  }

  /**
   * Returns this part of a split batch together with `next`. Returns `undefined` if `next` is not the part that follows it.
   */
  withNext(next: Batch): Batch | undefined {
    if (next.#shared !== this.#shared || next.#first !== this.#first + this.count) return undefined
    this.#body?.drop()
    next.#body?.drop()
    const lines = (this.#lines as LineBuffer).withNext(next.#lines as LineBuffer)
    return this.#part(lines, lines.start, lines.end)
  }

  /**
   * Settles the lines as delivered, or as lost if `lossOf` returns a loss for the line's index in this batch. Call it
   * once for each batch that is not split further.
   */
  settle(lossOf: (line: number) => Loss | undefined = () => undefined): void {
    this.#body?.drop()
    this.#shared.acknowledgements?.settle(this.#first, this.#first + this.count, line => lossOf(line - this.#first))
    this.#shared.settle(this.count)
  }

  /** Ends the batch: no more lines will be added. */
  seal(): void {
    this.#isSealed = true
    this.#shared.seal()
  }

  /**
   * Moves a waiting batch from memory to the store, where lines may be added until the batch is sealed. Returns false
   * if the batch must stay in memory.
   */
  moveTo(store: BatchStore): boolean {
    if (this.#isSplit) return false // the shared block is freed when the last part is settled
    if (!this.#shared.isStored) {
      const copy = store.write(this.dataset, this.bytes, this.severities)
      if (copy === undefined) return false
      this.#shared.replaceCopies(copy)
    }
    this.#body?.drop()
    if (this.#lines.isInMemory) this.#lines = inStore(this.#lines)
    this.#shared.replaceBlock(noBlock)
    return true
  }

  /** True if the lines are only in the store. */
  get isOnlyStored(): boolean {
    return !this.#lines.isInMemory
  }

  /** True if the batch was only in the store and has vanished there. */
  get isLost(): boolean {
    return !this.#shared.isInMemory && this.#shared.copies.every(({ hasVanished }) => hasVanished)
  }

  /** True if a stored copy of the batch has vanished. */
  get hasVanished(): boolean {
    return this.#shared.hasVanished
  }

  /**
   * Writes lines that are in memory to the store again. For a batch that was split, this includes the lines of all its
   * parts. If the store cannot take every line, it keeps the lines that it has.
   */
  rewriteTo(store: BatchStore): void {
    if (!this.#shared.isInMemory || this.#shared.unsettled === 0) return
    const copy = this.#isSealed ? this.#writeTo(store) : this.#appendTo(store.open(this.dataset))
    if (copy?.isComplete) this.#shared.replaceCopies(copy)
    else copy?.remove()
  }

  /** Joins another batch to this one. Both are only in the store, and are reloaded as one batch. */
  join(other: Batch): void {
    const shift = this.#first + this.count - other.#first
    const bySeverity = { ...this.bySeverity }
    addCounts(bySeverity, other.bySeverity)
    this.#lines = {
      isInMemory: false,
      count: this.count + other.count,
      byteLength: this.byteLength + other.byteLength,
      bySeverity,
    }
    if (this.#attempts !== undefined || other.#attempts !== undefined) this.attempts.join(other.attempts)
    this.#shared.join(other.#shared, shift)
  }

  /**
   * True if `joinInMemory` may join that batch to this one: neither was sent, split or only in the store. The store has all lines
   * of both batches, or none. Otherwise it would count as the store of lines that it does not have.
   */
  mayJoin(other: Batch): boolean {
    return this.#isUntouched && other.#isUntouched && this.#isCopied === other.#isCopied
  }

  /**
   * Joins other batches to this one, in a block of at most `maxBytes`: see `mayJoin`. Returns false, with nothing changed, if
   * the system has no memory for the block.
   */
  joinInMemory(others: readonly Batch[], maxBytes: number): boolean {
    const lines = joinedLines([this, ...others], this.#shared.memory, maxBytes)
    if (lines === undefined) return false
    let count = this.#first + this.count
    for (const other of others) {
      this.#shared.join(other.#shared, count - other.#first)
      other.#shared.replaceBlock(noBlock)
      count += other.count
      other.#lines = new LineBuffer(noBlock, noBlock) // a flush may wait for it as long as for the joined lines
    }
    this.#shared.replaceBlock(lines.block)
    this.#lines = lines
    return true
  }

  /**
   * Reloads the lines from the store, and settles missing lines as lost. Returns the number of missing lines; a
   * negative number means that the store had more lines.
   *
   * Returns `undefined` if there is no memory for the lines, or if the reload is no longer wanted.
   *
   * @param scratch buffer for reading, which nothing else uses meanwhile
   * @throws any error of the read; the batch then stays in the store
   */
  async reload(maxBytes: number, scratch: Buffer): Promise<number | undefined> {
    const { memory } = this.#shared
    const chargedBytes = this.byteLength
    const reload = ++this.#reloads
    memory.charge(chargedBytes)
    const contents = await this.#shared.read(scratch).finally(() => memory.discharge(chargedBytes))
    const isWanted = reload === this.#reloads && this.#shared.unsettled > 0 // the batch may have been abandoned
    return isWanted ? this.#restore(contents, maxBytes) : undefined
  }

  /**
   * Reloads the lines synchronously, for use when the event loop has stopped; otherwise like `reload`.
   *
   * @throws any error of the read; the batch then stays in the store
   */
  reloadNow(maxBytes: number): number | undefined {
    return this.#restore(this.#shared.readNow(), maxBytes)
  }

  /** Cancels a reload that is in progress. The batch stays in the store. */
  cancelReload(): void {
    this.#reloads++
  }

  /**
   * Hands this batch off to another process through the store. Returns the number of lines handed off, including lines
   * that had been settled before.
   *
   * Returns `undefined` if not every line could be handed off. Then only the first lines that the store has are handed
   * off and settled, and the batch keeps the rest.
   */
  handOffTo(store: BatchStore): number | undefined {
    const shared = this.#shared
    const isStored = shared.isHandedOff || shared.isStored
    // If another part of a split batch is settled, this part gets a stored copy of its own. Otherwise the settled lines
    // would be delivered again.
    const isWhole = !this.#isSplit || !shared.hasSettled
    const copy = shared.isHandedOff || (isWhole && isStored) ? undefined : this.#writeTo(store)
    if (copy !== undefined) shared.handOffPart(copy)
    const settledBefore = copy !== undefined ? 0 : isStored ? shared.handOffCopies() : undefined
    if (settledBefore === undefined) {
      this.#handOffFirstLines()
      return undefined
    }
    this.settle(() => handedOff)
    return this.count + settledBefore
  }

  /**
   * Hands off the batch as the store has it: another process has taken it, or will take it once it can read it. Returns the
   * number of lines that go along although they had been settled before.
   */
  handOffAsStored(): number {
    const settledBefore = this.#shared.handOffAsStored()
    this.settle(() => handedOff)
    return settledBefore
  }

  get #isUntouched(): boolean {
    const isWhole = this.#lines.isInMemory && this.#attempts === undefined && !this.#isSplit
    return isWhole && (!this.#isCopied || this.#shared.isKnownStored)
  }

  get #isCopied(): boolean {
    return this.#shared.copies.length > 0
  }

  #split(place: (lines: LineBuffer) => Cut): [Batch, Batch] {
    this.#body?.drop()
    const lines = this.#lines as LineBuffer
    const cut = place(lines)
    return [this.#part(lines, lines.start, cut), this.#part(lines, cut, lines.end)]
  }

  #part(lines: LineBuffer, from: Cut, to: Cut): Batch {
    const part = new Batch(this.dataset, lines.slice(from, to), this.#shared, this.attempts.forPart())
    part.#isSplit = true
    part.#isReloaded = this.#isReloaded
    part.#first = this.#first + from.count
    return part
  }

  #restore(contents: readonly StoredContent[], maxBytes: number): number | undefined {
    const { memory } = this.#shared
    const stored = contents.map(({ lines }) => lines)
    const byteLength = stored.reduce((bytes, { length }) => bytes + length, 0)
    const block = memory.allocate(blockSize(byteLength, Math.max(byteLength, maxBytes)))
    if (block === undefined) return undefined
    stored.reduce((at, lines) => at + lines.copy(block, at), 0)
    this.#shared.replaceBlock(block)
    const lineSeverities = joined(contents.map(content => content.severities))
    const lost = this.count - lineSeverities.length
    this.#lines = new LineBuffer(block, lineSeverities, lineSeverities.length, byteLength)
    this.#isReloaded = true
    this.#isSealed = true
    const end = this.#first + this.count + lost
    if (lost > 0) this.#shared.acknowledgements?.settleMissing(this.#first, end, lost)
    this.#shared.lose(lost)
    return lost
  }

  /**
   * Writes all lines as a sealed stored batch. Returns `undefined` if the store could not write every line, or if only the
   * store had them.
   */
  #writeTo(store: BatchStore): StoredBatch | undefined {
    if (!this.#lines.isInMemory) return undefined
    const copy = store.write(this.dataset, this.bytes, this.severities)
    copy?.seal()
    if (copy?.isComplete !== false) return copy
    copy.remove()
    return undefined
  }

  #appendTo(copy: StoredBatch | undefined): StoredBatch | undefined {
    const bytes = this.bytes
    let from = 0
    for (const [number, severity] of this.severities.entries()) {
      const to = bytes.indexOf(newline, from) + 1
      copy?.append(number, severity, bytes, from, to)
      from = to
    }
    return copy
  }

  /**
   * Hands off and settles the first lines that the store has, or any lines that only the store has. A part of a split batch
   * hands off nothing, because the store does not tell which of its lines are settled.
   */
  #handOffFirstLines(): void {
    const count = this.#isSplit ? 0 : this.#shared.handOffSome()
    if (count === 0) return
    this.#body?.drop()
    const lines = this.#lines
    this.#lines = lines.isInMemory
      ? lines.slice(lines.after(count), lines.end)
      : { ...lines, count: lines.count - count, bySeverity: { unknown: lines.count - count } } // only the store has them
    this.#shared.acknowledgements?.settle(this.#first, this.#first + count, () => handedOff)
    this.#first += count
    this.#shared.settle(count)
  }

  #grow(lines: LineBuffer, neededBytes: number, maxBytes: number): boolean {
    reserveStack(openBatchBytes)
    const larger = this.#shared.memory.allocate(blockSize(neededBytes, maxBytes))
    if (larger === undefined) return false
    lines.moveTo(larger)
    this.#shared.replaceBlock(larger)
    return true
  }
}

const handedOff: Loss = { reason: 'handed-off', status: undefined, serviceReason: undefined }

/**
 * Buffer for the next line that is added in the store. Nearly every line fits into it. `undefined` while in use,
 * because the store may call a listener that logs.
 */
let spareLine: Buffer | undefined
const spareLineBytes = 65_536

function takeSpareLine(bytes: number): Buffer {
  const line = (bytes <= spareLineBytes && spareLine) || Buffer.allocUnsafeSlow(Math.max(bytes, spareLineBytes))
  if (line === spareLine) spareLine = undefined
  return line
}

/**
 * Copies the lines of batches to a new block, which takes at most as much of the budget as the blocks that are freed for it:
 * batches are joined when memory is full, too. Returns `undefined` if the system has no memory for it. An error would end
 * the process, because timers start the requests.
 */
function joinedLines(batches: readonly Batch[], memory: MemoryBudget, maxBytes: number): LineBuffer | undefined {
  const byteLength = batches.reduce((bytes, batch) => bytes + batch.byteLength, 0)
  const freedBytes = batches.reduce((bytes, batch) => bytes + batch.blockBytes, 0)
  try {
    const lineSeverities = joined(batches.map(batch => batch.severities))
    const blockBytes = Math.min(blockSize(byteLength, Math.max(byteLength, maxBytes)), freedBytes)
    const block = memory.allocate(blockBytes, freedBytes)
    if (block === undefined) return undefined
    batches.reduce((at, { bytes }) => at + bytes.copy(block, at), 0)
    return new LineBuffer(block, lineSeverities, lineSeverities.length, byteLength)
  } catch {
    return undefined
  }
}

/** Joins bytes in memory of their own. `Buffer.concat` could return a part of Node's pool, and keep 64 KiB of it. */
function joined(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0))
  parts.reduce((at, part) => {
    whole.set(part, at)
    return at + part.length
  }, 0)
  return whole
}

/** Returns the counts of lines that leave memory. */
function inStore({ count, byteLength, bySeverity }: LineBuffer): StoredLines {
  return { isInMemory: false, count, byteLength, bySeverity }
}
