import type { Diagnostics } from '../accounting/diagnostics.ts'
import { type DropReason, errorTypeOfDrop } from '../accounting/drop-reasons.ts'
import type { Ledger } from '../accounting/ledger.ts'
import type { AttemptEnd } from '../batch/attempts.ts'
import type { Batch } from '../batch/batch.ts'
import type { DatasetChoice } from '../batch/batch-queue.ts'
import type { BatchLimits, DatasetQueue } from '../batch/dataset-queue.ts'
import type { PieceOrigin } from '../batch/refusals.ts'
import type { Answer } from '../http/exchange.ts'
import { isThrottled } from '../http/statuses.ts'
import { outsideRequests } from '../outside-requests.ts'
import { ownProperties } from '../own-properties.ts'
import { clearTimeout, maxTimeoutMs, monotonicMs, setTimeout, systemTimeMs } from '../time.ts'
import { type BatchLoad, Tuner } from './batch-tuning.ts'
import type { Breaker } from './breaker.ts'
import type { Compression } from './compression.ts'
import { Demand } from './demand.ts'
import { type InFlight, LostRequests, minSilenceMs } from './lost-requests.ts'
import { rateLimitIn } from './rate-limit-headers.ts'
import type { RateInForce, RateLimiter } from './rate-limiter.ts'
import { type Attempt, maxRequestsAtEnd } from './sender.ts'
import { AttemptSettler, type RefusedEvents } from './settle-attempt.ts'
import { ShortMap } from './short-map.ts'
import {
  type Failure,
  paceReason,
  paceRemedy,
  pauseReason,
  remedyFor,
  unansweredFailure,
  type Waiting,
} from './warnings.ts'

/** The queue from which delivery takes batches, and to which it returns them. */
export interface Batches {
  readonly limits: BatchLimits
  /** Number of datasets that have batches, in flight or not. */
  readonly datasetCount: number
  /** Number of batches that are neither delivered nor dropped, batches in flight included. */
  readonly batchCount: number
  dequeue(nowMs: number, choice?: DatasetChoice): Batch | undefined
  wakeAtMs(choice?: DatasetChoice): number
  load(): BatchLoad
  queueFor(dataset: string): DatasetQueue
  probePaused(isProbed: (status: number) => boolean): void
  /** Returns a paused dataset queue that has batches, waiting or in flight; `undefined` if no such queue exists. */
  pausedQueue(): DatasetQueue | undefined
  skipBackoff(): void
  takeAll(origins?: ReadonlySet<PieceOrigin>): Batch[]
}

/** What becomes of batches that are abandoned. */
interface Abandonment {
  /** Returns true for a batch that is not to be dropped, because it was put somewhere else. */
  readonly isKept?: (batch: Batch) => boolean
  /** If given, only batches that were split from these are abandoned. */
  readonly origins?: ReadonlySet<PieceOrigin> | undefined
  /** Called when all batches are settled, before listeners hear of that: a listener may end the process. */
  readonly onSettled?: () => void
}

export interface DeliveryDeps {
  readonly batches: Batches
  /** Calls `onAccepted` once a 2xx status has arrived, with a function as `InFlight.asAccepted`. */
  readonly send: (
    batch: Batch,
    signal: AbortSignal,
    onAccepted: (asAccepted: () => Attempt) => void,
  ) => Promise<Attempt>
  readonly breaker: Breaker
  readonly rateLimiter: RateLimiter
  readonly compression: Compression
  readonly ledger: Ledger
  readonly diagnostics: Diagnostics
  readonly maxConcurrentRequests: number
  /** Name of the field that holds an event's timestamp. */
  readonly timeField: string
  /** Keeps events that the service refused; `undefined` without a spool. */
  readonly keepRefused: ((refused: RefusedEvents) => void) | undefined
  /** Called when lines have been delivered or dropped. */
  readonly onSettled: () => void
  /** Called with the headers of each answer. */
  readonly onAnswer: (headers: Answer['headers']) => void
  /** Called while events wait for the first request of all. May hold it back by the rate limiter. */
  readonly onFirstWaiting: () => void
  /** Called when the service has answered a batch of the dataset with a 2xx status. */
  readonly onDelivered: (dataset: string) => void
  /** Called when a batch that was sent is delivered or dropped, after its last attempt. Never throws. */
  readonly onExported: (exported: Exported) => void
}

