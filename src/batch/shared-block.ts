import { type Acknowledgement, Acknowledgements, type LineRange } from './acknowledgements.ts'
import type { StoredBatch, StoredContent } from './batch-store.ts'
import type { MemoryBudget } from './memory-budget.ts'

/** The batch that the parts of a split batch come from. */
export interface BlockOwner {
  /** Called when every line is settled. */
  onBlockSettled(): void
}

/** Takes the place of the block while the lines are only in the store. */
export const noBlock = Buffer.alloc(0)
/** Shared by all batches without copies, so nothing is ever added to it. */
const noCopies: StoredBatch[] = []

/**
 * The state that the parts of a split batch share: the block, its copies in the store, and the callers that wait for
 * the lines.
 */
export class SharedBlock {
  /** Number of lines that are neither delivered, dropped nor handed off. */
  unsettled = 0
  /** Number of requests made for these lines. */
  requests = 0
  readonly memory: MemoryBudget
  owner: BlockOwner | undefined
  /** The callers that wait for the lines; `undefined` as long as no caller has waited. */
  acknowledgements: Acknowledgements | undefined
  /** The stored batches with these lines; more than one if batches were joined. */
  copies: StoredBatch[]
  isHandedOff = false
  /** Number of settled lines that the copies still contain. */
  #settled = 0
  /** The stored copies of parts that were handed off one by one. */
  #partCopies: StoredBatch[] | undefined
  #block: Buffer
  /** The blocks of batches that were joined to this one; `undefined` if there are none. */
  #joined: SharedBlock[] | undefined

  constructor(block: Buffer, memory: MemoryBudget, copy: StoredBatch | undefined) {
    this.#block = block
    this.memory = memory
    this.copies = copy === undefined ? noCopies : [copy]
  }

  /** Returns the caller's range for line number `line`: see `Acknowledgements.rangeBefore`. */
  rangeBefore(line: number, acknowledgement: Acknowledgement): LineRange {
    this.acknowledgements ??= new Acknowledgements()
    return this.acknowledgements.rangeBefore(line, acknowledgement)
  }

  /** True if the store has every line. Each access checks the store again. */
  get isStored(): boolean {
    return this.copies.length > 0 && this.copies.every(copy => copy.isComplete && copy.exists)
  }

  /** True if the store has every line, as far as is known without a look at the store. */
  get isKnownStored(): boolean {
    return this.copies.length > 0 && this.copies.every(copy => copy.isComplete && !copy.hasVanished)
  }

  /** True if a line is settled that the copies still contain. */
  get hasSettled(): boolean {
    return this.#settled > 0
  }

  get isInMemory(): boolean {
    return this.#block.length > 0
  }

  /** True if a copy has vanished from the store. */
  get hasVanished(): boolean {
    return this.copies.some(({ hasVanished }) => hasVanished)
  }

  /** Frees the block, and uses `block` from now on. */
  replaceBlock(block: Buffer): void {
    this.memory.free(this.#block)
    this.#block = block
  }

  seal(): void {
    for (const copy of this.copies) copy.seal()
  }

  /** Removes the copies from the store, and uses these from now on. */
  replaceCopies(...copies: StoredBatch[]): void {
    const replaced = this.copies
    this.copies = copies
    for (const copy of replaced) copy.remove()
  }

  /**
   * Reads one copy at a time, because there may be more copies than files that the process may open.
   *
   * @param scratch holds the lines, one copy after the other, as far as they fit into it
   */
  async read(scratch: Buffer): Promise<StoredContent[]> {
    const contents: StoredContent[] = []
    let unused = scratch
    this.seal()
    for (const copy of this.copies) {
      const content = await copy.read(unused)
      if (content.lines.buffer === scratch.buffer) unused = unused.subarray(content.lines.length)
      contents.push(content)
    }
    return contents
  }

  readNow(): StoredContent[] {
    this.seal()
    return this.copies.map(copy => copy.readNow())
  }

  /**
   * Hands off the copies, which have every line, to another process. Returns the number of lines in the copies that had
   * been settled before. The copies have the lines of all parts, so parts that were handed off one by one are removed: no
   * line is handed off twice.
   */
  handOffCopies(): number {
    if (this.isHandedOff) return 0
    const settledBefore = this.handOffAsStored()
    const parts = this.#partCopies ?? []
    for (const part of parts) part.remove()
    return parts.reduce((count, part) => count - part.count, settledBefore)
  }

  /** Hands off the stored copy of one part of a split batch. */
  handOffPart(copy: StoredBatch): void {
    copy.handOff()
    this.#partCopies ??= []
    this.#partCopies.push(copy)
  }

  /** Hands every copy off. Returns the number of lines in the copies that had been settled before. */
  handOffAsStored(): number {
    this.isHandedOff = true
    const handedOff = this.copies
    this.copies = noCopies
    for (const copy of handedOff) copy.handOff()
    return this.#settled
  }

  /**
   * Hands off copies although the store does not have every line. Returns the number of lines handed off: if memory has the
   * lines, the first ones, without a gap.
   */
  handOffSome(): number {
    const isThere = (copy: StoredBatch): boolean => copy.count > 0 && copy.exists
    const gap = this.isInMemory ? this.copies.findIndex(copy => !isThere(copy)) : -1
    const some = this.copies.slice(0, gap < 0 ? undefined : gap).filter(isThere)
    this.copies = this.copies.filter(copy => !some.includes(copy))
    for (const copy of some) copy.handOff()
    return some.reduce((count, copy) => count + copy.count, 0)
  }

  /**
   * Takes over the lines, copies and waiting callers of `other`, whose line numbers grow by `shift`. The owner of `other`
   * is called when all lines of both are settled.
   */
  join(other: SharedBlock, shift: number): void {
    if (other.acknowledgements !== undefined) {
      this.acknowledgements ??= new Acknowledgements()
      this.acknowledgements.takeOver(other.acknowledgements, shift)
    }
    this.unsettled += other.unsettled
    other.unsettled = 0
    // Thousands of batches may be joined, so the copies of the first are not listed anew for each of the others.
    if (this.copies.length === 0) this.copies = [...other.copies]
    else this.copies.push(...other.copies)
    this.#joined ??= []
    this.#joined.push(other)
  }

  /** Notes that `count` lines are settled: delivered, dropped or handed off. The copies still contain them. */
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
    this.#callOwners()
  }

  #callOwners(): void {
    this.owner?.onBlockSettled()
    for (const other of this.#joined ?? []) other.#callOwners()
  }
}
