import { constantEnd, type StatementWords, samePieces } from './statement-difference.ts'

/** Maximum number of statements that are counted one by one. */
const maxStatements = 240

/** What distinguishes a statement from others. */
export interface StatementKey {
  /** Number of the dataset. */
  readonly dataset: number
  readonly level: string
  /** The constant part of the message, or of the name. */
  readonly text: string
  /** True if the event has a name, or nothing, in place of a message. */
  readonly isName: boolean
}

export interface Statement extends StatementKey, StatementWords {
  /** Never used again for another statement. */
  readonly id: number
  /** Bytes and events since the statement has its place in the table. */
  bytes: number
  events: number
  /** True if it was sampled more than once. An identifier that looks like a name makes a statement only once. */
  isKnown: boolean
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
  readonly #byKey = new Map<string, Statement>()
  readonly #byId = new Map<number, Statement>()
  #lastId = 0

  /** Returns the statement with this key, or `undefined` if it has no place in the table. */
  find(key: StatementKey): Statement | undefined {
    const statement = this.#byKey.get(keyText(key))
    if (statement !== undefined) statement.isKnown = true
    return statement
  }

  /** Returns a statement unless another one has replaced it. */
  byId(id: number): Statement | undefined {
    return this.#byId.get(id)
  }

  all(): Iterable<Statement> {
    return this.#byKey.values()
  }

  /** Adds a statement that has no place in the table. `message` is one of its messages, or its name. */
  add({ dataset, level, text, isName }: StatementKey, message: string): Statement {
    const replaced = this.#byKey.size < maxStatements ? undefined : this.#smallest()
    if (replaced !== undefined) {
      this.#byKey.delete(keyText(replaced))
      this.#byId.delete(replaced.id)
    }
    const bytesBefore = replaced === undefined ? 0 : totalOf(replaced)
    const statement = {
      id: ++this.#lastId,
      dataset,
      level,
      text,
      isName,
      endChars: constantEnd(text, message),
      pieces: samePieces(text, message),
      bytes: 0,
      events: 0,
      isKnown: false,
      bytesBefore,
    }
    this.#byKey.set(keyText(statement), statement)
    this.#byId.set(statement.id, statement)
    return statement
  }

  #smallest(): Statement | undefined {
    let smallest: Statement | undefined
    for (const statement of this.#byKey.values()) {
      if (smallest === undefined || totalOf(statement) < totalOf(smallest)) smallest = statement
    }
    return smallest
  }
}

function keyText({ dataset, level, text, isName }: StatementKey): string {
  return `${dataset}\n${level}\n${isName}\n${text}`
}

function totalOf({ bytes, bytesBefore }: Statement): number {
  return bytes + bytesBefore
}
