import { monotonicMs, nextTurn } from '../../time.ts'
import type { EventObject } from '../event/candidate.ts'
import type { Entry } from '../event/entry.ts'
import type { LiveView } from '../index/index-api.ts'
import type {
  LiveMessages,
  QueryReading,
  Row,
  RowsAnswer,
  RowsRequest,
  ViewChange,
  ViewQuery,
  ViewState,
} from '../protocol.ts'
import { type ReadQuery, readQuery } from '../query/read-query.ts'
import { adviceOnNothing } from '../query/reading-notes.ts'
import type { KnownFields } from '../query/resolve-names.ts'
import { DrawnCounts } from './drawn-counts.ts'
import type { HeldEvent } from './held-lines.ts'
import { type ListFacts, levelCounts, listFacts } from './list-facts.ts'
import { ListMatches, type MatchesHost } from './list-matches.ts'
import { type PinHost, PinnedList } from './pinned-list.ts'
import { type Repeats, RowMaker } from './row.ts'
import { ShortTurns } from './short-turns.ts'
import { isRepeat, type Run, Snapshot } from './snapshot.ts'
import { asksForNew, changedQuery, defaultViewQuery, hasOtherMatches, hasOtherRows } from './view-query.ts'

/** Number of rows in a frame, and maximum number in an answer. */
const maxRows = 200
/** Time after which the state is answered even if the first rows are not known yet, in milliseconds. */
const maxFirstRowsMs = 100
/** Number of turns that are waited for anyway: on a busy machine, the time may pass without a slice of the scan. */
const minTurns = 5
/** A list with more events than this counts its rows only once a second, if repeats are one row. */
const maxExactlyCounted = 20_000

/** What a list needs of the index. */
export interface ViewHost extends MatchesHost, PinHost {
  readonly epoch: string
  readonly knownFields: KnownFields & { readonly version: number }
  counts(): { kept: number; forgotten: number; perSecond: number }
  closed(view: View): void
}

/** One open list: see `LiveView`. */
export class View implements LiveView {
  readonly id: string
  /** The bit of this list in the entries. */
  readonly bit: number
  readonly #host: ViewHost
  #query: ViewQuery
  /** Number of changes so far. */
  #revision = 0
  #read: ReadQuery
  #shownReading: QueryReading
  /** Version of the known fields with which the query was read. */
  #fieldsVersion: number
  #rowMaker: RowMaker
  #matches: ListMatches
  #pin: PinnedList | undefined
  /** The latest list that was read by rank without a pin. */
  #latest: Snapshot | undefined
  /** What was known of all matches when they were counted last, and whether they have changed since. */
  #facts: ListFacts | undefined
  #areFactsOld = true
  readonly #drawn = new DrawnCounts()
  #isFrameDue = true
  /** Number of times that the newest rows are being made. No frame is made meanwhile. */
  #preparing = 0
  #onChange: (() => void) | undefined
  #isClosed = false

  constructor(host: ViewHost, place: { id: string; bit: number }, query: Partial<ViewQuery>) {
    this.#host = host
    this.id = place.id
    this.bit = place.bit
    this.#query = changedQuery(defaultViewQuery, query)
    this.#fieldsVersion = host.knownFields.version
    this.#read = readQuery(this.#query.q, host.knownFields)
    this.#shownReading = this.#read.reading
    this.#rowMaker = new RowMaker(host.epoch, this.#query)
    this.#matches = this.#newMatches()
  }

  // The state and its changes

