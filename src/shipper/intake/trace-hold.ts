import { type Severity, severities } from '../../accounting/severity.ts'
import type { ResolvedHold } from '../../options/noise-options.ts'
import { ownProperties } from '../../own-properties.ts'
import type { Line } from '../../record/event-to-line.ts'
import type { Alterations } from '../../record/event-to-plain.ts'
import { keptBytes } from '../../record/kept-bytes.ts'
import { openBatchBytes, reserveStack } from '../../stack-reserve.ts'
import { detached } from '../../text/detached.ts'
import { clearTimeout, monotonicMs, setTimeout } from '../../time.ts'
import { type HeldEvents, heldOverheadBytes } from '../held-events.ts'
import { type HeldEvent, HeldTraces } from './held-traces.ts'
import { type HoldingStep, type IntakeEvent, intakeEvent } from './intake-event.ts'
import { lateTime, timeMsOf } from './late-time.ts'
import { traceIdOf } from './trace-id.ts'

/** Maximum length of a trace id, in characters. An event with a longer one counts as an event without trace. */
const maxTraceIdLength = 128
/** Share of the maximum age between two searches for events that are too old. */
const sweepShare = 1 / 8
/** Share of the maximum by which held events are reduced when they reach it. */
const roomShare = 1 / 64

interface TraceHoldDeps {
  readonly options: ResolvedHold
  readonly heldEvents: HeldEvents
  /** Writes an event as JSON with its timestamp. The bytes are valid until the next event is written. */
  readonly toJson: (intake: IntakeEvent, altered: Alterations) => Line
  readonly altered: Alterations
  /** Passes a released event on, to the steps after this one. */
  readonly passOn: (dataset: string, released: IntakeEvent) => void
  /** Called when an event is held and none was before. */
  readonly onFirstHeld: () => void
  /** Counts a held event that was dropped. */
  readonly onDropped: (severity: Severity) => void
  /** Monotonic time, in milliseconds. */
  readonly nowMs?: () => number
}

/**
 * Holds events below a severity until an event of their trace is severe enough, and then passes them on, before that
 * event. Held events count as accepted and pending. They are dropped when they are too many or too old, and when the
 * shipper is closed or the process ends.
 */
export class TraceHold {
  readonly #deps: TraceHoldDeps
  readonly #nowMs: () => number
  readonly #below: number
  readonly #trigger: number
  readonly #traces: HeldTraces
  /** For each release that has begun: the events that are still to be passed on. */
  readonly #releases = new Set<Iterable<HeldEvent>>()
  #lastResource: Uint8Array | undefined
  #lastDataset = ''
  #timer: NodeJS.Timeout | undefined

  constructor(deps: TraceHoldDeps) {
    this.#deps = ownProperties(deps)
    this.#nowMs = this.#deps.nowMs ?? monotonicMs
    this.#below = severities.indexOf(deps.options.below)
    this.#trigger = severities.indexOf(deps.options.trigger)
    this.#traces = new HeldTraces(deps.options.maxAgeMs)
  }

  /** Number of held events. */
  get count(): number {
    return this.#traces.count
  }

