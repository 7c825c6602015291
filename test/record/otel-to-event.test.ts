import { type LogRecord, ROOT_CONTEXT, SeverityNumber, trace } from '@opentelemetry/api'
import { type Resource, resourceFromAttributes } from '@opentelemetry/resources'
import { LoggerProvider, type ReadableLogRecord } from '@opentelemetry/sdk-logs'
import { describe, expect, test } from 'vitest'
import { eventToJson } from '../../src/record/event-to-line.ts'
import {
  type OtelLogRecord,
  otelToEvent,
  recordTime,
  resourceTail,
  severityOfRecord,
} from '../../src/record/otel-to-event.ts'

/** Returns the record that a processor gets for an emitted one. */
function recordOf(emitted: LogRecord, resource?: Resource): ReadableLogRecord {
  const records: ReadableLogRecord[] = []
  const processor = {
    onEmit: (record: ReadableLogRecord) => void records.push(record),
    forceFlush: async () => {},
    shutdown: async () => {},
  }
  const provider = new LoggerProvider({ processors: [processor], ...(resource && { resource }) })
  provider.getLogger('app', '1.2.3', { schemaUrl: 'https://schema.example' }).emit(emitted)
  return records[0] as ReadableLogRecord
}

function line(record: OtelLogRecord) {
  return JSON.parse(eventToJson(otelToEvent(record), 1_000_000, { stubbed: 0, cut: 0 }))
}

function tailOf(record: OtelLogRecord) {
  const tail = Buffer.from(resourceTail(record.resource, record.instrumentationScope)).toString()
  expect(tail.endsWith('}')).toBe(true)
  return JSON.parse(`{"_time":0${tail}`)
}

const spanContext = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331', traceFlags: 1 }

/** A record as another SDK might pass it. */
function made(fields: Partial<Record<keyof OtelLogRecord, unknown>>): OtelLogRecord {
  return {
    hrTime: [1, 0],
    hrTimeObserved: [1, 0],
    resource: { attributes: {} },
    instrumentationScope: { name: '' },
    attributes: {},
    droppedAttributesCount: 0,
    ...fields,
  } as OtelLogRecord
}

test('a record of the SDK becomes an event', () => {
  const record = recordOf({
    severityNumber: SeverityNumber.WARN2,
    severityText: 'Warning',
    body: 'order placed',
    eventName: 'shop.order',
    timestamp: [1_700_000_000, 123_456_789],
    observedTimestamp: [1_700_000_001, 0],
    attributes: {
      'http.request.method': 'POST',
      'http.route': '/orders',
      retry: false,
      tags: ['a', 'b'],
      map: { 'x.y': 1 },
    },
    context: trace.setSpanContext(ROOT_CONTEXT, spanContext),
  })
  expect(line(record)).toEqual({
    level: 'warn',
    message: 'order placed',
    severity_number: 14,
    severity_text: 'Warning',
    event_name: 'shop.order',
    trace_id: spanContext.traceId,
    span_id: spanContext.spanId,
    trace_flags: '01',
    observed_time: '2023-11-14T22:13:21.000000000Z',
    attributes: {
      http: { request: { method: 'POST' }, route: '/orders' },
      retry: false,
      tags: ['a', 'b'],
      map: { 'x.y': 1 },
    },
  })
  expect(recordTime(record)).toEqual([1_700_000_000, 123_456_789])
  expect(severityOfRecord(record)).toBe(3)
})

test('a missing part of a record is missing in its event', () => {
  expect(line(recordOf({ body: 'text' }))).toEqual({ level: 'info', message: 'text' })
})