  async state(): Promise<ViewState> {
    const endMs = monotonicMs() + maxFirstRowsMs
    for (let turns = 0; this.#needsFirstRows() && (turns < minTurns || monotonicMs() < endMs); turns++) await nextTurn()
    const pinnedRows = await this.#readRows()
    this.#shownReading = this.#reading()
    return {
      ...this.#query,
      view: this.id,
      revision: this.#revision,
      reading: this.#shownReading,
      pinnedAt: this.#pin?.snapshot.until ?? null,
      matched: this.#rowCount(),
      matchedEvents: this.#eventCount(),
      complete: this.#matches.isComplete,
      rows: pinnedRows ?? this.#newestRows().rows,
      newest: this.#pin?.snapshot.until ?? this.#host.newest,
    }
  }

  /** Reads the events of the first rows, again if the pin or the columns change meanwhile. Returns pinned rows. */
  async #readRows(): Promise<Row[] | undefined> {
    for (;;) {
      const [pin, rowMaker] = [this.#pin, this.#rowMaker]
      let rows: Row[] | undefined
      if (pin === undefined) await this.#prepareRows()
      else rows = await this.#rowsOf(pin.snapshot.runs(0, maxRows))
      if ((pin === this.#pin && rowMaker === this.#rowMaker) || this.#isClosed) return rows
    }
  }

  async #prepareRows(): Promise<void> {
    this.#preparing++
    try {
      await this.#rowMaker.prepare(this.#newestRuns().runs.map(({ entry }) => entry))
    } finally {
      this.#preparing--
    }
    if (this.#isFrameDue && this.#preparing === 0) this.#onChange?.()
  }

  #needsFirstRows(): boolean {
    return !this.#matches.isComplete && this.#matches.list.length < maxRows && !this.#isClosed
  }

  async change({ pinned, ...change }: Omit<ViewChange, 'view'>): Promise<ViewState> {
    const before = this.#query
    this.#revision++
    this.#query = changedQuery(before, change)
    if (hasOtherRows(before, this.#query)) this.#rowMaker = new RowMaker(this.#host.epoch, this.#query)
    if (hasOtherMatches(before, this.#query)) this.#changeMatches()
    else if (before.group !== this.#query.group) this.#changeGrouping()
    if (pinned === false) this.#unpin()
    else if (pinned !== undefined) await this.#pinAt(pinned === true ? this.#host.newest : pinned)
    return this.state()
  }

  #changeMatches(): void {
    const read = readQuery(this.#query.q, this.#host.knownFields)
    if (read.isUnfinished) {
      // The text is being typed: the list stays as it is until the text is a query again.
      this.#read = { ...this.#read, reading: { ...this.#read.reading, notes: [unfinishedNote(read)] } }
    } else this.#read = read
    this.#restartAndPin()
  }

  #changeGrouping(): void {
    this.#latest = undefined
    if (this.#pin !== undefined) this.#startPin(this.#pin.snapshot.until)
    else this.#demandFrame()
  }

  onChange(listener: () => void): void {
    this.#onChange = listener
  }

  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#matches.close()
    this.#pin?.close()
    this.#onChange = undefined
    this.#host.closed(this)
  }

  // Matches

  /** Takes an event that has just arrived. */
  arrived(entry: Entry, event: EventObject): void {
    this.#matches.arrived(entry, event)
  }

  /** Takes note that an entry is being forgotten. Its line is there for the last time. */
  forgotten(entry: Entry): void {
    this.#pin?.forgotten(entry)
    this.#matches.forgotten(entry)
    this.#areFactsOld = true
  }

  /** Begins anew after all events have been forgotten. */
  cleared(): void {
    this.#unpin()
    this.#restart()
  }

  #newMatches(): ListMatches {
    const given = { bit: this.bit, query: this.#query, node: this.#read.node }
    return new ListMatches(this.#host, given, {
      onArrived: entry => {
        this.#drawn.add(entry)
        this.#pin?.countFresh(entry)
      },
      onScanned: entry => {
        this.#pin?.addScanned(entry)
        this.#latest?.append(entry)
      },
      onChanged: () => this.#changed(),
    })
  }

  #changed(): void {
    this.#areFactsOld = true
    if (this.#isFrameDue || this.#pin !== undefined) return
    this.#isFrameDue = true
    this.#onChange?.()
  }

  /** Looks for the matches anew. A pinned list is pinned at the same arrival again. */
  #restartAndPin(): void {
    const until = this.#pin?.snapshot.until
    this.#unpin()
    this.#restart()
    if (until !== undefined) this.#startPin(until)
  }

  #restart(): void {
    this.#matches.close()
    this.#latest = undefined
    this.#facts = undefined
    this.#fieldsVersion = this.#host.knownFields.version
    this.#matches = this.#newMatches()
    this.#drawn.restart(this.#host.newest)
    this.#isFrameDue = false
    this.#changed()
  }

  // Pins

  async #pinAt(until: number): Promise<void> {
    const at = Math.min(Math.max(Math.trunc(until), 0), this.#host.newest)
    while (this.#matches.isUntestedUpTo(at) && !this.#isClosed) await nextTurn()
    this.#startPin(at)
  }

  #startPin(until: number): void {
    this.#unpin()
    if (this.#isClosed) return
    const pin = new PinnedList(this.#host, this.bit, this.#newSnapshot(until))
    this.#matches.list.newestFirst(entry => {
      if (entry.n > until) pin.countFresh(entry)
      return true
    })
    this.#pin = pin
  }

  #unpin(): void {
    if (this.#pin === undefined) return
    this.#pin.close()
    this.#pin = undefined
    this.#demandFrame()
  }

  /** Asks for a frame, also if the last one that was due could not be made because of the pin. */
  #demandFrame(): void {
    this.#isFrameDue = true
    this.#onChange?.()
  }

  #newSnapshot(until: number): Snapshot {
    const snapshot = new Snapshot(until, this.#query.group)
    this.#matches.list.newestFirst(entry => {
      snapshot.append(entry)
      return true
    })
    return snapshot
  }

