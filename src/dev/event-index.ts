import { systemTimeMs } from '../time.ts'
import { cutText } from './cut-text.ts'
import { eventOfLine } from './event/candidate.ts'
import { CountedNames } from './event/counted-names.ts'
import { byTime, type Entry, type EntryFacts, entryBytes, SlabEntry } from './event/entry.ts'
import { messageOf } from './event/event-message.ts'
import { exactEvent } from './event/exact-event.ts'
import { levelOfRank } from './event/level-rank.ts'
import { LineSlabs } from './event/line-slabs.ts'
import { spanIdOf, traceIdOf } from './event/trace-ids.ts'
import { Arrivals } from './index/arrivals.ts'
import { costOf } from './index/cost.ts'
import { type Described, describe, undescribed } from './index/describe.ts'
import { EventRate } from './index/event-rate.ts'
import { EventStore, minSevereRank } from './index/event-store.ts'
import { readEvents } from './index/events-answer.ts'
import { facetOf } from './index/facet.ts'
import { groupsOf } from './index/groups.ts'
import type {
  ArrivedEvent,
  CostRequest,
  EventIndexApi,
  EventIndexOptions,
  ExportRequest,
  FacetRequest,
  FieldsRequest,
  GroupsRequest,
  IndexStatus,
  Selection,
} from './index/index-api.ts'
import { maxViews } from './index/index-api.ts'
import { RecentFields } from './index/recent-fields.ts'
import { Search } from './index/search.ts'
import { SortedEntries } from './index/sorted-entries.ts'
import { traceOf } from './index/trace.ts'
import { HeldBudget } from './live/held-lines.ts'
import { badgesOf, timeText } from './live/row.ts'
import { View } from './live/view.ts'
import type {
  CostAnswer,
  EditAnswer,
  EditRequest,
  EventDetail,
  EventId,
  EventsAnswer,
  EventsRequest,
  FacetAnswer,
  FieldsAnswer,
  GroupsAnswer,
  KeptEvent,
  Sort,
  SuggestAnswer,
  Summary,
  TraceAnswer,
  ViewQuery,
} from './protocol.ts'
import { editQuery } from './query/edit-query.ts'
import { suggestionsFor } from './query/suggest.ts'
import { Turns } from './query/turns.ts'

export type { ArrivedEvent, EventIndexOptions, LiveView } from './index/index-api.ts'

/** Maximum length of the message of a kept event in an answer, in characters. */
const maxMessageChars = 300
const maxListedNames = 100
const maxFieldRows = 4096

/** The kept events, what is known of them, and the open lists: see `EventIndexApi`. */
export class EventIndex implements EventIndexApi {
  readonly epoch: string
  readonly nowMs: () => number
  readonly knownFields: RecentFields
  readonly turns = new Turns()
  readonly heldBudget = new HeldBudget()
  readonly #maxEvents: number
  readonly #maxBytes: number
  readonly #store: EventStore
  #byTime = new SortedEntries(byTime)
  readonly #datasets = new CountedNames()
  readonly #sources = new CountedNames()
  readonly #statements = new CountedNames()
  /** The lines of each ring of the store, which forgets them in their order. */
  readonly #severeSlabs = new LineSlabs()
  readonly #otherSlabs = new LineSlabs()
  readonly #rate = new EventRate()
  readonly #arrivals = new Arrivals()
  readonly #views = new Map<string, View>()
  /** The views as an array, for the loop over them with each event. */
  #openViews: readonly View[] = []
  #viewNumber = 0
  #newest = 0
  #loaded = 0
  #newestAt = Number.NEGATIVE_INFINITY
  #forgotten = 0
  #errors = 0
  readonly #startedAt: number

  constructor({ maxEvents, maxBytes, epoch, nowMs = systemTimeMs }: EventIndexOptions) {
    this.epoch = epoch
    this.nowMs = nowMs
    this.#maxEvents = maxEvents
    this.#maxBytes = maxBytes
    this.#startedAt = nowMs()
    this.knownFields = new RecentFields(maxEvents)
    this.#store = new EventStore({ maxEvents, maxBytes }, entry => this.#forget(entry))
  }

  get newest(): number {
    return this.#newest
  }

  get oldest(): number {
    return this.#store.oldest ?? this.#newest + 1
  }

  keptAfter(arrival: number): number {
    return this.#store.after(arrival, Number.POSITIVE_INFINITY).length
  }

