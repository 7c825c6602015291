import { type DropReason, isIntended } from './accounting/drop-reasons.ts'
import { isSeverityNumber, severityOfNumber } from './accounting/severity.ts'
import type { Acknowledgement } from './batch/acknowledgements.ts'
import { type ErrorCode, invalidOption } from './errors.ts'
import { describedWord, kindOfMistake } from './options/described.ts'
import { ownProperties } from './own-properties.ts'
import { bothWays, noteRecord } from './record/both-ways.ts'
import { bytesAsSent } from './record/event-to-line.ts'
import {
  type HeldRecord,
  HeldRecords,
  isResourcePending,
  resourceTimeoutMs,
  toHeldRecord,
} from './record/held-records.ts'
import { beginLogCall, logCalls } from './record/log-calls.ts'
import {
  emptyTail,
  type OtelLogRecord,
  type OtelResource,
  otelToEvent,
  recordTime,
  resourceTail,
  severityOfRecord,
} from './record/otel-to-event.ts'
import { type IntakeEvent, intakeEvent } from './shipper/intake/intake-event.ts'
import type { FlushResult, Shipper } from './shipper/shipper.ts'
import { namedOptions, type ShipperOrOptions, shipperOf } from './shipper/shipper-of.ts'
import { openBatchBytes, reserveStack } from './stack-reserve.ts'
import { maxTimeoutMs, monotonicMs } from './time.ts'
import { settlesWithin } from './time-limits.ts'

export type { OtelLogRecord, OtelResource, OtelScope } from './record/otel-to-event.ts'

/** The result of an export, as `@opentelemetry/core` defines it. Code 0 is success, code 1 is failure. */
export interface ExportResult {
  code: 0 | 1
  error?: Error
}

/**
 * Options of `LogferryLogRecordExporter`: an existing `shipper`, or the options for a shipper of the exporter's own.
 */
export type LogferryLogRecordExporterOptions = ShipperOrOptions & {
  /**
   * Decides when an export is answered.
   *
   * `'accepted'`: as soon as the shipper has accepted the records; delivery continues in the background. A
   * BatchLogRecordProcessor has one export in flight at a time, and does not wait for the network this way.
   *
   * `'delivered'`: when the service has answered for the records. If that takes longer than `flushTimeoutMs`, the
   * export fails with the name `timeout`, and the records are kept.
   *
   * @defaultValue 'accepted'
   */
  acknowledge?: 'accepted' | 'delivered' | undefined
}

/**
 * Time after a flush that ran out of time in which the next one continues it, if records were exported in between, in
 * milliseconds. A BatchLogRecordProcessor that is flushed exports one batch after another, and flushes after each. Each of
 * these flushes would wait in vain if the service is down.
 */
const continuedForMs = 100

/**
 * OpenTelemetry log record exporter, for `@opentelemetry/sdk-logs` 0.200 and later, and 3.x. Use it behind a
 * BatchLogRecordProcessor. If no other processing is needed, `LogferryLogRecordProcessor` avoids the second batching
 * stage.
 *
 * @throws TypeError | RangeError with `code` `LOGFERRY_INVALID_OPTION` if an option is missing or malformed
 * @throws Error if Node is older than 22.19
 */
export class LogferryLogRecordExporter {
  /** The shipper that delivers the records: `exporter.shipper.stats()`, `exporter.shipper.on('rejected', …)`. */
  readonly shipper: Shipper
  readonly #isOwn: boolean
  readonly #acknowledge: 'accepted' | 'delivered'
  /** True if records were exported since the latest flush began. */
  #hasExported = false
  /** Monotonic time until which a flush continues one that ran out of time. */
  #continuedUntilMs = 0
  #shutdown: Promise<void> | undefined

  constructor(options: LogferryLogRecordExporterOptions = {}) {
    const { acknowledge = 'accepted', ...shipping } = namedOptions(options)
    if (acknowledge !== 'accepted' && acknowledge !== 'delivered') {
      throw invalidOption(
        'acknowledge',
        "'accepted' or 'delivered'",
        describedWord(acknowledge),
        kindOfMistake(acknowledge, 'string'),
      )
    }
    this.#acknowledge = acknowledge
    const { shipper, isOwn } = shipperOf(shipping as ShipperOrOptions, ['acknowledge'])
    this.shipper = shipper
    this.#isOwn = isOwn
  }

