import type { IntakeDropReason } from '../../accounting/drop-reasons.ts'
import type { Severity } from '../../accounting/severity.ts'
import type { Acknowledgement } from '../../batch/acknowledgements.ts'
import type { NonFinite } from '../../record/plain.ts'
import { tailFields } from '../../record/resource-tail.ts'

/** An event on its way into the core, whichever way it came. `intakeEvent` creates it. */
export interface IntakeEvent {
  /** The event's fields. Replace them by `replaceFields` only. */
  event: object
  /**
   * The object that was logged, if it is another one: the fields of a Map, for example, are in `event`. The functions
   * `dataset` and `sample` get this object, unless a step has changed the event.
   */
  logged: object | undefined
  severity: Severity
  /** Time of an event without a timestamp of its own: milliseconds since the epoch, or seconds and nanoseconds. */
  readonly time: number | readonly [number, number]
  /** Resource and scope of an OpenTelemetry record, as bytes that replace the closing brace of the event's JSON. */
  resource: Uint8Array | undefined
  /** The result of `JSON.stringify` for the fields, if the caller has it and they are plain data. */
  preSerialized: string | undefined
  /** True if the line must have `preSerialized` as it is, unless the event is changed or does not fit. */
  keepsText: boolean
  /** True if the event was cut when it was copied, and counts as cut. */
  wasCut: boolean
  /** Learns what becomes of the event, if a caller waits for that. */
  acknowledgement: Acknowledgement | undefined
  /** True if no step may hold the event back, because its caller waits until the service has taken it. */
  isUrgent: boolean
}

/**
 * Creates an event with every member its own. A missing member would be read from `Object.prototype`, to which the
 * application may have added one of that name.
 */
export function intakeEvent(event: object, severity: Severity, time: IntakeEvent['time']): IntakeEvent {
  return {
    event,
    logged: undefined,
    severity,
    time,
    resource: undefined,
    preSerialized: undefined,
    keepsText: false,
    wasCut: false,
    acknowledgement: undefined,
    isUrgent: false,
  }
}

/**
 * A step of the intake before the dataset of the event is known. Returns the reason for which the event is dropped, or
 * `undefined`.
 */
export type EarlyStep = (intake: IntakeEvent) => IntakeDropReason | undefined

/** Replaces the fields of an event, and discards everything that was derived from the earlier fields. */
export function replaceFields(intake: IntakeEvent, event: object): void {
  if (event === intake.event) return
  intake.event = event
  intake.preSerialized = undefined
  if (intake.logged !== undefined) intake.logged = undefined
}

/**
 * A step after the dataset of the event is known. It may also keep the event: it then returns `'held'`, counts the event,
 * and passes it on later or drops it.
 */
export type HoldingStep = (intake: IntakeEvent, dataset: string) => IntakeDropReason | 'held' | undefined

/** OpenTelemetry has numbers that JSON does not have. */
export function nonFiniteOf({ resource }: Pick<IntakeEvent, 'resource'>): NonFinite {
  return resource === undefined ? 'null' : 'text'
}

/** Returns the whole event, including the fields that the tail adds to its line. */
export function wholeEvent(event: object, tail: Uint8Array | undefined): Readonly<Record<string, unknown>> {
  return tail === undefined ? (event as Record<string, unknown>) : { ...event, ...tailFields(tail) }
}
