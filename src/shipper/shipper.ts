import type { DiagnosticListeners } from '../accounting/diagnostics.ts'
import type { DropReason } from '../accounting/drop-reasons.ts'
import type { Ledger } from '../accounting/ledger.ts'
import { type Severity, type SeverityName, severityOfLevel } from '../accounting/severity.ts'
import { Acknowledgement } from '../batch/acknowledgements.ts'
import { checkedTimeoutMs } from '../options/checked-timeout.ts'
import { resolveOptions } from '../options/resolve.ts'
import type { ResolvedOptions } from '../options/resolved-options.ts'
import type { ShipperOptions } from '../options/shipper-options.ts'
import type { ResolvedSpool } from '../options/spool-options.ts'
import { outsideRequests } from '../outside-requests.ts'
import { wallClockMs } from '../record/clock.ts'
import type { Alterations } from '../record/event-to-plain.ts'
import { beginLogCall, logCalls } from '../record/log-calls.ts'
import { hasOtherFields } from '../record/shipped-field.ts'
import { flushBytes, openBatchBytes, reserveStack, useDiskBytes } from '../stack-reserve.ts'
import { kindOfThrown } from '../text/kind-of-thrown.ts'
import { monotonicMs, systemTimeMs } from '../time.ts'
import { settlesWithin } from '../time-limits.ts'
import { checkListener } from './check-listener.ts'
import { Core } from './core.ts'
import type { HeldEvents } from './held-events.ts'
import type { Intake } from './intake/intake.ts'
import { endlessLogging } from './intake/intake-drops.ts'
import { type IntakeEvent, intakeEvent } from './intake/intake-event.ts'
import { maxCopyBytes } from './intake/shaping.ts'
import type { MinSeverity } from './min-severity.ts'
import type { Room } from './room.ts'
import type { ShipperStats } from './shipper-stats.ts'
import { checkedMaxStatements, noUsage, type ShipperUsage } from './usage-of.ts'

/** The result of `flush()` or `close()`. */
export interface FlushResult {
  /**
   * True if every event accepted before the call was delivered or dropped within the time, except held events (option
   * `hold`). False if time ran out, or if events were handed off to the spool.
   */
  readonly complete: boolean
  /**
   * Events that are neither delivered nor dropped, including events that were handed off to the spool, and events that
   * are held (option `hold`).
   */
  readonly pending: number
}

/** Maximum time that `close()` waits for connections that should be idle, in milliseconds. */
const closeConnectionsMs = 1000

/**
 * Ships events: record → line → batch → request → outcome. Created by `createShipper`. Any number of loggers can share
 * a shipper. Neither logging nor delivery trouble throws into code that logs.
 */
export class Shipper {
  readonly #core: Core
  /** As in the core: every log call needs them. */
  readonly #intake: Intake
  readonly #minSeverity: MinSeverity
  /**
   * Events dropped inside their log calls, for callers of `take` whose stack ends before that call.
   *
   * @internal
   */
  readonly intakeDropCounts: Ledger['intakeDropCounts']
  /** @internal */
  readonly heldEvents: HeldEvents
  /**
   * For a caller that can wait until there is room for an event.
   *
   * @internal
   */
  readonly room: Room

  /** @internal */
  constructor(options: ResolvedOptions) {
    const core = outsideRequests(() => new Core(options))
    this.#core = core
    this.#intake = core.intake
    this.#minSeverity = core.minSeverity
    this.intakeDropCounts = core.ledger.intakeDropCounts
    this.heldEvents = core.heldEvents
    this.room = core.room
  }