  /**
   * Ships records, and answers exactly once. A processor may call it while other exports are in flight. Never throws.
   *
   * The SDK reports the `name` of a failed export's error as `error.type`. The error's `code` is an `ErrorCode`, except
   * for the `TypeError`. The names:
   *
   * - `already_shutdown`: `shutdown()` was called before.
   * - `queue_full`: memory had no room for a record.
   * - `rejected`: the service refused records.
   * - `dropped`: records were dropped for another reason.
   * - `timeout`: records were not delivered within `flushTimeoutMs`, or before the shipper was closed. They are kept, in
   *   memory or in the spool.
   * - `TypeError`: `records` is not an array.
   *
   * @param resultCallback gets the result; if it throws, the shipper warns with `LOGFERRY_CALLBACK_THREW`
   */
  export(records: readonly OtelLogRecord[], resultCallback: (result: ExportResult) => void): void {
    const answer = (result: ExportResult): void => this.#answer(resultCallback, result)
    if (!Array.isArray(records)) return answer(noRecords)
    if (this.#shutdown !== undefined) {
      for (const record of records) this.shipper.dropAfterShutdown(severityOfRecord(record))
      return answer(alreadyShutDown)
    }
    try {
      reserveStack(openBatchBytes)
    } catch {
      return answer(this.#dropForStack(records))
    }
    this.#hasExported = true
    if (this.#acknowledge === 'delivered') void this.#deliver(records).then(answer)
    else answer(this.#resultOf(this.#take(records), records.length))
  }

  /**
   * Waits until the exported records are delivered or dropped, for `flushTimeoutMs` at most. Resolves in either case:
   * behind a BatchLogRecordProcessor, a rejection would end all further exports. To learn what became of the records,
   * use `acknowledge: 'delivered'` or `shipper.flush()`.
   *
   * Calls between which a BatchLogRecordProcessor exports its batches share this time if it runs out, as long as memory
   * has room for the records.
   */
  async forceFlush(): Promise<void> {
    const isContinued = this.#hasExported && monotonicMs() < this.#continuedUntilMs
    const isOver = isContinued && this.shipper.heldEvents.hasRoom()
    this.#hasExported = false
    const { complete } = await this.shipper.flush({ timeoutMs: isOver ? 0 : this.shipper.flushTimeoutMs })
    if (!complete) this.#continuedUntilMs = monotonicMs() + continuedForMs
  }

  /**
   * Delivers the exported records as `forceFlush()` does, then closes the exporter's own shipper. Exports fail from the
   * moment of the call. Further calls return the same promise.
   *
   * The exporter's own shipper drops records that it could not deliver in time, or hands them off to the spool. A
   * shared shipper keeps them, and stays open.
   *
   * @throws Error with `code` `LOGFERRY_TIMEOUT` if records were not delivered within `flushTimeoutMs`
   */
  shutdown(): Promise<void> {
    this.#shutdown ??= endOf(this.shipper, this.#isOwn, this.shipper.flushTimeoutMs)
    return this.#shutdown
  }

  #answer(resultCallback: (result: ExportResult) => void, result: ExportResult): void {
    try {
      resultCallback(result)
    } catch (error) {
      this.shipper.reportThrown('the callback of an export', error)
    }
  }

  /**
   * Gives the records to the shipper. Returns the reasons for which records were dropped. A drop that the application
   * asked for by its options, such as sampling, is no failure.
   */
  #take(records: readonly OtelLogRecord[], acknowledgement?: IntakeEvent['acknowledgement']): DropReason[] {
    const reasons: DropReason[] = []
    for (const record of records) {
      const reason = takeRecord(this.shipper, record, acknowledgement)
      if (reason !== undefined && !isIntended(reason)) reasons.push(reason)
    }
    return reasons
  }

  async #deliver(records: readonly OtelLogRecord[]): Promise<ExportResult> {
    let reasons: DropReason[] = []
    try {
      const fates = await this.shipper.shipAndTrack(acknowledgement => {
        reasons = this.#take(records, acknowledgement)
      })
      return this.#resultOf(reasons, records.length, fates)
    } catch {
      return this.#dropForStack(records) // a spool needs more of the stack than `export` has made sure of
    }
  }

