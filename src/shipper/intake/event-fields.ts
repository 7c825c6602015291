import { forgetOriginal, noteOriginal } from '../../record/copied-from.ts'
import type { Alterations } from '../../record/event-to-plain.ts'
import { isQuicklyRead, isSpreadable, ownCopy } from '../../record/own-copy.ts'
import type { IntakeEvent } from './intake-event.ts'

/**
 * Returns an event as it is sent: its line, parsed. Counts alterations in `altered`, by default the counts of the
 * shipper. Sets `intake.wasCut` if the event was cut.
 */
export type AsSent = (
  intake: Pick<IntakeEvent, 'event' | 'resource' | 'wasCut'>,
  altered?: Alterations,
) => Record<string, unknown>

/**
 * Returns the result of `change`, which gets an object whose fields can be spread. That object is the event itself if
 * it is plain and quickly read. Otherwise it is the event as it is sent.
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

/**
 * Returns a copy of the event that shares no object with the application. Counts the alterations that the copy needs.
 */
export function copiedEvent(intake: IntakeEvent, asSent: AsSent, altered: Alterations): Record<string, unknown> {
  const copy = ownCopy(intake.event)
  if (copy === undefined) return asSent(intake, altered)
  forgetOriginal(copy)
  return copy
}
