import type { IncomingMessage } from 'node:http'
import { type Answer, type Ending, json, refusal } from '../../emulator/answer.ts'
import { drainBody, overloaded } from '../../emulator/body.ts'
import { BodyEvents } from '../../emulator/body-events.ts'
import type { Exchange } from '../../emulator/exchange.ts'
import type { BodyProblem } from '../../emulator/find-events.ts'
import type { Ingest, IngestProtocol } from '../../emulator/ingest.ts'
import { mediaTypeOf } from '../../emulator/media-type.ts'
import { targetOf } from '../../emulator/route.ts'
import { Slices } from '../../emulator/slices.ts'
import type { OtlpEvent } from './otlp-logs.ts'
import type { OtlpFormat } from './otlp-request.ts'

/** Dataset of events that came by OTLP, which has no datasets. */
const otlpDataset = 'otlp'

/** Loads the decoder when it is needed: its schemas take a fifth of the start of the service. */
const loadDecoder = () => import('./otlp-logs.ts')

const protobufType = 'application/x-protobuf'
const newline = Buffer.from('\n')

/**
 * Maximum size of the events of one request together, in bytes. Each event repeats its resource and scope, which the
 * request has only once: without a bound, a request of 2 MB could become 200 GB of events.
 */
const maxEventsBytes = 67_108_864

export interface OtlpDeps {
  /** Checks the credentials of a request. @returns the refusal, or the id of the organization */
  readonly admit: (exchange: Exchange) => Answer | { readonly orgId: string }
  readonly maxRequestEvents: number
  /** Called for the first request with spans, and for the first one with metrics. */
  readonly onDiscarded: (signal: string) => void
}

/** OTLP over HTTP: logs become events, and spans and metrics are discarded. */
export class Otlp {
  readonly #deps: OtlpDeps
  readonly #protocol: IngestProtocol
  /** The signals of which a request was discarded: `traces`, `metrics`. */
  readonly #discarded = new Set<string>()

  constructor(deps: OtlpDeps) {
    this.#deps = deps
    this.#protocol = {
      mediaTypes: [protobufType, 'application/json'],
      admit: ingest => this.#admit(ingest),
      findEvents: ingest => bodyEventsOf(ingest, deps.maxRequestEvents),
      answer: ingest => logsAnswer(ingest),
    }
  }

  ingestOf({ entry }: Exchange): { dataset: string; protocol: IngestProtocol } | undefined {
    if (signalOf(entry.method, entry.path) !== 'logs') return undefined
    return { dataset: otlpDataset, protocol: this.#protocol }
  }

  /**
   * Answers spans and metrics with a 200 and discards them: the variable for the endpoint makes an SDK send all three.
   * Their own variables are set by few programs.
   */
  async discard(exchange: Exchange): Promise<Ending | undefined> {
    const { entry, request } = exchange
    const signal = signalOf(entry.method, entry.path)
    if (signal !== 'traces' && signal !== 'metrics') return undefined
    const refused = this.#admit(exchange)
    if (refused !== undefined) return refused
    await drainBody(request, entry)
    if (!this.#discarded.has(signal)) this.#deps.onDiscarded(signal)
    this.#discarded.add(signal)
    return emptyAnswer(request)
  }

  /**
   * Returns the answer to a refused request as a client of OTLP reads it: a `Status` in the format of the request.
   *
   * @see https://opentelemetry.io/docs/specs/otlp/#failures
   */
  async finish({ entry, request }: Exchange, ending: Ending): Promise<Ending> {
    const { kind } = ending
    if (kind === 'reset' || ending.status < 400 || signalOf(entry.method, entry.path) === undefined) return ending
    const { otlpStatus } = await loadDecoder()
    const format = formatOf(request)
    const headers = { ...ending.headers, 'content-type': typeOf(format) }
    return { ...ending, headers, body: otlpStatus(format, ending.reason ?? '') }
  }

  #admit(exchange: Exchange): Answer | undefined {
    const admitted = this.#deps.admit(exchange)
    if ('kind' in admitted) return admitted
    exchange.entry.orgId = admitted.orgId
    return undefined
  }
}

function signalOf(method: string, path: string): string | undefined {
  return method === 'POST' ? /^\/v1\/(logs|traces|metrics)(?:\?|$)/.exec(targetOf(path))?.[1] : undefined
}

function formatOf(request: IncomingMessage): OtlpFormat {
  return mediaTypeOf(request) === protobufType ? 'protobuf' : 'json'
}

function typeOf(format: OtlpFormat): string {
  return format === 'json' ? 'application/json' : protobufType
}

async function bodyEventsOf(ingest: Ingest, maxRequestEvents: number): Promise<BodyEvents | BodyProblem | Answer> {
  const { body, request, memory } = ingest
  const { eventsOfOtlp, OtlpProblem } = await loadDecoder()
  try {
    const events: OtlpEvent[] = []
    const spans: number[] = []
    const lines: Buffer[] = []
    let offset = 0
    const slices = new Slices()
    for (const event of eventsOfOtlp(body, formatOf(request))) {
      if (slices.isOver) await slices.next()
      if (events.push(event) > maxRequestEvents) return tooManyRecords(maxRequestEvents)
      const line = Buffer.from(JSON.stringify(event))
      lines.push(line, newline)
      spans.push(offset, offset + line.length)
      offset += line.length + 1
      if (offset > maxEventsBytes) return tooManyBytes()
      ingest.eventBytes += line.length
      memory.allocate(line.length)
      if (memory.isFull) return overloaded()
    }
    return new BodyEvents(Buffer.concat(lines), spans, events)
  } catch (error) {
    if (!(error instanceof OtlpProblem)) throw error
    const code = error.status === 413 ? 'too-many-events' : 'malformed-json'
    return { status: error.status, code, message: error.message }
  }
}

function tooManyRecords(max: number): BodyProblem {
  return { status: 413, code: 'too-many-events', message: `a request may have up to ${max} records` }
}

function tooManyBytes(): BodyProblem {
  const message = `the events of a request, each with its resource and scope, may have up to ${maxEventsBytes} bytes together`
  return { status: 413, code: 'too-many-events', message }
}

async function logsAnswer({ request, failures }: Ingest): Promise<Answer> {
  const { otlpResponse } = await loadDecoder()
  const format = formatOf(request)
  const reason = failures[0]?.error ?? ''
  return {
    kind: 'answer',
    status: 200,
    headers: { 'content-type': typeOf(format) },
    body: otlpResponse(format, failures.length, reason),
    reason,
  }
}

function emptyAnswer(request: IncomingMessage): Answer {
  if (formatOf(request) === 'json') return json(200, {})
  return { kind: 'answer', status: 200, headers: { 'content-type': protobufType }, body: '' }
}

export function unauthorizedOtlp(): Answer {
  const message =
    'OTLP from another machine needs the token: set OTEL_EXPORTER_OTLP_HEADERS to Authorization=Bearer%20<token>'
  return refusal(403, 'forbidden', message)
}
