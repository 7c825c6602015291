import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Sequence } from '../../src/record/sequence.ts'
import { formatNanoTime, Timestamper } from '../../src/record/timestamp.ts'
import { soakRuns } from '../support/soak-runs.ts'

const now = Date.UTC(2026, 10, 21, 2, 47, 5, 123)
const nowSeconds = Math.floor(now / 1000)

function timestamper(fieldName = '_time', clock = () => now): Timestamper {
  return new Timestamper(fieldName, new Sequence(clock))
}

/** Returns the time in a head, which must be the start of a JSON object. */
function timeIn(head: Uint8Array, fieldName = '_time'): string {
  return JSON.parse(`${Buffer.from(head).toString()}}`)[fieldName]
}

describe('a line logged now', () => {
  test('begins with its time, to the nanosecond', () => {
    expect(Buffer.from(timestamper().at(now)).toString()).toBe('{"_time":"2026-11-21T02:47:05.123000000Z"')
  })

  test('uses the configured field name, in any script', () => {
    expect(timeIn(timestamper('zeit "ü"').at(now), 'zeit "ü"')).toBe('2026-11-21T02:47:05.123000000Z')
  })

  test('counts on within a millisecond, and starts again in the next', () => {
    const stamper = timestamper()
    expect([now, now, now, now + 1].map(ms => timeIn(stamper.at(ms)).slice(20))).toEqual([
      '123000000Z',
      '123000002Z',
      '123000004Z',
      '124000000Z',
    ])
  })

  test('moves to the next millisecond when 50,000 lines have shared one', () => {
    const stamper = timestamper()
    for (let i = 0; i < 50_000; i++) stamper.at(now)
    expect(timeIn(stamper.at(now))).toBe('2026-11-21T02:47:05.124000000Z')
    expect(timeIn(stamper.at(now + 1))).toBe('2026-11-21T02:47:05.124000002Z')
  })

  test('stays later than the one before when the clock is set back by up to ten seconds', () => {
    const stamper = timestamper()
    stamper.at(now)
    expect(timeIn(stamper.at(now - 10_000))).toBe('2026-11-21T02:47:05.123000002Z')
  })

  test('follows the clock when it is set back by more', () => {
    const stamper = timestamper()
    stamper.at(now)
    expect(timeIn(stamper.at(now - 10_001))).toBe('2026-11-21T02:46:55.122100000Z')
  })

  test('differs from earlier lines when the clock passes through the same time again', () => {
    const stamper = timestamper()
    const times = [0, 0, 20_000, 0, 0, 1, 20_000, 0, 20_000, 20_001].map(ms => timeIn(stamper.at(now + ms)).slice(14))
    expect(times).toEqual([
      '47:05.123000000Z',
      '47:05.123000002Z',
      '47:25.123000000Z',
      '47:05.123100000Z',
      '47:05.123100002Z',
      '47:05.124100000Z',
      '47:25.123100000Z',
      '47:05.123200000Z',
      '47:25.123200000Z',
      '47:25.124000000Z',
    ])
  })

  test('is unique whatever the clock does, and later than the previous one unless the clock went back by more than ten seconds', () => {
    const steps = fc.oneof(
      fc.integer({ min: -3, max: 3 }),
      fc.integer({ min: -60_000, max: 60_000 }),
      fc.constantFrom(-11_000, 11_000, -3_600_000, 3_600_000, -86_400_000 * 400),
    )
    fc.assert(
      fc.property(fc.array(steps, { maxLength: 60 }), steps => {
        const stamper = timestamper()
        let ms = now
        const times = steps.map(step => {
          ms += step
          return { ms, time: timeIn(stamper.at(ms)) }
        })
        expect(new Set(times.map(({ time }) => time)).size).toBe(times.length)
        for (const [i, { ms, time }] of times.entries()) {
          const before = times[i - 1]
          if (before !== undefined && ms >= Date.parse(before.time) - 10_000) expect(time > before.time).toBe(true)
        }
      }),
      { numRuns: soakRuns(300) },
    )
  })

  test('stands still instead of occurring twice if the clock went back through the same time too often', () => {
    const stamper = timestamper()
    const times = Array.from({ length: 50 }, (_, i) => timeIn(stamper.at(now + (i % 2) * 60_000)))
    expect(new Set(times).size).toBe(times.length)
    expect(times.slice(20)).toEqual(times.slice(20).toSorted())
    expect(timeIn(stamper.at(now + 120_000))).toBe('2026-11-21T02:49:05.123000000Z')
  })

  test.each([Number.NaN, -1, Number.POSITIVE_INFINITY, 1e300, 253_402_300_800_000])(
    'has the current time if its own is %d',
    ms => expect(timeIn(timestamper().at(ms))).toBe('2026-11-21T02:47:05.123000000Z'),
  )

  test('shares its count with all others of the process', () => {
    const sequence = new Sequence(() => now)
    const [a, b] = [new Timestamper('_time', sequence), new Timestamper('_time', sequence)]
    expect([timeIn(a.at(now)), timeIn(b.at(now))]).toEqual([
      '2026-11-21T02:47:05.123000000Z',
      '2026-11-21T02:47:05.123000002Z',
    ])
    expect(timeIn(new Timestamper('_time').at(now))).not.toBe(timeIn(new Timestamper('_time').at(now)))
  })

  test('is unique and increasing unless the clock goes back by more than ten seconds', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: -5, max: 5 })), steps => {
        const stamper = timestamper()
        let ms = now
        const times = steps.map(step => {
          ms = Math.max(now, ms + step)
          return timeIn(stamper.at(ms))
        })
        expect(times).toEqual([...new Set(times)].sort())
      }),
    )
  })
})

