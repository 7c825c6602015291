import type { Refusal } from '../../accounting/ledger.ts'
import type { Severity } from '../../accounting/severity.ts'

/** An event on its way into the core, whichever way it came. */
export interface IntakeEvent {
  /** The event's fields. Replace them by `replaceFields` only. */
  event: object
  readonly severity: Severity
  /** Time of an event without a time stamp of its own: milliseconds since the epoch, or seconds and nanoseconds. */
  readonly time: number | readonly [number, number]
  /** Resource and scope of an OpenTelemetry record, as bytes that replace the closing brace of the event's JSON. */
  readonly resource: Uint8Array | undefined
  /** The result of `JSON.stringify` for the fields, if the caller has it and they are plain data. */
  preSerialized: string | undefined
}

/** A step of the intake. It may replace the event's fields. Returns the reason for which the event is dropped, if any. */
export type IntakeStep = (intake: IntakeEvent, dataset: string) => Refusal | undefined

/** Replaces the fields of an event, and discards what was made of the earlier fields. */
export function replaceFields(intake: IntakeEvent, event: object): void {
  if (event === intake.event) return
  intake.event = event
  intake.preSerialized = undefined
}
