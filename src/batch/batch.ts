import { type DropsBySeverity, tally } from '../accounting/ledger.ts'
import { type Severity, severities } from '../accounting/severity.ts'
import type { Line } from '../record/event-to-line.ts'
import { fewCallsBytes, openBatchBytes, reserveStack } from '../stack-reserve.ts'
import { type Acknowledgement, Acknowledgements } from './acknowledgements.ts'
import type { BatchStore, StoredBatch, StoredContent } from './batch-store.ts'
import type { MemoryBudget } from './memory-budget.ts'
import type { Refusal } from './refusals.ts'

const newline = 0x0a

/** A batch starts with a small block and grows, so that many quiet datasets do not take the memory of busy ones. */
const firstBlockBytes = 4096
const growth = 4

/** In place of the block of a batch that is in the store alone. */
const noBlock = Buffer.alloc(0)

/**
 * Lines on their way, as one block of bytes: each line is written straight into it and ends in a newline. A retry sends
 * the same bytes; a split is a cut at a newline that copies nothing. While it waits it may be in the store alone.
 */
export class Batch {
  readonly dataset: string
  /** Lines in it. */
  count = 0
  /** Bytes of its lines, newlines included. */
  byteLength = 0
  /** Monotonic time before which it is not sent again, in milliseconds. */
  notBeforeMs = 0
  /** Attempts made to send it. */
  attempts = 0
  /** Attempts that broke with a connection reset. */
  resets = 0
  /** The last time that the service refused this, or what this was cut from; and how often it has refused this. */
  refusal: Refusal | undefined
  refusals = 0
  /** The compression that it was refused with: it is sent without, to learn whether that is what the service dislikes. */
  suspect: 'zstd' | 'gzip' | undefined
  /** Its bytes as they are sent, where they are not the lines themselves; kept for the next attempt. */
  body: { readonly encoding: 'zstd' | 'gzip' | 'none'; readonly bytes: Buffer } | undefined
  /** Whether it has been in the store alone: fresh batches and such ones take turns. */
  isBacklog = false
  #isSplit = false
  /** Number of its first line among those of the whole. */
  #first = 0
  /** What was begun before the last of them comes to nothing. */
  #reloads = 0
  /** Memory held for `body`, there or under way. */
  #bodyBytes = 0
  #block: Buffer
  #severities: Uint8Array
  /** How many lines of each severity it has, while that cannot be counted as it is in the store alone. */
  #bySeverity: DropsBySeverity | undefined
  readonly #shared: SharedBlock

  private constructor(dataset: string, block: Buffer, severities: Uint8Array, whole: SharedBlock) {
    this.dataset = dataset
    this.#block = block
    this.#severities = severities
    this.#shared = whole
  }

  /** An empty batch, or nothing when there is no memory for its block. Its lines are written to `copy` as well. */
  static open(
    dataset: string,
    blockBytes: number,
    memory: MemoryBudget,
    copy?: () => StoredBatch | undefined,
  ): Batch | undefined {
    const block = memory.allocate(blockBytes)
    return block && new Batch(dataset, block, new Uint8Array(64), new SharedBlock(block, memory, copy?.()))
  }

  /** A batch that somebody has left in the store. */
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

  /** The lines, in the order they came. */
  get bytes(): Buffer {
    return this.#block.subarray(0, this.byteLength)
  }

  /** The class of severity of each line. */
  get severities(): Uint8Array {
    return this.#severities.subarray(0, this.count)
  }

  /** How many lines of each severity it has. */
  get bySeverity(): DropsBySeverity {
    return this.#bySeverity ?? tally(this.severities)
  }

  /** Stands for its age among the batches of the store. */
  get order(): string {
    return this.#shared.copies[0]?.order ?? ''
  }

  /** How many requests have been made for the lines of the batch that this one was cut from. */
  get requests(): number {
    return this.#shared.requests
  }

  countRequest(): void {
    this.#shared.requests++
  }

  /** Has `run` called when every line of the batch as it was before any split has been delivered or dropped. */
  onSettled(run: () => void): void {
    this.#shared.onSettled(run)
  }

  /** Resolves at that moment. */
  whenSettled(): Promise<void> {
    return this.#shared.whenSettled()
  }