  add(given: ArrivedEvent): number {
    const arrived = { ...given, event: exactEvent(given.line, given.event) }
    const described = this.#describe(arrived)
    const n = ++this.#newest
    const lineBytes = Buffer.byteLength(arrived.line)
    const bytes = entryBytes + lineBytes + described.statement.length
    if (arrived.request === null) this.#loaded = n
    else this.#rate.add(this.nowMs(), lineBytes)
    this.#newestAt = Math.max(this.#newestAt, described.at)
    if (this.#store.hasRoomFor(bytes)) this.#keep(arrived, described, { n, lineBytes, bytes })
    else this.#forgotten++
    this.#arrivals.tell()
    return n
  }

  #describe(arrived: ArrivedEvent): Described {
    try {
      this.knownFields.add(arrived.dataset, arrived.event)
      return describe(arrived, this.#newestAt)
    } catch {
      return undescribed(arrived)
    }
  }

  #keep(arrived: ArrivedEvent, described: Described, given: Pick<Entry, 'n' | 'lineBytes' | 'bytes'>): void {
    const first = { n: given.n, receivedAt: arrived.receivedAt }
    const facts: EntryFacts = {
      ...given,
      ...described,
      receivedAt: arrived.receivedAt,
      dataset: this.#datasets.named(arrived.dataset, first),
      source: arrived.source === null ? null : this.#sources.named(arrived.source, first),
      statement: this.#statements.named(described.statement, first),
      request: arrived.request ?? 0,
      isAscii: given.lineBytes === arrived.line.length,
    }
    const slabs = described.rank >= minSevereRank ? this.#severeSlabs : this.#otherSlabs
    const entry = new SlabEntry(facts, slabs.write(arrived.line, given.lineBytes))
    this.#datasets.add(entry.dataset, entry.lineBytes)
    if (entry.source !== null) this.#sources.add(entry.source, entry.lineBytes)
    this.#statements.add(entry.statement, entry.lineBytes)
    if (isError(entry)) this.#errors++
    this.#byTime.add(entry)
    this.#store.add(entry)
    if (!entry.isKept) return
    for (const view of this.#openViews) view.arrived(entry, arrived.event)
  }

  #forget(entry: Entry): void {
    this.#forgotten++
    if (isError(entry)) this.#errors--
    for (const view of this.#openViews) view.forgotten(entry)
    this.#datasets.remove(entry.dataset, entry.lineBytes)
    if (entry.source !== null) this.#sources.remove(entry.source, entry.lineBytes)
    this.#statements.remove(entry.statement, entry.lineBytes)
    this.#byTime.countForgotten()
  }

  clear(): number {
    this.#store.clear()
    for (const names of [this.#datasets, this.#sources, this.#statements]) names.clear()
    this.#byTime = new SortedEntries(byTime)
    this.knownFields.clear()
    this.#newestAt = Number.NEGATIVE_INFINITY
    for (const view of this.#openViews) view.cleared()
    return this.#newest
  }

  // What views need

  entries(sort: Sort): Entry[] {
    return sort === 'time' ? [...this.#byTime.settled()] : this.#store.after(0, Number.POSITIVE_INFINITY)
  }

  find(n: number): Entry | undefined {
    return this.#store.find(n)
  }

  counts(): { kept: number; forgotten: number; perSecond: number } {
    const perSecond = this.#rate.perSecond(this.nowMs())
    return { kept: this.#store.length, forgotten: this.#forgotten, perSecond }
  }

  clearBit(bit: number): void {
    for (const entry of this.#byTime.settled()) {
      entry.lists &= ~bit
      entry.listsOfAnyLevel &= ~bit
    }
  }

  closed(view: View): void {
    this.#views.delete(view.id)
    this.#openViews = [...this.#views.values()]
  }

  openView(query: Partial<ViewQuery> = {}): View | undefined {
    if (this.#views.size >= maxViews) return undefined
    const used = this.#openViews.reduce((bits, view) => bits | view.bit, 0)
    let bit = 1
    while (used & bit) bit <<= 1
    const view = new View(this, { id: `v${++this.#viewNumber}`, bit }, query)
    this.#views.set(view.id, view)
    this.#openViews = [...this.#views.values()]
    return view
  }

  view(id: string): View | undefined {
    return this.#views.get(id)
  }

  // Answers

  events(request: EventsRequest, signal?: AbortSignal): Promise<EventsAnswer> {
    return readEvents(
      {
        store: this.#store,
        search: this.#search({ q: request.q }),
        arrivals: this.#arrivals,
        newest: () => this.#newest,
        loaded: () => this.#loaded,
        keptEvent: entry => this.#keptEvent(entry, entry.line),
        epoch: this.epoch,
      },
      request,
      signal,
    )
  }

  event(id: EventId): EventDetail | undefined {
    const found = this.#entryOf(id)
    if (found === undefined) return undefined
    const { entry, line } = found
    const event = eventOfLine(line)
    const detail: EventDetail = {
      ...this.#keptEvent(entry, line),
      time: timeText(event._time),
      spanId: spanIdOf(event),
      badges: badgesOf(entry, 0),
      request: entry.request === 0 ? null : entry.request,
      bytes: entry.lineBytes,
      statement: entry.statement.name,
    }
    if (entry.skewMs !== 0) detail.skewMs = entry.skewMs
    return detail
  }

  #entryOf(id: EventId): { entry: Entry; line: string } | undefined {
    const [epoch, number = ''] = id.split('.')
    if (epoch !== this.epoch || !/^\d{1,15}$/.test(number)) return undefined
    const entry = this.#store.find(Number(number))
    if (entry !== undefined) return { entry, line: entry.line }
    for (const view of this.#openViews) {
      const held = view.held(Number(number))
      if (held !== undefined) return held
    }
    return undefined
  }

  #keptEvent(entry: Entry, line: string): KeptEvent {
    const event = eventOfLine(line)
    return {
      id: `${this.epoch}.${entry.n}`,
      n: entry.n,
      at: entry.at,
      receivedAt: entry.receivedAt,
      dataset: entry.dataset.name,
      source: entry.source?.name ?? null,
      level: levelOfRank(entry.rank),
      message: cutText(messageOf(event), maxMessageChars),
      traceId: traceIdOf(event),
      line,
    }
  }

  trace({ id, limit }: { id: string; limit?: number | undefined }): Promise<TraceAnswer> {
    return traceOf(this.entries('time'), this.#search({}), {
      id,
      limit,
      keptEvent: entry => this.#keptEvent(entry, entry.line),
    })
  }

  groups(request: GroupsRequest): Promise<GroupsAnswer> {
    const entries = this.entries('time').filter(isIn(request))
    return groupsOf(entries, this.#search(request), { ...request, nowMs: this.nowMs(), epoch: this.epoch })
  }

  facet(request: FacetRequest): Promise<FacetAnswer> {
    return facetOf(this.entries('arrival').filter(isIn(request)), this.#search(request), request)
  }

  suggest({ q, at }: { q: string; at: number }): SuggestAnswer {
    return suggestionsFor(q, at, {
      fields: this.knownFields,
      datasets: () => this.#datasets.sorted(),
      sources: () => this.#sources.sorted(),
    })
  }

  edit({ q, change }: EditRequest): EditAnswer {
    return { q: editQuery(q, change, this.knownFields) }
  }

  fields(request: FieldsRequest): FieldsAnswer {
    const { dataset, prefix = '', limit = 200, maxFields } = request
    const { rows, events } = this.knownFields.rows(dataset)
    const matching = rows.filter(({ path }) => path.startsWith(prefix))
    const datasets = this.knownFields.datasets()
    return {
      dataset: dataset ?? '',
      datasets,
      events,
      fields: matching.slice(0, Math.min(Math.max(limit, 0), maxFieldRows)),
      total: rows.length,
      maxFields: dataset === undefined && datasets.length > 1 ? null : maxFields,
    }
  }

  cost(request: CostRequest): Promise<CostAnswer> {
    const { limit, monthlyLimit } = request
    const bytesPerSecond = this.#rate.bytesPerSecond(this.nowMs(), this.#startedAt)
    const entries = this.entries('time').filter(isIn(request))
    return costOf(entries, this.#search(request), { limit, monthlyLimit, bytesPerSecond })
  }

  async *exportLines(request: ExportRequest): AsyncIterable<string> {
    const { until = this.#newest, sort = 'time' } = request
    const isSelected = isIn(request)
    const entries = this.entries(sort).filter(entry => entry.n <= until && isSelected(entry))
    for await (const { matched } of this.#search(request).newestFirst(entries)) {
      for (const entry of matched) if (entry.isKept) yield entry.line
    }
  }

  summary(): Summary {
    return {
      epoch: this.epoch,
      newest: this.#newest,
      kept: this.#store.length,
      forgotten: this.#forgotten,
      errors: this.#errors,
    }
  }

  status(): IndexStatus {
    const named = (names: CountedNames) => names.sorted().slice(0, maxListedNames)
    return {
      ...this.summary(),
      perSecond: this.#rate.perSecond(this.nowMs()),
      datasets: named(this.#datasets).map(({ name, events, bytes }) => ({ name, events, bytes })),
      sources: named(this.#sources).map(({ name, events }) => ({ name, events })),
      maxEvents: this.#maxEvents,
      maxBytes: this.#maxBytes,
    }
  }

  #search({ q = '', mark = 0 }: Selection): Search {
    return new Search(q, { fields: this.knownFields, turns: this.turns, mark, nowMs: this.nowMs() })
  }
}

/** Returns the test whether an entry is of the arrivals and the time of a selection. */
function isIn({ since = 0, from = null, to = null }: Selection): (entry: Entry) => boolean {
  return ({ n, at }) => n > since && (from === null || at >= from) && (to === null || at <= to)
}

const errorRank = 4

function isError({ rank }: Entry): boolean {
  return rank >= errorRank
}