  /** Returns an event that this list holds although it is forgotten. */
  held(n: number): HeldEvent | undefined {
    return this.#pin?.held(n)
  }

  // Rows

  async rows({ until, from, n }: Omit<RowsRequest, 'view'>): Promise<RowsAnswer> {
    const count = Math.min(n, maxRows)
    let snapshot = this.#snapshotAt(until)
    while (!this.#matches.isComplete && snapshot.rows < from + count && !this.#isClosed) {
      await nextTurn()
      snapshot = this.#snapshotAt(until)
    }
    return {
      from,
      rows: await this.#rowsOf(snapshot.runs(from, count)),
      matched: snapshot.rows,
      matchedEvents: snapshot.events,
      complete: this.#matches.isComplete,
      read: this.#matches.readShare,
    }
  }

  #snapshotAt(until: number): Snapshot {
    if (this.#pin?.snapshot.until === until) return this.#pin.snapshot
    if (this.#latest?.until !== until) this.#latest = this.#newSnapshot(until)
    return this.#latest
  }

  async #rowsOf(runs: readonly Run[]): Promise<Row[]> {
    const [pin, rowMaker, turns] = [this.#pin, this.#rowMaker, new ShortTurns()]
    const rows: Row[] = []
    for (const run of runs) {
      const entry = this.#host.find(run.n)
      const held = entry === undefined ? pin?.held(run.n) : { entry, line: entry.line }
      rows.push(held === undefined ? rowMaker.forgottenRow(run) : rowMaker.row(held.entry, held.line, run))
      await turns.next()
    }
    return rows
  }

  /** Returns the newest rows, and how many of their events arrived after a number. */
  #newestRows(after = 0): { rows: Row[]; drawn: number } {
    const { runs, drawn } = this.#newestRuns(after)
    return { rows: this.#rowMaker.frame(runs), drawn }
  }

  #newestRuns(after = 0): { runs: (Repeats & { entry: Entry })[]; drawn: number } {
    const runs: { entry: Entry; last: Entry; count: number; since: number }[] = []
    let drawn = 0
    this.#matches.list.newestFirst(entry => {
      const run = runs.at(-1)
      if (run !== undefined && this.#query.group && isRepeat(run.last, entry)) {
        run.last = entry
        run.since = entry.at
        run.count++
      } else {
        if (runs.length === maxRows) return false
        runs.push({ entry, last: entry, count: 1, since: entry.at })
      }
      if (entry.n > after) drawn++
      return true
    })
    return { runs, drawn }
  }

  #eventCount(): number {
    return this.#pin?.snapshot.events ?? this.#matches.list.length
  }

  #rowCount(): number {
    if (this.#pin !== undefined) return this.#pin.snapshot.rows
    const { list } = this.#matches
    if (!this.#query.group) return list.length
    const known = this.#facts
    return known !== undefined && list.length > maxExactlyCounted ? known.runs : this.#presentFacts().runs
  }

  /** Counts the matches if they have changed. */
  #presentFacts(): ListFacts {
    if (this.#facts === undefined || this.#areFactsOld) this.#facts = listFacts(this.#matches, this.#host.nowMs())
    this.#areFactsOld = false
    return this.#facts
  }

  // Messages of the stream

  frame(): LiveMessages['rows'] | undefined {
    if (this.#pin !== undefined || !this.#isFrameDue || this.#preparing > 0) return undefined
    this.#isFrameDue = false
    this.#latest = undefined
    const { rows, drawn } = this.#newestRows(this.#drawn.newest)
    const { newest } = this.#host
    return {
      revision: this.#revision,
      rows,
      newest,
      matched: this.#rowCount(),
      matchedEvents: this.#eventCount(),
      ...this.#drawn.endFrame(newest, drawn),
    }
  }

  tick(): ReturnType<LiveView['tick']> {
    const now = this.#host.nowMs()
    this.#lookAtNames()
    this.#pin?.expire()
    const { datasets, sources, chart } = this.#presentFacts()
    const { matchedPerSecond, notDrawnPerSecond, late } = this.#drawn.endTick(now)
    const reading = this.#reading()
    const isOther = JSON.stringify(reading) !== JSON.stringify(this.#shownReading)
    this.#shownReading = reading
    return {
      revision: this.#revision,
      now,
      newest: this.#host.newest,
      matched: this.#rowCount(),
      matchedEvents: this.#eventCount(),
      complete: this.#matches.isComplete,
      read: this.#matches.readShare,
      fresh: this.#pin?.fresh ?? 0,
      freshErrors: this.#pin?.freshErrors ?? 0,
      ...this.#host.counts(),
      matchedPerSecond,
      notDrawnPerSecond: this.#pin === undefined ? notDrawnPerSecond : 0,
      levels: levelCounts(this.#matches.levels),
      datasets,
      sources,
      chart,
      late,
      ...(isOther ? { reading } : {}),
    }
  }

  /** Reads the query again if it names fields that events have only since then. */
  #lookAtNames(): void {
    const { version } = this.#host.knownFields
    if (this.#read.unknown.length === 0 || version === this.#fieldsVersion) return
    this.#fieldsVersion = version
    const read = readQuery(this.#query.q, this.#host.knownFields)
    if (read.isUnfinished) return
    const hasOtherPaths = read.reading.readAs !== this.#read.reading.readAs
    this.#read = read
    if (hasOtherPaths) this.#restartAndPin()
  }

  /** Returns how the query was understood. An empty list has a note that says why. */
  #reading(): QueryReading {
    const { reading } = this.#read
    const notes = [...reading.notes]
    if (this.#matches.isTooSlow) {
      notes.push({ text: 'Query too slow: the search was stopped, and not all events were looked at.' })
    }
    const { isComplete, list } = this.#matches
    if (isComplete && list.length === 0 && this.#host.counts().kept > 0) {
      const { since, from, to } = this.#query
      const isBounded = since > 0 || from !== null || to !== null
      notes.push(
        { text: `No event matches${isBounded ? ' in the chosen time' : ''}.` },
        ...adviceOnNothing(this.#read.node, this.#read.unknown),
      )
      if (this.#query.mark === 0 && asksForNew(this.#query.q)) {
        notes.push({ text: 'Set a mark first: `is:new` finds the events that arrive after the mark.' })
      }
    }
    return { ...reading, notes }
  }
}

function unfinishedNote({ reading }: ReadQuery): QueryReading['notes'][number] {
  const [note] = reading.notes
  return { ...note, text: 'The query is not complete yet: the list is that of the query before.' }
}
