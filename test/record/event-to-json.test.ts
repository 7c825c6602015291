import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Effort } from '../../src/record/effort.ts'
import { eventToJson } from '../../src/record/event-to-line.ts'
import { SafeCopy } from '../../src/record/safe-copy.ts'
import { anyCharacter } from '../support/any-character.ts'
import { soakRuns } from '../support/soak-runs.ts'

const maxBytes = 1_000_000

/** Returns the parsed line of an event, and the alterations of the event. */
function sent(event: unknown, limit = maxBytes) {
  const altered = { stubbed: 0, cut: 0 }
  const json = eventToJson(event as object, limit, altered)
  expect(json).toMatch(/^\{.*\}$/s)
  expect(Buffer.byteLength(json)).toBeLessThanOrEqual(limit)
  return { fields: JSON.parse(json), json, ...altered }
}

/** Returns the parsed line for a value that was logged as metadata. */
function found(value: unknown): unknown {
  return sent({ level: 'info', message: 'm', value }).fields.value
}

function cyclic(): object {
  const node: Record<string, unknown> = { name: 'a' }
  node.child = { parent: node, list: [node] }
  return node
}

function nestedTo(depth: number): object {
  let value: object = { end: true }
  for (let i = 0; i < depth; i++) value = i % 2 ? [value] : { value }
  return value
}

function revoked(target: object): object {
  const { proxy, revoke } = Proxy.revocable(target, {})
  revoke()
  return proxy
}

const throwing = new Proxy(
  {},
  {
    ownKeys: () => {
      throw new Error('no keys')
    },
  },
)
class Point {
  x = 1
  y = 2
  get sum() {
    return this.x + this.y
  }
}

describe('plain data is sent as it is', () => {
  test.each([
    [{}],
    [{ a: 1, b: 'two', c: true, d: null, e: [1, [2, { three: 3 }]], f: { g: {} } }],
    [{ a: undefined, b: [undefined, null], c: Number.NaN, d: Number.POSITIVE_INFINITY, e: -0 }],
    [{ a: '\ud800 "\\\u0000\u2028 \u{1f600}' }],
    [JSON.parse('{"__proto__":{"polluted":true},"constructor":{"prototype":1},"toString":"x"}')],
    [Object.assign(Object.create(null), { a: 1 })],
    [{ a: new Date(0) }],
    // biome-ignore lint/suspicious/noSparseArray: it is what is tested
    [{ a: [1, , 3] }],
    [{ ['k'.repeat(1000)]: 1 }],
    [{ [Symbol('ignored')]: 1, a: 1 }],
    [{ value: nestedTo(63) }],
  ])('%#', event => {
    const { json, stubbed, cut } = sent(event)
    expect(json).toBe(JSON.stringify(event))
    expect({ stubbed, cut }).toEqual({ stubbed: 0, cut: 0 })
  })

  test('up to the last byte of the limit', () => {
    const event = { message: '漢'.repeat(100), count: 1 }
    const bytes = Buffer.byteLength(JSON.stringify(event))
    expect(sent(event, bytes)).toMatchObject({ fields: event, cut: 0 })
    expect(sent(event, bytes - 1).cut).toBe(1)
  })
})

