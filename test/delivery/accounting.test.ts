import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Outcome } from '../../src/outcome.ts'
import { soakRuns } from '../support/soak-runs.ts'
import { blocked, delivered, numbers, pipelineTo, rejected, retryable, tooLarge } from './wired.ts'

vi.mock('../../src/time.ts', () => import('../support/time-of-globals.ts'))

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const answer = fc.oneof(
  { weight: 4, arbitrary: fc.constant(delivered) },
  { weight: 2, arbitrary: fc.constant(retryable()) },
  fc.integer({ min: 1, max: 5000 }).map(retryable),
  fc.constant(rejected),
  fc.constant(tooLarge),
  fc.constant(blocked),
  fc.constant<Outcome>({ kind: 'unsupported-encoding' }),
  fc.constant<Outcome>({ kind: 'retryable', reason: 'ECONNRESET', unanswered: 'broken' }),
)

const step = fc.oneof(
  fc.record({
    do: fc.constant('log' as const),
    count: fc.integer({ min: 1, max: 60 }),
    dataset: fc.constantFrom('a', 'b'),
  }),
  fc.record({ do: fc.constant('wait' as const), ms: fc.integer({ min: 0, max: 20_000 }) }),
  fc.record({ do: fc.constant('flush' as const) }),
  fc.record({ do: fc.constant('hurry' as const) }),
  fc.record({ do: fc.constant('abandon' as const) }),
)

describe('in any history of log calls, answers, flushes and abandoned deliveries', () => {
  it('each event is delivered once or dropped once with its reason, and every flush ends', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { maxLength: 25 }),
        fc.array(answer, { maxLength: 60 }),
        async (steps, answers) => {
          const script = [...answers]
          const gone: number[] = []
          const { log, batchQueue, delivery, ledger, memory, arrived, dropped, refused } = pipelineTo(
            async () => {
              await new Promise(resolve => setTimeout(resolve, 50))
              return script.shift() ?? delivered
            },
            { maxBatchEvents: 20, compression: 'zstd' },
          )
          let logged = 0
          let flushesWaiting = 0
          for (const one of steps) {
            if (one.do === 'log') for (let i = 0; i < one.count; i++) log(logged++, { dataset: one.dataset })
            if (one.do === 'wait') await vi.advanceTimersByTimeAsync(one.ms)
            if (one.do === 'hurry') delivery.skipBackoff(10_000)
            if (one.do === 'abandon') {
              const arrivedBefore = new Set(numbers(arrived))
              const refusedBefore = new Set(refused.map(({ event }) => event?.n))
              for (let n = 0; n < logged; n++) if (!arrivedBefore.has(n) && !refusedBefore.has(n)) gone.push(n)
              delivery.abandon('closed')
              expect(ledger.pending).toBe(0)
            }
            if (one.do === 'flush') {
              flushesWaiting++
              void batchQueue.flush().then(() => flushesWaiting--)
            }
            expect(ledger.accepted).toBe(logged)
            expect(ledger.delivered).toBe(arrived.length)
          }
          await vi.advanceTimersByTimeAsync(600_000)
          expect(flushesWaiting).toBe(0)
          expect(ledger.pending).toBe(0)
          expect(memory.usedBytes).toBe(0)
          // The service may also have events that were abandoned in flight. No other event arrives twice, and none is
          // missing.
          const seen = [...numbers(arrived), ...refused.map(({ event }) => event?.n as number)]
          expect(new Set(seen).size).toBe(seen.length)
          expect(new Set([...seen, ...gone])).toEqual(new Set(Array.from({ length: logged }, (_, n) => n)))
          expect(dropped.reduce((sum, { count }) => sum + count, 0)).toBe(ledger.dropped)
        },
      ),
      { numRuns: soakRuns(60) },
    )
  })
})
