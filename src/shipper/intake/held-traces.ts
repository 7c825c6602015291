import type { Severity } from '../../accounting/severity.ts'
import { detached } from '../../text/detached.ts'

/** An event that is held, without references to the caller's objects. */
export interface HeldEvent {
  /** The event as JSON, with its timestamp. */
  readonly json: Buffer
  readonly dataset: string
  readonly severity: Severity
  readonly resource: Uint8Array | undefined
  /** Time of the log call, in milliseconds since 1970. */
  readonly timeMs: number
  /** Bytes charged to the memory budget. */
  readonly bytes: number
  /** Monotonic time, in milliseconds. */
  readonly heldAtMs: number
  readonly wasStubbed: boolean
  readonly wasCut: boolean
}

/** A held event in its two orders: among all held events, and among those of its trace. */
interface Place {
  readonly event: HeldEvent
  readonly trace: HeldTrace
  older: Place | undefined
  younger: Place | undefined
  nextOfTrace: Place | undefined
}

/** The held events of one trace, oldest first. */
interface HeldTrace {
  readonly id: string
  oldest: Place | undefined
  youngest: Place | undefined
}

/** Maximum number of traces whose trigger is remembered. When there is one more, the oldest is forgotten. */
const maxTriggered = 5000

/** Held events by trace, and the traces that have been triggered. Time is an argument. */
export class HeldTraces {
  /** Number of held events. */
  count = 0
  /** Sum of the bytes of held events. */
  bytes = 0
  readonly #maxAgeMs: number
  readonly #traces = new Map<string, HeldTrace>()
  /** Monotonic time up to which events of a trace are passed on, in milliseconds, by trace id. */
  readonly #triggered = new Map<string, number>()
  #oldest: Place | undefined
  #youngest: Place | undefined

  constructor(maxAgeMs: number) {
    this.#maxAgeMs = maxAgeMs
  }

  get oldest(): HeldEvent | undefined {
    return this.#oldest?.event
  }

  /** True if events of a trace are held. */
  has(id: string): boolean {
    return this.#traces.has(id)
  }

  /** Returns the held events of a trace, which are none at first. `add` or `removeIfEmpty` must follow. */
  traceOf(id: string): HeldTrace {
    let trace = this.#traces.get(id)
    if (trace === undefined) {
      trace = { id: detached(id), oldest: undefined, youngest: undefined }
      this.#traces.set(trace.id, trace)
    }
    return trace
  }

  removeIfEmpty(trace: HeldTrace): void {
    if (trace.oldest === undefined) this.#traces.delete(trace.id)
  }

  /** Adds the youngest event. Calls nothing, so that the event is added fully or not at all where the stack ends. */
  add(trace: HeldTrace, event: HeldEvent): void {
    const place: Place = { event, trace, older: this.#youngest, younger: undefined, nextOfTrace: undefined }
    if (this.#youngest === undefined) this.#oldest = place
    else this.#youngest.younger = place
    this.#youngest = place
    if (trace.youngest === undefined) trace.oldest = place
    else trace.youngest.nextOfTrace = place
    trace.youngest = place
    this.count++
    this.bytes += event.bytes
  }

  /** Removes the oldest event. It is the oldest of its trace, too. */
  takeOldest(): HeldEvent | undefined {
    const place = this.#oldest
    if (place === undefined) return undefined
    const { trace } = place
    this.#unlink(place)
    trace.oldest = place.nextOfTrace
    if (trace.oldest === undefined) {
      trace.youngest = undefined
      this.#traces.delete(trace.id)
    }
    return place.event
  }

  /** Removes and returns the events of a trace, oldest first. */
  take(id: string): HeldEvent[] {
    const trace = this.#traces.get(id)
    if (trace === undefined) return []
    const events: HeldEvent[] = []
    for (let place = trace.oldest; place !== undefined; place = place.nextOfTrace) {
      this.#unlink(place)
      events.push(place.event)
    }
    trace.oldest = undefined
    trace.youngest = undefined
    this.#traces.delete(id)
    return events
  }

  /** Notes that a trace was triggered. Its events are passed on from now on, until they would be too old to be held. */
  trigger(id: string, nowMs: number): void {
    const ownId = detached(id)
    this.#triggered.delete(ownId) // so that it becomes the youngest
    this.#triggered.set(ownId, nowMs + this.#maxAgeMs)
    if (this.#triggered.size <= maxTriggered) return
    for (const oldest of this.#triggered.keys()) {
      this.#triggered.delete(oldest)
      break
    }
  }

  isTriggered(id: string, nowMs: number): boolean {
    if (this.#triggered.size === 0) return false
    const untilMs = this.#triggered.get(id)
    return untilMs !== undefined && nowMs < untilMs
  }

  /** True if an event is too old to be held. */
  isExpired(event: HeldEvent, nowMs: number): boolean {
    return nowMs - event.heldAtMs >= this.#maxAgeMs
  }

  /** Forgets the triggers whose time is up. */
  forgetTriggers(nowMs: number): void {
    for (const [id, untilMs] of this.#triggered) {
      if (untilMs > nowMs) break
      this.#triggered.delete(id)
    }
  }

  #unlink({ event, older, younger }: Place): void {
    if (older === undefined) this.#oldest = younger
    else older.younger = younger
    if (younger === undefined) this.#youngest = older
    else younger.older = older
    this.count--
    this.bytes -= event.bytes
  }
}
