import { create, createFileRegistry, type DescMessage } from '@bufbuild/protobuf'
import {
  FileDescriptorProtoSchema,
  FieldDescriptorProto_Label as Label,
  FieldDescriptorProto_Type as Type,
} from '@bufbuild/protobuf/wkt'

/** A field of a message: its number, and its type or the name of its message. `isMany` marks a repeated field. */
interface Field {
  readonly number: number
  readonly type: Type | string
  readonly isMany?: boolean
  readonly isChoice?: boolean
}

type Messages = Readonly<Record<string, Readonly<Record<string, Field>>>>

function one(number: number, type: Type | string): Field {
  return { number, type }
}

function many(number: number, type: Type | string): Field {
  return { number, type, isMany: true }
}

function choice(number: number, type: Type | string): Field {
  return { number, type, isChoice: true }
}

/**
 * Returns the messages of OTLP for logs, with the fields that are read.
 *
 * - In JSON an id is hexadecimal text, against the rule of Protocol Buffers for bytes.
 * - The records are decoded later, one by one. In Protocol Buffers, a message within another can be read as its bytes. In
 *   JSON, a number stands for each record.
 *
 * @see https://github.com/open-telemetry/opentelemetry-proto/blob/main/opentelemetry/proto/logs/v1/logs.proto
 */
function messagesOf(idType: Type, recordType: Type | 'LogRecord'): Messages {
  return {
    Request: { resource_logs: many(1, 'ResourceLogs') },
    ResourceLogs: {
      resource: one(1, 'Resource'),
      scope_logs: many(2, 'ScopeLogs'),
      schema_url: one(3, Type.STRING),
    },
    Resource: { attributes: many(1, 'KeyValue') },
    ScopeLogs: { scope: one(1, 'Scope'), log_records: many(2, recordType), schema_url: one(3, Type.STRING) },
    Scope: {
      name: one(1, Type.STRING),
      version: one(2, Type.STRING),
      attributes: many(3, 'KeyValue'),
      dropped_attributes_count: one(4, Type.UINT32),
    },
    LogRecord: {
      time_unix_nano: one(1, Type.FIXED64),
      severity_number: one(2, Type.INT32),
      severity_text: one(3, Type.STRING),
      body: one(5, 'AnyValue'),
      attributes: many(6, 'KeyValue'),
      dropped_attributes_count: one(7, Type.UINT32),
      flags: one(8, Type.FIXED32),
      trace_id: one(9, idType),
      span_id: one(10, idType),
      observed_time_unix_nano: one(11, Type.FIXED64),
      event_name: one(12, Type.STRING),
    },
    KeyValue: { key: one(1, Type.STRING), value: one(2, 'AnyValue') },
    AnyValue: {
      string_value: choice(1, Type.STRING),
      bool_value: choice(2, Type.BOOL),
      int_value: choice(3, Type.INT64),
      double_value: choice(4, Type.DOUBLE),
      array_value: choice(5, 'ArrayValue'),
      kvlist_value: choice(6, 'KeyValueList'),
      bytes_value: choice(7, Type.BYTES),
    },
    ArrayValue: { values: many(1, 'AnyValue') },
    KeyValueList: { values: many(1, 'KeyValue') },
    Response: { partial_success: one(1, 'PartialSuccess') },
    Status: { message: one(2, Type.STRING) },
    PartialSuccess: { rejected_log_records: one(1, Type.INT64), error_message: one(2, Type.STRING) },
  }
}

/** The messages of OTLP for logs, as the decoder needs them. */
export interface OtlpSchema {
  readonly request: DescMessage
  readonly record: DescMessage
  readonly response: DescMessage
  /** The error of a refused request. OTLP does not use its other fields. */
  readonly status: DescMessage
}

export function otlpSchema(format: 'protobuf' | 'json'): OtlpSchema {
  const packageName = `otlp.${format}`
  const messages = format === 'json' ? messagesOf(Type.STRING, Type.UINT32) : messagesOf(Type.BYTES, Type.BYTES)
  const file = create(FileDescriptorProtoSchema, {
    name: `${packageName}.proto`,
    package: packageName,
    syntax: 'proto3',
    messageType: Object.entries(messages).map(([name, fields]) => ({
      name,
      field: Object.entries(fields).map(([fieldName, { number, type, isMany, isChoice }]) => ({
        name: fieldName,
        jsonName: fieldName.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
        number,
        label: isMany ? Label.REPEATED : Label.OPTIONAL,
        ...(typeof type === 'string' ? { type: Type.MESSAGE, typeName: `.${packageName}.${type}` } : { type }),
        ...(isChoice && { oneofIndex: 0 }),
      })),
      oneofDecl: Object.values(fields).some(({ isChoice }) => isChoice) ? [{ name: 'value' }] : [],
    })),
  })
  const registry = createFileRegistry(file, () => undefined)
  return {
    request: messageOf('Request'),
    record: messageOf('LogRecord'),
    response: messageOf('Response'),
    status: messageOf('Status'),
  }

  function messageOf(name: string): DescMessage {
    return registry.getMessage(`${packageName}.${name}`) as DescMessage
  }
}

/** Numbers of the fields that are messages, by message. Used to count messages before they are decoded. */
export const submessages: Readonly<Record<string, ReadonlyMap<number, string>>> = Object.fromEntries(
  Object.entries(messagesOf(Type.BYTES, 'LogRecord')).map(([name, fields]) => [
    name,
    new Map(Object.values(fields).flatMap(({ number, type }) => (typeof type === 'string' ? [[number, type]] : []))),
  ]),
)
