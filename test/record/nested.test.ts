import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { eventToJson } from '../../src/record/event-to-line.ts'
import { isPlainData } from '../../src/record/is-plain-data.ts'
import { nestAttributes } from '../../src/record/nested.ts'
import { soakRuns } from '../support/soak-runs.ts'

/** Returns attributes as a line has them. */
function found(attributes: object): Record<string, unknown> {
  return JSON.parse(eventToJson(nestAttributes(attributes), 5_000_000, { stubbed: 0, cut: 0 }))
}

function own(json: string): object {
  return JSON.parse(json)
}

describe('dotted names become nested objects', () => {
  test.each<[string, object, object]>([
    [
      'several segments',
      { 'http.request.method': 'GET', 'http.route': '/', plain: 1 },
      { http: { request: { method: 'GET' }, route: '/' }, plain: 1 },
    ],
    ['a value before its group', { a: 1, 'a.b': 2 }, { a: 1, 'a.b': 2 }],
    ['a value after its group', { 'a.b': 2, a: 1 }, { 'a.b': 2, a: 1 }],
    ['a value within a group', { 'a.b.c.d': 1, 'a.b': 2, 'a.x': 3 }, { a: { 'b.c.d': 1, b: 2, x: 3 } }],
    ['a null and a group', { a: null, 'a.b': 1 }, { a: null, 'a.b': 1 }],
    ['an object and a group', { a: { x: 1 }, 'a.b': 2 }, { a: { x: 1 }, 'a.b': 2 }],
    ['an object and a group of the same', { 'a.b': 2, a: { b: 1 } }, { 'a.b': 2, a: { b: 1 } }],
    ['names in values', { 'a.b': { 'c.d': 1 } }, { a: { b: { 'c.d': 1 } } }],
    [
      'empty segments',
      { 'a..b': 1, '.a': 2, 'a.': 3, '': 4, '.': 5, 'a.b': 6 },
      { 'a..b': 1, '.a': 2, 'a.': 3, '': 4, '.': 5, a: { b: 6 } },
    ],
    [
      'names of prototypes',
      own('{"__proto__.x":1,"constructor.prototype.x":2,"toString.y":3}'),
      own('{"__proto__":{"x":1},"constructor":{"prototype":{"x":2}},"toString":{"y":3}}'),
    ],
    ['a prototype and a group', own('{"__proto__":1,"__proto__.x":2}'), own('{"__proto__":1,"__proto__.x":2}')],
    ['numbers', { 'a.0': 'x', 'a.1': 'y' }, { a: { 0: 'x', 1: 'y' } }],
  ])('%s', (_, attributes, expected) => {
    const before = JSON.stringify(attributes)
    expect(JSON.stringify(found(attributes))).toBe(JSON.stringify(expected))
    expect(JSON.stringify(attributes)).toBe(before)
  })

  test('up to 16 levels deep; the rest of a name stays dotted', () => {
    const name = Array.from({ length: 10_000 }, (_, i) => `s${i}`).join('.')
    let group = found({ [name]: 'end', 'a.b': 1 })
    for (let i = 0; i < 15; i++) group = group[`s${i}`] as Record<string, unknown>
    const [rest] = Object.keys(group)
    expect(rest).toMatch(/^s15\.s16\./)
    expect(group[rest as string]).toBe('end')
  })

  test('with names of a megabyte', () => {
    const long = 'n'.repeat(1_000_000)
    expect(found({ [`${long}.a`]: 1, [long]: 2 })).toEqual({ [`${long}.a`]: 1, [long]: 2 })
    expect(found({ [`a.${long}`]: 1 })).toEqual({ a: { [long]: 1 } })
  })

  test('without touching any prototype', () => {
    nestAttributes(own('{"__proto__.polluted":1,"constructor.prototype.polluted":2}'))
    expect(({} as Record<string, unknown>).polluted).toBeUndefined()
    expect((Object as unknown as Record<string, unknown>).polluted).toBeUndefined()
  })
})

test('an object without dotted names is returned as it is', () => {
  const attributes = { a: 1, b: { 'c.d': 2 } }
  expect(nestAttributes(attributes)).toBe(attributes)
})

test('a nested object takes the fast path into its line', () => {
  expect(isPlainData(nestAttributes({ 'a.b': 1, 'c.d.e': [2] }), 1000)).toBe(true)
})

test('more names than are remembered are nested, too', () => {
  for (let i = 0; i < 5000; i++) expect(found({ [`a.b${i}`]: i })).toEqual({ a: { [`b${i}`]: i } })
})

describe('laws', () => {
  const segment = fc.constantFrom('a', 'b', 'c', '', '__proto__', 'constructor', 'toString')
  const name = fc.array(segment, { minLength: 1, maxLength: 20 }).map(segments => segments.join('.'))
  const attributes = fc.dictionary(name, fc.oneof(fc.integer(), fc.constant(null), fc.constant({ b: 1 })), {
    maxKeys: 12,
  })

  test('every value is found by following its name, and no other value exists', () => {
    fc.assert(
      fc.property(attributes, values => {
        const nested = found(values)
        for (const [path, value] of Object.entries(values))
          expect(JSON.stringify(follow(nested, path))).toBe(JSON.stringify(value))
        expect(JSON.stringify(nested).match(/\d+|null/g)?.length ?? 0).toBe(Object.keys(values).length)
      }),
      { numRuns: soakRuns(600) },
    )
  })

  test('the order of the names does not matter', () => {
    fc.assert(
      fc.property(attributes, values => {
        const reversed = Object.fromEntries(Object.entries(values).reverse())
        expect(found(reversed)).toEqual(found(values))
      }),
    )
  })
})

/** Returns the value at a dotted path whose segments may be nested or joined; `undefined` if it has none. */
function follow(group: unknown, path: string): unknown {
  if (typeof group !== 'object' || group === null) return undefined
  if (Object.hasOwn(group, path)) return (group as Record<string, unknown>)[path]
  for (let dot = path.indexOf('.'); dot >= 0; dot = path.indexOf('.', dot + 1)) {
    const first = path.slice(0, dot)
    if (!Object.hasOwn(group, first)) continue
    const value = follow((group as Record<string, unknown>)[first], path.slice(dot + 1))
    if (value !== undefined) return value
  }
  return undefined
}
