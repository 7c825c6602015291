import type { Batch } from '../batch/batch.ts'
import { Connections } from '../http/connections.ts'
import type { Dispatcher } from '../http/dispatcher.ts'
import { type Encoding, maxCompressedBytes } from '../http/encodings.ts'
import { errorTypeOf } from '../http/error-type.ts'
import { type Answer, exchange, type Request, usualAnswerBytes } from '../http/exchange.ts'
import { toReason, withoutSourceFiles } from '../http/reason.ts'
import { expiryHint, verifiedTls } from '../http/verified-tls.ts'
import type { WorkerHttpClient } from '../http/worker-client.ts'
import { proxyHint } from '../options/proxy-env.ts'
import type { ResolvedOptions } from '../options/resolved-options.ts'
import type { Outcome } from '../outcome.ts'
import { ownProperties } from '../own-properties.ts'
import { propertyOfThrown } from '../text/kind-of-thrown.ts'
import type { Redact } from '../text/short-line.ts'
import { monotonicMs, systemTimeMs } from '../time.ts'
import { answerToOutcome } from './answer-to-outcome.ts'
import type { Compression } from './compression.ts'
import { compressNow, compressors } from './compressors.ts'
import { ingestHeaders, ingestPath, jsonArray, maxAnswerBytes } from './request.ts'

/** The result of one attempt to send one batch. */
export interface Attempt {
  readonly outcome: Outcome
  readonly encoding: Encoding
  /** Length of the request body as it was sent, in bytes. */
  readonly bodyBytes: number
  /** `undefined` if no answer came. */
  readonly answer?: Answer | undefined
  /** Kind of error for which no answer came, as OpenTelemetry's `error.type`. */
  readonly errorType?: string | undefined
}

interface UnansweredRequest extends Pick<Attempt, 'encoding' | 'bodyBytes'> {
  /** True if the connection was one of this package, and not of the application's dispatcher. */
  readonly isOwn: boolean
}

/**
 * Maximum number of requests in flight before the deadline, and so of datasets served at the same time. A few
 * connections that serve thousands of datasets one after the other would need more time than the deadline allows.
 */
export const maxRequestsAtEnd = 32

/** Why a connection brought no answer, by the code of its error. Errors of this package for that have no code. */
const unansweredByCode: ReadonlyMap<string, 'broken' | 'silent'> = new Map([
  ['ECONNRESET', 'broken'],
  ['EPIPE', 'broken'],
  ['UND_ERR_SOCKET', 'broken'],
  ['UND_ERR_HEADERS_TIMEOUT', 'silent'],
])

/**
 * Makes attempts: turns a batch into a request, and the answer, or the lack of one, into an outcome. `send` never
 * rejects.
 */
export class Sender {
  readonly #options: ResolvedOptions
  readonly #compression: Compression
  readonly #redact: Redact
  /** True while this sender is a user of the compressors. */
  #isCompressing = false
  #connections: Connections | undefined

  constructor(options: ResolvedOptions, compression: Compression, redact: Redact) {
    this.#options = options
    this.#compression = compression
    this.#redact = redact
  }

