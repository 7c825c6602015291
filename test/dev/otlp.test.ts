/** Programs that know nothing of this package: real exporters of OpenTelemetry, in JSON and in Protocol Buffers. */
import { request } from 'node:http'
import { gzipSync } from 'node:zlib'
import { SeverityNumber } from '@opentelemetry/api'
import { OTLPLogExporter as JsonExporter } from '@opentelemetry/exporter-logs-otlp-http'
import { OTLPLogExporter as ProtobufExporter } from '@opentelemetry/exporter-logs-otlp-proto'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { BatchLogRecordProcessor, LoggerProvider, SimpleLogRecordProcessor } from '@opentelemetry/sdk-logs'
import { describe, expect, it } from 'vitest'
import { eventsOfOtlp } from '../../src/dev/intake/otlp-logs.ts'
import type { OtlpFormat } from '../../src/dev/intake/otlp-request.ts'
import { type FieldsAnswer, paths, type RequestsAnswer, type ServiceStatus } from '../../src/dev/protocol.ts'
import { cpuMs } from '../support/cpu-ms.ts'
import { shareAmongTests } from '../support/share-among-tests.ts'
import { type Dev, startDev } from './service.ts'

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'

describe('OTLP', () => {
  let dev: Dev
  shareAmongTests(async () => {
    dev = await startDev()
    return dev
  })

  it.each([
    ['JSON', 'json', JsonExporter],
    ['Protocol Buffers', 'protobuf', ProtobufExporter],
  ] as const)('by a real exporter in %s becomes events as our own exporter writes them', async (_, name, Exporter) => {
    const exporter = new Exporter({ url: `${dev.url}/v1/logs`, compression: 'gzip' as never })
    const provider = new LoggerProvider({
      resource: resourceFromAttributes({ 'service.name': `shop-${name}`, 'service.version': '1.2' }),
      processors: [new SimpleLogRecordProcessor({ exporter })],
    })
    provider.getLogger('billing', '3').emit({
      timestamp: [1_763_800_000, 123_000_001],
      severityNumber: SeverityNumber.ERROR2,
      severityText: 'ERROR2',
      body: 'payment failed',
      attributes: {
        'http.response.status': 504,
        'log.tags': ['a', 'b'],
        ratio: 0.5,
        isLast: true,
        nested: { deep: { er: [1, { x: 'y' }] } },
        ['__proto__']: 'harmless',
      },
    })
    await provider.forceFlush()
    await provider.shutdown()
    const { events } = await dev.events({ q: `source:shop-${name}` })
    expect(events).toHaveLength(1)
    expect(events[0]).toMatchObject({
      dataset: 'otlp',
      source: `shop-${name}`,
      level: 'error',
      message: 'payment failed',
    })
    const event = JSON.parse(events[0]?.line as string)
    expect(event).toMatchObject({
      _time: '2025-11-22T08:26:40.123000001Z',
      level: 'error',
      severity_number: 18,
      severity_text: 'ERROR2',
      attributes: {
        http: { response: { status: 504 } },
        log: { tags: ['a', 'b'] },
        ratio: 0.5,
        isLast: true,
        nested: { deep: { er: [1, { x: 'y' }] } },
      },
      resource: { service: { name: `shop-${name}`, version: '1.2' } },
      scope: { name: 'billing', version: '3' },
    })
    const { requests } = await dev.get<RequestsAnswer>(paths.requests, { limit: 1 })
    expect(requests[0]).toMatchObject({ kind: 'otlp', status: 200, encoding: 'gzip', events: 1 })
  })

  it('keeps ids, large numbers, bytes and names of prototypes', async () => {
    const any = (value: object) => ({ value })
    const record = {
      timeUnixNano: '1763800000000000000',
      severityNumber: 9,
      traceId: traceId.toUpperCase(),
      spanId: '00f067aa0ba902b7',
      body: { kvlistValue: { values: [{ key: '__proto__', ...any({ boolValue: true }) }] } },
      attributes: [
        { key: 'big', ...any({ intValue: '9223372036854775807' }) },
        { key: 'small', ...any({ intValue: '-5' }) },
        { key: 'bytes', ...any({ bytesValue: 'aGk=' }) },
        { key: 'odd', ...any({ doubleValue: 'NaN' }) },
        { key: 'empty' },
      ],
      unknown: 1,
    }
    const { status, body } = await otlpJson({ resourceLogs: [{ scopeLogs: [{ logRecords: [record] }] }] })
    expect([status, body]).toEqual([200, '{}'])
    const [event] = (await dev.events({ q: `trace_id:${traceId}` })).events
    expect(event?.traceId).toBe(traceId)
    expect(event?.line).toContain('"body":{"__proto__":true}')
    expect(JSON.parse(event?.line as string).attributes).toEqual({
      big: '9223372036854775807',
      small: -5,
      bytes: 'aGk=',
      odd: 'NaN',
      empty: null,
    })
  })

  it('has the fields that are in its events, and no others', async () => {
    await using alone = await startDev()
    const exporter = new JsonExporter({ url: `${alone.url}/v1/logs` })
    const provider = new LoggerProvider({ processors: [new SimpleLogRecordProcessor({ exporter })] })
    provider.getLogger('billing').emit({ body: 'hello' })
    await provider.shutdown()
    const [event] = (await alone.events()).events
    const { total, fields } = await alone.get<FieldsAnswer>(paths.fields)
    const { resource, ...others } = JSON.parse(event?.line as string)
    expect(Object.keys(others)).toEqual(['_time', 'level', 'message', 'scope'])
    const own = fields.filter(({ path }) => !path.startsWith('resource'))
    expect(own.map(({ path, types }) => [path, types[0]?.[0]]).sort()).toEqual([
      ['_time', 'string'],
      ['level', 'string'],
      ['message', 'string'],
      ['scope', 'object'],
      ['scope.name', 'string'],
    ])
    expect(own.flatMap(({ top }) => top).every(({ value }) => typeof value === 'string')).toBe(true)
    expect(total).toBe(fields.length)
  })

  it('counts no other fields against the limit of the license', async () => {
    await using limited = await startDev()
    const fields = [{ name: 'maxFields', value: 3 }]
    await limited.post(paths.faults, { limits: [{ name: 'maxFields', enforced: true, fields }] })
    const record = { timeUnixNano: '1763800000000000000', body: { stringValue: 'of three fields' } }
    const body = JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords: [record] }] }] })
    const headers = { 'content-type': 'application/json' }
    expect(await limited.raw('/v1/logs', { method: 'POST', headers, body })).toMatchObject({ status: 200, body: '{}' })
    expect((await limited.events()).events).toHaveLength(1)
  })

  it('and the API are found at a whole URL too, as a client with a proxy sends it', async () => {
    const record = { body: { stringValue: 'by way of a proxy' } }
    const body = JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords: [record] }] }] })
    const headers = { 'content-type': 'application/json', host: new URL(dev.url).host }
    const through = (path: string, options: object) => {
      const { promise, resolve, reject } = Promise.withResolvers<number | undefined>()
      const sent = request(dev.url, { ...options, path: `${dev.url}${path}`, agent: false }, answer => {
        answer.resume().on('end', () => resolve(answer.statusCode))
      })
      sent.on('error', reject)
      sent.end('method' in options ? body : undefined)
      return promise
    }
    expect(await through('/v1/logs', { method: 'POST', headers })).toBe(200)
    expect((await dev.events({ q: 'proxy' })).events).toMatchObject([{ message: 'by way of a proxy' }])
    expect(await through('/v1/traces', { method: 'POST', headers })).toBe(200)
    expect(await through(paths.status, {})).toBe(200)
    expect(await through('/dev/events', {})).toBe(200)
    const { requests } = await dev.get<RequestsAnswer>(paths.requests, { limit: 2 })
    expect(requests.map(({ kind }) => kind)).toEqual(['otlp', 'otlp'])
  })

  it('in JSON with half a character is stored, with a replacement for it', async () => {
    const half = '{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":{"stringValue":"half \\ud83d"}}]}]}]}'
    expect((await otlp(half, 'application/json')).status).toBe(200)
    expect((await dev.events({ q: 'half' })).events).toMatchObject([{ message: 'half \ufffd' }])
  })

  it('in JSON with a value of another type is refused with the name of the field', async () => {
    const logRecords = [{ severityNumber: 'SEVERITY_NUMBER_ERROR' }]
    const answer = await otlpJson({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] })
    expect(answer.status).toBe(400)
    expect(JSON.parse(answer.body).message).toMatch(/: LogRecord\.severity_number has a value of another type$/)
  })

  it('by a real exporter in JSON is stored as a whole if an integer does not fit into 64 bits', async () => {
    const exporter = new JsonExporter({ url: `${dev.url}/v1/logs` })
    const provider = new LoggerProvider({ processors: [new BatchLogRecordProcessor({ exporter })] })
    provider.getLogger('sizes').emit({ body: 'beside a large integer' })
    const attributes = { huge: 1e21, above: 2 ** 63, lowest: -(2 ** 63), list: [1e300] }
    provider.getLogger('sizes').emit({ body: 'a large integer', attributes })
    await provider.shutdown()
    const { events } = await dev.events({ q: '"a large integer"' })
    expect(events.map(({ message }) => message).sort()).toEqual(['a large integer', 'beside a large integer'])
    const [large] = events.filter(({ message }) => message === 'a large integer')
    expect(JSON.parse(large?.line as string).attributes).toEqual({ ...attributes, lowest: '-9223372036854775808' })
  })

  it('by a real exporter in JSON is stored as a whole if a time does not fit into 64 bits', async () => {
    const exporter = new JsonExporter({ url: `${dev.url}/v1/logs` })
    const provider = new LoggerProvider({ processors: [new BatchLogRecordProcessor({ exporter })] })
    const logger = provider.getLogger('times')
    const timestamps = {
      nanoseconds: 1.7e18,
      'before 1970': new Date(-1),
      'year 275760': new Date(8.64e15),
      good: [1, 5],
    }
    for (const [body, timestamp] of Object.entries(timestamps)) logger.emit({ body, timestamp: timestamp as never })
    await provider.shutdown()
    const { events } = await dev.events({ q: 'scope.name:times' })
    expect(events.map(({ message }) => message).sort()).toEqual(Object.keys(timestamps).sort())
    const timeOf = (message: string) =>
      JSON.parse(events.find(event => event.message === message)?.line as string)._time
    expect(timeOf('good')).toBe('1970-01-01T00:00:01.000000005Z')
    for (const name of ['nanoseconds', 'before 1970', 'year 275760']) {
      expect(Math.abs(Date.parse(timeOf(name)) - Date.now())).toBeLessThan(60_000)
    }
  })

  it.each(['intValue', 'timeUnixNano'])('in JSON with millions of digits as its %s takes no long time', name => {
    const digits = { [name]: '9'.repeat(10_000_000) }
    const logRecords = [name === 'intValue' ? { body: digits } : digits]
    const request = Buffer.from(JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] }))
    const read = () => {
      try {
        return [...eventsOfOtlp(request, 'json')]
      } catch {
        return []
      }
    }
    expect(cpuMs(read)).toBeLessThan(1000)
  })

  it.each([
    ['bytes', { bytesValue: 'AAH/' }, 'AAH/'],
    ['a number that JSON does not have', { doubleValue: 'NaN' }, 'NaN'],
    ['a large integer', { intValue: '9007199254740993' }, '9007199254740993'],
  ])('with %s as its body has a body and no message, as by our own exporter', (_, value, body) => {
    const logRecords = [{ body: value }]
    const request = Buffer.from(JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] }))
    expect([...eventsOfOtlp(request, 'json')]).toEqual([{ level: 'info', body }])
  })

  it('with a trace and no span keeps the trace', () => {
    const logRecords = [{ traceId: traceId.toUpperCase() }, { traceId: '0'.repeat(32) }, { traceId: 'ab' }]
    const request = Buffer.from(JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] }))
    expect([...eventsOfOtlp(request, 'json')].map(({ trace_id }) => trace_id)).toEqual([traceId, undefined, undefined])
  })

  it('that is refused is answered with a Status in the format of the request', async () => {
    const message = 'the body is not an OTLP export request for logs in '
    const json = await otlp('{', 'application/json')
    expect(json).toMatchObject({ status: 400, headers: { 'content-type': 'application/json' } })
    expect(JSON.parse(json.body)).toEqual({ message: `${message}JSON` })
    const protobuf = await otlp('zzzz', 'application/x-protobuf')
    expect(protobuf).toMatchObject({ status: 400, headers: { 'content-type': 'application/x-protobuf' } })
    expect(protobuf.body).toBe(statusOf(`${message}Protocol Buffers`))
  })

  it('in Protocol Buffers with a text that is not UTF-8 is refused with that reason', () => {
    const body = Buffer.from([10, 9, 18, 7, 18, 5, 42, 3, 10, 1, 0xe9]) // a record with é in Latin-1
    const problem = { status: 400, message: 'a text in the body is not valid UTF-8' }
    expect(() => [...eventsOfOtlp(body, 'protobuf')]).toThrow(expect.objectContaining(problem))
  })

  it('that a fault or the check of the token refuses is answered with a Status, too', async () => {
    await using own = await startDev(['--fault', 'status=503'])
    const headers = { 'content-type': 'application/x-protobuf' }
    const faulty = await own.raw('/v1/logs', { method: 'POST', headers, body: '' })
    expect(faulty).toMatchObject({ status: 503, headers, body: statusOf('a fault made the status 503') })
    const foreign = await own.raw('/v1/traces', {
      method: 'POST',
      headers: { ...headers, host: 'collector' },
      body: '',
    })
    expect(foreign).toMatchObject({ status: 403, headers })
    const remedy = 'set OTEL_EXPORTER_OTLP_HEADERS to Authorization=Bearer%20<token>'
    expect(foreign.body).toBe(statusOf(`OTLP from another machine needs the token: ${remedy}`))
  })

  it('whose events would together be far larger than the request is refused, before they take memory', async () => {
    const attributes = [{ key: 'x', value: { stringValue: 'x'.repeat(1_000_000) } }]
    const scopeLogs = [{ logRecords: Array.from({ length: 20_000 }, () => ({})) }]
    const answer = await otlpJson({ resourceLogs: [{ resource: { attributes }, scopeLogs }] })
    expect(answer.status).toBe(413)
    expect(JSON.parse(answer.body).message).toContain('each with its resource and scope')
  })

  it.each([
    ['not JSON', '{', 400],
    ['another message', '{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"timeUnixNano":"soon"}]}]}]}', 400],
    ['nested too deeply', `{"x":${'['.repeat(5000)}${']'.repeat(5000)}}`, 400],
    ['too many objects', `{"resourceLogs":[${'{},'.repeat(600_000)}{}]}`, 413],
  ])('that is %s is refused, and nothing is stored', async (_, text, status) => {
    const before = await dev.get<ServiceStatus>(paths.status)
    expect((await otlp(text, 'application/json')).status).toBe(status)
    expect((await dev.get<ServiceStatus>(paths.status)).newest).toBe(before.newest)
  })

  it.each([
    ['no message at all', Buffer.from('zzzz'), 400],
    ['a group without end', Buffer.from([0x0b, 0x0b, 0x0b]), 400],
    ['a length beyond the end', Buffer.from([0x0a, 0xff, 0x01]), 400],
    ['millions of empty messages', gzipSync(messages(0x12, 600_000)), 413],
    ['values within values', deepValue(2000), 413],
    ['many records with too many attributes together', gzipSync(recordsOf(...Array(3).fill(attributes(200_000)))), 413],
    ['a malformed record after a good one', recordsOf(attributes(1), Buffer.from('zzzz')), 400],
  ])('in Protocol Buffers that is %s is refused', async (name, bytes, status) => {
    const encoding = /^m(illions|any)/.test(name) ? { 'content-encoding': 'gzip' } : undefined
    expect((await otlp(bytes, 'application/x-protobuf', encoding)).status).toBe(status)
  })

  it('gets a 503 while others become more events than there is memory for, and is taken afterwards', {
    timeout: 60_000, // a gigabyte of events
  }, async () => {
    await using own = await startDev()
    const resource = { attributes: [{ key: 'text', value: { stringValue: 'x'.repeat(60_000) } }] }
    const logRecords = Array.from({ length: 1000 }, () => ({ body: { stringValue: 'm' } })) // 60 MB of events
    const body = gzipSync(JSON.stringify({ resourceLogs: [{ resource, scopeLogs: [{ logRecords }] }] }))
    const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' }
    const send = () => own.raw('/v1/logs', { method: 'POST', headers, body })
    const answers = await Promise.all(Array.from({ length: 12 }, send))
    const refused = answers.filter(({ status }) => status === 503)
    expect(refused.length).toBeGreaterThan(0)
    expect(refused.length + answers.filter(({ status }) => status === 200).length).toBe(12)
    expect(refused[0]).toMatchObject({
      headers: { 'retry-after': '1' },
      body: expect.stringMatching(/^\{"message":".+"\}$/),
    })
    for (let again = 0; again < 5; again++) expect((await send()).status).toBe(200)
  })

  it('in JSON with the names of the definition is stored', async () => {
    const log_records = [{ severity_number: 9, body: { string_value: 'snake' } }, { body: { string_value: 'case' } }]
    expect((await otlpJson({ resource_logs: [{ scope_logs: [{ log_records }] }] })).status).toBe(200)
    expect((await dev.events({ q: 'snake' })).events).toMatchObject([{ level: 'info', message: 'snake' }])
    expect((await dev.events({ q: 'case' })).events).toHaveLength(1)
  })

  it.each<[OtlpFormat, Uint8Array | string]>([
    ['protobuf', recordsOf(attributes(1), Buffer.from('zzzz'))],
    ['json', '{"resourceLogs":[{"scopeLogs":[{"logRecords":[{},5]}]}]}'],
  ])('in %s is decoded record by record, so that other requests are served between them', (format, body) => {
    const events = eventsOfOtlp(Buffer.from(body), format)
    expect(events.next()).toMatchObject({ done: false })
    expect(() => events.next()).toThrow('is not an OTLP export request for logs')
  })

  it('with spans and metrics is answered 200 and discarded, with one notice for each', async () => {
    for (const path of ['/v1/traces', '/v1/metrics', '/v1/traces']) {
      const options = { method: 'POST', headers: { 'content-type': 'application/x-protobuf' }, body: 'anything' }
      expect(await dev.raw(path, options)).toMatchObject({ status: 200, body: '' })
    }
    const notices = dev.process.stderr().match(/A program sends (traces|metrics) too/g)
    expect(notices).toEqual(['A program sends traces too', 'A program sends metrics too'])
  })

  function otlp(body: string | Uint8Array, type: string, headers: Readonly<Record<string, string>> = {}) {
    return dev.raw('/v1/logs', { method: 'POST', headers: { 'content-type': type, ...headers }, body })
  }

  function otlpJson(request: object) {
    return otlp(JSON.stringify(request), 'application/json')
  }
})