describe('the level', () => {
  test.each<[number | undefined, string | undefined, string, number]>([
    [SeverityNumber.TRACE, undefined, 'trace', 0],
    [SeverityNumber.DEBUG4, undefined, 'debug', 1],
    [SeverityNumber.INFO, 'ERROR', 'info', 2],
    [SeverityNumber.ERROR, undefined, 'error', 4],
    [SeverityNumber.FATAL4, undefined, 'fatal', 5],
    [undefined, 'WARN', 'warn', 3],
    [SeverityNumber.UNSPECIFIED, 'Critical', 'critical', 5],
    [undefined, undefined, 'info', 2],
    [99, undefined, 'info', 2],
    [25, 'ERROR2', 'error', 4],
    [undefined, 'Fatal4', 'fatal', 5],
    [undefined, 'LEVEL2', 'level2', 2],
    [Number.NaN, '', 'info', 2],
  ])('of number %s and text %s is %s', (severityNumber, severityText, level, severity) => {
    const record = made({ severityNumber, severityText })
    expect(line(record).level).toBe(level)
    expect(severityOfRecord(record)).toBe(severity)
  })
})

describe('the body', () => {
  const cycle: Record<string, unknown> = { a: 1 }
  cycle.self = cycle

  test.each<[string, unknown, object]>([
    ['text', 'text', { message: 'text' }],
    ['empty text', '', { message: '' }],
    ['number', 5, { body: 5 }],
    ['boolean', false, { body: false }],
    ['map', { a: { 'b.c': 1 } }, { body: { a: { 'b.c': 1 } } }],
    ['array', [1, 'a'], { body: [1, 'a'] }],
    ['bytes', new Uint8Array([1, 2, 3]), { body: 'AQID' }],
    ['BigInt', 5n, { body: '5' }],
    ['cycle', cycle, { body: { a: 1, self: '[Circular]' } }],
    ['null', null, {}],
    [
      'Error',
      new TypeError('bad'),
      { message: 'bad', body: { name: 'TypeError', message: 'bad', stack: expect.any(String) } },
    ],
  ])('%s', (_, body, expected) => {
    expect(line(recordOf({ body: body as string }))).toEqual({ level: 'info', ...expected })
  })
})

test('dropped attributes are counted', () => {
  expect(line(made({ droppedAttributesCount: 3 }))).toEqual({ level: 'info', dropped_attributes_count: 3 })
})

test('the observed time is the one that its nanoseconds add up to', () => {
  expect(line(made({ hrTimeObserved: [1_700_000_000, 1_000_000_005] }))).toMatchObject({
    observed_time: '2023-11-14T22:13:21.000000005Z',
  })
})

test('the time is the observed one if the record has none', () => {
  expect(recordTime(made({ hrTime: [0, 0], hrTimeObserved: [7, 8] }))).toEqual([7, 8])
  expect(recordTime(made({ hrTime: undefined, hrTimeObserved: [7, 8] }))).toEqual([7, 8])
  expect(recordTime(made({ hrTime: undefined, hrTimeObserved: undefined }))).toEqual([0, 0])
})

test.each([
  [
    [1_700_000_000, 1_999_999_999],
    [1_700_000_001, 999_999_999],
  ],
  [
    [1_700_000_000, 5_000_000_000],
    [1_700_000_005, 0],
  ],
  [
    [1_700_000_001, -1],
    [1_700_000_000, 999_999_999],
  ],
  [
    [0, 1_700_000_000_123_456_000],
    [1_700_000_000, 123_456_000],
  ],
] as const)('a time %j, whose nanoseconds are a sum or a difference, is the time %j', (hrTime, time) => {
  expect(recordTime(made({ hrTime, hrTimeObserved: [7, 8] }))).toEqual(time)
})

test.each([
  [[0, -1]],
  [[-1, 1e9]],
  [[1e12, 1e9]],
  [[1, 1e30]],
  [[1, 1e9 + 0.5]],
  [['1', 1e9]],
  [[1, Number.NaN]],
  [[1]],
  [[1, '1e9']],
])('a time %j, which is none, gives way to the time when the record was observed', hrTime => {
  expect(recordTime(made({ hrTime, hrTimeObserved: [7, 8] }))).toEqual([7, 8])
})