/** The attempts to send a batch, from the first one to the last. */
export interface Exported {
  /** Time since the start of the first attempt, waits between attempts included, in milliseconds. */
  readonly durationMs: number
  /** HTTP status of the last answer, if one came. */
  readonly status: number | undefined
  /** Why the batch, or a part of it, was not delivered; `undefined` if it was. */
  readonly errorType: string | undefined
}

/** Maximum part of the requests in flight that datasets without an answer take from others. */
const unansweredPart = 0.5

/** What a batch was when its attempt began. The batch of an attempt that was aborted may have changed since. */
type Sent = Pick<Batch, 'dataset' | 'count' | 'byteLength'>

/** A wait for delivery that ends early if the service asks for a longer one. */
interface LimitedWait {
  readonly endMs: number
  readonly end: () => void
}

/** Makes an attempt without the event loop. */
type SendNow = (batch: Batch, onAttempt: (attempt: Attempt) => void) => void

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
  readonly #settler: AttemptSettler
  readonly #inFlight = new ShortMap<Batch, InFlight>()
  readonly #lostRequests: LostRequests
  /** The datasets that may make a request before one in flight has ended; `undefined` for all of them. */
  #eligibleDatasets: DatasetChoice | undefined
  #sendNow: SendNow | undefined
  /** Deadline set by the last `skipBackoff`, until `clearDeadline`; monotonic, in milliseconds. */
  #endMs = Number.NEGATIVE_INFINITY
  #timer: NodeJS.Timeout | undefined
  #timerAtMs = Number.POSITIVE_INFINITY
  /** The waits that end early if they are in vain. */
  readonly #limitedWaits = new Set<LimitedWait>()
  /** Number of requests made. */
  requests = 0
  /** Number of these requests that were refused with 429. */
  throttledRequests = 0
  /** Number of these requests that repeated an earlier one. */
  retries = 0
  /** Bytes of the request bodies as sent, of the attempts that have ended. */
  bytesOnWire = 0

  constructor(deps: DeliveryDeps) {
    const { batches, breaker, rateLimiter } = deps
    this.#deps = deps
    this.#lostRequests = new LostRequests(this.#inFlight, breaker)
    this.#settler = new AttemptSettler({
      ...deps,
      queueFor: dataset => batches.queueFor(dataset),
      datasetCount: () => batches.datasetCount,
      probePaused: isProbed => batches.probePaused(isProbed),
      hasDeadline: nowMs => nowMs < this.#endMs,
      isProcessEnding: () => this.#sendNow !== undefined,
      onConcluded: ({ attempts: { startedAtMs, end } }, reason) => {
        const errorType = reason && (end?.errorType ?? errorTypeOfDrop(reason))
        deps.onExported({ durationMs: monotonicMs() - startedAtMs, status: end?.status, errorType })
      },
    })
    const requestsPerSecond = (nowMs: number) => rateLimiter.inForce(nowMs).requestsPerSecond
    this.demand = new Demand(batches, () => this.requests, requestsPerSecond)
    this.#tuner = new Tuner(batches, requestsPerSecond, nowMs => this.#settler.sizeLimit.maxGrownBytes(nowMs))
  }

  /** Status and reason of the last answer that asked for another attempt. */
  get lastTrouble(): string | undefined {
    return this.#settler.lastTrouble
  }

  /** Maximum size of a batch when it is sent, in bytes. */
  get maxBatchBytes(): number {
    return Math.min(this.#deps.batches.limits.maxBatchBytes, this.#settler.sizeLimit.maxBytes)
  }

  /** Number of requests in flight. */
  get inFlight(): number {
    return this.#inFlight.size
  }

  /** Number of events in these requests. */
  get eventsInFlight(): number {
    let count = 0
    for (const batch of this.#inFlight.keys()) count += batch.count
    return count
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
    const limit = this.#lostRequests.maxInFlight(nowMs, this.#maxRequests(nowMs))
    const sinceMs = Math.min(nowMs, wantedMs)
    this.#eligibleDatasets = undefined
    this.#tuner.tune(nowMs)
    if (!rateLimiter.hasStarted && this.isWaiting) this.#deps.onFirstWaiting()
    const notBeforeMs = () => Math.max(breaker.notBeforeMs, rateLimiter.notBeforeMs(nowMs, sinceMs))
    this.#repeatLost(nowMs, () => nowMs >= notBeforeMs())
    while (this.#inFlight.size < limit && nowMs >= notBeforeMs() && !this.#isOver) {
      const batch = this.#dequeue(nowMs, limit)
      if (batch === undefined) {
        rateLimiter.onIdle()
        break
      }
      rateLimiter.onStart(nowMs, sinceMs)
      this.#attempt(this.#cutToSize(batch, nowMs), nowMs)
    }
    if (this.#limitedWaits.size > 0) this.#endInVain()
    // The timer may be set already, or only an answer can change something. With thousands of dataset queues, asking each
    // for its time would cost more than all else.
    if (notBeforeMs() >= this.#timerAtMs) return
    const isFull = this.#inFlight.size >= limit
    if (!isFull) this.#wakeAt(Math.max(batches.wakeAtMs(this.#eligibleDatasets), notBeforeMs()), nowMs)
    if (isFull || nowMs < this.#endMs)
      this.#wakeAt(Math.max(this.#lostRequests.nextSilenceMs(nowMs), notBeforeMs()), nowMs)
  }

  /** Returns the rate in force if the next request waits for nothing else. */
  heldBackBy(nowMs: number): RateInForce | undefined {
    const { breaker, rateLimiter } = this.#deps
    return breaker.isOpen || breaker.notBeforeMs > nowMs ? undefined : rateLimiter.holdingBack(nowMs)
  }

  /** Returns why events wait, if that is known: a paused dataset, the rate in force, or the failure of the last attempt. */
  whyWaiting(nowMs: number): Waiting | undefined {
    const { dataset, pause } = this.#deps.batches.pausedQueue() ?? {}
    if (dataset !== undefined && pause !== undefined) {
      const { status, reason } = pause
      return { clause: `, because ${pauseReason({ dataset, status, reason })}`, remedy: remedyFor(status) }
    }
    const inForce = this.heldBackBy(nowMs)
    if (inForce !== undefined) return { clause: `, because ${paceReason(inForce)}`, remedy: paceRemedy }
    const failure = this.#settler.failure(nowMs) ?? this.#unansweredFailure()
    return failure && { clause: ` (${failure.reason})`, remedy: failure.remedy }
  }

  /**
   * Makes everything that waits after a failure due now, because there is no time after `timeoutMs`. Until then, waits
   * after failures stay short, and up to `maxRequestsAtEnd` datasets are served at the same time.
   */
  skipBackoff(timeoutMs: number): void {
    this.#endMs = monotonicMs() + timeoutMs
    this.#deps.breaker.setDeadline(this.#endMs)
    this.#deps.rateLimiter.setDeadline(this.#endMs)
    this.#lostRequests.setDeadline(this.#endMs)
    this.#deps.batches.skipBackoff()
    this.pump()
  }

  /**
   * Calls `end` when events wait and no request may start before `endMs`, because the service has asked for a longer wait.
   *
   * @returns a function after which `end` is not called any more
   */
  endIfInVain(endMs: number, end: () => void): () => void {
    const wait: LimitedWait = { endMs, end }
    this.#limitedWaits.add(wait)
    this.#endInVain()
    return () => void this.#limitedWaits.delete(wait)
  }

  /** Ends the time that `skipBackoff` began: the usual waits and limits hold again. */
  clearDeadline(): void {
    this.#endMs = Number.NEGATIVE_INFINITY
    this.#deps.breaker.clearDeadline()
    this.#deps.rateLimiter.clearDeadline()
    this.#lostRequests.clearDeadline()
  }

  /**
   * Makes every attempt through `sendNow` from now on, until `undefined` is passed. Attempts in flight are aborted, and
   * their batches are sent again, because no outcome can arrive while the event loop is stopped.
   */
  useSyncSender(sendNow: SendNow | undefined): void {
    this.#breakOffAll()
    this.#sendNow = sendNow
  }

  /**
   * Does what `pump` does. Returns the monotonic time at which to call it again, or `Infinity` if only an answer can
   * change something.
   */
  wake(): number {
    this.#stopTimer()
    this.pump()
    return this.#timerAtMs
  }

  /**
   * Abandons every batch that is not delivered, in flight or not. An event that the service has refused alone is dropped as
   * refused, all others for `reason`.
   */
  abandon(reason: DropReason, given: Abandonment = {}): void {
    const { isKept = () => false, origins, onSettled = () => {} } = ownProperties(given)
    this.#breakOffAll()
    const lost = this.#deps.batches.takeAll(origins).filter(batch => !isKept(batch))
    // The timer would keep a closed shipper in memory for as long as the service has asked to wait.
    if (origins === undefined) this.#stopTimer()
    this.#settler.abandon(lost, reason, onSettled)
  }

  #endInVain(): void {
    const { breaker, rateLimiter } = this.#deps
    if (this.#inFlight.size > 0 || !this.isWaiting) return
    const askedUntilMs = Math.max(breaker.askedUntilMs, rateLimiter.askedUntilMs)
    for (const { endMs, end } of this.#limitedWaits) if (askedUntilMs >= endMs) end()
  }

  /** The longest wait for an answer, unless it is short. */
  #unansweredFailure(): Failure | undefined {
    for (const [{ byteLength, attempts }, { startedAtMs, asAccepted }] of this.#inFlight.entries()) {
      const sinceMs = attempts.isRepeated ? attempts.startedAtMs : startedAtMs
      const waitMs = monotonicMs() - sinceMs
      if (asAccepted !== undefined || waitMs < minSilenceMs) continue
      return unansweredFailure(byteLength, this.#settler.smallerAcceptedSince(sinceMs, byteLength), waitMs)
    }
    return undefined
  }

  /**
   * Takes the next batch. Datasets whose requests are answered come first: others must not wait until the requests of an
   * unanswered dataset time out one after another. A probe is of a dataset that was accepted last, if there is one: many
   * datasets that fail must not hold up one that is well.
   */
  #dequeue(nowMs: number, limit: number): Batch | undefined {
    const { batches, breaker } = this.#deps
    let unanswered: Set<string> | undefined
    let requests = 0
    for (const [{ dataset }, { startedAtMs, asAccepted }] of this.#inFlight.entries()) {
      if (asAccepted !== undefined) continue
      const queue = batches.queueFor(dataset)
      if (nowMs - startedAtMs < minSilenceMs && !queue.isUnanswered) continue
      if (queue.acceptedAtMs > startedAtMs) continue // only this request is lost
      unanswered ??= new Set()
      unanswered.add(dataset)
      requests++
    }
    if (breaker.isOpen) {
      const accepted: DatasetChoice = { without: unanswered, isAccepted: true }
      if (unanswered !== undefined) this.#eligibleDatasets = accepted
      return batches.dequeue(nowMs, accepted) ?? (unanswered === undefined ? batches.dequeue(nowMs) : undefined)
    }
    if (unanswered === undefined) return batches.dequeue(nowMs)
    const others: DatasetChoice = { without: unanswered, isAccepted: false }
    const leavesRoom = requests < limit * unansweredPart || batches.datasetCount <= unanswered.size
    this.#eligibleDatasets = leavesRoom ? undefined : others
    return batches.dequeue(nowMs, others) ?? (leavesRoom ? batches.dequeue(nowMs) : undefined)
  }

  /** Makes requests a second time that may be lost, as far as they may start now. */
  #repeatLost(nowMs: number, mayStart: () => boolean): void {
    if (this.#sendNow !== undefined) return
    for (const [batch, one] of this.#lostRequests.toRepeat(nowMs)) {
      if (!mayStart()) return
      this.#deps.rateLimiter.onStart(nowMs)
      this.#attempt(batch, nowMs, one)
    }
  }

  /** True at the end of the process when its time is up. Compressing the bodies of further requests would delay the end. */
  get #isOver(): boolean {
    return this.#sendNow !== undefined && monotonicMs() >= this.#endMs
  }

  #maxRequests(nowMs: number): number {
    const { batches, maxConcurrentRequests } = this.#deps
    if (nowMs >= this.#endMs) return maxConcurrentRequests
    return Math.max(maxConcurrentRequests, Math.min(batches.datasetCount, maxRequestsAtEnd))
  }

  /**
   * Aborts every attempt in flight, and returns the batches to their queues. The outcomes of these attempts are ignored,
   * unless a 2xx status has arrived: such a batch is delivered, although the rest of its answer is missing. Listeners hear
   * of that when every other batch is in its queue, because a listener may end the process. It may also start further
   * attempts, which are aborted as well.
   */
  #breakOffAll(): void {
    while (this.#inFlight.size > 0) {
      const ends: (() => unknown)[] = []
      for (const [batch, one] of this.#inFlight.entries().reverse()) {
        const answered = [one, one.earlier].find(attempt => attempt?.asAccepted !== undefined)
        if (answered?.asAccepted === undefined) this.#breakOff(batch, one)
        else {
          const attempt = answered.asAccepted()
          // A listener of another end may have ended this attempt before: it emits 'exit', for example.
          ends.push(() => this.#inFlight.get(batch) === one && this.#end(batch, attempt, answered.startedAtMs))
        }
        one.controller.abort()
        one.earlier?.controller.abort()
      }
      for (const end of ends.reverse()) end()
    }
  }

  #breakOff(batch: Batch, { startedAtMs }: InFlight): void {
    const queue = this.#deps.batches.queueFor(batch.dataset)
    this.#inFlight.delete(batch)
    queue.endProbe(startedAtMs)
    if (monotonicMs() - startedAtMs >= minSilenceMs) queue.isUnanswered = true
    queue.requeue(batch)
  }

  /**
   * Returns the batch, or only its first lines if it is larger than the service accepts. The other lines are requeued.
   */
  #cutToSize(batch: Batch, nowMs: number): Batch {
    const { batches } = this.#deps
    const maxBytes = Math.min(
      this.#settler.sizeLimit.nextMaxBytes(batch.byteLength, nowMs),
      batches.limits.batchBytesCeiling,
    )
    if (batch.byteLength <= maxBytes || batch.count === 1) return batch
    const [first, rest] = batch.splitAt(maxBytes)
    batches.queueFor(batch.dataset).requeue(rest)
    return first
  }

  /** @param earlier an attempt for the same batch that goes on beside this one */
  #attempt(batch: Batch, startedAtMs: number, earlier?: InFlight): void {
    const isProbe = this.#deps.breaker.isOpen
    const one: InFlight = { controller: new AbortController(), startedAtMs, isProbe, earlier, asAccepted: undefined }
    this.#inFlight.set(batch, one)
    const queue = this.#deps.batches.queueFor(batch.dataset)
    if (earlier === undefined) queue.beginProbe(startedAtMs)
    batch.attempts.isRepeated = earlier !== undefined
    this.requests++
    if (batch.attempts.begin(startedAtMs, queue.acceptedAtMs)) this.retries++
    else this.#deps.ledger.send(batch.count)
    batch.countRequest()
    this.#beginTrial(batch, startedAtMs)
    const sent: Sent = { dataset: batch.dataset, count: batch.count, byteLength: batch.byteLength }
    const onAttempt = (attempt: Attempt): void => {
      this.bytesOnWire += attempt.bodyBytes
      if (attempt.answer !== undefined) this.#lostRequests.onAnswered(startedAtMs)
      this.#readRateLimits(attempt, startedAtMs)
      const current = this.#inFlight.get(batch)
      const other = current === one ? one.earlier : current?.earlier === one ? current : undefined
      if (other !== undefined && attempt.answer === undefined) {
        // The other attempt may still be answered.
        if (current === one) this.#inFlight.set(batch, other)
        else other.earlier = undefined
        this.#report(sent, attempt, monotonicMs() - startedAtMs)
      } else if (current === one || other !== undefined) {
        this.#end(batch, attempt, startedAtMs)
        other?.controller.abort()
      } else {
        batch.body.drop() // the attempt was aborted: the batch was abandoned or is sent again
        if (one.asAccepted === undefined) this.#report(sent, attempt, monotonicMs() - startedAtMs)
      }
      this.pump()
    }
    if (this.#sendNow !== undefined) return this.#sendNow(batch, onAttempt)
    const onAccepted = (asAccepted: () => Attempt): void => {
      one.asAccepted = asAccepted
    }
    outsideRequests(() => void this.#deps.send(batch, one.controller.signal, onAccepted).then(onAttempt))
  }

  /** Sends the batch uncompressed if it is time to find out whether the compression is the reason for errors. */
  #beginTrial({ attempts, byteLength }: Batch, nowMs: number): void {
    if (attempts.suspect !== undefined) return
    const suspect = this.#deps.compression.beginTrial(byteLength, nowMs)
    if (suspect !== undefined) attempts.beginCompressionTrial(suspect)
  }

  #end(batch: Batch, attempt: Attempt, startedAtMs: number): void {
    const durationMs = monotonicMs() - startedAtMs
    this.#inFlight.delete(batch)
    this.#deps.batches.queueFor(batch.dataset).isUnanswered = attempt.answer === undefined
    batch.attempts.end = endOf(attempt)
    this.#settler.settle(batch, attempt, startedAtMs)
    this.#report(batch, attempt, durationMs) // last, because a listener may end the process
  }

  #report({ dataset, count, byteLength }: Sent, attempt: Attempt, durationMs: number): void {
    const { diagnostics } = this.#deps
    if (!diagnostics.has('attempted')) return
    diagnostics.emit('attempted', { dataset, count, bytes: byteLength, durationMs, ...endOf(attempt) })
  }

  /**
   * Passes the rates and limits in an answer to the rate limiter. An answer that asks for another attempt has none,
   * unless it is a 429.
   */
  #readRateLimits({ outcome, answer }: Attempt, startedMs: number): void {
    const throttled = outcome.kind === 'retryable' && isThrottled(outcome.status)
    if (throttled) this.throttledRequests++
    if (throttled || outcome.kind !== 'retryable') {
      const retryAfterMs = throttled ? outcome.retryAfterMs : undefined
      const told = answer === undefined ? {} : rateLimitIn(answer.headers, systemTimeMs())
      this.#deps.rateLimiter.onAnswer(monotonicMs(), { throttled, retryAfterMs, ...told }, startedMs)
    }
    if (answer !== undefined) this.#deps.onAnswer(answer.headers)
  }

  #stopTimer(): void {
    clearTimeout(this.#timer)
    this.#timerAtMs = Number.POSITIVE_INFINITY
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
      Math.min(Math.max(Math.ceil(atMs - nowMs), 0), maxTimeoutMs),
    ).unref()
  }
}

function endOf({ answer, errorType }: Attempt): AttemptEnd {
  const status = answer?.status
  return { status, errorType: status !== undefined && status >= 300 ? String(status) : errorType }
}
