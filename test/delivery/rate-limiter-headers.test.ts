import fc from 'fast-check'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { rateLimitIn } from '../../src/delivery/rate-limit-headers.ts'

const nowMs = Date.parse('2026-11-20T10:00:00Z')
const nowSeconds = nowMs / 1000

describe('the rate limit in an answer', () => {
  it.each([
    [
      'of the public service: a minute, to an epoch second',
      { 'x-ratelimit-limit': '6000', 'x-ratelimit-remaining': '5990', 'x-ratelimit-reset': `${nowSeconds + 40}` },
      { limit: 6000, limitPerSecond: 100, remaining: 5990, resetMs: 40_000 },
    ],
    [
      'of a service that counts in seconds',
      { 'x-ratelimit-limit': '5', 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': `${nowSeconds + 1}` },
      { limit: 5, limitPerSecond: 5, remaining: 0, resetMs: 1000 },
    ],
    [
      'with a reset in seconds from now',
      { 'ratelimit-limit': '5', 'ratelimit-remaining': '2', 'ratelimit-reset': '1' },
      { limit: 5, limitPerSecond: 5, remaining: 2, resetMs: 1000 },
    ],
    [
      'of draft 7, with a policy',
      { ratelimit: 'limit=100, remaining=50, reset=5', 'ratelimit-policy': '100;w=10' },
      { limit: 100, limitPerSecond: 10, remaining: 50, resetMs: 5000 },
    ],
    [
      'of draft 8 and later',
      { ratelimit: '"default";r=50;t=30', 'ratelimit-policy': '"default";q=100;w=60,"daily";q=1000;w=86400' },
      { limit: 100, limitPerSecond: 100 / 60, remaining: 50, resetMs: 30_000 },
    ],
    ['of concurrent requests: none', { 'ratelimit-policy': '"a";q=10;w=60;qu="concurrent-requests"' }, {}],
    ['of requests, by name', { 'ratelimit-policy': '"a";q=60;w=60;qu="requests"' }, { limit: 60, limitPerSecond: 1 }],
    ['of a day: a quota, and no pace', { 'ratelimit-policy': '"daily";q=1000;w=86400' }, { limit: 1000 }],
    ['that only has the remaining requests', { 'x-ratelimit-remaining': '7' }, { remaining: 7 }],
    ['without a reset, of an unknown window', { 'x-ratelimit-limit': '7' }, { limit: 7 }],
    ['given twice', { 'x-ratelimit-remaining': ['3', '4'] }, { remaining: 3 }],
    ['that was reset already', { 'x-ratelimit-reset': `${nowSeconds - 5}` }, { resetMs: 0 }],
    ['that resets in hours: no window of requests', { 'x-ratelimit-reset': `${nowSeconds + 90_000}` }, {}],
    ['of nothing', {}, {}],
    [
      'of zero: no limit that could be kept',
      { 'x-ratelimit-limit': '0', 'x-ratelimit-remaining': '0' },
      { remaining: 0 },
    ],
    [
      'of garbage',
      { 'x-ratelimit-limit': '-5', 'x-ratelimit-remaining': 'NaN', 'x-ratelimit-reset': '1e99', ratelimit: ';;=' },
      {},
    ],
  ])('%s', (_, headers: Record<string, string | string[]>, expected) => {
    expect(rateLimitIn(headers, nowMs)).toEqual(expected)
  })

  it("counts to the reset by the service's clock, however wrong the local clock is", () => {
    const headers = {
      date: new Date(nowMs).toUTCString(),
      'x-ratelimit-limit': '6000',
      'x-ratelimit-reset': `${nowSeconds + 30}`,
    }
    for (const skewMs of [-3_600_000, 0, 3_600_000]) {
      expect(rateLimitIn(headers, nowMs + skewMs)).toEqual({ limit: 6000, limitPerSecond: 100, resetMs: 30_000 })
    }
  })

  it('counts to the reset by a date in the oldest format of HTTP, which is in GMT wherever the process runs', () => {
    vi.stubEnv('TZ', 'America/New_York')
    onTestFinished(() => void vi.unstubAllEnvs())
    const headers = {
      date: 'Fri Nov 20 10:00:00 2026',
      'ratelimit-limit': '60',
      'ratelimit-reset': `${nowSeconds + 30}`,
    }
    expect(rateLimitIn(headers, nowMs)).toEqual({ limit: 60, limitPerSecond: 1, resetMs: 30_000 })
  })

  it('has only finite numbers from 0, whatever the headers say', () => {
    const names = ['limit', 'remaining', 'reset'].flatMap(name => [`x-ratelimit-${name}`, `ratelimit-${name}`])
    const text = fc.oneof(fc.string(), fc.integer().map(String), fc.stringMatching(/^[rtqw=;,0-9" ]*$/))
    const headers = fc.dictionary(fc.constantFrom(...names, 'ratelimit', 'ratelimit-policy', 'date'), text)
    fc.assert(
      fc.property(headers, given => {
        for (const value of Object.values(rateLimitIn(given, nowMs))) {
          expect(Number.isFinite(value) && value >= 0).toBe(true)
        }
      }),
    )
  })
})
