import type { Batch } from '../batch/batch.ts'
import type { DropReason, DropsBySeverity, Ledger } from '../batch/ledger.ts'
import type { BatchLimits, Row } from '../batch/row.ts'
import type { Notices } from '../notices.ts'
import type { EventFailure, Outcome } from '../outcome.ts'
import { type Severity, type SeverityName, severities } from '../record/severity.ts'
import type { Breaker } from './breaker.ts'
import type { Compression } from './compression.ts'
import type { Attempt } from './send.ts'

/** Where batches come from, and go back to. */
export interface Batches {
  readonly limits: BatchLimits
  take(nowMs: number): Batch | undefined
  wakeAtMs(): number
  row(dataset: string): Row
  hurry(): void
  takeAll(): Batch[]
}

export interface DeliveryParts {
  readonly batches: Batches
  readonly send: (batch: Batch, signal: AbortSignal) => Promise<Attempt>
  readonly breaker: Breaker
  readonly compression: Compression
  readonly ledger: Ledger
  readonly notices: Notices
  readonly maxConcurrentRequests: number
  /** Called when lines have been delivered or dropped. */
  readonly onSettled: () => void
  /** Called when the service has taken a batch. */
  readonly onDelivered: (dataset: string) => void
}

/** Bytes under which a batch whose connection breaks again and again is not suspected of being too large. */
const suspectBytes = 65_536
const resetsUntilSplit = 3
/** Requests that may be spent on isolating what the service refuses in one batch; what is left then is dropped. */
const maxRequestsPerBatch = 1000
const firstProbeDelayMs = 1000
const maxProbeDelayMs = 60_000

/**
 * Takes batches as fast as the service, the breaker and the number of connections allow, and decides what becomes of
 * each from the outcome of its attempt. A batch in trouble goes back to the head of its row; only `pump` decides when
 * the next attempt is made.
 */
export class Delivery {
  readonly #parts: DeliveryParts
  readonly #inFlight = new Map<Batch, AbortController>()
  #timer: NodeJS.Timeout | undefined
  #timerAtMs = Number.POSITIVE_INFINITY
  /** Requests made, and how many of them repeated an earlier one. */
  requests = 0
  retries = 0
  bytesOnWire = 0

  constructor(parts: DeliveryParts) {
    this.#parts = parts
  }

  get inFlight(): number {
    return this.#inFlight.size
  }

  /** Starts what can be started now, and sets the clock for what can be started later. */
  readonly pump = (): void => {
    const { batches, breaker, maxConcurrentRequests } = this.#parts
    const nowMs = performance.now()
    const limit = breaker.isOpen ? 1 : maxConcurrentRequests
    while (this.#inFlight.size < limit && nowMs >= breaker.notBeforeMs) {
      const batch = batches.take(nowMs)
      if (batch === undefined) break
      if (batch.byteLength > batches.limits.maxBatchBytes && batch.count > 1) {
        batches.row(batch.dataset).putBack(...batch.split())
      } else {
        void this.#attempt(batch)
      }
    }
    if (this.#inFlight.size < limit) this.#wakeAt(Math.max(batches.wakeAtMs(), breaker.notBeforeMs), nowMs)
  }

  /** Makes what waits after a failure due now, for there may be no later. */
  hurry(): void {
    this.#parts.breaker.hurry()
    this.#parts.batches.hurry()
    this.pump()
  }

  /** Drops everything that is not delivered, in flight or not. */
  abandon(reason: DropReason): void {
    for (const [batch, controller] of this.#inFlight) {
      this.#inFlight.delete(batch)
      controller.abort()
      this.#drop(batch, reason)
    }
    for (const batch of this.#parts.batches.takeAll()) this.#drop(batch, reason)
  }

  async #attempt(batch: Batch): Promise<void> {
    const controller = new AbortController()
    this.#inFlight.set(batch, controller)
    const { pause } = this.#parts.batches.row(batch.dataset)
    if (pause !== undefined) pause.isProbing = true
    this.requests++
    if (batch.attempts++ > 0) this.retries++
    batch.countRequest()
    const attempt = await this.#parts.send(batch, controller.signal)
    this.bytesOnWire += attempt.bodyBytes
    this.#conclude(batch, attempt)
    this.pump()
  }

  #conclude(batch: Batch, { outcome, encoding }: Attempt): void {
    const { batches, breaker, compression } = this.#parts
    const row = batches.row(batch.dataset)
    if (outcome.kind !== 'blocked') this.#unpause(row, outcome)
    // Whoever abandoned the batch meanwhile has settled it.
    if (!this.#inFlight.delete(batch)) return batch.dropBody()
    if (outcome.kind !== 'retryable') breaker.onAnswered()
    switch (outcome.kind) {
      case 'delivered':
      case 'partly-rejected': {
        if (batch.suspect !== undefined) this.#stepDown(batch.suspect, 'a body that it takes uncompressed')
        else compression.clear(encoding)
        return this.#settleAnswered(batch, outcome)
      }
      case 'retryable':
        return this.#retry(batch, row, outcome)
      case 'too-large':
        return this.#shrink(batch, row)
      case 'unsupported-encoding': {
        if (encoding === 'none') return this.#block(batch, row, 415, 'the media type is not supported')
        this.#stepDown(encoding, 'a body compressed so (415)')
        return row.putBack(batch)
      }
      case 'rejected': {
        if (compression.isSuspect(encoding)) {
          batch.suspect = encoding
          return row.putBack(batch)
        }
        if (batch.suspect !== undefined) compression.clear(batch.suspect)
        return this.#bisect(batch, row, outcome)
      }
      case 'blocked':
        return this.#block(batch, row, outcome.status, outcome.reason)
    }
  }

  #settleAnswered(batch: Batch, outcome: Outcome & { kind: 'delivered' | 'partly-rejected' }): void {
    const { ledger, notices } = this.#parts
    const failed = outcome.kind === 'partly-rejected' ? Math.min(outcome.failed, batch.count) : 0
    ledger.delivered += batch.count - failed
    if (outcome.kind === 'partly-rejected') this.#countFailures(batch, failed, outcome.failures)
    if (notices.has('delivered')) {
      notices.tell('delivered', { dataset: batch.dataset, count: batch.count - failed, bytes: batch.byteLength })
    }
    batch.settle()
    this.#parts.onDelivered(batch.dataset)
    this.#parts.onSettled()
  }

