import type { Diagnostics, Rejected, Retried } from '../accounting/diagnostics.ts'
import type { DropReason } from '../accounting/drop-reasons.ts'
import { dropPending } from '../accounting/drops.ts'
import { countOne, type DropsBySeverity, type Ledger } from '../accounting/ledger.ts'
import type { Loss } from '../batch/acknowledgements.ts'
import type { Batch } from '../batch/batch.ts'
import type { DatasetQueue } from '../batch/dataset-queue.ts'
import type { Encoding } from '../http/encodings.ts'
import { jsonObject } from '../http/json-object.ts'
import { isInTrouble, isThrottled } from '../http/statuses.ts'
import type { EventFailure, Outcome } from '../outcome.ts'
import { monotonicMs } from '../time.ts'
import type { Breaker } from './breaker.ts'
import type { Compression } from './compression.ts'
import { failedLines } from './failed-lines.ts'
import type { RateLimiter } from './rate-limiter.ts'
import type { Attempt } from './sender.ts'
import { SizeFinder } from './size-finder.ts'
import {
  askedTooOften,
  batchTooLarge,
  batchUnanswered,
  doubtful,
  encodingRefused,
  eventTooLarge,
  type Failure,
  failureRemedy,
  paceRemedy,
  paused,
  refusedAndKept,
  rejected,
  unreachable,
  unreachableAlone,
} from './warnings.ts'

interface AttemptSettlerDeps {
  readonly queueFor: (dataset: string) => DatasetQueue
  readonly datasetCount: () => number
  /** Makes the next probe of each dataset due that is paused because of an answer with such a status. */
  readonly probePaused: (isProbed: (status: number) => boolean) => void
  /** Returns true while there is only a limited time to deliver. */
  readonly hasDeadline: (nowMs: number) => boolean
  /** Returns true at the end of the process, when there is no time for a second answer. */
  readonly isProcessEnding: () => boolean
  readonly breaker: Breaker
  readonly rateLimiter: RateLimiter
  readonly compression: Compression
  readonly ledger: Ledger
  readonly diagnostics: Diagnostics
  /** Name of the field that holds an event's timestamp. */
  readonly timeField: string
  /** Keeps events that the service refused; `undefined` without a spool. */
  readonly keepRefused: ((refused: RefusedEvents) => void) | undefined
  /** Called when lines have been delivered or dropped. */
  readonly onSettled: () => void
  /** Called when the service has answered a batch of the dataset with a 2xx status. */
  readonly onDelivered: (dataset: string) => void
  /**
   * Called when a batch that was sent is delivered or dropped.
   *
   * @param reason why events of it were dropped, if any were
   */
  readonly onConcluded: (batch: Batch, reason: DropReason | undefined) => void
}

/** Events of a batch that the service refused. */
export interface RefusedEvents {
  readonly dataset: string
  readonly status: number
  /** Each event as it was sent, in one line of JSON; `undefined` if the service did not say which event it refused. */
  readonly events: readonly { readonly json: string | undefined; readonly reason: string }[]
}

/** An attempt that is being settled. */
interface EndedAttempt {
  readonly batch: Batch
  readonly queue: DatasetQueue
  readonly encoding: Encoding
  /** Start of the request; monotonic, in milliseconds. */
  readonly startedAtMs: number
  /** True if the dataset was paused, and this attempt was its probe. */
  readonly isProbe: boolean
}

/** Why the service refused a batch. */
interface RefusedFor {
  readonly why: 'rejected' | 'too-large'
  readonly status: number
  readonly reason: string
}

/** The answer that pauses a dataset. */
interface PausedFor {
  readonly status: number
  readonly reason: string
  /** Time until the next probe, in milliseconds; by default it grows with the number of probes. */
  readonly probeAfterMs: number | undefined
  /** True if some of the events may be the reason. */
  readonly mayBeForEvents: boolean
  /** Maximum size of the next probe, in bytes. `undefined` for no maximum. */
  readonly maxProbeBytes?: number | undefined
}

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
/** Number of refused requests of any dataset in a row after which the service counts as one that refuses everything. */
const refusedUntilAll = 64
/** Number of 429s in a row after which they are reported if the service does not say how long to wait. */
const refusalsUntilWarned = 5
/**
 * Minimum wait, in milliseconds, that is reported after a single answer or none: the wait for an answer, and after a 429 the
 * time to the next window that its headers name. Shorter waits are common under a limit per second.
 */
