import { Candidate, type EventObject } from '../event/candidate.ts'
import { byArrival, byTime, type Entry } from '../event/entry.ts'
import { levels, type Sort, type ViewQuery } from '../protocol.ts'
import { type CompiledQuery, compileQuery } from '../query/compile-query.ts'
import type { QueryNode } from '../query/query-node.ts'
import { noMatches, SliceMatcher } from '../query/slice-matcher.ts'
import type { Turns } from '../query/turns.ts'
import { MatchList } from './match-list.ts'

/** What the matches of a list need of the index. */
export interface MatchesHost {
  readonly newest: number
  readonly turns: Turns
  nowMs(): number
  /** Returns a copy of all kept entries in order, the oldest first. */
  entries(sort: Sort): Entry[]
  /** Removes a list's bit from the matches of all entries. */
  clearBit(bit: number): void
}

/** Is told what becomes of the list. None of these functions may throw. */
export interface MatchesListener {
  /** An event has arrived, and is in the list. */
  onArrived(entry: Entry): void
  /** The scan has found an event of the list. Those of one scan come the newest first. */
  onScanned(entry: Entry): void
  /** The list has changed, after any number of the others. */
  onChanged(): void
}

/**
 * The matches of one query: those that a scan finds among the kept events, and those that arrive. The query never
 * changes; another query needs other matches.
 */
export class ListMatches {
  /** The matches within the chosen time. */
  readonly list: MatchList
  /** The matches before and after the chosen time, for the chart. */
  readonly outside: MatchList
  /** Matches by level, without the clauses about levels; the last one counts events without a level. */
  readonly levels = new Array<number>(levels.length + 1).fill(0)
  readonly #host: MatchesHost
  readonly #bit: number
  readonly #query: ViewQuery
  readonly #compiled: CompiledQuery
  readonly #matcher: SliceMatcher
  readonly #listener: MatchesListener
  /** The entries that the scan looks at; none once it is complete. */
  #scanned: readonly Entry[]
  /** Place of the next entry that the scan looks at, or -1 if it is complete. */
  #scanAt: number
  /** Arrivals that wait for a slice, because the query has patterns. */
  #untested: Entry[] = []
  #isWorking = false
  #isClosed = false

  constructor(host: MatchesHost, given: { bit: number; query: ViewQuery; node: QueryNode }, listener: MatchesListener) {
    const { bit, query, node } = given
    this.#host = host
    this.#bit = bit
    this.#query = query
    this.#listener = listener
    this.#compiled = compileQuery(node, { mark: query.mark, nowMs: host.nowMs() })
    this.#matcher = new SliceMatcher(this.#compiled)
    const compare = query.sort === 'time' ? byTime : byArrival
    this.list = new MatchList(compare, host.newest)
    this.outside = new MatchList(compare, host.newest)
    this.#scanned = host.entries(query.sort).filter(({ n }) => n > query.since)
    this.#scanAt = this.#scanned.length - 1
    if (this.#scanAt < 0) this.#completeScan()
    else this.#work()
  }

  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#host.clearBit(this.#bit)
  }

  /** True once all events that were kept at the start have been looked at. */
  get isComplete(): boolean {
    return this.#scanAt < 0
  }

  /** Part of the kept events that have been looked at. */
  get readShare(): number {
    return this.isComplete ? 1 : 1 - (this.#scanAt + 1) / this.#scanned.length
  }

  /** True if a pattern of the query has taken too long, and later events count as not matching. */
  get isTooSlow(): boolean {
    return this.#matcher.isTooSlow
  }

  /** True if an event up to an arrival number still has to be tested, although it did not arrive before the scan. */
  isUntestedUpTo(n: number): boolean {
    return this.#untested.some(entry => entry.n <= n)
  }

  /** Takes an event that has just arrived. */
  arrived(entry: Entry, event: EventObject): void {
    if (entry.n <= this.#query.since) return
    if (this.#compiled.mayBeSlow) {
      this.#untested.push(entry)
      this.#work()
      return
    }
    const candidate = new Candidate(entry, event)
    if (!this.#compiled.testAnyLevel(candidate)) return
    this.#addAnyLevel(entry)
    if (!this.#compiled.testLevel(candidate)) return
    this.#addArrived(entry)
    this.#listener.onChanged()
  }

  /** Takes note that an entry is not kept any more. */
  forgotten(entry: Entry): void {
    if (entry.listsOfAnyLevel & this.#bit) this.#countLevel(entry, -1)
    if (entry.lists & this.#bit) (this.#isInTime(entry) ? this.list : this.outside).countForgotten(entry)
  }

  #isInTime({ at }: Entry): boolean {
    const { from, to } = this.#query
    return (from === null || at >= from) && (to === null || at <= to)
  }

  #addAnyLevel(entry: Entry): void {
    if (!this.#isInTime(entry)) return
    entry.listsOfAnyLevel |= this.#bit
    this.#countLevel(entry, 1)
  }

  #countLevel({ rank }: Entry, change: 1 | -1): void {
    const at = rank < 0 ? levels.length : rank
    this.levels[at] = (this.levels[at] as number) + change
  }

  #addArrived(entry: Entry): void {
    entry.lists |= this.#bit
    if (this.#isInTime(entry)) {
      this.list.add(entry)
      this.#listener.onArrived(entry)
    } else this.outside.add(entry)
  }

  /** Tests what is to be tested, in slices. */
  #work(): void {
    if (this.#isWorking) return
    this.#isWorking = true
    void this.#testAll()
  }

  async #testAll(): Promise<void> {
    while (!this.isComplete || this.#untested.length > 0) {
      await this.#host.turns.next()
      if (this.#isClosed) return
      if (this.#untested.length > 0) this.#testArrivals()
      if (!this.isComplete) this.#scanSlice()
      this.#listener.onChanged()
    }
    this.#isWorking = false // here, so that an event that arrives in the next moment begins the work anew
  }

  #testArrivals(): void {
    const found = noMatches()
    const next = this.#matcher.run(this.#untested, 0, 1, found)
    this.#untested = this.#untested.slice(next)
    for (const entry of found.anyLevel) this.#addAnyLevel(entry)
    for (const entry of found.matched) this.#addArrived(entry)
  }

  #scanSlice(): void {
    const found = noMatches()
    const next = this.#matcher.run(this.#scanned, this.#scanAt, -1, found)
    for (const entry of found.anyLevel) this.#addAnyLevel(entry)
    for (const entry of found.matched) {
      entry.lists |= this.#bit
      if (this.#isInTime(entry)) {
        this.list.addScanned(entry)
        this.#listener.onScanned(entry)
      } else this.outside.addScanned(entry)
    }
    this.#scanAt = next
    if (this.isComplete) this.#completeScan()
  }

  #completeScan(): void {
    this.#scanned = []
    this.list.completeScan()
    this.outside.completeScan()
  }
}
