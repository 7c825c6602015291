import { Channels } from '../accounting/channels.ts'
import { DatasetCounts } from '../accounting/dataset-counts.ts'
import { type DiagnosticListeners, Diagnostics } from '../accounting/diagnostics.ts'
import { type DropReason, Ledger } from '../accounting/ledger.ts'
import { type Severity, type SeverityName, severityOfLevel } from '../accounting/severity.ts'
import { Acknowledgement } from '../batch/acknowledgements.ts'
import { Compression } from '../delivery/compression.ts'
import { Sender } from '../delivery/sender.ts'
import { drainIfExiting, installExitHooks } from '../exit/exit-hooks.ts'
import type { FieldRules } from '../fields/field-rules.ts'
import { checkedTimeoutMs } from '../options/checked-timeout.ts'
import { resolveOptions } from '../options/resolve.ts'
import type { ResolvedOptions } from '../options/resolved-options.ts'
import type { ShipperOptions } from '../options/shipper-options.ts'
import { ownProperties } from '../own-properties.ts'
import { wallClockMs } from '../record/clock.ts'
import type { Alterations } from '../record/event-to-plain.ts'
import { beginLogCall, logCalls } from '../record/log-calls.ts'
import { Redaction } from '../record/redaction.ts'
import { fewCallsBytes, reserveStack, useDiskBytes } from '../stack-reserve.ts'
import type { Redact } from '../text/short-line.ts'
import { monotonicMs, systemTimeMs } from '../time.ts'
import { settlesWithin } from '../time-limits.ts'
import type { UsageMeter } from '../usage/usage-meter.ts'
import { batchLimits } from './batch-limits.ts'
import { checkListener } from './check-listener.ts'
import { Drain } from './drain.ts'
import { ShipperAtExit } from './exit-drain.ts'
import { fieldRulesOf, fieldStep, redactStep } from './field-rules-of.ts'
import { HeldEvents } from './held-events.ts'
import { Instruments } from './instruments.ts'
import { IdentifiedIntake } from './intake/identified-intake.ts'
import { Intake } from './intake/intake.ts'
import type { HoldingStep, IntakeEvent } from './intake/intake-event.ts'
import { type NoiseControl, openNoiseControl } from './intake/noise-control.ts'
import { RefusedEvents } from './intake/refused-events.ts'
import { shapingOf } from './intake/shaping.ts'
import { type License, openLicense } from './license-limits.ts'
import { MinSeverity } from './min-severity.ts'
import { openPipeline, type Pipeline } from './pipeline.ts'
import { Receipts } from './receipts.ts'
import { Room } from './room.ts'
import type { ShipperStats } from './shipper-stats.ts'
import { SpoolCoordinator } from './spool-coordinator.ts'
import { checkedMaxStatements, lineCounter, noUsage, openUsageMeter, type ShipperUsage } from './usage-of.ts'
import { namesOf, UsageReports } from './usage-reports.ts'

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
  readonly #options: ResolvedOptions
  readonly #ledger = new Ledger()
  /**
   * Events dropped inside their log calls, for callers of `take` whose stack ends before that call.
   *
   * @internal
   */
  readonly refused = this.#ledger.refused
  readonly #number = shippers++
  readonly #diagnostics = new Diagnostics((text, kind) => this.#redact(text, kind), new Channels(this.#number))
  readonly #datasetCounts = new DatasetCounts()
  readonly #altered: Alterations = { stubbed: 0, cut: 0 }
  readonly #compression: Compression
  readonly #sender: Sender
  readonly #pipeline: Pipeline
  /** @internal */
  readonly heldEvents: HeldEvents
  /**
   * For a caller that can wait until there is room for an event.
   *
   * @internal
   */
  readonly room: Room
  readonly #drain: Drain
  readonly #atExit: ShipperAtExit
  readonly #refusedEvents: RefusedEvents
  readonly #license: License | undefined
  readonly #noise: NoiseControl
  readonly #redaction: Redaction | undefined
  readonly #fieldRules: FieldRules | undefined
  readonly #usageMeter: UsageMeter | undefined
  readonly #usageReports: UsageReports | undefined
  readonly #intake: Intake
  readonly #minSeverity: MinSeverity
  readonly #receipts: Receipts
  readonly #instruments: Instruments | undefined

  /** @internal */
  constructor(options: ResolvedOptions) {
    const ledger = this.#ledger
    const diagnostics = this.#diagnostics
    const redaction = options.redact && new Redaction(options.redact)
    this.#options = options
    this.#redaction = redaction
    this.#compression = new Compression(options.compression)
    this.#sender = new Sender(options, this.#compression, diagnostics.redact)
    this.#pipeline = this.#openPipeline()
    const { memory, batchQueue, delivery, rateLimiter, spool } = this.#pipeline
    this.room = new Room({ memory, batchQueue, spool: spool?.spool, maxSpoolBytes: options.spool?.maxBytes })
    this.heldEvents = new HeldEvents({
      memory,
      ledger,
      batchQueue,
      onHeld: () => {
        if (this.#atExit.isRegistered) return
        this.#atExit.register()
        drainIfExiting()
      },
      onRemoved: () => this.#atExit.unregisterIfDone(),
    })
    this.#noise = openNoiseControl({
      options,
      heldEvents: this.heldEvents,
      altered: this.#altered,
      intake: () => this.#intake,
      refused: () => this.#refusedEvents,
      redaction,
      onUntriggered: () => {
        this.#atExit.registerUntriggered()
        drainIfExiting()
      },
    })
    this.#drain = new Drain({
      pipeline: this.#pipeline,
      heldEvents: this.heldEvents,
      traceHold: this.#noise.traceHold,
      ledger,
      diagnostics,
      reportRefused: () => this.#refusedEvents.reportAll(),
      onEmptied: () => this.#atExit.unregisterIfDone(),
    })
    this.#atExit = new ShipperAtExit({
      options,
      pipeline: this.#pipeline,
      drain: this.#drain,
      sender: this.#sender,
      ledger,
      refused: () => this.#refusedEvents,
      untriggered: () => this.#noise.traceHold?.count ?? 0,
    })
    this.#refusedEvents = new RefusedEvents({
      ledger,
      diagnostics,
      memory,
      redaction,
      heldBackBy: nowMs => delivery.heldBackBy(nowMs),
      atExit: this.#atExit,
      onReported: () => {
        spool?.emitPending()
        this.#atExit.unregisterIfDone()
      },
    })
    const altered = this.#altered
    const fields = options.fields && fieldRulesOf(options.fields, { options, diagnostics, altered })
    const meter = options.countUsage ? openUsageMeter(redaction) : undefined
    this.#fieldRules = fields
    this.#usageMeter = meter
    this.#usageReports = meter && this.#openReports(meter)
    this.#license =
      options.limits &&
      openLicense({
        options,
        limits: options.limits,
        rateLimiter,
        delivery,
        diagnostics,
        altered: this.#altered,
        redaction,
        fields,
        topStatements: meter && (() => namesOf(meter.usage(3).statements)),
        onNewPeriod: meter && (() => meter.restart()),
      })
    this.#license?.start()
    this.#minSeverity = new MinSeverity(options.shaping.minSeverity)
    this.#intake = new (options.identify ? IdentifiedIntake : Intake)(
      {
        options,
        batchQueue,
        ledger,
        diagnostics,
        license: this.#license,
        countLine: lineCounter({ license: this.#license, meter, reports: this.#usageReports }),
        refused: this.#refusedEvents,
        shaping: shapingOf({ options, diagnostics, altered: this.#altered }),
        redaction,
        atExit: this.#atExit,
      },
      this.#altered,
      [...this.#noise.steps, ...this.#fieldSteps(fields)],
    )
    this.#receipts = new Receipts({ intake: this.#intake, batchQueue })
    diagnostics.add('delivered', delivered => this.#datasetCounts.onDelivered(delivered))
    diagnostics.add('dropped', dropped => this.#datasetCounts.onDropped(dropped))
    this.#instruments = this.#openInstruments()
    if (options.exitTimeoutMs > 0) installExitHooks()
    const { onRejected } = options
    if (onRejected !== undefined) diagnostics.add('rejected', ({ event, reason }) => onRejected(event, reason))
    if (spool !== undefined) {
      this.#atExit.register() // so that a process that ends at once still delivers orphans
      void spool.adoptOrphans().then(() => this.#atExit.unregisterIfDone())
    }
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
  ship(event: Readonly<Record<string, unknown>>): boolean {
    try {
      if (!beginLogCall()) return this.refuseNested() === undefined
      try {
        const severity = levelOf(event)
        if (this.isBelowMinimum(severity)) return false
        const time = wallClockMs()
        return this.take({ event, severity, time, resource: undefined, preSerialized: undefined }) === undefined
      } finally {
        logCalls.depth--
      }
    } catch {
      this.refused.error[usualSeverity]++
      return false
    }
  }

  /**
   * Takes an event for delivery, as `ship` does, and resolves when the service has taken it. The batch of the event is
   * sent without further delay. Events that are shipped at about the same time share their batches, so that any number
   * of calls may wait at once.
   *
   * @param options.timeoutMs maximum wait in milliseconds, 0 to 2 147 483 647; `flushTimeoutMs` by default
   * @throws NotConfirmedError if the event is dropped or refused, with the reason. Also if the service does not answer
   * for the event in time (`LOGFERRY_TIMEOUT`): the event then stays pending, and may still be delivered
   * @throws TypeError | RangeError with `code` `LOGFERRY_INVALID_OPTION` if `timeoutMs` is not a number from 0 to
   * 2 147 483 647
   */
  async shipAndConfirm(
    event: Readonly<Record<string, unknown>>,
    options: { timeoutMs?: number | undefined } = {},
  ): Promise<void> {
    const timeoutMs = checkedTimeoutMs(ownProperties(options).timeoutMs, this.#options.flushTimeoutMs)
    reserveStack(fewCallsBytes) // the call does not stop between the log call and the wait
    const errorOf = await this.#receipts.confirm(() => this.#takeLogged(event), timeoutMs)
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
   * @throws TypeError | RangeError with `code` `LOGFERRY_INVALID_OPTION` if `timeoutMs` is not a number from 0 to
   * 2 147 483 647
   */
  async flush(options: { timeoutMs?: number | undefined } = {}): Promise<FlushResult> {
    const timeoutMs = checkedTimeoutMs(ownProperties(options).timeoutMs, this.#options.flushTimeoutMs)
    reserveStack(useDiskBytes)
    const handedOffBefore = this.#ledger.handedOff
    const isDone = await settlesWithin(this.#drain.flushAll(), timeoutMs)
    if (!isDone) this.#drain.warnOfPace()
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
    this.#usageReports?.shipNow()
    const complete = await this.#drain.finish(timeoutMs)
    await settlesWithin(Promise.all([this.#sender.close(), this.#license?.close()]), closeConnectionsMs)
    this.#pipeline.spool?.close()
    this.#pipeline.memory.clear()
    this.#instruments?.release()
    return { complete, pending: this.#ledger.pending }
  }

  /** Returns a snapshot of the counters and of the limits in force. */
  stats(): ShipperStats {
    const { memory, batchQueue, delivery, rateLimiter, spool } = this.#pipeline
    const inForce = rateLimiter.inForce(monotonicMs())
    return {
      accepted: this.#ledger.accepted,
      delivered: this.#ledger.delivered,
      dropped: this.#ledger.dropped,
      pending: this.#ledger.pending,
      held: this.#noise.traceHold?.count ?? 0,
      drops: this.#ledger.drops(),
      datasets: this.#datasetCounts.snapshot(batchQueue.pendingByDataset()),
      stubbed: this.#altered.stubbed,
      cut: this.#altered.cut,
      requests: delivery.requests,
      retries: delivery.retries,
      requestsInFlight: delivery.inFlight,
      bytesOnWire: delivery.bytesOnWire,
      bufferedBytes: memory.usedBytes,
      compression: this.#compression.encoding,
      requestsPerSecond: inForce.requestsPerSecond,
      maxBatchBytes: delivery.maxBatchBytes,
      maxBatchAgeMs: batchQueue.limits.maxBatchAgeMs,
      minSeverity: this.#minSeverity.name,
      limits: this.#license?.limits.stats(inForce),
      spool: spool?.stats(),
    }
  }

  /**
   * Changes the minimum severity of events that are shipped. A further call replaces an earlier one.
   *
   * @param severity `trace`, `debug`, `info`, `warn`, `error` or `fatal`
   * @param options.forMs time after which the minimum goes back to its last permanent value, in milliseconds, 1 to
   * 2 147 483 647; without it, the change is permanent
   * @throws TypeError | RangeError with `code` `LOGFERRY_INVALID_OPTION` if `severity` is none of these, or `forMs` is not
   * a number from 1 to 2 147 483 647
   */
  setMinSeverity(severity: SeverityName, options: { readonly forMs?: number | undefined } = {}): void {
    this.#minSeverity.set(severity, options)
  }

  /**
   * Returns the events and bytes that were kept since the shipper was created, or since the license's billing period
   * began: in total, by log statement and by dataset. Bytes are those of the lines, before compression.
   *
   * @param options.maxStatements maximum number of log statements to list, 0 to 240; 20 by default
   * @throws TypeError | RangeError with `code` `LOGFERRY_INVALID_OPTION` if `maxStatements` is not such an integer
   */
  usage(options: { maxStatements?: number | undefined } = {}): ShipperUsage {
    const maxStatements = checkedMaxStatements(ownProperties(options).maxStatements)
    const usage = this.#usageMeter?.usage(maxStatements) ?? noUsage(systemTimeMs())
    return { ...usage, fields: this.#fieldRules?.usage() }
  }

  /**
   * Calls `listener` at each event of a kind. If a listener throws, delivery is not affected.
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
    return this.#pipeline.delivery.lastTrouble
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
  refuseNested(): DropReason {
    return this.dropFor(nested)
  }

  /**
   * Drops a record that came after the shutdown of its processor or exporter.
   *
   * @internal
   */
  refuseShutDown(severity: Severity): void {
    if (!this.isBelowMinimum(severity)) this.#refusedEvents.refuse('shut-down', severity)
  }

  /**
   * Reports that a function of the application threw. Delivery is not affected.
   *
   * @internal
   */
  reportThrown(what: string, error: unknown): void {
    const kind = error instanceof Error ? error.name : typeof error
    this.#diagnostics.warn('LOGFERRY_CALLBACK_THREW', `${what} threw ${kind}. Delivery continues.`)
  }

  /**
   * Drops an event without reading it, because `error` was thrown while the event was created.
   *
   * @internal
   */
  dropFor(error: unknown): DropReason {
    this.#refusedEvents.lastError = error
    return this.#refusedEvents.refuse('error', usualSeverity)
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
    this.#intake.track(acknowledgement, give)
    void this.#pipeline.batchQueue.flush()
    await settlesWithin(acknowledgement.whenSettled(), this.#options.flushTimeoutMs)
    return acknowledgement
  }

  /** Takes an event that a caller waits for. Returns the reason if the event is dropped. */
  #takeLogged(event: Readonly<Record<string, unknown>>): DropReason | undefined {
    if (!beginLogCall()) return this.refuseNested()
    try {
      const time = wallClockMs()
      return this.take({ event, severity: levelOf(event), time, resource: undefined, preSerialized: undefined })
    } finally {
      logCalls.depth--
    }
  }

  #openInstruments(): Instruments | undefined {
    const { meterProvider, baseUrl } = this.#options
    if (meterProvider === undefined) return undefined
    const { batchQueue, delivery } = this.#pipeline
    const deps = { ledger: this.#ledger, batchQueue, delivery, shipper: this.#number, service: baseUrl }
    const instruments = new Instruments(meterProvider, deps)
    this.#diagnostics.add('attempted', attempted => instruments.onAttempted(attempted))
    return instruments
  }

  #openPipeline(): Pipeline {
    const { maxBufferedBytes, maxRetryDelayMs, maxConcurrentRequests, timeField, spool, durability } = this.#options
    return openPipeline({
      limits: batchLimits(this.#options),
      maxBufferedBytes,
      maxRetryDelayMs,
      maxConcurrentRequests,
      timeField,
      ledger: this.#ledger,
      diagnostics: this.#diagnostics,
      compression: this.#compression,
      send: (batch, signal) => this.#sender.send(batch, signal),
      openSpool: spool && (deps => new SpoolCoordinator(spool, durability, deps)),
      onAdopted: () => this.#atExit.register(),
      onSettled: () => {
        this.heldEvents.resume()
        this.room.resume()
        this.#atExit.unregisterIfDone()
      },
      onRoom: () => {
        this.heldEvents.resume()
        this.room.resume()
      },
      onAnswer: headers => this.#license?.limits.onAnswer(headers),
      onDelivered: dataset => this.#shipSummary(dataset),
    })
  }

  #openReports(meter: UsageMeter): UsageReports | undefined {
    const { reportUsageEveryMs: everyMs, dataset } = this.#options
    if (everyMs === undefined) return undefined
    return new UsageReports({
      everyMs,
      dataset: typeof dataset === 'string' ? dataset : undefined,
      takePeriod: maxStatements => meter.takePeriod(maxStatements),
      ship: (dataset, event) => this.#shipOwn(dataset, event, severityOfLevel('info')),
    })
  }

  /** Ships an event that sums up the events dropped for lack of memory, to a dataset that the service takes now. */
  #shipSummary(dataset: string): void {
    const event = this.#refusedEvents.takeSummary()
    if (event === undefined) return
    this.#shipOwn(dataset, event, severityOfLevel('warn'))
  }

  /** Returns the steps that keep to the application's rules for fields. With a license, the license applies the rules. */
  #fieldSteps(fields: FieldRules | undefined): HoldingStep[] {
    if (fields === undefined) return []
    const { maxEventBytes } = this.#options
    const redacting = this.#redaction && redactStep(this.#redaction, maxEventBytes, this.#altered)
    const folding = this.#license === undefined ? fieldStep(fields, this.#redaction) : undefined
    return [redacting, folding].filter(step => step !== undefined)
  }

  /** Ships an event of the shipper's own. */
  #shipOwn(dataset: string, event: object, severity: Severity): void {
    const intake = { event, severity, time: wallClockMs(), resource: undefined, preSerialized: undefined }
    if (!this.#intake.add(dataset, intake)) this.#refusedEvents.refuse(this.#intake.whyNotAdded, severity)
  }

  /** Removes every secret of the shipper that a text from outside may repeat. */
  #redact(...[text, kind]: Parameters<Redact>): string {
    const { credentials, proxy } = this.#options
    const withoutToken = credentials.redact(text, kind)
    const rest = proxy.credentials?.redact(withoutToken, kind) ?? withoutToken
    const withoutLicense = this.#license?.redact(rest, kind) ?? rest
    return this.#redaction?.maskText(withoutLicense) ?? withoutLicense
  }
}

/** Number of shippers created in this process. */
let shippers = 0

/** Severity of an event that cannot be read: info. */
const usualSeverity = severityOfLevel(undefined)
const nested = new Error('a getter, a `toJSON`, a listener or a function of an option logs again for each event')

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

/**
 * Creates a shipper that delivers the events which a spool holds for one destination to another address.
 *
 * @param destination the destination of the events, as the names of their directories have it
 * @internal
 */
export function createShipperInPlaceOf(destination: string, options: ShipperOptions): Shipper {
  const { spool, ...others } = resolveOptions(options, process.env)
  return new Shipper({ ...others, spool: spool && { ...spool, destination } })
}