const minReportedWaitMs = 5000
/** Time for which the service counts as inconsistent after it has accepted an event that it had refused. */
const inconsistentForMs = 60_000
/** Statuses with which a firewall or a server such as IIS answers to large bodies, as to a wrong token or dataset. */
const statusesOfFirewalls: readonly number[] = [403, 404]
/** Maximum time between two answers that block a dataset if the size of batches is the reason, in milliseconds. */
const blockedForSizeMs = 60_000
/** The part of a blocked probe that the next probe has. */
const partOfProbe = 8
/** Number of probes in a row that are cut. 100,000 events, the most of a batch, are cut six times to one event if they are alike. */
const maxCutProbes = 8
/**
 * Number of probes that follow a 403 at once while there is only a limited time to deliver. The end of the process waits for
 * as many probes if some of the events may be the reason for a refusal.
 */
const maxProbesAtEnd = 3
/** Number of accepted requests of which the size is known. */
const maxAccepted = 32
const firstProbeDelayMs = 1000
/**
 * The same if some of the events may be the reason. A batch with many events to blame pauses its dataset again and again, and
 * the first probe, one event, mostly ends that.
 */
const firstProbeOfEventsMs = 100
/**
 * Maximum time between probes while the service accepts other datasets, in milliseconds: a dataset whose events are all
 * refused for a minute is convicted by the next probe.
 */
const maxProbeOfEventsMs = 15_000
/** Mean time between the probes of all datasets while the service refuses everything, in milliseconds. */
const betweenProbesMs = 50
const maxProbeDelayMs = 60_000
/**
 * Minimum time between two accepted probes after which all datasets are probed that are paused because of one status, in
 * milliseconds: the status of the accepted dataset, or another one.
 */
const betweenProbesOfAllMs = { same: 10_000, other: 60_000 }

/**
 * Decides by the outcome of an attempt what happens to its batch: delivered, tried again, split, held back or dropped.
 * A batch that must be tried again returns to its queue, before any listener hears of that: a listener may end the
 * process.
 */
export class AttemptSettler {
  readonly #sizes = new SizeFinder()
  readonly sizeLimit = this.#sizes.limit
  /** Status and reason of the last answer that asked for another attempt. */
  lastTrouble: string | undefined
  readonly #deps: AttemptSettlerDeps
  /** Why the last attempt failed; `undefined` when the service has given another answer since. */
  #failure: Failure | undefined
  /** The last answer that asked for a wait, and the end of that wait; monotonic, in milliseconds. */
  #asked: { readonly failure: Failure; readonly untilMs: number } | undefined
  /** Start of the latest request that the service accepted; monotonic, in milliseconds. */
  #acceptedAtMs = Number.NEGATIVE_INFINITY
  /** The last requests that the service accepted: start, and bytes of the lines. */
  readonly #accepted: { readonly startedAtMs: number; readonly bytes: number }[] = []
  /** Time at which the service last accepted an event that it had refused; monotonic, in milliseconds. */
  #inconsistentAtMs = Number.NEGATIVE_INFINITY
  /**
   * Time of the last accepted probe after which all datasets were probed that were paused because of a status; monotonic, in
   * milliseconds.
   */
  readonly #probedAllAtMs = new Map<number, number>()
  /** Number of pieces refused since the last acceptance, each counted once. */
  #refusalsInRow = 0
  /** Number of requests that the service has refused since the last acceptance. */
  #refusedInRow = 0
  /** Number of probes after a 403 that followed at once, since the last acceptance. */
  #probesAtEnd = 0

  constructor(deps: AttemptSettlerDeps) {
    this.#deps = deps
  }

  /**
   * Returns why the last attempt failed, if the service has given no other answer since. An answer that asked for a wait is
   * the reason until that wait is over.
   */
  failure(nowMs: number): Failure | undefined {
    return this.#failure ?? (this.#asked !== undefined && nowMs < this.#asked.untilMs ? this.#asked.failure : undefined)
  }

  /** Returns the size of the largest batch that was sent later and accepted, if it is at most half of `bytes`. */
  smallerAcceptedSince(startedAtMs: number, bytes: number): number | undefined {
    const later = this.#accepted.filter(one => one.startedAtMs > startedAtMs).map(one => one.bytes)
    const largest = Math.max(...later)
    return later.length > 0 && largest <= bytes / 2 ? largest : undefined // a little smaller ones may be so by chance
  }

