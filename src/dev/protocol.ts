/**
 * The messages between the dev service and its readers: the page, `logferry tail`, `logferry logs` and `logferry mcp`.
 * This file holds types and constants only, so that the page can share it.
 *
 * Texts in a message are as they were logged, unless a field says otherwise: the reader that shows a text makes it
 * harmless first. Times are milliseconds since the epoch, unless a name says otherwise. Every field of an event is data,
 * never a key of a message.
 */

export const protocolVersion = 1

/** Maximum length of the text of a query, in characters. */
export const maxQueryChars = 8192

/** Port that `logferry dev` listens on unless `--port` is given. */
export const defaultPort = 4800

/** Header that each writing request of the page must have; a foreign site cannot set it without asking first. */
export const writeHeader = 'x-logferry-dev'

/**
 * The screens of the page, and if an id follows the screen in the address: the id of a trace, an event or a request, or
 * the name of a dataset.
 */
export const screens = {
  events: 'without id',
  groups: 'without id',
  requests: 'with or without id',
  fields: 'with or without id',
  cost: 'without id',
  faults: 'without id',
  trace: 'with id',
  event: 'with id',
} as const
export type Screen = keyof typeof screens

/** Where the messages are read. Each path is a GET unless it says POST. */
export const paths = {
  /** `LiveRequest` in the query; an SSE stream of `LiveMessages`. */
  live: '/dev/api/live',
  /** POST of a `ViewChange`; answers `ViewState`. */
  view: '/dev/api/view',
  /** `RowsRequest`; answers `RowsAnswer`. */
  rows: '/dev/api/rows',
  /** `EventsRequest`; answers `EventsAnswer`. For readers that page by arrival number. */
  events: '/dev/api/events',
  /**
   * `{ id, t }`, an `EventId`; answers `EventDetail`. `part=raw` answers the line as it was sent. `t`, the `_time` of the
   * event, finds it again after a restart that has loaded the events from a file.
   */
  event: '/dev/api/event',
  /** `{ id, limit }`; answers `TraceAnswer`. */
  trace: '/dev/api/trace',
  /** `{ q, since, from, to, mark, limit }`; answers `GroupsAnswer`. */
  groups: '/dev/api/groups',
  /** `{ q, since, from, to, mark, field, limit }`; answers `FacetAnswer`: the values of one field among the matches. */
  facet: '/dev/api/facet',
  /** `{ q, at }`: text and cursor; answers `SuggestAnswer`. */
  suggest: '/dev/api/suggest',
  /** POST of an `EditRequest`; answers `EditAnswer`: the new text of the query. */
  edit: '/dev/api/edit',
  /** `{ before, limit, status, dataset, retries }`; answers `RequestsAnswer`. */
  requests: '/dev/api/requests',
  /** `{ n }`; answers `RequestDetail`. */
  request: '/dev/api/request',
  /** `{ dataset, prefix, limit }`; answers `FieldsAnswer`. */
  fields: '/dev/api/fields',
  /** `{ q, since, from, to, mark, limit }`; answers `CostAnswer`. */
  cost: '/dev/api/cost',
  /** Answers `FaultsAnswer`. POST of a `FaultChange` starts or ends a fault, and answers the same. */
  faults: '/dev/api/faults',
  /** `{ q, until, sort, since, from, to, mark }`; answers NDJSON in the order of the list, each event as it was sent. */
  export: '/dev/api/export',
  /** Answers `Summary`. */
  summary: '/dev/api/summary',
  /** Answers `ServiceStatus`. */
  status: '/dev/api/status',
  /** POST of `{}`; answers `SetupAnswer`, which holds the token. On loopback only. */
  setup: '/dev/api/setup',
  /** POST of a `JoinRequest`; answers `JoinAnswer` to a program that knows the token. */
  join: '/dev/api/join',
  /** POST of `{}`; ingests one event, as an application would. */
  testEvent: '/dev/api/test-event',
  /** POST of `{}`; forgets all events. */
  clear: '/dev/api/clear',
} as const

