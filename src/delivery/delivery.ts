import type { Diagnostics, Rejected } from '../accounting/diagnostics.ts'
import type { DropReason, DropsBySeverity, Ledger } from '../accounting/ledger.ts'
import { type Severity, severities } from '../accounting/severity.ts'
import type { Batch } from '../batch/batch.ts'
import type { BatchLimits, DatasetQueue } from '../batch/dataset-queue.ts'
import type { Encoding } from '../http/encodings.ts'
import type { Answer } from '../http/exchange.ts'
import { jsonObject } from '../http/json-object.ts'
import { isThrottled } from '../http/statuses.ts'
import type { EventFailure, Outcome } from '../outcome.ts'
import { clearTimeout, monotonicMs, setTimeout, systemTimeMs } from '../time.ts'
import { type BatchLoad, Tuner } from './batch-tuning.ts'
import type { Breaker } from './breaker.ts'
import type { Compression } from './compression.ts'
import { Demand } from './demand.ts'
import { failedLines } from './failed-lines.ts'
import { rateLimitIn } from './rate-limit-headers.ts'
import type { RateInForce, RateLimiter } from './rate-limiter.ts'
import { type Attempt, maxRequestsAtEnd } from './sender.ts'
import { SizeLimit } from './size-limit.ts'
import {
  askedTooOften,
  batchTooLarge,
  encodingRefused,
  eventTooLarge,
  held,
  type PausedBy,
  paused,
  rejected,
  unreachable,
} from './warnings.ts'

/** The queue from which delivery takes batches, and to which it returns them. */
export interface Batches {
  readonly limits: BatchLimits
  /** Number of datasets that have batches, in flight or not. */
  readonly datasetCount: number
  /** Number of batches that are neither delivered nor dropped, batches in flight included. */
  readonly batchCount: number
  dequeue(nowMs: number): Batch | undefined
  wakeAtMs(): number
  load(): BatchLoad
  queueFor(dataset: string): DatasetQueue
  /** A paused dataset queue that has batches, waiting or in flight; `undefined` if there is none. */
  pausedQueue(): DatasetQueue | undefined
  skipBackoff(): void
  takeAll(): Batch[]
}

export interface DeliveryDeps {
  readonly batches: Batches
  readonly send: (batch: Batch, signal: AbortSignal) => Promise<Attempt>
  readonly breaker: Breaker
  readonly rateLimiter: RateLimiter
  readonly compression: Compression
  readonly ledger: Ledger
  readonly diagnostics: Diagnostics
  readonly maxConcurrentRequests: number
  /** Name of the field that holds an event's time stamp. */
  readonly timeField: string
  /** Called when lines have been delivered or dropped. */
  readonly onSettled: () => void
  /** Called with the headers of each answer. */
  readonly onAnswer: (headers: Answer['headers']) => void
  /** Called when the service has answered a batch of the dataset with a 2xx status. */
  readonly onDelivered: (dataset: string) => void
}

/**
 * Maximum size, in bytes, of batches that are not suspected of being too large when their connection breaks repeatedly.
 */
const suspectBytes = 65_536
const resetsUntilSplit = 3
/**
 * After this many requests that look for the refused events of one batch, further requests are delayed by
 * `slowRequestMs`.
 */
const quickRequestsPerBatch = 1000
const slowRequestMs = 200
/**
 * Number of refused pieces of any dataset, with nothing accepted in between, after which a refusal pauses its dataset
 * at once.
 */
const refusalsUntilPause = 64
/** Number of 429s in a row after which they are reported if the service does not say how long to wait. */
const refusalsUntilWarned = 5
const firstProbeDelayMs = 1000
const maxProbeDelayMs = 60_000

/** Makes an attempt without the event loop. */
export type SendNow = (batch: Batch, onAttempt: (attempt: Attempt) => void) => void

/**
 * Takes batches as fast as the service, the breaker and the number of connections allow. The outcome of its attempt
 * decides what happens to each batch. A batch that must be tried again returns to the head of its queue. Only `pump`
 * decides when the next attempt is made.
 */
