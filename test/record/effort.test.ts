import { beforeEach, describe, expect, it, vi } from 'vitest'
import { Effort } from '../../src/record/effort.ts'

let [clockMs, processorMs] = [0, 0]

vi.mock('../../src/time.ts', () => ({ monotonicMs: () => clockMs }))

/** Lets time pass: of the clock, and of the processor as far as this thread does not wait for it. */
function pass(ms: number, waitedMs = 0): void {
  clockMs += ms + waitedMs
  processorMs += ms
}

beforeEach(() => {
  vi.spyOn(process, 'threadCpuUsage').mockImplementation(() => ({ user: processorMs * 1000, system: 0 }))
})

describe('the effort of a log call on a busy machine', () => {
  it('is not used up by waits, even if the work that does not count takes as long', () => {
    const effort = new Effort()
    pass(9)
    expect(effort.isLate()).toBe(false)
    for (let step = 0; step < 40_000; step++) {
      pass(0.0009) // 36 ms in all
      expect(effort.isLate()).toBe(false)
    }
    for (let waits = 0; waits < 8; waits++) {
      pass(0, 20)
      for (let step = 0; step < 8; step++) expect(effort.isLate()).toBe(false)
    }
  })

  it('is used up by application code, however often it waits', () => {
    const effort = new Effort()
    let usedMs = 0
    for (; !effort.isLate(); usedMs += 2) pass(2, 3)
    expect(usedMs).toBeGreaterThan(25)
    expect(usedMs).toBeLessThan(45)
  })

  it('is used up by waits alone after a quarter of a second', () => {
    const effort = new Effort()
    const startedAtMs = clockMs
    while (!effort.isLate()) pass(0, 5)
    expect(clockMs - startedAtMs).toBeGreaterThanOrEqual(250)
    expect(clockMs - startedAtMs).toBeLessThan(300)
  })
})
