/** A place for batches outside memory: what delivery cannot take yet goes there and comes back. */
export interface BatchStore {
  /** Whether it can be used at the moment. */
  readonly isReady: boolean
  /** A copy to which each line is written as it is added; `undefined` where that is not wanted, or cannot be. */
  open(dataset: string): StoredBatch | undefined
  /** A copy of all these lines, open for more; `undefined` when it cannot be made. */
  write(dataset: string, lines: Buffer, severities: Uint8Array): StoredBatch | undefined
}

/** What the store has of a batch. Nothing it does throws, but for reading. */
export interface StoredBatch {
  /** Copies are older or younger than one another, whoever wrote them: the lesser is older. */
  readonly order: string
  /** Whether it has every line that it was given. */
  readonly isComplete: boolean
  /** Whether lines may still be added. */
  readonly isOpen: boolean
  /** Whether it is where it was put: somebody may have removed it. */
  readonly exists: boolean
  /** Whether it is known that it is not there any more. */
  readonly hasVanished: boolean
  /** How many lines it has: the first of those that it was given. */
  readonly count: number
  /** Adds the line that stands from `from` to `to` in `lines`. */
  append(number: number, severity: number, lines: Buffer, from: number, to: number): void
  /** Adds a line that stands nowhere else; `false` if it is not there then, and no line can be added any more. */
  extend(severity: number, lines: Buffer, from: number, to: number): boolean
  /** No line will be added. */
  seal(): void
  read(): Promise<StoredContent>
  /** The same where the event loop stands still; what cannot be read is not given up. */
  readNow(): StoredContent
  /** Is another process's from now on. */
  handOff(): void
  remove(): void
}

/** What could be read of a copy. */
export interface StoredContent {
  readonly lines: Buffer
  /** The class of severity of each line. */
  readonly severities: Uint8Array
  /** Lines that are missing or damaged. */
  readonly lost: number
}