  /** Counts records as dropped because the stack ends. Returns the result of their export. */
  #dropForStack(records: readonly OtelLogRecord[]): ExportResult {
    for (let i = 0; i < records.length; i++) this.shipper.intakeDropCounts.error[usualSeverity]++
    return outOfStack
  }

  #resultOf(reasons: readonly DropReason[], count: number, fates: Fates = noFates): ExportResult {
    const { lost, loss, handedOff, pending } = fates
    const dropped = reasons.length + lost
    const kept = pending + handedOff
    if (dropped + kept === 0) return { code: 0 }
    const problems = [
      dropped > 0 && `${dropped} of ${count} records were dropped`,
      kept > 0 && `${kept} of ${count} records are kept, but not delivered yet`,
    ]
    const isRefused = lost > 0 && loss?.status !== undefined
    const ofDropped = isRefused ? 'rejected' : reasons.includes('memory') ? 'queue_full' : 'dropped'
    const name = dropped > 0 ? ofDropped : 'timeout'
    const code = dropped > 0 ? 'LOGFERRY_DROPPED' : 'LOGFERRY_TIMEOUT'
    return failure(name, code, `${problems.filter(Boolean).join('; ')}; see shipper.stats()`)
  }
}

/**
 * Options of `LogferryLogRecordProcessor`: an existing `shipper`, or the options for a shipper of the processor's own.
 */
export type LogferryLogRecordProcessorOptions = ShipperOrOptions

/**
 * OpenTelemetry log record processor that feeds the batching core directly. It is the fast path: nothing stands between
 * the log call and the batch. For `@opentelemetry/sdk-logs` 0.200 and later, and 3.x.
 *
 * While attributes of a resource are being detected, its records are held: for 5 seconds at most, in a quarter of
 * `maxBufferedBytes` at most.
 *
 * @throws TypeError | RangeError with `code` `LOGFERRY_INVALID_OPTION` if an option is missing or malformed
 * @throws Error if Node is older than 22.19
 */
export class LogferryLogRecordProcessor {
  /** The shipper that delivers the records: `processor.shipper.stats()`, `processor.shipper.on('rejected', …)`. */
  readonly shipper: Shipper
  readonly #isOwn: boolean
  /** Held records by resource. A processor may serve several providers, each with a resource of its own. */
  readonly #held = new Map<OtelResource, HeldRecords>()
  /** Monotonic time at which a record of a resource was first held. Detection that never ends must not delay every record. */
  readonly #heldSinceMs = new WeakMap<OtelResource, number>()
  /**
   * True while a held record is shipped. A record that is logged meanwhile is not held: a `transform` that logs for each
   * record would otherwise add a record for each one that is released, without end.
   */
  #isReleasing = false
  #shutdown: Promise<void> | undefined

  constructor(options: LogferryLogRecordProcessorOptions = {}) {
    const { shipper, isOwn } = shipperOf(options)
    this.shipper = shipper
    this.#isOwn = isOwn
  }