describe('a line that brings its own time', () => {
  test('keeps its time to the nanosecond if it is that exact', () => {
    const stamper = timestamper()
    expect(timeIn(stamper.atHrTime([nowSeconds, 123_456_789]))).toBe('2026-11-21T02:47:05.123456789Z')
    expect(timeIn(stamper.atHrTime([0, 1]))).toBe('1970-01-01T00:00:00.000000001Z')
    expect(timeIn(stamper.atHrTime([253_402_300_799, 999_999_999]))).toBe('9999-12-31T23:59:59.999999999Z')
  })

  test('continues the count of live lines if it is exact to the millisecond', () => {
    const stamper = timestamper()
    stamper.at(now)
    expect(timeIn(stamper.atHrTime([nowSeconds, 123_000_000]))).toBe('2026-11-21T02:47:05.123000002Z')
    expect(timeIn(stamper.at(now))).toBe('2026-11-21T02:47:05.123000004Z')
  })

  test('keeps its millisecond if it comes late, apart from the live lines of that millisecond', () => {
    const stamper = timestamper()
    stamper.at(now)
    expect(timeIn(stamper.atHrTime([nowSeconds, 100_000_000]))).toBe('2026-11-21T02:47:05.100000001Z')
    expect(timeIn(stamper.atHrTime([nowSeconds, 100_000_000]))).toBe('2026-11-21T02:47:05.100000003Z')
  })

  test('is a few nanoseconds later than its millisecond, for any number of milliseconds', () => {
    const stamper = timestamper()
    stamper.at(now)
    const nanos = Array.from({ length: 100_000 }, (_, i) => {
      const seconds = nowSeconds - 1000 + Math.floor(i / 1000)
      return Number(timeIn(stamper.atHrTime([seconds, (i % 1000) * 1e6])).slice(23, 29))
    })
    expect(Math.max(...nanos)).toBeLessThan(300)
  })

  test('stays unique if milliseconds occur again after many others', () => {
    const stamper = timestamper()
    stamper.at(now)
    const times = Array.from({ length: 20_000 }, (_, i) => {
      const ms = (i * 7919) % 3000
      return timeIn(stamper.atHrTime([nowSeconds - 10 + Math.floor(ms / 1000), (ms % 1000) * 1e6]))
    })
    expect(new Set(times).size).toBe(times.length)
  })

  test('does not move live lines into the future', () => {
    const stamper = timestamper()
    expect(timeIn(stamper.atHrTime([nowSeconds + 5, 0]))).toMatch('2026-11-21T02:47:10.000')
    expect(timeIn(stamper.at(now))).toBe('2026-11-21T02:47:05.123000000Z')
  })

  test('is unique among interleaved streams', () => {
    const stamper = timestamper()
    stamper.at(now)
    const millis = Array.from({ length: 300_000 }, (_, i) => (i % 3) * 1_000_000)
    const times = millis.map(nanos => timeIn(stamper.atHrTime([nowSeconds, nanos])))
    expect(new Set(times).size).toBe(times.length)
  })

  test('is unique and in order within one stream, mixed with live lines', () => {
    const line = fc.record({ live: fc.boolean(), step: fc.integer({ min: 0, max: 3 }) })
    fc.assert(
      fc.property(fc.array(line), fc.integer({ min: 0, max: 20 }), (lines, lagMs) => {
        let ms = now
        const stamper = timestamper('_time', () => ms)
        const times = { live: [] as string[], record: [] as string[] }
        for (const { live, step } of lines) {
          ms += step
          const own = ms - lagMs
          if (live) times.live.push(timeIn(stamper.at(ms)))
          else times.record.push(timeIn(stamper.atHrTime([Math.floor(own / 1000), (own % 1000) * 1e6])))
        }
        const all = [...times.live, ...times.record]
        expect(new Set(all).size).toBe(all.length)
        expect(times.live).toEqual(times.live.toSorted())
        expect(times.record.map(time => time.slice(0, 23))).toEqual(
          times.record.map(time => time.slice(0, 23)).toSorted(),
        )
      }),
    )
  })

  test.each([
    [[0, 0]],
    [[Number.NaN, 0]],
    [[nowSeconds, Number.NaN]],
    [[nowSeconds, -1]],
    [[nowSeconds, 1e9]],
    [[nowSeconds, 0.5]],
    [[-1, 0]],
    [[253_402_300_800, 0]],
    [[Number.POSITIVE_INFINITY, 0]],
    [['1', '2']],
    [[]],
    [undefined],
    [null],
    ['now'],
  ])('has the current time if its own is %j', garbage => {
    expect(timeIn(timestamper().atHrTime(garbage as unknown as [number, number]))).toBe(
      '2026-11-21T02:47:05.123000000Z',
    )
    expect(formatNanoTime(garbage as unknown as [number, number])).toBeUndefined()
  })
})

test('a time as text has nine digits', () => {
  expect(formatNanoTime([nowSeconds, 7])).toBe('2026-11-21T02:47:05.000000007Z')
  expect(formatNanoTime([nowSeconds, 123_456_789])).toBe('2026-11-21T02:47:05.123456789Z')
  expect(formatNanoTime([nowSeconds + 1, 0])).toBe('2026-11-21T02:47:06.000000000Z')
})