  /**
   * Adds a line, and has `acknowledgement` told what becomes of it. Returns false, with nothing added, when it does not fit within
   * `maxBytes` or the memory.
   *
   * All that can fail comes first, and changes nothing that counts. From then on nothing is called, so that nothing can
   * fail, not even for want of stack: neither here nor up to where the line is counted as accepted.
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
   * Adds a line where the store alone has the others, as `append` does where memory has them. Returns false, with nothing
   * added, when it does not fit within `maxBytes` or the store.
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
    // Nothing joins what the service may have something against.
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

  /** Whether lines of it, or of what it was cut from, are neither delivered nor dropped. */
  get isUnsettled(): boolean {
    return this.#shared.unsettled > 0
  }

  /** Whether somebody follows all of its lines. */
  get hasSingleOwner(): boolean {
    return this.#shared.acknowledgements.hasSingleOwner(this.#first, this.#first + this.count)
  }

  /** Each line as text, without its newline. */
  *lines(): Generator<string> {
    const bytes = this.bytes
    for (let start = 0; start < bytes.length; ) {
      const end = bytes.indexOf(newline, start)
      yield bytes.toString('utf8', start, end)
      start = end + 1
    }
  }

  /** Cuts at the newline in the middle of the lines; a batch of one line cannot be cut. */
  split(): [Batch, Batch] {
    const count = this.count >> 1
    const bytes = this.bytes
    let end = 0
    for (let line = 0; line < count; line++) end = bytes.indexOf(newline, end) + 1
    return this.#cut(end, count)
  }

  /** Cuts off the first lines, as many as take at most `maxBytes`, one at least; a batch of one line cannot be cut. */
  splitAt(maxBytes: number): [Batch, Batch] {
    const bytes = this.bytes
    const lastLineAt = bytes.lastIndexOf(newline, this.byteLength - 2) + 1
    const lastEnd = bytes.lastIndexOf(newline, Math.min(maxBytes, lastLineAt) - 1)
    const end = (lastEnd < 0 ? bytes.indexOf(newline) : lastEnd) + 1
    let count = 0
    for (let at = 0; at < end; at = bytes.indexOf(newline, at) + 1) count++
    return this.#cut(end, count)
  }

  /** To be called once for each batch that is not split: its lines are delivered, or lost as `isLost` says. */
  settle(isLost: (line: number) => boolean = () => false): void {
    this.dropBody()
    this.#shared.acknowledgements.settle(this.#first, this.#first + this.count, line => isLost(line - this.#first))
    this.#shared.settle(this.count)
  }

  /** No line will be added. */
  seal(): void {
    this.#shared.seal()
  }

