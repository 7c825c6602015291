import type { Dispatcher } from 'undici'
import type { Batch } from '../batch/batch.ts'
import { openConnections } from '../http/connections.ts'
import { exchange } from '../http/exchange.ts'
import type { ResolvedOptions } from '../options/shipper-options.ts'
import type { Outcome } from '../outcome.ts'
import { answerToOutcome } from './answer-to-outcome.ts'
import { type Compression, compress, type Encoding } from './compression.ts'
import { ingestHeaders, ingestPath, jsonArray } from './request.ts'

/** One attempt to send one batch. */
export interface Attempt {
  readonly outcome: Outcome
  readonly encoding: Encoding
  /** Length of the request's body as it was sent. */
  readonly bodyBytes: number
}

/** Ways in which a connection ends while the body is under way. */
const resetCodes = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET'])

/** Makes attempts: a batch becomes a request, its answer (or the lack of one) an outcome. Never rejects. */
export class Sender {
  readonly #options: ResolvedOptions
  readonly #compression: Compression
  #connections: Promise<Dispatcher> | undefined

  constructor(options: ResolvedOptions, compression: Compression) {
    this.#options = options
    this.#compression = compression
  }

  async send(batch: Batch, signal: AbortSignal): Promise<Attempt> {
    const { baseUrl, credentials, contentType, requestTimeoutMs } = this.#options
    let encoding: Encoding = 'none'
    let bodyBytes = 0
    try {
      encoding = batch.suspect !== undefined ? 'none' : this.#compression.encodingFor(batch.byteLength)
      const body = await this.#body(batch, encoding)
      bodyBytes = body.length
      const request = {
        method: 'POST' as const,
        origin: baseUrl.origin,
        path: ingestPath(baseUrl.pathname, batch.dataset),
        headers: ingestHeaders(contentType, encoding, credentials.headers()),
        body,
      }
      const answer = await exchange(await this.#dispatcher(), request, requestTimeoutMs, signal)
      const outcome = answerToOutcome(answer, Date.now(), text => credentials.redact(text))
      return { outcome, encoding, bodyBytes }
    } catch (error) {
      const { code, message } = error as { code?: string; message?: string }
      const reason = credentials.redact(message || code || 'no connection')
      return { outcome: { kind: 'retryable', reason, reset: resetCodes.has(code ?? '') }, encoding, bodyBytes }
    }
  }

  /** Lets go of the connections once what is under way has ended; the next attempt opens new ones. */
  async close(): Promise<void> {
    const connections = this.#connections
    this.#connections = undefined
    await (await connections)?.close()
  }

  async #dispatcher(): Promise<Dispatcher> {
    if (this.#options.dispatcher !== undefined) return this.#options.dispatcher
    this.#connections ??= openConnections(this.#options.baseUrl.origin, this.#options.maxConcurrentRequests)
    return this.#connections
  }

  /** The bytes to send. Where they differ from the lines they are kept, so that a retry sends the same at no cost. */
  async #body(batch: Batch, encoding: Encoding): Promise<Buffer> {
    const isArray = this.#options.contentType === 'application/json'
    if (encoding === 'none' && !isArray) {
      batch.dropBody()
      return batch.bytes
    }
    if (batch.body?.encoding !== encoding) {
      const plain = isArray ? jsonArray(batch.bytes) : batch.bytes
      batch.keepBody({ encoding, bytes: encoding === 'none' ? plain : await compress(plain, encoding) })
    }
    return (batch.body as NonNullable<Batch['body']>).bytes
  }
}