/** Resource logs, one of whose scope logs has many empty records. */
function messages(tag: number, count: number): Uint8Array {
  const records = Buffer.alloc(2 * count)
  for (let at = 0; at < records.length; at += 2) records[at] = tag
  return field(0x0a, field(0x12, records))
}

function recordsOf(...records: readonly Uint8Array[]): Uint8Array {
  return field(0x0a, field(0x12, Buffer.concat(records.map(record => field(0x12, record)))))
}

/** A record with many empty attributes. */
function attributes(count: number): Uint8Array {
  const record = Buffer.alloc(2 * count)
  for (let at = 0; at < record.length; at += 2) record[at] = 0x32
  return record
}

/** A record whose body is a list in a list, many times over. */
function deepValue(depth: number): Uint8Array {
  let value: Uint8Array = Buffer.alloc(0)
  for (let level = 0; level < depth; level += 1) value = field(0x2a, field(0x0a, value))
  return field(0x0a, field(0x12, field(0x12, field(0x2a, value))))
}

function field(tag: number, content: Uint8Array): Uint8Array {
  const length: number[] = []
  for (let rest = content.length; ; rest >>>= 7) {
    length.push(rest > 0x7f ? (rest & 0x7f) | 0x80 : rest)
    if (rest <= 0x7f) break
  }
  return Buffer.concat([Buffer.from([tag, ...length]), content])
}

/** Returns a `Status` of gRPC with a message of less than 128 bytes. */
function statusOf(message: string): string {
  return `\x12${String.fromCharCode(message.length)}${message}`
}
