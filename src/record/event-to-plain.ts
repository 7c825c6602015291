import { bareObject } from './bare-object.ts'
import { cutToFit, isMarkedAsCut } from './cut-to-fit.ts'
import type { Effort } from './effort.ts'
import { isPlainObject, type NonFinite, type Plain, type PlainCopy, type PlainObject } from './plain.ts'
import { SafeCopy } from './safe-copy.ts'

/** Numbers of events that were altered so that they could be sent. The numbers only increase. */
export interface Alterations {
  /** Events with at least one value that JSON cannot represent, replaced by a stub such as `[Circular]`. */
  stubbed: number
  /** Events that were cut to fit, and marked as cut. */
  cut: number
}

/** Fields that may have a uid that the event brings along. */
const uidFields = ['log', 'log.record', 'log.record.uid']

/** Fields that an event cut to fit keeps, whatever other fields it loses. */
const keptFields = [
  '_time',
  'level',
  'message',
  'trace_id',
  'span_id',
  'trace_flags',
  'logferry',
  'logferry.sampling_rate',
  ...uidFields,
]

/**
 * Copies an event into plain data. Never throws, whatever the event holds. An event that is not an object becomes one:
 * a text becomes its `message`, any other value its `body`.
 *
 * @param maxBytes maximum bytes of JSON that will be sent
 * @param names the names of the event, if they have just been listed
 */
export function eventToPlain(
  event: unknown,
  maxBytes: number,
  effort: Effort,
  altered: Alterations,
  nonFinite: NonFinite = 'null',
  names?: readonly string[],
): PlainCopy {
  try {
    const copy = new SafeCopy(maxBytes, effort, nonFinite)
    const fields = asObject(copy.of(event, keptFields, names))
    if (copy.stubbed) altered.stubbed++
    return { fields, isWhole: !copy.cut }
  } catch {
    return unserializable(altered)
  }
}

/**
 * Returns the copy cut to `maxBytes` of JSON in UTF-8 (256 or more), or the same object if it is whole and fits. Never
 * throws.
 */
export function fitted(copy: PlainCopy, maxBytes: number, altered: Alterations): PlainObject {
  try {
    const fields = cutToFit(copy, maxBytes, keptFields)
    if (fields !== copy.fields && !isMarkedAsCut(copy.fields)) altered.cut++ // a marked event was cut, and counted, before
    return fields
  } catch {
    return unserializable(altered).fields
  }
}

/**
 * Returns a stand-in for an event that cannot be copied because no stack or memory is left. A log call must not fail
 * then.
 */
function unserializable(altered: Alterations): PlainCopy {
  altered.stubbed++
  return { fields: bare({ message: '[Event could not be serialized]' }), isWhole: true }
}

function asObject(copy: Plain): PlainObject {
  if (isPlainObject(copy)) return copy
  return bare(typeof copy === 'string' ? { message: copy } : { body: copy })
}

/** Returns fields that inherit nothing: an application may have put a `toJSON` on `Object.prototype`. */
function bare(fields: PlainObject): PlainObject {
  return Object.assign(bareObject() as PlainObject, fields)
}
