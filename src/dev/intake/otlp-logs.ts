import { isUtf8 } from 'node:buffer'
import { create, fromBinary, fromJson, type JsonValue, type Message, toBinary, toJsonString } from '@bufbuild/protobuf'
import { isNestedDeeper } from '../../emulator/nesting.ts'
import { bareObject } from '../../record/bare-object.ts'
import { nestAttributes } from '../../record/nested.ts'
import { type OtelLogRecord, otelToEvent, recordTime } from '../../record/otel-to-event.ts'
import { formatNanoTime } from '../../record/timestamp.ts'
import { otlpSchema } from './otlp-schema.ts'
import { isTooManyMessages, isTooManyObjects } from './otlp-size.ts'

export type OtlpFormat = 'protobuf' | 'json'

/** The request is not OTLP, or too large to decode. */
export class OtlpProblem extends Error {
  readonly status: 400 | 413

  constructor(status: 400 | 413, message: string) {
    super(message)
    this.status = status
  }
}

/** Messages may nest three times as deeply as the values in them: a value, its list, a member of the list. */
const maxMessageDepth = 500
const maxJsonDepth = 1000
const nanosPerSecond = 1_000_000_000n

const schemas = { protobuf: otlpSchema('protobuf'), json: otlpSchema('json') }

/** An event as our own exporter would have sent it. */
export type OtlpEvent = Record<string, unknown>

/** Decodes an export request of OTLP for logs. @throws OtlpProblem */
export function eventsOfOtlp(body: Buffer, format: OtlpFormat): OtlpEvent[] {
  const request = format === 'json' ? requestOfJson(body) : requestOfProtobuf(body)
  return request.resourceLogs.flatMap(({ resource, scopeLogs, schemaUrl }) => {
    const resourceFields = resourceFieldsOf(resource, schemaUrl)
    return scopeLogs.flatMap(({ scope, logRecords, schemaUrl: scopeUrl }) => {
      const scopeFields = scopeFieldsOf(scope, scopeUrl)
      return logRecords.map(record => eventOf(record, resourceFields, scopeFields))
    })
  })
}

/** Returns the answer to an export request. An answer without rejected records is an empty message. */
export function otlpResponse(format: OtlpFormat, rejected: number, reason: string): Uint8Array | string {
  const { response } = schemas[format]
  const partialSuccess = { rejectedLogRecords: BigInt(rejected), errorMessage: reason }
  const message = create(response, (rejected === 0 ? {} : { partialSuccess }) as never)
  return format === 'json' ? toJsonString(response, message) : toBinary(response, message)
}

function requestOfProtobuf(body: Buffer): Request {
  try {
    if (isTooManyMessages(body)) throw new OtlpProblem(413, 'the request has too many attributes and records')
    return fromBinary(schemas.protobuf.request, body, {
      readUnknownFields: false,
      recursionLimit: maxMessageDepth,
    }) as unknown as Request
  } catch (error) {
    if (error instanceof OtlpProblem) throw error
    throw new OtlpProblem(400, 'the body is not an OTLP export request for logs in Protocol Buffers')
  }
}

function requestOfJson(body: Buffer): Request {
  if (!isUtf8(body)) throw new OtlpProblem(400, 'the body is not valid UTF-8')
  if (isTooManyObjects(body)) throw new OtlpProblem(413, 'the request has too many attributes and records')
  const text = body.toString()
  if (isNestedDeeper(text, maxJsonDepth)) throw new OtlpProblem(400, 'the body is nested too deeply')
  try {
    return fromJson(schemas.json.request, parsed(text), {
      ignoreUnknownFields: true,
      recursionLimit: maxMessageDepth,
    }) as unknown as Request
  } catch (error) {
    // The decoder names the field; the rest of its message may repeat what was sent.
    const [, field] = /\bfield otlp\.json\.([\w.]+)/.exec(String(error)) ?? []
    const where = field === undefined ? '' : `: ${field} has a value of another type`
    throw new OtlpProblem(400, `the body is not an OTLP export request for logs in JSON${where}`)
  }
}

/**
 * Parses JSON. A text that ends within a character, as `slice` leaves it, becomes valid: the decoder would refuse the
 * whole request.
 */
function parsed(text: string): JsonValue {
  if (!/\\u[dD][89a-fA-F]/.test(text)) return JSON.parse(text)
  return JSON.parse(text, (_, value) => (typeof value === 'string' ? value.toWellFormed() : value))
}

function eventOf(record: LogRecord, resource: object | undefined, scope: object | undefined): OtlpEvent {
  const hrTimeObserved = hrTimeOf(record.observedTimeUnixNano)
  const hrTime = record.timeUnixNano === 0n ? hrTimeObserved : hrTimeOf(record.timeUnixNano)
  const readable: OtelLogRecord = {
    hrTime,
    hrTimeObserved: record.observedTimeUnixNano === 0n ? hrTime : hrTimeObserved,
    spanContext: { traceId: hexOf(record.traceId), spanId: hexOf(record.spanId), traceFlags: record.flags & 0xff },
    severityText: record.severityText,
    severityNumber: record.severityNumber,
    body: plainValue(record.body),
    eventName: record.eventName,
    resource: { attributes: {} },
    instrumentationScope: { name: '' },
    attributes: attributesOf(record.attributes),
    droppedAttributesCount: record.droppedAttributesCount,
  }
  const event: OtlpEvent = {}
  const time = recordTime(readable)
  if (time[0] !== 0 || time[1] !== 0) event._time = formatNanoTime(time)
  Object.assign(event, otelToEvent(readable))
  if (resource !== undefined) event.resource = resource
  if (scope !== undefined) event.scope = scope
  return event
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
  return {
    name,
    version: version || undefined,
    schema_url: schemaUrl || undefined,
    attributes: attributes.length === 0 ? undefined : nestAttributes(attributesOf(attributes)),
    dropped_attributes_count: droppedAttributesCount || undefined,
  }
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

interface Request extends Message {
  readonly resourceLogs: readonly ResourceLogs[]
}

interface ResourceLogs {
  readonly resource?: Resource
  readonly scopeLogs: readonly ScopeLogs[]
  readonly schemaUrl: string
}

interface Resource {
  readonly attributes: readonly KeyValue[]
}

interface ScopeLogs {
  readonly scope?: Scope
  readonly logRecords: readonly LogRecord[]
  readonly schemaUrl: string
}

interface Scope extends Resource {
  readonly name: string
  readonly version: string
  readonly droppedAttributesCount: number
}

interface LogRecord extends Resource {
  readonly timeUnixNano: bigint
  readonly observedTimeUnixNano: bigint
  readonly severityNumber: number
  readonly severityText: string
  readonly body?: AnyValue
  readonly droppedAttributesCount: number
  readonly flags: number
  readonly traceId: Uint8Array | string
  readonly spanId: Uint8Array | string
  readonly eventName: string
}

interface KeyValue {
  readonly key: string
  readonly value?: AnyValue
}

interface AnyValue {
  readonly value:
    | { readonly case: 'stringValue'; readonly value: string }
    | { readonly case: 'boolValue'; readonly value: boolean }
    | { readonly case: 'intValue'; readonly value: bigint }
    | { readonly case: 'doubleValue'; readonly value: number }
    | { readonly case: 'arrayValue'; readonly value: { readonly values: readonly AnyValue[] } }
    | { readonly case: 'kvlistValue'; readonly value: { readonly values: readonly KeyValue[] } }
    | { readonly case: 'bytesValue'; readonly value: Uint8Array }
    | { readonly case: undefined; readonly value?: undefined }
}
