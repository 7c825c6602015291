import { beforeEach, describe, expect, it, vi } from 'vitest'
import { SearchTime } from '../../src/record/redact-time.ts'

let processorMs = 0

/** Time that searches of 5 ms take until none is left, if each also waits for a processor. */
function usedMs(time: SearchTime, waitedMs = 0): number {
  const startedAtMs = processorMs
  while (time.leftMs > 0) {
    processorMs += 5
    time.spend(5 + waitedMs)
  }
  return processorMs - startedAtMs
}

beforeEach(() => {
  processorMs = 0
})

describe.each([0.001, 4])('the time to search texts, if processor time is counted in steps of %d ms', stepMs => {
  beforeEach(() => {
    const countedMs = () => Math.floor(processorMs / stepMs) * stepMs
    vi.spyOn(process, 'threadCpuUsage').mockImplementation(() => ({ user: countedMs() * 1000, system: 0 }))
  })

  it('is used up after 20 ms, whenever it begins', () => {
    for (let ms = 0; ms < 4; ms += 0.25) {
      processorMs = ms
      const time = new SearchTime()
      time.begin()
      expect(usedMs(time)).toBe(20)
    }
  })

  it('is not used up by waits for a processor', () => {
    const time = new SearchTime()
    time.begin()
    const used = usedMs(time, 5)
    expect(used).toBeGreaterThanOrEqual(15)
    expect(used).toBeLessThanOrEqual(20)
  })
})