  /**
   * @param onAccepted called once a 2xx status has arrived, with a function that returns the attempt if the rest of the
   *   answer never comes
   */
  async send(batch: Batch, signal: AbortSignal, onAccepted: (asAccepted: () => Attempt) => void): Promise<Attempt> {
    const encoding = this.#encodingFor(batch)
    let bodyBytes = 0
    try {
      const body = this.#bodyAtHand(batch, encoding) ?? keep(batch, encoding, await this.#compress(batch, encoding))
      bodyBytes = body.length
      const request = this.#request(batch, encoding, body)
      const onHead = (status: number, answerSoFar: () => Answer): void => {
        if (status < 300) onAccepted(() => this.#answered(answerSoFar(), batch, encoding, bodyBytes))
      }
      const { requestTimeoutMs } = this.#options
      const maxBytes = maxAnswerBytes(batch.count)
      const answer = await exchange(this.#dispatcher(), request, requestTimeoutMs, signal, maxBytes, onHead)
      return this.#answered(answer, batch, encoding, bodyBytes)
    } catch (error) {
      const answer = this.#isOwn ? undefined : answerIn(error)
      if (answer !== undefined) return this.#answered(answer, batch, encoding, bodyBytes)
      return this.#unanswered(error, { encoding, bodyBytes, isOwn: this.#isOwn })
    }
  }

  /**
   * Sends like `send` at the end of the process, when no promise settles any more. The worker client makes the request.
   */
  sendSync(client: WorkerHttpClient, batch: Batch, onAttempt: (attempt: Attempt) => void): void {
    const encoding = this.#encodingFor(batch)
    let bodyBytes = 0
    const fail = (error: unknown): void => onAttempt(this.#unanswered(error, { encoding, bodyBytes, isOwn: true }))
    try {
      const body = this.#bodyAtHand(batch, encoding) ?? keep(batch, encoding, compressNow(this.#plain(batch), encoding))
      bodyBytes = body.length
      client.post(this.#requestOfWorker(batch, encoding, body), result => {
        if (result instanceof Error) fail(result)
        else onAttempt(this.#answered(result, batch, encoding, bodyBytes))
      })
    } catch (error) {
      fail(error) // without memory for the body, for example: the other batches are sent all the same
    }
  }

  /**
   * Loads what connections need, so that the first request is on its way sooner when its slot comes. Where many processes
   * start at once, loading takes a good part of a second, and the service would count the request in another window.
   */
  prepare(): void {
    try {
      this.#dispatcher()
    } catch {
      // The application has put something else in the place of Node's client. The attempt fails, too, and reports the reason.
    }
  }

  /** Closes the connections when the requests in flight have ended. The next attempt opens new connections. */
  async close(): Promise<void> {
    if (this.#isCompressing) compressors.leave()
    this.#isCompressing = false
    const connections = this.#connections
    this.#connections = undefined
    await connections?.close()
  }

  /** True if the connections belong to this sender, and not to a dispatcher of the application. */
  get #isOwn(): boolean {
    return this.#options.dispatcher === undefined
  }

  #dispatcher(): Dispatcher {
    const { baseUrl, dispatcher, maxConcurrentRequests } = this.#options
    if (dispatcher !== undefined) return dispatcher
    // `Delivery` makes at most the first number of requests at a time. At the end, or beside requests that may be lost, it makes
    // at most the second number more.
    const maxConnections = maxConcurrentRequests + maxRequestsAtEnd
    this.#connections ??= new Connections(baseUrl.origin, maxConnections, this.#options)
    return this.#connections
  }

  /**
   * Returns the encoding for the batch. If there is no memory for a compressed body, the lines are sent uncompressed.
   */
  #encodingFor(batch: Batch): Encoding {
    if (batch.attempts.suspect !== undefined) return 'none'
    const encoding = this.#compression.encodingFor(batch.byteLength, monotonicMs())
    const { body, byteLength } = batch
    if (encoding === 'none' || body.inEncoding(encoding)) return encoding
    return body.reserve(maxCompressedBytes(byteLength)) ? encoding : 'none'
  }

  /** Returns the body if it exists: the lines themselves, or the body kept from an earlier attempt. */
  #bodyAtHand(batch: Batch, encoding: Encoding): Buffer | undefined {
    if (encoding === 'none' && this.#options.contentType !== 'application/json') {
      batch.body.drop()
      return batch.bytes
    }
    return batch.body.inEncoding(encoding)
  }

  async #compress(batch: Batch, encoding: Encoding): Promise<Buffer> {
    if (!this.#isCompressing) compressors.join()
    this.#isCompressing = true
    return compressors.compress(this.#plain(batch), encoding)
  }

  #plain(batch: Batch): Buffer {
    return this.#options.contentType === 'application/json' ? jsonArray(batch.bytes) : batch.bytes
  }

