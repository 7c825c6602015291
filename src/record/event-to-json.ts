import { cutToFit } from './cut-to-fit.ts'
import { isPlainData } from './is-plain-data.ts'
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
 * The JSON text of an event: always that of an object, valid, and at most `maxBytes` long in UTF-8 (256 or more).
 * Never throws, whatever the event holds. What is no object becomes one: a text as `message`, anything else as `body`.
 *
 * The fast way is `JSON.stringify`, for events of plain data that fit. All others are first copied into plain data, and
 * cut where they are too large.
 *
 * @param written what `JSON.stringify` would say of plain data, where that has been written already
 */
export function eventToJson(event: object, maxBytes: number, altered: Alterations, written?: string): string {
  let isTooLarge = false
  try {
    if (isPlainData(event, maxBytes)) {
      const json = written ?? JSON.stringify(event)
      const isObject = json.startsWith('{')
      if (isObject && fits(json, maxBytes)) return json
      isTooLarge = isObject
    }
  } catch {
    // No object, or a getter or a proxy that throws: the safe way finds out, and keeps what can be kept.
  }
  try {
    return eventToJsonSafely(event, maxBytes, altered, isTooLarge)
  } catch {
    altered.stubbed++ // no stack or memory left, which is not for a log call to report
    return '{"message":"[Event could not be serialised]"}'
  }
}

function eventToJsonSafely(event: unknown, maxBytes: number, altered: Alterations, isTooLarge: boolean): string {
  const copy = new SafeCopy(maxBytes)
  const plain = asObject(copy.of(event, keptFields))
  if (copy.stubbed) altered.stubbed++
  if (!isTooLarge && !copy.cut && copy.characters <= maxBytes) {
    const json = JSON.stringify(plain)
    if (fits(json, maxBytes)) return json
  }
  altered.cut++
  return JSON.stringify(cutToFit(plain, maxBytes, keptFields, !copy.cut))
}

function asObject(copy: Plain): PlainObject {
  if (isPlainObject(copy)) return copy
  return typeof copy === 'string' ? { message: copy } : { body: copy }
}

/** Counting bytes is worth it only near the limit: a UTF-16 unit never takes more than three. */
function fits(json: string, maxBytes: number): boolean {
  return json.length * 3 <= maxBytes || Buffer.byteLength(json) <= maxBytes
}
