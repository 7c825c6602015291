import { fieldAt, shippedField } from './shipped-field.ts'
import { Timestamper } from './timestamp.ts'
import type { UidSequence } from './uid-sequence.ts'

/** Bytes after the number in a nested uid: `"}}`. */
const endBytes = 3

/**
 * The place of a uid in a line: nested (`log.record.uid`), or in a field with that dotted name if the event has a field
 * `log`. It is `own` if the event brings its own uid.
 */
type UidPlace = 'nested' | 'dotted' | 'own'

/**
 * Returns the place for the uid of an event. A getter that throws counts as a field that the event has.
 *
 * @param mayHaveAttributes true if the event is an OpenTelemetry record, whose attributes may hold the uid
 */
export function placeOfUid(event: object, mayHaveAttributes: boolean): UidPlace {
  try {
    if (hasUid(event)) return 'own'
    const { attributes } = event as { attributes?: unknown }
    if (mayHaveAttributes && typeof attributes === 'object' && attributes !== null && hasUid(attributes)) return 'own'
    return shippedField(event, 'log') === undefined ? 'nested' : 'dotted'
  } catch {
    return 'dotted'
  }
}

/** True if the fields have a uid. */
function hasUid(fields: object): boolean {
  const { log, 'log.record': record, 'log.record.uid': uid } = fields as Readonly<Record<string, unknown>>
  if (log === undefined && record === undefined && uid === undefined) return false
  return fieldAt(fields, 'log.record.uid') !== undefined
}

/**
 * Writes the first bytes of lines with a timestamp and a uid: `{"_time":"…","log":{"record":{"uid":"…-42"}}`. Like
 * `Timestamper`, it returns the same bytes each time, and writes only the digits that change.
 */
export class IdentityStamper {
  readonly #timeField: string
  readonly #uids: UidSequence
  #timestamper: Timestamper
  /** The number that the bytes show; `NaN` if they show no number, because the stack ended meanwhile. */
  #shown = 0
  /** The number of digits in the bytes, and the range of the numbers with as many. */
  #digits = 1
  #min = 0
  #max = 9

  constructor(timeField: string, uids: UidSequence) {
    this.#timeField = timeField
    this.#uids = uids
    this.#timestamper = this.#timestamperFor('0')
  }

  /** Returns the head of a line with this number. `time` is in milliseconds, or in seconds and nanoseconds. */
  head(number: number, time: number | readonly [number, number]): Uint8Array {
    if (number < this.#min || number > this.#max) this.#resize(number)
    const bytes = typeof time === 'number' ? this.#timestamper.at(time) : this.#timestamper.atHrTime(time)
    const end = bytes.length - endBytes
    let rest = number
    let shown = this.#shown
    this.#shown = Number.NaN
    for (let at = end - 1; at >= end - this.#digits && rest !== shown; at--) {
      const tenth = Math.floor(rest / 10)
      bytes[at] = 48 + (rest - tenth * 10) // the sum must stay a safe integer
      rest = tenth
      shown = Math.floor(shown / 10)
    }
    this.#shown = number
    return bytes
  }

  /** Makes bytes with room for the number. */
  #resize(number: number): void {
    const digits = String(number)
    const timestamper = this.#timestamperFor(digits)
    this.#timestamper = timestamper
    this.#shown = number
    this.#digits = digits.length
    this.#min = 10 ** (digits.length - 1)
    this.#max = 10 ** digits.length - 1
  }

  #timestamperFor(digits: string): Timestamper {
    return new Timestamper(this.#timeField, undefined, `,"log":${nestedUid(this.#uids.prefix, digits)}`)
  }
}

/** Returns the member with the uid of an event that has its own timestamp, or a field `log`. */
export function uidMember(place: 'nested' | 'dotted', prefix: string, number: number): string {
  return place === 'nested' ? `"log":${nestedUid(prefix, String(number))}` : `"log.record.uid":"${prefix}-${number}"`
}

function nestedUid(prefix: string, digits: string): string {
  return `{"record":{"uid":"${prefix}-${digits}"}}`
}
