/** When `logferry pipe` and `logferry spool send` give up a service that accepts nothing. */
import { expect, it } from 'vitest'
import { standstill } from '../src/cli/standstill.ts'
import type { ShipperStats } from '../src/index.ts'

function stillFor60s() {
  const counts = { accepted: 10, delivered: 0, dropped: 0 }
  let nowMs = 0
  const isStuck = standstill({ stats: () => counts as ShipperStats }, 60_000, () => nowMs)
  /** Asks after so many seconds. */
  const after = (s: number): boolean => {
    nowMs += s * 1000
    return isStuck()
  }
  after(5) // notes the first counts
  return { counts, after }
}

it('a minute without progress is a standstill', () => {
  const { after } = stillFor60s()
  expect(Array.from({ length: 12 }, () => after(5))).toEqual([...Array(11).fill(false), true])
})

it.each(['accepted', 'delivered', 'dropped'] as const)('an event that is %s is progress', name => {
  const { counts, after } = stillFor60s()
  for (let i = 0; i < 11; i++) after(5)
  counts[name]++
  expect(after(5)).toBe(false)
  expect(Array.from({ length: 11 }, () => after(5))).not.toContain(true)
  expect(after(5)).toBe(true)
})

it('the time in which the process was frozen, as by Ctrl-Z, hardly counts', () => {
  const { after } = stillFor60s()
  expect(after(600)).toBe(false)
  expect(Array.from({ length: 9 }, () => after(5))).not.toContain(true)
  expect(after(5)).toBe(true)
})
