import { type DropsBySeverity, tally } from '../accounting/ledger.ts'
import { type Severity, severities } from '../accounting/severity.ts'
import type { Line } from '../record/event-to-line.ts'
import { fewCallsBytes, openBatchBytes, reserveStack } from '../stack-reserve.ts'
import { type Acknowledgement, Acknowledgements } from './acknowledgements.ts'
import type { BatchStore, StoredBatch, StoredContent } from './batch-store.ts'
import type { MemoryBudget } from './memory-budget.ts'
import type { Refusal } from './refusals.ts'

const newline = 0x0a

/**
 * Size of the first block of a batch, in bytes. Blocks grow, so that many quiet datasets do not use the memory that
 * busy datasets need.
 */
const firstBlockBytes = 4096
const growth = 4

/** Takes the place of the block while a batch is only in the store. */
const noBlock = Buffer.alloc(0)

/**
 * Lines on their way to the service, as one block of bytes. Each line is written straight into the block and ends in a
 * newline. A retry sends the same bytes. A split cuts at a newline and copies nothing. While a batch waits, it may be
 * only in the store.
 */
export class Batch {
  readonly dataset: string
  /** Number of lines. */
  count = 0
  /** Bytes of the lines, newlines included. */
  byteLength = 0
  /** Monotonic time before which the batch is not sent again, in milliseconds. */
  notBeforeMs = 0
  /** Number of attempts to send the batch. */
  attempts = 0
  /** Number of attempts that ended with a connection reset, counted only if the batch may be too large. */
  resets = 0
  /** The last refusal of the batch, or of the batch that it was split from. */
  refusal: Refusal | undefined
  /** Number of times that the service refused the batch as it is. */
  refusals = 0
  /**
   * The compression with which the service refused the batch. The batch is then sent uncompressed, to find out if the
   * compression was the reason.
   */
  suspect: 'zstd' | 'gzip' | undefined
  /** The request body if it differs from the lines; kept for the next attempt. */
  body: { readonly encoding: 'zstd' | 'gzip' | 'none'; readonly bytes: Buffer } | undefined
  /** True if the batch was reloaded from the store. Fresh and reloaded batches take turns. */
  isBacklog = false
  #isSplit = false
  /** Number of the first line among the lines of the batch before any split. */
  #first = 0
  /** Counts reloads and cancellations. A reload is discarded if the number has changed when the reload ends. */
  #reloads = 0
  /** Bytes charged for `body`, while it is being made and while it is kept. */
  #bodyBytes = 0
  #block: Buffer
  #severities: Uint8Array
  /** Number of lines of each severity, while the lines are only in the store and cannot be counted. */
  #bySeverity: DropsBySeverity | undefined
  readonly #shared: SharedBlock

  private constructor(dataset: string, block: Buffer, severities: Uint8Array, whole: SharedBlock) {
    this.dataset = dataset
    this.#block = block
    this.#severities = severities
    this.#shared = whole
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
    return block && new Batch(dataset, block, new Uint8Array(64), new SharedBlock(block, memory, copy?.()))
  }

  /** Creates a batch whose lines are only in the store. */
  static stored(
    dataset: string,
    severities: Uint8Array,
    byteLength: number,
    copy: StoredBatch,
    memory: MemoryBudget,
  ): Batch {
    const batch = new Batch(dataset, noBlock, severities, new SharedBlock(noBlock, memory, copy))
    batch.count = severities.length
    batch.byteLength = byteLength
    batch.#shared.unsettled = batch.count
    batch.#releaseBlock()
    return batch
  }

  /** The lines, in the order in which they were added. */
  get bytes(): Buffer {
    return this.#block.subarray(0, this.byteLength)
  }

  /** The severity class of each line. */
  get severities(): Uint8Array {
    return this.#severities.subarray(0, this.count)
  }

