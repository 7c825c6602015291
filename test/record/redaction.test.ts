import { createHmac } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { CensorFunction } from '../../src/options/redact-options.ts'
import { resolveRedact } from '../../src/options/resolve-redact.ts'
import { eventToJson } from '../../src/record/event-to-line.ts'
import { Redaction } from '../../src/record/redaction.ts'
import { cpuMs } from '../support/cpu-ms.ts'
import { randomFrom } from '../support/random.ts'
import { soakRuns } from '../support/soak-runs.ts'

/** A segment of a path in these tests: `*` and `**`, a name with stars, an item, any item. */
type Segment = { name: string; isQuoted?: true } | { item: number | '*' } | '**'
type Key = string | number

const none = { stubbed: 0, cut: 0 }
const maxBytes = 1_000_000

function redactionOf(redact: unknown, redactText?: readonly RegExp[]): Redaction {
  const resolved = resolveRedact(redact, redactText)
  if (resolved === undefined) throw new Error('nothing to redact')
  return new Redaction(resolved)
}

function lineOf(redaction: Redaction, event: object, bytes = maxBytes): string {
  const line = redaction.toLine(event, undefined, undefined, bytes, { ...none })
  if (line === undefined) throw redaction.failure
  return line.bytes.toString('utf8', 0, line.length)
}

function redacted(event: object, redact: unknown, redactText?: readonly RegExp[]): unknown {
  return JSON.parse(lineOf(redactionOf(redact, redactText), event))
}

