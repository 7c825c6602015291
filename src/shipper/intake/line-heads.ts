import { IdentityStamper, placeOfUid, uidMember } from '../../record/identity.ts'
import type { Redaction } from '../../record/redaction.ts'
import { shippedField } from '../../record/shipped-field.ts'
import { Timestamper } from '../../record/timestamp.ts'
import type { UidSequence } from '../../record/uid-sequence.ts'
import type { IntakeEvent } from './intake-event.ts'

/** Makes the first bytes of a line, which replace the opening brace of the event's JSON: the timestamp. */
export class LineHeads {
  readonly #timeField: string
  readonly #redaction: Redaction | undefined
  readonly #timestamper: Timestamper

  constructor(timeField: string, redaction: Redaction | undefined) {
    this.#timeField = timeField
    this.#redaction = redaction
    this.#timestamper = new Timestamper(timeField)
  }

  /** Returns the head of an event's line, to be used before the next call; `undefined` if the event needs none. */
  of(intake: IntakeEvent): Uint8Array | undefined {
    return this.hasOwnTime(intake.event) ? undefined : this.timeOf(intake)
  }

  timeOf({ time }: IntakeEvent): Uint8Array {
    return typeof time === 'number' ? this.#timestamper.at(time) : this.#timestamper.atHrTime(time)
  }

  hasOwnTime(event: object): boolean {
    try {
      const name = this.#timeField
      const time = shippedField(event, name)
      return time !== undefined && this.#redaction?.removes(event, name, time) !== true
    } catch {
      // A getter threw: a stub stands in for the field, and a second field of that name would be wrong. Or the censor
      // threw: it throws again when the line is made.
      return true
    }
  }
}

/** The heads of lines whose events are identified: the timestamp, and the uid. */
export class IdentifiedHeads extends LineHeads {
  readonly #uids: UidSequence
  readonly #stamper: IdentityStamper
  /** True if the timestamp is in the field that the nested uid would be in. */
  readonly #isLogTaken: boolean

  constructor(timeField: string, redaction: Redaction | undefined, uids: UidSequence) {
    super(timeField, redaction)
    this.#uids = uids
    this.#stamper = new IdentityStamper(timeField, uids)
    this.#isLogTaken = timeField === 'log'
  }

  /** Takes a number for the event, after everything that may run code of the application. */
  override of(intake: IntakeEvent): Uint8Array | undefined {
    const free = placeOfUid(intake.event, intake.resource !== undefined)
    if (free === 'own') return super.of(intake)
    const place = this.#isLogTaken ? 'dotted' : free
    const hasOwnTime = this.hasOwnTime(intake.event)
    const number = this.#uids.take()
    if (place === 'nested' && !hasOwnTime) return this.#stamper.head(number, intake.time)
    const member = uidMember(place, this.#uids.prefix, number)
    return hasOwnTime ? Buffer.from(`{${member}`) : Buffer.concat([this.timeOf(intake), Buffer.from(`,${member}`)])
  }
}