  readonly step: HoldingStep = (intake, dataset) => {
    const isLow = intake.severity < this.#below
    if (!isLow && intake.severity < this.#trigger) return undefined
    const id = traceIdOf(intake.event)
    if (id === undefined || id.length > maxTraceIdLength) return undefined
    if (isLow) return intake.isUrgent ? undefined : this.#hold(id, intake, dataset)
    this.#release(id)
    return undefined
  }

  /** Drops all held events. */
  dropAll(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    while (this.#traces.count > 0) this.#dropOldest()
  }

  /** Completes each release that has begun. A release may report a drop, and the listener may close the shipper, or exit. */
  passOnReleased(): void {
    for (const events of [...this.#releases]) this.#passOnAll(events)
  }

  #hold(id: string, intake: IntakeEvent, dataset: string): 'held' | undefined {
    const { heldEvents, options } = this.#deps
    const traces = this.#traces
    const nowMs = this.#nowMs()
    if (traces.isTriggered(id, nowMs)) return undefined
    const event = this.#serialized(intake, dataset, nowMs)
    // Again: an accessor of the event may have logged the event that releases the trace.
    if (traces.isTriggered(id, nowMs) || event.bytes > options.maxBytes) return undefined
    if (traces.count >= options.maxEvents || traces.bytes + event.bytes > options.maxBytes) this.#makeRoom(event.bytes)
    const isFirst = traces.count === 0
    if (isFirst) {
      reserveStack(2 * openBatchBytes)
      this.#startTimer(options.maxAgeMs)
    }
    const trace = traces.traceOf(id)
    if (!heldEvents.hold(event.severity, event.bytes - heldOverheadBytes)) {
      traces.removeIfEmpty(trace)
      return undefined
    }
    traces.add(trace, event)
    if (isFirst) this.#deps.onFirstHeld()
    return 'held'
  }

  #serialized(intake: IntakeEvent, dataset: string, nowMs: number): HeldEvent {
    const altered = { stubbed: 0, cut: 0 } // its own: an accessor may log another event that is held
    const json = keptBytes(this.#deps.toJson(intake, altered))
    const { severity, resource } = intake
    // Records of one logger have the same object as their resource and scope, which counts once.
    const resourceBytes = resource === undefined || resource === this.#lastResource ? 0 : resource.length
    this.#lastResource = resource
    if (dataset !== this.#lastDataset) this.#lastDataset = detached(dataset)
    return {
      json,
      dataset: this.#lastDataset,
      severity,
      resource,
      timeMs: timeMsOf(intake),
      bytes: json.length + resourceBytes + heldOverheadBytes,
      heldAtMs: nowMs,
      wasStubbed: altered.stubbed > 0,
      wasCut: altered.cut > 0 && !intake.wasCut,
    }
  }

  /** Drops the oldest events until one of so many bytes may be held. Drops several at once, as the check takes time. */
  #makeRoom(bytes: number): void {
    const { maxEvents, maxBytes } = this.#deps.options
    const traces = this.#traces
    reserveStack(openBatchBytes)
    const maxCount = traces.count < maxEvents ? maxEvents : maxEvents - Math.max(Math.floor(maxEvents * roomShare), 1)
    const maxHeldBytes = traces.bytes + bytes > maxBytes ? maxBytes * (1 - roomShare) - bytes : maxBytes
    while (traces.count > 0 && (traces.count > maxCount || traces.bytes > maxHeldBytes)) this.#dropOldest()
  }

  #release(id: string): void {
    const traces = this.#traces
    const nowMs = this.#nowMs()
    if (!traces.has(id)) return traces.trigger(id, nowMs)
    reserveStack(2 * openBatchBytes) // the events must not get lost between their two places
    traces.trigger(id, nowMs)
    const events = traces.take(id).values()
    this.#releases.add(events)
    this.#passOnAll(events)
  }

  #passOnAll(events: Iterable<HeldEvent>): void {
    const nowMs = this.#nowMs()
    for (const event of events) {
      if (this.#traces.isExpired(event, nowMs)) this.#drop(event)
      else this.#passOn(event)
    }
    this.#releases.delete(events)
  }

  #passOn({ json, dataset, severity, resource, timeMs, bytes, wasStubbed, wasCut }: HeldEvent): void {
    const { heldEvents, passOn, altered } = this.#deps
    const preSerialized = json.toString()
    const intake = intakeEvent(JSON.parse(preSerialized), severity, lateTime(timeMs))
    intake.resource = resource
    intake.preSerialized = preSerialized
    intake.wasCut = wasCut
    if (wasStubbed) altered.stubbed++
    if (wasCut) altered.cut++
    heldEvents.unhold(bytes - heldOverheadBytes)
    passOn(dataset, intake)
  }

  #dropOldest(): void {
    const event = this.#traces.takeOldest()
    if (event !== undefined) this.#drop(event)
  }

  #drop({ severity, bytes }: HeldEvent): void {
    const { heldEvents, onDropped } = this.#deps
    heldEvents.unhold(bytes - heldOverheadBytes)
    onDropped(severity)
  }

  #startTimer(delayMs: number): void {
    this.#timer ??= setTimeout(() => this.#sweep(), delayMs).unref()
  }

  /** Drops the events that are too old. */
  #sweep(): void {
    this.#timer = undefined
    const traces = this.#traces
    const nowMs = this.#nowMs()
    while (traces.oldest !== undefined && traces.isExpired(traces.oldest, nowMs)) this.#dropOldest()
    traces.forgetTriggers(nowMs)
    const { maxAgeMs } = this.#deps.options
    const { oldest } = traces
    if (oldest !== undefined) {
      this.#startTimer(Math.ceil(Math.max(oldest.heldAtMs + maxAgeMs - nowMs, maxAgeMs * sweepShare)))
    }
  }
}
