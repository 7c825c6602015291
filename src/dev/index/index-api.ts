/**
 * What the routes, the terminal commands and the MCP server may ask of the index. Nothing behind this interface knows
 * HTTP. A long answer is a promise: it is made in slices of a few milliseconds, between which requests are served.
 */
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
  LiveMessages,
  RowsAnswer,
  RowsRequest,
  ServiceStatus,
  Sort,
  SuggestAnswer,
  Summary,
  TraceAnswer,
  ViewChange,
  ViewQuery,
  ViewState,
} from '../protocol.ts'

/** An event that the service has accepted, or that was loaded from a file. */
export interface ArrivedEvent {
  readonly dataset: string
  /** Name of the program that sent it, or `null` if the program did not say. */
  readonly source: string | null
  /** The event as it was sent: one line of JSON, whose value is `event`. */
  readonly line: string
  /** The parsed line. It is read at once, and neither changed nor kept. */
  readonly event: Readonly<Record<string, unknown>>
  readonly receivedAt: number
  /** Number of the request, or `null` for a loaded event. */
  readonly request: number | null
  /** True if the same event has been stored before, by an earlier attempt of the same request. */
  readonly duplicate: boolean
}

export interface EventIndexOptions {
  /** Maximum number of events that are kept. */
  readonly maxEvents: number
  /** Maximum memory of the kept events, in bytes: their lines, and what the index keeps about each of them. */
  readonly maxBytes: number
  /** Name of this run of the service; the first part of each event's id. No dots. */
  readonly epoch: string
  /** Returns the present time, in milliseconds since 1970. Only tests give another clock. */
  readonly nowMs?: () => number
}

/** The part of `ServiceStatus` that the index knows. */
export type IndexStatus = Summary & Pick<ServiceStatus, 'perSecond' | 'datasets' | 'sources' | 'maxEvents' | 'maxBytes'>

export interface EventIndexApi {
  readonly epoch: string
  /** Arrival number of the newest event; 0 before the first one. It never decreases, not even by `clear`. */
  readonly newest: number
  /** Arrival number of the oldest event that is kept, or `newest + 1` if none is kept. */
  readonly oldest: number

  /** Counts the kept events with a higher arrival number. */
  keptAfter(arrival: number): number

  /** Takes an event and returns its arrival number. Never throws, whatever the event contains. */
  add(arrived: ArrivedEvent): number
  /** Forgets all events. Returns the arrival number up to which they are forgotten. */
  clear(): number

  /** Reads by arrival number. Waits up to `waitMs` for a first event; the wait ends early if `signal` is aborted. */
  events(request: EventsRequest, signal?: AbortSignal): Promise<EventsAnswer>
  /** Returns `undefined` if the event is not kept (any more), or belongs to another run. */
  event(id: EventId): EventDetail | undefined
  trace(request: { id: string; limit?: number | undefined }): Promise<TraceAnswer>
  groups(request: GroupsRequest): Promise<GroupsAnswer>
  facet(request: FacetRequest): Promise<FacetAnswer>
  suggest(request: { q: string; at: number }): SuggestAnswer
  edit(request: EditRequest): EditAnswer
  fields(request: FieldsRequest): FieldsAnswer
  cost(request: CostRequest): Promise<CostAnswer>
  /** Yields the lines of the matching events, newest first as in the list, without newlines. */
  exportLines(request: ExportRequest): AsyncIterable<string>
  summary(): Summary
  status(): IndexStatus

  /** Opens a list. The caller closes it. At most `maxViews` lists are open: `undefined` if one more is too many. */
  openView(query?: Partial<ViewQuery>): LiveView | undefined
  /** Returns an open list by its id. */
  view(id: string): LiveView | undefined
}

/** Maximum number of lists that are open at a time. */
export const maxViews = 16

/** Which events an answer covers: those that a query matches, of some arrivals and a time. */
export interface Selection {
  readonly q?: string | undefined
  /** Arrival number from which on events are new, for the query; 0 for none. */
  readonly mark?: number | undefined
  /** Only events that arrived after this number. */
  readonly since?: number | undefined
  readonly from?: number | null | undefined
  readonly to?: number | null | undefined
}

export interface GroupsRequest extends Selection {
  readonly limit?: number | undefined
}

export interface FieldsRequest {
  readonly dataset?: string | undefined
  readonly prefix?: string | undefined
  readonly limit?: number | undefined
  /** Maximum of the license, or `null`: the index does not know it. */
  readonly maxFields: number | null
}

export interface CostRequest extends Selection {
  readonly limit?: number | undefined
  /** Allowance of the license, in bytes, or `null`: the index does not know it. */
  readonly monthlyLimit: number | null
}

export interface FacetRequest extends Selection {
  readonly field: string
  readonly limit?: number | undefined
}

export interface ExportRequest extends Selection {
  /** Newest arrival number that is exported; all by default. */
  readonly until?: number | undefined
  readonly sort?: Sort | undefined
}

/** One open list: a query, its matches in order, and whether it follows or is pinned. */
export interface LiveView {
  readonly id: string
  /** Waits until the first rows are known, at most about 100 ms, and returns the state. */
  state(): Promise<ViewState>
  /** Changes query, order or pin, then answers as `state` does. */
  change(change: Omit<ViewChange, 'view'>): Promise<ViewState>
  /** Reads rows by rank, as of the arrival number `until`. Waits for the scan if it has not come that far. */
  rows(request: Omit<RowsRequest, 'view'>): Promise<RowsAnswer>
  /** Returns the next frame, or `undefined` if nothing has changed since the last one, or the list is pinned. */
  frame(): LiveMessages['rows'] | undefined
  /** Returns the numbers of the list. The stream calls this once a second and adds the counts of requests. */
  tick(): Omit<LiveMessages['tick'], 'requests' | 'refusedRequests'>
  /**
   * Sets the function that is called when `frame` would return one. It is called at once after a second without a
   * change, and then again only after `frame` has been called. It must not throw.
   */
  onChange(listener: () => void): void
  /** Frees the list. A closed list answers nothing more. */
  close(): void
}
