/** Random log calls in random traces at random times, compared with slow and obvious models. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Ledger } from '../../src/accounting/ledger.ts'
import type { Severity } from '../../src/accounting/severity.ts'
import { MemoryBudget } from '../../src/batch/memory-budget.ts'
import { eventToLine } from '../../src/record/event-to-line.ts'
import { HeldEvents } from '../../src/shipper/held-events.ts'
import { Collapse } from '../../src/shipper/intake/collapse.ts'
import { type IntakeEvent, intakeEvent } from '../../src/shipper/intake/intake-event.ts'
import { TraceHold } from '../../src/shipper/intake/trace-hold.ts'
import { cpuMs } from '../support/cpu-ms.ts'
import { lineOf } from '../support/line-of.ts'
import { startShipping } from '../support/shipping.ts'
import { soakRuns } from '../support/soak-runs.ts'
import { until } from '../support/until.ts'

type Fields = Record<string, unknown>

const intakeOf = (event: Fields, severity: Severity): IntakeEvent => intakeEvent(event, severity, 1_700_000_000_000)

/** Held events as the shipper has them, with a queue that accepts everything. */
function heldEventsOf(maxBytes = 64 * 1_048_576) {
  const ledger = new Ledger()
  const memory = new MemoryBudget(maxBytes, 1_048_576)
  const batchQueue = { spill() {}, flush: async () => {} } as never
  const heldEvents = new HeldEvents({ memory, ledger, batchQueue, onHeld() {}, onRemoved() {} })
  return { ledger, memory, heldEvents }
}

const traceIds = ['', 'a', 'b', 'c', 'd']
const holdSteps = fc.array(
  fc.record({ trace: fc.nat(4), severity: fc.nat(5), afterMs: fc.oneof(fc.constant(0), fc.nat(60)) }),
  { maxLength: 120 },
)

describe('hold', () => {
  it('passes on what the model passes on, in the same order, and drops the rest', () => {
    const limits = fc.record({ maxEvents: fc.integer({ min: 1, max: 12 }), maxAgeMs: fc.integer({ min: 1, max: 200 }) })
    fc.assert(
      fc.property(holdSteps, limits, (steps, { maxEvents, maxAgeMs }) => {
        const { ledger, memory, heldEvents } = heldEventsOf()
        const out: unknown[] = []
        let nowMs = 0
        let dropped = 0
        const hold = new TraceHold({
          options: { below: 'warn', trigger: 'error', maxEvents, maxBytes: 1_000_000, maxAgeMs },
          heldEvents,
          altered: { stubbed: 0, cut: 0 },
          toJson: ({ event }) => lineOf(JSON.stringify(event)),
          passOn: (_, { event }) => out.push((event as Fields).n),
          onFirstHeld: () => {},
          onDropped: () => dropped++,
          nowMs: () => nowMs,
        })
        const expected: unknown[] = []
        let held: { trace: string; n: number; atMs: number }[] = []
        const triggeredAtMs = new Map<string, number>()
        for (const [n, { trace: index, severity, afterMs }] of steps.entries()) {
          nowMs += afterMs
          const trace = traceIds[index] as string
          const result = hold.step(intakeOf({ trace_id: trace, n }, severity as Severity), 'd')
          if (result === undefined) out.push(n)

          held = held.filter(({ atMs }) => nowMs - atMs < maxAgeMs)
          const isTriggered = nowMs - (triggeredAtMs.get(trace) ?? Number.NEGATIVE_INFINITY) < maxAgeMs
          if (severity < 3 && trace !== '' && !isTriggered) {
            held.push({ trace, n, atMs: nowMs })
            held = held.slice(-maxEvents)
          } else if (severity >= 4 && trace !== '') {
            expected.push(...held.filter(one => one.trace === trace).map(one => one.n), n)
            held = held.filter(one => one.trace !== trace)
            triggeredAtMs.set(trace, nowMs)
          } else {
            expected.push(n)
          }
          expect(out).toEqual(expected)
          expect(hold.count).toBeGreaterThanOrEqual(held.length)
          expect(hold.count).toBeLessThanOrEqual(maxEvents)
          expect(ledger.pending).toBe(hold.count)
        }
        hold.dropAll()
        expect([hold.count, ledger.pending, memory.usedBytes]).toEqual([0, 0, 0])
        expect(out.length + dropped).toBe(steps.length)
      }),
      { numRuns: soakRuns(200) },
    )
  })

  it('stays within its bytes', () => {
    const lengths = fc.array(fc.nat(2000), { maxLength: 60 })
    fc.assert(
      fc.property(lengths, fc.integer({ min: 1024, max: 8000 }), (texts, maxBytes) => {
        const { memory, heldEvents } = heldEventsOf()
        const hold = new TraceHold({
          options: { below: 'warn', trigger: 'error', maxEvents: 1000, maxBytes, maxAgeMs: 60_000 },
          heldEvents,
          altered: { stubbed: 0, cut: 0 },
          toJson: ({ event }) => lineOf(JSON.stringify(event)),
          passOn() {},
          onFirstHeld() {},
          onDropped() {},
        })
        for (const length of texts) {
          hold.step(intakeOf({ trace_id: `${length % 3}`, text: 'x'.repeat(length) }, 1), 'd')
          expect(memory.usedBytes).toBeLessThanOrEqual(maxBytes)
        }
        hold.dropAll()
        expect(memory.usedBytes).toBe(0)
      }),
    )
  })
})

