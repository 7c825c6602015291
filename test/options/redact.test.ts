import { inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import { createShipper, type ShipperOptions } from '../../src/index.ts'
import { resolveRedact } from '../../src/options/resolve-redact.ts'

const good = { baseUrl: 'https://logs.example', dataset: 'checkout', token: 'a-token-of-tests' }
const key = 'a key of 16 bytes or more'

function refusal(options: object): Error & { code: string; option: string } {
  try {
    createShipper({ ...good, ...options } as ShipperOptions)
  } catch (error) {
    return error as Error & { code: string; option: string }
  }
  throw new Error('accepted')
}

describe('redact', () => {
  it.each<[string, string]>([
    ['', 'empty segments'],
    ['.a', 'empty segments'],
    ['a.', 'empty segments'],
    ['a..b', 'empty segments'],
    ['[0].a', 'an item at its start'],
    ['[*]', 'an item at its start'],
    ['a[]', 'brackets that hold anything but'],
    ['a[-1]', 'brackets that hold anything but'],
    ['a[b]', 'brackets that hold anything but'],
    ['a[0', 'brackets that hold anything but'],
    ['a["b]', 'brackets that hold anything but'],
    ['a[1e3]', 'brackets that hold anything but'],
    ['a[0]b', 'characters right after a bracket'],
    ['a]', 'special characters'],
    ['$.a', 'special characters'],
    ['/a/b', 'special characters'],
    ['a,b', 'special characters'],
    ['pass?', 'special characters'],
    ['{a}', 'special characters'],
    ['^a$', 'special characters'],
    [' a', 'special characters or outer spaces'],
    ['a .b', 'special characters or outer spaces'],
    ['a**', '\\*\\* within a name'],
    ['***', '\\*\\* within a name'],
    ['x'.repeat(201), 'of at most 200 characters'],
  ])('refuses the path %j', (path, problem) => {
    const error = refusal({ redact: ['fine', path] })
    expect(error).toMatchObject({ name: 'RangeError', code: 'LOGFERRY_INVALID_OPTION', option: 'redact[1]' })
    expect(error.message).toMatch(new RegExp(`must be a path such as 'password'.*${problem}`))
  })

  it.each<[string, unknown, string, 'TypeError' | 'RangeError', RegExp]>([
    ['a text', 'password', 'redact', 'TypeError', /an array of paths, or an object.*got a string of 8 characters/],
    ['null', null, 'redact', 'TypeError', /got null/],
    ['a pattern', [/a/], 'redact[0]', 'TypeError', /got an object/],
    ['too many paths', Array(201).fill('a'), 'redact', 'RangeError', /at most 200 paths; got 201 paths/],
    ['no paths', {}, 'redact.paths', 'TypeError', /an array of paths; got nothing$/],
    ['an unknown name', { paths: [], censer: 'x' }, 'redact.censer', 'TypeError', /Did you mean `redact.censor`\?$/],
    [
      'a censor of another type',
      { paths: [], censor: 5 },
      'redact.censor',
      'TypeError',
      /a text of at most 100.*got 5/,
    ],
    ['a long censor', { paths: [], censor: 'x'.repeat(101) }, 'redact.censor', 'RangeError', /at most 100/],
    [
      'hash without a key',
      { paths: [], censor: 'hash' },
      'redact.hashKey',
      'TypeError',
      /a key of at least 16 bytes for censor: 'hash', .*; got nothing$/,
    ],
    ['a short key', { paths: [], censor: 'hash', hashKey: 'short' }, 'redact.hashKey', 'RangeError', /a shorter one/],
    ['a key without hash', { paths: [], hashKey: key }, 'redact.hashKey', 'TypeError', /left out unless/],
    ['no boolean', { paths: [], ignoreCase: 1 }, 'redact.ignoreCase', 'TypeError', /true or false/],
  ])('refuses %s', (_, redact, option, name, message) => {
    const error = refusal({ redact })
    expect(error).toMatchObject({ name, code: 'LOGFERRY_INVALID_OPTION', option })
    expect(error.message).toMatch(message)
  })

  it('never shows a path or a key, which may be a secret', () => {
    for (const redact of [
      ['xaat-secret-0001?'],
      { paths: ['.xaat-secret-0001'] },
      { paths: [], censor: 'hash', hashKey: 'xaat-secret' },
      { paths: [], hashKey: 'xaat-secret-0001' },
      'xaat-secret-0001',
    ]) {
      expect(inspect(refusal({ redact }), { showHidden: true })).not.toContain('xaat')
    }
  })

  it('is off if it names nothing', () => {
    expect(resolveRedact(undefined, undefined)).toBeUndefined()
    expect(resolveRedact([], [])).toBeUndefined()
    expect(resolveRedact({ paths: [], censor: 'remove' }, undefined)).toBeUndefined()
  })

  it('is not changed with the arrays and the key that the application holds', () => {
    const paths = ['a']
    const hashKey = Buffer.from(key)
    const resolved = resolveRedact({ paths, censor: 'hash', hashKey }, undefined)
    paths[0] = 'b'
    hashKey.fill(0)
    expect(resolved?.paths).toEqual([[{ kind: 'levels' }, { kind: 'name', literals: ['a'] }]])
    expect(resolved?.censor).toEqual({ kind: 'hash', key: Uint8Array.from(Buffer.from(key)) })
  })
})

describe('redactText', () => {
  it.each<[string, unknown, string, 'TypeError' | 'RangeError', RegExp]>([
    ['a pattern alone', /a/g, 'redactText', 'TypeError', /an array of at most 100 regular expressions/],
    ['a text', ['a'], 'redactText[0]', 'TypeError', /a regular expression with the flag g; got a string/],
    ['an object', [{ exec: () => null, flags: 'g' }], 'redactText[0]', 'TypeError', /got an object/],
    ['a pattern without g', [/a/g, /b/i], 'redactText[1]', 'RangeError', /which masks every match; got one without/],
    ['a sticky pattern', [/a/gy], 'redactText[0]', 'RangeError', /without the flag y/],
    ['too many', Array(101).fill(/a/g), 'redactText', 'RangeError', /at most 100.*got 101/],
  ])('refuses %s', (_, redactText, option, name, message) => {
    const error = refusal({ redactText })
    expect(error).toMatchObject({ name, code: 'LOGFERRY_INVALID_OPTION', option })
    expect(error.message).toMatch(message)
  })
})