export class Delivery {
  /** The demand of this process for requests that it shares with other processes. */
  readonly demand: Demand
  readonly #deps: DeliveryDeps
  readonly #tuner: Tuner
  readonly #sizeLimit = new SizeLimit()
  /** Start of the latest request that the service accepted; monotonic, in milliseconds. */
  #acceptedAtMs = Number.NEGATIVE_INFINITY
  /** Number of pieces refused since the last acceptance, each counted once. */
  #refusalsInRow = 0
  readonly #inFlight = new Map<Batch, AbortController>()
  #sendNow: SendNow | undefined
  #timer: NodeJS.Timeout | undefined
  #timerAtMs = Number.POSITIVE_INFINITY
  /** Deadline set by the last `skipBackoff`; monotonic, in milliseconds. */
  #endMs = Number.NEGATIVE_INFINITY
  /** Number of requests made. */
  requests = 0
  /** Number of these requests that repeated an earlier one. */
  retries = 0
  bytesOnWire = 0
  /** Status and reason of the last answer that asked for another attempt. */
  lastTrouble: string | undefined
  /** The reason for which the last attempt failed; `undefined` when the service has given another answer since. */
  failure: string | undefined

  constructor(parts: DeliveryDeps) {
    this.#deps = parts
    this.demand = new Demand(parts.batches, () => this.requests)
    this.#tuner = new Tuner(
      parts.batches,
      nowMs => parts.rateLimiter.inForce(nowMs).requestsPerSecond,
      nowMs => this.#sizeLimit.maxGrownBytes(nowMs),
    )
  }

  /** Maximum size of a batch when it is sent, in bytes. */
  get maxBatchBytes(): number {
    return Math.min(this.#deps.batches.limits.maxBatchBytes, this.#sizeLimit.maxBytes)
  }

  get inFlight(): number {
    return this.#inFlight.size
  }

  /** True if there are batches that are not in flight. */
  get isWaiting(): boolean {
    return this.#deps.batches.batchCount > this.#inFlight.size
  }

  /** Starts every attempt that may start now, and sets the timer for the next one. */
  readonly pump = (): void => this.#pump(this.#timerAtMs)

  /** @param wantedMs time since which this call was due; earlier than now if a timer is late */
  #pump(wantedMs: number): void {
    const { batches, breaker, rateLimiter } = this.#deps
    const nowMs = monotonicMs()
    const limit = breaker.isOpen ? 1 : this.#maxRequests(nowMs)
    const sinceMs = Math.min(nowMs, wantedMs)
    this.#tuner.tune(nowMs)
    const notBeforeMs = () => Math.max(breaker.notBeforeMs, rateLimiter.notBeforeMs(nowMs, sinceMs))
    while (this.#inFlight.size < limit && nowMs >= notBeforeMs()) {
      const batch = batches.dequeue(nowMs)
      if (batch === undefined) {
        rateLimiter.onIdle()
        break
      }
      rateLimiter.onStart(nowMs, sinceMs)
      this.#attempt(this.#cutToSize(batch, nowMs), nowMs)
    }
    // The time may be known already. With thousands of dataset queues, asking each for its time would cost more than
    // all else.
    const isSettled = this.#inFlight.size >= limit || notBeforeMs() >= this.#timerAtMs
    if (!isSettled) this.#wakeAt(Math.max(batches.wakeAtMs(), notBeforeMs()), nowMs)
  }

  /** Returns the rate in force if it is all that the next request waits for. */
  heldBackBy(nowMs: number): RateInForce | undefined {
    const { breaker, rateLimiter } = this.#deps
    return breaker.isOpen || breaker.notBeforeMs > nowMs ? undefined : rateLimiter.holdingBack(nowMs)
  }

  /** The answer of the service that holds back events of a dataset; `undefined` if no dataset is paused. */
  get refusal(): PausedBy | undefined {
    const queue = this.#deps.batches.pausedQueue()
    return queue?.pause && { dataset: queue.dataset, status: queue.pause.status, reason: queue.pause.reason }
  }

  /**
   * Makes everything that waits after a failure due now, because there is no time after `timeoutMs`. Until then, up to
   * `maxRequestsAtEnd` datasets are served at the same time.
   */
  skipBackoff(timeoutMs: number): void {
    this.#endMs = monotonicMs() + timeoutMs
    this.#deps.breaker.skipBackoff()
    this.#deps.rateLimiter.setDeadline(this.#endMs)
    this.#deps.batches.skipBackoff()
    this.pump()
  }

  /**
   * Makes every attempt through `sendNow` from now on, until `undefined` is passed. Attempts in flight are aborted, and
   * their batches are sent again, because no outcome can arrive while the event loop is stopped.
   */
  useSyncSender(sendNow: SendNow | undefined): void {
    this.#sendNow = sendNow
    for (const batch of this.#breakOff().reverse()) this.#deps.batches.queueFor(batch.dataset).requeue(batch)
  }

  /**
   * Does what `pump` does. Returns the monotonic time at which to call it again, or `Infinity` if only an answer can
   * change something.
   */
  wake(): number {
    clearTimeout(this.#timer)
    this.#timerAtMs = Number.POSITIVE_INFINITY
    this.pump()
    return this.#timerAtMs
  }

  /**
   * Abandons every batch that is not delivered, in flight or not. Drops the batches for which `isKept` returns false; a
   * batch that the service refused before is dropped as rejected.
   */
  abandon(reason: DropReason, isKept: (batch: Batch) => boolean = () => false): void {
    for (const batch of [...this.#breakOff(), ...this.#deps.batches.takeAll()]) {
      const { refusal } = batch
      if (isKept(batch)) continue
      if (refusal === undefined) this.#drop(batch, reason)
      else this.#reject(batch, 'rejected', refusal.status, refusal.reason)
    }
  }

  #maxRequests(nowMs: number): number {
    const { batches, maxConcurrentRequests } = this.#deps
    if (nowMs >= this.#endMs) return maxConcurrentRequests
    return Math.max(maxConcurrentRequests, Math.min(batches.datasetCount, maxRequestsAtEnd))
  }

  /** Aborts every attempt in flight, and returns the batches. The outcomes of these attempts are ignored. */
  #breakOff(): Batch[] {
    const inFlight = [...this.#inFlight]
    this.#inFlight.clear()
    for (const [{ dataset }, controller] of inFlight) {
      const { pause } = this.#deps.batches.queueFor(dataset)
      if (pause !== undefined) pause.isProbing = false
      controller.abort()
    }
    return inFlight.map(([batch]) => batch)
  }

  /**
   * Returns the batch, or only its first lines if it is larger than the service accepts. The other lines are requeued.
   */
  #cutToSize(batch: Batch, nowMs: number): Batch {
    const { batches } = this.#deps
    const maxBytes = Math.min(this.#sizeLimit.nextMaxBytes(batch.byteLength, nowMs), batches.limits.batchBytesCeiling)
    if (batch.byteLength <= maxBytes || batch.count === 1) return batch
    const [first, rest] = batch.splitAt(maxBytes)
    batches.queueFor(batch.dataset).requeue(rest)
    return first
  }

  #attempt(batch: Batch, startedAtMs: number): void {
    const controller = new AbortController()
    this.#inFlight.set(batch, controller)
    const { pause } = this.#deps.batches.queueFor(batch.dataset)
    if (pause !== undefined) pause.isProbing = true
    this.requests++
    if (batch.attempts++ > 0) this.retries++
    batch.countRequest()
    const onAttempt = (attempt: Attempt): void => {
      this.bytesOnWire += attempt.bodyBytes
      this.#readRateLimits(attempt, startedAtMs)
      this.#settleAttempt(batch, attempt, startedAtMs)
      this.pump()
    }
    if (this.#sendNow === undefined) void this.#deps.send(batch, controller.signal).then(onAttempt)
    else this.#sendNow(batch, onAttempt)
  }

  /**
   * Passes the rates and limits in an answer to the rate limiter. An answer that asks for another attempt has none,
   * unless it is a 429.
   */
  #readRateLimits({ outcome, answer }: Attempt, startedMs: number): void {
    const throttled = outcome.kind === 'retryable' && isThrottled(outcome.status)
    if (throttled || outcome.kind !== 'retryable') {
      const retryAfterMs = throttled ? outcome.retryAfterMs : undefined
      const told = answer === undefined ? {} : rateLimitIn(answer.headers, systemTimeMs())
      this.#deps.rateLimiter.onAnswer(monotonicMs(), { throttled, retryAfterMs, ...told }, startedMs)
    }
    if (answer !== undefined) this.#deps.onAnswer(answer.headers)
  }

  #settleAttempt(batch: Batch, { outcome, encoding }: Attempt, startedAtMs: number): void {
    const { batches, breaker, compression } = this.#deps
    const queue = batches.queueFor(batch.dataset)
    if (!this.#inFlight.delete(batch)) return batch.dropBody() // aborted: the batch was abandoned or sent again
    if (queue.pause !== undefined && outcome.kind === 'retryable') queue.pause.isProbing = false
    if (isAcceptance(outcome) || outcome.kind === 'unsupported-encoding') queue.pause = undefined
    if (outcome.kind !== 'retryable') {
      breaker.onAnswered()
      this.failure = undefined
    }
    switch (outcome.kind) {
      case 'delivered':
      case 'partly-rejected': {
        if (batch.suspect !== undefined) this.#stepDown(batch.suspect)
        else compression.accept(encoding, monotonicMs())
        return this.#settleAnswered(batch, queue, outcome, startedAtMs)
      }
      case 'retryable':
        return this.#retry(batch, queue, outcome)
      case 'too-large':
        return this.#splitTooLarge(batch, queue, startedAtMs)
      case 'unsupported-encoding': {
        if (encoding === 'none') return this.#pauseBatch(batch, queue, 415, 'the media type is not supported')
        this.#stepDown(encoding)
        return queue.requeue(batch)
      }
      case 'rejected': {
        if (compression.isSuspect(encoding)) {
          batch.suspect = encoding
          if (queue.pause !== undefined) queue.pause = { ...queue.pause, untilMs: 0, isProbing: false }
          return queue.requeue(batch)
        }
        if (batch.suspect !== undefined) compression.clear(batch.suspect)
        batch.suspect = undefined // before a split copies it to the parts
        return this.#refuse(batch, queue, 'rejected', outcome.status, outcome.reason, startedAtMs)
      }
      case 'blocked':
        return this.#pauseBatch(batch, queue, outcome.status, outcome.reason)
    }
  }

  #settleAnswered(
    batch: Batch,
    queue: DatasetQueue,
    outcome: Outcome & { kind: 'delivered' | 'partly-rejected' },
    startedAtMs: number,
  ): void {
    const { ledger, diagnostics } = this.#deps
    const failed = outcome.kind === 'partly-rejected' ? Math.min(outcome.failed, batch.count) : 0
    if (failed < batch.count) this.#onAccepted(batch, queue, startedAtMs)
    ledger.deliver(batch.count - failed)
    const refused =
      outcome.kind === 'partly-rejected' ? this.#countFailures(batch, failed, outcome.failures) : new Set<number>()
    if (diagnostics.has('delivered')) {
      diagnostics.emit('delivered', { dataset: batch.dataset, count: batch.count - failed, bytes: batch.byteLength })
    }
    this.#settle(batch, line => refused.has(line))
    this.#deps.onDelivered(batch.dataset)
    this.#deps.onSettled()
  }

  /** Returns the indices of the lines that failed, as far as they can be identified. */
  #countFailures(batch: Batch, failed: number, failures: readonly EventFailure[]): Set<number> {
    const { diagnostics, timeField } = this.#deps
    const reasons = new Set<string>()
    const bySeverity: DropsBySeverity = {}
    const lines = failedLines(batch, failures, timeField).slice(0, failed)
    for (let index = 0; index < failed; index++) {
      const { line, reason } = lines[index] ?? { line: undefined, reason: 'no reason given' }
      reasons.add(reason)
      count(bySeverity, line?.severity)
      if (diagnostics.has('rejected')) diagnostics.emit('rejected', rejection(batch.dataset, line?.json, 200, reason))
    }
    this.#countDropped('rejected', bySeverity)
    diagnostics.warn(...rejected(batch.dataset, failed, [...reasons].slice(0, 3).join('; ')))
    const places = new Set(lines.flatMap(({ line }) => line?.index ?? []))
    // If one caller waits for all lines, it does not matter which lines count as failed.
    if (batch.hasSingleOwner || failed === batch.count)
      for (let place = 0; places.size < failed; place++) places.add(place)
    return places
  }

  #retry(batch: Batch, queue: DatasetQueue, outcome: Outcome & { kind: 'retryable' }): void {
    const { breaker, rateLimiter, diagnostics } = this.#deps
    const nowMs = monotonicMs()
    if (outcome.status !== undefined) this.lastTrouble = `${outcome.status} ${outcome.reason}`
    this.failure = outcome.status === undefined ? outcome.reason : `the service answers ${this.lastTrouble}`
    const isRefused = isThrottled(outcome.status)
    // A 429 is for the rate limiter alone: both waits together would be too long.
    batch.notBeforeMs = isRefused ? 0 : breaker.onFailed(nowMs, outcome.retryAfterMs)
    const isSuspect = outcome.reset === true && batch.byteLength > suspectBytes && batch.count > 1
    if (isSuspect && ++batch.resets >= resetsUntilSplit) queue.requeue(...batch.split())
    else queue.requeue(batch)
    const isTrouble = isRefused ? rateLimiter.refusals >= refusalsUntilWarned : breaker.isOpen
    if (!isTrouble && outcome.retryAfterMs === undefined) return
    if (isThrottled(outcome.status)) {
      const waitMs = Math.max(breaker.notBeforeMs, rateLimiter.notBeforeMs(nowMs)) - nowMs
      diagnostics.warn(...askedTooOften(outcome.reason, outcome.status, waitMs))
    } else diagnostics.warn(...unreachable(outcome.reason, outcome.status))
  }

  /**
   * Accepted events are evidence about refused events of the same dataset, and about the size that the service accepts.
   */
  #onAccepted(batch: Batch, queue: DatasetQueue, startedAtMs: number): void {
    const nowMs = monotonicMs()
    this.#acceptedAtMs = Math.max(this.#acceptedAtMs, startedAtMs)
    this.#refusalsInRow = 0
    this.#sizeLimit.onAccepted(batch.byteLength, startedAtMs, nowMs)
    queue.refusals?.onAccepted(startedAtMs, nowMs)
    if (queue.refusals !== undefined) queue.skipBackoff()
  }

  #splitTooLarge(batch: Batch, queue: DatasetQueue, startedAtMs: number): void {
    if (batch.count > 1 && this.#sizeLimit.onTooLarge(batch.byteLength, startedAtMs, monotonicMs())) {
      this.#deps.diagnostics.warn(...batchTooLarge(batch.byteLength, this.#sizeLimit.maxBytes))
    }
    this.#refuse(batch, queue, 'too-large', 413, 'too large', startedAtMs)
  }

  /** Splits the batch in halves to find the event to blame, as far as evidence shows that an event is to blame. */
  #refuse(
    batch: Batch,
    queue: DatasetQueue,
    why: 'rejected' | 'too-large',
    status: number,
    reason: string,
    startedAtMs: number,
  ): void {
    const nowMs = monotonicMs()
    const refusals = queue.beginRefusals(nowMs)
    batch.refusals++
    if (batch.refusals === 1) this.#refusalsInRow++
    const verdict = refusals.judge(batch, startedAtMs, nowMs, this.#acceptedAtMs)
    // For a single line the first refusal counts: what was accepted after it is evidence against the line.
    const atMs = batch.count === 1 ? (batch.refusal?.atMs ?? nowMs) : nowMs
    batch.refusal = { atMs, status, reason }
    const isEndless = refusals.isEndless || this.#refusalsInRow >= refusalsUntilPause
    if (isEndless) this.#pauseDataset(queue, status, reason)
    else queue.pause = undefined
    switch (verdict.kind) {
      case 'split': {
        if (batch.requests > quickRequestsPerBatch) batch.notBeforeMs = nowMs + slowRequestMs
        return queue.requeue(...batch.split())
      }
      case 'retry':
        return queue.requeue(batch)
      case 'hold': {
        // At the end of the process, delivery does not wait for a second answer.
        batch.notBeforeMs = this.#sendNow === undefined ? verdict.untilMs : Number.POSITIVE_INFINITY
        // The first refusal is not reported: the answer for a neighboring event may follow, and that answer is
        // evidence.
        if (!isEndless && batch.refusals > 1) this.#deps.diagnostics.warn(...held(batch.dataset, `${status} ${reason}`))
        return queue.requeueLast(batch)
      }
      case 'drop': {
        if (why === 'too-large') this.#deps.diagnostics.warn(...eventTooLarge(batch.byteLength))
        this.#reject(batch, why, status, reason)
      }
    }
  }

  #reject(batch: Batch, why: DropReason, status: number, reason: string): void {
    const { diagnostics } = this.#deps
    if (why === 'rejected') diagnostics.warn(...rejected(batch.dataset, batch.count, `${status} ${reason}`))
    if (diagnostics.has('rejected')) {
      for (const json of batch.lines()) diagnostics.emit('rejected', rejection(batch.dataset, json, status, reason))
    }
    this.#drop(batch, why)
  }

  #stepDown(encoding: Encoding): void {
    const { compression, diagnostics } = this.#deps
    if (compression.stepDown(encoding, monotonicMs()))
      diagnostics.warn(...encodingRefused(encoding, compression.encoding))
  }

  /** Holds a dataset's batches back until a probe is accepted. No event is lost, and the service is not flooded. */
  #pauseBatch(batch: Batch, queue: DatasetQueue, status: number, reason: string): void {
    queue.requeue(batch)
    this.#pauseDataset(queue, status, reason)
  }

  #pauseDataset(queue: DatasetQueue, status: number, reason: string): void {
    const pause = queue.pause
    if (pause !== undefined && !pause.isProbing) return
    const refusals = (pause?.refusals ?? 0) + 1
    const isLast = this.#sendNow !== undefined // at the end of the process, delivery does not wait for a second probe
    const delayMs = isLast ? maxProbeDelayMs : Math.min(firstProbeDelayMs * 2 ** (refusals - 1), maxProbeDelayMs)
    const untilMs = monotonicMs() + delayMs * (0.5 + Math.random() / 2)
    queue.pause = { untilMs, refusals, isProbing: false, status, reason }
    if (pause !== undefined) return
    this.#deps.diagnostics.warn(...paused(queue.dataset, status, reason))
  }

  #drop(batch: Batch, reason: DropReason): void {
    this.#countDropped(reason, batch.bySeverity)
    this.#settle(batch, () => true)
    this.#deps.onSettled()
  }

  #settle(batch: Batch, isLost: (line: number) => boolean): void {
    if (batch.refusal !== undefined) this.#deps.batches.queueFor(batch.dataset).onRefusedSettled(batch.count)
    batch.settle(isLost)
  }

  #countDropped(reason: DropReason, bySeverity: DropsBySeverity): void {
    this.#deps.diagnostics.emit('dropped', this.#deps.ledger.drop(reason, bySeverity))
  }

  #wakeAt(atMs: number, nowMs: number): void {
    if (atMs >= this.#timerAtMs || atMs === Number.POSITIVE_INFINITY) return
    clearTimeout(this.#timer)
    this.#timerAtMs = atMs
    this.#timer = setTimeout(
      () => {
        const wantedMs = this.#timerAtMs
        this.#timerAtMs = Number.POSITIVE_INFINITY
        this.#pump(wantedMs)
      },
      Math.max(Math.ceil(atMs - nowMs), 0),
    ).unref()
  }
}

function isAcceptance({ kind }: Outcome): boolean {
  return kind === 'delivered' || kind === 'partly-rejected'
}

function count(bySeverity: DropsBySeverity, severity: Severity | undefined): void {
  const name = severity === undefined ? 'unknown' : severities[severity]
  bySeverity[name] = (bySeverity[name] ?? 0) + 1
}

/** A line from a spool may be anything, so an invalid line must not keep the other lines from being settled. */
function rejection(dataset: string, json: string | undefined, status: number, reason: string): Rejected {
  return { dataset, event: json === undefined ? undefined : jsonObject(json), status, reason }
}
