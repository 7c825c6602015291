import type { IncomingMessage } from 'node:http'
import { systemTimeMs } from '../time.ts'

/** A request that the emulator received, and its result. */
export interface ReceivedRequest {
  /** The time when its headers had arrived, in milliseconds since the epoch. */
  readonly atMs: number
  readonly method: string
  /** Path and query as received, still percent-encoded. */
  readonly path: string
  /** Headers by their names in lower case. The value of a header with credentials is `(redacted)`. */
  readonly headers: Readonly<Record<string, string>>
  /** The decoded dataset name, or `undefined` if the request was not an ingest request. */
  readonly dataset: string | undefined
  /** Id of the organization that the request acts for, or `undefined` if its token was not accepted. */
  readonly orgId: string | undefined
  readonly contentType: string | undefined
  readonly contentEncoding: string | undefined
  /**
   * Status of the answer. It is `undefined` until there is an answer, and stays so if the connection ends without one.
   */
  readonly status: number | undefined
  /** Bytes of the body that were read, before decoding. */
  readonly wireBytes: number
  /** Bytes of the body after decoding; 0 if nothing was decoded. */
  readonly decodedBytes: number
  /** Events found in the body, stored or not; 0 if the request was refused before its events were found. */
  readonly eventCount: number
  /** Time from the headers of the request to its answer, in milliseconds; `undefined` until the request ends. */
  readonly durationMs: number | undefined
  /** Why the request, or the first of its refused events, was refused; '' if nothing was. */
  readonly reason: string
  /** True if a scripted fault made the answer, or refused some of the events. */
  readonly isByFault: boolean
}

/** A `ReceivedRequest` that the stages can still change. */
export type RequestEntry = { -readonly [K in keyof ReceivedRequest]: ReceivedRequest[K] }

const maxEntries = 10_000
/** Maximum length of the paths and the headers of all entries together, in characters. */
const maxEntryChars = 33_554_432
const credentialHeaders = new Set(['authorization', 'proxy-authorization', 'cookie'])

/** Totals since the start or the last `clear()`. */
export interface RequestTotals {
  requests: number
  /**
   * Mean rate from the first request to the last, including refused ones; 0 if both arrived in the same millisecond.
   */
  requestsPerSecond: number
  /** Number of answers by status. */
  answers: Record<number, number>
  /** Bytes of request bodies that were read, before decoding. */
  wireBytes: number
  /** Bytes of request bodies after decoding. */
  decodedBytes: number
}

/** The last 10,000 requests, or fewer if their paths and headers are long, and totals over all requests. */
export class RequestLog {
  #entries: RequestEntry[] = []
  #chars = 0
  #requests = 0
  #firstAtMs = 0
  #lastAtMs = 0
  #answers: Record<number, number> = {}
  #wireBytes = 0
  #decodedBytes = 0

  open(request: IncomingMessage): RequestEntry {
    const entry: RequestEntry = {
      atMs: systemTimeMs(),
      method: request.method ?? '',
      path: request.url ?? '',
      headers: redacted(request.headers),
      dataset: undefined,
      orgId: undefined,
      contentType: request.headers['content-type'],
      contentEncoding: request.headers['content-encoding'],
      status: undefined,
      wireBytes: 0,
      decodedBytes: 0,
      eventCount: 0,
      durationMs: undefined,
      reason: '',
      isByFault: false,
    }
    if (this.#requests === 0) this.#firstAtMs = entry.atMs
    this.#lastAtMs = entry.atMs
    this.#requests += 1
    this.#entries.push(entry)
    this.#chars += charsOf(entry)
    while (this.#entries.length > maxEntries || this.#chars > maxEntryChars) {
      this.#chars -= charsOf(this.#entries.shift() as RequestEntry)
    }
    return entry
  }

  /** Must be called when a request ends. The `status` is `undefined` if the request gets no answer. */
  ended(entry: RequestEntry, status: number | undefined): void {
    entry.status = status
    entry.durationMs = Math.max(0, systemTimeMs() - entry.atMs)
    this.#wireBytes += entry.wireBytes
    this.#decodedBytes += entry.decodedBytes
    if (status !== undefined) this.#answers[status] = (this.#answers[status] ?? 0) + 1
  }

  list(): ReceivedRequest[] {
    return this.#entries.map(entry => ({ ...entry, headers: { ...entry.headers } }))
  }

  totals(): RequestTotals {
    const elapsedMs = this.#lastAtMs - this.#firstAtMs
    return {
      requests: this.#requests,
      requestsPerSecond: elapsedMs > 0 ? (1000 * (this.#requests - 1)) / elapsedMs : 0,
      answers: { ...this.#answers },
      wireBytes: this.#wireBytes,
      decodedBytes: this.#decodedBytes,
    }
  }

  clear(): void {
    this.#entries = []
    this.#chars = 0
    this.#requests = 0
    this.#firstAtMs = 0
    this.#lastAtMs = 0
    this.#answers = {}
    this.#wireBytes = 0
    this.#decodedBytes = 0
  }
}

function charsOf({ path, headers }: RequestEntry): number {
  return Object.entries(headers).reduce((chars, [name, value]) => chars + name.length + value.length, path.length)
}

function redacted(headers: IncomingMessage['headers']): Record<string, string> {
  const entries = Object.entries(headers).map(([name, value]) => [
    name,
    credentialHeaders.has(name) ? '(redacted)' : String(value),
  ])
  return Object.fromEntries(entries)
}
