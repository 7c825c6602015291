import type { DropReason } from './batch/ledger.ts'
import { invalidOption } from './errors.ts'
import { describedWord } from './options/described.ts'
import { optionsOf } from './options/options-of.ts'
import { ownProperties } from './options/own-properties.ts'
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
import { isInTime, maxTimeoutMs } from './shipper/in-time.ts'
import type { Shipper } from './shipper/shipper.ts'
import { type ShipperOrOptions, shipperOf } from './shipper/shipper-of.ts'
import { openBatchBytes, reserveStack } from './stack-reserve.ts'

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
    const { acknowledge = 'accepted', ...shipping } = optionsOf(options)
    if (acknowledge !== 'accepted' && acknowledge !== 'delivered') {
      throw invalidOption('acknowledge', "'accepted' or 'delivered'", describedWord(acknowledge), 'range')
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
    try {
      reserveStack(openBatchBytes)
    } catch {
      for (let i = 0; i < records.length; i++) this.shipper.refused.error[usualSeverity]++
      return resultCallback(outOfStack)
    }
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
  /** By resource: a processor may serve several providers. */
  readonly #held = new Map<OtelResource, HeldRecords>()

  constructor(options: ShipperOrOptions = {}) {
    const { shipper, isOwn } = shipperOf(options)
    this.shipper = shipper
    this.#isOwn = isOwn
  }

  /** Called by the SDK for each record. Serialises it at once; never throws. */
  onEmit(record: OtelLogRecord): void {
    try {
      const mayBeHeld = this.#held.size > 0 || isResourcePending(record)
      if (!mayBeHeld || !this.#hold(record)) takeRecord(this.shipper, record)
    } catch {
      this.shipper.refused.error[usualSeverity]++ // at the end of the stack, before the shipper was asked
    }
  }

  /**
   * Waits until what was emitted has been delivered or dropped, for `timeoutMillis` at most, or else `flushTimeoutMs`. Of
   * that, one half at most is for resource attributes that are still being detected.
   */
  async forceFlush(options?: { timeoutMillis?: number | undefined }): Promise<void> {
    await this.shipper.flush({ timeoutMs: await this.#afterResources(ownProperties(options ?? {}).timeoutMillis) })
  }

  /** The same; then lets go of connections. */
  async shutdown(): Promise<void> {
    const timeoutMs = await this.#afterResources(undefined)
    await (this.#isOwn ? this.shipper.close({ timeoutMs }) : this.shipper.flush({ timeoutMs }))
  }

  /** Waits for the resources of records that are held; says how much is left of the time. */
  async #afterResources(givenMs: number | undefined): Promise<number> {
    const timeoutMs =
      givenMs !== undefined && givenMs >= 0 ? Math.min(givenMs, maxTimeoutMs) : this.shipper.flushTimeoutMs
    const startedAtMs = performance.now()
    const released = [...this.#held.values()].map(({ whenReleased }) => whenReleased)
    if (released.length > 0) await isInTime(Promise.all(released), timeoutMs / 2)
    return Math.max(timeoutMs - (performance.now() - startedAtMs), 0)
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
      mayHold: ({ severity, json }) => holding.mayHold(severity, json.length),
      onHeld: () => holding.onHeld(),
      hasRoom: () => holding.hasRoom(),
      take: (record, wasHeld) => {
        if (wasHeld) holding.give(record.json.length)
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

/** Made beforehand, as it is given where nothing can be made. */
const outOfStack: ExportResult = {
  code: 1,
  error: new Error('logferry: no stack is left to take the records; see shipper.stats()'),
}

function takeRecord(shipper: Shipper, record: OtelLogRecord): DropReason | undefined {
  if (!beginLogCall()) return shipper.refuseNested()
  try {
    return shipper.take(otelToEvent(record), severityOfRecord(record), recordTime(record), tailOf(record))
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