const collapseSteps = fc.array(
  fc.record({ message: fc.nat(4), afterMs: fc.oneof(fc.constant(0), fc.nat(60)), flushes: fc.nat(20) }),
  { maxLength: 120 },
)

describe('collapse', () => {
  it('passes on what the model passes on, in the same order, with the same counts', () => {
    fc.assert(
      fc.property(collapseSteps, fc.integer({ min: 1, max: 150 }), (steps, windowMs) => {
        const { ledger, memory, heldEvents } = heldEventsOf()
        const out: unknown[] = []
        let nowMs = 0
        let collapsed = 0
        const collapse = new Collapse({
          windowMs,
          timeField: '_time',
          maxEventBytes: 100_000,
          altered: { stubbed: 0, cut: 0 },
          heldEvents,
          toJson: ({ event }, maxBytes, altered) => eventToLine(event, undefined, undefined, maxBytes, altered),
          shownTime: time => time,
          passOn: (_, { event }) => {
            const { message, logferry } = event as { message: string; logferry: { repeated: { count: number } } }
            out.push([message, logferry.repeated.count])
          },
          nowMs: () => nowMs,
        })
        const expected: unknown[] = []
        let windows: { message: string; endsAtMs: number; count: number }[] = []
        const end = (untilMs: number) => {
          for (const { message, count } of windows.filter(({ endsAtMs, count }) => endsAtMs <= untilMs && count > 0)) {
            expected.push([message, count])
          }
          windows = windows.filter(({ endsAtMs }) => endsAtMs > untilMs)
        }
        for (const { message: index, afterMs, flushes } of steps) {
          nowMs += afterMs
          const message = `message ${index}`
          const result = collapse.step(intakeOf({ level: 'info', message }, 2), 'd')
          if (result === undefined) out.push([message, 0])
          else collapsed++

          end(nowMs)
          const window = windows.find(one => one.message === message)
          if (window === undefined) {
            expected.push([message, 0])
            windows.push({ message, endsAtMs: nowMs + windowMs, count: 0 })
          } else {
            window.count++
          }
          if (flushes === 0) {
            collapse.releaseAllNow()
            end(Number.POSITIVE_INFINITY)
          }
          expect(out).toEqual(expected)
          expect(ledger.pending).toBe(windows.filter(({ count }) => count > 0).length)
        }
        collapse.releaseAllNow()
        end(Number.POSITIVE_INFINITY)
        expect(out).toEqual(expected)
        expect([ledger.pending, memory.usedBytes]).toEqual([0, 0])
        const told = (out as [string, number][]).reduce((sum, [, count]) => sum + count, 0)
        expect(told).toBe(collapsed)
      }),
      { numRuns: soakRuns(200) },
    )
  })

  it('passes on thousands of summaries that waited for memory in turns, and in time that grows with their number', async () => {
    const { memory, heldEvents, ledger } = heldEventsOf(512 * 1_048_576)
    let passedOn = 0
    const collapse = new Collapse({
      windowMs: 60_000,
      timeField: '_time',
      maxEventBytes: 100_000,
      altered: { stubbed: 0, cut: 0 },
      heldEvents,
      toJson: ({ event }) => lineOf(JSON.stringify(event)),
      shownTime: time => time,
      passOn: () => passedOn++,
    })
    expect(memory.reserve(300 * 1_048_576)).toBe(true)
    const count = 30_000
    for (let n = 0; n < 2 * count; n++) {
      collapse.step(intakeOf({ level: 'error', message: `no user ${n >> 1}` }, 4), 'd')
    }
    expect([passedOn, ledger.pending]).toEqual([0, count])
    memory.discharge(300 * 1_048_576)
    collapse.resume()
    expect(passedOn).toBeLessThan(count / 2)
    const before = passedOn
    await until(() => passedOn > before, 'the next turn')
    expect(cpuMs(() => collapse.releaseAllNow())).toBeLessThan(375)
    expect([passedOn, ledger.pending, memory.usedBytes]).toEqual([count, 0, 0])
  })
})