  #countFailures(batch: Batch, failed: number, failures: readonly EventFailure[]): void {
    const { ledger, notices } = this.#parts
    const reasons = new Set<string>()
    const found = linesOf(batch, failures)
    for (let index = 0; index < failed; index++) {
      const line = found[index]
      const reason = failures[index]?.reason ?? 'no reason given'
      reasons.add(reason)
      ledger.drop('rejected', { [line === undefined ? 'unknown' : (severities[line.severity] as SeverityName)]: 1 })
      if (notices.has('rejected')) notices.tell('rejected', rejected(batch.dataset, line?.json, 200, reason))
    }
    this.#warnRejected(batch.dataset, failed, [...reasons].slice(0, 3).join('; '))
  }

  #retry(batch: Batch, row: Row, outcome: Outcome & { kind: 'retryable' }): void {
    const { breaker, notices } = this.#parts
    batch.notBeforeMs = breaker.onFailed(performance.now(), outcome.retryAfterMs)
    const isSuspect = outcome.reset === true && batch.byteLength > suspectBytes && batch.count > 1
    if (isSuspect && ++batch.resets >= resetsUntilSplit) row.putBack(...batch.split())
    else row.putBack(batch)
    if (!breaker.isOpen && outcome.retryAfterMs === undefined) return
    const answer = outcome.status === undefined ? outcome.reason : `${outcome.status} ${outcome.reason}`
    notices.warn(
      'LOGFERRY_UNREACHABLE',
      `the service does not take events now (${answer}). They are kept and sent again; if this lasts, check the ` +
        'network, baseUrl and certificates, and the state of the service.',
    )
  }

  #shrink(batch: Batch, row: Row): void {
    const { batches, notices } = this.#parts
    if (batch.count === 1) {
      notices.warn(
        'LOGFERRY_REJECTED',
        `the service finds a single event of ${batch.byteLength} bytes too large (413); it is dropped. Lower maxEventBytes.`,
      )
      return this.#reject(batch, 'too-large', 413, 'too large')
    }
    const halfBytes = Math.max(Math.ceil(batch.byteLength / 2), 1024)
    if (halfBytes < batches.limits.maxBatchBytes) {
      batches.limits.maxBatchBytes = halfBytes
      const message = `the service finds a batch of ${batch.byteLength} bytes too large (413); batches of at most ${halfBytes} bytes from now on. Set maxBatchBytes to what it takes.`
      notices.warn('LOGFERRY_STEPPED_DOWN', message)
    }
    row.putBack(...batch.split())
  }

  /** Cuts a refused batch in halves until the event that is to blame stands alone. */
  #bisect(batch: Batch, row: Row, outcome: Outcome & { kind: 'rejected' }): void {
    if (batch.count > 1 && batch.requests < maxRequestsPerBatch) return row.putBack(...batch.split())
    this.#warnRejected(batch.dataset, batch.count, `${outcome.status} ${outcome.reason}`)
    this.#reject(batch, 'rejected', outcome.status, outcome.reason)
  }

  #reject(batch: Batch, why: DropReason, status: number, reason: string): void {
    const { notices } = this.#parts
    if (notices.has('rejected')) {
      for (const json of batch.lines()) notices.tell('rejected', rejected(batch.dataset, json, status, reason))
    }
    this.#drop(batch, why)
  }

  #warnRejected(dataset: string, count: number, reason: string): void {
    const events = count === 1 ? 'an event' : `${count} events`
    this.#parts.notices.warn(
      'LOGFERRY_REJECTED',
      `the service refused ${events} for dataset ${JSON.stringify(dataset)} (${reason}). What it refused is not sent ` +
        "again; listen to 'rejected' to see it.",
    )
  }

  #stepDown(encoding: 'zstd' | 'gzip' | 'none', refused: string): void {
    const { compression, notices } = this.#parts
    if (!compression.stepDown(encoding)) return
    notices.warn(
      'LOGFERRY_STEPPED_DOWN',
      `the service refuses ${refused}: ${encoding} is not used from now on, but ${compression.encoding}. ` +
        `Set compression: '${compression.encoding}' to spare the attempt.`,
    )
  }

  /** Holds a dataset's batches back until a probe passes: nothing is lost, and nobody is flooded. */
  #block(batch: Batch, row: Row, status: number, reason: string): void {
    row.putBack(batch)
    const pause = row.pause
    if (pause !== undefined && !pause.isProbing) return
    const refusals = (pause?.refusals ?? 0) + 1
    const delayMs = Math.min(firstProbeDelayMs * 2 ** (refusals - 1), maxProbeDelayMs)
    row.pause = { untilMs: performance.now() + delayMs * (0.5 + Math.random() / 2), refusals, isProbing: false }
    if (pause !== undefined) return
    this.#parts.notices.warn(
      'LOGFERRY_PAUSED',
      `delivery to dataset ${JSON.stringify(row.dataset)} is paused: the service answers ${status} (${reason}). ` +
        `${remedyFor(status)} Events are kept while memory lasts, and the service is asked again from time to time.`,
    )
  }

  #unpause(row: Row, outcome: Outcome): void {
    if (row.pause === undefined) return
    if (outcome.kind === 'retryable') row.pause.isProbing = false
    else row.pause = undefined
  }

  #drop(batch: Batch, reason: DropReason): void {
    const { ledger, notices } = this.#parts
    const bySeverity: DropsBySeverity = {}
    for (const severity of batch.severities) {
      const name = severities[severity] as SeverityName
      bySeverity[name] = (bySeverity[name] ?? 0) + 1
    }
    ledger.drop(reason, bySeverity)
    notices.tell('dropped', { reason, count: batch.count, bySeverity })
    batch.settle()
    this.#parts.onSettled()
  }

  #wakeAt(atMs: number, nowMs: number): void {
    if (atMs >= this.#timerAtMs || atMs === Number.POSITIVE_INFINITY) return
    clearTimeout(this.#timer)
    this.#timerAtMs = atMs
    this.#timer = setTimeout(
      () => {
        this.#timerAtMs = Number.POSITIVE_INFINITY
        this.pump()
      },
      Math.max(Math.ceil(atMs - nowMs), 0),
    ).unref()
  }
}