  /**
   * Ships a record; the SDK calls it for each one. Serializes the record at once, and never throws. A record after
   * `shutdown()` is dropped and counted, with the reason `'shut-down'`.
   */
  onEmit(record: OtelLogRecord): void {
    try {
      if (this.#shutdown !== undefined) return void this.shipper.dropAfterShutdown(severityOfRecord(record))
      const isHolding = !this.shipper.isDurable && !this.#isReleasing
      const mayBeHeld = isHolding && (this.#held.size > 0 || isResourcePending(record))
      if (!mayBeHeld || !this.#hold(record)) takeRecord(this.shipper, record)
    } catch {
      this.shipper.intakeDropCounts.error[usualSeverity]++ // the stack ended before the shipper was called
    }
  }

  /**
   * Returns false for a record below the minimum severity. SDK 3.x asks before it creates the record, and for
   * `logger.enabled()`. A record without a severity number may be shipped, by its severity text.
   */
  enabled({ severityNumber }: { readonly severityNumber?: number | undefined }): boolean {
    try {
      return !isSeverityNumber(severityNumber) || !this.shipper.isBelowMinimum(severityOfNumber(severityNumber))
    } catch {
      return true // the stack ended: `onEmit` counts the record
    }
  }

  /**
   * Waits until the emitted records are delivered or dropped. If resource attributes are still being detected, the wait
   * for them takes half of the time at most.
   *
   * @param options.timeoutMillis maximum wait in milliseconds, capped at 2 147 483 647; `flushTimeoutMs` if missing or
   * negative
   * @throws Error with `code` `LOGFERRY_TIMEOUT` if records are not delivered in time; they are kept, and delivery
   * continues
   */
  async forceFlush(options?: { timeoutMillis?: number | undefined }): Promise<void> {
    const timeoutMs = await this.#afterResources(ownProperties(options ?? {}).timeoutMillis)
    expectComplete(await this.shipper.flush({ timeoutMs }))
  }

  /**
   * Delivers the emitted records as `forceFlush()` does, within `flushTimeoutMs`, then closes the processor's own
   * shipper. Records are dropped from the moment of the call. Further calls return the same promise.
   *
   * The processor's own shipper drops records that it could not deliver in time, or hands them off to the spool. A
   * shared shipper keeps them, and stays open.
   *
   * @throws Error with `code` `LOGFERRY_TIMEOUT` if records were not delivered within `flushTimeoutMs`
   */
  shutdown(): Promise<void> {
    this.#shutdown ??= this.#afterResources(undefined).then(timeoutMs => endOf(this.shipper, this.#isOwn, timeoutMs))
    return this.#shutdown
  }

  /**
   * Waits until held records are released, for half of the time at most. Returns the remaining time, in milliseconds.
   */
  async #afterResources(givenMs: number | null | undefined): Promise<number> {
    const timeoutMs = givenMs != null && givenMs >= 0 ? Math.min(givenMs, maxTimeoutMs) : this.shipper.flushTimeoutMs
    const startedAtMs = monotonicMs()
    const released = [...this.#held.values()].map(({ whenReleased }) => whenReleased)
    if (released.length > 0) await settlesWithin(Promise.all(released), timeoutMs / 2)
    return Math.max(timeoutMs - (monotonicMs() - startedAtMs), 0)
  }

  /**
   * Holds a record if its resource is still being detected, or if earlier records of the resource are held. Returns
   * false if the caller must ship the record.
   */
  #hold(record: OtelLogRecord): boolean {
    reserveStack(2 * openBatchBytes) // for the first one, which registers for the end of the process
    try {
      if (this.shipper.isBelowMinimum(severityOfRecord(record))) return false
      const { resource } = record
      const isAwaited = isResourcePending(record) && this.#mayWaitFor(resource)
      const held = this.#held.get(resource) ?? (isAwaited ? this.#holdFor(resource) : undefined)
      if (held === undefined) return false
      this.#holdIn(held, record)
      return true
    } catch {
      return false // not a record of the SDK
    }
  }

  #holdIn(held: HeldRecords, record: OtelLogRecord): void {
    if (!beginLogCall()) return void this.shipper.dropNested()
    try {
      noteRecord(record)
      const { maxCopyBytes, altered } = this.shipper
      held.add(toHeldRecord(record, this.#intakeOf(record), bytesAsSent(maxCopyBytes), altered))
    } finally {
      logCalls.depth--
    }
  }

  /** Returns a record that will be held as an event, with the fields of the `context` function. */
  #intakeOf(record: OtelLogRecord): IntakeEvent {
    const intake = intakeEvent(otelToEvent(record), severityOfRecord(record), recordTime(record))
    intake.resource = emptyTail
    this.shipper.addContext(intake)
    return intake
  }

  /** True until a resource has been waited for as long as is allowed, in one go or between flushes. */
  #mayWaitFor(resource: OtelResource): boolean {
    const nowMs = monotonicMs()
    const sinceMs = this.#heldSinceMs.get(resource) ?? nowMs
    this.#heldSinceMs.set(resource, sinceMs)
    return nowMs - sinceMs < resourceTimeoutMs
  }

  #holdFor(resource: OtelResource): HeldRecords {
    const { heldEvents } = this.shipper
    const held = new HeldRecords(resource, {
      mayHold: ({ severity, json }) => heldEvents.hold(severity, json.length),
      onHeld: () => heldEvents.onHeld(),
      hasRoom: () => heldEvents.hasRoom(),
      unhold: ({ json }) => heldEvents.unhold(json.length),
      take: record => {
        const wasReleasing = this.#isReleasing
        this.#isReleasing = true
        try {
          takeHeld(this.shipper, record)
        } catch (error) {
          this.shipper.dropFor(error) // the record is not counted as accepted any more
        } finally {
          this.#isReleasing = wasReleasing
        }
      },
      onReleased: () => {
        this.#held.delete(resource)
        heldEvents.remove(held)
      },
    })
    this.#held.set(resource, held)
    heldEvents.add(held)
    return held
  }
}

