import { bytesOfText } from './own-text.ts'
import { constantEnd, type StatementWords, samePieces } from './statement-difference.ts'

/** Maximum number of statements that are counted one by one. */
const maxStatements = 240
/** Maximum size of their texts. If texts are long and not Latin, there are fewer statements. */
const maxTextBytes = 48 * 1024

/** The properties that distinguish a statement from others. */
export interface StatementKey {
  /** Number of the dataset. */
  readonly dataset: number
  readonly level: string
  /** The constant part of the message, or of the name. */
  readonly text: string
  /** True if the event has a name, or nothing, in place of a message. */
  readonly isName: boolean
}

export interface Statement extends StatementKey {
  /** Never used again for another statement. */
  readonly id: number
  /** Bytes and events since the statement has its place in the table. */
  bytes: number
  events: number
  /**
   * What its messages have in common. `undefined` until it is sampled a second time: an identifier that looks like a name
   * makes a statement only once.
   */
  words: StatementWords | undefined
  /** The statement that most likely has the event if this one is sampled only once; 0 for none. */
  insteadOf: number
  /** The bytes of the statement that had the place before. */
  readonly bytesBefore: number
}

/**
 * The statements with most bytes. When the table is full, a new statement replaces the one with the fewest bytes, and
 * continues its count ("space saving"). So a statement misses at most `bytesBefore` bytes, which is at most the average
 * of the table. A statement with a greater share of all bytes than that is always in the table.
 *
 * @see https://doi.org/10.1007/978-3-540-30570-5_27
 */
export class StatementTable {
  /** Statements with the same text differ in dataset or level. */
  readonly #byText = new Map<string, Statement[]>()
  readonly #byId = new Map<number, Statement>()
  readonly #onReplaced: (statement: Statement) => void
  #textBytes = 0
  #lastId = 0

  /** @param onReplaced called before a statement loses its place */
  constructor(onReplaced: (statement: Statement) => void) {
    this.#onReplaced = onReplaced
  }

  /**
   * Returns the statement with this key, or `undefined` if it has no place in the table. `message` is one of its messages, or
   * its name.
   */
  find({ dataset, level, text, isName }: StatementKey, message: string): Statement | undefined {
    const statement = this.#byText
      .get(text)
      ?.find(one => one.dataset === dataset && one.level === level && one.isName === isName)
    if (statement !== undefined)
      statement.words ??= { text, endChars: constantEnd(text, message), pieces: samePieces(text, message) }
    return statement
  }

  hasText(text: string): boolean {
    return this.#byText.has(text)
  }

  /** Returns a statement unless another one has replaced it. */
  byId(id: number): Statement | undefined {
    return this.#byId.get(id)
  }

  get size(): number {
    return this.#byId.size
  }

  all(): Iterable<Statement> {
    return this.#byId.values()
  }

  /** Adds a statement that has no place in the table. */
  add({ dataset, level, text, isName }: StatementKey): Statement {
    let replaced: Statement | undefined
    this.#textBytes += bytesOfText(text)
    while (this.#byId.size >= maxStatements || this.#textBytes > maxTextBytes) {
      replaced = this.#smallest()
      if (replaced === undefined) break
      this.#remove(replaced)
    }
    const bytesBefore = replaced === undefined ? 0 : totalOf(replaced)
    const statement: Statement = {
      id: ++this.#lastId,
      dataset,
      level,
      text,
      isName,
      words: undefined,
      bytes: 0,
      events: 0,
      insteadOf: 0,
      bytesBefore,
    }
    const others = this.#byText.get(text)
    if (others === undefined) this.#byText.set(text, [statement])
    else others.push(statement)
    this.#byId.set(statement.id, statement)
    return statement
  }

  #remove(statement: Statement): void {
    this.#onReplaced(statement)
    const left = this.#byText.get(statement.text)?.filter(one => one !== statement) ?? []
    if (left.length === 0) this.#byText.delete(statement.text)
    else this.#byText.set(statement.text, left)
    this.#byId.delete(statement.id)
    this.#textBytes -= bytesOfText(statement.text)
  }

  #smallest(): Statement | undefined {
    let smallest: Statement | undefined
    for (const statement of this.#byId.values()) {
      if (smallest === undefined || totalOf(statement) < totalOf(smallest)) smallest = statement
    }
    return smallest
  }
}

function totalOf({ bytes, bytesBefore }: Statement): number {
  return bytes + bytesBefore
}
