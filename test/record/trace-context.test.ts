import { type Context, type ContextManager, context, ROOT_CONTEXT, trace } from '@opentelemetry/api'
import { afterEach, describe, expect, test } from 'vitest'
import { activeTraceIds, traceFlagsHex, validTraceIds } from '../../src/record/trace-context.ts'

const ids = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331', traceFlags: 1 }
const winstonContext = Symbol.for('opentelemetry.js.contrib.winston.context')

function activate(active: () => Context): void {
  const manager = {
    active,
    enable: () => manager,
    disable: () => manager,
    bind: (_: unknown, target: unknown) => target,
  } as unknown as ContextManager
  context.setGlobalContextManager(manager)
}

afterEach(() => context.disable())

describe('the ids of a line', () => {
  test('are those of the active span of the OpenTelemetry API', () => {
    activate(() => trace.setSpanContext(ROOT_CONTEXT, ids))
    expect(activeTraceIds({})).toMatchObject(ids)
  })

  test('are those that were active at the log call, if the instrumentation of Winston left them', () => {
    const other = { ...ids, spanId: 'aaaaaaaaaaaaaaaa' }
    activate(() => trace.setSpanContext(ROOT_CONTEXT, other))
    expect(activeTraceIds({ [winstonContext]: trace.setSpanContext(ROOT_CONTEXT, ids) })).toMatchObject(ids)
  })

  test('are missing without the API, without a span, and with the ids of no span', () => {
    expect(activeTraceIds()).toBeUndefined()
    expect(activeTraceIds({})).toBeUndefined()
    activate(() => ROOT_CONTEXT)
    expect(activeTraceIds({})).toBeUndefined()
    expect(
      activeTraceIds({ [winstonContext]: trace.setSpanContext(ROOT_CONTEXT, { ...ids, traceId: '0'.repeat(32) }) }),
    ).toBeUndefined()
    expect(
      activeTraceIds({ [winstonContext]: trace.setSpanContext(ROOT_CONTEXT, { ...ids, spanId: '0'.repeat(16) }) }),
    ).toBeUndefined()
  })

  test('are missing if reading them throws', () => {
    activate(() => {
      throw new Error('no context')
    })
    expect(activeTraceIds({})).toBeUndefined()
    expect(activeTraceIds({ [winstonContext]: 5 })).toBeUndefined()
  })
})

test.each([[undefined], [null], ['ids'], [{}], [{ traceId: 5, spanId: 6 }], [{ ...ids, traceId: 'short' }]])(
  'are missing if the span context is %j',
  value => {
    expect(validTraceIds(value)).toBeUndefined()
  },
)

test.each([
  [0, '00'],
  [1, '01'],
  [0xff, 'ff'],
  [0x101, '01'],
  [undefined as unknown as number, '00'],
])('flags %d are written %s', (flags, hex) => expect(traceFlagsHex(flags)).toBe(hex))