  /**
   * Takes an event for delivery, and never throws. The event is serialized at once: later changes of the object do not
   * matter.
   *
   * An event without a timestamp in `timeField` gets one. Its `level` determines the severity: low severities are
   * dropped first when memory is short. Names of npm, syslog and CLI levels count, in upper or lower case; any other
   * level counts as info.
   *
   * @returns true if the event was accepted; false if it was dropped, counted and reported, or is below the minimum
   * severity
   */
  ship(event: EventObject): boolean {
    try {
      if (!beginLogCall()) return this.dropNested() === undefined
      try {
        const fields = this.#fieldsOf(event)
        const severity = levelOf(fields)
        if (this.isBelowMinimum(severity)) return false
        const intake = intakeEvent(fields, severity, wallClockMs())
        intake.logged = event
        return this.take(intake) === undefined
      } finally {
        logCalls.depth--
      }
    } catch {
      this.intakeDropCounts.error[usualSeverity]++
      return false
    }
  }

  /**
   * Takes an event for delivery, as `ship` does, and resolves when the service has taken it. The event is not held
   * (`hold`), and is shipped even if it is below the minimum severity. Its batch is sent without further delay. Events
   * that are shipped at about the same time share their batches, so that any number of calls may wait at once.
   *
   * @param options.timeoutMs maximum wait in milliseconds, 0 to 2 147 483 647; `flushTimeoutMs` by default
   * @throws NotConfirmedError if the event is dropped or refused, with the reason. Also if the service does not answer
   * for the event in time (`LOGFERRY_TIMEOUT`): the event then stays pending, and may still be delivered
   * @throws TypeError | RangeError with `code` `LOGFERRY_INVALID_OPTION` if `options` is not an object or has
   * another name, or `timeoutMs` is not a number from 0 to 2 147 483 647
   */
  async shipAndConfirm(event: EventObject, options: { timeoutMs?: number | undefined } = {}): Promise<void> {
    const timeoutMs = checkedTimeoutMs(options, this.#core.options.flushTimeoutMs)
    reserveStack(openBatchBytes) // the call does not stop between the log call and the wait
    const errorOf = await this.#core.receipts.confirm(given => this.#takeAwaited(event, given), timeoutMs)
    if (errorOf !== undefined) throw errorOf()
  }

  /**
   * Sends waiting events without further delay. Waits until all events accepted before the call are delivered or
   * dropped, or the time is up. Remaining events stay pending, and delivery continues. With a spool, the wait includes
   * events that this process can adopt from others.
   *
   * Delivery trouble never rejects the promise.
   *
   * @param options.timeoutMs maximum wait in milliseconds, 0 to 2 147 483 647; `flushTimeoutMs` by default
   * @throws TypeError | RangeError with `code` `LOGFERRY_INVALID_OPTION` if `options` is not an object or has
   * another name, or `timeoutMs` is not a number from 0 to 2 147 483 647
   */
  async flush(options: { timeoutMs?: number | undefined } = {}): Promise<FlushResult> {
    const timeoutMs = checkedTimeoutMs(options, this.#core.options.flushTimeoutMs)
    reserveStack(flushBytes)
    const { ledger, drain } = this.#core
    const { handedOffInAll } = ledger
    const isDone = await drain.flushWithin(timeoutMs)
    if (!isDone) drain.warnOfPace()
    // Events that `close` handed off to another process meanwhile are neither delivered nor dropped.
    return { complete: isDone && ledger.handedOffInAll === handedOffInAll, pending: ledger.pending }
  }

  /**
   * Delivers pending events, then closes the connections. Waits after failures are at most 0.4 seconds, except those
   * that the service asks for.
   *
   * Events that are not delivered in time are handed off to the spool. If there is no spool, or the spool cannot take
   * them, they are dropped, counted and reported. An event that is shipped later is not lost: it opens a connection
   * again. The same holds for events that are shipped to many datasets while others are handed off.
   *
   * Delivery trouble never rejects the promise.
   *
   * @param options.timeoutMs maximum wait for the service in milliseconds, 0 to 2 147 483 647; `flushTimeoutMs` by
   * default. Handing off comes after it, and takes a second or two for thousands of datasets
   * @throws TypeError | RangeError with `code` `LOGFERRY_INVALID_OPTION` if `options` is not an object or has
   * another name, or `timeoutMs` is not a number from 0 to 2 147 483 647
   */
  async close(options: { timeoutMs?: number | undefined } = {}): Promise<FlushResult> {
    const timeoutMs = checkedTimeoutMs(options, this.#core.options.flushTimeoutMs)
    reserveStack(flushBytes)
    const { drain, usageReports } = this.#core
    const complete = await drain.finish(timeoutMs, { about: 'close', shipLast: () => usageReports?.shipNow() })
    usageReports?.disarm() // events that sum up others may have been shipped since
    await settlesWithin(Promise.all([this.#core.sender.close(), this.#core.license?.close()]), closeConnectionsMs)
    this.#core.rateExchange?.close()
    this.#core.drain.releaseSpool() // again, for events that were logged meanwhile
    this.#core.pipeline.memory.retire()
    this.#core.releaseProcess()
    return { complete, pending: this.#core.ledger.pending }
  }

  /** Closes the shipper at the end of a block: `await using shipper = createShipper(…)`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  /** Returns a snapshot of the counters and of the limits in force. */
  stats(): ShipperStats {
    const { ledger, pipeline, altered, compression, datasetTotals, license, minSeverity, noise, rateExchange } =
      this.#core
    const { memory, batchQueue, delivery, rateLimiter, spool } = pipeline
    const inForce = rateLimiter.inForce(monotonicMs())
    return {
      accepted: ledger.accepted,
      delivered: ledger.delivered,
      dropped: ledger.dropped,
      pending: ledger.pending,
      held: noise.traceHold?.count ?? 0,
      drops: ledger.drops(),
      datasets: datasetTotals.snapshot(batchQueue.unsettled),
      stubbed: altered.stubbed,
      cut: altered.cut,
      requests: delivery.requests,
      retries: delivery.retries,
      requestsInFlight: delivery.inFlight,
      bytesOnWire: delivery.bytesOnWire,
      bufferedBytes: memory.usedBytes,
      compression: compression.encoding,
      requestsPerSecond: inForce.requestsPerSecond,
      rateSharers: rateExchange?.sharers ?? 1,
      maxBatchBytes: delivery.maxBatchBytes,
      maxBatchAgeMs: batchQueue.limits.maxBatchAgeMs,
      minSeverity: minSeverity.name,
      limits: license?.limits.stats(inForce),
      spool: spool?.stats(),
    }
  }

  /**
   * Changes the minimum severity of events that are shipped. A further call replaces an earlier one.
   *
   * @param severity `trace`, `debug`, `info`, `warn`, `error` or `fatal`
   * @param options.forMs time after which the minimum goes back to its last permanent value, in milliseconds, 1 to
   * 2 147 483 647; without it, the change is permanent
   * @throws TypeError | RangeError with `code` `LOGFERRY_INVALID_OPTION` if `severity` is none of these, `options` is not an
   * object or has another name, or `forMs` is not a number from 1 to 2 147 483 647
   */
  setMinSeverity(severity: SeverityName, options: { readonly forMs?: number | undefined } = {}): void {
    this.#minSeverity.set(severity, options)
  }

  /**
   * Returns the number of events and bytes that were kept: in total, by log statement and by dataset. Counts begin when
   * the shipper is created, and anew with each billing period of the license. Bytes are those before compression.
   *
   * @param options.maxStatements maximum number of log statements to list, 0 to 240; 20 by default
   * @throws TypeError | RangeError with `code` `LOGFERRY_INVALID_OPTION` if `options` is not an object or has
   * another name, or `maxStatements` is not such an integer
   */
  usage(options: { maxStatements?: number | undefined } = {}): ShipperUsage {
    const maxStatements = checkedMaxStatements(options)
    const usage = this.#core.usageMeter?.usage(maxStatements) ?? noUsage(systemTimeMs())
    return { ...usage, fields: this.#core.fieldRules?.usage() }
  }

  /**
   * Calls `listener` at each event of a kind, once, also if it was added twice. If a listener throws, delivery is not
   * affected.
   *
   * - `warning`: trouble, at most once a minute for each matter; with a listener, Node prints no process warning
   * - `dropped`: events were given up
   * - `rejected`: the service refused an event
   * - `delivered`: the service has answered for a batch
   * - `retried`: a batch is sent again, because the service did not take it or gave no answer
   * - `paused`: events of a dataset are held back, because the service refuses its token, name or address, or every event
   * - `spooled`: events went to the spool
   * - `attempted`: a request has ended, with or without an answer
   *
   * Each kind except `warning` is also published on the channel `logferry:<kind>` of `node:diagnostics_channel`.
   *
   * @throws TypeError with `code` `LOGFERRY_INVALID_OPTION` if the event is none of these, or `listener` is not a
   * function
   */
  on<Name extends keyof DiagnosticListeners>(event: Name, listener: DiagnosticListeners[Name]): this {
    checkListener(event, listener)
    this.#core.diagnostics.add(event, listener)
    return this
  }

  /**
   * Stops calling `listener`.
   *
   * @throws TypeError with `code` `LOGFERRY_INVALID_OPTION`, as `on` does
   */
  off<Name extends keyof DiagnosticListeners>(event: Name, listener: DiagnosticListeners[Name]): this {
    checkListener(event, listener)
    this.#core.diagnostics.remove(event, listener)
    return this
  }

  /**
   * The destination of this process's events in the spool; `undefined` without a spool.
   *
   * @internal
   */
  get destination(): string | undefined {
    return this.#core.options.spool?.destination
  }

  /**
   * Number of listeners for `warning`.
   *
   * @internal
   */
  get warningListeners(): number {
    return this.#core.diagnostics.listenerCount('warning')
  }

  /** @internal */
  get altered(): Alterations {
    return this.#core.altered
  }

  /** @internal */
  get isDurable(): boolean {
    return this.#core.options.durability === 'disk'
  }

  /**
   * Maximum bytes of an event that is copied before it is redacted.
   *
   * @internal
   */
  get maxCopyBytes(): number {
    return maxCopyBytes(this.#core.options)
  }

  /**
   * Number of events that were accepted, except those adopted from the spool.
   *
   * @internal
   */
  get acceptedHere(): number {
    return this.#core.ledger.accepted - (this.#core.pipeline.spool?.stats().adopted ?? 0)
  }

  /** @internal */
  get flushTimeoutMs(): number {
    return this.#core.options.flushTimeoutMs
  }

  /**
   * The last answer of the service that asked for another attempt: status and reason.
   *
   * @internal
   */
  get lastTrouble(): string | undefined {
    return this.#core.pipeline.delivery.lastTrouble
  }

  /**
   * Takes every event, whichever way it came, and never throws.
   *
   * @returns the reason why the event was dropped, or `undefined` if it was kept
   * @internal
   */
  take(intake: IntakeEvent): DropReason | undefined {
    return this.#intake.take(intake)
  }

  /**
   * As `take`, for an event that was held back after `addContext`.
   *
   * @internal
   */
  takeHeld(intake: IntakeEvent): DropReason | undefined {
    return this.#intake.takeHeld(intake)
  }

  /**
   * Adds the fields of the `context` function. Called inside the log call of an event that will be held back.
   *
   * @internal
   */
  addContext(intake: IntakeEvent): void {
    this.#intake.addContext(intake)
  }

  /**
   * True if events of this severity are not shipped. Each log call asks before it reads anything else of its event.
   *
   * @internal
   */
  isBelowMinimum(severity: Severity): boolean {
    return severity < this.#minSeverity.current
  }

  /**
   * Drops an event without reading it. An accessor or a listener logged it while another event was being taken, too
   * deep or too often: it would log without end.
   *
   * @internal
   */
  dropNested(): DropReason {
    return this.dropFor(endlessLogging)
  }

  /**
   * Drops a record that came after the shutdown of its processor or exporter.
   *
   * @internal
   */
  dropAfterShutdown(severity: Severity): void {
    if (!this.isBelowMinimum(severity)) this.#core.intakeDrops.drop('shut-down', severity)
  }

  /**
   * Reports that a function of the application threw. Delivery is not affected.
   *
   * @internal
   */
  reportThrown(what: string, error: unknown): void {
    this.#core.diagnostics.warn('LOGFERRY_CALLBACK_THREW', `${what} threw ${kindOfThrown(error)}. Delivery continues.`)
  }

  /**
   * Reports that a function of the application answered with an error. Delivery is not affected.
   *
   * @internal
   */
  reportFailed(what: string, error: unknown): void {
    this.#core.diagnostics.warn(
      'LOGFERRY_CALLBACK_THREW',
      `${what} failed with ${kindOfThrown(error)}. Delivery continues.`,
    )
  }

  /**
   * Drops an event without reading it, because `error` was thrown while the event was created.
   *
   * @param thrower the code of the application that threw the error, if it is known
   * @internal
   */
  dropFor(error: unknown, thrower = ''): DropReason {
    this.#core.intakeDrops.lastError = error
    this.#core.intakeDrops.lastThrower = thrower
    return this.#core.intakeDrops.drop('error', usualSeverity)
  }

  /**
   * Flushes the events of this process for at most `flushTimeoutMs`, for a caller that the process need not wait for: its
   * natural end delivers pending events anyway. The shipper may be closed already.
   *
   * @internal
   */
  async flushInBackground(): Promise<void> {
    reserveStack(flushBytes)
    const { drain, usageReports } = this.#core
    const onReleased = () => usageReports?.shipNow()
    const isDone = await drain.flushWithin(this.flushTimeoutMs, { onReleased, keepsAlive: false, adoptsOrphans: false })
    if (!isDone) drain.warnOfPace()
  }

  /**
   * Sends the events that `give` ships with the acknowledgement, without further delay. Waits until the service has
   * answered for them, for `flushTimeoutMs` at most.
   *
   * @internal
   */
  async shipAndTrack(give: (acknowledgement: Acknowledgement) => void): Promise<Acknowledgement> {
    reserveStack(useDiskBytes)
    const acknowledgement = new Acknowledgement()
    give(acknowledgement)
    void this.#core.pipeline.batchQueue.flush()
    await settlesWithin(acknowledgement.whenSettled(), this.#core.options.flushTimeoutMs)
    return acknowledgement
  }

  /** Returns the fields of an event as they are sent: the level and the timestamp are among these. */
  #fieldsOf(event: object): object {
    return hasOtherFields(event) ? this.#core.asSent({ event, resource: undefined, wasCut: false }) : event
  }

  /** Takes an event that a caller waits for. Returns the reason if the event is dropped. */
  #takeAwaited(event: object, acknowledgement: Acknowledgement): DropReason | undefined {
    if (!beginLogCall()) return this.dropNested()
    try {
      const fields = this.#fieldsOf(event)
      const intake = intakeEvent(fields, levelOf(fields), wallClockMs())
      intake.logged = event
      intake.acknowledgement = acknowledgement
      intake.isUrgent = true
      return this.take(intake)
    } finally {
      logCalls.depth--
    }
  }
}

/** An object with fields, also one typed by an interface. Arrays, Maps and Sets are none. */
type EventObject = Readonly<Record<string, unknown>> | (object & { readonly [Symbol.iterator]?: never })

/** Severity of an event that cannot be read: info. */
const usualSeverity = severityOfLevel(undefined)

function levelOf(event: object): Severity {
  try {
    return severityOfLevel((event as { level?: unknown }).level)
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

/**
 * Creates a shipper for the events of a spool.
 *
 * @param changes another destination, to deliver the events of the spool to another address; or another maximum for the
 *   file of refused events @internal
 */
export function createShipperOfSpool(
  options: ShipperOptions,
  changes: Partial<Pick<ResolvedSpool, 'destination' | 'maxRejectedBytes'>>,
): Shipper {
  const { spool, ...others } = resolveOptions(options, process.env)
  return new Shipper({ ...others, spool: spool && { ...spool, ...changes } })
}