describe('a value that JSON cannot express is shipped as text', () => {
  test.each<[string, unknown, unknown]>([
    ['a BigInt', 12345678901234567890n, '12345678901234567890'],
    ['an array of BigInt', [1n, -2n], ['1', '-2']],
    [
      'a Map with texts as keys',
      new Map<string, unknown>([
        ['a', 1],
        ['__proto__', new Set([2])],
      ]),
      JSON.parse('{"a":1,"__proto__":[2]}'),
    ],
    [
      'a Map with other keys',
      new Map<unknown, unknown>([
        [1, 'one'],
        [{ k: 1 }, 'two'],
      ]),
      [
        [1, 'one'],
        [{ k: 1 }, 'two'],
      ],
    ],
    ['a Set', new Set(['a', { b: 1 }]), ['a', { b: 1 }]],
    ['a Buffer', Buffer.from('hello'), 'aGVsbG8='],
    ['part of a Uint8Array', new Uint8Array([0, 1, 2, 3]).subarray(1, 3), 'AQI='],
    ['an ArrayBuffer', new Uint8Array([1, 2]).buffer, 'AQI='],
    ['a DataView', new DataView(new Uint8Array([1, 2, 3]).buffer, 1), 'AgM='],
    ['a Float64Array', new Float64Array([1.5, Number.NaN]), [1.5, null]],
    ['a BigInt64Array', new BigInt64Array([1n]), ['1']],
    ['a RegExp', /a+/gi, '/a+/gi'],
    ['a URL', new URL('https://a.example/b?c=1'), 'https://a.example/b?c=1'],
    ['search parameters', new URLSearchParams({ a: '1' }), 'a=1'],
    ['boxed primitives', [Object('a'), Object(1), Object(false), Object(2n)], ['a', 1, false, '2']],
    ['an instance of a class', new Point(), { x: 1, y: 2 }],
    ['an object with toJSON', { toJSON: () => ({ shown: 1n }) }, { shown: '1' }],
    [
      'an object whose toJSON copies it',
      {
        a: 1,
        toJSON() {
          return { ...this }
        },
      },
      { a: 1, toJSON: '[Function toJSON]' },
    ],
    [
      'an object whose toJSON returns itself',
      {
        a: 1n,
        toJSON() {
          return this
        },
      },
      { a: '1', toJSON: '[Function toJSON]' },
    ],
    ['an object whose toJSON returns undefined', { toJSON: () => undefined }, undefined],
    [
      'an object whose toJSON returns an Error',
      { toJSON: () => new RangeError('r') },
      expect.objectContaining({ name: 'RangeError', message: 'r' }),
    ],
    [
      'an object of another realm',
      runInNewContext('({ a: 1n, d: new Date(0), m: new Map([["k", [1]]]) })'),
      { a: '1', d: '1970-01-01T00:00:00.000Z', m: { k: [1] } },
    ],
    ['an empty class instance', new (class {})(), {}],
    ['a proxy of plain data', new Proxy({ a: [1] }, {}), { a: [1] }],
  ])('%s', (_, value, expected) => {
    expect(found(value)).toEqual(expected)
    expect(sent({ value: expected === undefined ? { v: value } : value, big: 1n }).cut).toBe(0)
  })

  test('an object that occurs twice is shipped in full each time, unless it is a cycle', () => {
    const shared = { a: 1n }
    expect(found([shared, { shared }])).toEqual([{ a: '1' }, { shared: { a: '1' } }])
  })
})

describe('an Error is shipped in full', () => {
  test('with its name, message, stack, code, own fields and causes', () => {
    const cause = new TypeError('root', { cause: 'a text' })
    const error = Object.assign(new Error('top', { cause }), { code: 'E_TOP', details: { id: 1n } })
    expect(found(error)).toEqual({
      name: 'Error',
      message: 'top',
      stack: error.stack,
      code: 'E_TOP',
      details: { id: '1' },
      cause: { name: 'TypeError', message: 'root', stack: cause.stack, cause: 'a text' },
    })
  })

  test('with the errors of an AggregateError', () => {
    expect(found(new AggregateError([new Error('one'), 'two'], 'all'))).toMatchObject({
      name: 'AggregateError',
      message: 'all',
      errors: [{ name: 'Error', message: 'one' }, 'two'],
    })
  })

  test('even if it is its own cause', () => {
    const error = new Error('loop')
    error.cause = { error }
    expect(found(error)).toMatchObject({ message: 'loop', cause: { error: '[Circular]' } })
  })

  test.each([
    ['another realm', runInNewContext('new RangeError("far")'), { name: 'RangeError', message: 'far' }],
    ['the platform', new DOMException('aborted', 'AbortError'), { name: 'AbortError', message: 'aborted', code: 20 }],
    [
      'a constructor of the old kind',
      Object.assign(Object.create(Error.prototype), { message: 'old' }),
      { name: 'Error', message: 'old' },
    ],
  ])('even if it is %s', (_, error, expected) => {
    expect(found([error])).toMatchObject([expected])
  })

  test('with stubs for getters that throw', () => {
    const error = new Error('visible')
    Object.defineProperty(error, 'stack', {
      get: () => {
        throw new Error('no stack')
      },
    })
    expect(found(error)).toMatchObject({ message: 'visible', stack: '[Throws: no stack]' })
  })

  test('with the result of its toJSON, and small own data', () => {
    const error = Object.assign(new Error('Request failed'), {
      level: 'error',
      config: { url: '/x', secret: 1 },
      request: new Point(),
      tags: ['a'],
      toJSON: () => ({ message: 'Request failed', config: { url: '/x' }, status: 404 }),
    })
    expect(found(error)).toEqual({
      name: 'Error',
      message: 'Request failed',
      stack: error.stack,
      level: 'error',
      config: { url: '/x' },
      status: 404,
      tags: ['a'],
    })
  })
})

