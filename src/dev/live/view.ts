import { monotonicMs, nextTurn } from '../../time.ts'
import { byArrival, byTime, type Entry } from '../index/entry.ts'
import type { LiveView } from '../index/index-api.ts'
import {
  type LiveMessages,
  levels,
  type QueryReading,
  type Row,
  type RowsAnswer,
  type RowsRequest,
  type Sort,
  type ViewChange,
  type ViewQuery,
  type ViewState,
} from '../protocol.ts'
import { Candidate, type EventObject } from '../query/candidate.ts'
import { type CompiledQuery, compileQuery } from '../query/compile-query.ts'
import { type ReadQuery, readQuery } from '../query/read-query.ts'
import type { KnownFields } from '../query/resolve-names.ts'
import { noMatches, SliceMatcher } from '../query/slice-matcher.ts'
import type { Turns } from '../query/turns.ts'
import { chartOf, rangeOf } from './chart.ts'
import { type HeldBudget, type HeldEvent, HeldLines } from './held-lines.ts'
import { MatchList } from './match-list.ts'
import { RowMaker } from './row.ts'
import { isRepeat, type Run, Snapshot } from './snapshot.ts'
import { changedQuery, defaultViewQuery, hasOtherMatches } from './view-query.ts'

/** Number of rows in a frame, and maximum number in an answer. */
const maxRows = 200
/** Time after which the state is answered even if the first rows are not known yet, in milliseconds. */
const maxFirstRowsMs = 100
/** Maximum number of the newest events of a pinned list that are held after they are forgotten, and for how long. */
const maxHeldEvents = 10_000
const maxHeldMs = 600_000
/** Maximum number of values of a facet in a tick. */
const maxFacetValues = 20
/** A list with more events than this counts its rows only once a second, if repeats are one row. */
const maxExactlyCounted = 20_000
const errorRank = levels.indexOf('error')

type Tick = ReturnType<LiveView['tick']>

/** What a list needs of the index. */
export interface ViewHost {
  readonly epoch: string
  readonly newest: number
  readonly knownFields: KnownFields & { readonly version: number }
  readonly turns: Turns
  readonly heldBudget: HeldBudget
  nowMs(): number
  /** Returns a copy of all kept entries in order, the oldest first. */
  entries(sort: Sort): Entry[]
  find(n: number): Entry | undefined
  counts(): { kept: number; forgotten: number; perSecond: number }
  /** Removes a list's bit from all entries. */
  clearBit(bit: number): void
  closed(view: View): void
}

interface Scan {
  readonly entries: readonly Entry[]
  at: number
}

/** One open list: see `LiveView`. */
export class View implements LiveView {
  readonly id: string
  readonly #host: ViewHost
  /** The bit of this list in the entries. */
  readonly bit: number
  readonly #held: HeldLines
  #query: ViewQuery = defaultViewQuery
  /** Number of changes so far. */
  #revision = 0
  #read: ReadQuery
  #shownReading: QueryReading
  #fieldsVersion = 0
  #compiled: CompiledQuery
  #matcher: SliceMatcher
  #rowMaker: RowMaker
  #list: MatchList
  #scan: Scan | undefined
  /** Arrivals that wait for a slice, because the query has patterns. */
  #untested: Entry[] = []
  #isWorking = false
  #isClosed = false
  /** Matches by level, without the clauses about levels; the last one counts events without a level. */
  #levels: number[] = []
  #pin: Snapshot | undefined
  #pinnedAtMs = 0
  /** The latest list that was read by rank without a pin. */
  #latest: Snapshot | undefined
  #fresh = 0
  #freshErrors = 0
  #runs: number | undefined
  #frame = { isDue: true, newest: 0, matches: 0, late: 0 }
  #second = { atMs: 0, matches: 0, drawn: 0, late: 0, lateFrom: 0, lateTo: 0 }
  #onChange: (() => void) | undefined

  constructor(host: ViewHost, place: { id: string; bit: number }, query: Partial<ViewQuery>) {
    this.#host = host
    this.id = place.id
    this.bit = place.bit
    this.#held = new HeldLines(host.heldBudget)
    this.#query = changedQuery(defaultViewQuery, query)
    this.#read = readQuery(this.#query.q, host.knownFields)
    this.#shownReading = this.#read.reading
    this.#compiled = this.#newCompiled()
    this.#matcher = new SliceMatcher(this.#compiled)
    this.#rowMaker = new RowMaker(host.epoch, this.#query)
    this.#list = this.#newList()
    this.#restart()
  }

