import type { DropReason } from './accounting/ledger.ts'
import { type ErrorCode, invalidOption } from './errors.ts'
import { describedWord } from './options/described.ts'
import { optionsOf } from './options/options-of.ts'
import { ownProperties } from './options/own-properties.ts'
import { bothWays, noteRecord } from './record/both-ways.ts'
import { type HeldRecord, HeldRecords, isResourcePending, toHeldRecord } from './record/held-records.ts'
import { beginLogCall, logCalls } from './record/log-calls.ts'
import {
  type OtelLogRecord,
  type OtelResource,
  otelToEvent,
  recordTime,
  resourceTail,
  severityOfRecord,
} from './record/otel-to-event.ts'
import { maxTimeoutMs, settlesWithin } from './shipper/settles-within.ts'
import type { FlushResult, Shipper } from './shipper/shipper.ts'
import { type ShipperOrOptions, shipperOf } from './shipper/shipper-of.ts'
import { openBatchBytes, reserveStack } from './stack-reserve.ts'
import { monotonicMs } from './time.ts'

/** The result of an export, as `@opentelemetry/core` defines it: code 0 is success, 1 is failure. */
export interface ExportResult {
  code: 0 | 1
  error?: Error
}

/** A shipper that exists already, or the options for one of the exporter's own. */
export type LogferryLogRecordExporterOptions = ShipperOrOptions & {
  /**
   * When an export is answered: once the records are `'accepted'` (kept in memory, and delivered in the background, so
   * that a BatchLogRecordProcessor, which has one export under way at a time, is not held up by the network), or once
   * the service has answered for them (`'delivered'`).
   *
   * @defaultValue 'accepted'
   */
  acknowledge?: 'accepted' | 'delivered' | undefined
}

/**
 * OpenTelemetry log record exporter, for `@opentelemetry/sdk-logs` 0.200 and later, and 3.x. Use it behind a
 * BatchLogRecordProcessor; where no other processing is needed, `LogferryLogRecordProcessor` does without the second
 * batching stage.
 *
 * @throws TypeError | RangeError with `code` `LOGFERRY_INVALID_OPTION` when an option is missing or malformed
 */
export class LogferryLogRecordExporter {
  /** What delivers the records: `exporter.shipper.stats()`, `exporter.shipper.on('rejected', …)`. */
  readonly shipper: Shipper
  readonly #isOwn: boolean
  readonly #acknowledge: 'accepted' | 'delivered'
  #shutdown: Promise<void> | undefined

  constructor(options: LogferryLogRecordExporterOptions = {}) {
    const { acknowledge = 'accepted', ...shipping } = optionsOf(options)
    if (acknowledge !== 'accepted' && acknowledge !== 'delivered') {
      throw invalidOption('acknowledge', "'accepted' or 'delivered'", describedWord(acknowledge), 'range')
    }
    this.#acknowledge = acknowledge
    const { shipper, isOwn } = shipperOf(shipping as ShipperOrOptions)
    this.shipper = shipper
    this.#isOwn = isOwn
  }

  /**
   * Called by a processor, also while other exports are under way. Answers exactly once, and never throws. The name of the
   * error, which the SDK takes for `error.type`, is one of `already_shutdown`, `queue_full`, `rejected`, `timeout`, `dropped`
   * and `TypeError`.
   */
  export(records: readonly OtelLogRecord[], resultCallback: (result: ExportResult) => void): void {
    const answer = (result: ExportResult): void => this.#answer(resultCallback, result)
    if (!Array.isArray(records)) return answer(noRecords)
    if (this.#shutdown !== undefined) {
      for (const record of records) this.shipper.refuseShutDown(severityOfRecord(record))
      return answer(alreadyShutDown)
    }
    try {
      reserveStack(openBatchBytes)
    } catch {
      for (let i = 0; i < records.length; i++) this.shipper.refused.error[usualSeverity]++
      return answer(outOfStack)
    }
    if (this.#acknowledge === 'delivered') void this.#deliver(records).then(answer)
    else answer(this.#resultOf(this.#take(records), records.length))
  }

  /**
   * Waits until what was exported has been delivered or dropped, for `flushTimeoutMs` at most. Resolves in either case: behind
   * a BatchLogRecordProcessor a rejection would end all further exports. What became of records is told by the answers of
   * `export` with `acknowledge: 'delivered'`, or by `shipper.flush()`.
   */
  async forceFlush(): Promise<void> {
    await this.shipper.flush()
  }

  /**
   * Waits as `forceFlush()` does, then lets go of connections. Exports fail from the moment of the call on.
   *
   * @throws Error with `code` `LOGFERRY_TIMEOUT` if records could not be delivered in time
   */
  shutdown(): Promise<void> {
    this.#shutdown ??= endOf(this.shipper, this.#isOwn, this.shipper.flushTimeoutMs)
    return this.#shutdown
  }

  #answer(resultCallback: (result: ExportResult) => void, result: ExportResult): void {
    try {
      resultCallback(result)
    } catch (error) {
      this.shipper.tellThrown('the callback of an export', error)
    }
  }

  /** Returns why records could not be kept. Those that are sampled away, as the application wants it, are no failure. */
  #take(records: readonly OtelLogRecord[]): DropReason[] {
    const reasons: DropReason[] = []
    for (const record of records) {
      const reason = takeRecord(this.shipper, record)
      if (reason !== undefined && reason !== 'budget') reasons.push(reason)
    }
    return reasons
  }

