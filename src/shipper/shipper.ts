import { type DiagnosticListeners, Diagnostics } from '../accounting/diagnostics.ts'
import { DropSummary } from '../accounting/drop-summary.ts'
import { type DropReason, type DropsBySeverity, Ledger, type Refusal, refusals } from '../accounting/ledger.ts'
import { type Severity, severityOfLevel } from '../accounting/severity.ts'
import { Acknowledgement } from '../batch/acknowledgements.ts'
import { BatchQueue } from '../batch/batch-queue.ts'
import type { BatchLimits } from '../batch/dataset-queue.ts'
import { MemoryBudget } from '../batch/memory-budget.ts'
import { Breaker } from '../delivery/breaker.ts'
import { Compression } from '../delivery/compression.ts'
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
import type { Encoding } from '../http/encodings.ts'
import type { WorkerHttpClient } from '../http/worker-client.ts'
import { checkedTimeoutMs } from '../options/checked-timeout.ts'
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
import { settlesWithin } from '../time-limits.ts'
import { checkListener } from './check-listener.ts'
import { datasetOf } from './dataset-of.ts'
import { HeldEvents } from './held-events.ts'
import { type License, openLicense } from './license-limits.ts'
import { SpoolCoordinator, type SpoolStats } from './spool-coordinator.ts'

/** The result of `flush()` or `close()`. */
export interface FlushResult {
  /**
   * True if every event accepted before the call was delivered or dropped within the time. False if time ran out, or if
   * events were handed off to the spool.
   */
  readonly complete: boolean
  /** Events that are neither delivered nor dropped, including events that were handed off to the spool. */
  readonly pending: number
}

/** A snapshot of a shipper's counters and state. At every moment accepted = delivered + dropped + pending. */
export interface ShipperStats {
  /** Events that were logged, including events dropped in their log calls, and events adopted from the spool. */
  readonly accepted: number
  /** Events that the service has accepted. */
  readonly delivered: number
  /** Events that were given up; `drops` gives the reasons. */
  readonly dropped: number
  /** Events that wait or are in flight, including events that were handed off to the spool. */
  readonly pending: number
  /** Dropped events by reason, then by severity. */
  readonly drops: Partial<Record<DropReason, DropsBySeverity>>
  /** Events with a value that JSON cannot represent. A text in its place says so. */
  readonly stubbed: number
  /**
   * Events that were cut to `maxEventBytes`, or to the time that a log call may take. An event also counts if its
   * OpenTelemetry resource and scope were omitted, because they take more than a quarter of `maxEventBytes`.
   */
  readonly cut: number
  /** Requests that were started. */
  readonly requests: number
  /** Requests that sent events again. */
  readonly retries: number
  /** Requests that are not answered yet. */
  readonly requestsInFlight: number
  /** Bytes of request bodies as sent, after compression. A request counts when it ends. */
  readonly bytesOnWire: number
  /** Memory held for pending events, in bytes; never more than `maxBufferedBytes`. */
  readonly bufferedBytes: number
  /** The compression in use. It differs from the option if the service does not accept that. */
  readonly compression: Encoding
  /** Maximum requests per second at present; `Infinity` if there is no limit. */
  readonly requestsPerSecond: number
  /**
   * Maximum bytes of a batch at present, before compression.
   *
   * More than configured while the request rate is limited. More than the default if the option is not set and more
   * than 40 MB/s are logged. Less after the service has answered 413 to larger batches.
   */
  readonly maxBatchBytes: number
  /**
   * Maximum age of a batch at present, in milliseconds. It is 0 while the request rate is limited so that a dataset's
   * turn comes only after more than half of the configured age. A batch is then sent when its turn comes.
   */
  readonly maxBatchAgeMs: number
  /** The license limits in force, and their reason; `undefined` without the option `limits`. */
  readonly limits: LimitsStats | undefined
  /** The state of the spool; `undefined` without the option `spool`. */
  readonly spool: SpoolStats | undefined
}

/**
 * Maximum bytes of a batch that grows because the request rate is limited: the maximum of the option `maxBatchBytes`.
 */
const maxTunedBatchBytes = 16_777_216
/**
 * Minimum for the batch size that follows from memory and spool, in bytes: the minimum of the option `maxBatchBytes`.
 */
const minBatchBytes = 1024
/** Maximum time that `close()` waits for connections that should be idle, in milliseconds. */
const closeConnectionsMs = 1000

