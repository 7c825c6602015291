import type { Severity } from '../accounting/severity.ts'
import { clearTimeout, setTimeout } from '../time.ts'
import { eventToLine } from './event-to-line.ts'
import { type OtelLogRecord, type OtelResource, otelToEvent, recordTime, severityOfRecord } from './otel-to-event.ts'

/** A record without ties to the caller's objects, but for its resource and scope, which belong to the SDK. */
export interface HeldRecord {
  /** JSON of its event. */
  readonly json: Buffer
  readonly severity: Severity
  readonly time: readonly [number, number]
  readonly resource: OtelResource
  readonly scope: OtelLogRecord['instrumentationScope']
}

/** Who has the memory that held records take, and gets them in the end. */
export interface Keeper {
  /** Whether there is memory to hold one more; then it is counted. */
  mayHold(record: HeldRecord): boolean
  /** A record is held: while the process ends, it is asked for at once. */
  onHeld(): void
  /** Whether delivery has room for one that is not held any more. */
  hasRoom(): boolean
  /** Gets a record; `wasHeld` where `mayHold` has counted it. */
  take(record: HeldRecord, wasHeld: boolean): void
  /** No record is held any more. */
  onReleased(): void
}

/** Longest wait for resource attributes that are still being detected, in milliseconds. */
const resourceTimeoutMs = 5000

/** Whether attributes of the record's resource are still being detected. */
export function isResourcePending(record: OtelLogRecord): boolean {
  try {
    return record.resource.asyncAttributesPending === true
  } catch {
    return false
  }
}

/** A record as it is to be held. */
export function toHeldRecord(record: OtelLogRecord, maxEventBytes: number): HeldRecord {
  const altered = { stubbed: 0, cut: 0 }
  const { bytes, length } = eventToLine(
    otelToEvent(record),
    undefined,
    undefined,
    maxEventBytes,
    altered,
    undefined,
    'text',
  )
  return {
    json: Buffer.from(bytes.subarray(0, length)),
    severity: severityOfRecord(record),
    time: recordTime(record),
    resource: record.resource,
    scope: record.instrumentationScope,
  }
}

/**
 * Records that wait until their resource is known: the name of a host or a container is worth a moment's wait, but no
 * record. Where there is no memory for more, they go with the resource as it is known.
 */
export class HeldRecords {
  /** Resolves when none is held any more. */
  readonly whenReleased: Promise<void>
  readonly #keeper: Keeper
  readonly #resolve: () => void
  readonly #timer: NodeJS.Timeout
  readonly #records: HeldRecord[] = []
  #isReleasing = false
  #isReleased = false

  constructor(resource: OtelResource, keeper: Keeper) {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.whenReleased = promise
    this.#resolve = resolve
    this.#keeper = keeper
    const release = (): void => void this.release()
    this.#timer = setTimeout(release, resourceTimeoutMs).unref()
    void (async () => resource.waitForAsyncAttributes?.())().then(release, release)
  }

  add(record: HeldRecord): void {
    if (this.#keeper.mayHold(record)) return this.#hold(record)
    void this.release()
    // What there is no room for goes nevertheless, the oldest first: the shipper decides by severity what is dropped.
    while (!this.#isReleased) {
      if (this.#keeper.mayHold(record)) return this.#hold(record)
      this.#giveNext()
    }
    this.#keeper.take(record, false)
  }

  /**
   * Gives the records on with their resource as it is known then: as many as there is room for, and the others when
   * `resume` is called.
   */
  release(): Promise<void> {
    clearTimeout(this.#timer)
    this.#isReleasing = true
    this.resume()
    return this.whenReleased
  }

  /** Goes on where there was no room. */
  resume(): void {
    while (this.#isReleasing && !this.#isReleased && this.#keeper.hasRoom()) this.#giveNext()
  }

  /** Gives every record on, room or not. */
  releaseAllNow(): void {
    clearTimeout(this.#timer)
    while (!this.#isReleased) this.#giveNext()
  }

  #hold(record: HeldRecord): void {
    this.#records.push(record)
    this.#keeper.onHeld()
  }

  #giveNext(): void {
    const record = this.#records.shift()
    if (record !== undefined) this.#keeper.take(record, true)
    if (this.#records.length > 0 || this.#isReleased) return
    this.#isReleased = true
    this.#keeper.onReleased()
    this.#resolve()
  }
}