/** Severity of a record that cannot be read: info. */
const usualSeverity = 2

/** The fates of accepted records. */
type Fates = Pick<Acknowledgement, 'lost' | 'loss' | 'handedOff' | 'pending'>

/** The fates of records that nothing waits for. */
const noFates: Fates = { lost: 0, loss: undefined, handedOff: 0, pending: 0 }

// Created in advance, because nothing can be created where the stack ends.
const outOfStack = failure(
  'dropped',
  'LOGFERRY_DROPPED',
  'the records were dropped, because the call stack is full; see shipper.stats()',
)
const alreadyShutDown = failure(
  'already_shutdown',
  'LOGFERRY_SHUT_DOWN',
  'the exporter has been shut down. Shut the provider down last. Behind a SimpleLogRecordProcessor, await forceFlush() of ' +
    'the processor before, or use LogferryLogRecordProcessor.',
)
const noRecords: ExportResult = { code: 1, error: new TypeError('logferry: records must be an array') }

function failure(name: string, code: ErrorCode, message: string): ExportResult {
  return { code: 1, error: Object.assign(new Error(`logferry: ${message}`), { name, code }) }
}

/** Delivers pending events. Closes the shipper if `isOwn`; a shared shipper may serve others, and is only flushed. */
async function endOf(shipper: Shipper, isOwn: boolean, timeoutMs: number): Promise<void> {
  expectComplete(await (isOwn ? shipper.close({ timeoutMs }) : shipper.flush({ timeoutMs })))
}

function expectComplete({ complete, pending }: FlushResult): void {
  if (complete) return
  const rest = pending === 0 ? 'events were dropped' : `pending events: ${pending}`
  const remedy = 'See the warnings for the cause, or raise flushTimeoutMs.'
  throw failure('timeout', 'LOGFERRY_TIMEOUT', `the time for delivery ran out, and ${rest}. ${remedy}`).error
}

/** Ships a record. Returns the reason for which it was dropped; a record below the minimum severity is not dropped. */
function takeRecord(
  shipper: Shipper,
  record: OtelLogRecord,
  acknowledgement?: IntakeEvent['acknowledgement'],
): DropReason | undefined {
  if (!beginLogCall()) return shipper.dropNested()
  try {
    const severity = severityOfRecord(record)
    if (shipper.isBelowMinimum(severity)) return undefined
    const resource = tailOf(record)
    if (bothWays.isBridged) noteRecord(record)
    const intake = intakeEvent(otelToEvent(record), severity, recordTime(record))
    intake.resource = resource
    intake.acknowledgement = acknowledgement
    return shipper.take(intake)
  } finally {
    logCalls.depth--
  }
}

function takeHeld(shipper: Shipper, { json, severity, time, resource, scope }: HeldRecord): void {
  const preSerialized = json.toString()
  const intake = intakeEvent(JSON.parse(preSerialized), severity, time)
  intake.resource = resourceTail(resource, scope)
  intake.preSerialized = preSerialized
  shipper.takeHeld(intake)
}

function tailOf(record: OtelLogRecord): Uint8Array | undefined {
  try {
    return resourceTail(record.resource, record.instrumentationScope)
  } catch {
    return undefined // not a record of the SDK; the event says which of its fields throw
  }
}