describe('a slow and obvious implementation', () => {
  const globs = new Map<string, RegExp>()
  function glob(name: string): RegExp {
    const literals = name.split('*').map(text => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'))
    const pattern = globs.get(name) ?? new RegExp(`^${literals.join('.*')}$`, 's')
    globs.set(name, pattern)
    return pattern
  }

  /** Returns true if a path of the event matches the pattern. */
  function matches(segments: readonly Segment[], path: readonly Key[]): boolean {
    const [segment, ...rest] = segments
    const [key, ...below] = path
    if (segment === undefined) return path.length === 0
    if (segment === '**' && matches(rest, path)) return true
    if (key === undefined) return false
    if (segment === '**') return matches(segments, below)
    if ('item' in segment) return typeof key === 'number' && [key, '*'].includes(segment.item) && matches(rest, below)
    if (glob(segment.name).test(String(key)) && matches(rest, below)) return true
    return typeof key === 'number' && matches(segments, below)
  }

  /** Returns the path itself, and the path with names split at their dots. */
  function spellings([key, ...below]: readonly Key[]): Key[][] {
    if (key === undefined) return [[]]
    const heads: Key[][] = typeof key === 'string' && key.includes('.') ? [[key], key.split('.')] : [[key]]
    return heads.flatMap(head => spellings(below).map(rest => [...head, ...rest]))
  }

  /** Returns the pattern itself, and the pattern with quoted names split at their dots. */
  function patternSpellings([segment, ...below]: readonly Segment[]): Segment[][] {
    if (segment === undefined) return [[]]
    const isDotted = typeof segment === 'object' && 'name' in segment && segment.name.includes('.')
    const heads: Segment[][] = isDotted ? [[segment], segment.name.split('.').map(name => ({ name }))] : [[segment]]
    return heads.flatMap(head => patternSpellings(below).map(rest => [...head, ...rest]))
  }

  function isRedacted(pattern: readonly Segment[], path: readonly Key[]): boolean {
    const [first] = pattern
    const bare = pattern.length === 1 && typeof first === 'object' ? (['**', ...pattern] as Segment[]) : pattern
    const named = ['attributes', 'body', 'error', 'metadata'].map((name): Segment[] => [{ name }])
    const origins: Segment[][] = [[], ...named, [{ name: 'splat' }, { item: '*' }]]
    const atOrigins = bare[0] === '**' ? [bare] : origins.map(origin => [...origin, ...bare])
    const patterns = atOrigins.flatMap(patternSpellings)
    return spellings(path).some(keys =>
      keys.some((_, i) => patterns.some(segments => matches(segments, keys.slice(0, i + 1)))),
    )
  }

  const pathText = (path: readonly Key[]) =>
    path.reduce<string>((text, key) => {
      if (typeof key === 'number') return `${text}[${key}]`
      if (key === '' || /[.[\]*"]/.test(key)) return `${text}[${JSON.stringify(key)}]`
      return text === '' ? key : `${text}.${key}`
    }, '')

  function walk(
    value: unknown,
    path: readonly Key[],
    censor: (path: readonly Key[], value: unknown) => unknown,
  ): unknown {
    if (Array.isArray(value)) return value.map((item, i) => censored(item, [...path, i], censor) ?? null)
    if (typeof value !== 'object' || value === null) return value
    const copy = Object.create(null)
    for (const [name, member] of Object.entries(value)) {
      const replaced = censored(member, [...path, name], censor)
      if (replaced !== undefined) copy[name] = replaced
    }
    return copy
  }

  const kept = Symbol('kept')
  function censored(value: unknown, path: readonly Key[], censor: Parameters<typeof walk>[2]): unknown {
    const replaced = censor(path, value)
    return replaced === kept ? walk(value, path, censor) : replaced
  }

  const name = fc.constantFrom(
    ...[
      'a',
      'b',
      'c',
      'a_x',
      'b_x',
      'a.b',
      'b.c.a',
      'items',
      '0',
      '1',
      '__proto__',
      'attributes',
      'metadata',
      'body',
      'error',
      'splat',
      '',
    ],
    'message',
    'x'.repeat(70),
  )
  const segment: fc.Arbitrary<Segment> = fc.oneof(
    { arbitrary: fc.constantFrom('a', 'b', 'c', 'items', '0', 'message', 'stack').map(name => ({ name })), weight: 5 },
    { arbitrary: fc.constantFrom('*', '*_x', 'a*', '*a*', '1*').map(name => ({ name })), weight: 2 },
    { arbitrary: fc.constantFrom<0 | 1 | '*'>(0, 1, '*').map(item => ({ item })), weight: 1 },
    {
      arbitrary: fc.constantFrom('a.b', 'b.c.a', 'a', 'c.').map(name => ({ name, isQuoted: true as const })),
      weight: 2,
    },
    { arbitrary: fc.constant('**' as const), weight: 1 },
  )
  const path = fc
    .array(segment, { minLength: 1, maxLength: 4 })
    .filter(segments => typeof segments[0] !== 'object' || 'name' in segments[0])
    .filter(segments => segments.at(-1) !== '**')
  const textOf = (segments: readonly Segment[]) =>
    segments
      .map((each, i) => {
        if (typeof each === 'object' && 'item' in each) return `[${each.item}]`
        if (typeof each === 'object' && each.isQuoted) return `["${each.name}"]`
        return `${i === 0 ? '' : '.'}${each === '**' ? each : each.name}`
      })
      .join('')

  let texts = 0
  const scalar = fc.oneof(
    fc.constant('t').map(() => `secret-${++texts}-`),
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
    fc.string({ maxLength: 5 }),
  )
  const { plain, odd } = fc.letrec(tie => ({
    value: fc.oneof({ maxDepth: 4 }, scalar, fc.array(tie('value'), { maxLength: 3 }), tie('plain')),
    plain: fc.dictionary(name, tie('value'), { maxKeys: 5 }),
    oddValue: fc.oneof(
      { maxDepth: 3 },
      scalar,
      fc.constantFrom(undefined, 10n, () => 1, Symbol('s')),
      fc.date({ noInvalidDate: true }),
      fc.array(tie('oddValue'), { maxLength: 3 }),
      tie('odd'),
      tie('odd').map(fields => new Map(Object.entries(fields as object))),
      tie('odd').map(fields => Object.assign(new Error('secret-in-error'), { fields })),
      tie('odd').map(fields => ({ toJSON: () => fields })),
      tie('odd').map(fields => new Proxy(fields as object, {})),
      tie('oddValue').map(value => ({
        get a() {
          return value
        },
      })),
    ),
    odd: fc.dictionary(name, tie('oddValue'), { maxKeys: 4 }),
  })) as { plain: fc.Arbitrary<object>; odd: fc.Arbitrary<object> }

  function expectSame(
    paths: readonly (readonly Segment[])[],
    censor: CensorFunction | string,
    events: readonly object[],
  ) {
    const redaction = redactionOf({ paths: paths.map(textOf), censor, ...(censor === 'hash' && { hashKey: key }) })
    for (const event of [...events, ...events]) {
      const whole = JSON.parse(eventToJson(event, maxBytes, { ...none }))
      const expected = walk(whole, [], (path, value) => {
        if (!paths.some(pattern => isRedacted(pattern, path))) return kept
        if (typeof censor === 'function') return censor(value, pathText(path))
        return censor === 'remove' ? undefined : censor === 'hash' ? hashOf(value) : censor
      })
      expect(JSON.stringify(JSON.parse(lineOf(redaction, event)))).toBe(JSON.stringify(expected))
    }
  }

  const key = 'a key of sixteen bytes or more'
  const hashOf = (value: unknown) => {
    const text = typeof value === 'string' ? value : JSON.stringify(value)
    return `hash:${createHmac('sha256', key).update(text).digest('hex').slice(0, 32)}`
  }
  const withPath: CensorFunction = (value, at) => `${typeof value} at ${at}`
  const paths = fc.array(path, { minLength: 1, maxLength: 4 })
  const censor = fc.constantFrom<CensorFunction | string>('[redacted]', 'remove', 'hash', withPath)

  it('redacts the same values of plain data', { timeout: 60_000 }, () => {
    fc.assert(
      fc.property(paths, censor, fc.array(plain, { maxLength: 5 }), (patterns, replacement, events) =>
        expectSame(patterns, replacement, events),
      ),
      { numRuns: soakRuns(100) },
    )
  })

  it('redacts the same values of Errors, Maps, getters, proxies and anything else', { timeout: 60_000 }, () => {
    fc.assert(
      fc.property(paths, censor, fc.array(odd, { maxLength: 3 }), (patterns, replacement, events) =>
        expectSame(patterns, replacement, events),
      ),
      { numRuns: soakRuns(100) },
    )
  })

  it('redacts the same values of events that are cut to fit', { timeout: 60_000 }, () => {
    fc.assert(
      fc.property(paths, fc.oneof(plain, odd), fc.integer({ min: 256, max: 600 }), (patterns, event, bytes) => {
        const fields = JSON.parse(eventToJson(event, maxBytes, { ...none }))
        const padded = JSON.parse(JSON.stringify(fields), (_, value) =>
          typeof value === 'string' && value.startsWith('secret-') ? value.repeat(40) : value,
        )
        const secrets: string[] = []
        walk(padded, [], (path, value) => {
          if (!patterns.some(pattern => isRedacted(pattern, path))) return kept
          secrets.push(...(JSON.stringify(value).match(/secret-\d+-/g) ?? []))
          return undefined
        })
        const line = lineOf(redactionOf(patterns.map(textOf)), padded, bytes)
        for (const secret of secrets) expect(line).not.toContain(secret)
      }),
      { numRuns: soakRuns(100) },
    )
  })

  it('masks the same parts of texts', { timeout: 60_000 }, () => {
    const patterns = [/secret-\d/g, /[ab]+/gi, /x*/g, /é|\u{1f600}/gu]
    const text = fc.string({ unit: fc.constantFrom('a', 'B', 'x', 'secret-1', '1', 'é', '😀', '"', ' ') })
    const { event } = fc.letrec(tie => ({
      value: fc.oneof(
        { maxDepth: 3 },
        text,
        fc.integer(),
        fc.date({ noInvalidDate: true }),
        fc.array(tie('value')),
        tie('event'),
      ),
      event: fc.dictionary(fc.constantFrom('a', 'secret-1', 'c'), tie('value')),
    })) as { event: fc.Arbitrary<object> }
    fc.assert(
      fc.property(event, fc.subarray(patterns, { minLength: 1 }), (fields, chosen) => {
        const masked = JSON.parse(JSON.stringify(fields), (_, value) => {
          if (typeof value !== 'string') return value
          const units = value.split('')
          const flags = units.map(() => false)
          for (const pattern of chosen)
            for (const { 0: match, index } of value.matchAll(pattern)) flags.fill(true, index, index + match.length)
          return units.map((unit, i) => (!flags[i] ? unit : flags[i - 1] === true ? '' : '***')).join('')
        })
        expect(redacted(fields, { paths: [], censor: '***' }, chosen)).toEqual(masked)
      }),
      { numRuns: soakRuns(100) },
    )
  })
})

describe('paths', () => {
  const card = { items: [{ card: 1 }, { card: 2 }], others: [[{ card: 3 }]] }

  it.each<[string, object, unknown]>([
    ['password', { password: 1, a: [{ password: { x: 1 } }] }, { password: 'X', a: [{ password: 'X' }] }],
    [
      'user.email',
      { user: { email: 1, name: 2 }, x: { user: { email: 3 } } },
      { user: { email: 'X', name: 2 }, x: { user: { email: 3 } } },
    ],
    ['**.email', { user: { email: 1 }, email: 2 }, { user: { email: 'X' }, email: 'X' }],
    ['a.**.z', { a: { z: 1, b: { c: { z: 2 } } }, z: 3 }, { a: { z: 'X', b: { c: { z: 'X' } } }, z: 3 }],
    ['headers.*', { headers: { a: 1, b: [2] }, a: 1 }, { headers: { a: 'X', b: 'X' }, a: 1 }],
    ['headers.**', { headers: { a: 1, b: [2] }, a: 1 }, { headers: { a: 'X', b: 'X' }, a: 1 }],
    ['*_secret', { a_secret: 1, b: { _secret: 2, secret: 3 } }, { a_secret: 'X', b: { _secret: 'X', secret: 3 } }],
    ['a*c*e', { abcde: 1, ace: 2, aec: 3 }, { abcde: 'X', ace: 'X', aec: 3 }],
    ['items[*].card', card, { items: [{ card: 'X' }, { card: 'X' }], others: [[{ card: 3 }]] }],
    ['items[0].card', card, { items: [{ card: 'X' }, { card: 2 }], others: [[{ card: 3 }]] }],
    ['items.card', card, { items: [{ card: 'X' }, { card: 'X' }], others: [[{ card: 3 }]] }],
    ['items.1.card', card, { items: [{ card: 1 }, { card: 'X' }], others: [[{ card: 3 }]] }],
    ['others.card', card, { items: [{ card: 1 }, { card: 2 }], others: [[{ card: 'X' }]] }],
    ['others[*][*].card', card, { items: [{ card: 1 }, { card: 2 }], others: [[{ card: 'X' }]] }],
    ['items[1]', card, { items: [{ card: 1 }, 'X'], others: [[{ card: 3 }]] }],
    ['["a.b"].c', { 'a.b': { c: 1 }, a: { b: { c: 2 } } }, { 'a.b': { c: 'X' }, a: { b: { c: 'X' } } }],
    ['["user.email"]', { attributes: { user: { email: 1, id: 2 } } }, { attributes: { user: { email: 'X', id: 2 } } }],
    ['a.b', { 'a.b': 1, a: { b: 2 } }, { 'a.b': 'X', a: { b: 'X' } }],
    ['["a,*"]', { 'a,*': 1, 'a,b': 2 }, { 'a,*': 'X', 'a,b': 2 }],
    ['Token', { Token: 1, token: 2 }, { Token: 'X', token: 2 }],
    ['user.email', { splat: ['x', { user: { email: 1 } }] }, { splat: ['x', { user: { email: 'X' } }] }],
    ['user.email', { body: { user: { email: 1 } } }, { body: { user: { email: 'X' } } }],
    ['user.email', { metadata: { user: { email: 1 } } }, { metadata: { user: { email: 'X' } } }],
    ['user.email', { attributes: { user: { email: 1 } } }, { attributes: { user: { email: 'X' } } }],
    ['*', { a: 1, b: { c: 2 } }, { a: 'X', b: 'X' }],
    ['**', { a: 1, b: { c: 2 } }, { a: 'X', b: 'X' }],
  ])('%s redacts what it names', (path, event, expected) => {
    expect(redacted(event, { paths: [path], censor: 'X' })).toEqual(expected)
  })

  it('ignore case if asked to', () => {
    const redact = { paths: ['Authorization', '*_SECRET'], censor: 'X', ignoreCase: true }
    expect(redacted({ authorization: 1, AUTHORIZATION: 2, a_Secret: 3 }, redact)).toEqual({
      authorization: 'X',
      AUTHORIZATION: 'X',
      a_Secret: 'X',
    })
  })

  it('ignore the case of letters that have more than two forms', () => {
    const redact = { paths: ['ΚΩΔΙΚΌΣ*', 'ς', 'STRASSE', 'K'], censor: 'X', ignoreCase: true }
    const names = ['ΚΩΔΙΚΌΣΑ', 'κωδικός', 'κωδικόσα', 'Σ', 'σ', 'straße', 'Straße', '\u212a']
    const event = Object.fromEntries(names.map(name => [name, 1]))
    expect(redacted(event, redact)).toEqual(Object.fromEntries(names.map(name => [name, 'X'])))
  })

  it('redact a member whose name is too long to be judged', () => {
    const long = `${'x'.repeat(300)}_secret`
    expect(redacted({ [long]: 1, [`${long}.a`]: 2, a: 3 }, { paths: ['*_secret'], censor: 'X' })).toEqual({
      [long]: 'X',
      [`${long}.a`]: 'X',
      a: 3,
    })
  })

  it('hold for names beyond all that are learned and remembered', () => {
    const redaction = redactionOf({ paths: ['secret', 'a.*.b'], censor: 'X' })
    for (let i = 0; i < 10_000; i++) {
      const event = { [`n${i}`]: { secret: i, x: [{ secret: i }] }, a: { [`m${i}`]: { b: i, c: 1 } } }
      const expected = `{"n${i}":{"secret":"X","x":[{"secret":"X"}]},"a":{"m${i}":{"b":"X","c":1}}}`
      if (lineOf(redaction, event) !== expected) expect(lineOf(redaction, event)).toBe(expected)
    }
  })
})

describe('censors', () => {
  it('leave a member out, and an item of an array as null', () => {
    const event = { a: 1, secret: 2, items: [1, 2], b: 3 }
    expect(lineOf(redactionOf({ paths: ['secret', 'items[0]'], censor: 'remove' }), event)).toBe(
      '{"a":1,"items":[null,2],"b":3}',
    )
    expect(lineOf(redactionOf({ paths: ['secret'], censor: 'remove' }), { secret: 1 })).toBe('{}')
  })

  it('give equal hashes to equal values, and others with another key', () => {
    const hashed = (secret: unknown, hashKey = 'k'.repeat(16)) =>
      (redacted({ secret }, { paths: ['secret'], censor: 'hash', hashKey }) as { secret: string }).secret
    expect(hashed('mary')).toMatch(/^hash:[0-9a-f]{32}$/)
    expect(hashed('mary')).toBe(hashed('mary'))
    expect(hashed({ a: [1] })).toBe(hashed(new Map([['a', [1]]])))
    expect(new Set([hashed('mary'), hashed('Mary'), hashed('mary', 'l'.repeat(16)), hashed({ mary: 1 })]).size).toBe(4)
  })

  it('get plain data and the path', () => {
    const seen: unknown[] = []
    const censor: CensorFunction = (value, path) => {
      seen.push([value, path])
      return typeof value === 'string' ? `${value.slice(0, 1)}…` : null
    }
    const error = Object.assign(new Error('no'), { token: 'abc' })
    const paths = ['token', 'items[0].map', 'a.*']
    expect(
      redacted({ error, items: [{ map: new Map([['k', 1]]) }], a: { 'b.c': 2 } }, { paths, censor }),
    ).toMatchObject({
      error: { message: 'no', token: 'a…' },
      items: [{ map: null }],
      a: { 'b.c': null },
    })
    expect(seen).toEqual([
      ['abc', 'error.token'],
      [{ k: 1 }, 'items[0].map'],
      [2, 'a["b.c"]'],
    ])
  })

  it.each<[string, CensorFunction, string]>([
    ['throws', () => JSON.parse('{secret'), 'redact.censor threw SyntaxError'],
    ['returns an object', (() => ({})) as never, 'redact.censor returned an object'],
    ['returns a promise', (async () => 'x') as never, 'redact.censor returned an object'],
    ['returns a BigInt', (() => 1n) as never, 'redact.censor returned a bigint'],
  ])('that fail give no line: a function that %s', (_, censor, problem) => {
    const redaction = redactionOf({ paths: ['secret'], censor })
    expect(redaction.toLine({ secret: 'x' }, undefined, undefined, maxBytes, { ...none })).toBeUndefined()
    expect(redaction.problem).toBe(problem)
    expect(lineOf(redaction, { public: 'x' })).toBe('{"public":"x"}')
  })

  it.each<[string, object]>([
    ['hashes', { censor: 'hash', hashKey: 'k'.repeat(16) }],
    ['calls', { censor: () => 'x' }],
  ])('make no more than 5,000 %s for an event, and nothing escapes', (_, long) => {
    const redaction = redactionOf({ paths: ['ids[*]'], ...long })
    const ids = Array.from({ length: 20_000 }, (_, i) => i)
    const { ids: shipped } = JSON.parse(lineOf(redaction, { ids, map: new Map() })) as { ids: unknown[] }
    expect(shipped.filter(id => typeof id !== 'string')).toEqual([])
    expect(shipped.at(-1)).toBe('[redacted]')
  })

  it('do not touch the event', () => {
    const event = { secret: 'x', map: new Map([['secret', 'y']]), deep: { secret: 'z' } }
    redacted(event, ['secret'])
    expect(event).toEqual({ secret: 'x', map: new Map([['secret', 'y']]), deep: { secret: 'z' } })
  })
})

describe('texts', () => {
  it('are masked in messages, Errors, arrays, stubs and dates, and numbers are not', () => {
    const error = new TypeError('token=abc1')
    const event = {
      message: 'got token=abc2 and token=abc3',
      error,
      list: ['token=abc4'],
      get thrown() {
        throw new Error('token=abc5')
      },
      n: 1234,
      when: new Date(0),
    }
    const masked = redacted(event, { paths: [], censor: '***' }, [/token=\w+/g, /1970/g]) as Record<string, unknown>
    expect(JSON.stringify(masked)).not.toContain('abc')
    expect(masked).toMatchObject({
      message: 'got *** and ***',
      error: { name: 'TypeError', message: '***', stack: expect.stringMatching(/^TypeError: \*\*\*\n {4}at /) },
      list: ['***'],
      thrown: '[Throws: ***]',
      n: 1234,
      when: '***-01-01T00:00:00.000Z',
    })
  })

  it('that are cut before or because they are long keep no part of a match that the cut may have broken', () => {
    const secret = `key-${'s'.repeat(500)}`
    const pattern = /key-s{500}/g
    for (const length of [65_000, 65_300, 65_536 - 10, 65_536, 70_000, 2_000_000]) {
      const event = { text: 'x'.repeat(length) + secret + 'y'.repeat(2000) }
      const line = lineOf(redactionOf([], [pattern]), event)
      expect(line).not.toContain('key-s')
      if (length > 65_000) expect(JSON.parse(line)).toMatchObject({ logferry: { cut: true } })
    }
    const thrown = {
      get a() {
        throw new Error(`${'x'.repeat(190)}${secret}`)
      },
    }
    expect(lineOf(redactionOf([], [pattern]), thrown)).toBe('{"a":"[Throws]"}')
    const cut = { text: `${'x'.repeat(3000)}key-sss... [497 more characters]` }
    expect(lineOf(redactionOf([], [pattern]), cut)).not.toContain('key-s')
    const more = { text: `{"a":"${cut.text}","b":"${cut.text}!"} and ${secret}` }
    expect(lineOf(redactionOf([], [pattern]), more)).not.toContain('key-s')
  })

  it('cost no more than a bound, however many and long they are', () => {
    const event = { list: Array.from({ length: 2000 }, () => 'x'.repeat(60_000)) }
    let line = ''
    const spentMs = cpuMs(() => {
      line = lineOf(redactionOf([], [/[a-w]\d+/g, /secret/g]), event)
    })
    expect(spentMs).toBeLessThan(1500)
    expect(JSON.parse(line)).toMatchObject({ logferry: { cut: true } })
  })

  it('are masked at places that had other texts before', () => {
    const text = fc.constantFrom(
      'calm',
      'quiet',
      'secret',
      'a secret 1970',
      'x'.repeat(120),
      `${'x'.repeat(120)} secret`,
    )
    const leaf = fc.oneof({ arbitrary: text, weight: 4 }, fc.integer(), fc.constant(new Date(0)))
    const name = fc.constantFrom('a', 'b', 'secret', 'd')
    const group = fc.dictionary(name, leaf)
    const value = fc.oneof(leaf, group, fc.array(fc.oneof(leaf, group), { maxLength: 4 }))
    const wide = fc.array(text, { minLength: 20, maxLength: 20 }).map(values => ({ ...values }))
    const events = fc.array(fc.oneof(fc.dictionary(name, value), wide), { minLength: 20, maxLength: 40 })
    fc.assert(
      fc.property(events, given => {
        const redaction = redactionOf([], [/secret/g, /1970/g])
        for (const event of given) {
          const masked = JSON.parse(JSON.stringify(event), (_, member) =>
            typeof member === 'string' ? member.replaceAll(/secret|1970/g, '[redacted]') : member,
          )
          expect(JSON.parse(lineOf(redaction, event))).toEqual(masked)
        }
      }),
      { numRuns: soakRuns(30) },
    )
  })

  it('are masked whatever the state of the pattern that the application holds', () => {
    const pattern = /abc/g
    const redaction = redactionOf([], [pattern])
    pattern.lastIndex = 5
    expect(lineOf(redaction, { text: 'abc abc' })).toBe('{"text":"[redacted] [redacted]"}')
    expect(lineOf(redaction, { text: 'abc abc' })).toBe('{"text":"[redacted] [redacted]"}')
    expect(pattern.lastIndex).toBe(5)
  })

  it('are replaced as the censor says', () => {
    const replaced = (redact: unknown) => (redacted({ a: ['x=1'] }, redact, [/\d/g]) as { a: string[] }).a[0]
    expect(replaced({ paths: [], censor: 'remove' })).toBe('x=')
    expect(replaced({ paths: [], censor: 'hash', hashKey: 'k'.repeat(16) })).toMatch(/^x=hash:[0-9a-f]{32}$/)
    expect(replaced({ paths: [], censor: (match: unknown, path: string) => `<${match} at ${path}>` })).toBe(
      'x=<1 at a[0]>',
    )
  })
})

describe('a name beyond the length of every path', () => {
  it.each<[string, unknown, RegExp[]]>([
    ['of millions of dots', '.'.repeat(4_000_000), [/pin \d+/g]],
    ['without dots', '\u00e9'.repeat(40_000_000), []],
  ])('%s takes no longer than any other', (_, name, texts) => {
    const redaction = redactionOf({ paths: texts.length === 0 ? ['secret'] : [], ignoreCase: true }, texts)
    const event = { [name as string]: 1 }
    lineOf(redaction, event)
    expect(cpuMs(() => lineOf(redaction, event))).toBeLessThan(100)
  })
})

describe('thousands of names that no event had before', () => {
  const random = randomFrom(1)
  const word = (length: number) => Array.from({ length }, () => String.fromCharCode(97 + random() * 26)).join('')
  const dotted = (parts: number, length: number) => Array.from({ length: parts }, () => word(length)).join('.')
  const eventOf = (name: () => string) =>
    Object.fromEntries(Array.from({ length: 5000 }, (_, n) => [name(), { secret: `hidden ${n}` }]))

  it.each<[string, () => object, (i: number) => string]>([
    ['of many parts', () => eventOf(() => dotted(99, 1)), i => `**.user${i}.*.token${i}`],
    ['that begin as paths do', () => eventOf(() => `ab.${dotted(20, 2)}.ab`), i => `**.a*.*.**.z${i}*`],
    ['of items', () => ({ list: Array(100_000).fill(1), secret: 'hidden' }), i => `list.${i}*.*.x${i}`],
  ])('%s take no longer than a log call may, and hide their secrets', (_, event, path) => {
    const redaction = redactionOf({ paths: ['secret', ...Array.from({ length: 199 }, (_, i) => path(i))] })
    lineOf(redaction, event())
    const last = event()
    let line = ''
    expect(cpuMs(() => (line = lineOf(redaction, last)))).toBeLessThan(400)
    expect(line).not.toContain('hidden')
    expect(lineOf(redaction, { n: 1, all: { secret: 'hidden' } })).toBe('{"n":1,"all":{"secret":"[redacted]"}}')
  })

  it('hide no value of later events', () => {
    const paths = Array.from({ length: 200 }, (_, i) => `m.${i}*.x`)
    for (const censor of Array<string>(5).fill('[redacted]').concat('remove')) {
      const redaction = redactionOf({ paths, censor })
      for (let i = 0; i < 50; i++) lineOf(redaction, { m: { [word(5)]: 1 } })
      const m = Object.fromEntries(Array.from({ length: 2000 }, () => [word(70), 1]))
      expect(lineOf(redaction, { m, status: 200 })).not.toContain('200')
      expect(redaction.removes({ status: 200 }, 'status', 200)).toBe(false)
      expect(lineOf(redaction, { status: 200 })).toBe('{"status":200}')
    }
  })

  it('keep their values, if the paths are few', () => {
    const redaction = redactionOf({ paths: ['secret', '**.token', 'user.email', 'headers.*', '*_secret'] })
    const event = Object.fromEntries(Array.from({ length: 8000 }, (_, n) => [word(9), n]))
    expect(JSON.parse(lineOf(redaction, event))).toEqual(event)
  })
})

describe('a value of hundreds of megabytes', () => {
  const text = Buffer.alloc(200_000_000, 'abc').toString('latin1')
  const hash = { paths: ['secret', 'id'], censor: 'hash', hashKey: 'k'.repeat(16) }
  const ofFunction = { paths: ['secret', 'id'], censor: (value: unknown) => `hash:${String(value).length}` }

  it.each([
    ['hashed', hash, { secret: text }],
    ['hashed in an object', hash, { secret: { text } }],
    ['passed to a function in an object', ofFunction, { secret: { text } }],
    ['passed to a function in an array, with others', ofFunction, { secret: [1, [text]] }],
  ])('is not %s, but replaced at once', (_, redact, fields) => {
    const redaction = redactionOf(redact)
    const event = { ...fields, id: 7 }
    lineOf(redaction, event)
    expect(cpuMs(() => lineOf(redaction, event))).toBeLessThan(100)
    expect(JSON.parse(lineOf(redaction, event))).toEqual({
      secret: '[redacted]',
      id: expect.stringMatching(/^hash:/),
    })
  })
})

describe('resources', () => {
  it('are redacted like the event, once for each tail', () => {
    const redaction = redactionOf({ paths: ['resource.host.name', 'secret'], censor: 'X' })
    const tail = Buffer.from(',"resource":{"host":{"name":"h","id":1}},"scope":{"secret":"s"}}')
    for (const event of [{ a: 1 }, {}, { m: new Map() }]) {
      const line = redaction.toLine(event, undefined, tail, maxBytes, { ...none })
      const fields = JSON.parse(line?.bytes.toString('utf8', 0, line.length) ?? '')
      expect(fields).toMatchObject({ resource: { host: { name: 'X', id: 1 } }, scope: { secret: 'X' } })
    }
    const removing = redactionOf({ paths: ['resource', 'scope'], censor: 'remove' })
    const line = removing.toLine({ a: 1 }, undefined, tail, maxBytes, { ...none })
    expect(line?.bytes.toString('utf8', 0, line.length)).toBe('{"a":1}')
  })
})

describe('what is no object', () => {
  it.each<[unknown, unknown]>([
    ['pin 1234', { message: '[redacted]' }],
    [null, { body: null }],
    [[{ password: 1 }], { body: [{ password: '[redacted]' }] }],
  ])('%j is redacted as what it becomes', (event, expected) => {
    expect(redacted(event as object, ['password'], [/pin \d+/g])).toEqual(expected)
  })
})

describe('log calls within a log call', () => {
  it('are redacted, too, and do not disturb the outer one', () => {
    const redaction = redactionOf({ paths: ['secret'], censor: 'X' })
    let inner = ''
    const event = {
      get a() {
        inner = lineOf(redaction, { secret: 1, b: 2 })
        return 1
      },
      secret: 3,
    }
    expect(lineOf(redaction, event)).toBe('{"a":1,"secret":"X"}')
    expect(inner).toBe('{"secret":"X","b":2}')
  })
})