  settle(batch: Batch, { outcome, encoding }: Attempt, startedAtMs: number): void {
    const { queueFor, breaker, compression } = this.#deps
    const queue = queueFor(batch.dataset)
    const ended: EndedAttempt = { batch, queue, encoding, startedAtMs, isProbe: queue.endProbe(startedAtMs) }
    this.#endPause(ended, outcome)
    if (isFailureOfDataset(outcome)) queue.onFailed(startedAtMs)
    if (isAcceptance(outcome)) this.#refusedInRow = 0
    else if (outcome.kind !== 'retryable') this.#refusedInRow++
    if (outcome.kind !== 'retryable') {
      breaker.onAnswered()
      this.#failure = undefined
    }
    switch (outcome.kind) {
      case 'delivered':
      case 'partly-rejected': {
        const { suspect, isCompressionTrial, refusal } = batch.attempts
        this.#settleAnswered(ended, outcome)
        if (suspect !== undefined) {
          if (!isCompressionTrial || compression.onTrialAccepted(suspect)) this.#stepDown(suspect)
        } else if (refusal !== undefined && encoding === 'none') compression.doubt()
        else compression.accept(encoding, monotonicMs())
        return
      }
      case 'retryable':
        if (isFailure(outcome) && !compression.endProbe(encoding, monotonicMs()))
          this.#suspectCompression(batch, encoding)
        return this.#retry(ended, outcome)
      case 'too-large':
        batch.attempts.clearCompression() // compressed, the same lines may be small enough
        return this.#splitTooLarge(ended)
      case 'unsupported-encoding': {
        queue.requeue(batch)
        if (encoding !== 'none') return this.#stepDown(encoding)
        const reason = 'the media type is not supported'
        return this.#pauseDataset(ended, { status: 415, reason, probeAfterMs: undefined, mayBeForEvents: false })
      }
      case 'rejected':
        return this.#settleRejected(ended, outcome)
      case 'blocked':
        if (compression.endProbe(encoding, monotonicMs())) return sendAgain(queue, batch)
        if (batch.attempts.isBlockedAlone) return this.#settleRejected(ended, outcome)
        if (this.#splitBlocked(ended, outcome.status)) return
        this.#suspectCompression(batch, encoding)
        return this.#block(ended, outcome)
    }
  }

  /** Ends the pause of the dataset if the service accepts its events, or has not refused them yet: only the compression. */
  #endPause({ queue, encoding }: EndedAttempt, outcome: Outcome): void {
    const pausedBy = queue.pause?.status
    const isOfCompression = outcome.kind === 'unsupported-encoding' && encoding !== 'none'
    if (isAcceptance(outcome) || isOfCompression) queue.unpause()
    if (isAcceptance(outcome) && pausedBy !== undefined) this.#probeOthers(pausedBy)
  }