/** Every answer that is no 200 has this body. */
export interface ErrorAnswer {
  /** A short word, such as `foreign-host`, `no-such-event`, `bad-request`. */
  code: string
  /** What happened and what to do next, as one sentence. */
  message: string
  /** Name of the field of a limit that has an invalid value, with the code `bad-limit`. */
  field?: string
}

/** An event: the epoch of the service, and the number of its arrival, as `k3x9.812`. */
export type EventId = string
export const epochPattern = /^[\w-]{1,80}$/
export const eventIdPattern = /^[\w-]{1,80}\.\d{1,15}$/

/** Ranks of severity, lowest first. A level that is none of these has no rank. */
export const levels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const
export type Level = (typeof levels)[number]

export type Sort = 'time' | 'arrival'

/** A badge of a row. */
export type Badge = 'late' | 'clock' | 'no-time' | 'cut' | 'duplicate' | 'new' | 'forgotten'

/** What one row of the list shows. Its texts are cut at 300 characters. */
export interface Row {
  id: EventId
  /** Number of the arrival, which grows by one with each event of this service. */
  n: number
  /** The time that orders the row. */
  at: number
  /** `_time` as it was sent, or `null` without one. */
  time: string | null
  receivedAt: number
  dataset: string
  source: string | null
  /** The level as a rank; `null` if it has none. */
  level: Level | null
  /** The level as it was logged, if it differs from `level`. */
  levelText?: string | undefined
  message: string
  traceId: string | null
  spanId: string | null
  /** Values of the chosen columns, in the order of the columns: JSON texts, `null` where the event lacks the field. */
  cells: (string | null)[]
  badges: Badge[]
  /** Milliseconds behind the newest event at arrival, with badge `late`; difference to our clock, with badge `clock`. */
  skewMs?: number | undefined
  /** More than 1 if the row stands for neighbors with equal dataset, level and statement. */
  repeats: number
  /** Time of the oldest of the repeats. */
  since?: number | undefined
}

/** What a list shows. */
export interface ViewQuery {
  /** The text of the query box; '' matches everything. */
  q: string
  sort: Sort
  /** Events up to this arrival number are hidden ("clear"); 0 for none. */
  since: number
  /** Only events of this time, from the chart's brush; `null` for no bound. */
  from: number | null
  to: number | null
  /** Whether neighbors that repeat are one row. */
  group: boolean
  /** Paths of the chosen columns, at most 12. */
  columns: string[]
  /** `is:new` and the groups' "new" mean: arrived after this number; 0 for none. */
  mark: number
}

/** Query string of `live`: a `ViewQuery` (`columns` joined by `joinedWithCommas`), and where the page left off. */
export interface LiveRequest extends Partial<ViewQuery> {
  /** The id of the last SSE message, if the page opens the stream anew. The header `Last-Event-ID` has precedence. */
  after?: string | undefined
}

/** Body of the POST to `view`. Absent fields stay as they are. */
export interface ViewChange extends Partial<ViewQuery> {
  view: string
  /** `true` pins the list at the newest arrival, a number pins it there, `false` follows again. */
  pinned?: boolean | number | undefined
}

export interface ReadingNote {
  text: string
  column?: number | undefined
  /** The name of a field that is like the one in the query. */
  didYouMean?: string | undefined
  /** The query with that name in place of its own. */
  correction?: string | undefined
}

/** How the text of the query was understood. */
export interface QueryReading {
  /** The text as it was read, if it was rewritten; otherwise absent. */
  readAs?: string | undefined
  /**
   * The clauses that are joined by AND, as chips. `text` is the part of `q` from `start` to `end`, and `read` the same
   * clause as it was understood, with whole paths and the operators of `readAs`.
   */
  clauses: { text: string; read: string; start: number; end: number; label: string }[]
  /** Notes for the reader: "Searched as text: unexpected `)` at column 14", "No event has a field `staus`. …". */
  notes: ReadingNote[]
  /** Texts to highlight in messages, without regard to case. */
  highlight: string[]
  /** The levels that the clauses about levels let through: all six if no clause is about them. */
  levels: Level[]
}