/** The lines that failures speak of, found by their time stamps: an answer has no other trace of them. */
function linesOf(
  batch: Batch,
  failures: readonly EventFailure[],
): ({ json: string; severity: Severity } | undefined)[] {
  const byTime = new Map<string, { json: string; severity: Severity }>()
  if (failures.some(failure => failure.timestamp !== undefined)) {
    let index = 0
    for (const json of batch.lines()) {
      const severity = batch.severities[index++] as Severity
      const time = /^\{"[^"]+":"([^"]+)"/.exec(json)?.[1]
      if (time !== undefined) byTime.set(withoutTrailingZeros(time), { json, severity })
    }
  }
  return failures.map(({ timestamp }) => byTime.get(withoutTrailingZeros(timestamp ?? '')))
}

/** Services trim the fraction of a second: `12.500Z` comes back as `12.5Z`. */
function withoutTrailingZeros(time: string): string {
  return time.replace(/(\.\d*?)0*Z$/, '$1Z').replace('.Z', 'Z')
}

function remedyFor(status: number): string {
  if (status === 401 || status === 403) return 'Check the token, and that it may ingest into this dataset.'
  if (status === 404) return 'Check the dataset name and baseUrl.'
  if (status >= 300 && status < 400) return 'Redirects are not followed: set baseUrl to the final address.'
  if (status === 407) return 'Check the credentials of the proxy.'
  return 'Check baseUrl and the options.'
}

function rejected(dataset: string, json: string | undefined, status: number, reason: string) {
  return {
    dataset,
    event: json === undefined ? undefined : (JSON.parse(json) as Record<string, unknown>),
    status,
    reason,
  }
}