describe('a value that cannot be shipped becomes a stub, and the rest is sent', () => {
  test.each<[string, unknown, unknown]>([
    [
      'a function',
      { f: function named() {}, g: (() => () => {})() },
      { f: '[Function named]', g: '[Function anonymous]' },
    ],
    ['a symbol', Symbol('s'), 'Symbol(s)'],
    ['a boxed symbol', Object(Symbol('s')), 'Symbol(s)'],
    ['an invalid date', new Date(Number.NaN), 'Invalid Date'],
    ['a promise', Promise.resolve(1), '[Promise]'],
    ['weak collections', [new WeakMap(), new WeakSet(), new WeakRef({})], ['[WeakMap]', '[WeakSet]', '[WeakRef]']],
    ['a huge BigInt', 7n ** 100_000n, '[BigInt]'],
    [
      'a huge BigInt that is the key of a Map',
      new Map<unknown, number>([
        ['a', 1],
        [7n ** 100_000n, 2],
      ]),
      { a: 1, '[BigInt]': 2 },
    ],
    [
      'a getter that throws a huge BigInt',
      {
        get a(): never {
          throw 7n ** 100_000n
        },
      },
      { a: '[Throws: [BigInt]]' },
    ],
    ['a cycle', cyclic(), { name: 'a', child: { parent: '[Circular]', list: ['[Circular]'] } }],
    [
      'a throwing getter',
      {
        a: 1,
        get b(): never {
          throw new Error('no b')
        },
        c: 3,
      },
      { a: 1, b: '[Throws: no b]', c: 3 },
    ],
    [
      'a throwing toJSON',
      [
        1,
        {
          toJSON() {
            throw new TypeError('no')
          },
        },
      ],
      [1, '[Throws: no]'],
    ],
    [
      'a getter that throws what throws',
      {
        get a(): never {
          throw revoked({})
        },
      },
      { a: '[Throws]' },
    ],
    [
      'a revoked proxy',
      [revoked({}), revoked([]), revoked(() => {})],
      expect.arrayContaining([expect.stringContaining('[Throws: ')]),
    ],
    ['a proxy that throws', { throwing, after: 1 }, { throwing: '[Throws: no keys]', after: 1 }],
  ])('%s', (_, value, expected) => {
    const { fields, stubbed, cut } = sent({ level: 'warn', value, after: true })
    expect(fields).toEqual({ level: 'warn', value: expected, after: true })
    expect({ stubbed, cut }).toEqual({ stubbed: 1, cut: 0 })
  })

  test('names, messages and names of fields, cut within no character', () => {
    const long = `${'x'.repeat(199)}😀`
    const { json } = sent({
      [long]: 1,
      get throwing(): never {
        throw new Error(long)
      },
      symbol: Symbol(long),
      function: Object.defineProperty(() => {}, 'name', { value: long }),
      text: 'x'.repeat(5_000_000),
    })
    expect(json.match(/x{199}\ufffd/g)).toHaveLength(4)
    expect(json).not.toContain('\\ud83d')
  })

  test('nesting of 10,000 levels, below the 64th', () => {
    const { fields, json, stubbed } = sent({ message: 'm', deep: nestedTo(10_000) })
    expect(fields.message).toBe('m')
    expect(json).toContain('"[Depth]"')
    expect(stubbed).toBe(1)
  })

  test('endless nesting of a proxy', () => {
    const endless: object = new Proxy(
      {},
      {
        get: (_, name) => (name === 'toJSON' ? undefined : endless),
        ownKeys: () => ['a', 'b'],
        getOwnPropertyDescriptor: () => ({ enumerable: true, configurable: true, value: 1 }),
      },
    )
    expect(sent({ message: 'm', endless }).fields.message).toBe('m')
    const fresh = (): object => ({
      get next() {
        return fresh()
      },
    })
    expect(sent({ message: 'm', fresh: fresh() }).fields.message).toBe('m')
  })

  test.each([Number.NaN, -1, 'many', {}, 1n, Number.POSITIVE_INFINITY])(
    'an array that claims to have %s items',
    length => {
      const array = new Proxy([], { get: (_, name) => (name === 'length' ? length : 1) })
      class Liar extends Set<unknown> {
        override get size() {
          return length as number
        }
      }
      expect(sent({ big: 1n, array, set: new Liar([1]), after: [1n] }).fields).toMatchObject({ after: ['1'] })
    },
  )

  test('an event with many stubs is counted once', () => {
    expect(sent({ a: Symbol('a'), b: Symbol('b') }).stubbed).toBe(1)
  })
})

