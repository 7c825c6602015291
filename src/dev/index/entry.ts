import type { CountedName } from './counted-names.ts'

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
  /** The event as it was sent; empty if the event is not kept any more. */
  line: string
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
}

/** Compares two entries by time, the oldest first. Entries of the same time are ordered by their arrival. */
export function byTime(one: Entry, other: Entry): number {
  return one.at - other.at || one.n - other.n
}

/** Compares two entries by their arrival, the oldest first. */
export function byArrival(one: Entry, other: Entry): number {
  return one.n - other.n
}
