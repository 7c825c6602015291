import type { Severity } from '../accounting/severity.ts'
import { NativePromise } from '../native-promise.ts'
import { clearTimeout, monotonicMs, setTimeout } from '../time.ts'
import { eventToLine } from './event-to-line.ts'
import type { Alterations } from './event-to-plain.ts'
import { keptBytes } from './kept-bytes.ts'
import { type OtelLogRecord, type OtelResource, recordTime } from './otel-to-event.ts'

/** A record without references to the caller's objects, except for its resource and scope, which belong to the SDK. */
export interface HeldRecord {
  /** The event of the record as JSON. */
  readonly json: Buffer
  readonly severity: Severity
  readonly time: readonly [number, number]
  readonly resource: OtelResource
  readonly scope: OtelLogRecord['instrumentationScope']
}

/** Provides the memory for held records, and takes the records when they are released. */
interface Keeper {
  /** True if memory allows one more held record. The record then counts as held. */
  mayHold(record: HeldRecord): boolean
  /** Called after a record is held, so that a process that is exiting releases the record at once. */
  onHeld(): void
  /** True if delivery has room for one more released record. */
  hasRoom(): boolean
  /** Called before `take` if `mayHold` has counted the record. The record counts as held no longer. */
  unhold(record: HeldRecord): void
  take(record: HeldRecord): void
  /** Called when no record is held any more. */
  onReleased(): void
}

/** Maximum wait for resource attributes that are still being detected, in milliseconds. */
export const resourceTimeoutMs = 5000

/** Time after which a release lets other work have its turn, in milliseconds. */
const maxTurnMs = 5

/** Minimum number of released records whose slots are removed together. */
const minFreedSlots = 1024

/** True while attributes of the record's resource are still being detected. */
export function isResourcePending(record: OtelLogRecord): boolean {
  try {
    return record.resource.asyncAttributesPending === true
  } catch {
    return false
  }
}

/** Serializes the event of a record so that it can be held. */
export function toHeldRecord(
  record: OtelLogRecord,
  { event, severity }: { readonly event: object; readonly severity: Severity },
  maxEventBytes: number,
  altered: Alterations,
): HeldRecord {
  const line = eventToLine(event, undefined, undefined, maxEventBytes, altered, undefined, 'text')
  return {
    json: keptBytes(line),
    severity,
    time: recordTime(record),
    resource: record.resource,
    scope: record.instrumentationScope,
  }
}

/**
 * Holds records until their resource is known. The name of a host or a container is worth a short wait, but not the
 * loss of a record. If memory has no room for more, records go on with the attributes known so far.
 */
export class HeldRecords {
  /** Resolves when no record is held any more. */
  readonly whenReleased: Promise<void>
  readonly #keeper: Keeper
  readonly #resolve: () => void
  readonly #timer: NodeJS.Timeout
  /** The records, of which those from `#next` on are held. Removing the first of very many would move all others. */
  readonly #records: (HeldRecord | undefined)[] = []
  #next = 0
  #continuing: NodeJS.Timeout | undefined
  #isReleasing = false
  #isReleased = false

  constructor(resource: OtelResource, keeper: Keeper) {
    const { promise, resolve } = NativePromise.withResolvers<void>()
    this.whenReleased = promise
    this.#resolve = resolve
    this.#keeper = keeper
    const release = (): void => void this.release()
    this.#timer = setTimeout(release, resourceTimeoutMs).unref()
    void (async () => resource.waitForAsyncAttributes?.())().then(release, release)
  }

  add(record: HeldRecord): void {
    // Making the record may have run code of the application that flushed.
    if (!this.#isReleased && this.#keeper.mayHold(record)) return this.#hold(record)
    void this.release()
    // Records go on even if delivery has no room, oldest first. The shipper then drops events by severity.
    while (!this.#isReleased) {
      if (this.#keeper.mayHold(record)) return this.#hold(record)
      this.#releaseNext()
    }
    this.#keeper.take(record)
  }

  /**
   * Releases records with their resource as known at that time, as many as delivery has room for. `resume` releases the
   * others.
   */
  release(): Promise<void> {
    clearTimeout(this.#timer)
    this.#isReleasing = true
    this.resume()
    return this.whenReleased
  }

  /** Continues a release that stopped for lack of room. Other work has its turn every few milliseconds. */
  resume(): void {
    const endMs = monotonicMs() + maxTurnMs
    while (this.#isReleasing && !this.#isReleased && this.#keeper.hasRoom()) {
      if (monotonicMs() >= endMs) {
        this.#continuing ??= setTimeout(() => this.#continue(), 0).unref()
        return
      }
      this.#releaseNext()
    }
  }

  /** Releases every record, even if delivery has no room. */
  releaseAllNow(): void {
    clearTimeout(this.#timer)
    while (!this.#isReleased) this.#releaseNext()
  }

  #continue(): void {
    this.#continuing = undefined
    this.resume()
  }

  #hold(record: HeldRecord): void {
    this.#records.push(record)
    this.#keeper.onHeld()
  }

  #releaseNext(): void {
    const record = this.#records[this.#next]
    if (record !== undefined) {
      this.#records[this.#next++] = undefined
      this.#freeSlots()
      this.#keeper.unhold(record)
      this.#keeper.take(record)
    }
    if (this.#next < this.#records.length || this.#isReleased) return
    this.#isReleased = true
    this.#keeper.onReleased()
    this.#resolve()
  }

  /** Removes the slots of released records once they are the greater part, so that each record is moved once or twice. */
  #freeSlots(): void {
    if (this.#next < minFreedSlots || this.#next * 2 < this.#records.length) return
    this.#records.splice(0, this.#next)
    this.#next = 0
  }
}
