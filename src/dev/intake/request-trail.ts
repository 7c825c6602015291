import { hash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Ingest } from '../../emulator/ingest.ts'
import type { ReceivedRequest } from '../../emulator/request-log.ts'
import { targetOf } from '../../emulator/route.ts'
import type { RequestDetail, RequestRow, RequestsAnswer } from '../protocol.ts'
import { readHeaders } from './safe-headers.ts'
import { startOf } from './start-of.ts'

/** Maximum number of requests that are kept, with their headers and the start of their bodies. */
const maxRequests = 2000
const maxPathChars = 1000
const maxBodyStart = 4096
/** Maximum number of datasets that an answer names. */
const maxDatasets = 100
/** Maximum number of reasons that are counted apart. A reason may have a text from outside in it. */
const maxReasons = 100
const otherReasons = 'other reasons'

interface Trace {
  readonly row: RequestRow
  readonly headers: [name: string, value: string][]
  bodyStart: string | null
  /**
   * Hashes by which a later request is known as a retry of this one: of the body, and of the first and the last event.
   * The events count only if this request was refused: other requests may begin with an equal event.
   */
  marks: string[]
}

export interface RequestFilter {
  readonly before?: number | undefined
  readonly limit?: number | undefined
  /** `503`, a class such as `5xx`, or `refused`. */
  readonly status?: string | undefined
  readonly dataset?: string | undefined
  readonly retries?: boolean | undefined
}

/**
 * The requests that arrived, newest last. A request with the body of an earlier one is its retry, and stores its events
 * a second time if the first one was stored. A part of a split request has the first or the last event of the whole.
 */
export class RequestTrail {
  readonly #traces = new Map<number, Trace>()
  readonly #entries = new WeakMap<ReceivedRequest, Trace>()
  /** The last request with a hash. */
  readonly #byMark = new Map<string, Trace>()
  /** Hashes of the bodies whose events are stored, with the number of the request that has stored them. */
  readonly #stored = new Map<string, number>()
  readonly #reasons = new Map<string, number>()
  #total = 0
  #refused = 0
  #bodyBytes = 0
  #wireBytes = 0

  get total(): number {
    return this.#total
  }

  get refused(): number {
    return this.#refused
  }

