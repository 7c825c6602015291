import { isUtf8 } from 'node:buffer'
import { type DescMessage, fromBinary, fromJson, type JsonValue } from '@bufbuild/protobuf'
import { isNestedDeeper } from '../../emulator/nesting.ts'
import { otlpSchema } from './otlp-schema.ts'
import { isTooManyObjects, maxMessages, messagesIn } from './otlp-size.ts'

export type OtlpFormat = 'protobuf' | 'json'

/** The request is not OTLP, or too large to decode. */
export class OtlpProblem extends Error {
  readonly status: 400 | 413

  constructor(status: 400 | 413, message: string) {
    super(message)
    this.status = status
  }
}

/**
 * A request whose records are not decoded yet. All records at once would take the thread for half a second, while other
 * requests and the page wait.
 */
export interface OtlpRequest {
  readonly resourceLogs: readonly ResourceLogs[]
  /** @throws OtlpProblem */
  readonly decode: (record: Undecoded) => LogRecord
}

/** A record in Protocol Buffers, or the number of a record of a request in JSON. */
type Undecoded = Uint8Array | number

/** Messages may nest three times as deeply as the values in them: a value, its list, a member of the list. */
const maxMessageDepth = 500
const maxJsonDepth = 1000
const tooMany = 'the request has too many attributes and records'

export const schemas = { protobuf: otlpSchema('protobuf'), json: otlpSchema('json') }

/** @throws OtlpProblem */
export function decodeRequest(body: Buffer, format: OtlpFormat): OtlpRequest {
  return format === 'json' ? requestOfJson(body) : requestOfProtobuf(body)
}

function requestOfProtobuf(body: Buffer): OtlpRequest {
  const { request, record } = schemas.protobuf
  let left = maxMessages
  const decode = (name: 'Request' | 'LogRecord', schema: DescMessage, bytes: Uint8Array): unknown => {
    try {
      left -= messagesIn(bytes, name, left)
      if (left >= 0) return fromBinary(schema, bytes, { readUnknownFields: false, recursionLimit: maxMessageDepth })
    } catch (error) {
      if (isNotUtf8(error)) throw new OtlpProblem(400, 'a text in the body is not valid UTF-8')
      throw new OtlpProblem(400, 'the body is not an OTLP export request for logs in Protocol Buffers')
    }
    throw new OtlpProblem(413, tooMany)
  }
  const { resourceLogs } = decode('Request', request, body) as Pick<OtlpRequest, 'resourceLogs'>
  return { resourceLogs, decode: bytes => decode('LogRecord', record, bytes as Uint8Array) as LogRecord }
}

/** True for the error of a decoder of texts. */
function isNotUtf8(error: unknown): boolean {
  return error instanceof TypeError && (error as NodeJS.ErrnoException).code === 'ERR_ENCODING_INVALID_ENCODED_DATA'
}

function requestOfJson(body: Buffer): OtlpRequest {
  if (!isUtf8(body)) throw new OtlpProblem(400, 'the body is not valid UTF-8')
  if (isTooManyObjects(body)) throw new OtlpProblem(413, tooMany)
  const text = body.toString()
  if (isNestedDeeper(text, maxJsonDepth)) throw new OtlpProblem(400, 'the body is nested too deeply')
  const { request, record } = schemas.json
  const value = parsed(text)
  const records = takeRecords(value)
  const { resourceLogs } = decodeJson(request, value) as Pick<OtlpRequest, 'resourceLogs'>
  return { resourceLogs, decode: index => decodeJson(record, records[index as number] as JsonValue) as LogRecord }
}

function decodeJson(schema: DescMessage, value: JsonValue): unknown {
  try {
    return fromJson(schema, value, { ignoreUnknownFields: true, recursionLimit: maxMessageDepth })
  } catch (error) {
    // Only the name of the field is taken from the decoder's message, which may repeat what was sent.
    const [, field] = /\bfield otlp\.json\.([\w.]+)/.exec(String(error)) ?? []
    throw noRequestInJson(field === undefined ? '' : `: ${field} has a value of another type`)
  }
}

function noRequestInJson(where = ''): OtlpProblem {
  return new OtlpProblem(400, `the body is not an OTLP export request for logs in JSON${where}`)
}

