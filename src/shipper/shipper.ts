import { type DiagnosticListeners, Diagnostics } from '../accounting/diagnostics.ts'
import { DropSummary } from '../accounting/drop-summary.ts'
import { type DropReason, type DropsBySeverity, Ledger, type Refusal, refusals } from '../accounting/ledger.ts'
import { type Severity, severityOfLevel } from '../accounting/severity.ts'
import { Acknowledgement } from '../batch/acknowledgements.ts'
import { BatchQueue } from '../batch/batch-queue.ts'
import type { BatchLimits } from '../batch/dataset-queue.ts'
import { MemoryBudget } from '../batch/memory-budget.ts'
import { Breaker } from '../delivery/breaker.ts'
import { Compression, type Encoding } from '../delivery/compression.ts'
import { Delivery } from '../delivery/delivery.ts'
import { RateLimiter } from '../delivery/rate-limiter.ts'
import { Sender } from '../delivery/sender.ts'
import { failureRemedy, pacedFor, paceReason, paceRemedy, pauseReason, remedyFor } from '../delivery/warnings.ts'
import { type Loss, outOfTime } from '../exit/drain-at-exit.ts'
import {
  drainIfExiting,
  type ExitDrainable,
  installExitHooks,
  registerDrainable,
  unregisterDrainable,
} from '../exit/exit-hooks.ts'
import type { WorkerHttpClient } from '../http/worker-client.ts'
import { ownProperties } from '../options/own-properties.ts'
import { resolveOptions } from '../options/resolve.ts'
import type { ResolvedOptions } from '../options/resolved-options.ts'
import type { ShipperOptions } from '../options/shipper-options.ts'
import type { ResolvedSpool } from '../options/spool-options.ts'
import type { LimitsStats } from '../org/limits.ts'
import { wallClockMs } from '../record/clock.ts'
import { eventToLine } from '../record/event-to-line.ts'
import type { Alterations } from '../record/event-to-plain.ts'
import { beginLogCall, logCalls } from '../record/log-calls.ts'
import { tailFields } from '../record/resource-tail.ts'
import { Timestamper } from '../record/timestamp.ts'
import { fewCallsBytes, openBatchBytes, reserveStack, useDiskBytes } from '../stack-reserve.ts'
import type { Redact } from '../text/short-line.ts'
import { monotonicMs, setImmediate } from '../time.ts'
import { checkListener } from './check-listener.ts'
import { datasetOf } from './dataset-of.ts'
import { HeldEvents } from './held-events.ts'
import { type License, openLicense } from './license-limits.ts'
import { checkedTimeoutMs, settlesWithin } from './settles-within.ts'
import { SpoolCoordinator, type SpoolStats } from './spool-coordinator.ts'

/** What is known when `flush()` or `close()` ends. */
export interface FlushResult {
  /** Whether every event accepted before the call has been delivered or dropped. */
  readonly complete: boolean
  /** Events that are neither delivered nor dropped. */
  readonly pending: number
}

/** A snapshot of what a shipper has done. At every moment accepted = delivered + dropped + pending. */
export interface ShipperStats {
  readonly accepted: number
  readonly delivered: number
  readonly dropped: number
  readonly pending: number
  /** Dropped events by reason, then by severity. */
  readonly drops: Partial<Record<DropReason, DropsBySeverity>>
  /** Events with a value that JSON cannot take, replaced by a text that says so. */
  readonly stubbed: number
  /** Events cut to `maxEventBytes`. */
  readonly cut: number
  /** Requests made, and how many of them sent events again. */
  readonly requests: number
  readonly retries: number
  readonly requestsInFlight: number
  /** Bytes of request bodies, as sent. */
  readonly bytesOnWire: number
  /** Memory held for events that are pending, in bytes; never more than `maxBufferedBytes`. */
  readonly bufferedBytes: number
  /** The compression in use, after what the service turned out not to take. */
  readonly compression: Encoding
  /** Most requests per second that may be made now; `Infinity` when nothing limits them. */
  readonly requestsPerSecond: number
  /**
   * Size and age of batches in force. While the request rate is limited, batches are larger than configured, and sent
   * sooner if a dataset's turn comes; under a heavy load larger than the default; or what the service takes.
   */
  readonly maxBatchBytes: number
  readonly maxBatchAgeMs: number
  /** What of the license is in force, and why; `undefined` without the option `limits`. */
  readonly limits: LimitsStats | undefined
  /** What there is on disk; `undefined` without the option `spool`. */
  readonly spool: SpoolStats | undefined
}

