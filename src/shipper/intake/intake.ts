import type { Diagnostics } from '../../accounting/diagnostics.ts'
import type { DropReason, IntakeDropReason } from '../../accounting/drop-reasons.ts'
import type { Ledger } from '../../accounting/ledger.ts'
import type { BatchQueue } from '../../batch/batch-queue.ts'
import { drainIfExiting } from '../../exit/exit-hooks.ts'
import type { ResolvedOptions } from '../../options/resolved-options.ts'
import type { Limits } from '../../org/limits.ts'
import { eventToLine, type Line, textToLine } from '../../record/event-to-line.ts'
import type { Alterations } from '../../record/event-to-plain.ts'
import type { Redaction } from '../../record/redaction.ts'
import { tailFields } from '../../record/resource-tail.ts'
import { fewCallsBytes, reserveStack } from '../../stack-reserve.ts'
import { datasetOf } from './dataset-of.ts'
import type { IntakeDrops } from './intake-drops.ts'
import { type EarlyStep, type HoldingStep, type IntakeEvent, nonFiniteOf, replaceFields } from './intake-event.ts'
import { LineHeads } from './line-heads.ts'
import type { Shaping } from './shaping.ts'

/** Counts a line that has got its place in a batch. */
export type LineCounter = (dataset: string, intake: IntakeEvent, bytes: number) => void

/** The license, as far as it decides about events. `start` reads it again after a close. */
interface EventLicense {
  readonly limits: Pick<Limits, 'fit'>
  start(): void
}

export interface IntakeDeps {
  readonly options: Pick<ResolvedOptions, 'dataset' | 'maxEventBytes' | 'timeField'>
  readonly batchQueue: BatchQueue
  readonly ledger: Ledger
  readonly diagnostics: Diagnostics
  readonly license: EventLicense | undefined
  readonly countLine: LineCounter | undefined
  readonly intakeDrops: IntakeDrops
  readonly shaping: Shaping
  readonly redaction: Redaction | undefined
  /** The registration of the shipper for the end of the process. */
  readonly atExit: { readonly isRegistered: boolean; register(): void }
}

const noSteps: readonly EarlyStep[] = []

/** The one way into the core: finds an event's dataset, fits the event into the license, and adds its line to a batch. */
export class Intake {
  readonly #deps: IntakeDeps
  readonly #dataset: ResolvedOptions['dataset']
  readonly #maxEventBytes: number
  readonly #heads: LineHeads
  /** The steps before and after the dataset is known. Steps that are off are not among them. */
  readonly #earlySteps: readonly EarlyStep[]
  readonly #holdingSteps: readonly HoldingStep[]
  readonly #toLine: Redaction['toLine']
  readonly altered: Alterations

  constructor(
    deps: IntakeDeps,
    altered: Alterations,
    steps: readonly HoldingStep[] = [],
    heads = new LineHeads(deps.options.timeField, deps.redaction),
  ) {
    const { options, redaction } = deps
    const { dataset, maxEventBytes } = options
    this.#deps = deps
    this.#dataset = dataset
    this.#maxEventBytes = maxEventBytes
    this.#heads = heads
    this.#toLine = redaction === undefined ? eventToLine : (...given) => redaction.toLine(...given)
    this.altered = altered
    this.#holdingSteps = steps
    const { context, steps: shapingSteps } = deps.shaping
    this.#earlySteps = context === undefined ? shapingSteps : [context, ...shapingSteps]
  }

  /**
   * Takes every event. The event's own timestamp takes precedence over its `time`.
   *
   * @returns the reason why the event was dropped, or `undefined` if it was kept
   */
  take(intake: IntakeEvent): DropReason | undefined {
    return this.#take(intake, this.#earlySteps)
  }

  /** Adds the fields of the `context` function to an event that will be held back. */
  addContext(intake: IntakeEvent): void {
    this.#deps.shaping.context?.(intake)
  }

  /** Takes an event that was held back after `addContext`. */
  takeHeld(intake: IntakeEvent): DropReason | undefined {
    return this.#take(intake, this.#deps.shaping.steps)
  }

  /** Takes an event that `step` has kept or created, to the steps after it. */
  takeAfter(step: HoldingStep, dataset: string, intake: IntakeEvent): void {
    this.#take(intake, noSteps, this.#holdingSteps.indexOf(step) + 1, dataset)
  }

  /**
   * Writes an event as JSON with its timestamp, for a step that holds the event. Leaves room for its resource. The
   * event is redacted before it is cut, so that no cut hides a part of a secret from the patterns.
   *
   * @throws the failure of the redaction
   */
  toJson(intake: IntakeEvent, altered: Alterations): Line {
    const { event, resource } = intake
    const maxBytes = this.#maxEventBytes - 1 - (this.#tailOf(resource)?.length ?? 0)
    const head = this.#heads.hasOwnTime(event) ? undefined : this.#heads.timeOf(intake)
    return this.toJsonWithin(maxBytes, intake, altered, head)
  }

  /**
   * Writes an event as JSON of `maxBytes` at most, redacted before it is cut.
   *
   * @param head replaces the opening brace
   * @throws the failure of the redaction
   */
  toJsonWithin(maxBytes: number, intake: IntakeEvent, altered: Alterations, head?: Uint8Array): Line {
    const { event, preSerialized } = intake
    const line = this.#toLine(event, head, undefined, maxBytes, altered, preSerialized, nonFiniteOf(intake))
    if (line === undefined) throw this.#deps.redaction?.failure
    return line
  }

