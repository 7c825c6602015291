import type { DropReason } from './batch/ledger.ts'
import { invalidOption } from './errors.ts'
import { checkIsObject } from './options/checked.ts'
import { type HeldRecord, HeldRecords, isResourcePending } from './record/held-records.ts'
import { type OtelLogRecord, otelToEvent, recordTime, resourceTail, severityOfRecord } from './record/otel-to-event.ts'
import type { Shipper } from './shipper/shipper.ts'
import { type ShipperOrOptions, shipperOf } from './shipper/shipper-of.ts'

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
  #isShutDown = false

  constructor(options: LogferryLogRecordExporterOptions = {}) {
    checkIsObject(options)
    const { acknowledge = 'accepted', ...shipping } = options
    if (acknowledge !== 'accepted' && acknowledge !== 'delivered') {
      throw invalidOption('acknowledge', "'accepted' or 'delivered'", typeof acknowledge, 'range')
    }
    this.#acknowledge = acknowledge
    const { shipper, isOwn } = shipperOf(shipping as ShipperOrOptions)
    this.shipper = shipper
    this.#isOwn = isOwn
  }

  /** Called by a processor. Answers exactly once, and never throws. */
  export(records: readonly OtelLogRecord[], resultCallback: (result: ExportResult) => void): void {
    if (this.#isShutDown)
      return resultCallback({ code: 1, error: new Error('logferry: the exporter has been shut down') })
    if (this.#acknowledge === 'delivered') void this.#deliver(records).then(resultCallback)
    else resultCallback(this.#resultOf(this.#take(records), records.length))
  }

  /** Waits until what was exported has been delivered or dropped, for `flushTimeoutMs` at most. */
  async forceFlush(): Promise<void> {
    await this.shipper.flush()
  }

  /** The same; then lets go of connections. Exports after that fail. */
  async shutdown(): Promise<void> {
    await (this.#isOwn ? this.shipper.close() : this.shipper.flush())
    this.#isShutDown = true
  }

  /** Says how many could not be kept. Those that are sampled away, as the application wants it, are no failure. */
  #take(records: readonly OtelLogRecord[]): number {
    let dropped = 0
    for (const record of records) {
      const reason = takeRecord(this.shipper, record)
      if (reason !== undefined && reason !== 'budget') dropped++
    }
    return dropped
  }

  async #deliver(records: readonly OtelLogRecord[]): Promise<ExportResult> {
    let dropped = 0
    const { lost, pending } = await this.shipper.fateOf(() => {
      dropped = this.#take(records)
    })
    return this.#resultOf(dropped + lost, records.length, pending)
  }

  #resultOf(dropped: number, count: number, pending = 0): ExportResult {
    if (dropped + pending === 0) return { code: 0 }
    const problems = [
      dropped > 0 && `${dropped} of ${count} records were dropped`,
      pending > 0 && `${pending} of ${count} records are not delivered yet, and are kept`,
    ]
    return { code: 1, error: new Error(`logferry: ${problems.filter(Boolean).join('; ')}; see shipper.stats()`) }
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
  #held: HeldRecords | undefined

  constructor(options: ShipperOrOptions = {}) {
    const { shipper, isOwn } = shipperOf(options)
    this.shipper = shipper
    this.#isOwn = isOwn
  }

  /** Called by the SDK for each record. Serialises it at once; never throws. */
  onEmit(record: OtelLogRecord): void {
    if (this.#held !== undefined || isResourcePending(record)) this.#hold(record)
    else takeRecord(this.shipper, record)
  }

  /** Waits until what was emitted has been delivered or dropped, for `flushTimeoutMs` at most. */
  async forceFlush(): Promise<void> {
    await this.#held?.whenReleased
    await this.shipper.flush()
  }

  /** The same; then lets go of connections. */
  async shutdown(): Promise<void> {
    await this.#held?.whenReleased
    await (this.#isOwn ? this.shipper.close() : this.shipper.flush())
  }

  #hold(record: OtelLogRecord): void {
    if (this.#held !== undefined) return this.#held.add(record)
    const held = new HeldRecords(record.resource, this.shipper.maxEventBytes, records => {
      this.#held = undefined
      for (const each of records) takeHeld(this.shipper, each)
      this.shipper.letGo(held)
    })
    this.#held = held
    held.add(record)
    this.shipper.holdFor(held) // which, while the process ends, asks for it at once
  }
}

function takeRecord(shipper: Shipper, record: OtelLogRecord): DropReason | undefined {
  return shipper.take(otelToEvent(record), severityOfRecord(record), recordTime(record), tailOf(record))
}

function tailOf(record: OtelLogRecord): Uint8Array | undefined {
  try {
    return resourceTail(record.resource, record.instrumentationScope)
  } catch {
    return undefined // no record of the SDK's; the event says which of its fields throw
  }
}

function takeHeld(shipper: Shipper, held: HeldRecord): void {
  shipper.take(held.event, held.severity, held.time, resourceTail(held.resource, held.scope))
}
