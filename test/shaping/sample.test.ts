import { randomBytes, randomUUID } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { LoggerProvider } from '@opentelemetry/sdk-logs'
import fc from 'fast-check'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import type { Dropped, ShipperOptions } from '../../src/index.ts'
import { Budget } from '../../src/org/budget.ts'
import { LogferryLogRecordExporter, LogferryLogRecordProcessor } from '../../src/otel.ts'
import { traceIdOf } from '../../src/shipper/intake/trace-id.ts'
import { keepsTrace } from '../../src/shipper/intake/trace-sampling.ts'
import { cpuMs } from '../support/cpu-ms.ts'
import { startShipping } from '../support/shipping.ts'
import { until } from '../support/until.ts'
import { otelRecord, ways } from './ways.ts'

const range = (count: number) => Array.from({ length: count }, (_, index) => index)
const hex = (digits: number) => fc.stringMatching(new RegExp(`^[0-9a-f]{${digits}}$`))
const rate = fc.double({ min: 0, max: 1, noNaN: true })

describe('a value of the application with the name of the group that logferry adds', () => {
  it.each<[string, unknown, unknown]>([
    ['a text', 'my text', 'my text'],
    ['a list', ['a', 'b'], ['a', 'b']],
    ['an object with toJSON', { toJSON: () => ({ a: 1 }) }, { a: 1 }],
  ])('stays: %s', async (_, logferry, shipped) => {
    await using shipping = await startShipping()
    const sampling = shipping.ship({ sample: () => 0.999_999 })
    sampling.ship({ message: 'sampled', logferry })
    await sampling.flush()
    const collapsing = shipping.ship({ collapse: { windowMs: 1000 } })
    for (const _ of range(3)) collapsing.ship({ message: 'collapsed', logferry })
    await collapsing.close()
    expect(shipping.emulator.events('d')).toMatchObject([
      { message: 'sampled', logferry: shipped, 'logferry.sampling_rate': 0.999_999 },
      { message: 'collapsed', logferry: shipped },
      { message: 'collapsed' },
    ])
  })

  it('counts if it is a rate', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ sample: () => 0.999_999 })
    shipper.ship({ message: 'x', 'logferry.sampling_rate': 0.5 })
    await shipper.flush()
    const [event] = shipping.emulator.events('d')
    expect(event).toMatchObject({ 'logferry.sampling_rate': expect.closeTo(0.5, 5) })
    expect(event).not.toHaveProperty('logferry')
  })
})

describe.each(ways)('sample, by %s', (_, logOf) => {
  it('ships a share of the events of a severity, and marks them', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ sample: { debug: 0.25, info: 1 } })
    const log = logOf(shipper)
    for (const n of range(2000)) log('debug', `debug ${n}`)
    log('info', 'info')
    log('error', 'error')
    await shipper.flush()
    const events = shipping.emulator.events('d')
    const debug = events.filter(({ level }) => level === 'debug')
    expect(debug.length).toBeGreaterThan(350)
    expect(debug.length).toBeLessThan(650)
    for (const { logferry } of debug) expect(logferry).toEqual({ sampling_rate: 0.25 })
    const others = events.filter(({ level }) => level !== 'debug')
    expect(others.map(({ level, logferry }) => [level, logferry])).toEqual([
      ['info', undefined],
      ['error', undefined],
    ])
    const { accepted, delivered, drops } = shipper.stats()
    expect([accepted, delivered]).toEqual([2002, debug.length + 2])
    expect(drops).toEqual({ sample: { debug: 2000 - debug.length } })
    expect(shipping.warnings).toEqual([])
  })

  it('asks a function for the rate of an event', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ sample: event => (String(event.message).startsWith('GET /health') ? 0 : 1) })
    const log = logOf(shipper)
    log('info', 'GET /health')
    log('info', 'GET /orders')
    await shipper.flush()
    const events = shipping.emulator.events('d')
    expect(events).toMatchObject([{ message: 'GET /orders' }])
    expect(events[0]).not.toHaveProperty('logferry')
    expect(shipper.stats().drops).toEqual({ sample: { info: 1 } })
  })

  it.each<[string, () => unknown, RegExp]>([
    [
      'throws',
      () => {
        throw new TypeError('x')
      },
      /`sample` function threw TypeError; the event is shipped\./,
    ],
    ['returns 2', () => 2, /must return a number from 0 to 1, but returned 2;/],
    ['returns NaN', () => Number.NaN, /returned NaN/],
    ['returns nothing', () => undefined, /returned undefined/],
    [
      'returns a promise that is rejected',
      async () => {
        throw new Error('x')
      },
      /returned a promise/,
    ],
  ])('ships the event if the function %s, and one warning says so', async (_, sample, message) => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ sample: sample as NonNullable<ShipperOptions['sample']> })
    const log = logOf(shipper)
    for (let n = 0; n < 3; n++) log('info', 'm')
    await shipper.flush()
    expect(shipping.emulator.eventCount('d')).toBe(3)
    expect(shipping.warnings).toEqual([
      { code: 'LOGFERRY_CALLBACK_THREW', message: expect.stringMatching(message), suppressed: 0 },
    ])
  })
})