export interface ViewState extends ViewQuery {
  view: string
  /** Grows by one with each `ViewChange`. A frame or tick of a lower revision belongs to an earlier query: discard it. */
  revision: number
  reading: QueryReading
  /** Arrival number at which the list is pinned, or `null` while it follows. */
  pinnedAt: number | null
  /** Rows of the list so far, and whether all kept events have been looked at. */
  matched: number
  /** Events of the list so far: as many as rows, unless neighbors that repeat are one row. */
  matchedEvents: number
  complete: boolean
  /** The newest rows, at most 200, and the arrival number as of which they are the newest. */
  rows: Row[]
  newest: number
}

/** Query string of `rows`. Ranks count from the newest match, 0. */
export interface RowsRequest {
  view: string
  /** Arrival number as of which the list is read. */
  until: number
  from: number
  /** At most 200. */
  n: number
}

export interface RowsAnswer {
  from: number
  rows: Row[]
  matched: number
  matchedEvents: number
  complete: boolean
  /** Share of the kept events that has been looked at, 0 to 1. */
  read: number
}

/** Query string of `events`. */
export interface EventsRequest {
  q?: string | undefined
  dataset?: string | undefined
  /** Events after, or before, this arrival number only. */
  after?: number | undefined
  before?: number | undefined
  /** Time of the events: milliseconds since the epoch. */
  from?: number | undefined
  to?: number | undefined
  /** `asc` by default with `after`, otherwise `desc`. By arrival number. */
  order?: 'asc' | 'desc' | undefined
  /** 1 to 1,000; 200 by default. */
  limit?: number | undefined
  /**
   * Milliseconds to wait for a first event if there is none: 0 to 30,000; 0 by default. Ignored if `after` is higher than
   * the newest arrival number: the number is of an earlier run.
   */
  waitMs?: number | undefined
}

export interface EventsAnswer {
  epoch: string
  events: KeptEvent[]
  /** Cursor for the next call, as `after` (ascending) or `before` (descending). `null` when a descending read is at its end. */
  next: number | null
  /** Newest arrival number of the service. */
  newest: number
  /** Arrival number of the newest event that was loaded from a file; 0 without one. */
  loaded: number
  /**
   * Events that were forgotten before they could be read, among the arrival numbers between `after` and `next`. Over all
   * calls of an ascending read, events that were looked at and these add up to the arrival numbers.
   */
  forgotten: number
  reading: QueryReading
}

/** An event with what is known of its arrival. `line` is its JSON as it was sent. */
export interface KeptEvent {
  id: EventId
  n: number
  at: number
  receivedAt: number
  dataset: string
  source: string | null
  level: Level | null
  message: string
  traceId: string | null
  line: string
}

export interface EventDetail extends KeptEvent {
  time: string | null
  spanId: string | null
  badges: Badge[]
  skewMs?: number | undefined
  /** Number of its request; `null` once the request is forgotten, and for loaded events. */
  request: number | null
  bytes: number
  /** The statement of its usage, as `shipper.usage()` has it. */
  statement: string
}

export interface TraceAnswer {
  traceId: string
  /** Oldest first. */
  events: (KeptEvent & { spanId: string | null; offsetMs: number; gapMs: number })[]
  /** All events of the trace, also those over the limit. */
  count: number
  sources: string[]
  errors: number
  durationMs: number
}

export interface Group {
  statement: string
  dataset: string
  level: Level | null
  count: number
  bytes: number
  /** Times of the first and the last event. */
  first: number
  last: number
  firstId: EventId
  lastId: EventId
  /** First seen after the mark, or within the last 5 minutes if there is no mark. */
  isNew: boolean
  errorType: string | null
  topFrame: string | null
  message: string
  /** Events in each of 30 equal parts of the time that the answer covers. */
  spark: number[]
}

export interface GroupsAnswer {
  groups: Group[]
  /** Groups in all, and whether all kept events have been looked at. */
  total: number
  complete: boolean
  from: number
  to: number
  reading: QueryReading
}

export interface FacetAnswer {
  field: string
  /** Most frequent first. `value` is a JSON text. */
  values: { value: string; label: string; count: number }[]
  /** Distinct values in all; `approximate` if they were too many to count. */
  distinct: number
  approximate: boolean
}

export interface SuggestAnswer {
  /** Part of the text that a suggestion replaces. */
  start: number
  end: number
  suggestions: { text: string; kind: 'field' | 'operator' | 'value'; label: string; count?: number | undefined }[]
}

