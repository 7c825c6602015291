import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { FieldTexts } from '../../src/fields/field-texts.ts'
import { eventToJson, plainToJson } from '../../src/record/event-to-line.ts'
import { nestAttributes } from '../../src/record/nested.ts'
import { soakRuns } from '../support/soak-runs.ts'

type Fields = Record<string, unknown>

const toJson = (event: object) => eventToJson(event, 1_000_000, { stubbed: 0, cut: 0 })
const asSent = (event: object): Fields => JSON.parse(toJson(event))

function textsFor(...paths: string[]): FieldTexts {
  return new FieldTexts(paths, { maxTextBytes: 1_000_000, toJson: plainToJson, asSent })
}

describe('a declared group becomes one text', () => {
  it.each<[string, string[], object, object]>([
    [
      'with all its members',
      ['labels.*'],
      { a: 1, labels: { env: 'prod', n: 2 }, z: 1 },
      { a: 1, labels: '{"env":"prod","n":2}', z: 1 },
    ],
    ['with or without a star', ['labels'], { labels: { env: 'prod' } }, { labels: '{"env":"prod"}' }],
    ['with groups within it', ['labels'], { labels: { a: { b: 1 } } }, { labels: '{"a":{"b":1}}' }],
    [
      'within other groups',
      ['http.headers.*'],
      { http: { url: '/', headers: { host: 'x' } } },
      { http: { url: '/', headers: '{"host":"x"}' } },
    ],
    [
      'if it was logged with dotted names',
      ['labels.*'],
      { 'labels.env': 'prod', 'labels.k8s.pod': 'p' },
      { labels: '{"env":"prod","k8s.pod":"p"}' },
    ],
    ['if it was logged in both ways', ['labels.*'], { labels: { a: 1 }, 'labels.b': 2 }, { labels: '{"a":1,"b":2}' }],
    ['under a dotted name', ['http.headers'], { 'http.headers': { host: 'x' } }, { 'http.headers': '{"host":"x"}' }],
    ['under a dotted name on the way', ['a.b.c.*'], { 'a.b': { c: { d: 1 } } }, { 'a.b': { c: '{"d":1}' } }],
    [
      'if dotted and nested names lead to it',
      ['http.headers'],
      { 'http.headers.x': 1, a: 1, http: { headers: { y: 2 }, url: '/' } },
      { a: 1, http: { url: '/' }, 'http.headers': '{"x":1,"y":2}' },
    ],
    [
      'if a group on the way has nothing else',
      ['http.headers'],
      { http: { headers: { y: 2 } }, 'http.headers': { x: 1 } },
      { http: { headers: '{"y":2,"x":1}' } },
    ],
    ['if both have the same member', ['a'], { a: { b: 1 }, 'a.b': 2 }, { a: '{"b":[1,2]}' }],
    [
      'beside a value at the end of another way',
      ['a.b'],
      { a: { b: 'text' }, 'a.b.c': 1 },
      { a: { b: 'text' }, 'a.b.*': '{"c":1}' },
    ],
    ['if it is empty', ['labels'], { labels: {} }, { labels: '{}' }],
    ['if it is no plain data', ['labels'], { labels: new Map([['a', 1]]) }, { labels: '{"a":1}' }],
    [
      'beside others',
      ['a', 'b.c'],
      { a: { x: 1 }, b: { c: { y: 2 }, d: 3 } },
      { a: '{"x":1}', b: { c: '{"y":2}', d: 3 } },
    ],
    [
      'by the name of a prototype',
      ['__proto__.*'],
      JSON.parse('{"__proto__":{"x":1}}'),
      JSON.parse('{"__proto__":"{\\"x\\":1}"}'),
    ],
  ])('%s', (_, paths, event, expected) => {
    const before = JSON.stringify(event)
    expect(JSON.stringify(asSent(textsFor(...paths).fold(event)))).toBe(JSON.stringify(expected))
    expect(JSON.stringify(event)).toBe(before)
  })

  it.each<[string, object]>([
    ['no such group', { a: 1, labelled: { b: 1 } }],
    ['a value in its place', { labels: 'none' }],
    ['an array in its place', { labels: [{ a: 1 }] }],
    ['null in its place', { labels: null }],
  ])('and an event with %s stays the same object', (_, event) => {
    expect(textsFor('labels.*').fold(event)).toBe(event)
  })

  it('a value in the place of the group keeps its field', () => {
    expect(textsFor('labels.*').fold({ labels: 'none', 'labels.a': 1 })).toEqual({
      labels: 'none',
      'labels.*': '{"a":1}',
    })
  })

  it('within nested attributes of OpenTelemetry', () => {
    const event = { attributes: nestAttributes({ 'labels.env': 'prod', 'http.route': '/' }) }
    expect(asSent(textsFor('attributes.labels.*').fold(event))).toEqual({
      attributes: { labels: '{"env":"prod"}', http: { route: '/' } },
    })
  })
})

