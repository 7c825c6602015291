/** A drain may fail, for example because its worker cannot make requests, and the process may go on after it. */
import { expect, it } from 'vitest'
import { type Drainable, ExitDrain } from '../../src/exit/drain-at-exit.ts'

/** Returns work whose drain fails at its beginning. `calls` names the calls that it gets. */
function failingWork(other: Partial<Drainable> = {}) {
  const calls: string[] = []
  const work: Drainable = {
    exitTimeoutMs: 1000,
    settleWithoutRequests: () => {},
    beginDrain: () => {
      calls.push('beginDrain')
      throw new Error('no requests')
    },
    step: () => Number.POSITIVE_INFINITY,
    isWaitingForAnswers: () => false,
    dropRemaining: () => void calls.push('dropRemaining'),
    endDrain: () => void calls.push('endDrain'),
    ...other,
  }
  return { work, calls }
}

it('work whose drain fails at its beginning no longer uses the worker afterwards', () => {
  const { work, calls } = failingWork()
  new ExitDrain().drain(new Set([work]))
  expect(calls).toEqual(['beginDrain', 'endDrain', 'dropRemaining'])
})

it('a drain that fails does not keep the next one from its work', () => {
  const drain = new ExitDrain()
  const { work, calls } = failingWork()
  const dropRemaining = () => {
    throw new Error('no stack left')
  }
  expect(() => drain.drain(new Set([{ ...work, dropRemaining }]))).toThrow('no stack left')
  calls.length = 0
  drain.drain(new Set([work]))
  expect(calls).toContain('dropRemaining')
})