/**
 * Ships events: record → line → batch → request → outcome. Created by `createShipper`. Any number of loggers can share
 * a shipper. Neither logging nor delivery trouble throws into code that logs.
 */
export class Shipper {
  readonly #options: ResolvedOptions
  readonly #timestamper: Timestamper
  readonly #memory: MemoryBudget
  readonly #batchQueue: BatchQueue
  readonly #sender: Sender
  readonly #breaker: Breaker
  readonly #delivery: Delivery
  /** @internal */
  readonly heldEvents: HeldEvents
  readonly #compression: Compression
  readonly #ledger = new Ledger()
  /**
   * Events dropped inside their log calls, for callers of `take` whose stack ends before that call.
   *
   * @internal
   */
  readonly refused = this.#ledger.refused
  readonly #diagnostics = new Diagnostics((text, kind) => this.#redact(text, kind))
  readonly #rateLimiter = new RateLimiter()
  readonly #license: License | undefined
  readonly #spool: SpoolCoordinator | undefined
  readonly #altered: Alterations = { stubbed: 0, cut: 0 }
  readonly #drainable: ExitDrainable
  #isRegistered = false
  readonly #shed = new DropSummary()
  #acknowledgement: Acknowledgement | undefined
  #lastError: unknown
  #isReporting = false
  #isReportScheduled = false
  /** Events were dropped where the stack ended, and could not be reported. A later call reports them. */
  #hasUnreported = false