describe('whatever is logged', () => {
  const leaf = fc.oneof(
    fc.integer(),
    fc.string({ maxLength: 5 }),
    fc.constantFrom(null, undefined, 12n, new Date(0), new Error('e'), new Map([['k', 1]]), [1], () => 1),
    fc.constant({ toJSON: () => ({ x: { y: 1 } }) }),
    fc.constant({
      get thrower() {
        throw new Error('no')
      },
    }),
  )
  const name = fc.constantFrom('a', 'b', 'c', 'a.b', 'a.b.c', 'b.c', '__proto__', '')
  const { group } = fc.letrec<{ group: object; member: unknown }>(tie => ({
    member: fc.oneof({ depthSize: 'small', withCrossShrink: true }, leaf, tie('group')),
    group: fc.dictionary(name, tie('member'), { maxKeys: 4 }),
  }))

  it('declared groups have no fields, and all else is as it would be sent', () => {
    fc.assert(
      fc.property(group, event => {
        const texts = textsFor('a.b.*')
        const sent = asSent(texts.fold(event))
        const plain = asSent(event)
        const paths = leavesOf(sent).map(([path]) => path)
        expect(paths.filter(path => path.startsWith('a.b.') && path !== 'a.b.*')).toEqual([])
        const isValue = ([path]: [string, unknown]) => path === 'a.b'
        const values = leavesOf(plain).filter(isValue).length
        expect(paths.filter(path => path === 'a.b').length).toBeLessThanOrEqual(Math.max(values, 1))
        expect(paths.filter(path => path === 'a.b.*').length).toBeLessThanOrEqual(1)
        const others = (leaves: [string, unknown][]) =>
          leaves
            .filter(([path]) => path !== 'a.b' && !path.startsWith('a.b.') && path !== 'a')
            .map(one => JSON.stringify(one))
        expect(others(leavesOf(sent)).sort()).toEqual(others(leavesOf(plain)).sort())
      }),
      { numRuns: soakRuns(200) },
    )
  })

  it.each<[string, () => object]>([
    ['a getter that throws', () => Object.defineProperty({ k: 1 }, 'labels', { enumerable: true, get: () => raise() })],
    ['a proxy that throws', () => new Proxy({ labels: {} }, { ownKeys: () => raise() })],
    ['a cycle', () => cycle()],
    ['an array', () => [1]],
  ])('%s does no harm', (_, make) => {
    expect(() => asSent(textsFor('labels.*').fold(make()))).not.toThrow()
  })
})

function raise(): never {
  throw new Error('no')
}

function cycle(): object {
  const labels: Fields = {}
  labels.labels = labels
  return { labels }
}

function leavesOf(value: unknown, path?: string): [string, unknown][] {
  const members = typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.entries(value) : []
  if (members.length === 0) return path === undefined ? [] : [[path, value]]
  return members.flatMap(([name, member]) => leavesOf(member, path === undefined ? name : `${path}.${name}`))
}
