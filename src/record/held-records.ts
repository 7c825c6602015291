import { eventToJson } from './event-to-line.ts'
import { type OtelLogRecord, otelToEvent, recordTime, severityOfRecord } from './otel-to-event.ts'
import type { Severity } from './severity.ts'

/** A record without ties to the caller's objects, but for its resource and scope, which belong to the SDK. */
export interface HeldRecord {
  readonly event: object
  readonly severity: Severity
  readonly time: readonly [number, number]
  readonly resource: OtelLogRecord['resource']
  readonly scope: OtelLogRecord['instrumentationScope']
}

/** Longest wait for resource attributes that are still being detected, in milliseconds. */
const resourceTimeoutMs = 5000
/** Most records that are held back meanwhile; past it they go with the resource as it is known. */
const maxHeldRecords = 10_000

/** Whether attributes of the record's resource are still being detected. */
export function isResourcePending(record: OtelLogRecord): boolean {
  try {
    return record.resource.asyncAttributesPending === true
  } catch {
    return false
  }
}

/** Records that wait until their resource is known: the name of a host or a container is worth a moment's wait. */
export class HeldRecords {
  readonly whenReleased: Promise<void>
  readonly #records: HeldRecord[] = []
  readonly #maxEventBytes: number
  readonly #onReleased: (records: readonly HeldRecord[]) => void
  readonly #resolve: () => void
  readonly #timer: NodeJS.Timeout
  #isReleased = false

  /** `onReleased` is called once, with all of them. */
  constructor(
    resource: OtelLogRecord['resource'],
    maxEventBytes: number,
    onReleased: (records: readonly HeldRecord[]) => void,
  ) {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.whenReleased = promise
    this.#resolve = resolve
    this.#maxEventBytes = maxEventBytes
    this.#onReleased = onReleased
    this.#timer = setTimeout(() => this.release(), resourceTimeoutMs).unref()
    const release = () => this.release()
    void Promise.resolve(resource.waitForAsyncAttributes?.()).then(release, release)
  }

  add(record: OtelLogRecord): void {
    const json = eventToJson(otelToEvent(record), this.#maxEventBytes, { stubbed: 0, cut: 0 })
    this.#records.push({
      event: JSON.parse(json) as object,
      severity: severityOfRecord(record),
      time: recordTime(record),
      resource: record.resource,
      scope: record.instrumentationScope,
    })
    if (this.#records.length >= maxHeldRecords) this.release()
  }

  /** Gives every record away, with its resource as it is known now. */
  release(): void {
    if (this.#isReleased) return
    this.#isReleased = true
    clearTimeout(this.#timer)
    this.#onReleased(this.#records)
    this.#resolve()
  }
}
