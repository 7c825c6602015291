import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { retryAfterMs } from '../../src/http/retry-after.ts'

const now = Date.parse('2026-11-21T12:00:00Z')
const inTwoMinutes = 'Sat, 21 Nov 2026 12:02:00 GMT'

describe('Retry-After', () => {
  it.each([
    ['120', undefined, 120_000],
    [' 120 ', undefined, 120_000],
    ['0', undefined, 0],
    ['1.5', undefined, 1500],
    ['99999999', undefined, 3_600_000],
    [inTwoMinutes, undefined, 120_000],
    ['Sat, 21 Nov 2026 11:00:00 GMT', undefined, 0],
    ['Fri, 31 Dec 9999 23:59:59 GMT', undefined, 3_600_000],
    // The server's clock is an hour ahead of ours, then an hour behind, as its own Date header shows.
    ['Sat, 21 Nov 2026 13:02:00 GMT', 'Sat, 21 Nov 2026 13:00:00 GMT', 120_000],
    ['Sat, 21 Nov 2026 11:02:00 GMT', 'Sat, 21 Nov 2026 11:00:00 GMT', 120_000],
    [inTwoMinutes, 'no date', 120_000],
  ])('%s (Date: %s) means %s ms', (header, date, expected) => {
    expect(retryAfterMs(header, now, date)).toBe(expected)
  })

  it.each([[undefined], [''], [' '], ['-5'], ['soon'], ['12 parsecs'], ['2/3']])('%s is ignored', header => {
    expect(retryAfterMs(header, now)).toBeUndefined()
  })

  it.each([
    ['Sat Nov 21 12:02:00 2026', undefined, 120_000],
    ['Tue Dec  1 12:02:00 2026', 'Tue Dec  1 12:00:00 2026', 120_000],
    [inTwoMinutes, 'Sat Nov 21 12:00:30 2026', 90_000],
  ])('%s (Date: %s) is in GMT, wherever the process runs', (header, date, expected) => {
    vi.stubEnv('TZ', 'America/New_York')
    onTestFinished(() => void vi.unstubAllEnvs())
    expect(retryAfterMs(header, now, date)).toBe(expected)
  })
})
