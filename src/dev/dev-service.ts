import { randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Answer, refusal } from '../emulator/answer.ts'
import type { Emulator } from '../emulator/emulator.ts'
import type { Exchange } from '../emulator/exchange.ts'
import type { Extension } from '../emulator/extension.ts'
import type { Ingest } from '../emulator/ingest.ts'
import type { RequestEntry } from '../emulator/request-log.ts'
import { targetOf } from '../emulator/route.ts'
import { startExtended } from '../emulator/start.ts'
import { counted } from '../text/counted.ts'
import { fileTrouble } from '../text/file-trouble.ts'
import { abortAfter, clearInterval, setInterval, systemTimeMs } from '../time.ts'
import { EventIndex } from './event-index.ts'
import { LicenseSettings } from './faults/license-settings.ts'
import { grantOf, RunningFaults } from './faults/running-faults.ts'
import { fetchHere } from './fetch-here.ts'
import { Intake } from './intake/intake.ts'
import { Otlp, unauthorizedOtlp } from './intake/otlp-protocol.ts'
import { RequestTrail } from './intake/request-trail.ts'
import type { SnapshotFile } from './intake/snapshot-file.ts'
import { UidTrail } from './intake/uid-trail.ts'
import { LiveStreams } from './live/live-streams.ts'
import {
  type FaultSettings,
  type JoinAnswer,
  type JoinRequest,
  type KeptEvent,
  maxQueryChars,
  type RequestRow,
  type ServiceStatus,
  type SetupAnswer,
} from './protocol.ts'
import { eventPredicate } from './query/event-predicate.ts'
import { safeHeaders, send } from './routes/answers.ts'
import { Api } from './routes/api.ts'
import { Guard } from './routes/guard.ts'
import { isPagePath, pageAnswer } from './routes/page.ts'
import { Parameters } from './routes/parameters.ts'
import { textWithin } from './text-within.ts'
import { isTokenProof, tokenProof } from './token-proof.ts'

/** Dataset that programs are told to use. */
export const defaultDataset = 'local'

const maxRequestEvents = 200_000
/** The address of the page has the query, of which each character may take nine bytes. */
const maxHeaderBytes = 12 * maxQueryChars
const faultTellingMs = 1000
const maxSampleChars = 300
const homePath = '/dev/events'
const testEventMs = 10_000
const maxTestAnswerBytes = 65_536
const arrivalsWaitMs = 30_000

export interface DevServiceOptions {
  readonly host: string
  readonly port: number
  readonly token: string
  readonly version: string
  readonly allowedHosts: readonly string[]
  readonly allowedOrigins: readonly string[]
  readonly isPrivate: boolean
  readonly maxEvents: number
  readonly maxBytes: number
  readonly snapshot: SnapshotFile | undefined
  /** Lines of a saved file, which are loaded before the service listens. */
  readonly lines: AsyncIterable<readonly (string | undefined)[]> | undefined
  /** Called with one sentence for the terminal. */
  readonly onNotice: (notice: string) => void
}

/** A file of the command line cannot be read or written. The message names the option. */
export class FileTrouble extends Error {
  constructor(option: string, action: 'read' | 'written', error: unknown) {
    super(`${option}: the file ${fileTrouble(action, error as NodeJS.ErrnoException)}`)
  }
}

/** The service of `logferry dev`: the emulator, the events that it took, and the page that shows them. */
export class DevService {
  readonly #options: DevServiceOptions
  readonly #startedAt = systemTimeMs()
  readonly index: EventIndex
  readonly #trail = new RequestTrail()
  readonly #uids = new UidTrail()
  readonly #guard: Guard
  readonly #intake: Intake
  readonly #otlp: Otlp
  readonly #streams: LiveStreams
  #emulator: Emulator | undefined
  #faults: RunningFaults | undefined
  #license: LicenseSettings | undefined
  #api: Api | undefined
  #faultTeller: NodeJS.Timeout | undefined