  #request(batch: Batch, encoding: Encoding, body: Buffer): Request & { body: Buffer } {
    const { baseUrl, credentials, contentType } = this.#options
    return {
      method: 'POST',
      origin: baseUrl.origin,
      path: ingestPath(baseUrl.pathname, batch.dataset),
      headers: ingestHeaders(contentType, encoding, credentials.headers()),
      body,
    }
  }

  #requestOfWorker(batch: Batch, encoding: Encoding, body: Buffer): Parameters<WorkerHttpClient['post']>[0] {
    const { requestTimeoutMs, tls, proxy } = this.#options
    return {
      ...this.#request(batch, encoding, body),
      tls: verifiedTls(tls),
      proxyEnv: proxy.env,
      attemptMs: this.#connections?.addresses.attemptMs,
      firstAddress: this.#connections?.addresses.firstAddress,
      timeoutMs: requestTimeoutMs,
      maxBytes: maxAnswerBytes(batch.count),
    }
  }

  #answered(answer: Answer, batch: Batch, encoding: Encoding, bodyBytes: number): Attempt {
    const outcome = answerToOutcome(answer, batch.count, systemTimeMs(), this.#redact)
    return ownProperties({ outcome: ownProperties(outcome), encoding, bodyBytes, answer })
  }

  #unanswered(error: unknown, { encoding, bodyBytes, isOwn }: UnansweredRequest): Attempt {
    const code = textIn(error, 'code')
    const { proxy, tls } = this.#options
    const message = withoutSourceFiles(textIn(error, 'message') ?? '')
    const hint = isOwn ? proxyHint(proxy, code, message) + expiryHint(tls, systemTimeMs()) : ''
    const reason = toReason(message || code || 'no connection', this.#redact) + hint
    const errorType = errorTypeOf(error)
    const withoutCode = errorType === 'timeout' ? 'silent' : 'broken'
    const unanswered = code === undefined ? withoutCode : unansweredByCode.get(code)
    const outcome: Outcome = ownProperties({ kind: 'retryable', reason, unanswered })
    return ownProperties({ outcome, encoding, bodyBytes, errorType })
  }
}

/**
 * Returns the answer that an error stands for. Interceptors of undici throw such errors: `responseError` in place of each
 * answer from 400 on, and `retry` in place of the last one. Never throws, although the error may be anything.
 */
function answerIn(error: unknown): Answer | undefined {
  try {
    const { statusCode, headers, body } = error as Readonly<Record<string, unknown>>
    if (typeof statusCode !== 'number' || !Number.isInteger(statusCode) || statusCode < 300 || statusCode > 599)
      return undefined
    const given = { ...(headers as Answer['headers'] | undefined), 'content-encoding': undefined }
    const said = Buffer.from(saidIn(body).slice(0, usualAnswerBytes))
    return { status: statusCode, headers: ownProperties(given), body: said, cut: undefined }
  } catch {
    return undefined
  }
}

/** Returns what a body says that an interceptor may have parsed. The service chooses its size, so that only a text is read. */
function saidIn(body: unknown): string {
  if (typeof body === 'string') return body
  const { message, error, reason } = Object(body) as Readonly<Record<string, unknown>>
  return [message, error, reason].find(one => typeof one === 'string') ?? ''
}

/** Returns a property of an error if it is a text. A dispatcher of the application may throw anything. */
function textIn(error: unknown, property: 'code' | 'message'): string | undefined {
  const value = propertyOfThrown(error, property)
  return typeof value === 'string' ? value : undefined
}

/**
 * Keeps a body that is not the lines themselves, so that a retry sends the same bytes at no cost. Memory for a
 * compressed body is reserved by now. A JSON array for which there is no memory serves only this attempt.
 */
function keep({ body }: Batch, encoding: Encoding, bytes: Buffer): Buffer {
  if (encoding !== 'none' || body.reserve(bytes.length)) body.keep(encoding, bytes)
  return bytes
}