  /** Notes an error for which the compression may be the reason. */
  #suspectCompression({ attempts }: Batch, encoding: Encoding): void {
    if (attempts.isCompressionTrial) attempts.clearCompression()
    else this.#deps.compression.onFailed(encoding, monotonicMs())
  }

  /** The cause may have been the same for other datasets, such as a token that has been renewed, whatever the status was. */
  #probeOthers(acceptedAfter: number): void {
    const nowMs = monotonicMs()
    const isDue = (status: number): boolean => {
      const afterMs = status === acceptedAfter ? betweenProbesOfAllMs.same : betweenProbesOfAllMs.other
      return nowMs - (this.#probedAllAtMs.get(status) ?? Number.NEGATIVE_INFINITY) >= afterMs
    }
    const probed = new Set<number>()
    this.#deps.probePaused(status => isDue(status) && probed.add(status) !== undefined)
    for (const status of probed) this.#probedAllAtMs.set(status, nowMs)
  }

  /**
   * Drops batches that will not be sent again: as refused if a batch is one event that the service has refused alone, else
   * for `reason`. A refusal of several events says nothing about each of them. Calls `onSettled` before listeners.
   */
  abandon(batches: readonly Batch[], reason: DropReason, onSettled: () => void): void {
    const notices: (() => void)[] = []
    for (const batch of batches) {
      const { refusal, refusals } = batch.attempts
      if (refusal === undefined || refusals === 0 || batch.count > 1) {
        this.#lose(batch, { reason, status: undefined, serviceReason: undefined }, notices)
      } else {
        const { status, reason } = refusal
        this.#loseRefused(batch, { why: status === 413 ? 'too-large' : 'rejected', status, reason }, notices)
      }
    }
    onSettled()
    if (batches.length > 0) this.#tell(notices)
  }

  #settleRejected(ended: EndedAttempt, { status, reason }: Outcome & { kind: 'rejected' | 'blocked' }): void {
    const { compression } = this.#deps
    const { batch, queue, encoding, startedAtMs } = ended
    const { attempts, count } = batch
    // An event is refused alone only if it is refused uncompressed, too, both at first and at last. An encoding that was
    // accepted before may be refused now, for example by a new gateway.
    const isAlone = count === 1 && attempts.refusals !== 1
    if (encoding !== 'none' && (isAlone || compression.isSuspect(encoding))) {
      attempts.suspectCompression(encoding)
      return sendAgain(queue, batch)
    }
    if (attempts.suspect !== undefined) compression.clear(attempts.suspect)
    attempts.clearCompression() // before a split copies it to the parts
    const { byteLength } = batch
    const isCut = this.#sizes.onSplit(batch, startedAtMs)
    this.#refuse(ended, { why: 'rejected', status, reason })
    if (isCut) this.#deps.diagnostics.warn(...batchTooLarge(byteLength, this.sizeLimit.maxBytes, status))
  }

  /**
   * Notes that a batch was blocked. Splits it, and returns true, if a firewall probably blocked it for its size: some
   * answer 403 to every large body. Evidence is that the dataset was blocked, then a smaller batch of it was accepted, then
   * this batch was blocked for the first time.
   */
  #splitBlocked({ batch, queue, startedAtMs }: EndedAttempt, status: number): boolean {
    const { sizeLimit } = this
    const { attempts, byteLength, count } = batch
    const nowMs = monotonicMs()
    const { sinceMs, acceptedBytes } = queue.onBlocked(nowMs)
    const isExpected = byteLength > sizeLimit.maxBytes || sinceMs < blockedForSizeMs
    if (!statusesOfFirewalls.includes(status) || count === 1 || attempts.wasBlocked || !isExpected) return false
    if (acceptedBytes === 0 || acceptedBytes >= byteLength) return false
    const isCut = sizeLimit.onTooLarge(byteLength, startedAtMs, nowMs, acceptedBytes)
    sendAgain(queue, ...batch.split())
    if (isCut) this.#deps.diagnostics.warn(...batchTooLarge(byteLength, sizeLimit.maxBytes, status))
    return true
  }

  /**
   * Pauses the dataset. The next probe has other events: a firewall may block one event, with the same answer as for a
   * wrong token, or every large body. Of a probe that is blocked as well, the next one has an eighth. If there is only a
   * limited time to deliver, a few probes follow at once.
   */
  #block(ended: EndedAttempt, { status, reason }: Outcome & { kind: 'blocked' }): void {
    const { batch, queue, isProbe } = ended
    const nowMs = monotonicMs()
    batch.attempts.block(nowMs)
    const wasInFlight = queue.pause !== undefined && !isProbe // when the pause began: it says no more about the dataset
    const mayFollow = status === 403 && this.#deps.hasDeadline(nowMs) && this.#probesAtEnd < maxProbesAtEnd
    const mayFollowAtOnce = mayFollow && !wasInFlight
    const isCut = mayFollowAtOnce || (isProbe && (queue.pause?.refusals ?? 0) <= maxCutProbes)
    const [probe, rest] =
      isCut && batch.count > 1 ? cutProbe(batch, (queue.pause?.refusals ?? 0) % 2 === 0) : [batch, undefined]
    if (rest === undefined) queue.requeueLast(batch)
    else queue.requeue(probe, rest)
    const followsAtOnce = mayFollowAtOnce && queue.waitingCount > 1
    if (followsAtOnce) this.#probesAtEnd++
    const probeAfterMs = followsAtOnce ? 0 : undefined
    const maxProbeBytes = isCut ? probe.byteLength : undefined
    this.#pauseDataset(ended, { status, reason, probeAfterMs, mayBeForEvents: false, maxProbeBytes })
  }

  #settleAnswered(ended: EndedAttempt, outcome: Outcome & { kind: 'delivered' | 'partly-rejected' }): void {
    const { ledger, diagnostics } = this.#deps
    const { batch } = ended
    const failed = outcome.kind === 'partly-rejected' ? Math.min(outcome.failed, batch.count) : 0
    if (failed < batch.count) this.#onAccepted(ended)
    ledger.deliver(batch.count - failed)
    const notices: (() => void)[] = []
    const lossOf =
      outcome.kind === 'partly-rejected'
        ? this.#countFailures(batch, failed, outcome.failures, notices)
        : () => undefined
    batch.settle(lossOf) // first, because a listener may end the process: the spool must not keep the batch
    this.#deps.onConcluded(batch, failed > 0 ? 'rejected' : undefined)
    const { doubt } = outcome
    if (doubt !== undefined)
      notices.push(() => diagnostics.warn(...doubtful(batch.dataset, batch.count, failed, doubt)))
    if (diagnostics.has('delivered')) {
      const delivered = { dataset: batch.dataset, count: batch.count - failed, bytes: batch.byteLength }
      notices.push(() => diagnostics.emit('delivered', delivered))
    }
    diagnostics.emitInTurn(notices)
    this.#deps.onDelivered(batch.dataset)
    this.#deps.onSettled()
  }

  /**
   * Returns a function that tells the loss of each line by its index, as far as the failed lines can be identified. Adds
   * the functions that report the failures to `notices`.
   */
  #countFailures(
    batch: Batch,
    failed: number,
    failures: readonly EventFailure[],
    notices: (() => void)[],
  ): (line: number) => Loss | undefined {
    const { diagnostics, timeField } = this.#deps
    const { dataset } = batch
    const reasons = new Set<string>()
    const bySeverity: DropsBySeverity = {}
    const lines = failedLines(batch, failed, failures, timeField)
    for (const { line, reason } of lines) {
      reasons.add(reason)
      countOne(bySeverity, line?.severity)
    }
    this.#reportRefused(notices, { dataset, status: 200 }, () =>
      lines.map(({ line, reason }) => ({ json: line?.json, reason })),
    )
    const drop = { reason: 'rejected', bySeverity, dataset, wasSent: true } as const
    dropPending(this.#deps, drop, emit => notices.push(emit))
    const allReasons = [...reasons].slice(0, 3).join('; ')
    notices.push(() => diagnostics.warn(...rejected(dataset, failed, allReasons)))
    const losses = new Map<number, Loss>()
    for (const { line, reason } of lines) if (line !== undefined) losses.set(line.index, refusedFor(reason))
    // If one caller waits for all lines, it does not matter which lines count as failed.
    if (batch.hasSingleOwner)
      for (let place = 0; losses.size < failed; place++)
        if (!losses.has(place)) losses.set(place, refusedFor(allReasons))
    const others: Loss | undefined =
      losses.size < failed ? { ...refusedFor(allReasons), reason: 'unidentified' } : undefined
    return line => losses.get(line) ?? others
  }

  #retry(ended: EndedAttempt, outcome: Outcome & { kind: 'retryable' }): void {
    const { breaker, rateLimiter, diagnostics } = this.#deps
    const { batch, queue, startedAtMs } = ended
    const nowMs = monotonicMs()
    if (outcome.status !== undefined) this.lastTrouble = `${outcome.status} ${outcome.reason}`
    const wasThrottled = isThrottled(outcome.status)
    const reason = outcome.status === undefined ? outcome.reason : `the service answers ${this.lastTrouble}`
    const failure = { reason, remedy: wasThrottled ? paceRemedy : failureRemedy(reason, outcome.unanswered) }
    this.#failure = failure
    const isAlone = !wasThrottled && queue.isBehind
    // A 429 is for the rate limiter alone: both waits together would be too long.
    batch.attempts.delayUntil(wasThrottled ? 0 : this.#waitAfter(ended, outcome, { isAlone, nowMs }))
    const askedUntilMs = Math.max(breaker.askedUntilMs, rateLimiter.askedUntilMs, queue.heldUntilMs)
    if (askedUntilMs > nowMs) this.#asked = { failure, untilMs: askedUntilMs }
    const isCut = this.#requeueFailed(ended, outcome)
    if (diagnostics.has('retried')) {
      const turnMs = rateLimiter.notBeforeMs(nowMs)
      const isKnown = turnMs !== Number.POSITIVE_INFINITY // the fleet may not have given this process a turn yet
      const throttledUntilMs = isKnown ? turnMs : rateLimiter.askedUntilMs
      const nextAtMs = wasThrottled ? throttledUntilMs : batch.attempts.notBeforeMs
      diagnostics.emit('retried', retryOf(batch, outcome, Math.max(nextAtMs - nowMs, 0)))
    }
    if (isCut) diagnostics.warn(...batchTooLarge(batch.byteLength, this.sizeLimit.maxBytes, outcome.status))
    const acceptedBytes = outcome.unanswered === 'silent' && this.smallerAcceptedSince(startedAtMs, batch.byteLength)
    if (acceptedBytes) return diagnostics.warn(...batchUnanswered(batch.byteLength, acceptedBytes, outcome.reason))
    const isTrouble = wasThrottled ? rateLimiter.refusals >= refusalsUntilWarned : breaker.isOpen
    const unansweredMs = outcome.unanswered === 'silent' ? nowMs - startedAtMs : 0
    const waitMs = wasThrottled ? rateLimiter.askedUntilMs - nowMs : unansweredMs
    const isLongWait = waitMs >= minReportedWaitMs
    if (!isTrouble && !isLongWait && outcome.retryAfterMs === undefined) return
    if (isThrottled(outcome.status)) {
      const nextAtMs = Math.max(breaker.notBeforeMs, rateLimiter.notBeforeMs(nowMs))
      diagnostics.warn(...askedTooOften(outcome.reason, outcome.status, nextAtMs - nowMs, rateLimiter.isLicensed))
    } else if (isAlone) diagnostics.warn(...unreachableAlone(batch.dataset, reason))
    else diagnostics.warn(...unreachable(outcome))
  }

  /**
   * Returns the time before which the batch must not be tried again. A wait that the service asks for holds every dataset
   * back; if the service accepts others meanwhile (`isAlone`), only its own.
   */
  #waitAfter(
    { queue, startedAtMs }: EndedAttempt,
    { retryAfterMs }: Outcome & { kind: 'retryable' },
    { isAlone, nowMs }: { isAlone: boolean; nowMs: number },
  ): number {
    const { breaker } = this.#deps
    if (!isAlone || retryAfterMs === undefined) return breaker.onFailed(nowMs, retryAfterMs, startedAtMs)
    queue.holdUntil(nowMs + retryAfterMs * (1 + 0.1 * Math.random()))
    return Math.max(breaker.onFailed(nowMs, undefined, startedAtMs), queue.heldUntilMs)
  }

  /**
   * Puts a batch that failed back into its queue, or a part of it if its size may be the reason. Returns true if batches
   * are cut, or cut smaller, from now on.
   */
  #requeueFailed({ batch, queue, startedAtMs }: EndedAttempt, outcome: Outcome & { kind: 'retryable' }): boolean {
    const { attempts, byteLength, count } = batch
    const mayBeCut = count > 1 || attempts.isSizeTrial
    const verdict =
      mayBeCut && mayBeForSize(outcome)
        ? this.#sizes.onFailed(batch, { startedAtMs, hasTimedOut: outcome.unanswered === 'silent' })
        : undefined
    if (verdict?.kind === 'try-part') {
      const [part, rest] = batch.splitAt(verdict.maxBytes)
      part.attempts.beginSizeTrial()
      const nowMs = monotonicMs()
      // On a slow link, the part would have no answer in time because of the rest beside it.
      const mayDelay = outcome.unanswered === 'silent' && !this.#deps.hasDeadline(nowMs)
      if (mayDelay) rest?.attempts.delayUntil(attempts.notBeforeMs + nowMs - startedAtMs)
      queue.requeue(part, rest)
    } else if (verdict?.kind === 'rejoin') {
      attempts.endSizeTrial()
      queue.requeueJoined(batch)
    } else {
      queue.requeue(batch)
      // If the service fails for an event of this batch each time, the batch must not hold up others.
      if (attempts.count > 1 && !isThrottled(outcome.status)) queue.yieldTurn()
    }
    if (verdict?.kind !== 'too-large') return false
    return this.sizeLimit.onTooLarge(byteLength, startedAtMs, monotonicMs(), verdict.acceptedBytes)
  }

  /**
   * Accepted events are evidence about refused events of the same dataset, and about the size that the service accepts.
   */
  #onAccepted({ batch, queue, startedAtMs }: EndedAttempt): void {
    const nowMs = monotonicMs()
    this.#acceptedAtMs = Math.max(this.#acceptedAtMs, startedAtMs)
    this.#accepted.push({ startedAtMs, bytes: batch.byteLength })
    if (this.#accepted.length > maxAccepted) this.#accepted.shift()
    this.#refusalsInRow = 0
    this.#probesAtEnd = 0
    if (batch.attempts.refusals > 0) this.#inconsistentAtMs = nowMs
    this.#sizes.onAccepted(batch, startedAtMs)
    queue.onAccepted(batch, startedAtMs)
    queue.refusals?.onAccepted(nowMs)
    if (queue.refusals !== undefined) queue.skipBackoff()
  }

  #splitTooLarge(ended: EndedAttempt): void {
    const { byteLength, count } = ended.batch
    const isCut = count > 1 && this.sizeLimit.onTooLarge(byteLength, ended.startedAtMs, monotonicMs())
    this.#refuse(ended, { why: 'too-large', status: 413, reason: 'too large' })
    if (isCut) this.#deps.diagnostics.warn(...batchTooLarge(byteLength, this.sizeLimit.maxBytes, 413))
  }

  /** Splits the batch in halves to find the event to blame, as far as evidence shows that an event is to blame. */
  #refuse(ended: EndedAttempt, refused: RefusedFor): void {
    const { batch, queue } = ended
    const { status, reason } = refused
    const nowMs = monotonicMs()
    const refusals = queue.beginRefusals(nowMs)
    const { attempts, count, requests, origin } = batch
    const { refusal, acceptedBeforeMs } = attempts
    const piece = { count, requests, refusal, refusals: attempts.refusals + 1, acceptedBeforeMs, origin }
    if (piece.refusals === 1) this.#refusalsInRow++
    // A 403 may be about the token after all. So it counts only as evidence against single events, and is asked for often.
    const isBlocked = attempts.isBlockedAlone
    const isInconsistent = isBlocked || nowMs - this.#inconsistentAtMs < inconsistentForMs
    // At the end of the process, there is no time to ask again.
    const isConsistent = this.#deps.isProcessEnding() || !isInconsistent
    const acceptedAtMs = isBlocked ? Number.NEGATIVE_INFINITY : this.#acceptedAtMs
    const verdict = refusals.judge(piece, nowMs, { acceptedAtMs, isConsistent })
    // For a single line the first refusal counts: what was accepted after it is evidence against the line.
    const atMs = count === 1 ? (attempts.refusal?.atMs ?? nowMs) : nowMs
    attempts.refuse({ atMs, status, reason })
    const mustPause = refusals.mustPause || this.#refusalsInRow >= refusalsUntilPause
    if (!mustPause) queue.unpause()
    if (refusals.areMany) queue.yieldTurn()
    switch (verdict.kind) {
      case 'split':
        if (requests > quickRequestsPerBatch) attempts.delayUntil(nowMs + slowRequestMs)
        queue.requeue(...batch.split())
        break
      case 'retry':
        queue.requeue(batch)
        break
      case 'wait':
        // At the end of the process, delivery does not wait for a second answer.
        attempts.delayUntil(this.#deps.isProcessEnding() ? Number.POSITIVE_INFINITY : verdict.untilMs)
        queue.requeueLast(batch)
        // The first refusal is not reported: the answer for a neighboring event may follow, and that answer is
        // evidence.
        if (!mustPause && !isBlocked && attempts.refusals > 1)
          this.#deps.diagnostics.warn(...refusedAndKept(batch.dataset, `${status} ${reason}`))
        break
      case 'drop':
        this.#reject(batch, refused)
    }
    if (mustPause) this.#pauseDataset(ended, { status, reason, probeAfterMs: undefined, mayBeForEvents: true })
  }

  #reject(batch: Batch, refused: RefusedFor): void {
    const notices: (() => void)[] = []
    this.#loseRefused(batch, refused, notices)
    this.#tell(notices)
  }

  #loseRefused(batch: Batch, { why, status, reason }: RefusedFor, notices: (() => void)[]): void {
    const { diagnostics } = this.#deps
    const { dataset, count, byteLength } = batch
    if (why === 'too-large') notices.push(() => diagnostics.warn(...eventTooLarge(byteLength)))
    if (why === 'rejected') notices.push(() => diagnostics.warn(...rejected(dataset, count, `${status} ${reason}`)))
    this.#reportRefused(notices, { dataset, status }, () => Array.from(batch.lines(), json => ({ json, reason })))
    this.#lose(batch, { reason: why, status, serviceReason: reason }, notices)
  }

  /** Lets refused events be kept and reported, in this order: a listener may end the process. */
  #reportRefused(
    notices: (() => void)[],
    { dataset, status }: Pick<RefusedEvents, 'dataset' | 'status'>,
    eventsOf: () => RefusedEvents['events'],
  ): void {
    const { diagnostics, keepRefused } = this.#deps
    const isHeard = diagnostics.has('rejected')
    if (keepRefused === undefined && !isHeard) return
    const events = eventsOf()
    if (keepRefused !== undefined) notices.push(() => keepRefused({ dataset, status, events }))
    if (!isHeard) return
    for (const { json, reason } of events)
      notices.push(() => diagnostics.emit('rejected', rejection(dataset, json, status, reason)))
  }

  #stepDown(encoding: Encoding): void {
    const { compression, diagnostics } = this.#deps
    if (compression.stepDown(encoding, monotonicMs()))
      diagnostics.warn(...encodingRefused(encoding, compression.encoding))
  }

  /**
   * Holds the dataset's batches back until a probe is accepted. No event is lost, and the service is not flooded. A dataset
   * that waits already goes on waiting: this attempt began before its pause.
   *
   * A service that refuses everything gets the probes of thousands of datasets at a bounded rate. Once it accepts one of
   * them, all others follow at once.
   */
  #pauseDataset({ queue, isProbe }: EndedAttempt, refused: PausedFor): void {
    const { status, reason, probeAfterMs, mayBeForEvents, maxProbeBytes } = refused
    const { pause } = queue
    if (pause !== undefined && !isProbe) return
    const refusals = (pause?.refusals ?? 0) + 1
    const spreadMs = this.#refusedInRow < refusedUntilAll ? 0 : this.#deps.datasetCount() * betweenProbesMs
    const nowMs = monotonicMs()
    const firstMs = mayBeForEvents ? firstProbeOfEventsMs : firstProbeDelayMs
    const isAlone = mayBeForEvents && nowMs - this.#acceptedAtMs < maxProbeDelayMs
    const maxMs = isAlone ? maxProbeOfEventsMs : maxProbeDelayMs
    const growingMs = Math.min(Math.max(firstMs * 2 ** (refusals - 1), spreadMs), maxMs)
    const isTooLate = this.#deps.isProcessEnding() && !(mayBeForEvents && refusals <= maxProbesAtEnd)
    const delayMs = probeAfterMs ?? (isTooLate ? maxProbeDelayMs : growingMs)
    const untilMs = nowMs + delayMs * (0.5 + Math.random() / 2)
    queue.pauseUntil(untilMs, { refusals, status, reason, mayBeForEvents, maxProbeBytes })
    const { diagnostics } = this.#deps
    if (diagnostics.has('paused')) {
      diagnostics.emit('paused', { dataset: queue.dataset, status, reason, refusals, delayMs: untilMs - nowMs })
    }
    if (pause !== undefined) return
    diagnostics.warn(...paused(queue.dataset, status, reason))
  }

  /** Drops a batch, and adds the functions that report it to `notices`. */
  #lose(batch: Batch, loss: Loss & { reason: DropReason }, notices: (() => void)[]): void {
    const { dataset, bySeverity, attempts } = batch
    const drop = { reason: loss.reason, bySeverity, dataset, wasSent: attempts.count > 0 }
    dropPending(this.#deps, drop, emit => notices.push(emit))
    batch.settle(() => loss)
    if (attempts.count > 0) this.#deps.onConcluded(batch, loss.reason)
  }

  /** Calls listeners, after everything that they hear of is settled: a listener may end the process. */
  #tell(notices: readonly (() => void)[]): void {
    this.#deps.diagnostics.emitInTurn(notices)
    this.#deps.onSettled()
  }
}