  private constructor(options: DevServiceOptions) {
    this.#options = options
    const { maxEvents, maxBytes, snapshot, onNotice } = options
    this.index = new EventIndex({ maxEvents, maxBytes, epoch: newEpoch(this.#startedAt) })
    this.#guard = new Guard(options)
    const { index } = this
    this.#intake = new Intake({
      index,
      trail: this.#trail,
      uids: this.#uids,
      snapshot,
      onStored: stored => this.#faults?.onStored(stored),
    })
    this.#otlp = new Otlp({
      admit: exchange => this.#admitOtlp(exchange),
      maxRequestEvents,
      onDiscarded: signal =>
        onNotice(`A program sends ${signal} too. They are accepted and discarded: only logs are shown.`),
    })
    this.#streams = new LiveStreams({
      index,
      toJson: message => this.#toJson(message),
      requests: () => ({ requests: this.#trail.total, refusedRequests: this.#trail.refused }),
      version: options.version,
      url: () => this.url,
      startedAt: this.#startedAt,
    })
  }

  /** @throws Error if the service cannot listen on the port */
  static async start(options: DevServiceOptions): Promise<DevService> {
    const service = new DevService(options)
    await service.#start()
    return service
  }

  get url(): string {
    return this.#emulator?.url ?? ''
  }

  /** Address of the page. It has a key, which works once, if the page asks for one. */
  get pageUrl(): string {
    return `${this.url}/${this.#guard.needsKey ? `dev/events?key=${this.#guard.key}` : ''}`
  }

  /** Id of the organization that programs ship for. */
  get orgId(): string {
    return this.#emulator?.orgId ?? ''
  }

  get token(): string {
    return this.#options.token
  }

  /** Number of events that were stored by requests so far. */
  get stored(): number {
    return this.#emulator?.stats().stored ?? 0
  }

  get license(): LicenseSettings {
    return this.#license as LicenseSettings
  }

  /** @throws FaultMistake */
  startFault(fault: FaultSettings): void {
    this.#faults?.start(fault)
  }

  /** Yields the events that arrive from now on until the signal is aborted, many at a time and without the token. */
  async *arrivals(signal: AbortSignal): AsyncGenerator<{ events: readonly KeptEvent[]; forgotten: number }> {
    for (let after = this.index.newest; ; ) {
      const isOver = signal.aborted
      const waitMs = isOver ? 0 : arrivalsWaitMs
      const { events, next, forgotten } = await this.index.events({ after, order: 'asc', waitMs }, signal)
      after = next ?? after
      if (isOver && events.length === 0) return
      if (events.length > 0 || forgotten > 0) yield { events: events.map(event => this.#redactEvent(event)), forgotten }
    }
  }

  #redactEvent(event: KeptEvent): KeptEvent {
    const redact = (text: string): string => this.#redact(text)
    const { source, message, dataset, line } = event
    return {
      ...event,
      dataset: redact(dataset),
      source: source && redact(source),
      message: redact(message),
      line: redact(line),
    }
  }

  async close(reason: string): Promise<void> {
    clearInterval(this.#faultTeller)
    this.#faults?.close()
    this.#streams.end(reason)
    await this.#emulator?.close()
  }

  async #start(): Promise<void> {
    const { host, port, token, lines, onNotice } = this.#options
    if (lines !== undefined) {
      const { loaded, unreadable, problem } = await this.#intake.load(lines, systemTimeMs())
      if (problem !== undefined && loaded === 0) throw new FileTrouble('--load', 'read', problem)
      const others = unreadable === 0 ? '' : `; ${counted(unreadable, 'line is no event', 'lines are no events')}`
      onNotice(`${counted(loaded, 'event was', 'events were')} loaded${others}.`)
      if (problem !== undefined)
        onNotice(`${new FileTrouble('--load', 'read', problem).message} The rest of the file is missing.`)
    }
    const emulator = await startExtended(
      {
        host,
        port,
        tokens: [grantOf(token)],
        maxRequestEvents,
        maxStoredBytes: 1, // the index holds the events
      },
      this.#extension(),
    )
    this.#emulator = emulator
    const license = new LicenseSettings(emulator)
    const faults = new RunningFaults({
      emulator,
      token,
      uids: this.#uids,
      predicateOf: query => eventPredicate(query, this.index.knownFields),
      requests: () => this.#trail.total,
      onChange: () => this.#tellFaults(),
    })
    this.#license = license
    this.#faults = faults
    this.#api = new Api({
      index: this.index,
      trail: this.#trail,
      faults,
      license,
      streams: this.#streams,
      setup: () => this.#setup(),
      join: (request, port) => this.#join(request, port),
      status: () => this.#status(),
      testEvent: () => this.#sendTestEvent(),
      toJson: answer => this.#toJson(answer),
      redact: text => this.#redact(text),
    })
    this.#faultTeller = setInterval(() => {
      if (faults.isReporting) this.#tellFaults()
    }, faultTellingMs)
    if (this.#guard.needsKey) onNotice('The page asks for the key in its address.')
  }

  #extension(): Extension {
    return {
      maxHeaderBytes,
      serve: (request, response) => this.#serve(request, response),
      admit: request => this.#guard.refuseIngest(request),
      ingestOf: exchange => this.#otlp.ingestOf(exchange),
      answer: exchange => this.#otlp.discard(exchange),
      finish: (exchange, ending) => this.#otlp.finish(exchange, ending),
      onOpened: (entry, request) => this.#trail.opened(entry, request),
      onRead: ingest => this.#trail.read(ingest),
      onStored: ingest => this.#stored(ingest),
      onEnded: entry => this.#ended(entry),
    }
  }

  /** Answers the paths of page and API, and the question of a browser whether a page may ingest. */
  #serve(request: IncomingMessage, response: ServerResponse): boolean {
    const [path, query] = splitTarget(targetOf(request.url ?? ''))
    if (path === '/favicon.ico') {
      response.writeHead(204, safeHeaders).end() // browsers ask for it, and it is no request of an application
      return true
    }
    if (path !== '/' && path !== '/dev' && !path.startsWith('/dev/')) {
      const cors = path.startsWith('/v1/') ? this.#guard.corsHeaders(request) : undefined
      if (cors !== undefined) response.setHeaders(new Map(Object.entries(cors)))
      if (cors === undefined || request.method !== 'OPTIONS') return false
      response.writeHead(204).end()
      return true
    }
    this.#answer(path, query, request, response).catch(() => response.destroy())
    return true
  }

  async #answer(path: string, query: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const isPage = isHome(path) || isPagePath(path)
    const refused = this.#guard.refuseForeign(request, { isPage })
    if (refused !== undefined) return send(response, refused)
    if (isPage) return this.#answerPage(path, query, request, response)
    const api = this.#api
    if (api === undefined || !api.has(path)) {
      return send(response, refusal(404, 'unknown-path', 'there is nothing at this path'))
    }
    const method = request.method ?? ''
    const keyless = api.isKeyless(path) ? undefined : this.#guard.refuseKeyless(request)
    if (keyless !== undefined) return send(response, keyless)
    if (api.isWrite(path, method)) {
      const refusedWrite = this.#guard.refuseWrite(request)
      if (refusedWrite !== undefined) return send(response, refusedWrite)
    }
    const allowed = api.methodsOf(path)
    if (!allowed.split(', ').includes(method)) {
      return send(response, refusal(405, 'wrong-method', `this path accepts only ${allowed}`, { allow: allowed }))
    }
    await api.serve(path, { request, response, parameters: new Parameters(query) })
  }

  #answerPage(path: string, query: string, request: IncomingMessage, response: ServerResponse): void {
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      return send(response, refusal(405, 'wrong-method', 'this path accepts only GET', { allow: 'GET, HEAD' }))
    }
    const key = new URLSearchParams(query).get('key')
    const cookie = key === null ? undefined : this.#guard.cookieFor(key, request.socket.localPort ?? 0)
    if (cookie !== undefined) {
      this.#options.onNotice(`The page is open. Address for another browser: ${this.pageUrl}`)
      return redirect(response, homePath, { 'set-cookie': cookie })
    }
    const keyless = this.#guard.refuseKeyless(request)
    if (keyless !== undefined) return send(response, keyless)
    if (isHome(path)) return redirect(response, homePath)
    send(response, pageAnswer())
  }

  #admitOtlp({ request }: Exchange): Answer | { orgId: string } {
    const emulator = this.#emulator as Emulator
    const isAdmitted = this.#guard.hasToken(request) || (!this.#guard.needsKey && this.#guard.isLocal(request))
    return isAdmitted ? { orgId: emulator.orgId } : unauthorizedOtlp()
  }

  async #stored(ingest: Ingest): Promise<void> {
    await this.#intake.store(ingest)
    const [failure] = ingest.failures
    if (failure === undefined || ingest.entry.isByFault) return
    this.#streams.tellRefused({
      n: this.#trail.numberOf(ingest.entry),
      dataset: ingest.dataset,
      reason: failure.error,
      count: ingest.failures.length,
      sample: ingest.firstFailed === undefined ? null : ingest.firstFailed.slice(0, maxSampleChars),
    })
  }

  #ended(entry: RequestEntry): void {
    const faults = this.#faults
    const row = this.#trail.ended(entry, faults?.refuses({ status: entry.status }) ?? false)
    if (row === undefined) return
    faults?.onEnded(row)
    if (isRefusal(row)) {
      const { n, dataset, reason, events } = row
      this.#streams.tellRefused({ n, dataset, reason, count: events, sample: null })
    }
  }

  #tellFaults(): void {
    const [faults, license] = [this.#faults, this.#license]
    if (faults === undefined || license === undefined) return
    this.#streams.tell('faults', { running: faults.running(), ended: faults.ended(), limits: license.list() })
  }

  #status(): ServiceStatus {
    return {
      ...this.index.status(),
      version: this.#options.version,
      url: this.url,
      refused: this.#trail.reasons(),
      faults: this.#faults?.running().map(({ argument }) => argument) ?? [],
      requests: this.#trail.total,
      startedAt: this.#startedAt,
    }
  }

  #setup(): SetupAnswer {
    const { url, token, orgId } = this
    return { url, token, dataset: defaultDataset, otlpEndpoint: url, orgId }
  }

  #join({ nonce, proof }: JoinRequest, port: number): JoinAnswer | undefined {
    const { token } = this
    if (!isTokenProof(proof, token, { by: 'command', nonce, port })) return undefined
    return { proof: tokenProof(token, { by: 'service', nonce, port }), orgId: this.orgId }
  }

  async #sendTestEvent(): Promise<{ status: number; body: string }> {
    const event = {
      _time: new Date(systemTimeMs()).toISOString(),
      level: 'info',
      message: 'A test event of logferry dev',
    }
    try {
      const answer = await fetchHere(`${this.url}/v1/datasets/${defaultDataset}/ingest`, {
        method: 'POST',
        headers: { authorization: `Bearer ${this.#options.token}`, 'content-type': 'application/json' },
        body: JSON.stringify([event]),
        signal: abortAfter(testEventMs),
      })
      return { status: answer.status, body: (await textWithin(answer, maxTestAnswerBytes)) ?? '' }
    } catch {
      // A fault may have reset the connection, or holds the answer back.
      const message = 'the test event got no answer'
      return { status: 502, body: JSON.stringify({ code: 'no-answer', message }) }
    }
  }

  /** Returns the JSON of a message. Tokens are removed from its texts, not from the JSON, which a short token would break. */
  #toJson(message: unknown): string {
    return JSON.stringify(message, (_, value) => (typeof value === 'string' ? this.#redact(value) : value))
  }

  #redact(text: string): string {
    return text.replaceAll(this.#options.token, '(redacted)')
  }
}

function isHome(path: string): boolean {
  return path === '/' || path === '/dev' || path === '/dev/'
}

function splitTarget(target: string): [path: string, query: string] {
  const at = target.indexOf('?')
  return at === -1 ? [target, ''] : [target.slice(0, at), target.slice(at + 1)]
}

function redirect(response: ServerResponse, location: string, headers: Readonly<Record<string, string>> = {}): void {
  response.writeHead(303, { ...safeHeaders, ...headers, location, 'content-length': 0 })
  response.end()
}

/** True if a request, not only some of its events, was refused, and no fault did it. */
function isRefusal({ status, reason, fault }: RequestRow): boolean {
  return reason !== '' && !fault && status !== null && status >= 400
}

function newEpoch(nowMs: number): string {
  return nowMs.toString(36) + randomBytes(2).toString('hex')
}