  /** Number of lines of each severity. */
  get bySeverity(): DropsBySeverity {
    return this.#bySeverity ?? tally(this.severities)
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

  /** Calls `run` when every line of the batch before any split has been delivered or dropped. */
  onSettled(run: () => void): void {
    this.#shared.onSettled(run)
  }

  /** Resolves when every line of the batch before any split has been delivered or dropped. */
  whenSettled(): Promise<void> {
    return this.#shared.whenSettled()
  }

  /**
   * Adds a line, and reports to `acknowledgement` when the line is delivered or lost. Returns false, with nothing
   * added, if the line does not fit within `maxBytes` or the memory budget.
   *
   * All steps that can fail come first, and change no count. After these steps nothing is called, so that nothing can
   * fail, not even for lack of stack. The same holds in the callers, until the line is counted as accepted.
   */
  append(severity: Severity, { bytes, length }: Line, maxBytes: number, acknowledgement?: Acknowledgement): boolean {
    const start = this.byteLength
    const end = start + length + 1
    if (end > maxBytes || (end > this.#block.length && !this.#grow(end, maxBytes))) return false
    bytes.copy(this.#block, start, 0, length)
    this.#block[end - 1] = newline
    if (this.count === this.#severities.length) this.#severities = larger(this.#severities)
    this.#severities[this.count] = severity
    const range =
      acknowledgement && this.#shared.acknowledgements.rangeBefore(this.#first + this.count, acknowledgement)
    const copy = this.#shared.copies[0]
    if (copy !== undefined) {
      reserveStack(fewCallsBytes)
      copy.append(this.count, severity, this.#block, start, end)
    }
    this.byteLength = end
    this.count++
    this.#shared.unsettled++
    if (range === undefined) return true
    range.to++
    range.acknowledgement.pending++
    return true
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
    const end = this.byteLength + length + 1
    const [copy, other] = this.#shared.copies
    const bySeverity = this.#bySeverity
    // No line joins a batch that was sent before, because the service may object to that batch.
    if (end > maxBytes || this.attempts > 0 || this.refusal !== undefined) return false
    if (other !== undefined || copy?.count !== this.count || !copy.isOpen || bySeverity === undefined) return false
    const line = Buffer.allocUnsafe(length + 1)
    bytes.copy(line, 0, 0, length)
    line[length] = newline
    const range =
      acknowledgement && this.#shared.acknowledgements.rangeBefore(this.#first + this.count, acknowledgement)
    const name = severities[severity]
    if (!copy.extend(severity, line, 0, length + 1)) return false
    bySeverity[name] = (bySeverity[name] ?? 0) + 1
    this.byteLength = end
    this.count++
    this.#shared.unsettled++
    if (range === undefined) return true
    range.to++
    range.acknowledgement.pending++
    return true
  }

  /** True if a line of the batch before any split is neither delivered nor dropped. */
  get isUnsettled(): boolean {
    return this.#shared.unsettled > 0
  }

  /** True if one caller waits for all lines of the batch. */
  get hasSingleOwner(): boolean {
    return this.#shared.acknowledgements.hasSingleOwner(this.#first, this.#first + this.count)
  }

  /** Yields each line as text, without its newline. */
  *lines(): Generator<string> {
    const bytes = this.bytes
    for (let start = 0; start < bytes.length; ) {
      const end = bytes.indexOf(newline, start)
      yield bytes.toString('utf8', start, end)
      start = end + 1
    }
  }

  /** Splits the batch at the newline after half of its lines. The batch must have at least two lines. */
  split(): [Batch, Batch] {
    const count = this.count >> 1
    const bytes = this.bytes
    let end = 0
    for (let line = 0; line < count; line++) end = bytes.indexOf(newline, end) + 1
    return this.#cut(end, count)
  }

  /**
   * Splits off the first lines: as many as fit into `maxBytes`, and at least one. The batch must have at least two
   * lines.
   */
  splitAt(maxBytes: number): [Batch, Batch] {
    const bytes = this.bytes
    const lastLineAt = bytes.lastIndexOf(newline, this.byteLength - 2) + 1
    const lastEnd = bytes.lastIndexOf(newline, Math.min(maxBytes, lastLineAt) - 1)
    const end = (lastEnd < 0 ? bytes.indexOf(newline) : lastEnd) + 1
    let count = 0
    for (let at = 0; at < end; at = bytes.indexOf(newline, at) + 1) count++
    return this.#cut(end, count)
  }

  /**
   * Settles the lines as delivered, or as lost if `isLost` returns true for the line's index in this batch. Call it
   * once for each batch that is not split further.
   */
  settle(isLost: (line: number) => boolean = () => false): void {
    this.dropBody()
    this.#shared.acknowledgements.settle(this.#first, this.#first + this.count, line => isLost(line - this.#first))
    this.#shared.settle(this.count)
  }

  /** Ends the batch: no more lines will be added. */
  seal(): void {
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
    this.#releaseBlock()
    return true
  }

  /** True if the batch was only in the store and has vanished there. */
  get isLost(): boolean {
    return !this.#shared.isInMemory && this.#shared.copies.every(({ hasVanished }) => hasVanished)
  }

  /**
   * Writes lines that are in memory to the store again if their stored copy has vanished. For a batch that was split,
   * this includes the lines of all its parts.
   */
  rewriteTo(store: BatchStore): void {
    if (!this.#shared.isToBeRewritten) return
    const isOpen = this.#shared.copies.some(copy => copy.isOpen)
    const copy = isOpen ? this.#appendTo(store.open(this.dataset)) : this.#writeTo(store)
    this.#shared.replaceCopies(...(copy === undefined ? [] : [copy]))
  }

  /** Joins another batch to this one. Both are only in the store, and are reloaded as one batch. */
  join(other: Batch): void {
    this.#shared.acknowledgements.takeOver(other.#shared.acknowledgements, this.#first + this.count - other.#first)
    this.count += other.count
    this.byteLength += other.byteLength
    this.#bySeverity = sum(this.bySeverity, other.bySeverity)
    this.refusal ??= other.refusal
    this.refusals = 0 // the joined batch has not been refused as a whole
    this.#shared.join(other.#shared)
  }

  /**
   * Reloads the lines from the store, and settles missing lines as lost. Returns the number of missing lines; a
   * negative number means that the store had more lines.
   *
   * Returns `undefined` if there is no memory for the lines, or if the reload is no longer wanted.
   *
   * @throws any error of the read; the batch then stays in the store
   */
  async reload(maxBytes: number): Promise<number | undefined> {
    const { memory } = this.#shared
    const heldBytes = this.byteLength
    const reading = ++this.#reloads
    memory.charge(heldBytes)
    const contents = await this.#shared.read().finally(() => memory.discharge(heldBytes))
    const isWanted = reading === this.#reloads && this.#shared.unsettled > 0 // the batch may have been abandoned
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

  #restore(contents: readonly StoredContent[], maxBytes: number): number | undefined {
    const { memory } = this.#shared
    const lines = contents.map(content => content.lines)
    const byteLength = lines.reduce((bytes, { length }) => bytes + length, 0)
    const block = memory.allocate(blockSize(byteLength, Math.max(byteLength, maxBytes)))
    if (block === undefined) return undefined
    lines.reduce((at, some) => at + some.copy(block, at), 0)
    this.#shared.replaceBlock(block)
    this.#block = block
    this.#severities = Buffer.concat(contents.map(content => content.severities))
    this.#bySeverity = undefined
    this.byteLength = byteLength
    const lost = this.count - this.#severities.length
    this.count -= lost
    this.isBacklog = true
    // It is unknown which lines are missing. The last line numbers stand for them, so that each line is settled once.
    if (lost > 0) this.#shared.acknowledgements.settle(this.count, this.count + lost, () => true)
    this.#shared.lose(lost)
    return lost
  }

  /**
   * Hands this batch off to another process through the store. Returns the number of lines handed off, including lines
   * that had been settled before.
   *
   * Returns `undefined` if not every line could be handed off. Then only the first lines that the store has are handed
   * off and settled, and the batch keeps the rest.
   */
  handOffTo(store: BatchStore): number | undefined {
    // A part of a split batch gets a stored copy of its own, so that settled lines of other parts are not delivered
    // again.
    const needsCopy = !this.#shared.isHandedOff && (this.#isSplit || !this.#shared.isStored)
    const copy = needsCopy ? this.#writeTo(store) : undefined
    copy?.handOff()
    const again = copy === undefined ? this.#shared.handOffCopies() : 0
    if (again === undefined) {
      this.#handOffFirstLines()
      return undefined
    }
    this.settle(() => true)
    return this.count + again
  }

  /**
   * Notes that another process has taken the batch from the store. Returns the number of lines that this process then
   * has, including lines that had been settled before.
   */
  handOff(): number {
    const again = this.#shared.handOff()
    this.settle(() => true)
    return this.count + again
  }

  /**
   * Reserves memory for the request body, and drops the body of an earlier attempt. Returns false if there is not
   * enough memory. The memory stays charged until `keepBody` or `dropBody`.
   */
  reserveBody(): boolean {
    if (this.body !== undefined) this.dropBody()
    const maxCompressedBytes = this.byteLength + (this.byteLength >> 8) + 64 // as zstd documents; gzip needs less
    if (this.#bodyBytes > 0) return true
    if (!this.#shared.memory.reserve(maxCompressedBytes)) return false
    this.#bodyBytes = maxCompressedBytes
    return true
  }

  /** Keeps the request body for the next attempt, and charges its bytes to the memory budget. */
  keepBody(body: NonNullable<Batch['body']>): void {
    this.dropBody()
    this.#bodyBytes = body.bytes.length
    this.#shared.memory.charge(this.#bodyBytes)
    this.body = body
  }

  dropBody(): void {
    this.#shared.memory.discharge(this.#bodyBytes)
    this.#bodyBytes = 0
    this.body = undefined
  }

  #cut(end: number, count: number): [Batch, Batch] {
    this.dropBody()
    return [this.#part(0, end, 0, count), this.#part(end, this.byteLength, count, this.count)]
  }

  #part(from: number, to: number, fromLine: number, toLine: number): Batch {
    const severities = this.#severities.subarray(fromLine, toLine)
    const part = new Batch(this.dataset, this.#block.subarray(from, to), severities, this.#shared)
    part.#isSplit = true
    part.#first = this.#first + fromLine
    part.isBacklog = this.isBacklog
    part.byteLength = to - from
    part.count = toLine - fromLine
    part.attempts = this.attempts
    part.resets = this.resets
    part.refusal = this.refusal
    part.suspect = this.suspect
    part.notBeforeMs = this.notBeforeMs
    return part
  }

  /** Writes all lines as a sealed stored batch. Returns `undefined` if the store could not write every line. */
  #writeTo(store: BatchStore): StoredBatch | undefined {
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
   * Hands off and settles the first lines that the store has. A part of a split batch hands off nothing, because it is
   * unknown which of its stored lines are settled.
   */
  #handOffFirstLines(): void {
    const left = this.#isSplit ? 0 : this.#shared.handOffSome()
    if (left === 0) return
    this.dropBody()
    const bytes = this.bytes
    let from = 0
    for (let line = 0; line < left; line++) from = bytes.indexOf(newline, from) + 1
    this.#block = bytes.subarray(from)
    this.#severities = this.severities.subarray(left)
    this.byteLength -= from
    this.count -= left
    if (this.#bySeverity !== undefined) this.#bySeverity = { unknown: this.count } // only the store has them
    this.#shared.acknowledgements.settle(this.#first, this.#first + left, () => true)
    this.#first += left
    this.#shared.settle(left)
  }

  #releaseBlock(): void {
    this.dropBody()
    this.#bySeverity = this.bySeverity
    this.#block = noBlock
    this.#severities = noBlock
    this.#shared.replaceBlock(noBlock)
  }

  #grow(neededBytes: number, maxBytes: number): boolean {
    reserveStack(openBatchBytes)
    const larger = this.#shared.memory.allocate(blockSize(neededBytes, maxBytes))
    if (larger === undefined) return false
    this.#block.copy(larger, 0, 0, this.byteLength)
    this.#shared.replaceBlock(larger)
    this.#block = larger
    return true
  }
}

/**
 * The state that the parts of a split batch share: the block, its copies in the store, and the callers that wait for
 * the lines.
 */
class SharedBlock {
  unsettled = 0
  requests = 0
  readonly memory: MemoryBudget
  readonly acknowledgements = new Acknowledgements()
  /** The stored batches with these lines; more than one if batches were joined. */
  readonly copies: StoredBatch[]
  isHandedOff = false
  /** Number of settled lines that the copies still contain. */
  #settled = 0
  #block: Buffer
  /** Created on first use, as is `#whenSettled`: the store may hold tens of thousands of batches that need neither. */
  #waiters: (() => void)[] | undefined
  #whenSettled: Promise<void> | undefined

  constructor(block: Buffer, memory: MemoryBudget, copy: StoredBatch | undefined) {
    this.#block = block
    this.memory = memory
    this.copies = copy === undefined ? [] : [copy]
  }

  /** True if the store has every line. Each access checks the store again. */
  get isStored(): boolean {
    return this.copies.length > 0 && this.copies.every(copy => copy.isComplete && copy.exists)
  }

  get isInMemory(): boolean {
    return this.#block.length > 0
  }

  get isToBeRewritten(): boolean {
    return this.isInMemory && this.unsettled > 0 && this.copies.some(({ hasVanished }) => hasVanished)
  }

  replaceBlock(block: Buffer): void {
    this.memory.free(this.#block)
    this.#block = block
  }

  seal(): void {
    for (const copy of this.copies) copy.seal()
  }

  replaceCopies(...copies: StoredBatch[]): void {
    for (const copy of this.copies.splice(0, Number.POSITIVE_INFINITY, ...copies)) copy.remove()
  }

  /** Reads one copy at a time, because there may be more copies than files that the process may open. */
  async read(): Promise<StoredContent[]> {
    const contents: StoredContent[] = []
    this.seal()
    for (const copy of [...this.copies]) contents.push(await copy.read())
    return contents
  }

  readNow(): StoredContent[] {
    this.seal()
    return this.copies.map(copy => copy.readNow())
  }

  /**
   * Hands the copies off to another process. Returns the number of lines in the copies that had been settled before, or
   * `undefined` if the store does not have every line.
   */
  handOffCopies(): number | undefined {
    if (this.isHandedOff) return 0
    return this.isStored ? this.handOff() : undefined
  }

  handOff(): number {
    this.isHandedOff = true
    for (const copy of this.copies.splice(0)) copy.handOff()
    return this.#settled
  }

  /** Hands off the copies although the store does not have every line. Returns the number of lines handed off. */
  handOffSome(): number {
    const some = this.copies.filter(copy => copy.count > 0 && copy.exists)
    for (const copy of some) {
      this.copies.splice(this.copies.indexOf(copy), 1)
      copy.handOff()
    }
    return some.reduce((count, copy) => count + copy.count, 0)
  }

  join(other: SharedBlock): void {
    this.unsettled += other.unsettled
    other.unsettled = 0
    this.copies.push(...other.copies)
    for (const run of other.#waiters ?? []) this.onSettled(run)
  }

  onSettled(run: () => void): void {
    if (this.#waiters === undefined) this.#waiters = [run]
    else this.#waiters.push(run)
  }

  whenSettled(): Promise<void> {
    this.#whenSettled ??= new Promise(resolve => this.onSettled(resolve))
    return this.#whenSettled
  }

  settle(count: number): void {
    this.#settled += count
    this.lose(count)
  }

  /** Notes that `count` lines are settled and are no longer in the copies. */
  lose(count: number): void {
    this.unsettled -= count
    if (this.unsettled > 0) return
    this.replaceBlock(noBlock)
    this.replaceCopies()
    for (const run of this.#waiters ?? []) run()
  }
}

/** Returns the smallest of the sizes 4 KiB, 16 KiB, 64 KiB, … that holds so many bytes, but at most `maxBytes`. */
export function blockSize(bytes: number, maxBytes: number): number {
  let size = firstBlockBytes
  while (size < bytes) size *= growth
  return Math.min(size, maxBytes)
}

function sum(one: DropsBySeverity, other: DropsBySeverity): DropsBySeverity {
  const total = { ...one }
  for (const [name, count] of Object.entries(other) as [keyof DropsBySeverity, number][]) {
    total[name] = (total[name] ?? 0) + count
  }
  return total
}

function larger(severities: Uint8Array): Uint8Array {
  const copy = new Uint8Array(severities.length * growth)
  copy.set(severities)
  return copy
}
