import type { Entry } from './entry.ts'
import { parseExactly } from './exact-event.ts'

export type EventObject = Readonly<Record<string, unknown>>

const noFields: EventObject = Object.freeze(Object.create(null))

/** An entry that is tested. Its line is read, parsed, or put into lower case at most once and only if a test needs it. */
export class Candidate {
  readonly entry: Entry
  #line: string | undefined
  #event: EventObject | undefined
  #lowerLine: string | undefined
  #hasEscapes: boolean | undefined

  /** @param event the parsed line, if it is known */
  constructor(entry: Entry, event?: EventObject) {
    this.entry = entry
    this.#event = event
  }

  get event(): EventObject {
    this.#event ??= eventOfLine(this.line)
    return this.#event
  }

  get line(): string {
    this.#line ??= this.entry.line
    return this.#line
  }

  get lowerLine(): string {
    this.#lowerLine ??= this.line.toLowerCase()
    return this.#lowerLine
  }

  /** True if the line may write characters in another way than they are, so that a search in it would miss them. */
  get hasEscapes(): boolean {
    this.#hasEscapes ??= this.line.includes('\\')
    return this.#hasEscapes
  }
}

/** Returns the event of a line. Lines are parsed before they are kept, so that all of them have one. */
export function eventOfLine(line: string): EventObject {
  try {
    const event: unknown = parseExactly(line)
    return typeof event === 'object' && event !== null ? (event as EventObject) : noFields
  } catch {
    return noFields
  }
}
