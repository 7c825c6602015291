import { expect, it } from 'vitest'
import { askedTooOften, paceReason, paused, refusedAndKept } from '../../src/delivery/warnings.ts'

it.each([
  [1, 'the license allows this process 1 request per second'],
  [1.04, 'the license allows this process 1 request per second'],
  [0.5, 'the license allows this process 0.5 requests per second'],
  [20, 'the license allows this process 20 requests per second'],
])('a rate of %d is told in good English', (requestsPerSecond, expected) => {
  expect(paceReason({ requestsPerSecond, because: 'license' })).toBe(expected)
})

it.each([
  [0, 'the next request follows at once.'],
  [250, 'the next request follows in 250 ms.'],
  [7000, 'the next request follows in 7 s.'],
])('a wait of %d ms after a 429 is told in good English', (waitMs, expected) => {
  expect(askedTooOften('busy', 429, waitMs, false)[1]).toContain(expected)
})

it('a 429 is no reason to set the option limits if the license already limits the requests', () => {
  expect(askedTooOften('busy', 429, 250, false)[1]).toMatch(/The option limits keeps requests within/)
  expect(askedTooOften('busy', 429, 250, true)[1]).toMatch(/or raise the limit\.$/)
})

it('a 400 to every event names baseUrl, because nginx answers so to plain HTTP on a port with TLS', () => {
  const [, message] = paused('checkout', 400, 'The plain HTTP request was sent to HTTPS port')
  expect(message).toContain('Check baseUrl, the form of the events, and any proxy or firewall')
  expect(refusedAndKept('checkout', '400 The plain HTTP request was sent to HTTPS port')[1]).toContain(
    'Check baseUrl, the token',
  )
})