describe('the end of a line', () => {
  test('contains the resource and the scope', () => {
    const record = recordOf({ body: 'text' }, resourceFromAttributes({ 'service.name': 'shop', 'host.id': 7 }))
    expect(tailOf(record)).toEqual({
      _time: 0,
      resource: { service: { name: 'shop' }, host: { id: 7 } },
      scope: { name: 'app', version: '1.2.3', schema_url: 'https://schema.example' },
    })
  })

  test('is made once for each resource and scope', () => {
    const { resource, instrumentationScope } = recordOf({ body: 'text' })
    expect(resourceTail(resource, instrumentationScope)).toBe(resourceTail(resource, instrumentationScope))
    expect(resourceTail(resource, { name: 'other' })).not.toBe(resourceTail(resource, instrumentationScope))
  })

  test('is made again while attributes of the resource are being detected', async () => {
    const resource = resourceFromAttributes({ 'host.id': Promise.resolve('h') })
    const record = recordOf({ body: 'text' }, resource)
    expect(tailOf(record).resource).toBeUndefined()
    await resource.waitForAsyncAttributes?.()
    expect(tailOf(record).resource).toEqual({ host: { id: 'h' } })
  })

  test('is one bracket without a resource and a scope', () => {
    expect(Buffer.from(resourceTail({ attributes: {} }, {} as OtelLogRecord['instrumentationScope'])).toString()).toBe(
      '}',
    )
  })

  test('is bounded, and marks cuts', () => {
    const tail = tailOf(
      made({
        resource: { attributes: { 'a.b': 'x'.repeat(1_000_000), c: 1 } },
        instrumentationScope: { name: 'n'.repeat(1_000_000) },
      }),
    )
    expect(JSON.stringify(tail).length).toBeLessThan(82_000)
    expect(tail.resource).toMatchObject({ c: 1, logferry: { cut: true } })
    expect(tail.scope.logferry.cut).toBe(true)
  })

  test.each<[string, unknown, unknown]>([
    ['nothing', undefined, undefined],
    ['no objects', 5, 'scope'],
    ['no resource', 5, { name: 'n' }],
    ['no scope', { attributes: {} }, null],
    ['no attributes', {}, { name: 'n' }],
    ['hostile values', { attributes: { big: 1n, 'a.b': new Map([['k', new Error('e')]]) } }, { name: Symbol('s') }],
    [
      'throwing getters',
      {
        get attributes() {
          throw new Error('no')
        },
        get asyncAttributesPending() {
          throw new Error('no')
        },
      },
      {
        get name() {
          throw new Error('no')
        },
      },
    ],
  ])('is valid with %s', (_, resource, instrumentationScope) => {
    expect(tailOf(made({ resource, instrumentationScope }))._time).toBe(0)
  })
})

describe('a record that throws', () => {
  const fields = [
    'hrTime',
    'hrTimeObserved',
    'spanContext',
    'severityText',
    'severityNumber',
    'body',
    'eventName',
    'attributes',
    'droppedAttributesCount',
  ] as const

  test.each(fields)('when %s is read is shipped without it', name => {
    const record = Object.defineProperty(made({ body: 'text', attributes: { a: 1 } }), name, {
      get: () => {
        throw new Error('no')
      },
    })
    const event = line(record)
    expect(event.level).toBe('info')
    if (name !== 'body') expect(event.body).toBe('text')
    if (name !== 'attributes') expect(event.attributes).toEqual({ a: 1 })
    recordTime(record)
    severityOfRecord(record)
  })

  test('on every access is shipped somehow', () => {
    const { proxy, revoke } = Proxy.revocable({}, {})
    revoke()
    expect(line(proxy as OtelLogRecord)).toMatchObject({ level: 'info', body: '[Throws]' })
    expect(line(made({ body: proxy, attributes: proxy, spanContext: proxy })).level).toBe('info')
    expect(recordTime(proxy as OtelLogRecord)).toEqual([0, 0])
    expect(severityOfRecord(proxy as OtelLogRecord)).toBe(2)
  })

  test.each([[undefined], [null], [5], ['text'], [[]]])('attributes that are %j do no harm', attributes => {
    expect(line(made({ body: 'text', attributes })).level).toBe('info')
  })
})