test('a getter and a toJSON are called once on the safe path', () => {
  let calls = 0
  const told = new (class {
    toJSON() {
      calls++
      return {}
    }
  })()
  sent({ told })
  expect(calls).toBe(1)
})

test('neither the event nor any prototype is changed', () => {
  const event = Object.freeze({ a: Object.freeze([Object.freeze({ b: 1n })]), big: 'x'.repeat(5000) })
  const pollution = JSON.parse('{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}')
  sent(event, 1000)
  sent({ ...pollution, big: 1n, m: new Map([['__proto__', { polluted: 1 }]]) })
  expect(({} as Record<string, unknown>).polluted).toBeUndefined()
})

describe('an event that is not an object becomes one', () => {
  test.each<[unknown, unknown]>([
    ['text', { message: 'text' }],
    [5, { body: 5 }],
    [null, { body: null }],
    [undefined, { body: null }],
    [[1, 2n], { body: [1, '2'] }],
    [true, { body: true }],
    [() => 1, { message: '[Function anonymous]' }],
    [new Date(0), { message: '1970-01-01T00:00:00.000Z' }],
    [{ toJSON: () => 'told' }, { message: 'told' }],
    [{ toJSON: () => [1] }, { body: [1] }],
    [new Map([['a', 1]]), { a: 1 }],
  ])('%#', (event, expected) => {
    expect(sent(event).fields).toEqual(expected)
  })

  test('a revoked proxy becomes one', () => {
    expect(sent(revoked({})).fields).toEqual({ message: expect.stringContaining('[Throws: ') })
  })

  test('an Error stays one', () => {
    expect(sent(Object.assign(new Error('e'), { level: 'error' })).fields).toMatchObject({
      name: 'Error',
      message: 'e',
      level: 'error',
    })
  })
})

describe('laws', () => {
  const anything = fc.anything({
    withBigInt: true,
    withBoxedValues: true,
    withDate: true,
    withMap: true,
    withSet: true,
    withNullPrototype: true,
    withObjectString: true,
    withTypedArray: true,
    withSparseArray: true,
    withUnicodeString: true,
  } as fc.ObjectConstraints)

  test('plain data is written as by JSON.stringify, on the fast and the safe path', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string({ unit: anyCharacter }), fc.jsonValue()), event => {
        const json = JSON.stringify(event)
        expect(eventToJson(event, maxBytes, { stubbed: 0, cut: 0 })).toBe(json)
        expect(JSON.stringify(new SafeCopy(maxBytes, new Effort()).of(event, []))).toBe(json)
      }),
    )
  })

  test('every value becomes a valid line', () => {
    fc.assert(
      fc.property(anything, event => void sent(event)),
      { numRuns: soakRuns(300) },
    )
  })

  test('no line exceeds the limit, and a cut line is marked', () => {
    const large = fc.dictionary(
      fc.string({ maxLength: 300, unit: anyCharacter }),
      fc.oneof(fc.string({ maxLength: 3000, unit: anyCharacter }), anything),
    )
    fc.assert(
      fc.property(large, fc.integer({ min: 256, max: 4000 }), (event, limit) => {
        const { fields, cut } = sent(event, limit)
        if (cut === 1) expect(fields.logferry.cut).toBe(true)
        else
          expect(
            Buffer.byteLength(JSON.stringify(event, (_, v) => (typeof v === 'bigint' ? `${v}` : v)) ?? ''),
          ).toBeLessThanOrEqual(limit * 6)
      }),
      { numRuns: soakRuns(200) },
    )
  })
})
