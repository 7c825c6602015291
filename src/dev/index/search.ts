import type { Entry } from '../event/entry.ts'
import type { QueryReading } from '../protocol.ts'
import { compileQuery } from '../query/compile-query.ts'
import { readQuery } from '../query/read-query.ts'
import { adviceOnNothing } from '../query/reading-notes.ts'
import type { KnownFields } from '../query/resolve-names.ts'
import { type Matches, noMatches, SliceMatcher } from '../query/slice-matcher.ts'
import type { Turns } from '../query/turns.ts'

export interface SearchContext {
  readonly fields: KnownFields
  readonly turns: Turns
  readonly mark: number
  readonly nowMs: number
}

/** Finds the entries that a query matches, in slices between which requests are served. */
export class Search {
  readonly #matcher: SliceMatcher
  readonly #turns: Turns
  readonly #reading: QueryReading
  readonly #advice: () => QueryReading['notes']

  constructor(q: string, { fields, turns, mark, nowMs }: SearchContext) {
    const { node, reading, unknown } = readQuery(q, fields)
    this.#matcher = new SliceMatcher(compileQuery(node, { mark, nowMs }))
    this.#turns = turns
    this.#reading = reading
    this.#advice = () => adviceOnNothing(node, unknown)
  }

  /** How the query was understood, and whether all entries could be looked at. */
  get reading(): QueryReading {
    if (!this.#matcher.isTooSlow) return this.#reading
    const note = { text: 'Query too slow: the search was stopped, and not all events were looked at.' }
    return { ...this.#reading, notes: [...this.#reading.notes, note] }
  }

  /** The same for an answer without a match, with advice. */
  get readingOfNothing(): QueryReading {
    const { notes, ...reading } = this.reading
    return { ...reading, notes: [...notes, ...this.#advice()] }
  }

  /** False if a pattern of the query was so slow that entries were left out. */
  get isComplete(): boolean {
    return !this.#matcher.isTooSlow
  }

  /** Yields the matching entries of an array in their order, slice by slice. */
  async *inOrder(entries: readonly Entry[]): AsyncIterable<Matches> {
    for (let at = 0; at < entries.length; ) {
      await this.#turns.next()
      const found = noMatches()
      at = this.#matcher.run(entries, at, 1, found)
      yield found
    }
  }

  /** Yields the matching entries of an array from its end on, slice by slice. */
  newestFirst(entries: readonly Entry[]): AsyncIterable<Matches> {
    return this.inOrder(entries.toReversed())
  }
}