/** Half a character, or an integer or a time that may not fit into 64 bits. */
const unreadable =
  /\\u[dD][89a-fA-F]|"int(?:V|_v)alue"\s*:\s*(?:"[^"]{19}|-?[\d.]*(?:[eE]|\d{19}))|ime(?:UnixN|_unix_n)ano"\s*:\s*(?:"?-|"[^"]{20}|[\d.]*[eE]|\d{20})/

/**
 * Parses JSON. The decoder would refuse the whole request for one of these values:
 *
 * - A text that ends within a character, as `slice` leaves it. It becomes valid.
 * - An integer that does not fit into 64 bits, such as the `1e21` of exporters in JavaScript. It becomes a double.
 * - A time before 1970 or after 2554, as the same exporters send it for a wrong time. It becomes unknown.
 */
function parsed(text: string): JsonValue {
  try {
    return unreadable.test(text) ? JSON.parse(text, (_, value) => readable(value)) : JSON.parse(text)
  } catch {
    throw noRequestInJson()
  }
}

function readable(value: JsonValue): JsonValue {
  if (typeof value === 'string') return value.toWellFormed()
  if (!isJsonObject(value)) return value
  for (const name of timeNames) if (!fits(value[name], BigInt.asUintN)) value[name] = '0'
  const integer = value.intValue ?? value.int_value
  return fits(integer, BigInt.asIntN) ? value : { doubleValue: Number(integer) }
}

const timeNames = ['timeUnixNano', 'observedTimeUnixNano', 'time_unix_nano', 'observed_time_unix_nano']

/**
 * False for an integer that does not fit into 64 bits, and for a text with so many digits that reading it could take
 * long. The decoder decides on anything else.
 */
function fits(value: JsonValue | undefined, wrapped: (bits: number, integer: bigint) => bigint): boolean {
  if (typeof value === 'string' && value.length > maxDigits) return false
  const isInteger = typeof value === 'number' ? Number.isInteger(value) : /^-?\d+$/.test(String(value))
  if (!isInteger) return true
  const integer = BigInt(value as number | string)
  return wrapped(64, integer) === integer
}

/** Maximum length of an integer of 64 bits as a text. */
const maxDigits = 20

/** Puts a number in place of each record of a request, and returns the records by these numbers. */
function takeRecords(request: JsonValue): JsonValue[] {
  const taken: JsonValue[] = []
  const scopes = elementsOf(request, 'resourceLogs', 'resource_logs').flatMap(resourceLogs =>
    elementsOf(resourceLogs, 'scopeLogs', 'scope_logs'),
  )
  for (const scopeLogs of scopes) {
    if (!isJsonObject(scopeLogs)) continue
    for (const name of ['logRecords', 'log_records']) {
      const records = scopeLogs[name]
      if (!Array.isArray(records)) continue
      if (taken.length + records.length > maxMessages) throw new OtlpProblem(413, tooMany)
      scopeLogs[name] = records.map(record => taken.push(record) - 1)
    }
  }
  return taken
}

/** Returns the elements of a list, by the name that JSON prescribes for the field and the one of its definition. */
function elementsOf(value: JsonValue, ...names: string[]): JsonValue[] {
  if (!isJsonObject(value)) return []
  return names.flatMap(name => {
    const elements = value[name]
    return Array.isArray(elements) ? elements : []
  })
}

function isJsonObject(value: JsonValue): value is Record<string, JsonValue> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

interface ResourceLogs {
  readonly resource?: Resource
  readonly scopeLogs: readonly ScopeLogs[]
  readonly schemaUrl: string
}

export interface Resource {
  readonly attributes: readonly KeyValue[]
}

interface ScopeLogs {
  readonly scope?: Scope
  /** The records, not yet decoded. */
  readonly logRecords: readonly Undecoded[]
  readonly schemaUrl: string
}

export interface Scope extends Resource {
  readonly name: string
  readonly version: string
  readonly droppedAttributesCount: number
}

export interface LogRecord extends Resource {
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

export interface KeyValue {
  readonly key: string
  readonly value?: AnyValue
}

export interface AnyValue {
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
