import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { MemoryBudget } from '../../src/batch/memory-budget.ts'

vi.mock('../../src/time.ts', () => import('../support/time-of-globals.ts'))

const blockBytes = 65_536
/** Number of blocks in the megabyte that is always kept. */
const alwaysKept = 16

describe('the blocks of a memory budget', () => {
  let budget: MemoryBudget
  beforeEach(() => {
    vi.useFakeTimers()
    budget = new MemoryBudget(1024 * blockBytes, blockBytes)
  })
  afterEach(() => {
    budget.retire()
    vi.advanceTimersByTime(120_000)
    vi.useRealTimers()
  })

  const take = (count: number, bytes = blockBytes) =>
    Array.from({ length: count }, () => budget.allocate(bytes) as Buffer)
  const free = (blocks: readonly Buffer[]) => {
    for (const block of blocks) budget.free(block)
  }

  it('serve the next batches, however far memory was emptied in between', () => {
    using allocate = vi.spyOn(Buffer, 'allocUnsafeSlow')
    for (let wave = 0; wave < 20; wave++) {
      free(take(400))
      vi.advanceTimersByTime(30_000)
    }
    expect(allocate).toHaveBeenCalledTimes(400)
  })

  it('are released within two minutes if they are not needed, except for a megabyte', () => {
    free(take(400))
    for (let second = 0; second < 120; second++) {
      free(take(100))
      vi.advanceTimersByTime(1000)
    }
    using allocate = vi.spyOn(Buffer, 'allocUnsafeSlow')
    const used = take(400)
    expect(allocate).toHaveBeenCalledTimes(300)
    free(used)
    vi.advanceTimersByTime(120_000)
    take(400)
    expect(allocate).toHaveBeenCalledTimes(300 + 400 - alwaysKept)
  })

  it('are all released within two minutes after the shipper was closed, unless it goes on', () => {
    free(take(alwaysKept))
    using allocate = vi.spyOn(Buffer, 'allocUnsafeSlow')
    budget.retire()
    free(take(alwaysKept))
    vi.advanceTimersByTime(120_000)
    free(take(alwaysKept))
    expect(allocate).not.toHaveBeenCalled()
    budget.retire()
    vi.advanceTimersByTime(120_000)
    take(alwaysKept)
    expect(allocate).toHaveBeenCalledTimes(alwaysKept)
  })

  it('make way for blocks of another size, so that all of them together stay within the maximum', () => {
    free(take(1024))
    using allocate = vi.spyOn(Buffer, 'allocUnsafeSlow')
    free(take(256, 4 * blockBytes))
    expect(allocate).toHaveBeenCalledTimes(256)
    take(1024)
    expect(allocate).toHaveBeenCalledTimes(256 + 1024)
  })

  it('are kept up to 64 MiB, or half of the memory in use', () => {
    const bytes = 16 * blockBytes
    const large = new MemoryBudget(1024 * bytes, bytes)
    const takeLarge = (count: number) => Array.from({ length: count }, () => large.allocate(bytes) as Buffer)
    const used = takeLarge(240)
    const freeLarge = (count: number) => {
      for (const block of used.splice(0, count)) large.free(block)
    }
    using allocate = vi.spyOn(Buffer, 'allocUnsafeSlow')
    freeLarge(80)
    used.push(...takeLarge(80))
    expect(allocate).not.toHaveBeenCalled()
    freeLarge(240)
    takeLarge(240)
    expect(allocate).toHaveBeenCalledTimes(240 - 64)
    large.retire()
  })

  it('serve large batches that are a little smaller, which then count with all bytes of the block', () => {
    const large = 4 * blockBytes
    const blocks = [large, large + 1000].map(bytes => budget.allocate(bytes) as Buffer)
    free(blocks)
    const again = [large + 1, large - 1000, large - 1000].map(bytes => budget.allocate(bytes) as Buffer)
    expect(again.map(block => blocks.indexOf(block))).toEqual([1, 0, -1])
    expect(budget.usedBytes).toBe(large + 1000 + large + large - 1000)
    free(again)
    expect(budget.usedBytes).toBe(0)
    expect(blocks).not.toContain(budget.allocate(large / 2))
  })

  it('are no larger than needed where memory is nearly full', () => {
    const large = 4 * blockBytes
    free([budget.allocate(large) as Buffer])
    budget.charge(budget.maxBytes - large + 1000)
    expect(budget.allocate(large - 1000)?.length).toBe(large - 1000)
    expect(budget.usedBytes).toBe(budget.maxBytes)
    budget.discharge(budget.maxBytes)
  })

  it('keep no timer running once memory has been empty for a while', () => {
    free(take(400))
    expect(vi.getTimerCount()).toBe(1)
    vi.advanceTimersByTime(120_000)
    expect(vi.getTimerCount()).toBe(0)
  })
})