describe('sample', () => {
  it('marks events of any kind, and keeps what else is in the field', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ sample: () => 0.999_999_999 })
    class Row {
      id = 1
    }
    const events = [{ logferry: { mine: 1 } }, new Row(), Object.freeze({ a: 1 }), 'a text', new Error('boom')]
    for (const event of events) shipper.ship(event as never)
    await shipper.flush()
    const mark = { sampling_rate: 0.999_999_999 }
    expect(shipping.emulator.events('d')).toMatchObject([
      { logferry: { mine: 1, ...mark } },
      { id: 1, logferry: mark },
      { a: 1, logferry: mark },
      { message: 'a text', logferry: mark },
      { message: 'boom', logferry: mark },
    ])
  })

  it('tells listeners of all drops of a turn of the event loop at once', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ sample: { info: 0 } })
    shipper.ship({ n: 0 })
    const drops: Dropped[] = []
    shipper.on('dropped', dropped => drops.push(dropped))
    shipper.ship({ n: 1 })
    await nextTurn()
    shipper.ship({ n: 2 })
    await nextTurn()
    expect(drops.map(({ reason, count }) => [reason, count])).toEqual([
      ['sample', 2],
      ['sample', 1],
    ])
  })

  it('multiplies its rate with that of the license', async () => {
    await using shipping = await startShipping({ org: { license: { monthlyIngestGb: 1 } } })
    const kept = vi.spyOn(Budget.prototype, 'kept').mockReturnValue(0.5)
    onTestFinished(() => kept.mockRestore())
    const { orgId, accessToken } = shipping.emulator
    const shipper = shipping.ship({ limits: { orgId, accessToken, onBudget: 'shed' }, sample: { info: 0.2 } })
    await until(() => shipper.stats().limits?.ingest !== undefined, 'the license')
    for (const n of range(500)) shipper.ship({ level: 'info', n })
    await shipper.flush()
    const events = shipping.emulator.events('d')
    expect(events.length).toBeGreaterThan(10)
    expect(events.length).toBeLessThan(120)
    for (const { logferry } of events) expect(logferry).toEqual({ sampling_rate: 0.1 })
    expect(Object.keys(shipper.stats().drops)).toEqual(['budget', 'sample'])
  })

  it.each(['accepted', 'delivered'] as const)('fails no export (%s)', async acknowledge => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ sample: { info: 0 } })
    const exporter = new LogferryLogRecordExporter({ shipper, acknowledge })
    expect(await new Promise(resolve => exporter.export([otelRecord('m')], resolve))).toEqual({ code: 0 })
    expect(shipper.stats().drops).toEqual({ sample: { info: 1 } })
  })
})

