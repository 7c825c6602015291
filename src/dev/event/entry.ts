import type { CountedName } from './counted-names.ts'
import type { Slab, SlabLine } from './line-slabs.ts'

/** Marks of an entry, as bits. */
export const mark = {
  late: 1,
  clock: 2,
  noTime: 4,
  cut: 8,
  duplicate: 16,
} as const

/** Estimated memory of an entry and its places in the lists, in bytes, without its line. */
export const entryBytes = 320

/** One kept event: its line, and what is needed often without parsing the line. */
export interface Entry {
  /** Number of the arrival, from 1. */
  readonly n: number
  /** The time that orders the events. */
  readonly at: number
  readonly receivedAt: number
  readonly dataset: CountedName
  readonly source: CountedName | null
  readonly statement: CountedName
  /** Rank of the level, or -1. */
  readonly rank: number
  readonly marks: number
  /** By how much the event is late, or its clock ahead, in milliseconds. */
  readonly skewMs: number
  /** Number of the request, or 0. */
  readonly request: number
  /** The event as it was sent; empty if the event is not kept any more. Each access reads it anew. */
  readonly line: string
  /** Length of the line as UTF-8. */
  readonly lineBytes: number
  /** Memory that the entry is charged with, in bytes. */
  readonly bytes: number
  /** False as soon as the event is forgotten. An open list may hold an entry that is not kept. */
  isKept: boolean
  /** One bit for each open list that contains the entry. */
  lists: number
  /** One bit for each open list whose query matches the entry, if its clauses about levels are ignored. */
  listsOfAnyLevel: number
  /** One bit for each open list that is pinned with this entry among its newest. */
  pins: number
  /** Frees the line. Lists and scans may hold the entry for some time. */
  free(): void
}

/** An entry whose line is in a slab. */
export class SlabEntry implements Entry {
  readonly n: number
  readonly at: number
  readonly receivedAt: number
  readonly dataset: CountedName
  readonly source: CountedName | null
  readonly statement: CountedName
  readonly rank: number
  readonly marks: number
  readonly skewMs: number
  readonly request: number
  readonly lineBytes: number
  readonly bytes: number
  isKept = true
  lists = 0
  listsOfAnyLevel = 0
  pins = 0
  #slab: Slab | undefined
  readonly #start: number
  readonly #end: number
  readonly #isAscii: boolean

  constructor(facts: EntryFacts, { slab, start, end }: SlabLine) {
    this.n = facts.n
    this.at = facts.at
    this.receivedAt = facts.receivedAt
    this.dataset = facts.dataset
    this.source = facts.source
    this.statement = facts.statement
    this.rank = facts.rank
    this.marks = facts.marks
    this.skewMs = facts.skewMs
    this.request = facts.request
    this.lineBytes = facts.lineBytes
    this.bytes = facts.bytes
    this.#slab = slab
    this.#start = start
    this.#end = end
    this.#isAscii = facts.isAscii
  }

  get line(): string {
    if (this.#slab === undefined) return ''
    return this.#slab.buffer.toString(this.#isAscii ? 'latin1' : 'utf8', this.#start, this.#end)
  }

  free(): void {
    this.#slab?.freeLine()
    this.#slab = undefined
  }
}

/** What is known of an entry from its arrival on. */
export type EntryFacts = Omit<Entry, 'line' | 'isKept' | 'lists' | 'listsOfAnyLevel' | 'pins' | 'free'> & {
  /** True if each character of the line is one byte. */
  readonly isAscii: boolean
}

/** Compares two entries by time, the oldest first. Entries of the same time are ordered by their arrival. */
export function byTime(one: Entry, other: Entry): number {
  return one.at - other.at || one.n - other.n
}

/** Compares two entries by their arrival, the oldest first. */
export function byArrival(one: Entry, other: Entry): number {
  return one.n - other.n
}