/** Returns batches to the queue after an outcome that says nothing about the dataset. If it is paused, they are probes now. */
function sendAgain(queue: DatasetQueue, ...batches: readonly Batch[]): void {
  queue.probeNow()
  queue.requeue(...batches)
}

function isAcceptance({ kind }: Outcome): boolean {
  return kind === 'delivered' || kind === 'partly-rejected'
}

/** True for an outcome that is no acceptance, and says nothing about the rate, the size or the compression alone. */
function isFailureOfDataset(outcome: Outcome): boolean {
  const { kind } = outcome
  return kind === 'blocked' || kind === 'rejected' || (kind === 'retryable' && !isThrottled(outcome.status))
}

/** True for an error of the service or of a gateway that does not say how long it will last. */
function isFailure({ status, retryAfterMs }: Outcome & { kind: 'retryable' }): boolean {
  return status !== undefined && status >= 500 && retryAfterMs === undefined
}

/** True for an answer with which a gateway may refuse a batch for its size, and for a request without an answer. */
function mayBeForSize({ status, unanswered }: Outcome & { kind: 'retryable' }): boolean {
  return status === undefined ? unanswered !== undefined : isInTrouble(status)
}

/**
 * Cuts a blocked batch for the next probe. The first and the last part are taken by turns, so that an event to blame at either
 * end is not in every probe.
 */
function cutProbe(batch: Batch, isFirst: boolean): [probe: Batch, rest: Batch] {
  const probeBytes = Math.ceil(batch.byteLength / partOfProbe)
  const [first, last] = batch.splitAt(isFirst ? probeBytes : batch.byteLength - probeBytes)
  return isFirst ? [first, last] : [last, first]
}

/** The loss of an event that the service refused while it accepted others of the batch. */
function refusedFor(serviceReason: string): Loss {
  return { reason: 'rejected', status: 200, serviceReason }
}

function retryOf(batch: Batch, { status, reason }: Outcome & { kind: 'retryable' }, delayMs: number): Retried {
  const { dataset, count, byteLength, attempts } = batch
  return { dataset, count, bytes: byteLength, attempts: attempts.count, status, reason, delayMs }
}

/** A line from a spool may be anything, so an invalid line must not keep the other lines from being settled. */
function rejection(dataset: string, json: string | undefined, status: number, reason: string): Rejected {
  return { dataset, event: json === undefined ? undefined : jsonObject(json), status, reason }
}