  async #deliver(records: readonly OtelLogRecord[]): Promise<ExportResult> {
    let reasons: DropReason[] = []
    const { lost, pending } = await this.shipper.shipAndTrack(() => {
      reasons = this.#take(records)
    })
    return this.#resultOf(reasons, records.length, lost, pending)
  }

  #resultOf(reasons: readonly DropReason[], count: number, lost = 0, pending = 0): ExportResult {
    const dropped = reasons.length + lost
    if (dropped + pending === 0) return { code: 0 }
    const problems = [
      dropped > 0 && `${dropped} of ${count} records were dropped`,
      pending > 0 && `${pending} of ${count} records are not delivered yet, and are kept`,
    ]
    const name = lost > 0 ? 'rejected' : reasons.includes('memory') ? 'queue_full' : dropped > 0 ? 'dropped' : 'timeout'
    const code = dropped > 0 ? 'LOGFERRY_DROPPED' : 'LOGFERRY_TIMEOUT'
    return failure(name, code, `${problems.filter(Boolean).join('; ')}; see shipper.stats()`)
  }
}

/**
 * OpenTelemetry log record processor that feeds the batching core directly: the fast path, with nothing between the log
 * call and the batch. For `@opentelemetry/sdk-logs` 0.200 and later, and 3.x.
 *
 * @throws TypeError | RangeError with `code` `LOGFERRY_INVALID_OPTION` when an option is missing or malformed
 */
export class LogferryLogRecordProcessor {
  /** What delivers the records: `processor.shipper.stats()`, `processor.shipper.on('rejected', …)`. */
  readonly shipper: Shipper
  readonly #isOwn: boolean
  /** By resource: a processor may serve several providers. */
  readonly #held = new Map<OtelResource, HeldRecords>()
  #shutdown: Promise<void> | undefined

  constructor(options: ShipperOrOptions = {}) {
    const { shipper, isOwn } = shipperOf(options)
    this.shipper = shipper
    this.#isOwn = isOwn
  }

