/** The forms of messages, by which statements are known without making their texts. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Fingerprints, fingerprintOf } from '../../src/usage/fingerprint.ts'
import { statementText } from '../../src/usage/statement-text.ts'

const ids = [
  '1f3a9c',
  '550e8400-e29b-41d4-a716-446655440000',
  'b50e8400-e29b-41d4-a716-446655440000',
  'V1StGXR8_Z5jdHi6B-myT',
]

describe('a fingerprint', () => {
  it.each<[string, string]>([
    ['order 7 placed', 'order 123456 placed'],
    ['worker7 took 5ms', 'worker12 took 350ms'],
    ...ids.map(id => [`order ${id} placed`, 'order 8f2b1c placed'] as [string, string]),
    ['user "alice" left', 'user "bob the builder" left'],
    ['GET /users/8f2b1c/orders 200 5ms', 'GET /users/V1StGXR8_Z5jdHi6B-myT/orders 404 1200ms'],
    ['valid until Tue, 10 Nov 2026 10:00:00 GMT', 'valid until Fri, 1 May 2026 23:59:59 GMT'],
    ['[10/Oct/2026:13:55:36 +0000] served', '[01/Jan/2027:00:00:01 +0000] served'],
    ['Error: job 5 failed\n    at run (a.ts:5:1)', 'Error: job 17 failed\n    at stop (b.ts:9:1)'],
    ['\n order 7 placed', '  order 8 placed'],
    ['{"id":5,"name":"a"}', '{"id":77,"name":"b c"}'],
    ['"a\\"b" placed "c"', '"it\'s" placed "d"'],
    ['mail to alice@example.com sent', 'mail to bob.jones@mail.test sent'],
    ['GET /orders?page=2&q=a 200', 'GET /orders?q=shoes 404'],
    ['state=open took 5ms', 'state=closed took 77ms'],
  ])('is that of all messages of a form: %j and %j', (one, other) => {
    expect(fingerprintOf(one, 1)).toBe(fingerprintOf(other, 1))
    expect(statementText(one)).toBe(statementText(other))
  })

  it.each([
    ['order 7 placed', 'order 7 removed'],
    ['order 7 placed', 'order 7: placed'],
    ['order placed', 'order 7 placed'],
    ['worker7 began', 'thread7 began'],
    ['7items sold', '7orders sold'],
    ['"a" placed', '"a" removed'],
    ['\n order placed', '\n order removed'],
    ['on Mon the 5th', 'on Tue the 5th'],
    ['Größe 5', 'Straße 5'],
    ['a == b placed', 'a == b removed'],
    ['"a\\"b" placed "c"', '"a\\"b" removed "c"'],
    ['@alice came', '@ came'],
    ['注文5作成', '注文5削除'],
  ])('tells the messages of two statements apart: %j and %j', (one, other) => {
    expect(fingerprintOf(one, 1)).not.toBe(fingerprintOf(other, 1))
  })

  it.each([
    ['whose first line is long', `${'x '.repeat(300)}\nand more`],
    ['with quotes of several kinds', `'a' and "b" placed`],
    ['with a quoted path of Windows', '"C:\\logs\\" placed "c"'],
    ['with a quote that is not closed', 'a size of 5" or more'],
  ])('does not exist for a message %s', (_, message) => {
    expect(fingerprintOf(message, 1)).toBe(0)
  })

  it('is of another statement in another dataset or level', () => {
    expect(fingerprintOf('order placed', 1)).not.toBe(fingerprintOf('order placed', 2))
  })

  it('is never that of two statements with other words', () => {
    const word = fc.constantFrom('order', 'placed', 'the', 'GET', 'MailService', 'a')
    const value = fc.oneof(
      fc.nat().map(String),
      fc.uuid(),
      fc.constantFrom(...ids, '"a b"', '10.0.0.1', '5ms', 'worker7', '0x7f3a', '[1,2]', '{"a":1}'),
    )
    const sign = fc.constantFrom(' ', ': ', ', ', ' (', ') ', '\n')
    const message = fc
      .array(fc.tuple(fc.oneof(word, value), sign), { maxLength: 8 })
      .map(parts => parts.flat().join(''))
    const texts = new Map<number, string>()
    fc.assert(
      fc.property(message, text => {
        const fingerprint = fingerprintOf(text, 1)
        if (fingerprint === 0) return
        const made = statementText(text)
          .replace(/[^\p{L}]+/gu, ' ')
          .trim()
        expect(texts.get(fingerprint) ?? made).toBe(made)
        texts.set(fingerprint, made)
      }),
      { numRuns: 500 },
    )
  })
})

describe('the known fingerprints', () => {
  it('have the statements of the latest ones', () => {
    const known = new Fingerprints()
    for (let n = 1; n <= 10_000; n++) known.remember(fingerprintOf(`${'abcdefghij'.slice(n % 10)} ${n % 7}`, n), n)
    expect(known.statementOf(fingerprintOf(`${'abcdefghij'.slice(0)} ${10_000 % 7}`, 10_000))).toBe(10_000)
    expect(known.statementOf(fingerprintOf('never seen', 1))).toBe(0)
  })
})
