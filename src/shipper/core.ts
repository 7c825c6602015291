import { Channels } from '../accounting/channels.ts'
import { DatasetTotals } from '../accounting/dataset-totals.ts'
import { Diagnostics, publishedNames } from '../accounting/diagnostics.ts'
import type { IntakeDropReason } from '../accounting/drop-reasons.ts'
import { Ledger } from '../accounting/ledger.ts'
import { type Severity, severityOfLevel } from '../accounting/severity.ts'
import { Compression } from '../delivery/compression.ts'
import type { Exported } from '../delivery/delivery.ts'
import type { RateExchange } from '../delivery/rate-exchange.ts'
import { Sender } from '../delivery/sender.ts'
import { drainIfExiting } from '../exit/exit-hooks.ts'
import type { FieldRules } from '../fields/field-rules.ts'
import type { ResolvedOptions } from '../options/resolved-options.ts'
import { wallClockMs } from '../record/clock.ts'
import type { Alterations } from '../record/event-to-plain.ts'
import { Redaction } from '../record/redaction.ts'
import { kindOfThrown } from '../text/kind-of-thrown.ts'
import type { Redact } from '../text/short-line.ts'
import { monotonicMs } from '../time.ts'
import type { UsageMeter } from '../usage/usage-meter.ts'
import { batchLimits } from './batch-limits.ts'
import { Drain } from './drain.ts'
import { fieldRulesOf, fieldStep, redactStep } from './field-rules-of.ts'
import { HeldEvents } from './held-events.ts'
import { Instruments } from './instruments.ts'
import type { AsSent } from './intake/event-fields.ts'
import { IdentifiedIntake } from './intake/identified-intake.ts'
import { Intake } from './intake/intake.ts'
import { IntakeDrops } from './intake/intake-drops.ts'
import { type HoldingStep, type IntakeEvent, intakeEvent, replaceFields } from './intake/intake-event.ts'
import { type NoiseControl, openNoiseControl } from './intake/noise-control.ts'
import { asSentBy, shapingOf } from './intake/shaping.ts'
import { type License, openLicense } from './license-limits.ts'
import { MinSeverity } from './min-severity.ts'
import { openPipeline, type Pipeline } from './pipeline.ts'
import { rateExchangeOf } from './rate-exchange-of.ts'
import { Receipts } from './receipts.ts'
import { Room } from './room.ts'
import { ShipperAtExit } from './shipper-at-exit.ts'
import { SpoolCoordinator } from './spool-coordinator.ts'
import { lineCounter, openUsageMeter } from './usage-of.ts'
import { namesOf, UsageReports } from './usage-reports.ts'

/**
 * The parts of a shipper, and their connections. The stages know nothing of one another. Every call from one stage to
 * another goes through the core.
 */