describe("sample by: 'trace'", () => {
  it('keeps or drops a trace as a whole, in every process', async () => {
    await using shipping = await startShipping()
    const shippers = range(2).map(n =>
      shipping.ship({ dataset: `d${n}`, sample: { rates: { debug: 0.3, info: 0.3 }, by: 'trace' } }),
    )
    const traces = fc.sample(hex(32), 300)
    for (const shipper of shippers) {
      for (const trace_id of traces) for (const level of ['debug', 'info']) shipper.ship({ level, trace_id })
      await shipper.flush()
    }
    const [first, second] = range(2).map(n => shipping.emulator.events(`d${n}`).map(({ trace_id }) => trace_id))
    expect(first).toEqual(second)
    const kept = new Set(first)
    expect(first).toHaveLength(2 * kept.size)
    expect(kept.size).toBeGreaterThan(40)
    expect(kept.size).toBeLessThan(150)
  })

  it('decides by the trace id of an OpenTelemetry record, and by the rate that a function returns', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ sample: { rates: event => (event.level === 'info' ? 0.5 : 1), by: 'trace' } })
    const processor = new LogferryLogRecordProcessor({ shipper })
    new LoggerProvider({ processors: [processor] })
    const spanId = 'b7ad6b7169203331'
    for (const end of ['7fffffffffffff', '80000000000000']) {
      const traceId = `0af7651916cd43dd84${end}`
      for (const severityNumber of [9, 17])
        processor.onEmit(otelRecord(end, { severityNumber, spanContext: { traceId, spanId, traceFlags: 1 } }))
    }
    await shipper.flush()
    const events = shipping.emulator.events('d')
    expect(events.map(({ message, level, logferry }) => [message, level, logferry])).toEqual([
      ['7fffffffffffff', 'error', undefined],
      ['80000000000000', 'info', { sampling_rate: 0.5 }],
      ['80000000000000', 'error', undefined],
    ])
  })

  it('keeps a share of the events that belong to no trace', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ sample: { rates: { info: 0.5 }, by: 'trace' } })
    for (const trace_id of [undefined, 5, '', '0'.repeat(32)]) {
      for (const n of range(100)) shipper.ship({ n, trace_id })
    }
    await shipper.flush()
    const { delivered } = shipper.stats()
    expect(delivered).toBeGreaterThan(120)
    expect(delivered).toBeLessThan(280)
  })
})

describe('the decision for a trace', () => {
  it('is that of consistent probability sampling: the last 56 bits against the threshold', () => {
    // The rule in integers: a trace is kept if its randomness is not below the threshold (1 - rate) × 2^56.
    const keeps = (traceId: string, rate: number) =>
      BigInt(`0x${traceId.slice(18)}`) >= BigInt(Math.round((1 - rate) * 2 ** 56))
    fc.assert(
      fc.property(hex(32), fc.integer({ min: 1, max: 2 ** 20 }), (traceId, part) => {
        const rate = part / 2 ** 20
        expect(keepsTrace(traceId, rate)).toBe(keeps(traceId, rate))
        expect(keepsTrace(traceId.toUpperCase(), rate)).toBe(keeps(traceId, rate))
      }),
    )
  })

  it('at a higher rate keeps every trace that a lower rate keeps', () => {
    const ids = fc.oneof(hex(32), fc.uuid(), fc.string({ minLength: 1 }))
    fc.assert(
      fc.property(ids, rate, rate, (traceId, a, b) => {
        const [lower, higher] = [Math.min(a, b), Math.max(a, b)]
        expect(!keepsTrace(traceId, lower) || keepsTrace(traceId, higher)).toBe(true)
      }),
    )
  })

  it.each<[string, (n: number) => string]>([
    ['W3C', () => randomBytes(16).toString('hex')],
    ['64-bit', () => randomBytes(8).toString('hex').padStart(32, '0')],
    ['UUID', () => randomUUID()],
    ['counted', String],
  ])('keeps about the share that it is asked for: %s ids', (_, idOf) => {
    const ids = range(10_000).map(idOf)
    for (const rate of [0, 0.01, 0.1, 0.5, 0.9, 1]) {
      const share = ids.filter(id => keepsTrace(id, rate)).length / ids.length
      expect(Math.abs(share - rate)).toBeLessThanOrEqual(5 * Math.sqrt((rate * (1 - rate)) / ids.length))
    }
  })

  it('takes no longer for an id of any length', () => {
    const long = Buffer.alloc(50_000_000, '0').toString()
    const takenMs = cpuMs(() => {
      expect(traceIdOf({ trace_id: long })).toBeUndefined()
      keepsTrace(long, 0.5)
    })
    expect(takenMs).toBeLessThan(50)
  })

  it('keeps its rate in an event with so many fields that most are left out', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ sample: { info: 0.999_999 }, maxEventBytes: 10_000 })
    shipper.ship({ level: 'info', ...Object.fromEntries(Array.from({ length: 20_000 }, (_, n) => [`field_${n}`, n])) })
    await shipper.flush()
    expect(shipping.emulator.events('d')).toMatchObject([{ logferry: { cut: true, sampling_rate: 0.999_999 } }])
  })
})
