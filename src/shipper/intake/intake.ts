import type { Diagnostics } from '../../accounting/diagnostics.ts'
import type { DropReason, Ledger } from '../../accounting/ledger.ts'
import type { Acknowledgement } from '../../batch/acknowledgements.ts'
import type { BatchQueue } from '../../batch/batch-queue.ts'
import { drainIfExiting } from '../../exit/exit-hooks.ts'
import type { ResolvedOptions } from '../../options/resolved-options.ts'
import { eventToLine, type Line } from '../../record/event-to-line.ts'
import type { Alterations } from '../../record/event-to-plain.ts'
import { tailFields } from '../../record/resource-tail.ts'
import { Timestamper } from '../../record/timestamp.ts'
import { fewCallsBytes, reserveStack } from '../../stack-reserve.ts'
import type { License } from '../license-limits.ts'
import { datasetOf } from './dataset-of.ts'
import { type IntakeEvent, type IntakeStep, replaceFields } from './intake-event.ts'
import type { RefusedEvents } from './refused-events.ts'

/** Counts a line that has got its place in a batch. */
export type LineCounter = (dataset: string, intake: IntakeEvent, bytes: number) => void

export interface IntakeDeps {
  readonly options: Pick<ResolvedOptions, 'dataset' | 'maxEventBytes' | 'timeField'>
  readonly batchQueue: BatchQueue
  readonly ledger: Ledger
  readonly diagnostics: Diagnostics
  readonly license: License | undefined
  /** What happens to each event before the license, in this order. */
  readonly steps: readonly IntakeStep[]
  readonly countLine: LineCounter | undefined
  readonly refused: RefusedEvents
  /** The registration of the shipper for the end of the process. */
  readonly atExit: { readonly isRegistered: boolean; register(): void }
}

/** The one way into the core: finds an event's dataset, fits the event into the license, and adds its line to a batch. */
export class Intake {
  readonly #deps: IntakeDeps
  readonly #dataset: ResolvedOptions['dataset']
  readonly #maxEventBytes: number
  readonly #timeField: string
  readonly #timestamper: Timestamper
  readonly #steps: readonly IntakeStep[]
  /** The caller that waits for the events being taken. */
  #acknowledgement: Acknowledgement | undefined
  readonly altered: Alterations

  constructor(deps: IntakeDeps, altered: Alterations) {
    const { dataset, maxEventBytes, timeField } = deps.options
    this.#deps = deps
    this.#dataset = dataset
    this.#maxEventBytes = maxEventBytes
    this.#timeField = timeField
    this.#timestamper = new Timestamper(timeField)
    this.#steps = deps.steps
    this.altered = altered
  }

  /**
   * Takes every event. The event's own time stamp takes precedence over its `time`.
   *
   * At the end of the stack, any call on the way may throw. Even then, an event is either kept and counted as accepted,
   * or dropped and counted as dropped: `catch` changes one number only.
   *
   * @returns the reason why the event was dropped, or `undefined` if it was kept
   */
  take(intake: IntakeEvent): DropReason | undefined {
    const { severity } = intake
    const { batchQueue, ledger, license, refused } = this.#deps
    try {
      if (refused.hasUnreported) refused.scheduleReport()
      if (!batchQueue.hasRoomFor(severity)) return refused.refuse('memory', severity)
      const dataset = this.#datasetOf(intake)
      if (dataset === undefined) return refused.refuse('dataset', severity)
      for (let i = 0; i < this.#steps.length; i++) {
        const reason = (this.#steps[i] as IntakeStep)(intake, dataset)
        if (reason !== undefined) return refused.refuse(reason, severity)
      }
      if (license !== undefined && !this.#fit(dataset, intake, license)) return refused.refuse('budget', severity)
      if (this.add(dataset, intake)) return undefined
      return refused.refuse('memory', severity)
    } catch (error) {
      // No logged value can cause this. Only a lack of stack or memory can, or a bug of this package.
      ledger.refused.error[severity]++
      refused.lastError = error
      try {
        refused.scheduleReport()
      } catch {
        refused.hasUnreported = true
      }
      return 'error'
    }
  }

  /** Reports to `acknowledgement` what becomes of the events that `give` ships. */
  track(acknowledgement: Acknowledgement, give: () => void): void {
    this.#acknowledgement = acknowledgement
    try {
      give()
    } finally {
      this.#acknowledgement = undefined
    }
  }

  /**
   * Adds an event to a batch of its dataset, and counts it as accepted. Returns false if there is no memory for the
   * event.
   */
  add(dataset: string, intake: IntakeEvent): boolean {
    const { atExit, batchQueue, ledger, countLine } = this.#deps
    const wasRegistered = atExit.isRegistered
    if (!wasRegistered) atExit.register() // first, so that the exit hooks know of every kept event
    const line = this.#lineOf(intake)
    if (!batchQueue.enqueue(dataset, intake.severity, line, this.#acknowledgement)) return false
    ledger.admitted++ // no call since the line got its place: see `Batch.append`
    try {
      countLine?.(dataset, intake, line.length)
      if (!wasRegistered) drainIfExiting()
    } catch {
      // Out of stack: the license budget, which later answers correct, or the usage misses one line. The last listener
      // of 'exit' delivers.
    }
    return true
  }

  #lineOf({ event, time, resource, preSerialized }: IntakeEvent): Line {
    const head = this.#hasOwnTime(event)
      ? undefined
      : typeof time === 'number'
        ? this.#timestamper.at(time)
        : this.#timestamper.atHrTime(time)
    // A resource must not displace the event itself.
    const isTooLong = resource !== undefined && resource.length > this.#maxEventBytes / 4
    if (isTooLong) this.altered.cut++
    const tail = isTooLong ? undefined : resource
    const nonFinite = resource === undefined ? 'null' : 'text' // OpenTelemetry has numbers that JSON does not have
    return eventToLine(event, head, tail, this.#maxEventBytes - 1, this.altered, preSerialized, nonFinite)
  }

  /** Replaces the event by one that the license allows to be shipped. Returns false if the event is sampled away. */
  #fit(dataset: string, intake: IntakeEvent, license: License): boolean {
    const { event, severity, resource } = intake
    reserveStack(fewCallsBytes)
    license.start() // after close()
    const fitted = license.limits.fit(dataset, event, severity, resource && tailFields(resource))
    if (fitted === undefined) return false
    replaceFields(intake, fitted)
    return true
  }

  #hasOwnTime(event: object): boolean {
    try {
      return (event as Record<string, unknown> | null | undefined)?.[this.#timeField] !== undefined
    } catch {
      return true // a getter threw: a stub stands in for the field, and a second field of that name would be wrong
    }
  }

  #datasetOf(intake: IntakeEvent): string | undefined {
    const ask = this.#dataset
    if (typeof ask === 'string') return ask
    const answer = datasetOf(ask, intake.event, intake.resource)
    intake.preSerialized = undefined // the function may have changed the event
    if ('name' in answer) return answer.name
    this.#deps.diagnostics.warn('LOGFERRY_DROPPED', `the \`dataset\` function ${answer.problem}; the event is dropped.`)
    return undefined
  }
}
