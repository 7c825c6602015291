import { Diagnostics, type Rejected, type Retried, type Warning } from '../../src/accounting/diagnostics.ts'
import { type Dropped, Ledger } from '../../src/accounting/ledger.ts'
import type { Severity } from '../../src/accounting/severity.ts'
import { Compression } from '../../src/delivery/compression.ts'
import { RateLimiter } from '../../src/delivery/rate-limiter.ts'
import type { Encoding } from '../../src/http/encodings.ts'
import type { Answer } from '../../src/http/exchange.ts'
import type { Outcome } from '../../src/outcome.ts'
import { openPipeline, type PipelineDeps } from '../../src/shipper/pipeline.ts'
import { lineOf } from '../support/line-of.ts'

export interface Sent {
  readonly dataset: string
  readonly lines: readonly string[]
  readonly atMs: number
  readonly encoding: Encoding
}

/** The answer of a service to one request. */
export type Service = (sent: Sent, count: number) => Outcome | Promise<Outcome>

export const delivered: Outcome = { kind: 'delivered' }
export const retryable = (retryAfterMs?: number): Outcome => ({
  kind: 'retryable',
  reason: 'busy',
  status: 503,
  retryAfterMs,
})
export const rejected: Outcome = { kind: 'rejected', status: 400, reason: 'bad' }
export const blocked: Outcome = { kind: 'blocked', status: 403, reason: 'no' }
export const tooLarge: Outcome = { kind: 'too-large' }

/** The product's own pipeline, with a function as the service in place of the network. */
export function pipelineTo(
  service: Service,
  {
    compression = 'none' as Encoding | Compression,
    maxBatchEvents = 10_000,
    maxBatchBytes = 1_048_576,
    maxUnlimitedBytes = undefined as number | undefined,
    maxBatchAgeMs = 1000,
    maxConcurrentRequests = 4,
    random = Math.random,
    pace = new RateLimiter(),
    maxBufferedBytes = 64 * 1_048_576,
    openSpool = undefined as PipelineDeps['openSpool'],
  } = {},
) {
  const sent: Sent[] = []
  const arrived: string[] = []
  const warnings: Warning[] = []
  const dropped: Dropped[] = []
  const refused: Rejected[] = []
  const retries: Retried[] = []
  const ledger = new Ledger()
  const diagnostics = new Diagnostics()
  diagnostics.add('warning', warning => warnings.push(warning))
  diagnostics.add('dropped', drop => dropped.push(drop))
  diagnostics.add('rejected', rejection => refused.push(rejection))
  diagnostics.add('retried', retried => retries.push(retried))
  const stepping = typeof compression === 'string' ? new Compression(compression) : compression
  const { memory, batchQueue, delivery, spool } = openPipeline({
    limits: {
      maxBatchBytes,
      maxBatchAgeMs,
      batchBytesCeiling: 16 * maxBatchBytes,
      maxUnlimitedBytes: maxUnlimitedBytes ?? maxBatchBytes,
      maxBlockBytes: maxBatchBytes,
      maxBatchEvents,
      sealedBytes: 0,
      sealedEvents: 0,
    },
    maxBufferedBytes,
    maxRetryDelayMs: 30_000,
    maxConcurrentRequests,
    timeField: '_time',
    ledger,
    diagnostics,
    compression: stepping,
    rateLimiter: pace,
    random,
    openSpool,
    send: async (batch, signal) => {
      const { suspect } = batch.attempts
      const encoding = suspect !== undefined ? 'none' : stepping.encodingFor(1_048_576, performance.now())
      const request = { dataset: batch.dataset, lines: [...batch.lines()], atMs: performance.now(), encoding }
      sent.push(request)
      const outcome = await service(request, sent.length)
      if (outcome.kind === 'delivered' && !signal.aborted) arrived.push(...request.lines)
      return { outcome, encoding, bodyBytes: batch.byteLength, answer: answerWith(outcome) }
    },
  })
  const log = (n: number, { dataset = 'd', severity = 2 as Severity, text = '' } = {}) => {
    ledger.admitted++
    return batchQueue.enqueue(dataset, severity, lineOf(JSON.stringify({ n, text })))
  }
  return {
    log,
    batchQueue,
    delivery,
    ledger,
    memory,
    spool,
    diagnostics,
    compression: stepping,
    sent,
    arrived,
    warnings,
    dropped,
    refused,
    retries,
  }
}

/** Returns the answer behind an outcome; `undefined` if there was none. */
function answerWith(outcome: Outcome): Answer | undefined {
  const status = 'status' in outcome ? outcome.status : 200
  return status === undefined ? undefined : { status, headers: {}, body: new Uint8Array(), cut: undefined }
}

/** Returns the numbers of the lines, in the order of logging. */
export const numbers = (lines: readonly string[]): number[] => lines.map(line => JSON.parse(line).n)
