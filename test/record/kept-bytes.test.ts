import { describe, expect, it } from 'vitest'
import { eventToLine } from '../../src/record/event-to-line.ts'
import { keptBytes } from '../../src/record/kept-bytes.ts'

describe('a line that is kept', () => {
  it('keeps no memory alive but its own', () => {
    const line = eventToLine({ message: 'held' }, undefined, undefined, 1000, { stubbed: 0, cut: 0 }, undefined, 'null')
    const kept = keptBytes(line)
    expect(kept.toString()).toContain('"message":"held"')
    expect(kept.buffer.byteLength).toBe(line.length)
  })
})
