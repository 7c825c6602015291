import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { answerToOutcome } from '../../src/delivery/answer-to-outcome.ts'
import type { Outcome } from '../../src/outcome.ts'
import { Secret } from '../../src/text/secret.ts'
import { cpuMs } from '../support/cpu-ms.ts'

const now = Date.parse('2026-11-21T12:00:00Z')
const outcome = (status: number, body: string | Uint8Array = '', headers: Record<string, string> = {}) =>
  answerToOutcome({ status, headers, body: Buffer.from(body as string), cut: undefined }, 10, now)

/** A body that refuses two of ten events, and the part of it that has arrived. */
const refusal = JSON.stringify({
  ingested: 8,
  failed: 2,
  failures: [
    { timestamp: 'T1', error: 'a }, "[' },
    { timestamp: 'T2', error: 'b' },
  ],
})
const cutAfter = (text: string, body = refusal) => {
  const end = body.indexOf(text) + text.length
  return answerToOutcome(
    { status: 200, headers: {}, body: Buffer.from(body).subarray(0, end), cut: 'interrupted' },
    10,
    now,
  )
}
const told = { t1: { timestamp: 'T1', reason: 'a }, "[' }, t2: { timestamp: 'T2', reason: 'b' } }

describe('the outcome of an answer', () => {
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
    ['nothing', ''],
    ['half a JSON object', '{"ingested": 5, "fai'],
    ['an array', '[1,2]'],
    ['a number', '17'],
    ['null', 'null'],
    ['failed as a text', '{"failed":"three"}'],
    ['failed below zero', '{"failed":-1}'],
    ['failed below one', '{"failed":0.5}'],
  ])('a 200 with %s as its body is delivered', (_, body) => {
    expect(outcome(200, body)).toEqual({ kind: 'delivered' })
  })

  it.each([
    ['a page', '<html><body><h1>It works!</h1></body></html>'],
    ['a page after a byte order mark and line breaks', '\ufeff\r\n <!DOCTYPE html><h1>It works!'],
    ['XML', '<?xml version="1.0"?><title>It works!</title>'],
  ])('a 200 with %s as its body delivers, with a doubt', (_, body) => {
    expect(outcome(200, body)).toEqual({ kind: 'delivered', doubt: { page: 'It works!' } })
  })

  it.each([
    ['{"ingested":0}', { kind: 'delivered', doubt: { ingested: 0 } }],
    ['{"ingested":4,"failed":0,"failures":[]}', { kind: 'delivered', doubt: { ingested: 4 } }],
    ['{"ingested":7,"failed":2}', { kind: 'partly-rejected', failed: 2, failures: [], doubt: { ingested: 7 } }],
    ['{"ingested":8,"failed":2}', { kind: 'partly-rejected', failed: 2, failures: [] }],
    ['{"ingested":11,"failed":0}', { kind: 'delivered' }],
    ['{"ingested":10,"failed":-3}', { kind: 'delivered' }],
    ['{"ingested":"0"}', { kind: 'delivered' }],
  ])('of ten events, a 200 with %s leaves as many unexplained as it says', (body, expected) => {
    expect(outcome(200, body)).toEqual(expected)
  })

  it('a 200 that names more failures than it counts has as many as it names', () => {
    const failures = [{ error: 'a' }, null, 7, { error: 'b' }]
    expect(outcome(200, JSON.stringify({ ingested: 10, failed: 0, failures }))).toMatchObject({ failed: 2 })
    expect(outcome(200, JSON.stringify({ failed: 3, failures }))).toMatchObject({ failed: 3 })
  })

  it('of a 200 with a different long reason for each event, only the first reasons are read', () => {
    const failures = Array.from({ length: 8000 }, (_, i) => ({
      timestamp: 't',
      error: `${i}${'%26&amp;\u202e'.repeat(50)}`,
    }))
    const body = Buffer.from(JSON.stringify({ failed: 8000, failures }))
    const secret = new Secret('xaat-1234-5678')
    let redactedChars = 0
    const found = answerToOutcome({ status: 200, headers: {}, body, cut: undefined }, 8000, now, text => {
      redactedChars += text.length
      return secret.replacedIn(text, '***')
    })
    expect(redactedChars).toBeLessThan(150_000)
    const reasons = found.kind === 'partly-rejected' ? found.failures.map(({ reason }) => reason) : []
    expect(reasons).toHaveLength(8000)
    expect(reasons[0]).toMatch(/^0%26&amp;/)
    expect(reasons.at(-1)).toBe('not read, because the answer has too many different reasons')
  })

  it('a 200 that counts failures is partly rejected, with the given reasons', () => {
    const body = JSON.stringify({ ingested: 7, failed: 3, failures: [{ timestamp: 'T', error: 'too wide' }, null, 5] })
    expect(outcome(200, body)).toEqual({
      kind: 'partly-rejected',
      failed: 3,
      failures: [{ timestamp: 'T', reason: 'too wide' }],
    })
  })

  it('a 200 whose failures begin with some that name nothing has those that name an event', () => {
    const failures = [...Array(10).fill(null), 'x', { timestamp: 'T', error: 'too wide' }]
    const named = [{ timestamp: 'T', reason: 'too wide' }]
    expect(outcome(200, JSON.stringify({ failed: 1, failures }))).toMatchObject({ failed: 1, failures: named })
    expect(outcome(200, JSON.stringify({ failures }))).toMatchObject({ failed: 10, failures: named })
  })

  it('a 200 with failures, but without their number, is partly rejected', () => {
    expect(outcome(200, '{"failures":[{"timestamp":"T","error":"too wide"}]}')).toEqual({
      kind: 'partly-rejected',
      failed: 1,
      failures: [{ timestamp: 'T', reason: 'too wide' }],
    })
  })

  it.each([
    ['"b"}', [told.t1, told.t2]],
    ['"b', [told.t1, { timestamp: 'T2', reason: 'no reason given' }]],
    ['"T2', [told.t1]],
    ['},{"', [told.t1]],
    ['"a },', [{ timestamp: 'T1', reason: 'no reason given' }]],
    ['\\"', [{ timestamp: 'T1', reason: 'no reason given' }]],
    ['"failed":2,', []],
  ])('a 200 that breaks off after %s counts as far as it came', (text, failures) => {
    expect(cutAfter(text)).toEqual({ kind: 'partly-rejected', failed: 2, failures })
  })

  it('an incomplete count is ignored, because more digits may follow', () => {
    expect(cutAfter('"failed":2')).toEqual({ kind: 'delivered' })
    expect(cutAfter('"ingested":8,')).toEqual({ kind: 'delivered' })
  })

  it('without a count, the failures that came are counted', () => {
    const body = '{"failures":[{"error":"a"},{"error":"b"},{"error":{"deep":[[[1,2],3],4]}},{"er'
    expect(cutAfter(body, body)).toMatchObject({ failed: 3, failures: [{ reason: 'a' }, { reason: 'b' }, {}] })
  })

  it('an answer of megabytes with failures and then anything is read without delay', () => {
    const [events, start] = [100_000, '{"failed":2,"failures":[{"timestamp":"T1","error":"a, [b"}],"more":']
    const rest = ['[', '{}', '""', '0'].map(value => `${value},`.repeat(4_000_000))
    for (const text of ['['.repeat(16_000_000), ...rest.map(values => `[${values}0]}`)]) {
      const answer = { status: 200, headers: {}, body: Buffer.from(start + text), cut: undefined }
      let outcome: Outcome | undefined
      const usedMs = cpuMs(() => {
        outcome = answerToOutcome(answer, events, now)
      })
      expect(outcome).toMatchObject({
        kind: 'partly-rejected',
        failed: 2,
        failures: [{ timestamp: 'T1', reason: 'a, [b' }],
      })
      expect(usedMs).toBeLessThan(1000)
    }
  })

  it.each([
    ['a byte order mark', Buffer.from(`\ufeff${refusal}`), undefined],
    ['gzip', gzipSync(refusal), 'gzip'],
    ['gzip by another name', gzipSync(refusal), ' X-GZIP'],
    ['deflate', deflateSync(refusal), 'deflate'],
    ['deflate without its header', deflateRawSync(refusal), 'deflate'],
    ['br', brotliCompressSync(refusal), 'br'],
    ['zstd', zstdCompressSync(refusal), 'zstd'],
    ['a header that says gzip, and is wrong', Buffer.from(refusal), 'gzip'],
    ['identity', Buffer.from(refusal), 'identity'],
  ])('a body with %s is read', (_, body, encoding) => {
    const headers = encoding === undefined ? {} : { 'content-encoding': encoding }
    expect(outcome(200, body, headers)).toMatchObject({ failed: 2, failures: [told.t1, told.t2] })
  })

  it('a compressed body that breaks off counts as far as it can be unpacked', () => {
    const body = gzipSync(refusal).subarray(0, -20)
    const answer = { status: 200, headers: { 'content-encoding': 'gzip' }, body, cut: 'interrupted' } as const
    expect(answerToOutcome(answer, 10, now)).toMatchObject({ failed: 2 })
  })

  it.each([
    ['gzip', gzipSync],
    ['br', brotliCompressSync],
    ['zstd', zstdCompressSync],
  ] as const)('a bomb of %s is unpacked only up to a limit, and counts that far', (encoding, compress) => {
    const bomb = compress(Buffer.concat([Buffer.from('{"failed":3,"failures":["'), Buffer.alloc(2 ** 24, 120)]))
    const before = process.memoryUsage().arrayBuffers
    const found = outcome(200, bomb, { 'content-encoding': encoding })
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(2 ** 22)
    expect(found.kind).toMatch(/delivered|partly-rejected/)
  })

  it('a compressed reason is read', () => {
    expect(outcome(403, gzipSync('{"message":"no"}'), { 'content-encoding': 'gzip' })).toMatchObject({ reason: 'no' })
  })

  it('the reason is the service’s message, on one short line without control characters', () => {
    expect(outcome(403, '{"message":"token\\u001b[31m is\\nread only"}')).toMatchObject({
      reason: 'token [31m is read only',
    })
    expect(outcome(403, JSON.stringify({ error: 'x'.repeat(5000) }))).toMatchObject({ reason: `${'x'.repeat(200)}…` })
    expect(outcome(502, '<html><style>a{}</style><h1>502 Bad\nGateway</h1></html>')).toMatchObject({
      reason: 'Bad Gateway',
    })
  })

  it.each([
    [
      'Varnish',
      503,
      '<html><head><title>503 Backend fetch failed</title></head><body><h1>Error 503 Backend fetch failed</h1><p>Backend ' +
        'fetch failed</p><h3>Guru Meditation:</h3><p>XID: 7</p><hr><p>Varnish cache server</p></body></html>',
      'Backend fetch failed Guru Meditation: XID: 7 Varnish cache server',
    ],
    [
      'nginx',
      502,
      '<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n<center><h1>502 Bad Gateway</h1></center>\r\n' +
        '<hr><center>nginx/1.22.1</center>\r\n</body>\r\n</html>\r\n',
      'Bad Gateway nginx/1.22.1',
    ],
    [
      'HAProxy',
      503,
      '<html><body><h1>503 Service Unavailable</h1>\nNo server is available to handle this request.\n</body></html>',
      'Service Unavailable No server is available to handle this request.',
    ],
    [
      'a page with a long head',
      503,
      `<html><head>${'<meta name="a">'.repeat(250)}<title>Maintenance until noon</title></head><body></body></html>`,
      'Maintenance until noon',
    ],
    ['Caddy', 502, '', 'Bad Gateway'],
    ['a proxy that repeats the status', 504, '504', 'Gateway Timeout'],
    ['a proxy with a status of its own', 599, '', 'no reason given'],
    [
      'a service that names another number',
      400,
      '{"error":"4000 fields at most, 400 allowed"}',
      '4000 fields at most, 400 allowed',
    ],
  ])('the reason of %s has neither the status nor the same words twice', (_, status, body, reason) => {
    expect(outcome(status, body)).toMatchObject({ reason })
  })

  it('a hostile page is read quickly', () => {
    expect(cpuMs(() => outcome(500, '<'.repeat(65_536)))).toBeLessThan(200)
    expect(cpuMs(() => outcome(500, '<a>500 '.repeat(9362)))).toBeLessThan(200)
    expect(cpuMs(() => outcome(500, '\n'.repeat(65_536)))).toBeLessThan(200)
    expect(cpuMs(() => outcome(500, `500${' '.repeat(65_000)}x`))).toBeLessThan(200)
  })

  it('a redirect names its target, without parts that may be secret', () => {
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
