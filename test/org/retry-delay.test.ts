import { expect, it } from 'vitest'
import { retryDelayMs } from '../../src/org/retry-delay.ts'
import { OrgError } from '../../src/org.ts'

const unavailable = new OrgError('UNAVAILABLE', '')

it.each([
  [1, 0, 0],
  [1, 0.5, 250],
  [1, 1, 500],
  [2, 0.5, 500],
  [2, 1, 1000],
  [3, 0.5, undefined],
])('after attempt %i, with the random number %d, it waits %s ms', (attempts, random, delayMs) => {
  expect(retryDelayMs(unavailable, attempts, random)).toBe(delayMs)
})

it('it waits as long as the service asked, whatever the random number', () => {
  const limited = new OrgError('RATE_LIMITED', '', { retryAfterMs: 3000 })
  expect(retryDelayMs(limited, 1, 0)).toBe(3000)
  expect(retryDelayMs(limited, 2, 1)).toBe(3000)
})

it.each([
  ['RATE_LIMITED', true],
  ['UNAVAILABLE', true],
  ['UNREACHABLE', true],
  ['UNAUTHORIZED', false],
  ['NOT_FOUND', false],
  ['INVALID_REQUEST', false],
  ['INVALID_RESPONSE', false],
  ['REDIRECTED', false],
  ['TIMEOUT', false],
  ['TOKEN_UNAVAILABLE', false],
] as const)('%s can be retried: %s', (code, helps) => {
  expect(retryDelayMs(new OrgError(code, ''), 1, 0.5) !== undefined).toBe(helps)
})