  /** @internal */
  constructor(options: ResolvedOptions) {
    this.#options = options
    this.#timestamper = new Timestamper(options.timeField)
    const limits = batchLimits(options)
    this.#memory = new MemoryBudget(options.maxBufferedBytes, limits.maxBatchBytes)
    this.#compression = new Compression(options.compression)
    this.#sender = new Sender(options, this.#compression, this.#diagnostics.redact)
    this.#breaker = new Breaker(options.maxRetryDelayMs)
    this.#spool = options.spool && this.#openSpool(options.spool, options.durability)
    this.#batchQueue = new BatchQueue(
      limits,
      this.#memory,
      {
        onReady: () => this.#delivery.pump(),
        onLost: (count, dataset) => this.#spool?.onLost(count, dataset),
        onFound: count => this.#spool?.onFound(count),
        onRoom: () => this.heldEvents.resume(),
      },
      this.#spool?.spool,
    )
    this.heldEvents = new HeldEvents({
      memory: this.#memory,
      ledger: this.#ledger,
      batchQueue: this.#batchQueue,
      onHeld: () => {
        if (this.#isRegistered) return
        this.#register()
        drainIfExiting()
      },
      onRemoved: () => this.#unregisterIfIdle(),
    })
    this.#delivery = new Delivery({
      batches: this.#batchQueue,
      send: (batch, signal) => this.#sender.send(batch, signal),
      breaker: this.#breaker,
      rateLimiter: this.#rateLimiter,
      compression: this.#compression,
      ledger: this.#ledger,
      diagnostics: this.#diagnostics,
      maxConcurrentRequests: options.maxConcurrentRequests,
      timeField: options.timeField,
      onSettled: () => this.#onSettled(),
      onAnswer: headers => this.#license?.limits.onAnswer(headers),
      onDelivered: dataset => this.#reportShed(dataset),
    })
    this.#license =
      options.limits &&
      openLicense(options, options.limits, this.#rateLimiter, this.#delivery, this.#diagnostics, this.#altered)
    this.#license?.start()
    this.#drainable = {
      exitTimeoutMs: options.exitTimeoutMs,
      exitOnSignals: options.exitOnSignals,
      sendNow: () => void this.#flushAtHand(),
      finish: () => this.#finishAtExit(),
      beginDrain: client => this.#beginDrain(client),
      unregisterIfIdle: () => this.#reportAllRefused(),
      step: () => this.#step(),
      isWaitingForAnswers: () => this.#delivery.inFlight > 0,
      dropRemaining: loss => this.#dropRemaining(loss, 'exit'),
      endDrain: () => this.#endDrain(),
    }
    if (options.exitTimeoutMs > 0) installExitHooks()
    const { onRejected } = options
    if (onRejected !== undefined) this.#diagnostics.add('rejected', ({ event, reason }) => onRejected(event, reason))
    if (this.#spool !== undefined) {
      this.#register() // so that a process that ends at once still delivers orphans
      void this.#spool.adoptOrphans().then(() => this.#unregisterIfIdle())
    }
  }

  /**
   * Takes an event for delivery, and never throws. The event is serialized at once: later changes of the object do not
   * matter.
   *
   * An event without a time stamp in `timeField` gets one. Its `level` determines the severity: low severities are
   * dropped first when memory is short. Names of npm, syslog and CLI levels count, in upper or lower case; any other
   * level counts as info.
   *
   * @returns true if the event was accepted; false if it was dropped, counted and reported
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
   * Sends waiting events without further delay. Waits until all events accepted before the call are delivered or
   * dropped, or the time is up. Remaining events stay pending, and delivery continues. With a spool, the wait includes
   * events that this process can adopt from others.
   *
   * Delivery trouble never rejects the promise.
   *
   * @param options.timeoutMs maximum wait in milliseconds, 0 to 2 147 483 647; `flushTimeoutMs` by default
   * @throws TypeError | RangeError with `code` `LOGFERRY_INVALID_OPTION` if `timeoutMs` is not a number from 0 to
   * 2 147 483 647
   */
  async flush(options: { timeoutMs?: number | undefined } = {}): Promise<FlushResult> {
    const timeoutMs = checkedTimeoutMs(ownProperties(options).timeoutMs, this.#options.flushTimeoutMs)
    reserveStack(useDiskBytes)
    const handedOffBefore = this.#ledger.handedOff
    const isDone = await settlesWithin(this.#flushAll(), timeoutMs)
    if (!isDone) this.#warnOfPace()
    // Events that `close` handed off to another process meanwhile are neither delivered nor dropped.
    return { complete: isDone && this.#ledger.handedOff <= handedOffBefore, pending: this.#ledger.pending }
  }

  /**
   * Delivers pending events, then closes the connections. Waits between attempts are skipped, except those that the
   * service asks for.
   *
   * Events that are not delivered in time are handed off to the spool. If there is no spool, or the spool cannot take
   * them, they are dropped, counted and reported. An event that is shipped later is not lost: it opens a connection
   * again.
   *
   * Delivery trouble never rejects the promise.
   *
   * @param options.timeoutMs maximum wait in milliseconds, 0 to 2 147 483 647; `flushTimeoutMs` by default
   * @throws TypeError | RangeError with `code` `LOGFERRY_INVALID_OPTION` if `timeoutMs` is not a number from 0 to
   * 2 147 483 647
   */
  async close(options: { timeoutMs?: number | undefined } = {}): Promise<FlushResult> {
    const timeoutMs = checkedTimeoutMs(ownProperties(options).timeoutMs, this.#options.flushTimeoutMs)
    reserveStack(useDiskBytes)
    const complete = await this.#finish(timeoutMs)
    await settlesWithin(Promise.all([this.#sender.close(), this.#license?.close()]), closeConnectionsMs)
    this.#spool?.close()
    this.#memory.clear()
    return { complete, pending: this.#ledger.pending }
  }

  /** Returns a snapshot of the counters and of the limits in force. */
  stats(): ShipperStats {
    const inForce = this.#rateLimiter.inForce(monotonicMs())
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
      maxBatchAgeMs: this.#batchQueue.limits.maxBatchAgeMs,
      limits: this.#license?.limits.stats(inForce),
      spool: this.#spool?.stats(),
    }
  }

  /**
   * Calls `listener` at each event of a kind. If a listener throws, delivery is not affected.
   *
   * - `warning`: trouble, at most once a minute for each matter; with a listener, Node prints no process warning
   * - `dropped`: events were given up
   * - `rejected`: the service refused an event
   * - `delivered`: the service has answered for a batch
   *
   * @throws TypeError with `code` `LOGFERRY_INVALID_OPTION` if the event is none of these, or `listener` is not a
   * function
   */
  on<Name extends keyof DiagnosticListeners>(event: Name, listener: DiagnosticListeners[Name]): this {
    checkListener(event, listener)
    this.#diagnostics.add(event, listener)
    return this
  }

  /**
   * Stops calling `listener`.
   *
   * @throws TypeError with `code` `LOGFERRY_INVALID_OPTION`, as `on` does
   */
  off<Name extends keyof DiagnosticListeners>(event: Name, listener: DiagnosticListeners[Name]): this {
    checkListener(event, listener)
    this.#diagnostics.remove(event, listener)
    return this
  }

  /**
   * The destination of this process's events in the spool; `undefined` without a spool.
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
   * The last answer of the service that asked for another attempt: status and reason.
   *
   * @internal
   */
  get lastTrouble(): string | undefined {
    return this.#delivery.lastTrouble
  }

  /**
   * Takes every event, whichever way it came. The event's own time stamp takes precedence over `time`.
   *
   * At the end of the stack, any call on the way may throw. Even then, an event is either kept and counted as accepted,
   * or dropped and counted as dropped: `catch` changes one number only.
   *
   * @param time milliseconds since the epoch, or seconds and nanoseconds
   * @param tail bytes that replace the closing brace of the event's JSON
   * @param written the result of `JSON.stringify` for an event of plain data, if the caller has it
   * @returns the reason why the event was dropped, or `undefined` if it was kept
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
      if (this.#hasUnreported) this.#scheduleReport()
      if (!this.#batchQueue.hasRoomFor(severity)) return this.#refuse('memory', severity)
      const dataset = this.#datasetOf(event, tail)
      if (dataset === undefined) return this.#refuse('dataset', severity)
      let fitted: object | undefined = event
      if (this.#license !== undefined) {
        fitted = this.#fit(dataset, event, severity, tail)
        if (fitted === undefined) return this.#refuse('budget', severity)
      }
      // A function that names the dataset may have changed the event.
      const json = fitted === event && typeof this.#options.dataset === 'string' ? written : undefined
      if (this.#keep(dataset, fitted, severity, time, tail, json)) return undefined
      return this.#refuse('memory', severity)
    } catch (error) {
      // No logged value can cause this. Only a lack of stack or memory can, or a bug of this package.
      this.refused.error[severity]++
      this.#lastError = error
      try {
        this.#scheduleReport()
      } catch {
        this.#hasUnreported = true
      }
      return 'error'
    }
  }

  /**
   * Drops an event without reading it. An accessor or a listener logged it while another event was being taken, too
   * deep or too often: it would log without end.
   *
   * @internal
   */
  refuseNested(): DropReason {
    return this.dropFor(nested)
  }

  /**
   * Drops a record that came after the shutdown of its processor or exporter.
   *
   * @internal
   */
  refuseShutDown(severity: Severity): DropReason {
    return this.#refuse('shut-down', severity)
  }

  /**
   * Reports that a function of the application threw. Delivery is not affected.
   *
   * @internal
   */
  reportThrown(what: string, error: unknown): void {
    const kind = error instanceof Error ? error.name : typeof error
    this.#diagnostics.warn('LOGFERRY_CALLBACK_THREW', `${what} threw ${kind}`)
  }

  /**
   * Drops an event without reading it, because `error` was thrown while the event was created.
   *
   * @internal
   */
  dropFor(error: unknown): DropReason {
    this.#lastError = error
    return this.#refuse('error', usualSeverity)
  }

  /**
   * Sends the events that `give` ships without further delay. Waits until the service has answered for them, for
   * `flushTimeoutMs` at most.
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
    void this.#batchQueue.flush()
    await settlesWithin(acknowledgement.whenSettled(), this.#options.flushTimeoutMs)
    return acknowledgement
  }

  /** Adds an event to a batch, and counts it as accepted. Returns false if there is no memory for it. */
  #keep(
    dataset: string,
    event: object,
    severity: Severity,
    time: number | readonly [number, number],
    tail: Uint8Array | undefined,
    written?: string,
  ): boolean {
    const wasRegistered = this.#isRegistered
    if (!wasRegistered) this.#register() // first, so that the exit hooks know of every kept event
    const head = this.#hasOwnTime(event)
      ? undefined
      : typeof time === 'number'
        ? this.#timestamper.at(time)
        : this.#timestamper.atHrTime(time)
    const { maxEventBytes } = this.#options
    // A resource must not displace the event itself.
    const isTailTooLong = tail !== undefined && tail.length > maxEventBytes / 4
    if (isTailTooLong) this.#altered.cut++
    const kept = isTailTooLong ? undefined : tail
    const nonFinite = tail === undefined ? 'null' : 'text' // a tail means a record of OpenTelemetry
    const line = eventToLine(event, head, kept, maxEventBytes - 1, this.#altered, written, nonFinite)
    if (!this.#batchQueue.enqueue(dataset, severity, line, this.#acknowledgement)) return false
    this.#ledger.admitted++ // no call since the line got its place: see `Batch.append`
    try {
      this.#license?.limits.count(severity, line.length)
      if (!wasRegistered) drainIfExiting()
    } catch {
      // Out of stack: the license budget misses one line, which later answers correct. The last listener of 'exit'
      // delivers.
    }
    return true
  }

  /** Returns the event as the license allows it to be shipped, or `undefined` if it is sampled away. */
  #fit(dataset: string, event: object, severity: Severity, tail: Uint8Array | undefined): object | undefined {
    reserveStack(fewCallsBytes)
    this.#license?.start() // after close()
    return this.#license?.limits.fit(dataset, event, severity, tail && tailFields(tail))
  }

  /** Removes every secret of the shipper that a text from outside may repeat. */
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
      return true // a getter threw: a stub stands in for the field, and a second field of that name would be wrong
    }
  }

  #datasetOf(event: object, tail: Uint8Array | undefined): string | undefined {
    const { dataset } = this.#options
    if (typeof dataset === 'string') return dataset
    const answer = datasetOf(dataset, event, tail)
    if ('name' in answer) return answer.name
    this.#diagnostics.warn('LOGFERRY_DROPPED', `the \`dataset\` function ${answer.problem}; the event is dropped.`)
    return undefined
  }

  /** Counts an event that is not kept, and reports it. */
  #refuse(reason: Refusal, severity: Severity): DropReason {
    this.refused[reason][severity]++
    if (this.#isReporting) return reason // a listener that hears of a drop has logged: the next drop reports it
    try {
      reserveStack(openBatchBytes)
      this.#reportRefused(reason)
    } catch {
      this.#hasUnreported = true
    }
    return reason
  }

  /**
   * Reports events that were dropped in their log calls and could not be reported there. Uses the next turn of the
   * event loop: with microtasks, a listener that logs could keep the event loop from continuing.
   */
  #scheduleReport(): void {
    if (this.#isReportScheduled) return
    if (!this.#isRegistered) this.#register() // the exit hooks report the events if there is no next turn
    setImmediate(() => this.#reportAllRefused()).unref()
    this.#isReportScheduled = true
  }

  #reportAllRefused(): void {
    this.#isReportScheduled = false
    this.#hasUnreported = false
    for (const reason of refusals) this.#reportRefused(reason)
    this.#spool?.emitPending()
    this.#unregisterIfIdle()
  }

  #reportRefused(reason: Refusal): void {
    const { count, bySeverity } = this.#ledger.takeRefused(reason)
    if (count === 0) return
    this.#isReporting = true
    try {
      this.#diagnostics.emit('dropped', { reason, count, bySeverity })
      this.#warnOfRefused(reason, count, bySeverity)
    } finally {
      this.#isReporting = false
    }
  }

  #warnOfRefused(reason: Refusal, count: number, bySeverity: DropsBySeverity): void {
    if (reason === 'memory') this.#noteShed(bySeverity)
    if (reason === 'shut-down') this.#diagnostics.warn('LOGFERRY_DROPPED', afterShutdown, reason)
    if (reason !== 'error') return
    const error = this.#lastError
    this.#lastError = undefined
    const what = error instanceof Error ? `${error.name}: ${error.message}` : typeof error
    const lost = count === 1 ? 'an event could not be kept, and is' : `${count} events could not be kept, and are`
    this.#diagnostics.warn('LOGFERRY_DROPPED', `${lost} dropped (${what}).`, 'error')
  }

  #noteShed(bySeverity: DropsBySeverity): void {
    const { usedBytes, maxBytes } = this.#memory
    this.#shed.note(bySeverity)
    const inForce = this.#delivery.heldBackBy(monotonicMs())
    const why =
      inForce === undefined
        ? 'Find out why delivery is slow'
        : `Delivery is slow, as ${paceReason(inForce)}: raise that`
    this.#diagnostics.warn(
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

  /** Flushes all batches, including batches that this process can adopt from the spool. */
  async #flushAll(): Promise<void> {
    const inherited = this.#spool?.adoptOrphans()
    await this.#flushAtHand()
    for (let hasMore = await inherited; hasMore; hasMore = await this.#spool?.adoptOrphans())
      await this.#batchQueue.flush()
    if (inherited !== undefined) await this.#batchQueue.flush()
  }

  async #flushAtHand(): Promise<void> {
    const released = this.heldEvents.release()
    const flushed = this.#batchQueue.flush()
    if (released === undefined) return flushed
    await released
    await Promise.all([flushed, this.#batchQueue.flush()])
  }

  /**
   * Delivers pending events without waiting after failures. When the time is up, hands the remaining events off or
   * drops them.
   */
  async #finish(timeoutMs: number): Promise<boolean> {
    this.#delivery.skipBackoff(timeoutMs)
    const flushed = this.#flushAll()
    const complete = await settlesWithin(flushed, timeoutMs)
    this.#reportAllRefused()
    if (complete) return true
    await this.#batchQueue.spillAll()
    this.#dropRemaining(outOfTime(timeoutMs))
    return false
  }

  #warnOfPace(): void {
    const inForce = this.#delivery.heldBackBy(monotonicMs())
    if (inForce !== undefined) this.#diagnostics.warn(...pacedFor(this.#ledger.pending, inForce))
  }

  #dropRemaining(loss: Loss, about?: string): void {
    const { how, remedy } = loss.isWaiting ? this.#explained(loss) : loss
    this.heldEvents.releaseAllNow()
    const { pending, handedOff, dropped } = this.#ledger
    if (pending === handedOff) return
    this.#delivery.abandon('closed', batch => this.#spool?.handOff(batch) ?? false)
    this.#unregisterIfIdle()
    const [kept, lost] = [this.#ledger.handedOff - handedOff, this.#ledger.dropped - dropped]
    if (kept > 0)
      this.#diagnostics.warn('LOGFERRY_SPOOL', `${events(kept)} could not be delivered ${how}; ${inSpool}`, about)
    if (lost === 0) return
    const message = `${events(lost)} could not be delivered ${how}, and had to be dropped. ${remedy}`
    this.#diagnostics.warn('LOGFERRY_DROPPED', message, about)
  }

  /** Adds the reason why the events waited to a loss, if that reason is known. */
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

  #beginDrain(client: WorkerHttpClient): void {
    this.#breaker.isUrgent = true
    this.#delivery.useSyncSender((batch, onAttempt) => this.#sender.sendSync(client, batch, onAttempt))
    this.#batchQueue.enterSyncMode()
    this.#delivery.skipBackoff(this.#options.exitTimeoutMs)
    void this.#flushAtHand()
  }

  #endDrain(): void {
    this.#breaker.isUrgent = false
    this.#batchQueue.leaveSyncMode()
    this.#delivery.useSyncSender(undefined)
    this.#spool?.emitPending()
  }

  #step(): number {
    if (this.#delivery.inFlight === 0) void this.#flushAtHand() // for events that listeners have logged since
    return this.#delivery.wake()
  }

  async #finishAtExit(): Promise<void> {
    this.#breaker.isUrgent = true
    await this.#finish(this.#options.exitTimeoutMs)
    this.#breaker.isUrgent = false
    this.#spool?.close()
    this.#unregisterIfIdle()
  }

  #openSpool(spool: ResolvedSpool, durability: 'memory' | 'disk'): SpoolCoordinator {
    return new SpoolCoordinator(spool, durability, {
      ledger: this.#ledger,
      diagnostics: this.#diagnostics,
      memory: this.#memory,
      batchQueue: () => this.#batchQueue,
      onAdopted: () => this.#register(),
    })
  }

  #register(): void {
    this.#spool?.resume()
    if (this.#options.exitTimeoutMs === 0) return
    reserveStack(openBatchBytes)
    registerDrainable(this.#drainable)
    this.#isRegistered = true
  }

  #onSettled(): void {
    this.heldEvents.resume()
    this.#unregisterIfIdle()
  }

  #unregisterIfIdle(): void {
    if (this.#hasUnreported) this.#reportAllRefused()
    if (!this.#isRegistered || this.#ledger.pending > this.#ledger.handedOff) return
    this.#isRegistered = false
    unregisterDrainable(this.#drainable)
  }
}

/** Severity of an event that cannot be read: info. */
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
  // At an eighth of the memory each, four batches can be in flight while four others are being filled or wait.
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
 * Returns the maximum bytes of a batch with a spool. In-flight batches and their compressed copies then never take more
 * than half of the memory. All other batches can always move to the disk, of which one batch is a small part.
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

/**
 * Creates a shipper, to use by itself or to give to transports, exporters and processors as `{ shipper }`.
 *
 * @param options missing options are taken from the environment or have defaults
 * @throws TypeError | RangeError with `code` `LOGFERRY_INVALID_OPTION` if an option is missing or malformed
 * @throws Error if Node is older than 22.19
 */
export function createShipper(options?: ShipperOptions): Shipper {
  return new Shipper(resolveOptions(options, process.env))
}
