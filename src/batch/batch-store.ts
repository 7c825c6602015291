/**
 * A place for batches outside memory. Batches that cannot be delivered yet move to the store, and come back later.
 */
export interface BatchStore {
  /** True while the store can be used. */
  readonly isReady: boolean
  /**
   * Opens a stored batch to which each line is written as it is added. Returns `undefined` if the store does not do
   * that, or cannot.
   */
  open(dataset: string): StoredBatch | undefined
  /** Writes all these lines as one stored batch, open for more. Returns `undefined` if the store cannot. */
  write(dataset: string, lines: Buffer, severities: Uint8Array): StoredBatch | undefined
}

/** A batch as it is in the store. Its methods do not throw, except when reading. */
export interface StoredBatch {
  /** Orders stored batches by age, across processes: the lesser one is older. */
  readonly order: string
  /** True if the store has every line of the batch. */
  readonly isComplete: boolean
  /** True while lines may be added. */
  readonly isOpen: boolean
  /** True if the stored batch is where the store put it. Another program may have removed it. */
  readonly exists: boolean
  /** True once the store knows that the stored batch is gone. */
  readonly hasVanished: boolean
  /** Number of lines stored: the first lines of the batch. */
  readonly count: number
  /** Adds the line at `from` to `to` in `lines`. */
  append(number: number, severity: number, lines: Buffer, from: number, to: number): void
  /**
   * Adds a line that is not in memory. Returns false if the line could not be stored; then no more lines can be
   * added.
   */
  extend(severity: number, lines: Buffer, from: number, to: number): boolean
  /** Ends the batch: no more lines will be added. */
  seal(): void
  read(): Promise<StoredContent>
  /** Reads in one call, for when the event loop has stopped. A batch that cannot be read stays in the store. */
  readNow(): StoredContent
  /** Hands the stored batch off to another process. */
  handOff(): void
  remove(): void
}

/** The lines read from a stored batch. */
export interface StoredContent {
  readonly lines: Buffer
  /** The class of severity of each line. */
  readonly severities: Uint8Array
  /** Number of lines that are missing or damaged. */
  readonly lost: number
}
