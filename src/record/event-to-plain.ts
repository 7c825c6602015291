import { cutToFit } from './cut-to-fit.ts'
import type { Effort } from './effort.ts'
import { isPlainObject, type NonFinite, type Plain, type PlainObject } from './plain.ts'
import { SafeCopy } from './safe-copy.ts'

/** What was altered so that an event could be sent. Counts of events, ever increasing. */
export interface Alterations {
  /** Events with at least one value that JSON has no words for, replaced by a stub such as `[Circular]`. */
  stubbed: number
  /** Events cut to fit and marked. */
  cut: number
}

/** Fields that an event cut to fit keeps, whatever else has to go. */
const keptFields = ['level', 'message', 'trace_id', 'span_id', 'trace_flags']

/** A copy of an event that is plain data. */
export interface PlainCopy {
  readonly fields: PlainObject
  /** False if members were left out, and are still to be marked as such. */
  readonly isWhole: boolean
}

/**
 * Copies an event into plain data. Never throws, whatever the event holds. What is no object becomes one: a text as
 * `message`, anything else as `body`.
 *
 * @param maxBytes most bytes of JSON that will be sent of it
 */
export function eventToPlain(
  event: unknown,
  maxBytes: number,
  effort: Effort,
  altered: Alterations,
  nonFinite: NonFinite = 'null',
): PlainCopy {
  try {
    const copy = new SafeCopy(maxBytes, effort, nonFinite)
    const fields = asObject(copy.of(event, keptFields))
    if (copy.stubbed) altered.stubbed++
    return { fields, isWhole: !copy.cut }
  } catch {
    return unserializable(altered)
  }
}

/** The copy cut to `maxBytes` of JSON in UTF-8 (256 or more). The same object if it is whole and fits. Never throws. */
export function fitted(copy: PlainCopy, maxBytes: number, altered: Alterations): PlainObject {
  try {
    const fields = cutToFit(copy.fields, maxBytes, keptFields, copy.isWhole)
    if (fields !== copy.fields) altered.cut++
    return fields
  } catch {
    return unserializable(altered).fields
  }
}

/** No stack or memory is left, which is not for a log call to report. */
function unserializable(altered: Alterations): PlainCopy {
  altered.stubbed++
  return { fields: { message: '[Event could not be serialised]' }, isWhole: true }
}

function asObject(copy: Plain): PlainObject {
  if (isPlainObject(copy)) return copy
  return typeof copy === 'string' ? { message: copy } : { body: copy }
}