  opened(entry: ReceivedRequest, request: IncomingMessage): void {
    this.#total += 1
    const row: RequestRow = {
      n: this.#total,
      at: entry.atMs,
      kind: kindOf(targetOf(entry.path)),
      method: entry.method,
      path: entry.path.length > maxPathChars ? `${startOf(entry.path, maxPathChars)}…` : entry.path,
      status: null,
      dataset: null,
      source: null,
      events: 0,
      wireBytes: 0,
      bodyBytes: 0,
      encoding: 'none',
      tookMs: null,
      reason: '',
      duplicate: false,
      fault: false,
    }
    const trace: Trace = { row, headers: readHeaders(request), bodyStart: null, marks: [] }
    this.#traces.set(row.n, trace)
    this.#entries.set(entry, trace)
    for (const oldest of this.#traces.values()) {
      if (this.#traces.size <= maxRequests) break
      this.#forget(oldest)
    }
  }

  /** Returns the number of a request, or 0 if it is forgotten. */
  numberOf(entry: ReceivedRequest): number {
    return this.#kept(entry)?.row.n ?? 0
  }

  /** Recognizes a retry by the body of a request, which was read and may yet be refused. */
  read({ entry, readAhead, found, body, dataset }: Ingest): void {
    const trace = this.#kept(entry)
    if (trace === undefined || !Buffer.isBuffer(readAhead)) return
    const events = found !== undefined && 'count' in found ? found : undefined
    trace.bodyStart = body.toString('utf8', 0, maxBodyStart)
    if (events?.count === 0) return // nothing is sent or stored again: requests of `logferry check` are all alike
    trace.marks = [markOf(dataset, body)]
    if (events !== undefined && events.count > 1) {
      trace.marks.push(markOf(dataset, events.line(0)), markOf(dataset, events.line(events.count - 1)))
    } else if (events?.count === 1) trace.marks.push(markOf(dataset, events.line(0)))
    const earlier = trace.marks
      .map(mark => this.#byMark.get(mark))
      .find((known, at) => known !== undefined && (at === 0 || known.row.reason !== ''))
    if (earlier !== undefined) {
      const { n, at, tookMs } = earlier.row
      trace.row.retryOf = { n, waitedMs: Math.max(0, trace.row.at - at - (tookMs ?? 0)) }
    }
    for (const mark of trace.marks) this.#byMark.set(mark, trace)
  }

  /**
   * Notes that the events of a request are about to be stored.
   *
   * @returns the number of the request, and whether the same body was stored before
   */
  storing(entry: ReceivedRequest): { n: number; isDuplicate: boolean } {
    const trace = this.#kept(entry)
    const [mark] = trace?.marks ?? []
    if (trace === undefined || mark === undefined) return { n: trace?.row.n ?? 0, isDuplicate: false }
    const isDuplicate = this.#stored.has(mark)
    if (!isDuplicate) this.#stored.set(mark, trace.row.n)
    return { n: trace.row.n, isDuplicate }
  }

  stored(entry: ReceivedRequest, { source, isDuplicate }: { source: string | null; isDuplicate: boolean }): void {
    const row = this.#entries.get(entry)?.row
    if (row === undefined) return
    row.source = source
    row.duplicate = isDuplicate
  }

  /** Completes a request, and returns its row. `isByFault` tells of faults that the emulator does not know. */
  ended(entry: ReceivedRequest, isByFault: boolean): RequestRow | undefined {
    const trace = this.#entries.get(entry)
    if (trace === undefined) return undefined
    const { row } = trace
    row.status = entry.status ?? null
    row.dataset = entry.dataset ?? null
    row.events = entry.eventCount
    row.wireBytes = entry.wireBytes
    row.bodyBytes = entry.decodedBytes
    row.encoding = startOf(entry.contentEncoding ?? 'none', 40)
    row.tookMs = entry.durationMs ?? null
    row.reason = entry.reason
    row.fault = entry.isByFault || isByFault
    this.#wireBytes += row.wireBytes
    this.#bodyBytes += row.bodyBytes
    if (row.reason === '') trace.bodyStart = null
    else this.#countReason(row)
    return row
  }

  /** Returns how often a request was refused, by reason, the most frequent reason first. */
  reasons(): { reason: string; count: number }[] {
    return [...this.#reasons].map(([reason, count]) => ({ reason, count })).sort((a, b) => b.count - a.count)
  }

  list({ before = Number.POSITIVE_INFINITY, limit = 200, status, dataset, retries }: RequestFilter): RequestsAnswer {
    const requests: RequestRow[] = []
    const datasets = new Set<string>()
    let next: number | null = null
    const newestFirst = [...this.#traces.values()].reverse()
    for (const { row } of newestFirst) {
      if (datasets.size === maxDatasets) break
      if (row.dataset !== null) datasets.add(row.dataset)
    }
    for (const { row } of newestFirst) {
      if (row.n >= before || !hasStatus(row, status)) continue
      if ((dataset !== undefined && row.dataset !== dataset) || (retries && row.retryOf === undefined)) continue
      if (requests.length === limit) {
        next = requests.at(-1)?.n ?? null
        break
      }
      requests.push(row)
    }
    const { total, refused } = this
    const bytes = { bodyBytes: this.#bodyBytes, wireBytes: this.#wireBytes }
    return { requests, datasets: [...datasets].sort(), total, refused, ...bytes, next }
  }

  detail(n: number): RequestDetail | undefined {
    const trace = this.#traces.get(n)
    return trace && { ...trace.row, headers: trace.headers, bodyStart: trace.bodyStart }
  }

  /** Returns the trace of a request unless it is forgotten, as a slow one may be before its body is there. */
  #kept(entry: ReceivedRequest): Trace | undefined {
    const trace = this.#entries.get(entry)
    return trace !== undefined && this.#traces.has(trace.row.n) ? trace : undefined
  }

  #countReason({ reason }: RequestRow): void {
    this.#refused += 1
    const known = this.#reasons.has(reason) || this.#reasons.size < maxReasons ? reason : otherReasons
    this.#reasons.set(known, (this.#reasons.get(known) ?? 0) + 1)
  }

  #forget(trace: Trace): void {
    this.#traces.delete(trace.row.n)
    for (const mark of trace.marks) {
      if (this.#byMark.get(mark) === trace) this.#byMark.delete(mark)
      if (this.#stored.get(mark) === trace.row.n) this.#stored.delete(mark)
    }
  }
}

function kindOf(path: string): RequestRow['kind'] {
  if (/^\/v1\/datasets\//.test(path)) return 'ingest'
  if (/^\/v1\/(logs|traces|metrics)(\?|$)/.test(path)) return 'otlp'
  return /^\/v2\/orgs\//.test(path) ? 'organization' : 'other'
}

function markOf(dataset: string, content: Buffer | string): string {
  return `${hash('sha1', dataset, 'base64')}${hash('sha1', content, 'base64')}`
}

function hasStatus({ status, reason }: RequestRow, wanted: string | undefined): boolean {
  if (wanted === undefined || wanted === '') return true
  if (wanted === 'refused') return reason !== ''
  if (/^[1-5]xx$/.test(wanted)) return status !== null && Math.floor(status / 100) === Number(wanted[0])
  return String(status ?? 'none') === wanted
}
