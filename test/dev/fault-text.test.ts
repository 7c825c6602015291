import { describe, expect, it } from 'vitest'
import { FaultMistake } from '../../src/dev/faults/fault-mistake.ts'
import { faultOfText, textOfFault } from '../../src/dev/faults/fault-text.ts'

describe('a fault on the command line', () => {
  it.each([
    ['status=503,for=30s', { kind: 'status', status: 503, forS: 30 }],
    ['status=429,retry-after=2s,for=10s', { kind: 'status', status: 429, retryAfterS: 2, forS: 10 }],
    ['latency=500ms,for=60s', { kind: 'latency', latencyMs: 500, forS: 60 }],
    ['reset=before,for=5s', { kind: 'reset', moment: 'before-storing', forS: 5 }],
    ['reset=after,for=5s', { kind: 'reset', moment: 'after-storing', forS: 5 }],
    ['slow-body=100,for=30s', { kind: 'slow-body', bytesPerSecond: 100, forS: 30 }],
    ['max-bytes=1MB,for=30s', { kind: 'max-bytes', maxBytes: 1_000_000, forS: 30 }],
    ['refuse-encoding=zstd,for=30s', { kind: 'refuse-encoding', encoding: 'zstd', forS: 30 }],
    ['for=1s,reject=level:debug, a=b', { kind: 'reject', query: 'level:debug, a=b', forS: 1 }],
    ['revoke-token,for=600s', { kind: 'revoke-token', forS: 600 }],
  ] as const)('%s is read, and written as it was', (text, fault) => {
    expect(faultOfText(text)).toEqual(fault)
    expect(textOfFault(fault)).toBe(text)
  })

  it.each([
    ['status=503', { kind: 'status', status: 503, forS: 30 }],
    ['reset,for=2m', { kind: 'reset', moment: 'before-storing', forS: 120 }],
    ['max-bytes=64KiB', { kind: 'max-bytes', maxBytes: 65_536, forS: 30 }],
  ])('%s has defaults', (text, fault) => {
    expect(faultOfText(text)).toEqual(fault)
  })

  it.each([
    ['', 'exactly one of status'],
    ['for=30s', 'exactly one of status'],
    ['status=503,latency=1s', 'exactly one of status'],
    ['status=200', 'from 300 to 599'],
    ['status=many', 'from 300 to 599'],
    ['status=503,for=11m', 'from 1 to 600 seconds'],
    ['status=503,for=soon', 'from 1 to 600 seconds'],
    ['status=503,status=504', "'status' may be given once"],
    ['status=503,until=noon', "no 'until'"],
    ['latency=quick', 'from 1ms to 10m'],
    ['reset=never', 'before or after'],
    ['refuse-encoding=', 'one of identity, gzip, deflate, br, zstd'],
    ['refuse-encoding=ztsd', 'one of identity, gzip, deflate, br, zstd'],
    ['reject=', 'must be a query'],
    ['=', 'a list such as'],
    ['__proto__=1', 'a list such as'],
  ])('%j is refused with what is expected', (text, problem) => {
    expect(() => faultOfText(text)).toThrow(FaultMistake)
    expect(() => faultOfText(text)).toThrow(problem)
  })
})