/** A click that changes the query: `only` replaces the clauses of the field, `exclude` and `or` add one. */
export interface EditRequest {
  q: string
  change:
    | { kind: 'only' | 'exclude' | 'or'; path: string; value: string }
    | { kind: 'exists'; path: string }
    | { kind: 'levels'; levels: Level[] }
    | { kind: 'text'; text: string }
    /** Adds another query, whose clauses must be true as well. */
    | { kind: 'and'; q: string }
    | { kind: 'remove'; start: number; end: number }
}

export interface EditAnswer {
  q: string
}

export interface RequestRow {
  n: number
  at: number
  kind: 'ingest' | 'otlp' | 'organization' | 'other'
  method: string
  path: string
  /** `null`: it ended without an answer. */
  status: number | null
  dataset: string | null
  source: string | null
  events: number
  wireBytes: number
  bodyBytes: number
  encoding: string
  tookMs: number | null
  /** Why it was refused, or how it failed; '' if it went well. */
  reason: string
  /** The request that this one repeats, with the wait between the two. */
  retryOf?: { n: number; waitedMs: number } | undefined
  /** Whether the same events are stored twice now. */
  duplicate: boolean
  /** Whether a fault made this answer. */
  fault: boolean
}

export interface RequestsAnswer {
  requests: RequestRow[]
  /** Datasets of the newest requests, whatever the answer was asked for; at most 100. */
  datasets: string[]
  total: number
  refused: number
  bodyBytes: number
  wireBytes: number
  next: number | null
}

export interface RequestDetail extends RequestRow {
  headers: [name: string, value: string][]
  /** The first bytes of a refused body, at most 4,096. */
  bodyStart: string | null
}

export interface FieldRow {
  path: string
  /** Share of each type among the values: `string`, `number`, `boolean`, `null`, `object`, `array`. */
  types: [type: string, share: number][]
  /** Share of the events that have the field. */
  share: number
  distinct: number
  approximate: boolean
  example: string
  top: { value: string; share: number }[]
  /** `id-in-name`, `two-types`, and what to do about it. */
  warnings: { code: string; text: string }[]
}

export interface FieldsAnswer {
  dataset: string
  datasets: string[]
  events: number
  fields: FieldRow[]
  total: number
  /** Maximum of the license, or `null`. It holds for one dataset, so it is `null` for the fields of several ones. */
  maxFields: number | null
}

export interface CostAnswer {
  /** Over the last minute. */
  bytesPerSecond: number
  monthlyBytes: number
  /** Allowance of the license for a month, in bytes, or `null`. */
  monthlyLimit: number | null
  from: number
  to: number
  bytes: number
  events: number
  statements: {
    statement: string
    dataset: string
    level: Level | null
    bytes: number
    events: number
    share: number
    heaviest: { path: string; share: number }[]
    /** Query that finds the events. */
    q: string
  }[]
}

/** The kinds of faults, by their names in `--fault`. */
export const faultKinds = [
  'status',
  'latency',
  'reset',
  'slow-body',
  'max-bytes',
  'refuse-encoding',
  'reject',
  'revoke-token',
] as const
export type FaultKind = (typeof faultKinds)[number]

/** One fault, in the words of `--fault`. */
export interface FaultSettings {
  kind: FaultKind
  /** `status`: 300 to 599. */
  status?: number | undefined
  retryAfterS?: number | undefined
  /** `latency`, in milliseconds. */
  latencyMs?: number | undefined
  /** `reset`. */
  moment?: 'before-storing' | 'after-storing' | undefined
  bytesPerSecond?: number | undefined
  maxBytes?: number | undefined
  encoding?: string | undefined
  /** `reject`: events that match are rejected in a 200. */
  query?: string | undefined
  /** 1 to 600. */
  forS: number
}

export interface FaultsAnswer {
  running: {
    id: string
    fault: FaultSettings
    /** The fault as the argument of `--fault`. */
    argument: string
    startedAt: number
    endsAt: number
    report: FaultReport
  }[]
  /** Newest first, at most 20. */
  ended: {
    id: string
    fault: FaultSettings
    argument: string
    startedAt: number
    endedAt: number
    report: FaultReport
  }[]
  limits: LimitState[]
}

