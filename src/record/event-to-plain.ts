import { cutToFit } from './cut-to-fit.ts'
import { isPlainObject, type Plain, type PlainObject } from './plain.ts'
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

/**
 * A copy of an event that is plain data, and whose JSON takes at most `maxBytes` in UTF-8 (256 or more). Never throws,
 * whatever the event holds. What is no object becomes one: a text as `message`, anything else as `body`.
 */
export function eventToPlain(event: unknown, maxBytes: number, altered: Alterations): PlainObject {
  try {
    const copy = new SafeCopy(maxBytes)
    const plain = asObject(copy.of(event, keptFields))
    if (copy.stubbed) altered.stubbed++
    if (!copy.cut && copy.mostBytes <= maxBytes) return plain
    const fitted = cutToFit(plain, maxBytes, keptFields, !copy.cut)
    if (fitted !== plain) altered.cut++
    return fitted
  } catch {
    altered.stubbed++ // no stack or memory left, which is not for a log call to report
    return { message: '[Event could not be serialised]' }
  }
}

function asObject(copy: Plain): PlainObject {
  if (isPlainObject(copy)) return copy
  return typeof copy === 'string' ? { message: copy } : { body: copy }
}
