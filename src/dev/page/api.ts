/** Requests to the service. Each answer has a type of the protocol; a failure is an `ApiError` with a sentence to show. */
import {
  type CostAnswer,
  type EditAnswer,
  type EditRequest,
  type ErrorAnswer,
  type EventDetail,
  type FacetAnswer,
  type FaultChange,
  type FaultsAnswer,
  type FieldsAnswer,
  type GroupsAnswer,
  paths,
  type RequestDetail,
  type RequestsAnswer,
  type RowsAnswer,
  type RowsRequest,
  type ServiceStatus,
  type SetupAnswer,
  type SuggestAnswer,
  type Summary,
  type TraceAnswer,
  type ViewChange,
  type ViewState,
  writeHeader,
} from '../protocol.ts'

export class ApiError extends Error {
  readonly code: string
  readonly field: string | undefined

  constructor({ code, message, field }: ErrorAnswer) {
    super(message.charAt(0).toUpperCase() + message.slice(1))
    this.name = 'ApiError'
    this.code = code
    this.field = field
  }
}

type Query = Readonly<Record<string, string | number | boolean | null | undefined>>
type Signal = AbortSignal | undefined

export function queryString(query: Query): string {
  const params = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (value !== null && value !== undefined && value !== '') params.set(name, String(value))
  }
  const text = params.toString()
  return text === '' ? '' : `?${text}`
}

async function get<Answer>(path: string, query: Query, signal: Signal): Promise<Answer> {
  return answerOf(await reached(fetch(path + queryString(query), { signal: signal ?? null })))
}

async function post<Answer>(path: string, body: object, signal?: Signal): Promise<Answer> {
  const headers = { 'content-type': 'application/json', [writeHeader]: '1' }
  return answerOf(
    await reached(fetch(path, { method: 'POST', headers, body: JSON.stringify(body), signal: signal ?? null })),
  )
}

async function reached(response: Promise<Response>): Promise<Response> {
  try {
    return await response
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error
    throw new ApiError({ code: 'unreachable', message: 'The service does not answer. Is logferry dev still running?' })
  }
}

async function answerOf<Answer>(response: Response): Promise<Answer> {
  if (response.ok) return response.json()
  let answer: ErrorAnswer = { code: 'failed', message: `The service answered ${response.status}.` }
  try {
    const body: Partial<ErrorAnswer> = await response.json()
    const { code, message, field } = body
    if (typeof message === 'string') {
      answer = { code: String(code), message, ...(typeof field === 'string' && { field }) }
    }
  } catch {
    // The status says enough.
  }
  throw new ApiError(answer)
}

export const api = {
  /** Asks for a stream to learn why it is refused, and closes it if it is not. */
  async checkLive(query: URLSearchParams, signal: AbortSignal): Promise<void> {
    const response = await reached(fetch(`${paths.live}?${query}`, { signal }))
    if (response.ok) await response.body?.cancel()
    else await answerOf(response)
  },
  changeView: (change: ViewChange) => post<ViewState>(paths.view, change),
  rows: (request: RowsRequest, signal: Signal) => get<RowsAnswer>(paths.rows, { ...request }, signal),
  event: (query: { id: string; t?: string | undefined }, signal?: Signal) =>
    get<EventDetail>(paths.event, query, signal),
  trace: (query: { id: string; limit: number }, signal: Signal) => get<TraceAnswer>(paths.trace, query, signal),
  groups: (query: Query, signal: Signal) => get<GroupsAnswer>(paths.groups, query, signal),
  facet: (query: Query, signal: Signal) => get<FacetAnswer>(paths.facet, query, signal),
  suggest: (query: { q: string; at: number }, signal: Signal) =>
    // An empty text has suggestions too.
    get<SuggestAnswer>(`${paths.suggest}?q=${encodeURIComponent(query.q.toWellFormed())}&at=${query.at}`, {}, signal),
  edit: (request: EditRequest) => post<EditAnswer>(paths.edit, request),
  requests: (query: Query, signal: Signal) => get<RequestsAnswer>(paths.requests, query, signal),
  request: (n: number, signal: Signal) => get<RequestDetail>(paths.request, { n }, signal),
  fields: (query: Query, signal: Signal) => get<FieldsAnswer>(paths.fields, query, signal),
  cost: (query: Query, signal: Signal) => get<CostAnswer>(paths.cost, query, signal),
  faults: (signal: Signal) => get<FaultsAnswer>(paths.faults, {}, signal),
  changeFaults: (change: FaultChange) => post<FaultsAnswer>(paths.faults, change),
  summary: (signal?: Signal) => get<Summary>(paths.summary, {}, signal),
  status: (signal: Signal) => get<ServiceStatus>(paths.status, {}, signal),
  setup: () => post<SetupAnswer>(paths.setup, {}),
  sendTestEvent: () => post<unknown>(paths.testEvent, {}),
  clear: () => post<unknown>(paths.clear, {}),
}

/** The sentence of a failure. */
export function messageOf(error: unknown): string {
  return error instanceof ApiError ? error.message : 'This page failed. Reload it; the events are kept by the service.'
}

export function wasAborted(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'AbortError'
}
