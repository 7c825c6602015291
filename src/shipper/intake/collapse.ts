import type { Severity } from '../../accounting/severity.ts'
import { NativePromise } from '../../native-promise.ts'
import { ownProperties } from '../../own-properties.ts'
import { eventIdentity } from '../../record/event-identity.ts'
import type { Line } from '../../record/event-to-line.ts'
import type { Alterations } from '../../record/event-to-plain.ts'
import { keptBytes } from '../../record/kept-bytes.ts'
import { fewCallsBytes, openBatchBytes, reserveStack } from '../../stack-reserve.ts'
import { detached } from '../../text/detached.ts'
import { clearTimeout, monotonicMs, setTimeout } from '../../time.ts'
import type { HeldEvents, HeldSource } from '../held-events.ts'
import { type HoldingStep, type IntakeEvent, intakeEvent } from './intake-event.ts'
import { eventTime, later, repeatSummary } from './repeat-summary.ts'
import { EndedWindows, type EventTime, type RepeatWindow, RepeatWindows } from './repeat-windows.ts'

/** Maximum bytes of the copy that becomes the summary. A larger event is cut. */
const maxCopyBytes = 8192
/** Time after which a release lets other work have its turn, in milliseconds. */
const maxTurnMs = 5

/** A repetition as the summary needs it, without references to the caller's objects. */
interface Copy {
  readonly json: Buffer
  readonly dataset: string
  readonly severity: Severity
  readonly resource: Uint8Array | undefined
  /** Bytes charged to the memory budget. */
  readonly bytes: number
}

interface CollapseDeps {
  readonly windowMs: number
  readonly timeField: string
  readonly maxEventBytes: number
  readonly altered: Alterations
  readonly heldEvents: HeldEvents
  /** Writes an event as JSON of `maxBytes` at most. The bytes are valid until the next event is written. */
  readonly toJson: (intake: IntakeEvent, maxBytes: number, altered: Alterations) => Line
  /** Returns a timestamp of the application as the summary may show it; `undefined` if it may not. */
  readonly shownTime: (time: string | number) => string | number | undefined
  /** Passes a summary on, to the steps after this one. */
  readonly passOn: (dataset: string, summary: IntakeEvent) => void
  /** Monotonic time, in milliseconds. */
  readonly nowMs?: () => number
}

/**
 * Drops the repetitions of an event until its window ends, then ships one event that stands for them all. That event
 * counts as accepted and pending from the first repetition on.
 */
export class Collapse implements HeldSource {
  readonly #deps: CollapseDeps
  readonly #nowMs: () => number
  readonly #windows: RepeatWindows<Copy>
  /** Windows whose summaries wait for memory. */
  readonly #due = new EndedWindows<Copy>()
  /** Number of summaries that are not passed on yet, including those of open windows. */
  #summaries = 0
  #timer: NodeJS.Timeout | undefined
  /** Monotonic time for which the timer is set, in milliseconds. */
  #timerAtMs = Number.POSITIVE_INFINITY
  #continuing: NodeJS.Timeout | undefined
  /** The release under way, for all its callers. */
  #release: PromiseWithResolvers<void> | undefined

  constructor(deps: CollapseDeps) {
    this.#deps = ownProperties(deps)
    this.#nowMs = this.#deps.nowMs ?? monotonicMs
    this.#windows = new RepeatWindows(deps.windowMs, window => this.#due.add(window))
  }

