import { create, type DescMessage, toBinary, toJsonString } from '@bufbuild/protobuf'
import { bareObject } from '../../record/bare-object.ts'
import { nestAttributes } from '../../record/nested.ts'
import { type OtelLogRecord, otelToEvent, recordTime } from '../../record/otel-to-event.ts'
import { formatNanoTime } from '../../record/timestamp.ts'
import { isTraceId } from '../../record/trace-context.ts'
import {
  type AnyValue,
  decodeRequest,
  type KeyValue,
  type LogRecord,
  type OtlpFormat,
  type Resource,
  type Scope,
  schemas,
} from './otlp-request.ts'

export { OtlpProblem } from './otlp-request.ts'

const nanosPerSecond = 1_000_000_000n

/** An event as our own exporter would have sent it. */
export type OtlpEvent = Record<string, unknown>

/**
 * Decodes an export request of OTLP for logs. The caller may do other work between two events.
 *
 * @throws OtlpProblem, also after the first events
 */
export function* eventsOfOtlp(body: Buffer, format: OtlpFormat): Generator<OtlpEvent> {
  const { resourceLogs, decode } = decodeRequest(body, format)
  for (const { resource, scopeLogs, schemaUrl } of resourceLogs) {
    const resourceFields = resourceFieldsOf(resource, schemaUrl)
    for (const { scope, logRecords, schemaUrl: scopeUrl } of scopeLogs) {
      const scopeFields = scopeFieldsOf(scope, scopeUrl)
      for (const record of logRecords) yield eventOf(decode(record), resourceFields, scopeFields)
    }
  }
}

/** Returns the body of the answer to an export request. An answer without rejected records is an empty message. */
export function otlpResponse(format: OtlpFormat, rejected: number, reason: string): Uint8Array | string {
  const { response } = schemas[format]
  const partialSuccess = { rejectedLogRecords: BigInt(rejected), errorMessage: reason }
  return encoded(response, format, rejected === 0 ? {} : { partialSuccess })
}

/** Returns the body of the answer to a refused request: the message `Status` of gRPC. */
export function otlpStatus(format: OtlpFormat, message: string): Uint8Array | string {
  return encoded(schemas[format].status, format, { message })
}

function encoded(schema: DescMessage, format: OtlpFormat, fields: object): Uint8Array | string {
  const message = create(schema, fields as never)
  return format === 'json' ? toJsonString(schema, message) : toBinary(schema, message)
}

function eventOf(record: LogRecord, resource: object | undefined, scope: object | undefined): OtlpEvent {
  const hrTimeObserved = hrTimeOf(record.observedTimeUnixNano)
  const hrTime = record.timeUnixNano === 0n ? hrTimeObserved : hrTimeOf(record.timeUnixNano)
  const body = plainValue(record.body)
  const traceId = hexOf(record.traceId)
  const readable: OtelLogRecord = {
    hrTime,
    hrTimeObserved: record.observedTimeUnixNano === 0n ? hrTime : hrTimeObserved,
    spanContext: { traceId, spanId: hexOf(record.spanId), traceFlags: record.flags & 0xff },
    severityText: record.severityText,
    severityNumber: record.severityNumber,
    body,
    eventName: record.eventName,
    resource: { attributes: {} },
    instrumentationScope: { name: '' },
    attributes: attributesOf(record.attributes),
    droppedAttributesCount: record.droppedAttributesCount,
  }
  const time = recordTime(readable)
  const isTimed = time[0] !== 0 || time[1] !== 0
  const event: OtlpEvent = {
    _time: isTimed ? formatNanoTime(time) : undefined,
    ...otelToEvent(readable),
    resource,
    scope,
  }
  if (isTraceId(traceId)) event.trace_id = traceId // the span context of an SDK has no trace without a span, a record may
  // A text that stands for bytes or for a number is no message.
  const isValue = typeof body === 'string' && record.body?.value.case !== 'stringValue'
  return present(isValue ? { ...event, message: undefined, body } : event)
}

/**
 * Returns the fields that are not `undefined`. The others are not in the line of the event either, and would be counted
 * as fields of the dataset.
 */
function present(fields: object): OtlpEvent {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}

function resourceFieldsOf(resource: Resource | undefined, schemaUrl: string): object | undefined {
  const attributes = resource?.attributes ?? []
  if (attributes.length === 0 && schemaUrl === '') return undefined
  const nested = nestAttributes(attributesOf(attributes))
  return schemaUrl === '' ? nested : Object.assign(bareObject(), { schema_url: schemaUrl }, nested)
}

function scopeFieldsOf(scope: Scope | undefined, schemaUrl: string): object | undefined {
  if (scope === undefined) return undefined
  const { name, version, attributes, droppedAttributesCount } = scope
  return present({
    name,
    version: version || undefined,
    schema_url: schemaUrl || undefined,
    attributes: attributes.length === 0 ? undefined : nestAttributes(attributesOf(attributes)),
    dropped_attributes_count: droppedAttributesCount || undefined,
  })
}

function attributesOf(pairs: readonly KeyValue[]): Record<string, unknown> {
  const attributes = bareObject()
  for (const { key, value } of pairs) attributes[key] = plainValue(value)
  return attributes
}

/** Returns the JSON value of an attribute or a body. The depth is bounded by the decoder. */
function plainValue(any: AnyValue | undefined): unknown {
  const choice = any?.value
  if (choice === undefined) return null
  switch (choice.case) {
    case 'intValue':
      return Number.isSafeInteger(Number(choice.value)) ? Number(choice.value) : String(choice.value)
    case 'doubleValue':
      return Number.isFinite(choice.value) ? choice.value : String(choice.value)
    case 'arrayValue':
      return choice.value.values.map(plainValue)
    case 'kvlistValue':
      return attributesOf(choice.value.values)
    case 'bytesValue':
      return Buffer.from(choice.value).toString('base64')
    case undefined:
      return null
    default:
      return choice.value
  }
}

function hrTimeOf(nanos: bigint): [number, number] {
  return [Number(nanos / nanosPerSecond), Number(nanos % nanosPerSecond)]
}

function hexOf(id: Uint8Array | string): string {
  return typeof id === 'string' ? id.toLowerCase() : Buffer.from(id).toString('hex')
}