describe('both', () => {
  const event = fc.record({
    trace_id: fc.constantFrom(undefined, 'a', 'b', 'c'),
    level: fc.constantFrom('debug', 'info', 'warn', 'error'),
    message: fc.constantFrom('one', 'two', 'three'),
  })
  const action = fc.oneof({ weight: 20, arbitrary: event }, { weight: 1, arbitrary: fc.constant('flush' as const) })

  it('account for every event, and lose none that is to be shipped', { timeout: 60_000 }, async () => {
    await using shipping = await startShipping()
    let run = 0
    await fc.assert(
      fc.asyncProperty(fc.array(action, { maxLength: 80 }), fc.boolean(), async (actions, isCollapsing) => {
        const dataset = `run-${run++}`
        const collapse = isCollapsing ? { windowMs: 60_000 } : undefined
        const shipper = shipping.ship({ dataset, hold: {}, collapse })
        const shipped = shippedByModel(actions.filter(one => one !== 'flush'))
        for (const one of actions) {
          if (one === 'flush') expect((await shipper.flush()).complete).toBe(true)
          else shipper.ship(one)
          const { accepted, delivered, dropped, pending, held } = shipper.stats()
          expect(accepted).toBe(delivered + dropped + pending)
          expect(held).toBeLessThanOrEqual(pending)
        }
        expect(await shipper.close()).toEqual({ complete: true, pending: 0 })
        expect(shipper.stats()).toMatchObject({ held: 0, bufferedBytes: 0 })
        const counts: Record<string, number> = {}
        for (const { level, message, logferry } of shipping.emulator.events(dataset)) {
          const { repeated } = (logferry ?? {}) as { repeated?: { count: number } }
          counts[`${level} ${message}`] = (counts[`${level} ${message}`] ?? 0) + (repeated?.count ?? 1)
        }
        expect(counts).toEqual(shipped)
      }),
      { numRuns: soakRuns(20) },
    )
  })

  /** Returns how often each event is shipped, or counted by a summary. */
  function shippedByModel(events: readonly { trace_id: string | undefined; level: string; message: string }[]) {
    const counts: Record<string, number> = {}
    for (const [n, { trace_id, level, message }] of events.entries()) {
      const isLow = level === 'debug' || level === 'info'
      const isTriggered = events.some((other, at) => other.level === 'error' && other.trace_id === trace_id && at !== n)
      if (!isLow || trace_id === undefined || isTriggered) {
        counts[`${level} ${message}`] = (counts[`${level} ${message}`] ?? 0) + 1
      }
    }
    return counts
  }
})
