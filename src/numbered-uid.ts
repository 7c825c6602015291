/** A uid that the option `identify` gives: the part of the shipper, and the number of the event. */
const uidPattern = /^([0-9a-z]{13})-([1-9]\d{0,14})$/

/** The parts of a uid that the option `identify` has given. */
export interface NumberedUid {
  /** The part that is unique to the shipper. */
  readonly shipper: string
  /** Number of the event, from 1. */
  readonly number: number
}

/** Returns the uid of an event as it was sent: at its root, or in the attributes of an OpenTelemetry record. */
export function uidOf(event: unknown): unknown {
  return isObject(event) ? (uidIn(event) ?? uidIn(event.attributes)) : undefined
}

/** Returns the parts of a uid, or `undefined` if the option `identify` has not given it. */
export function numberedUid(uid: unknown): NumberedUid | undefined {
  const [, shipper, number] = typeof uid === 'string' ? (uidPattern.exec(uid) ?? []) : []
  return shipper === undefined ? undefined : { shipper, number: Number(number) }
}

function uidIn(fields: unknown): unknown {
  if (!isObject(fields)) return undefined
  const { log, 'log.record': record, 'log.record.uid': uid } = fields
  const nested = isObject(log) ? (memberOf(log.record, 'uid') ?? log['record.uid']) : undefined
  return nested ?? memberOf(record, 'uid') ?? uid
}

function memberOf(group: unknown, name: string): unknown {
  return isObject(group) ? group[name] : undefined
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
