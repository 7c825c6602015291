import * as v from 'valibot'
import { type FetchedAnswer, fetchHere } from '../../dev/fetch-here.ts'
import {
  defaultPort,
  type ErrorAnswer,
  type EventsAnswer,
  type EventsRequest,
  epochPattern,
  eventIdPattern,
  levels,
  paths,
  type Summary,
} from '../../dev/protocol.ts'
import { textWithin } from '../../dev/text-within.ts'
import { isLoopback } from '../../options/loopback.ts'
import { toMessageLine, toShortLine } from '../../text/short-line.ts'
import { clearTimeout, setTimeout } from '../../time.ts'
import { type Given, Misuse } from '../command.ts'

/** The dev service cannot be read. The message says what to do next. */
export class ServiceTrouble extends Error {
  /** True if the service may answer later: there was no answer, or an answer of a service that is starting or ending. */
  readonly mayPass: boolean

  constructor(message: string, mayPass: boolean) {
    super(message)
    this.mayPass = mayPass
  }
}

/** Time within which an answer must have come, in addition to the time that the request asks the service to wait. */
const answerMs = 15_000
/** Maximum bytes of an answer. A page of events that is larger is asked for again in smaller pages. */
const maxAnswerBytes = 67_108_864
const maxErrorBytes = 65_536

const aText = v.string()
const aNumber = v.number()
const maybeText = v.nullable(v.string())

const anEpoch = v.pipe(aText, v.regex(epochPattern))
const anId = v.pipe(aText, v.regex(eventIdPattern))

const keptEvent = v.object({
  id: anId,
  n: aNumber,
  at: aNumber,
  receivedAt: aNumber,
  dataset: aText,
  source: maybeText,
  level: v.nullable(v.picklist(levels)),
  message: aText,
  traceId: maybeText,
  line: aText,
})

const note = v.object({ text: aText, column: v.optional(aNumber), didYouMean: v.optional(aText) })
const clause = v.object({ text: aText, read: v.optional(aText, ''), start: aNumber, end: aNumber, label: aText })

const eventsAnswer = v.object({
  epoch: anEpoch,
  events: v.array(keptEvent),
  next: v.nullable(aNumber),
  newest: aNumber,
  loaded: v.optional(aNumber, 0),
  forgotten: aNumber,
  reading: v.object({
    readAs: v.optional(aText),
    clauses: v.array(clause),
    notes: v.array(note),
    highlight: v.array(aText),
  }),
})

/** True for a page of at most as many events as were asked for, from which the next one goes on in the same direction. */
function leadsOn({ events, next }: EventsAnswer, { order, limit, before, after = 0 }: EventsRequest): boolean {
  if (limit !== undefined && events.length > limit) return false
  if (order === 'asc') return next !== null && (next > after || (next === after && events.length === 0))
  return next === null || (events.length > 0 && next < (before ?? Number.POSITIVE_INFINITY))
}

const summary = v.object({ epoch: anEpoch, newest: aNumber, kept: aNumber, forgotten: aNumber, errors: aNumber })

type Parameters = Readonly<Record<string, string | number | undefined>>

/** Reads a running dev service by its messages. Changes nothing there. */
export class DevClient {
  readonly url: URL
  readonly #token: string | undefined

  /** @param token the service's token, if it may be sent there; a private service asks for it */
  constructor({ url, token }: DevAddress) {
    this.url = url
    this.#token = token
  }

  /**
   * Reads one page of events. A page that is too large is read with fewer events.
   *
   * @throws ServiceTrouble also for a page that does not lead on: who reads page after page would never come to an end
   */
  async events(request: EventsRequest, signal?: AbortSignal): Promise<EventsAnswer> {
    for (let limit = request.limit; ; limit = limit === undefined ? 50 : Math.ceil(limit / 4)) {
      try {
        const waitMs = request.waitMs ?? 0
        const answer = await this.get(paths.events, { ...request, limit }, signal, waitMs)
        const page = this.#checked(eventsAnswer, answer) as EventsAnswer
        if (leadsOn(page, { ...request, limit })) return page
        throw this.#isOther
      } catch (error) {
        if (!(error instanceof TooLarge) || limit === 1) throw error
      }
    }
  }

  async summary(signal?: AbortSignal): Promise<Summary> {
    return this.#checked(summary, await this.get(paths.summary, {}, signal))
  }