/** Bytes of the largest batch that is made for a limited request rate. */
const maxTunedBatchBytes = 16_777_216
/** Batches are never made smaller than this for the sake of memory and disk. */
const minBatchBytes = 1024
/** Longest wait for connections to close that nothing more is expected of, in milliseconds. */
const closeConnectionsMs = 1000

/**
 * Ships events: record → line → batch → request → outcome. Made by `createShipper`; can be shared by any number of
 * loggers. Nothing it does throws into code that logs.
 */
export class Shipper {
  readonly #options: ResolvedOptions
  readonly #timestamper: Timestamper
  readonly #memory: MemoryBudget
  readonly #batcher: BatchQueue
  readonly #sender: Sender
  readonly #breaker: Breaker
  readonly #delivery: Delivery
  /** @internal */
  readonly holding: HeldEvents
  readonly #compression: Compression
  readonly #ledger = new Ledger()
  /**
   * Events dropped inside their log calls, for callers of `take` that run out of stack before it.
   *
   * @internal
   */
  readonly refused = this.#ledger.refused
  readonly #notices = new Diagnostics((text, kind) => this.#redact(text, kind))
  readonly #pace = new RateLimiter()
  readonly #license: License | undefined
  readonly #spooling: SpoolCoordinator | undefined
  readonly #altered: Alterations = { stubbed: 0, cut: 0 }
  readonly #unfinished: ExitDrainable
  #isWatched = false
  readonly #shed = new DropSummary()
  #acknowledgement: Acknowledgement | undefined
  #lastError: unknown
  #isTelling = false
  #isTellingSoon = false
  /** Events were dropped where the stack ended, and could not be told of: a later call does that. */
  #hasUntold = false

