import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { statementText } from '../../src/usage/statement-text.ts'

describe('the text of a statement is its message without', () => {
  it.each([
    ['numbers', 'order 1234 placed in 35.5 ms', 'order * placed in * ms'],
    ['signs of numbers', 'moved by -5, then +3 and 1e-7', 'moved by *, then * and *'],
    ['numbers at a word', 'worker7 took 12ms, worker12 took 7s', 'worker* took *ms, worker* took *s'],
    ['lists of numbers', 'ids 1, 2, 3 and 4', 'ids * and *'],
    ['times', 'at 10:30:01.123 on 2026-11-22', 'at * on *'],
    ['addresses of machines', 'from 10.0.0.1:8080 closed', 'from * closed'],
    ['UUIDs', 'user 8f3a2b1c-1234-4abc-9def-0123456789ab left', 'user * left'],
    ['hexadecimal numbers', 'commit 8f3a2b1 at 0x7fff', 'commit * at *'],
    ['long alphanumerics', 'key V1StGXR8_Z5jdHi6B-myT is old', 'key * is old'],
    ['names of pods', 'pod checkout-7d9f8b6c5-xkqzb is ready', 'pod checkout-* is ready'],
    ['long texts without a space', `got ${'abcdefgh'.repeat(5)}`, 'got *'],
    ['quoted parts', `file "a b" and 'c' and \`d\` and “e”`, 'file * and * and * and *'],
    ['JSON', 'got {"user":"alice","age":5}', 'got {*}'],
    ['e-mail addresses', 'mail to <alice.smith+x@example.com>, sent', 'mail to <*>, sent'],
    ['credentials in addresses', 'GET https://user:pass@host/path failed', 'GET * failed'],
    ['queries of addresses', 'GET https://x.y/a?token=abc&b=c ok', 'GET https://x.y/a?* ok'],
    ['ids in paths', 'GET /orders/123/items/8f3a2b 200', 'GET /orders/*/items/*'],
    ['what is assigned', 'name=alice age = 5 kind="x"', 'name=* age = * kind=*'],
    ['what follows the name of a secret', 'password: hunter, api-key: abc', 'password: *, api-key: *'],
    ['what follows a scheme', 'Authorization: Bearer abc.def and Basic abc', 'Authorization: Bearer * and Basic *'],
    ['words for values', 'user undefined is null or true', 'user * is * or *'],
    ['further lines', '  failed\n  at foo (file.js)', 'failed'],
    ['control characters', 'a\u0000b\u001bc', 'a b c'],
  ])('%s', (_, message, text) => {
    expect(statementText(message)).toBe(text)
  })

  it.each([
    'token expired, session started',
    "it's not a user's fault, don't retry",
    'if a == b => c',
    '[OrderService] placed: an unclosed "quote',
    'Größe geändert 😀',
  ])('nothing, if it has no value: %s', message => {
    expect(statementText(message)).toBe(message)
  })
})

describe('whatever a message holds', () => {
  const message = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 400 }),
    fc.string({ maxLength: 2000 }),
    fc
      .array(
        fc.constantFrom('"', "'", '=', '@', '?', ' ', '-', '_', '.', 'a', 'Ab', '7', 'token:', '\n', '😀', '\ud800'),
        {
          maxLength: 600,
        },
      )
      .map(parts => parts.join('')),
  )

  it('its text is one well-formed line of at most 200 characters without a digit', () => {
    fc.assert(
      fc.property(message, given => {
        const text = statementText(given)
        expect(text.length).toBeLessThanOrEqual(200)
        expect(text).not.toMatch(/[0-9]|\p{Cc}|^ | $/u)
        expect(text.isWellFormed()).toBe(true)
      }),
    )
  })

  it('the text does not depend on the numbers and identifiers', () => {
    const word = fc.constantFrom('order', 'placed', 'in', 'for', 'customer:', '[api]', 'ms,', 'done', '(retry)')
    const value = fc.oneof(
      fc.integer().map(String),
      fc.double({ noDefaultInfinity: true, noNaN: true, min: -1e6, max: 1e6 }).map(n => n.toFixed(3)),
      fc.uuid(),
      fc.stringMatching(/^[a-z]{1,8}[.+]?[a-z]{1,8}@[a-z]{1,8}\.com$/),
      fc.integer({ min: 0 }).map(n => `0x${n.toString(16)}`),
      fc.string({ unit: fc.constantFrom(...'abc xyz'), maxLength: 20 }).map(text => `"${text}"`),
    )
    fc.assert(
      fc.property(fc.array(fc.tuple(word, value, value), { minLength: 1, maxLength: 8 }), parts => {
        const one = statementText(parts.map(([text, a]) => `${text} is ${a}`).join(' so '))
        const other = statementText(parts.map(([text, , b]) => `${text} is ${b}`).join(' so '))
        expect(one).toBe(other)
      }),
    )
  })

  it.each([
    ['quotes', '"\'`“'.repeat(250)],
    ['signs', '@?=-'.repeat(100_000)],
    ['joined words', 'a-'.repeat(500_000)],
  ])('reading it takes no longer than its first thousand characters: %s', (_, given) => {
    const startedAt = performance.now()
    for (let i = 0; i < 100; i++) statementText(given)
    expect(performance.now() - startedAt).toBeLessThan(1000)
  })
})
