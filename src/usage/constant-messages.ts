import { internedCopy } from '../text/detached.ts'
import type { Statement } from './statement-table.ts'
import { maxTextChars } from './statement-text.ts'

/**
 * A message that is looked for in vain costs about twice the time that one saves that is found, because its hash must be
 * computed. So it pays to look while two of three messages are found.
 */
const lossInHits = 2
/** Maximum gain that is counted, in hits. It bounds the loss when messages change. */
const maxGain = 64
/** Number of messages that are not looked for, one after the other, while it does not pay. */
const skipped = 63

/**
 * The statements whose messages are always the same, as most are in applications that log values as fields. Events of such a
 * statement are counted exactly, and need no samples, as long as most messages are found here.
 */
export class ConstantMessages {
  readonly #statements = new Map<string, Statement>()
  #gain = 0
  #toSkip = 0

  /** Returns the statement that had this message, perhaps at another level or in another dataset. */
  statementOf(message: string): Statement | undefined {
    if (message.length > maxTextChars) return undefined
    if (this.#toSkip > 0) {
      this.#toSkip--
      return undefined
    }
    const statement = this.#statements.get(message)
    if (statement !== undefined) {
      if (this.#gain < maxGain) this.#gain++
      return statement
    }
    this.#gain -= lossInHits
    if (this.#gain < 0) {
      this.#gain = 0
      this.#toSkip = skipped
    }
    return undefined
  }

  /** Remembers a statement that was found again by the same message, unless another one has this message. */
  remember(statement: Statement): void {
    const { text } = statement
    if (!this.#statements.has(text)) this.#statements.set(internedCopy(text), statement)
  }

  /** Forgets a statement that is no longer counted. */
  forget(statement: Statement): void {
    if (this.#statements.get(statement.text) === statement) this.#statements.delete(statement.text)
  }
}