  /**
   * At the end of the stack, any call on the way may throw. Even then, an event is either kept and counted as accepted,
   * or dropped and counted as dropped: `catch` changes one number only.
   *
   * @param firstHolding the first of the holding steps to run
   * @param known the dataset, if it is known
   */
  #take(
    intake: IntakeEvent,
    earlySteps: readonly EarlyStep[],
    firstHolding = 0,
    known?: string,
  ): DropReason | undefined {
    const { severity } = intake
    const { batchQueue, ledger, license, intakeDrops, redaction } = this.#deps
    try {
      if (intakeDrops.hasUnreported) intakeDrops.scheduleReport()
      if (!batchQueue.hasRoomFor(severity)) return intakeDrops.drop('memory', severity)
      for (const step of earlySteps) {
        const reason = step(intake)
        if (reason !== undefined) return intakeDrops.drop(reason, intake.severity)
      }
      const dataset = known ?? this.#datasetOf(intake)
      if (dataset === undefined) return intakeDrops.drop('dataset', intake.severity)
      for (let i = firstHolding; i < this.#holdingSteps.length; i++) {
        const reason = (this.#holdingSteps[i] as HoldingStep)(intake, dataset)
        if (reason !== undefined) return reason === 'held' ? undefined : intakeDrops.drop(reason, intake.severity)
      }
      if (license !== undefined && !this.#fit(dataset, intake, license))
        return intakeDrops.drop('budget', intake.severity)
      const reason = this.add(dataset, intake)
      return reason === undefined ? undefined : intakeDrops.drop(reason, intake.severity)
    } catch (error) {
      // No logged value can cause this. Only a lack of stack or memory can, or a bug of this package. One exception: the
      // license has asked for the redacted event, and redaction failed.
      const reason = redaction?.isFailure(error) === true ? 'redact' : 'error'
      ledger.intakeDropCounts[reason][intake.severity]++
      intakeDrops.lastError = error
      try {
        intakeDrops.scheduleReport()
      } catch {
        intakeDrops.hasUnreported = true
      }
      return reason
    }
  }

  /**
   * Adds an event to a batch of its dataset, and counts it as accepted. Returns the reason to drop the event if it
   * cannot be redacted, or if there is no memory for it. The event is not counted then.
   */
  add(dataset: string, intake: IntakeEvent): IntakeDropReason | undefined {
    const { atExit, batchQueue, ledger, countLine } = this.#deps
    const wasRegistered = atExit.isRegistered
    if (!wasRegistered) atExit.register() // first, so that the exit hooks know of every kept event
    const line = this.#lineOf(intake)
    if (line === undefined) return 'redact'
    if (!batchQueue.enqueue(dataset, intake.severity, line, intake.acknowledgement)) return 'memory'
    ledger.admitted++ // no call since the line got its place: see `Batch.append`
    try {
      countLine?.(dataset, intake, line.length)
      if (!wasRegistered) drainIfExiting()
    } catch {
      // Out of stack: the license budget, which later answers correct, or the usage misses one line. The last listener
      // of 'exit' delivers.
    }
    return undefined
  }

  #lineOf(intake: IntakeEvent): Line | undefined {
    const { event, resource, preSerialized } = intake
    const tail = this.#tailOf(resource)
    const maxBytes = this.#maxEventBytes - 1
    const head = this.#heads.of(intake)
    if (intake.keepsText && preSerialized !== undefined && this.#deps.redaction === undefined) {
      const line = textToLine(preSerialized, event, head, tail, maxBytes)
      if (line !== undefined) return line
    }
    // An event counts as cut once, whether it, its copy or its resource was cut.
    const altered = intake.wasCut ? { stubbed: 0, cut: 0 } : this.altered
    const { cut } = altered
    const line = this.#toLine(event, head, tail, maxBytes, altered, preSerialized, nonFiniteOf(intake))
    if (intake.wasCut) this.altered.stubbed += altered.stubbed
    else if (tail !== resource && altered.cut === cut) altered.cut++
    return line
  }

  /** Returns a resource unless it is too long: it must not displace the event itself. */
  #tailOf(resource: Uint8Array | undefined): Uint8Array | undefined {
    return resource !== undefined && resource.length > this.#maxEventBytes / 4 ? undefined : resource
  }

  /** Replaces the event by one that the license allows to be shipped. Returns false if the event is sampled away. */
  #fit(dataset: string, intake: IntakeEvent, license: EventLicense): boolean {
    const { event, severity, resource } = intake
    reserveStack(fewCallsBytes)
    license.start() // after close()
    const fitted = license.limits.fit(dataset, event, severity, resource && tailFields(resource), nonFiniteOf(intake))
    if (fitted === undefined) return false
    replaceFields(intake, fitted)
    return true
  }

  #datasetOf(intake: IntakeEvent): string | undefined {
    const ask = this.#dataset
    if (typeof ask === 'string') return ask
    const answer = datasetOf(ask, intake.logged ?? intake.event, intake.resource)
    intake.preSerialized = undefined // the function may have changed the event
    if ('name' in answer) return answer.name
    this.#deps.diagnostics.warn(
      'LOGFERRY_DROPPED',
      `the \`dataset\` function ${answer.problem}. The event is dropped. The function must return a dataset name for each ` +
        'event: 1 to 1024 characters, no control characters, not "." or "..".',
    )
    return undefined
  }
}