  /** Leaves memory for the store, while it waits, where lines may be added until it is sealed; `false` when it must stay. */
  moveTo(store: BatchStore): boolean {
    if (this.#isSplit) return false // its block is let go of when the last part is settled
    if (!this.#shared.isStored) {
      const copy = store.write(this.dataset, this.bytes, this.severities)
      if (copy === undefined) return false
      this.#shared.replaceCopies(copy)
    }
    this.#releaseBlock()
    return true
  }

  /** Whether it was in the store alone, and has vanished there. */
  get isLost(): boolean {
    return !this.#shared.isInMemory && this.#shared.copies.every(({ hasVanished }) => hasVanished)
  }

  /** Writes lines that memory has to the store once more, if they have vanished there. Of a batch that was split, the parts are meant as well. */
  rewriteTo(store: BatchStore): void {
    if (!this.#shared.isToBeRewritten) return
    const isOpen = this.#shared.copies.some(copy => copy.isOpen)
    const copy = isOpen ? this.#appendTo(store.open(this.dataset)) : this.#writeTo(store)
    this.#shared.replaceCopies(...(copy === undefined ? [] : [copy]))
  }

  /** Takes in a batch that is in the store alone, as this one is: they come back as one. */
  join(other: Batch): void {
    this.#shared.acknowledgements.takeOver(other.#shared.acknowledgements, this.#first + this.count - other.#first)
    this.count += other.count
    this.byteLength += other.byteLength
    this.#bySeverity = sum(this.bySeverity, other.bySeverity)
    this.refusal ??= other.refusal
    this.refusals = 0 // of what it is now
    this.#shared.join(other.#shared)
  }

  /**
   * Comes back from the store. Lines that are lost are settled; says how many of them there are, or `undefined` when
   * there is no memory for the others.
   *
   * @throws what reading throws; then, too, it is in the store still
   */
  async reload(maxBytes: number): Promise<number | undefined> {
    const { memory } = this.#shared
    const heldBytes = this.byteLength
    const reading = ++this.#reloads
    memory.charge(heldBytes)
    const contents = await this.#shared.read().finally(() => memory.discharge(heldBytes))
    const isWanted = reading === this.#reloads && this.#shared.unsettled > 0 // it may have been given up meanwhile
    return isWanted ? this.#restore(contents, maxBytes) : undefined
  }

  /**
   * The same where the event loop stands still.
   *
   * @throws what reading throws; then, too, it is in the store still
   */
  reloadNow(maxBytes: number): number | undefined {
    return this.#restore(this.#shared.readNow(), maxBytes)
  }

  /** Stays in the store, though it is just coming back. */
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
    // Nobody knows which are lost: whoever follows one of them is told of more rather than of none.
    if (lost > 0) this.#shared.acknowledgements.settle(this.count, this.count + lost, () => true)
    this.#shared.lose(lost)
    return lost
  }

  /**
   * Is left in the store for another process; says how many lines are, or `undefined` when not all of it can be. What is
   * there of it is left even then, and settled: the batch has the others from then on. More than it has, where lines are
   * left with it that were settled already.
   */
  handOffTo(store: BatchStore): number | undefined {
    // A part gets a copy of its own, so that what is settled of the whole is not delivered again.
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

  /** Another process has taken it from the store. Returns how many lines it has with it, those that are settled included. */
  handOff(): number {
    const again = this.#shared.handOff()
    this.settle(() => true)
    return this.count + again
  }

  /**
   * Whether there is memory for what its bytes may become, in place of what they became before; then it is held until
   * `keepBody` or `dropBody`.
   */
  reserveBody(): boolean {
    if (this.body !== undefined) this.dropBody()
    const maxCompressedBytes = this.byteLength + (this.byteLength >> 8) + 64 // what zstd says of its worst case, and gzip's is less
    if (this.#bodyBytes > 0) return true
    if (!this.#shared.memory.reserve(maxCompressedBytes)) return false
    this.#bodyBytes = maxCompressedBytes
    return true
  }

  /** Keeps the bytes to send for the next attempt, counted as memory. */
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

  /** A copy of all lines, to which none is added. */
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

  /** Of a part it is not known which of them have been settled. */
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
    if (this.#bySeverity !== undefined) this.#bySeverity = { unknown: this.count } // it is in the store alone
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

/** What the parts of a split batch share: the block, what the store has of it, and who waits for its last line. */
class SharedBlock {
  unsettled = 0
  requests = 0
  readonly memory: MemoryBudget
  readonly acknowledgements = new Acknowledgements()
  /** More than one where batches were joined. */
  readonly copies: StoredBatch[]
  isHandedOff = false
  /** Lines that are settled, and in the copies still. */
  #settled = 0
  #block: Buffer
  /** Made when it is needed, as is all else that tens of thousands of batches in the store can do without. */
  #waiters: (() => void)[] | undefined
  #whenSettled: Promise<void> | undefined

  constructor(block: Buffer, memory: MemoryBudget, copy: StoredBatch | undefined) {
    this.#block = block
    this.memory = memory
    this.copies = copy === undefined ? [] : [copy]
  }

  /** Whether every line is in the store. That is looked after once more. */
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

  /** One at a time: there may be more copies than files that may be open. */
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
   * Leaves what is in the store to another process; says how many lines are left with it that were settled already, or
   * `undefined` when not every line is there.
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

  /** Leaves what is in the store although not every line is there; says how many are. */
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

  /** So many lines are settled that are not in the copies any more. */
  lose(count: number): void {
    this.unsettled -= count
    if (this.unsettled > 0) return
    this.replaceBlock(noBlock)
    this.replaceCopies()
    for (const run of this.#waiters ?? []) run()
  }
}

/** The smallest block of the row 4 KiB, 16 KiB, 64 KiB, … that holds so many bytes, and never more than a batch may have. */
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
