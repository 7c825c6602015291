import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { ScratchBuffers } from '../../src/files/scratch-buffers.ts'

vi.mock('../../src/time.ts', () => import('../support/time-of-globals.ts'))

const large = 3_000_000

describe('the buffers that files are read into', () => {
  let buffers: ScratchBuffers
  beforeEach(() => {
    vi.useFakeTimers()
    buffers = new ScratchBuffers()
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  it.each([0, 4096, 65_536, 65_537, 1_572_864, large, 67_108_864])('have room for a file of %i bytes', bytes => {
    expect(buffers.take(bytes).length).toBeGreaterThanOrEqual(bytes)
  })

  it.each([4096, 1_000_000, large])('serve one file of %i bytes after the other', bytes => {
    const buffer = buffers.take(bytes)
    buffers.giveBack(buffer)
    expect(buffers.take(bytes)).toBe(buffer)
  })

  it('are for one reader at a time', () => {
    for (const bytes of [4096, 1_000_000, large]) {
      const buffer = buffers.take(bytes)
      buffers.giveBack(buffer)
      expect(new Set([buffers.take(bytes), buffers.take(bytes), buffers.take(bytes)]).size).toBe(3)
    }
  })

  it('of large files are one, which grows to the largest of them', () => {
    const [first, second] = [buffers.take(large), buffers.take(4 * large)]
    buffers.giveBack(first)
    buffers.giveBack(second)
    expect(buffers.take(large)).toBe(second)
    expect(buffers.take(large)).not.toBe(first)
  })

  it('are kept while files are read, and released a minute after the last one', () => {
    const buffer = buffers.take(large)
    buffers.giveBack(buffer)
    for (let read = 0; read < 10; read++) {
      vi.advanceTimersByTime(59_000)
      expect(buffers.take(large)).toBe(buffer)
      buffers.giveBack(buffer)
    }
    vi.advanceTimersByTime(60_000)
    expect(vi.getTimerCount()).toBe(0)
    expect(buffers.take(large)).not.toBe(buffer)
  })
})