/** A limit of the license, and the fields of the license and of the organization that hold its values. */
export interface LimitState {
  name: string
  enforced: boolean
  /** Whether it was enforced, and what its values were, when the service started. */
  enforcedAtStart: boolean
  /** The name of a number has its unit. Times are in RFC 3339. */
  fields: { name: string; value: number | string; atStart: number | string }[]
}

export interface FaultReport {
  attempts: number
  refused: number
  /** Waits between the attempts of one sender, in milliseconds, the last 20. */
  waitsMs: number[]
  arrived: number
  duplicates: number
  /** Events that are missing by `log.record.uid`; `null` unless the events have one (option `identify`). */
  lost: number | null
}

export type FaultChange =
  | { start: FaultSettings }
  | { stop: string }
  | {
      limits: {
        name: string
        enforced: boolean
        /** Values to change; the others stay. */
        fields?: { name: string; value: number | string }[] | undefined
      }[]
    }

export interface Summary {
  epoch: string
  newest: number
  kept: number
  forgotten: number
  errors: number
}

export interface ServiceStatus extends Summary {
  version: string
  url: string
  perSecond: number
  datasets: { name: string; events: number; bytes: number }[]
  sources: { name: string; events: number }[]
  refused: { reason: string; count: number }[]
  faults: string[]
  requests: number
  maxEvents: number
  maxBytes: number
  startedAt: number
}

/** What a program needs to ship here. `steps` are shown as they are. */
export interface SetupAnswer {
  url: string
  token: string
  dataset: string
  otlpEndpoint: string
  /** Id of the organization, for programs that read its license. */
  orgId: string
}

/** Asks a running service whether it is a dev service with the same token. */
export interface JoinRequest {
  /** A random text of the program that asks. */
  nonce: string
  /** The program knows the token: see `token-proof.ts`. */
  proof: string
}

export interface JoinAnswer {
  /** The service knows the token. */
  proof: string
  orgId: string
}

/** The messages of the SSE stream, by the name of the event. */
export interface LiveMessages {
  hello: {
    protocol: number
    epoch: string
    view: ViewState
    now: number
    oldest: number
    newest: number
    kept: number
    forgotten: number
    maxEvents: number
    version: string
    url: string
  }
  /**
   * While the list follows. `rows` are the newest of the list, at most 200; they replace the rows on the page. `skipped`
   * counts the matches since the last frame that are in no row of this one, `late` those that came late.
   */
  rows: {
    revision: number
    rows: Row[]
    newest: number
    matched: number
    matchedEvents: number
    skipped: number
    late: number
  }
  /** Each second. */
  tick: {
    revision: number
    now: number
    newest: number
    matched: number
    matchedEvents: number
    complete: boolean
    read: number
    /** Since the pin: matches, and errors among them. 0 while the list follows. */
    fresh: number
    freshErrors: number
    perSecond: number
    matchedPerSecond: number
    notDrawnPerSecond: number
    kept: number
    forgotten: number
    /** Events by level among the matches of the query without its level clauses. */
    levels: Record<Level | 'none', number>
    datasets: { value: string; count: number }[]
    sources: { value: string; count: number }[]
    /** The matches without the bounds `from` and `to`, so that another time can be chosen. */
    chart: Chart
    requests: number
    refusedRequests: number
    /** Late events since the last tick, with the times that they cover. */
    late: { count: number; from: number; to: number } | null
    /** How the query is understood now, if that has changed: a field is known since then, or no event matches. */
    reading?: QueryReading | undefined
  }
  gap: {
    reason: 'reconnected' | 'slow' | 'forgotten' | 'restarted'
    count: number
    forgotten: number
    from: number
    to: number
  }
  refused: { n: number; dataset: string | null; reason: string; count: number; sample: string | null }
  faults: FaultsAnswer
  cleared: { until: number }
  bye: { reason: string }
}

export interface Chart {
  /** Start of the first bucket, and width of each. */
  from: number
  stepMs: number
  /** Events of each bucket by level, in the order of `levels`, then those without one. */
  counts: number[][]
}
