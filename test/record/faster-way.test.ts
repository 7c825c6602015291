import { describe, expect, it } from 'vitest'
import { FasterWay } from '../../src/record/faster-way.ts'

const enough = 20_000

interface Uses {
  bytes?: () => number
  fails?: (isSecond: boolean) => boolean
}

/** A choice between two ways, and a clock that runs only while one of them is at work. */
function choice(msOf: (isSecond: boolean) => number) {
  let nowMs = 0
  let msOfWay = msOf
  const ways = new FasterWay(() => nowMs)
  return {
    /** Makes so many choices, and returns how often the second way was chosen. */
    use(times: number, { bytes, fails }: Uses = {}): number {
      let seconds = 0
      for (let i = 0; i < times; i++) {
        const isSecond = ways.begin()
        if (isSecond) seconds++
        nowMs += msOfWay(isSecond)
        if (!fails?.(isSecond)) ways.end(isSecond, bytes?.() ?? 100)
      }
      return seconds
    },
    change(msOfThen: (isSecond: boolean) => number) {
      msOfWay = msOfThen
    },
  }
}

describe('the faster of two ways', () => {
  it('is the first one until both have been timed', () => {
    const { use } = choice(isSecond => (isSecond ? 1 : 2))
    expect(use(2000)).toBe(0)
  })

  it('is used nearly always', () => {
    const second = choice(isSecond => (isSecond ? 1 : 2))
    second.use(enough)
    expect(second.use(enough)).toBeGreaterThan(0.95 * enough)
    const first = choice(isSecond => (isSecond ? 2 : 1))
    first.use(enough)
    expect(first.use(enough)).toBeLessThan(0.05 * enough)
  })

  it('is found again whenever the other way becomes faster', () => {
    const { use, change } = choice(isSecond => (isSecond ? 1 : 2))
    use(enough)
    change(isSecond => (isSecond ? 2 : 1))
    use(enough)
    expect(use(enough)).toBeLessThan(0.05 * enough)
    change(isSecond => (isSecond ? 1 : 2))
    use(enough)
    expect(use(enough)).toBeGreaterThan(0.95 * enough)
  })

  it('is not decided by a few slow runs', () => {
    let i = 0
    const { use } = choice(isSecond => (isSecond ? (i++ % 5 === 0 ? 1000 : 1) : 2))
    use(enough)
    expect(use(enough)).toBeGreaterThan(0.95 * enough)
  })

  it('is measured per byte, and not misled by alternating sizes', () => {
    let bytes = 100
    const { use } = choice(isSecond => {
      bytes = bytes === 100 ? 10_000 : 100
      return (isSecond ? 1.1 : 1) * bytes
    })
    const anySize = { bytes: () => bytes }
    use(enough, anySize)
    expect(use(enough, anySize)).toBeLessThan(0.05 * enough)
  })

  it('stays in use if the other way fails', () => {
    const { use } = choice(isSecond => (isSecond ? 1 : 2))
    const failing = { fails: (isSecond: boolean) => isSecond }
    use(enough, failing)
    expect(use(enough, failing)).toBeLessThan(0.05 * enough)
    use(enough, { fails: () => true })
    use(enough)
    expect(use(enough)).toBeGreaterThan(0.95 * enough)
  })
})