export class Core {
  readonly options: ResolvedOptions
  readonly ledger = new Ledger()
  readonly datasetTotals = new DatasetTotals()
  readonly altered: Alterations = { stubbed: 0, cut: 0 }
  readonly #number = shippers++
  readonly diagnostics = new Diagnostics(
    (text, kind) => this.#redact(text, kind),
    new Channels(this.#number, publishedNames),
  )
  readonly compression: Compression
  readonly sender: Sender
  readonly pipeline: Pipeline
  readonly heldEvents: HeldEvents
  readonly room: Room
  readonly noise: NoiseControl
  readonly drain: Drain
  readonly intakeDrops: IntakeDrops
  readonly fieldRules: FieldRules | undefined
  readonly usageMeter: UsageMeter | undefined
  readonly usageReports: UsageReports | undefined
  readonly license: License | undefined
  readonly rateExchange: RateExchange | undefined
  readonly minSeverity: MinSeverity
  readonly intake: Intake
  readonly asSent: AsSent
  readonly receipts: Receipts
  readonly instruments: Instruments | undefined
  readonly #redaction: Redaction | undefined
  /** The steps that keep to the application's rules for fields. */
  readonly #fieldSteps: readonly HoldingStep[]
  readonly #atExit: ShipperAtExit

  constructor(options: ResolvedOptions) {
    const { ledger, diagnostics, altered } = this
    const redaction = options.redact && new Redaction(options.redact)
    this.options = options
    this.asSent = asSentBy({ options, altered })
    this.#redaction = redaction
    this.compression = new Compression(options.compression)
    this.sender = new Sender(options, this.compression, diagnostics.redact)
    this.pipeline = this.#openPipeline()
    const { memory, batchQueue, delivery, rateLimiter, spool } = this.pipeline
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
    this.noise = openNoiseControl({
      options,
      heldEvents: this.heldEvents,
      altered,
      intake: () => this.intake,
      intakeDrops: () => this.intakeDrops,
      redaction,
      onUntriggered: () => {
        this.#atExit.registerUntriggered()
        drainIfExiting()
      },
    })
    this.drain = new Drain({
      pipeline: this.pipeline,
      heldEvents: this.heldEvents,
      traceHold: this.noise.traceHold,
      ledger,
      diagnostics,
      reportIntakeDrops: () => this.intakeDrops.reportAll(),
      onEmptied: () => this.#atExit.unregisterIfDone(),
    })
    this.#atExit = new ShipperAtExit({
      options,
      pipeline: this.pipeline,
      drain: this.drain,
      heldEvents: this.heldEvents,
      sender: this.sender,
      ledger,
      diagnostics,
      intakeDrops: () => this.intakeDrops,
      untriggered: () => this.noise.traceHold?.count ?? 0,
    })
    this.intakeDrops = new IntakeDrops({
      ledger,
      diagnostics,
      memory,
      redaction,
      whyWaiting: nowMs => delivery.whyWaiting(nowMs),
      behindDataset: () => batchQueue.behindDataset(),
      atExit: this.#atExit,
      onReported: () => {
        spool?.emitPending()
        this.#atExit.unregisterIfDone()
      },
    })
    const fields = options.fields && fieldRulesOf(options.fields, { options, diagnostics, altered })
    const meter = options.countUsage ? openUsageMeter(redaction) : undefined
    this.fieldRules = fields
    this.#fieldSteps = this.#fieldStepsOf(fields)
    this.usageMeter = meter
    this.usageReports = meter && this.#openReports(meter)
    this.license =
      options.limits &&
      openLicense({
        options,
        limits: options.limits,
        rateLimiter,
        delivery,
        diagnostics,
        altered,
        redaction,
        fields,
        topStatements: meter && (() => namesOf(meter.usage(3).statements)),
        onNewPeriod: meter && (() => this.#countAnew(meter)),
        onLimit: () => void this.rateExchange?.join(),
      })
    this.license?.start()
    this.rateExchange = rateExchangeOf({ options, pipeline: this.pipeline, diagnostics })
    void this.rateExchange?.join()
    this.minSeverity = new MinSeverity(options.shaping.minSeverity)
    this.intake = new (options.identify ? IdentifiedIntake : Intake)(
      {
        options,
        batchQueue,
        ledger,
        diagnostics,
        license: this.license,
        countLine: lineCounter({ license: this.license, meter, reports: this.usageReports }),
        intakeDrops: this.intakeDrops,
        shaping: shapingOf({ options, diagnostics, altered, asSent: this.asSent }),
        redaction,
        atExit: this.#atExit,
      },
      altered,
      [...this.noise.steps, ...this.#fieldSteps],
    )
    this.receipts = new Receipts({ batchQueue, whyWaiting: () => delivery.whyWaiting(monotonicMs()) })
    diagnostics.add('delivered', delivered => this.datasetTotals.onDelivered(delivered))
    diagnostics.add('dropped', dropped => this.datasetTotals.onDropped(dropped))
    this.instruments = this.#openInstruments()
    this.#atExit.hold()
    const { onRejected } = options
    if (onRejected !== undefined) diagnostics.add('rejected', ({ event, reason }) => onRejected(event, reason))
    if (spool !== undefined) {
      this.#atExit.register() // so that a process that ends at once still delivers orphans
      void spool.adoptOrphans().then(() => this.#atExit.unregisterIfDone())
    }
  }

  /** Removes the listeners and the metrics of the shipper from the process. Listeners stay while events are pending. */
  releaseProcess(): void {
    this.#atExit.release()
    this.instruments?.release()
  }

  #openInstruments(): Instruments | undefined {
    const { meterProvider, baseUrl } = this.options
    if (meterProvider === undefined) return undefined
    const { batchQueue, delivery } = this.pipeline
    const deps = { ledger: this.ledger, batchQueue, delivery, shipper: this.#number, service: baseUrl }
    try {
      return new Instruments(meterProvider, deps)
    } catch (error) {
      this.#warnOfMeter(error, 'no metrics are recorded')
      return undefined
    }
  }

  #recordExport(exported: Exported): void {
    try {
      this.instruments?.onExported(exported)
    } catch (error) {
      this.#warnOfMeter(error, 'the duration of an export is not recorded')
    }
  }

  #warnOfMeter(error: unknown, effect: string): void {
    const message = `the \`meterProvider\` threw ${kindOfThrown(error)}; ${effect}. Delivery continues.`
    this.diagnostics.warn('LOGFERRY_CALLBACK_THREW', message, 'meterProvider')
  }