  /**
   * Reads what a path answers, as parsed JSON.
   *
   * @throws ServiceTrouble
   */
  async get(path: string, parameters: Parameters, signal?: AbortSignal, waitMs = 0): Promise<unknown> {
    const address = new URL(path, this.url)
    for (const [name, value] of Object.entries(parameters)) {
      if (value !== undefined) address.searchParams.set(name, String(value))
    }
    const { status, text } = await this.#fetch(address, signal, waitMs)
    const answer = parsed(text)
    if (status === 200 && answer !== undefined) return answer
    throw new ServiceTrouble(this.#refusal(status, answer), status >= 500)
  }

  async #fetch(
    address: URL,
    signal: AbortSignal | undefined,
    waitMs: number,
  ): Promise<{ status: number; text: string }> {
    // Not `AbortSignal.any`, which would keep every request of a long `tail` until its time is up.
    const controller = new AbortController()
    const abort = () => controller.abort()
    const timer = setTimeout(abort, waitMs + answerMs)
    signal?.addEventListener('abort', abort)
    try {
      signal?.throwIfAborted()
      const headers = this.#token === undefined ? {} : { authorization: `Bearer ${this.#token}` }
      const request = { headers, signal: controller.signal }
      const response = await (isLoopback(address.hostname)
        ? fetchHere(address, request)
        : fetch(address, { ...request, redirect: 'manual' }))
      const text = await textOf(response, response.status === 200 ? maxAnswerBytes : maxErrorBytes)
      return { status: response.status, text }
    } catch (error) {
      if (signal?.aborted === true || error instanceof TooLarge) throw error
      throw new ServiceTrouble(this.#silence(error), true)
    } finally {
      clearTimeout(timer)
      signal?.removeEventListener('abort', abort)
    }
  }

  #refusal(status: number, answer: unknown): string {
    const { code, message } = (answer ?? {}) as Partial<Record<keyof ErrorAnswer, unknown>>
    if (status === 401) return `${this.#name} asks for its token. ${tokenRemedy}`
    // The emulator answers a path that only the dev service has in the same form as the dev service would.
    if (typeof code === 'string' && typeof message === 'string' && code !== 'unknown-path') {
      return `${this.#name} refuses the request (${status} ${toShortLine(code)}): ${toMessageLine(message)}`
    }
    return `${this.#name} answers ${status}, and is no dev service. ${remedy}`
  }

  #silence(error: unknown): string {
    const { name, cause } = error as { name?: unknown; cause?: { code?: unknown; message?: unknown } }
    if (name === 'AbortError') return `${this.#name} does not answer. ${remedy}`
    const why = [cause?.code, cause?.message].find(text => typeof text === 'string' && text !== '') as
      | string
      | undefined
    return `no dev service answers at ${this.#name}${why === undefined ? '' : ` (${toShortLine(why)})`}. ${remedy}`
  }

  #checked<Schema extends v.GenericSchema>(schema: Schema, answer: unknown): v.InferOutput<Schema> {
    const result = v.safeParse(schema, answer)
    if (result.success) return result.output
    throw this.#isOther
  }

  get #isOther(): ServiceTrouble {
    return new ServiceTrouble(`${this.#name} answers, but not as a dev service of this version. ${remedy}`, false)
  }

  get #name(): string {
    return toShortLine(this.url.origin)
  }
}

const tokenRemedy = 'Set LOGFERRY_URL and LOGFERRY_TOKEN as logferry dev has printed them.'
const remedy = "Start one with 'logferry dev', or name its address with --url."

class TooLarge extends ServiceTrouble {
  constructor() {
    super(`the answer has more than ${maxAnswerBytes.toLocaleString('en')} bytes. Narrow the query.`, false)
  }
}

async function textOf(response: FetchedAnswer, maxBytes: number): Promise<string> {
  const text = await textWithin(response, maxBytes)
  if (text === undefined) throw new TooLarge()
  return text
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

export interface DevAddress {
  readonly url: URL
  readonly token: string | undefined
}

/**
 * Returns the address of the dev service: `--url`, `LOGFERRY_URL`, or the default port of this machine. The token of the
 * environment belongs to `LOGFERRY_URL`, and goes nowhere else; over plain http only to this machine.
 *
 * @throws Misuse
 */
export function devAddressOf(given: Given): DevAddress {
  const { LOGFERRY_URL = '', LOGFERRY_TOKEN = '' } = process.env
  const [from, text] = given.url === undefined ? ['LOGFERRY_URL', LOGFERRY_URL] : ['--url', String(given.url)]
  if (given.url === undefined && text === '') return { url: new URL(usualAddress), token: undefined }
  const url = URL.parse(text)
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '') {
    throw new Misuse(`${from} must be the address of a dev service, such as ${usualAddress}`)
  }
  const isItsOwn = URL.parse(LOGFERRY_URL)?.origin === url.origin
  const isSafe = url.protocol === 'https:' || isLoopback(url.hostname) || given['allow-insecure'] === true
  return { url, token: LOGFERRY_TOKEN !== '' && isItsOwn && isSafe ? LOGFERRY_TOKEN : undefined }
}

const usualAddress = `http://127.0.0.1:${defaultPort}`
