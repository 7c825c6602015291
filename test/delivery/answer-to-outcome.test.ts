import { describe, expect, it } from 'vitest'
import { answerToOutcome } from '../../src/delivery/answer-to-outcome.ts'

const now = Date.parse('2026-11-21T12:00:00Z')
const outcome = (status: number, body = '', headers: Record<string, string> = {}) =>
  answerToOutcome({ status, headers, body }, now)

describe('what an answer means', () => {
  it.each([
    [200, 'delivered'],
    [201, 'delivered'],
    [204, 'delivered'],
    [301, 'blocked'],
    [302, 'blocked'],
    [304, 'blocked'],
    [307, 'blocked'],
    [308, 'blocked'],
    [400, 'rejected'],
    [401, 'blocked'],
    [402, 'blocked'],
    [403, 'blocked'],
    [404, 'blocked'],
    [405, 'blocked'],
    [407, 'blocked'],
    [408, 'retryable'],
    [410, 'blocked'],
    [413, 'too-large'],
    [415, 'unsupported-encoding'],
    [418, 'blocked'],
    [422, 'rejected'],
    [425, 'retryable'],
    [429, 'retryable'],
    [430, 'retryable'],
    [431, 'blocked'],
    [500, 'retryable'],
    [502, 'retryable'],
    [503, 'retryable'],
    [504, 'retryable'],
    [599, 'retryable'],
  ])('%i is %s', (status, kind) => {
    expect(outcome(status).kind).toBe(kind)
  })

  it.each([
    ['an HTML page', '<html><body><h1>It works!</h1></body></html>'],
    ['nothing', ''],
    ['half a JSON object', '{"ingested": 5, "fai'],
    ['an array', '[1,2]'],
    ['a number', '17'],
    ['null', 'null'],
    ['failed as a text', '{"failed":"three"}'],
    ['failed below zero', '{"failed":-1}'],
  ])('a 200 with %s as its body is delivered', (_, body) => {
    expect(outcome(200, body)).toEqual({ kind: 'delivered' })
  })

  it('a 200 that counts failures is partly rejected, with the reasons it gives', () => {
    const body = JSON.stringify({ ingested: 7, failed: 3, failures: [{ timestamp: 'T', error: 'too wide' }, null, 5] })
    expect(outcome(200, body)).toEqual({
      kind: 'partly-rejected',
      failed: 3,
      failures: [
        { timestamp: 'T', reason: 'too wide' },
        { timestamp: undefined, reason: 'no reason given' },
        { timestamp: undefined, reason: 'no reason given' },
      ],
    })
  })

  it('the reason is the service’s message, on one short line without control characters', () => {
    expect(outcome(403, '{"message":"token\\u001b[31m is\\nread only"}')).toMatchObject({
      reason: 'token [31m is read only',
    })
    expect(outcome(403, JSON.stringify({ error: 'x'.repeat(5000) }))).toMatchObject({ reason: `${'x'.repeat(200)}…` })
    expect(outcome(502, '<html><style>a{}</style><h1>502 Bad\nGateway</h1></html>')).toMatchObject({
      reason: '502 Bad Gateway',
    })
    expect(outcome(503)).toMatchObject({ reason: 'no reason given' })
  })

  it('a hostile page costs no time', () => {
    const startedAt = performance.now()
    outcome(500, '<'.repeat(65_536))
    expect(performance.now() - startedAt).toBeLessThan(200)
  })

  it('a redirect tells where to, without what may be secret in it', () => {
    expect(outcome(302, '', { location: 'https://evil.example/x?token=abc' })).toMatchObject({
      kind: 'blocked',
      reason: 'redirects to https://evil.example',
    })
    expect(outcome(302, '', { location: '/login' })).toMatchObject({
      reason: 'redirects to another path of the same host',
    })
  })

  it('Retry-After is read on 429 and 503', () => {
    expect(outcome(429, '', { 'retry-after': '7' })).toMatchObject({ retryAfterMs: 7000 })
    expect(outcome(503, '', { 'retry-after': 'Sat, 21 Nov 2026 12:00:09 GMT' })).toMatchObject({ retryAfterMs: 9000 })
  })
})