  // The state and its changes

  async state(): Promise<ViewState> {
    const endMs = monotonicMs() + maxFirstRowsMs
    while (!this.#isComplete() && this.#list.length < maxRows && !this.#isClosed && monotonicMs() < endMs)
      await nextTurn()
    this.#shownReading = this.#reading()
    return {
      ...this.#query,
      view: this.id,
      revision: this.#revision,
      reading: this.#shownReading,
      pinnedAt: this.#pin?.until ?? null,
      matched: this.#pin?.rows ?? this.#rowCount(),
      matchedEvents: this.#pin?.events ?? this.#list.length,
      complete: this.#isComplete(),
      rows: this.#pin === undefined ? this.#newestRows().rows : this.#rowsOf(this.#pin.runs(0, maxRows)),
      newest: this.#pin?.until ?? this.#host.newest,
    }
  }

  async change({ pinned, ...change }: Omit<ViewChange, 'view'>): Promise<ViewState> {
    const before = this.#query
    this.#revision++
    this.#query = changedQuery(before, change)
    this.#rowMaker = new RowMaker(this.#host.epoch, this.#query)
    if (hasOtherMatches(before, this.#query)) this.#changeMatches()
    else if (before.group !== this.#query.group) this.#changeGrouping()
    if (pinned === false) this.#unpin()
    else if (pinned !== undefined) await this.#pinAt(pinned === true ? this.#host.newest : pinned)
    return this.state()
  }

  #changeMatches(): void {
    const until = this.#pin?.until
    const read = readQuery(this.#query.q, this.#host.knownFields)
    if (read.isUnfinished && this.#query.q !== '') {
      // The text is being typed: the list stays as it is until the text is a query again.
      this.#read = { ...this.#read, reading: { ...this.#read.reading, notes: [unfinishedNote(read)] } }
    } else this.#read = read
    this.#restart()
    if (until !== undefined) this.#startPin(until)
  }

  #changeGrouping(): void {
    this.#runs = undefined
    this.#latest = undefined
    this.#frame.isDue = true
    if (this.#pin !== undefined) this.#startPin(this.#pin.until)
  }

  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#forgetMatches()
    this.#held.clear()
    this.#onChange = undefined
    this.#host.closed(this)
  }

  onChange(listener: () => void): void {
    this.#onChange = listener
  }

  // Pins

  async #pinAt(until: number): Promise<void> {
    const at = Math.min(Math.max(Math.trunc(until), 0), this.#host.newest)
    while (this.#untested.some(entry => entry.n <= at) && !this.#isClosed) await nextTurn()
    this.#startPin(at)
  }

  #startPin(until: number): void {
    this.#unpin()
    if (this.#isClosed) return
    const pin = this.#newSnapshot(until)
    this.#pin = pin
    this.#pinnedAtMs = this.#host.nowMs()
    this.#fresh = 0
    this.#freshErrors = 0
    for (const n of pin.newest(maxHeldEvents)) {
      const entry = this.#host.find(n)
      if (entry !== undefined) entry.pins |= this.bit
    }
    for (const entry of this.#list.newestFirst()) if (entry.n > until) this.#countFresh(entry)
  }

  /** Adds a match that the scan has found to a pinned list. */
  #addToPin(pin: Snapshot, entry: Entry): void {
    pin.append(entry)
    if (entry.n > pin.until) this.#countFresh(entry)
    else if (pin.events <= maxHeldEvents) entry.pins |= this.bit
  }

  #unpin(): void {
    if (this.#pin === undefined) return
    for (const n of this.#pin.newest(maxHeldEvents)) {
      const entry = this.#host.find(n)
      if (entry !== undefined) entry.pins &= ~this.bit
    }
    this.#pin = undefined
    this.#held.clear()
    this.#fresh = 0
    this.#freshErrors = 0
    this.#frame.isDue = true
  }

  #newSnapshot(until: number): Snapshot {
    const snapshot = new Snapshot(until, this.#query.group)
    for (const entry of this.#list.newestFirst()) snapshot.append(entry)
    return snapshot
  }

  /** Returns an event that this list holds although it is forgotten. */
  held(n: number): HeldEvent | undefined {
    return this.#held.find(n)
  }

  // Arrivals, and events that are forgotten

  /** Takes an event that has just arrived. */
  arrived(entry: Entry, event: EventObject): void {
    if (!this.#isInRange(entry)) return
    if (this.#compiled.hasRegex) {
      this.#untested.push(entry)
      this.#work()
      return
    }
    const candidate = new Candidate(entry, event)
    if (!this.#compiled.testAnyLevel(candidate)) return
    this.#countLevel(entry)
    if (!this.#compiled.testLevel(candidate)) return
    this.#addMatch(entry)
    this.#tellChange()
  }

  #addMatch(entry: Entry): void {
    entry.lists |= this.bit
    this.#list.add(entry)
    this.#runs = this.#list.length > maxExactlyCounted ? this.#runs : undefined
    this.#frame.matches++
    this.#second.matches++
    if (this.#pin !== undefined) this.#countFresh(entry)
    if ((entry.marks & 1) === 0) return
    this.#frame.late++
    const { late, lateFrom, lateTo } = this.#second
    this.#second.late++
    this.#second.lateFrom = late === 0 ? entry.at : Math.min(lateFrom, entry.at)
    this.#second.lateTo = late === 0 ? entry.at : Math.max(lateTo, entry.at)
  }

  #countFresh(entry: Entry): void {
    this.#fresh++
    if (entry.rank >= errorRank) this.#freshErrors++
  }

  #countLevel(entry: Entry): void {
    entry.listsOfAnyLevel |= this.bit
    const at = entry.rank < 0 ? levels.length : entry.rank
    this.#levels[at] = (this.#levels[at] as number) + 1
  }

  /** Takes note that an entry is being forgotten. Its line is there for the last time. */
  forgotten(entry: Entry): void {
    if (entry.pins & this.bit) this.#held.hold(entry)
    if (entry.listsOfAnyLevel & this.bit) {
      const at = entry.rank < 0 ? levels.length : entry.rank
      this.#levels[at] = (this.#levels[at] as number) - 1
    }
    if ((entry.lists & this.bit) === 0) return
    this.#list.countForgotten(entry)
    this.#runs = this.#list.length > maxExactlyCounted ? this.#runs : undefined
  }

  /** Begins anew after all events have been forgotten. */
  cleared(): void {
    this.#unpin()
    this.#restart()
  }

  #isInRange({ n, at }: Entry): boolean {
    const { since, from, to } = this.#query
    return n > since && (from === null || at >= from) && (to === null || at <= to)
  }

  #tellChange(): void {
    if (this.#frame.isDue || this.#pin !== undefined) return
    this.#frame.isDue = true
    this.#onChange?.()
  }

  // Scans

  #newCompiled(): CompiledQuery {
    return compileQuery(this.#read.node, { mark: this.#query.mark, nowMs: this.#host.nowMs() })
  }

  #newList(): MatchList {
    return new MatchList(this.#query.sort === 'time' ? byTime : byArrival, this.#host.newest)
  }

  /** Looks for the matches anew. */
  #restart(): void {
    this.#forgetMatches()
    this.#fieldsVersion = this.#host.knownFields.version
    this.#compiled = this.#newCompiled()
    this.#matcher = new SliceMatcher(this.#compiled)
    this.#list = this.#newList()
    const entries = this.#host.entries(this.#query.sort).filter(entry => this.#isInRange(entry))
    this.#scan = { entries, at: entries.length - 1 }
    this.#frame = { isDue: false, newest: this.#host.newest, matches: 0, late: 0 }
    this.#tellChange()
    this.#work()
  }

  #forgetMatches(): void {
    this.#host.clearBit(this.bit)
    this.#scan = undefined
    this.#untested = []
    this.#levels = new Array<number>(levels.length + 1).fill(0)
    this.#pin = undefined
    this.#held.clear()
    this.#latest = undefined
    this.#runs = undefined
    this.#fresh = 0
    this.#freshErrors = 0
  }

  /** Tests what is to be tested, in slices. */
  #work(): void {
    if (this.#isWorking) return
    this.#isWorking = true
    void this.#testAll().finally(() => {
      this.#isWorking = false
    })
  }

  async #testAll(): Promise<void> {
    while (!this.#isClosed && (this.#scan !== undefined || this.#untested.length > 0)) {
      await this.#host.turns.next()
      if (this.#isClosed) return
      if (this.#untested.length > 0) this.#testArrivals()
      if (this.#scan !== undefined) this.#scanSlice(this.#scan)
    }
  }

  #testArrivals(): void {
    const entries = this.#untested
    const found = noMatches()
    const next = this.#matcher.run(entries, 0, 1, found)
    this.#untested = entries.slice(next)
    for (const entry of found.anyLevel) if (entry.isKept) this.#countLevel(entry)
    for (const entry of found.matched) if (entry.isKept) this.#addMatch(entry)
    if (found.matched.length > 0) this.#tellChange()
  }

  #scanSlice(scan: Scan): void {
    const found = noMatches()
    scan.at = this.#matcher.run(scan.entries, scan.at, -1, found)
    for (const entry of found.anyLevel) this.#countLevel(entry)
    for (const entry of found.matched) {
      entry.lists |= this.bit
      this.#latest?.append(entry)
      if (this.#pin !== undefined) this.#addToPin(this.#pin, entry)
    }
    this.#list.addScanned(found.matched)
    this.#runs = undefined
    if (scan.at < 0) {
      this.#scan = undefined
      this.#list.completeScan()
    }
    this.#tellChange()
  }

  #isComplete(): boolean {
    return this.#scan === undefined
  }

  /** Part of the kept events that have been looked at. */
  #readShare(): number {
    if (this.#scan === undefined) return 1
    return 1 - (this.#scan.at + 1) / this.#scan.entries.length
  }

  // Rows

  async rows({ until, from, n }: Omit<RowsRequest, 'view'>): Promise<RowsAnswer> {
    const snapshot = this.#snapshotAt(until)
    const count = Math.min(n, maxRows)
    while (!this.#isComplete() && snapshot.rows < from + count && !this.#isClosed) await nextTurn()
    return {
      from,
      rows: this.#rowsOf(snapshot.runs(from, count)),
      matched: snapshot.rows,
      matchedEvents: snapshot.events,
      complete: this.#isComplete(),
      read: this.#readShare(),
    }
  }

  #snapshotAt(until: number): Snapshot {
    if (this.#pin?.until === until) return this.#pin
    if (this.#latest?.until !== until) this.#latest = this.#newSnapshot(until)
    return this.#latest
  }

  #rowsOf(runs: readonly Run[]): Row[] {
    return runs.map(run => {
      const entry = this.#host.find(run.n)
      if (entry !== undefined) return this.#rowMaker.row(entry, entry.line, run)
      const held = this.#held.find(run.n)
      return held === undefined ? this.#rowMaker.forgottenRow(run) : this.#rowMaker.row(held.entry, held.line, run)
    })
  }

  /** Returns the newest rows, and how many of their events arrived after a number. */
  #newestRows(after = 0): { rows: Row[]; drawn: number } {
    const runs: { entry: Entry; last: Entry; count: number }[] = []
    let drawn = 0
    for (const entry of this.#list.newestFirst()) {
      const run = runs.at(-1)
      if (run !== undefined && this.#query.group && isRepeat(run.last, entry)) {
        run.last = entry
        run.count++
      } else {
        if (runs.length === maxRows) break
        runs.push({ entry, last: entry, count: 1 })
      }
      if (entry.n > after) drawn++
    }
    const rows = runs.map(({ entry, last, count }) => this.#rowMaker.row(entry, entry.line, { count, since: last.at }))
    return { rows, drawn }
  }

  #rowCount(): number {
    if (!this.#query.group) return this.#list.length
    this.#runs ??= this.#list.runs()
    return this.#runs
  }

  // Messages of the stream

  frame(): LiveMessages['rows'] | undefined {
    if (this.#pin !== undefined || !this.#frame.isDue) return undefined
    const { newest: after, matches, late } = this.#frame
    const { rows, drawn } = this.#newestRows(after)
    const drawnNow = Math.min(drawn, matches)
    const { newest } = this.#host
    this.#frame = { isDue: false, newest, matches: 0, late: 0 }
    this.#second.drawn += drawnNow
    this.#latest = undefined
    return {
      revision: this.#revision,
      rows,
      newest,
      matched: this.#rowCount(),
      matchedEvents: this.#list.length,
      skipped: matches - drawnNow,
      late,
    }
  }

  tick(): Tick {
    const now = this.#host.nowMs()
    this.#lookAtNames()
    if (this.#pin !== undefined && now - this.#pinnedAtMs > maxHeldMs) this.#held.clear()
    const entries = this.#list.oldestFirst()
    this.#runs = undefined
    const { matches, drawn, late, lateFrom, lateTo, atMs } = this.#second
    const seconds = atMs === 0 ? 1 : Math.max((now - atMs) / 1000, 0.001)
    this.#second = { atMs: now, matches: 0, drawn: 0, late: 0, lateFrom: 0, lateTo: 0 }
    const { from, to } = this.#query
    const range = rangeOf(entries) ?? { from: now, to: now }
    const counted = this.#levels
    const tick: Tick = {
      revision: this.#revision,
      now,
      newest: this.#host.newest,
      matched: this.#pin?.rows ?? this.#rowCount(),
      matchedEvents: this.#pin?.events ?? this.#list.length,
      complete: this.#isComplete(),
      read: this.#readShare(),
      fresh: this.#fresh,
      freshErrors: this.#freshErrors,
      ...this.#host.counts(),
      matchedPerSecond: Math.round(matches / seconds),
      notDrawnPerSecond: this.#pin === undefined ? Math.round(Math.max(matches - drawn, 0) / seconds) : 0,
      levels: {
        trace: counted[0] ?? 0,
        debug: counted[1] ?? 0,
        info: counted[2] ?? 0,
        warn: counted[3] ?? 0,
        error: counted[4] ?? 0,
        fatal: counted[5] ?? 0,
        none: counted[6] ?? 0,
      },
      datasets: facetOf(entries, entry => entry.dataset.name),
      sources: facetOf(entries, entry => entry.source?.name),
      chart: chartOf(entries, { from: from ?? range.from, to: to ?? range.to }),
      late: late === 0 ? null : { count: late, from: lateFrom, to: lateTo },
    }
    const reading = this.#reading()
    if (JSON.stringify(reading) !== JSON.stringify(this.#shownReading)) {
      this.#shownReading = reading
      tick.reading = reading
    }
    return tick
  }

  /** Reads the query again if it names fields that events have only since then. */
  #lookAtNames(): void {
    const { version } = this.#host.knownFields
    if (this.#read.unknown.length === 0 || version === this.#fieldsVersion) return
    this.#fieldsVersion = version
    const read = readQuery(this.#query.q, this.#host.knownFields)
    if (read.isUnfinished || JSON.stringify(read.reading) === JSON.stringify(this.#read.reading)) return
    const isOther = read.reading.readAs !== this.#read.reading.readAs
    this.#read = read
    if (!isOther) return
    const until = this.#pin?.until
    this.#restart()
    if (until !== undefined) this.#startPin(until)
  }

  /** Returns how the query was understood. An empty list has a note that says why. */
  #reading(): QueryReading {
    const { reading } = this.#read
    const notes = [...reading.notes]
    if (this.#matcher.isTooSlow) {
      notes.push({ text: 'Pattern too slow: the search was stopped, and not all events were looked at.' })
    }
    const isEmpty = this.#isComplete() && this.#list.length === 0 && this.#host.counts().kept > 0
    if (isEmpty) notes.push({ text: `No event matches${this.#hasRange() ? ' in the chosen time' : ''}.` })
    return { ...reading, notes }
  }

  #hasRange(): boolean {
    const { since, from, to } = this.#query
    return since > 0 || from !== null || to !== null
  }
}

function unfinishedNote({ reading }: ReadQuery): QueryReading['notes'][number] {
  const [note] = reading.notes
  return { ...note, text: 'The query is not complete yet: the list is that of the query before.' }
}

function facetOf(
  entries: readonly Entry[],
  nameOf: (entry: Entry) => string | undefined,
): { value: string; count: number }[] {
  const counts = new Map<string, number>()
  for (const entry of entries) {
    const name = nameOf(entry)
    if (name !== undefined) counts.set(name, (counts.get(name) ?? 0) + 1)
  }
  const sorted = Array.from(counts, ([value, count]) => ({ value, count })).sort(
    (one, other) => other.count - one.count,
  )
  return sorted.slice(0, maxFacetValues)
}
