import { noteOriginal } from '../../record/copied-from.ts'
import type { Alterations } from '../../record/event-to-plain.ts'
import { isQuicklyRead, isSpreadable, ownCopy } from '../../record/own-copy.ts'
import type { IntakeEvent } from './intake-event.ts'

/**
 * Parses the line of an event, and so returns the event as it is sent. Counts in `altered` what the line alters, by default in
 * the counts of the shipper. If the event was cut, `intake.wasCut` becomes true.
 */
export type AsSent = (
  intake: Pick<IntakeEvent, 'event' | 'resource' | 'wasCut'>,
  altered?: Alterations,
) => Record<string, unknown>

/**
 * Returns what `change` makes of the event. `change` gets an object whose fields can be spread: the event, or the event
 * as it is sent if it is not plain enough, or throws or takes long when it is read.
 */
export function changedFields(intake: IntakeEvent, asSent: AsSent, change: (fields: object) => object): object {
  try {
    if (isSpreadable(intake.event) && isQuicklyRead(intake.event))
      return noteOriginal(change(intake.event), intake.event)
  } catch {
    // An accessor or a proxy threw. The event as it is sent is changed instead.
  }
  return change(asSent(intake))
}

/** Returns a copy of the event that shares no object with the application. Counts what was altered for that. */
export function copiedEvent(intake: IntakeEvent, asSent: AsSent, altered: Alterations): Record<string, unknown> {
  return ownCopy(intake.event) ?? asSent(intake, altered)
}