  /** @internal */
  constructor(options: ResolvedOptions) {
    this.#options = options
    this.#timestamper = new Timestamper(options.timeField)
    const limits = batchLimits(options)
    this.#memory = new MemoryBudget(options.maxBufferedBytes, limits.maxBatchBytes)
    this.#compression = new Compression(options.compression)
    this.#sender = new Sender(options, this.#compression, this.#notices.redact)
    this.#breaker = new Breaker(options.maxRetryDelayMs)
    this.#spooling = options.spool && this.#openSpooling(options.spool, options.durability)
    this.#batcher = new BatchQueue(
      limits,
      this.#memory,
      {
        onReady: () => this.#delivery.pump(),
        onLost: (count, dataset) => this.#spooling?.onLost(count, dataset),
        onRoom: () => this.holding.resume(),
      },
      this.#spooling?.spool,
    )
    this.holding = new HeldEvents({
      memory: this.#memory,
      ledger: this.#ledger,
      batcher: this.#batcher,
      onHeld: () => {
        if (this.#isWatched) return
        this.#watch()
        drainIfExiting()
      },
      onRemoved: () => this.#unwatchWhenDone(),
    })
    this.#delivery = new Delivery({
      batches: this.#batcher,
      send: (batch, signal) => this.#sender.send(batch, signal),
      breaker: this.#breaker,
      pace: this.#pace,
      compression: this.#compression,
      ledger: this.#ledger,
      notices: this.#notices,
      maxConcurrentRequests: options.maxConcurrentRequests,
      timeField: options.timeField,
      onSettled: () => this.#onSettled(),
      onAnswer: headers => this.#license?.limits.onAnswer(headers),
      onDelivered: dataset => this.#reportShed(dataset),
    })
    this.#license =
      options.limits && openLicense(options, options.limits, this.#pace, this.#delivery, this.#notices, this.#altered)
    this.#license?.start()
    this.#unfinished = {
      exitTimeoutMs: options.exitTimeoutMs,
      exitOnSignals: options.exitOnSignals,
      sendNow: () => void this.#flushAtHand(),
      finish: () => this.#finishAtExit(),
      beginDrain: courier => this.#beginDrain(courier),
      unregisterIfIdle: () => this.#tellAllRefused(),
      step: () => this.#step(),
      isWaitingForAnswers: () => this.#delivery.inFlight > 0,
      dropRemaining: loss => this.#dropRemaining(loss, 'exit'),
      endDrain: () => this.#endDrain(),
    }
    if (options.exitTimeoutMs > 0) installExitHooks()
    const { onRejected } = options
    if (onRejected !== undefined) this.#notices.add('rejected', ({ event, reason }) => onRejected(event, reason))
    if (this.#spooling !== undefined) {
      this.#watch() // a process that ends at once delivers what others have left all the same
      void this.#spooling.adoptOrphans().then(() => this.#unwatchWhenDone())
    }
  }

  /**
   * Takes an event for delivery. It is serialised at once: what happens to the object afterwards does not matter. An
   * event without a time stamp gets one; its `level` decides what is shed first when memory is short.
   *
   * Never throws. Returns false when the event had to be dropped (it is then counted and reported).
   */
  ship(event: Readonly<Record<string, unknown>>): boolean {
    try {
      if (!beginLogCall()) return this.refuseNested() === undefined
      try {
        return this.take(event, levelOf(event), wallClockMs()) === undefined
      } finally {
        logCalls.depth--
      }
    } catch {
      this.refused.error[usualSeverity]++
      return false
    }
  }

  /**
   * Sends what is waiting without further delay, and waits until all that was accepted before the call has been delivered
   * or dropped, or the time is up. What is left then is still pending and goes on being delivered.
   *
   * @param options.timeoutMs longest wait in milliseconds, `flushTimeoutMs` by default
   * @returns never rejects for delivery trouble
   * @throws TypeError | RangeError when `timeoutMs` is not a number from 0 to 2 147 483 647
   */
  async flush(options: { timeoutMs?: number | undefined } = {}): Promise<FlushResult> {
    const timeoutMs = checkedTimeoutMs(ownProperties(options).timeoutMs, this.#options.flushTimeoutMs)
    reserveStack(useDiskBytes)
    const leftBefore = this.#ledger.handedOff
    const isDone = await settlesWithin(this.#flushAll(), timeoutMs)
    if (!isDone) this.#warnOfPace()
    // What `close` has left to the next process meanwhile is neither delivered nor dropped.
    return { complete: isDone && this.#ledger.handedOff <= leftBefore, pending: this.#ledger.pending }
  }

  /**
   * Delivers what is pending, drops (counts, reports) what cannot be delivered in time, or leaves it in the spool for the
   * next process, and lets go of connections. An event shipped later is not lost: it opens a connection again.
   *
   * @param options.timeoutMs longest wait in milliseconds, `flushTimeoutMs` by default
   * @returns never rejects for delivery trouble
   * @throws TypeError | RangeError when `timeoutMs` is not a number from 0 to 2 147 483 647
   */
  async close(options: { timeoutMs?: number | undefined } = {}): Promise<FlushResult> {
    const timeoutMs = checkedTimeoutMs(ownProperties(options).timeoutMs, this.#options.flushTimeoutMs)
    reserveStack(useDiskBytes)
    const complete = await this.#finish(timeoutMs)
    await settlesWithin(Promise.all([this.#sender.close(), this.#license?.close()]), closeConnectionsMs)
    this.#spooling?.close()
    this.#memory.clear()
    return { complete, pending: this.#ledger.pending }
  }

  /** What has been done so far. */
  stats(): ShipperStats {
    const inForce = this.#pace.inForce(monotonicMs())
    return {
      accepted: this.#ledger.accepted,
      delivered: this.#ledger.delivered,
      dropped: this.#ledger.dropped,
      pending: this.#ledger.pending,
      drops: this.#ledger.drops(),
      stubbed: this.#altered.stubbed,
      cut: this.#altered.cut,
      requests: this.#delivery.requests,
      retries: this.#delivery.retries,
      requestsInFlight: this.#delivery.inFlight,
      bytesOnWire: this.#delivery.bytesOnWire,
      bufferedBytes: this.#memory.usedBytes,
      compression: this.#compression.encoding,
      requestsPerSecond: inForce.requestsPerSecond,
      maxBatchBytes: this.#delivery.maxBatchBytes,
      maxBatchAgeMs: this.#batcher.limits.maxBatchAgeMs,
      limits: this.#license?.limits.stats(inForce),
      spool: this.#spooling?.stats(),
    }
  }

  /**
   * Calls `listener` when something happens: `warning` (in place of Node's process warnings), `dropped`, `rejected`
   * (with the event that the service refused), `delivered`. A listener that throws does no harm.
   *
   * @throws TypeError with `code` `LOGFERRY_INVALID_OPTION` for any other event, or where `listener` is no function
   */
  on<Name extends keyof DiagnosticListeners>(event: Name, listener: DiagnosticListeners[Name]): this {
    checkListener(event, listener)
    this.#notices.add(event, listener)
    return this
  }

  /**
   * Calls `listener` no longer.
   *
   * @throws TypeError as `on` does
   */
  off<Name extends keyof DiagnosticListeners>(event: Name, listener: DiagnosticListeners[Name]): this {
    checkListener(event, listener)
    this.#notices.remove(event, listener)
    return this
  }

  /**
   * Where what it has in the spool is for; `undefined` without one.
   *
   * @internal
   */
  get destination(): string | undefined {
    return this.#options.spool?.destination
  }

  /** @internal */
  get maxEventBytes(): number {
    return this.#options.maxEventBytes
  }

  /** @internal */
  get flushTimeoutMs(): number {
    return this.#options.flushTimeoutMs
  }

  /**
   * The last answer of the service that asked for another attempt.
   *
   * @internal
   */
  get lastTrouble(): string | undefined {
    return this.#delivery.lastTrouble
  }

  /**
   * The one way in. The event's own time stamp goes before `time`: milliseconds since the epoch, or seconds and
   * nanoseconds.
   *
   * Whatever throws on the way, at the end of the stack every call may: an event is either kept and counted as accepted, or
   * dropped and counted so, by the one number that `catch` changes.
   *
   * @param tail bytes to stand in place of the closing brace of the event's JSON
   * @param written what `JSON.stringify` would make of an event of plain data, where somebody has done that already
   * @returns why the event had to be dropped; `undefined` when it was kept
   * @internal
   */
  take(
    event: object,
    severity: Severity,
    time: number | readonly [number, number],
    tail?: Uint8Array,
    written?: string,
  ): DropReason | undefined {
    try {
      if (this.#hasUntold) this.#emitSoon()
      if (!this.#batcher.hasRoomFor(severity)) return this.#refuse('memory', severity)
      const dataset = this.#datasetOf(event, tail)
      if (dataset === undefined) return this.#refuse('dataset', severity)
      let fitted: object | undefined = event
      if (this.#license !== undefined) {
        fitted = this.#fit(dataset, event, severity, tail)
        if (fitted === undefined) return this.#refuse('budget', severity)
      }
      // A function that names the dataset has had the event in its hands.
      const json = fitted === event && typeof this.#options.dataset === 'string' ? written : undefined
      if (this.#keep(dataset, fitted, severity, time, tail, json)) return undefined
      return this.#refuse('memory', severity)
    } catch (error) {
      // What people log cannot bring us here; running out of stack or memory can, and a mistake of ours.
      this.refused.error[severity]++
      this.#lastError = error
      try {
        this.#emitSoon()
      } catch {
        this.#hasUntold = true
      }
      return 'error'
    }
  }

  /**
   * Drops an event unseen that is logged while others are being taken, by an accessor or a listener, too deep or too often:
   * it would do so without end.
   *
   * @internal
   */
  refuseNested(): DropReason {
    return this.dropFor(nested)
  }

  /**
   * Drops a record that came after the shutdown of what it was given to.
   *
   * @internal
   */
  refuseShutDown(severity: Severity): DropReason {
    return this.#refuse('shut-down', severity)
  }

  /**
   * Tells that a function of the application threw, which harms nothing.
   *
   * @internal
   */
  tellThrown(what: string, error: unknown): void {
    const kind = error instanceof Error ? error.name : typeof error
    this.#notices.warn('LOGFERRY_CALLBACK_THREW', `${what} threw ${kind}`)
  }

  /**
   * Drops an event unseen, as `error` was thrown where it was made.
   *
   * @internal
   */
  dropFor(error: unknown): DropReason {
    this.#lastError = error
    return this.#refuse('error', usualSeverity)
  }

  /**
   * Sends the events that `give` has taken without further delay, and waits until the service has answered for them, but
   * for `flushTimeoutMs` at most.
   *
   * @internal
   */
  async shipAndTrack(give: () => void): Promise<Acknowledgement> {
    reserveStack(useDiskBytes)
    const acknowledgement = new Acknowledgement()
    this.#acknowledgement = acknowledgement
    try {
      give()
    } finally {
      this.#acknowledgement = undefined
    }
    void this.#batcher.flush()
    await settlesWithin(acknowledgement.whenSettled(), this.#options.flushTimeoutMs)
    return acknowledgement
  }

  /** Adds an event to a batch, and counts it as accepted; `false` when there is no memory for it. */
  #keep(
    dataset: string,
    event: object,
    severity: Severity,
    time: number | readonly [number, number],
    tail: Uint8Array | undefined,
    written?: string,
  ): boolean {
    const wasWatched = this.#isWatched
    if (!wasWatched) this.#watch() // first: an event that is kept must not be forgotten at the end of the process
    const head = this.#hasOwnTime(event)
      ? undefined
      : typeof time === 'number'
        ? this.#timestamper.at(time)
        : this.#timestamper.atHrTime(time)
    const { maxEventBytes } = this.#options
    // A resource must not crowd out the event itself.
    const isTailTooLong = tail !== undefined && tail.length > maxEventBytes / 4
    if (isTailTooLong) this.#altered.cut++
    const kept = isTailTooLong ? undefined : tail
    const nonFinite = tail === undefined ? 'null' : 'text' // a record of OpenTelemetry
    const line = eventToLine(event, head, kept, maxEventBytes - 1, this.#altered, written, nonFinite)
    if (!this.#batcher.enqueue(dataset, severity, line, this.#acknowledgement)) return false
    this.#ledger.admitted++ // with no call since the line has its place: see `Batch.append`
    try {
      this.#license?.limits.count(severity, line.length)
      if (!wasWatched) drainIfExiting()
    } catch {
      // Out of stack: a byte is not counted, which answers correct. The last listener of 'exit' delivers.
    }
    return true
  }

  /** The event as the license lets it be shipped; `undefined` when it is sampled away. */
  #fit(dataset: string, event: object, severity: Severity, tail: Uint8Array | undefined): object | undefined {
    reserveStack(fewCallsBytes)
    this.#license?.start() // after close()
    return this.#license?.limits.fit(dataset, event, severity, tail && tailFields(tail))
  }

  /** Takes out every secret of ours that a text from outside may repeat. */
  #redact(...[text, kind]: Parameters<Redact>): string {
    const { credentials, proxy } = this.#options
    const withoutToken = credentials.redact(text, kind)
    const rest = proxy.credentials?.redact(withoutToken, kind) ?? withoutToken
    return this.#license?.redact(rest, kind) ?? rest
  }

  #hasOwnTime(event: object): boolean {
    try {
      return (event as Record<string, unknown> | null | undefined)?.[this.#options.timeField] !== undefined
    } catch {
      return true // a getter that throws: the safe way writes a stub for it, and a second field of that name would be wrong
    }
  }

  #datasetOf(event: object, tail: Uint8Array | undefined): string | undefined {
    const { dataset } = this.#options
    if (typeof dataset === 'string') return dataset
    const answer = datasetOf(dataset, event, tail)
    if ('name' in answer) return answer.name
    this.#notices.warn('LOGFERRY_DROPPED', `the \`dataset\` function ${answer.problem}; the event is dropped.`)
    return undefined
  }

  /** Counts an event that is not kept, and tells of it. */
  #refuse(reason: Refusal, severity: Severity): DropReason {
    this.refused[reason][severity]++
    if (this.#isTelling) return reason // logged by a listener that is told of a drop: the next one tells of it
    try {
      reserveStack(openBatchBytes)
      this.#tellRefused(reason)
    } catch {
      this.#hasUntold = true
    }
    return reason
  }

  /**
   * Tells of the events that were dropped in their log calls and of which that could not be told there, at the next turn of
   * the event loop: in a microtask, a listener that logs might never let go of it.
   */
  #emitSoon(): void {
    if (this.#isTellingSoon) return
    if (!this.#isWatched) this.#watch() // which tells of them if there is no next turn
    setImmediate(() => this.#tellAllRefused()).unref()
    this.#isTellingSoon = true
  }

  #tellAllRefused(): void {
    this.#isTellingSoon = false
    this.#hasUntold = false
    for (const reason of refusals) this.#tellRefused(reason)
    this.#spooling?.emitPending()
    this.#unwatchWhenDone()
  }

  #tellRefused(reason: Refusal): void {
    const { count, bySeverity } = this.#ledger.takeRefused(reason)
    if (count === 0) return
    this.#isTelling = true
    try {
      this.#notices.emit('dropped', { reason, count, bySeverity })
      this.#warnOfRefused(reason, count, bySeverity)
    } finally {
      this.#isTelling = false
    }
  }

  #warnOfRefused(reason: Refusal, count: number, bySeverity: DropsBySeverity): void {
    if (reason === 'memory') this.#noteShed(bySeverity)
    if (reason === 'shut-down') this.#notices.warn('LOGFERRY_DROPPED', afterShutdown, reason)
    if (reason !== 'error') return
    const error = this.#lastError
    this.#lastError = undefined
    const what = error instanceof Error ? `${error.name}: ${error.message}` : typeof error
    const lost = count === 1 ? 'an event could not be kept, and is' : `${count} events could not be kept, and are`
    this.#notices.warn('LOGFERRY_DROPPED', `${lost} dropped (${what}).`, 'error')
  }

  #noteShed(bySeverity: DropsBySeverity): void {
    const { usedBytes, maxBytes } = this.#memory
    this.#shed.note(bySeverity)
    const inForce = this.#delivery.heldBackBy(monotonicMs())
    const why =
      inForce === undefined
        ? 'Find out why delivery is slow'
        : `Delivery is slow, as ${paceReason(inForce)}: raise that`
    this.#notices.warn(
      'LOGFERRY_DROPPED',
      `memory for events that are not delivered yet is short (${usedBytes} of ${maxBytes} bytes), and events are dropped, ` +
        `low severities first. ${why}, or raise maxBufferedBytes.`,
    )
  }

  #reportShed(dataset: string): void {
    const event = this.#memory.minSeverity === 0 ? this.#shed.take(monotonicMs()) : undefined
    if (event === undefined) return
    const severity = severityOfLevel('warn')
    if (!this.#keep(dataset, event, severity, wallClockMs(), undefined)) this.#refuse('memory', severity)
  }

  /** Lets everything go that is here; what other processes have left in the spool is here only once it is taken over. */
  async #flushAll(): Promise<void> {
    const inherited = this.#spooling?.adoptOrphans()
    await this.#flushAtHand()
    for (let hasMore = await inherited; hasMore; hasMore = await this.#spooling?.adoptOrphans())
      await this.#batcher.flush()
    if (inherited !== undefined) await this.#batcher.flush()
  }

  async #flushAtHand(): Promise<void> {
    const released = this.holding.release()
    const flushed = this.#batcher.flush()
    if (released === undefined) return flushed
    await released
    await Promise.all([flushed, this.#batcher.flush()])
  }

  /** Delivers what is pending, with no regard for waits after failures; drops what is left when the time is up. */
  async #finish(timeoutMs: number): Promise<boolean> {
    this.#delivery.skipBackoff(timeoutMs)
    const flushed = this.#flushAll()
    const complete = await settlesWithin(flushed, timeoutMs)
    this.#tellAllRefused()
    if (complete) return true
    await this.#batcher.spillAll()
    this.#dropRemaining(outOfTime(timeoutMs))
    return false
  }

  #warnOfPace(): void {
    const inForce = this.#delivery.heldBackBy(monotonicMs())
    if (inForce !== undefined) this.#notices.warn(...pacedFor(this.#ledger.pending, inForce))
  }

  #dropRemaining(loss: Loss, about?: string): void {
    const { how, remedy } = loss.isWaiting ? this.#explained(loss) : loss
    this.holding.releaseAllNow()
    const { pending, handedOff, dropped } = this.#ledger
    if (pending === handedOff) return
    this.#delivery.abandon('closed', batch => this.#spooling?.handOff(batch) ?? false)
    this.#unwatchWhenDone()
    const [kept, lost] = [this.#ledger.handedOff - handedOff, this.#ledger.dropped - dropped]
    if (kept > 0)
      this.#notices.warn('LOGFERRY_SPOOL', `${events(kept)} could not be delivered ${how}; ${inSpool}`, about)
    if (lost === 0) return
    const message = `${events(lost)} could not be delivered ${how}, and had to be dropped. ${remedy}`
    this.#notices.warn('LOGFERRY_DROPPED', message, about)
  }

  /** The loss with the reason for which the events waited, if it is known. */
  #explained({ how, remedy }: Loss): Loss {
    const { refusal } = this.#delivery
    if (refusal !== undefined) {
      return { how: `${how}: ${pauseReason(refusal)}`, remedy: remedyFor(refusal.status) }
    }
    const inForce = this.#delivery.heldBackBy(monotonicMs())
    if (inForce !== undefined) return { how: `${how}, as ${paceReason(inForce)}`, remedy: paceRemedy }
    const { failure } = this.#delivery
    return failure === undefined ? { how, remedy } : { how: `${how} (${failure})`, remedy: failureRemedy }
  }

  #beginDrain(courier: WorkerHttpClient): void {
    this.#breaker.isUrgent = true
    this.#delivery.useSyncSender((batch, onAttempt) => this.#sender.sendSync(courier, batch, onAttempt))
    this.#batcher.standStill(true)
    this.#delivery.skipBackoff(this.#options.exitTimeoutMs)
    void this.#flushAtHand()
  }

  #endDrain(): void {
    this.#breaker.isUrgent = false
    this.#batcher.standStill(false)
    this.#delivery.useSyncSender(undefined)
    this.#spooling?.emitPending()
  }

  #step(): number {
    if (this.#delivery.inFlight === 0) void this.#flushAtHand() // for what listeners have logged since
    return this.#delivery.wake()
  }

  async #finishAtExit(): Promise<void> {
    this.#breaker.isUrgent = true
    await this.#finish(this.#options.exitTimeoutMs)
    this.#breaker.isUrgent = false
    this.#spooling?.close()
    this.#unwatchWhenDone()
  }

  #openSpooling(spool: ResolvedSpool, durability: 'memory' | 'disk'): SpoolCoordinator {
    return new SpoolCoordinator(spool, durability, {
      ledger: this.#ledger,
      notices: this.#notices,
      memory: this.#memory,
      batcher: () => this.#batcher,
      onAdopted: () => this.#watch(),
    })
  }

  #watch(): void {
    this.#spooling?.resume()
    if (this.#options.exitTimeoutMs === 0) return
    reserveStack(openBatchBytes)
    registerDrainable(this.#unfinished)
    this.#isWatched = true
  }

  #onSettled(): void {
    this.holding.resume()
    this.#unwatchWhenDone()
  }

  #unwatchWhenDone(): void {
    if (this.#hasUntold) this.#tellAllRefused()
    if (!this.#isWatched || this.#ledger.pending > this.#ledger.handedOff) return
    this.#isWatched = false
    unregisterDrainable(this.#unfinished)
  }
}

/** Of an event of which that cannot be found out. */
const usualSeverity = severityOfLevel(undefined)
const nested = new Error('a getter, a `toJSON` or a listener logs each time that an event is logged')

const afterShutdown =
  'records that are emitted after the shutdown of their OpenTelemetry processor or exporter are dropped. Shut it down last.'

const inSpool =
  'they are in the spool, and will be delivered by the next process that uses it, or by `logferry spool send`.'

function events(count: number): string {
  return count === 1 ? '1 event' : `${count} events`
}

function batchLimits(options: ResolvedOptions): BatchLimits {
  const { maxBatchEvents, maxBatchAgeMs, maxBufferedBytes, maxBatchBytes, spool } = options
  const within = spool === undefined ? Number.POSITIVE_INFINITY : maxSpooledBytes(options, spool)
  // Of an eighth of the memory each, four batches can be in flight while four are being filled or wait.
  const maxTunedBytes = Math.min(maxTunedBatchBytes, Math.floor(maxBufferedBytes / 8))
  return {
    maxBatchBytes: Math.min(maxBatchBytes, within),
    maxBatchAgeMs,
    batchBytesCeiling: Math.min(Math.max(maxBatchBytes, maxTunedBytes), within),
    maxUnlimitedBytes: options.maxUnlimitedBatchBytes,
    maxBlockBytes: maxBatchBytes,
    maxBatchEvents,
    sealedBytes: 0,
    sealedEvents: 0,
  }
}

/**
 * With a spool, what is in flight, and what it is compressed to, never takes more than half of the memory: the rest can
 * always be moved to the disk, of which one batch is a small part.
 */
function maxSpooledBytes({ maxBufferedBytes, maxConcurrentRequests }: ResolvedOptions, spool: ResolvedSpool): number {
  const maxInFlightBytes = maxBufferedBytes / (4 * maxConcurrentRequests)
  return Math.max(Math.floor(Math.min(maxInFlightBytes, spool.maxBytes / 8)), minBatchBytes)
}

function levelOf(event: Readonly<Record<string, unknown>>): Severity {
  try {
    return severityOfLevel(event.level)
  } catch {
    return severityOfLevel(undefined)
  }
}

/** Makes a shipper, to be given to transports and exporters as `{ shipper }`, or to be used by itself. */
export function createShipper(options?: ShipperOptions): Shipper {
  return new Shipper(resolveOptions(options, process.env))
}