  /**
   * Called by the SDK for each record. Serialises it at once; never throws. A record after `shutdown()` is counted, and
   * dropped.
   */
  onEmit(record: OtelLogRecord): void {
    try {
      if (this.#shutdown !== undefined) return void this.shipper.refuseShutDown(severityOfRecord(record))
      const mayBeHeld = this.#held.size > 0 || isResourcePending(record)
      if (!mayBeHeld || !this.#hold(record)) takeRecord(this.shipper, record)
    } catch {
      this.shipper.refused.error[usualSeverity]++ // at the end of the stack, before the shipper was asked
    }
  }

  /**
   * Waits until what was emitted has been delivered or dropped, for `timeoutMillis` at most, or else `flushTimeoutMs`. Of
   * that, one half at most is for resource attributes that are still being detected.
   *
   * @throws Error with `code` `LOGFERRY_TIMEOUT` if records are not delivered by then; they are kept, and delivery goes on
   */
  async forceFlush(options?: { timeoutMillis?: number | undefined }): Promise<void> {
    const timeoutMs = await this.#afterResources(ownProperties(options ?? {}).timeoutMillis)
    expectComplete(await this.shipper.flush({ timeoutMs }))
  }

  /**
   * Waits as `forceFlush()` does, then lets go of connections. Records are dropped from the moment of the call on.
   *
   * @throws Error with `code` `LOGFERRY_TIMEOUT` if records could not be delivered in time
   */
  shutdown(): Promise<void> {
    this.#shutdown ??= this.#afterResources(undefined).then(timeoutMs => endOf(this.shipper, this.#isOwn, timeoutMs))
    return this.#shutdown
  }

  /** Waits for the resources of records that are held; says how much is left of the time. */
  async #afterResources(givenMs: number | undefined): Promise<number> {
    const timeoutMs =
      givenMs !== undefined && givenMs >= 0 ? Math.min(givenMs, maxTimeoutMs) : this.shipper.flushTimeoutMs
    const startedAtMs = monotonicMs()
    const released = [...this.#held.values()].map(({ whenReleased }) => whenReleased)
    if (released.length > 0) await settlesWithin(Promise.all(released), timeoutMs / 2)
    return Math.max(timeoutMs - (monotonicMs() - startedAtMs), 0)
  }

  /** Holds a record back whose resource is not known yet, or that comes after such a one; `false` for all others. */
  #hold(record: OtelLogRecord): boolean {
    reserveStack(openBatchBytes)
    try {
      const { resource } = record
      const held = this.#held.get(resource) ?? (isResourcePending(record) ? this.#holdFor(resource) : undefined)
      if (held === undefined) return false
      this.#holdIn(held, record)
      return true
    } catch {
      return false // no record of the SDK's
    }
  }

  #holdIn(held: HeldRecords, record: OtelLogRecord): void {
    if (!beginLogCall()) return void this.shipper.refuseNested()
    try {
      held.add(toHeldRecord(record, this.shipper.maxEventBytes))
    } finally {
      logCalls.depth--
    }
  }

  #holdFor(resource: OtelResource): HeldRecords {
    const { holding } = this.shipper
    const held = new HeldRecords(resource, {
      mayHold: ({ severity, json }) => holding.hold(severity, json.length),
      onHeld: () => holding.onHeld(),
      hasRoom: () => holding.hasRoom(),
      take: (record, wasHeld) => {
        if (wasHeld) holding.unhold(record.json.length)
        takeHeld(this.shipper, record)
      },
      onReleased: () => {
        this.#held.delete(resource)
        holding.remove(held)
      },
    })
    this.#held.set(resource, held)
    holding.add(held)
    return held
  }
}

/** What a record counts as that cannot be looked at: info. */
const usualSeverity = 2

// Made beforehand: one of them is given where nothing can be made.
const outOfStack = failure('dropped', 'LOGFERRY_DROPPED', 'no stack is left to take the records; see shipper.stats()')
const alreadyShutDown = failure('already_shutdown', 'LOGFERRY_SHUT_DOWN', 'the exporter has been shut down')
const noRecords: ExportResult = { code: 1, error: new TypeError('logferry: records must be an array') }

function failure(name: string, code: ErrorCode, message: string): ExportResult {
  return { code: 1, error: Object.assign(new Error(`logferry: ${message}`), { name, code }) }
}

/** Delivers what is pending, and lets go of connections that serve nothing else. */
async function endOf(shipper: Shipper, isOwn: boolean, timeoutMs: number): Promise<void> {
  expectComplete(await (isOwn ? shipper.close({ timeoutMs }) : shipper.flush({ timeoutMs })))
}

function expectComplete({ complete, pending }: FlushResult): void {
  if (complete) return
  const rest = pending === 0 ? 'events were dropped' : `${pending} events are not delivered yet`
  const { error } = failure(
    'timeout',
    'LOGFERRY_TIMEOUT',
    `the time for delivery ran out, and ${rest}; see shipper.stats()`,
  )
  throw error
}

function takeRecord(shipper: Shipper, record: OtelLogRecord): DropReason | undefined {
  if (!beginLogCall()) return shipper.refuseNested()
  try {
    const tail = tailOf(record)
    if (bothWays.isBridged) noteRecord(record)
    return shipper.take(otelToEvent(record), severityOfRecord(record), recordTime(record), tail)
  } finally {
    logCalls.depth--
  }
}

function takeHeld(shipper: Shipper, { json, severity, time, resource, scope }: HeldRecord): void {
  const written = json.toString()
  shipper.take(JSON.parse(written) as object, severity, time, resourceTail(resource, scope), written)
}

function tailOf(record: OtelLogRecord): Uint8Array | undefined {
  try {
    return resourceTail(record.resource, record.instrumentationScope)
  } catch {
    return undefined // no record of the SDK's; the event says which of its fields throw
  }
}