  #openPipeline(): Pipeline {
    const { maxBufferedBytes, maxRetryDelayMs, maxConcurrentRequests, timeField, spool, durability } = this.options
    return openPipeline({
      limits: batchLimits(this.options),
      maxBufferedBytes,
      maxRetryDelayMs,
      maxConcurrentRequests,
      timeField,
      ledger: this.ledger,
      diagnostics: this.diagnostics,
      compression: this.compression,
      send: (...given) => this.sender.send(...given),
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
      onAnswer: headers => {
        this.license?.limits.onAnswer(headers)
        this.rateExchange?.onAnswer()
      },
      onFirstWaiting: () => {
        this.sender.prepare()
        void this.rateExchange?.takePlace()
      },
      onDelivered: dataset => this.#shipSummary(dataset),
      onExported: exported => this.#recordExport(exported),
    })
  }

  #openReports(meter: UsageMeter): UsageReports | undefined {
    const { reportUsageEveryMs: everyMs, dataset } = this.options
    if (everyMs === undefined) return undefined
    return new UsageReports({
      everyMs,
      dataset: typeof dataset === 'string' ? dataset : undefined,
      takePeriod: maxStatements => meter.takePeriod(maxStatements),
      ship: (dataset, event) => this.#shipOwn(dataset, event, severityOfLevel('info')),
    })
  }

  /** Ships a report of the billing period that has ended, and begins to count the new one. */
  #countAnew(meter: UsageMeter): void {
    this.usageReports?.shipNow()
    meter.restart()
  }

  /** Ships an event that sums up the events dropped for lack of memory, to a dataset that the service takes now. */
  #shipSummary(dataset: string): void {
    const event = this.intakeDrops.takeSummary()
    if (event === undefined) return
    this.#shipOwn(dataset, event, severityOfLevel('warn'))
  }

  /** Returns the steps that keep to the application's rules for fields. With a license, the license applies the rules. */
  #fieldStepsOf(fields: FieldRules | undefined): HoldingStep[] {
    if (fields === undefined) return []
    const { maxEventBytes } = this.options
    const redacting = this.#redaction && redactStep(this.#redaction, maxEventBytes, this.altered)
    const folding = this.options.limits === undefined ? fieldStep(fields, this.#redaction) : undefined
    return [redacting, folding].filter(step => step !== undefined)
  }

  /** Ships an event of the shipper's own. */
  #shipOwn(dataset: string, event: object, severity: Severity): void {
    const intake = intakeEvent(event, severity, wallClockMs())
    const reason = this.#foldOwn(dataset, intake) ?? this.intake.add(dataset, intake)
    if (reason !== undefined) this.intakeDrops.drop(reason, severity)
  }

  /** Folds the fields of which the dataset has no room. Returns the reason to drop the event if that fails. */
  #foldOwn(dataset: string, intake: IntakeEvent): IntakeDropReason | undefined {
    try {
      for (const step of this.#fieldSteps) step(intake, dataset)
      const folded = this.license?.limits.fold(dataset, intake.event, 'null') ?? intake.event
      if (folded !== intake.event) replaceFields(intake, folded)
      return undefined
    } catch (error) {
      return this.#redaction?.isFailure(error) === true ? 'redact' : 'error'
    }
  }

  /** Removes every secret of the shipper that a text from outside may repeat. */
  #redact(...[text, kind]: Parameters<Redact>): string {
    const { credentials, proxy } = this.options
    const withoutToken = credentials.redact(text, kind)
    const rest = proxy.credentials?.redact(withoutToken, kind) ?? withoutToken
    const withoutLicense = this.license?.redact(rest, kind) ?? rest
    return this.#redaction?.maskText(withoutLicense) ?? withoutLicense
  }
}

/** Number of shippers created in this process. */
let shippers = 0
