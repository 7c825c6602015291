import {
  isSeverityNumber,
  maxLevelLength,
  type Severity,
  severities,
  severityOfLevel,
  severityOfNumber,
} from '../accounting/severity.ts'
import { isError } from './error-fields.ts'
import { nestAttributes } from './nested.ts'
import type { HrTime, OtelLogRecord } from './otel-record.ts'
import { carriedHrTime, formatNanoTime } from './timestamp.ts'
import { traceFlagsHex, validTraceIds } from './trace-context.ts'

export type { OtelLogRecord, OtelResource, OtelScope } from './otel-record.ts'
export { emptyTail, resourceTail } from './resource-tail.ts'

/** OpenTelemetry's value for an unknown time. */
const unknownTime: HrTime = [0, 0]

/**
 * Returns the event for a log record, without its time, resource and scope. Fields that are `undefined` are not in the
 * line. Never throws: a field that cannot be read becomes a text that says so.
 *
 * - `level` is the class of the severity number (`info` for INFO to INFO4), if the number is one of the 24. Otherwise
 *   it is the severity text in lower case. A record with neither has the level `info`, and counts as info.
 * - A body that is a text becomes `message`. An Error becomes `body`, and its message `message`. Any other body becomes
 *   `body`.
 * - Attributes are nested by the dots in their names. `observed_time` is present if it differs from the time of the
 *   record.
 */
export function otelToEvent(record: OtelLogRecord): object {
  try {
    return eventOf(record)
  } catch {
    return salvagedEventOf(record)
  }
}

/** Returns the time of a record, or else the time when it was observed, or else [0, 0]. */
export function recordTime(record: OtelLogRecord): HrTime {
  try {
    const { hrTime, hrTimeObserved } = record
    return carriedHrTime(hrTime) ?? carriedHrTime(hrTimeObserved) ?? unknownTime
  } catch {
    return unknownTime
  }
}

/** Returns the severity of a record, by its number, or else by its text. A record with neither counts as info. */
export function severityOfRecord(record: OtelLogRecord): Severity {
  try {
    const { severityNumber } = record
    return isSeverityNumber(severityNumber)
      ? severityOfNumber(severityNumber)
      : severityOfLevel(nameIn(record.severityText))
  } catch {
    return severityOfLevel(undefined)
  }
}

function eventOf(record: OtelLogRecord): object {
  const { severityNumber, severityText, body, hrTime, hrTimeObserved, attributes, droppedAttributesCount } = record
  const ids = validTraceIds(record.spanContext)
  const isText = typeof body === 'string'
  return {
    level: levelOf(severityNumber, severityText),
    message: isText ? body : messageOf(body),
    body: isText || body === null ? undefined : body,
    severity_number: severityNumber || undefined,
    severity_text: severityText || undefined,
    event_name: record.eventName || undefined,
    trace_id: ids?.traceId,
    span_id: ids?.spanId,
    trace_flags: ids && traceFlagsHex(ids.traceFlags),
    observed_time: isSameTime(hrTime, hrTimeObserved) ? undefined : observedTimeText(hrTimeObserved),
    attributes: isEmpty(attributes) ? undefined : nestAttributes(attributes),
    dropped_attributes_count: droppedAttributesCount || undefined,
  }
}

function observedTimeText(observed: HrTime): string | undefined {
  const time = carriedHrTime(observed)
  return time && formatNanoTime(time)
}

/** Returns the event for a record that throws when it is read. */
function salvagedEventOf(record: OtelLogRecord): object {
  return {
    level: severities[severityOfRecord(record)],
    body: attempt(() => record.body),
    severity_number: attempt(() => record.severityNumber),
    severity_text: attempt(() => record.severityText),
    event_name: attempt(() => record.eventName),
    trace_id: attempt(() => record.spanContext?.traceId),
    span_id: attempt(() => record.spanContext?.spanId),
    attributes: attempt(() => record.attributes),
  }
}

function attempt(read: () => unknown): unknown {
  try {
    return read()
  } catch {
    return '[Throws]'
  }
}

function levelOf(severityNumber: number | undefined, severityText: string | undefined): string {
  if (isSeverityNumber(severityNumber)) return severities[severityOfNumber(severityNumber)]
  return nameIn(severityText) ?? 'info'
}

/**
 * Returns a severity text in lower case. OpenTelemetry's names of single numbers, such as `ERROR2`, become the name of
 * their class.
 */
function nameIn(severityText: string | undefined): string | undefined {
  if (typeof severityText !== 'string' || severityText === '') return undefined
  if (severityText.length > maxLevelLength) return severityText
  return severityText.toLowerCase().replace(/^(trace|debug|info|warn|error|fatal)[2-4]$/, '$1')
}

function messageOf(body: unknown): string | undefined {
  return typeof body === 'object' && isError(body) ? body.message : undefined
}

function isSameTime(a: HrTime, b: HrTime): boolean {
  return a === b || (a[0] === b[0] && a[1] === b[1])
}

function isEmpty(attributes: object): boolean {
  for (const _ in attributes) return false
  return true
}
