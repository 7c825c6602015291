/**
 * A place for batches outside memory. Batches that cannot be delivered yet move to the store, and are reloaded later.
 */
export interface BatchStore {
  /** True while the store can be used. */
  readonly isReady: boolean
  /**
   * Opens a stored batch that receives each line as it is added. Returns `undefined` if the store does not write lines
   * at once, or cannot write now.
   */
  open(dataset: string): StoredBatch | undefined
  /**
   * Writes all these lines as one stored batch that is open for more lines. Returns `undefined` if the store cannot
   * write them.
   */
  write(dataset: string, lines: Buffer, severities: Uint8Array): StoredBatch | undefined
}

/** A batch as it is in the store. Its methods do not throw, except `read` and `readNow`. */
export interface StoredBatch {
  /** Orders stored batches by age, across processes: the smaller string is older. */
  readonly order: string
  /** True if the store has every line of the batch. */
  readonly isComplete: boolean
  /** True while lines may be added. */
  readonly isOpen: boolean
  /**
   * True if the stored batch is where the store put it. Another program may have removed it, so each access checks the
   * store.
   */
  readonly exists: boolean
  /** True once the store knows that the stored batch is gone. */
  readonly hasVanished: boolean
  /** True if reads have failed so often that the stored batch is left to another process. */
  readonly isUnreadable: boolean
  /** Number of lines stored: the first lines of the batch. */
  readonly count: number
  /** Adds line `number` of the batch: the bytes from `from` up to `to` in `lines`. */
  append(number: number, severity: number, lines: Buffer, from: number, to: number): void
  /**
   * Adds a line that is not in memory. Returns false if the line could not be stored. After a failed write no more
   * lines can be added.
   */
  extend(severity: number, lines: Buffer, from: number, to: number): boolean
  /** Ends the batch: no more lines will be added. */
  seal(): void
  /** @param scratch holds the lines if the stored batch fits into it */
  read(scratch: Buffer): Promise<StoredContent>
  /** Reads in one call, for use when the event loop has stopped. A batch that cannot be read stays in the store. */
  readNow(): StoredContent
  /** Hands the stored batch off to another process. */
  handOff(): void
  remove(): void
}

/** The lines read from a stored batch. */
export interface StoredContent {
  readonly lines: Buffer
  /** The severity class of each line. */
  readonly severities: Uint8Array
}