  readonly step: HoldingStep = (intake, dataset) => {
    const identity = intake.isUrgent ? undefined : eventIdentity(intake.event, dataset)
    if (identity === undefined) return undefined
    const time = eventTime(intake, this.#deps.timeField, this.#deps.shownTime)
    const nowMs = this.#nowMs()
    const waiting = this.#due.count
    this.#windows.endUntil(nowMs)
    if (this.#due.count > waiting) this.resume()
    const window = this.#windows.get(identity)
    if (window === undefined) {
      this.#begin(identity, time, nowMs)
      return undefined
    }
    if (window.count === 0) return this.#beginSummary(window, time, intake, dataset)
    reserveStack(fewCallsBytes) // for counting the drop
    window.lastTime = later(window.lastTime, time)
    window.count++
    return 'collapsed'
  }

  /** Ends all windows, and passes their summaries on as memory allows. */
  release(): Promise<void> {
    this.#stopTimer()
    this.#windows.endUntil(Number.POSITIVE_INFINITY)
    this.resume()
    if (this.#due.count === 0) return Promise.resolve()
    this.#release ??= NativePromise.withResolvers<void>()
    return this.#release.promise
  }

  /** Continues a release that stopped for lack of memory. Other work has its turn every few milliseconds. */
  resume(): void {
    const endMs = this.#nowMs() + maxTurnMs
    while (this.#due.count > 0 && this.#deps.heldEvents.hasRoom()) {
      if (this.#nowMs() >= endMs) {
        this.#continuing ??= setTimeout(() => this.#continue(), 0).unref()
        return
      }
      this.#passOnNext()
    }
  }

  releaseAllNow(): void {
    this.#stopTimer()
    this.#windows.endUntil(Number.POSITIVE_INFINITY)
    while (this.#due.count > 0) this.#passOnNext()
  }

  #continue(): void {
    this.#continuing = undefined
    this.resume()
  }

  #begin(identity: string, time: EventTime, nowMs: number): void {
    const waiting = this.#due.count
    this.#windows.begin(identity, time, nowMs)
    if (this.#due.count > waiting) this.resume()
  }

  /** Takes the first repetition of an event. If memory has no room for its copy, the event is passed on. */
  #beginSummary(
    window: RepeatWindow<Copy>,
    time: EventTime,
    intake: IntakeEvent,
    dataset: string,
  ): 'collapsed' | undefined {
    const { heldEvents } = this.#deps
    reserveStack(2 * openBatchBytes)
    const copy = this.#copyOf(intake, dataset)
    // An accessor may have logged meanwhile, the same event even.
    if (window.count > 0 || this.#windows.get(window.identity) !== window) return undefined
    this.#startTimer(window.endsAtMs)
    heldEvents.add(this)
    if (!heldEvents.hold(copy.severity, copy.bytes)) {
      this.#removeIfDone()
      return undefined
    }
    window.copy = copy
    window.lastTime = time // not that of the first event, whose line has it: no two lines may have the same timestamp
    window.count = 1
    this.#summaries++
    heldEvents.onHeld()
    return 'collapsed'
  }

  #copyOf(intake: IntakeEvent, dataset: string): Copy {
    const { severity, resource } = intake
    const { altered, maxEventBytes, toJson } = this.#deps
    const line = toJson(intake, Math.min(maxCopyBytes, maxEventBytes), altered)
    const json = keptBytes(line)
    return { json, dataset: detached(dataset), severity, resource, bytes: json.length + (resource?.length ?? 0) }
  }

  #passOnNext(): void {
    const window = this.#due.take() as RepeatWindow<Copy>
    const { json, dataset, severity, resource, bytes } = window.copy as Copy
    const { heldEvents, passOn, timeField } = this.#deps
    const { event, time } = repeatSummary(json.toString(), window, timeField)
    this.#summaries--
    heldEvents.unhold(bytes)
    const summary = intakeEvent(event, severity, time)
    summary.resource = resource
    passOn(dataset, summary)
    this.#removeIfDone()
    if (this.#due.count > 0) return
    this.#release?.resolve()
    this.#release = undefined
  }

  #removeIfDone(): void {
    if (this.#summaries === 0) this.#deps.heldEvents.remove(this)
  }

  #startTimer(endsAtMs: number): void {
    if (endsAtMs >= this.#timerAtMs) return
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#onTimer(), Math.max(Math.ceil(endsAtMs - this.#nowMs()), 1)).unref()
    this.#timerAtMs = endsAtMs
  }

  #stopTimer(): void {
    clearTimeout(this.#timer)
    this.#timerAtMs = Number.POSITIVE_INFINITY
  }

  #onTimer(): void {
    this.#timerAtMs = Number.POSITIVE_INFINITY
    this.#windows.endUntil(this.#nowMs())
    this.resume()
    this.#startTimer(this.#windows.endsAtMs() ?? Number.POSITIVE_INFINITY)
  }
}
