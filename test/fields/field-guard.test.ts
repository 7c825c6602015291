import fc from 'fast-check'
import { describe, expect, it, vi } from 'vitest'
import { FieldGuard } from '../../src/fields/field-guard.ts'
import { eventToJson } from '../../src/record/event-to-line.ts'
import { nestAttributes } from '../../src/record/nested.ts'
import { soakRuns } from '../support/soak-runs.ts'

type Fields = Record<string, unknown>

/** Returns the parsed line of an event. */
function asSent(event: object): Fields {
  return JSON.parse(eventToJson(event, 1_000_000, { stubbed: 0, cut: 0 }))
}

function guardOf(
  maxFields: number,
  options: { overflowField?: string; addedFields?: readonly string[]; onOver?: () => void } = {},
) {
  const onOver = vi.fn(options.onOver)
  const guard = new FieldGuard({ maxFields, overflowField: 'overflow', asSent, ...options, onOver })
  return { guard, onOver }
}

/** Returns a guard with room for `count` fields besides those that always have room. */
function guardWithRoomFor(count: number, options?: Parameters<typeof guardOf>[1]) {
  const { guard, onOver } = guardOf(1, options)
  guard.fold('logs', {})
  guard.maxFields = guard.fieldCount('logs') + count + 1
  return { guard, onOver }
}

/** Returns every field of an event with its value. */
function leaves(value: unknown, path?: string): [path: string, value: unknown][] {
  const isGroup = typeof value === 'object' && value !== null && !Array.isArray(value)
  const members = isGroup ? Object.entries(value) : []
  if (members.length === 0) return path === undefined ? [] : [[path, value]]
  return members.flatMap(([name, member]) => leaves(member, path === undefined ? name : `${path}.${name}`))
}

function pathsOf(event: object): string[] {
  return leaves(event).map(([path]) => path)
}

/**
 * Returns the values for each path in the overflow text of an event; none if the text was logged by the application.
 */
function overflowOf(event: Fields): Fields {
  try {
    return JSON.parse(String(event.overflow))
  } catch {
    return {}
  }
}

function own(json: string): object {
  return JSON.parse(json)
}

it('the field of the uid counts, although events get it after the guard', () => {
  const { guard: without } = guardOf(100)
  const { guard } = guardOf(100, { addedFields: ['log.record.uid'] })
  for (const one of [without, guard]) one.fold('logs', { n: 1 })
  expect(guard.fieldCount('logs')).toBe(without.fieldCount('logs') + 1)
})

describe('at the limit of fields', () => {
  it.each<[string, object, object]>([
    ['a new field is folded', { message: 'm', k1: 'v', k2: 2 }, { message: 'm', overflow: '{"k1":"v","k2":2}' }],
    [
      'known fields keep their order',
      { level: 'info', z: 1, known: { z: 1, a: 2 }, message: 'm' },
      { level: 'info', known: { a: 2 }, message: 'm', overflow: '{"z":1,"known.z":1}' },
    ],
    ['a nested field is folded by its path', { user: { prefs: { k17: 'v' } } }, { overflow: '{"user.prefs.k17":"v"}' }],
    ['a dotted name is the same field as nested ones', { 'known.a': 1 }, { 'known.a': 1 }],
    [
      'arrays, null and empty objects are values',
      { a: [{ b: 1 }], n: null, e: {} },
      { overflow: '{"a":[{"b":1}],"n":null,"e":{}}' },
    ],
    [
      'what is undefined is no field',
      { k: undefined, group: { k: undefined }, known: { a: undefined } },
      {
        overflow: '{"group":{},"known":{}}',
      },
    ],
    ['a date is folded as its text', { at: new Date(0) }, { overflow: '{"at":"1970-01-01T00:00:00.000Z"}' }],
    ['a function as its stub', { f: () => 1 }, { overflow: '{"f":"[Function f]"}' }],
    ['a value where a group is known is new', { known: 1 }, { overflow: '{"known":1}' }],
    ['a group where a value is known is new', { message: { text: 'm' } }, { overflow: '{"message.text":"m"}' }],
    ['a path that is there twice keeps both values', { 'k.a': 1, k: { a: 2 } }, { overflow: '{"k.a":[1,2]}' }],
    [
      'an overflow field of the event is folded too',
      { overflow: 'mine', k: 1 },
      { overflow: '{"overflow":"mine","k":1}' },
    ],
    ['a group of that name too', { overflow: { a: 1 }, k: 1 }, { overflow: '{"overflow.a":1,"k":1}' }],
    ['an overflow field alone stays', { overflow: 'mine' }, { overflow: 'mine' }],
    [
      'names of prototypes are names',
      own('{"__proto__":{"x":1},"constructor":2}'),
      { overflow: '{"__proto__.x":1,"constructor":2}' },
    ],
    ['an empty group is a field beside its members', { known: {} }, { overflow: '{"known":{}}' }],
    [
      'trace ids and the mark of a cut event have room',
      { trace_id: 't', span_id: 's', trace_flags: '01', logferry: { cut: true } },
      {
        trace_id: 't',
        span_id: 's',
        trace_flags: '01',
        logferry: { cut: true },
      },
    ],
  ])('%s', (_, event, expected) => {
    const { guard } = guardWithRoomFor(1)
    guard.fold('logs', { known: { a: 1 } })
    expect(JSON.stringify(asSent(guard.fold('logs', event)))).toBe(JSON.stringify(expected))
  })

  it('a known name that the prototype also has stays a field', () => {
    const { guard } = guardWithRoomFor(1)
    const event = own('{"__proto__":{"x":1},"k":2}')
    expect(JSON.stringify(guard.fold('logs', event))).toBe('{"__proto__":{"x":1},"overflow":"{\\"k\\":2}"}')
    expect(Object.getOwnPropertyNames(Object.prototype)).not.toContain('x')
  })

  it('an Error counts with the fields that are sent', () => {
    const { guard } = guardWithRoomFor(2)
    const folded = guard.fold('logs', { error: new TypeError('no such thing') }) as Fields
    expect(folded.error).toEqual({ name: 'TypeError', message: 'no such thing' })
    expect(Object.keys(overflowOf(folded))).toEqual(['error.stack'])
  })

  it('a path of more than 1,000 characters is folded, even below the limit', () => {
    const { guard } = guardOf(256)
    const long = 'k'.repeat(1001)
    expect(guard.fold('logs', { k: 1, [long]: 2 })).toEqual({ k: 1, overflow: JSON.stringify({ [long]: 2 }) })
    expect(guard.fold('logs', { k: 1, a: { ['b'.repeat(998)]: 2 } })).not.toHaveProperty('overflow')
  })

  it.each<[string, object, object]>([
    ['nested', { log: { rest: 'mine', a: 1 }, k: 1 }, { log: { a: 1 }, 'log.rest': '{"log.rest":"mine","k":1}' }],
    ['in a group', { log: { rest: { b: 1 } }, k: 1 }, { 'log.rest': '{"log.rest.b":1,"k":1}' }],
    ['dotted', { 'log.rest.b': 1, k: 1 }, { 'log.rest': '{"log.rest.b":1,"k":1}' }],
  ])('an overflow field of the event is folded too, %s', (_, event, expected) => {
    const { guard } = guardWithRoomFor(1, { overflowField: 'log.rest' })
    guard.fold('logs', { log: { a: 1 } })
    expect(guard.fold('logs', event)).toEqual(expected)
  })

  it('the text goes to the configured overflow field', () => {
    const { guard } = guardWithRoomFor(0, { overflowField: '__proto__' })
    expect(JSON.stringify(guard.fold('logs', { k: 1 }))).toBe('{"__proto__":"{\\"k\\":1}"}')
  })

  it('the limit is reported once for each dataset, with the path', () => {
    const { guard, onOver } = guardWithRoomFor(0)
    for (const k of ['k1', 'k2']) for (const dataset of ['a', 'b']) guard.fold(dataset, { group: { [k]: 1 } })
    expect(onOver.mock.calls).toEqual([
      ['a', 'group.k1'],
      ['b', 'group.k1'],
    ])
  })

  it('a raised limit accepts new fields again; a lowered one removes none', () => {
    const { guard } = guardWithRoomFor(1)
    guard.fold('logs', { a: 1 })
    expect(guard.fold('logs', { a: 1, b: 2 })).toEqual({ a: 1, overflow: '{"b":2}' })
    guard.maxFields += 1
    expect(guard.fold('logs', { a: 1, b: 2 })).toEqual({ a: 1, b: 2 })
    guard.maxFields = 1
    expect(guard.fold('logs', { a: 1, b: 2, c: 3 })).toEqual({ a: 1, b: 2, overflow: '{"c":3}' })
  })

  it('some fields of an event are accepted if there is room for some', () => {
    const { guard } = guardWithRoomFor(2)
    expect(guard.fold('logs', { a: 1, b: 2, c: 3 })).toEqual({ a: 1, b: 2, overflow: '{"c":3}' })
  })
})

describe('an event of plain data below the limit', () => {
  it('is returned as the same object, unchanged', () => {
    fc.assert(
      fc.property(fc.array(fc.dictionary(fc.string(), fc.jsonValue()), { maxLength: 5 }), events => {
        const { guard, onOver } = guardOf(10_000)
        for (const event of [...events, ...events]) {
          const before = JSON.stringify(event)
          expect(guard.fold('logs', event)).toBe(event)
          expect(JSON.stringify(event)).toBe(before)
        }
        expect(onOver).not.toHaveBeenCalled()
      }),
    )
  })

  it.each<[string, object]>([
    ['nothing', {}],
    ['empty groups', { a: {}, b: { c: {} } }],
    ['dates', { at: new Date(0), invalid: new Date(Number.NaN) }],
    ['fields that are undefined', { a: undefined, b: { c: undefined, d: 1 } }],
    ['no prototype', Object.assign(Object.create(null), { a: { b: 1 } })],
    ['nested attributes', { attributes: nestAttributes({ 'http.method': 'GET', 'http.route': '/' }) }],
    ['symbols for names', { level: 'info', [Symbol.for('level')]: 'info' }],
  ])('is returned as the same object with %s', (_, event) => {
    const { guard } = guardOf(256)
    for (let i = 0; i < 3; i++) expect(guard.fold('logs', event)).toBe(event)
  })
})

describe('the count of fields', () => {
  it('is kept for each dataset', () => {
    const { guard } = guardOf(256)
    expect(guard.fieldCount('a')).toBe(0)
    guard.fold('a', {})
    const always = guard.fieldCount('a')
    guard.fold('a', { x: 1, y: { z: 2 } })
    guard.fold('a', { 'y.z': 2, level: 'info' })
    guard.fold('b', { x: 1 })
    expect(guard.fieldCount('a')).toBe(always + 2)
    expect(guard.fieldCount('b')).toBe(always + 1)
  })

  it('includes the resource and scope of each line, however large', () => {
    const { guard } = guardWithRoomFor(2)
    const before = guard.fieldCount('logs')
    for (let i = 0; i < 2; i++) guard.know('logs', { _time: '', resource: { service: { name: 'x', version: '1' } } })
    expect(guard.fieldCount('logs')).toBe(before + 3)
    expect(guard.fold('logs', { _time: 't', k: 1 })).toEqual({ _time: 't', overflow: '{"k":1}' })
  })

  it('includes fields around an event that could not be read the first time', () => {
    const { guard } = guardOf(256)
    guard.fold('logs', {})
    const before = guard.fieldCount('logs')
    let isReadable = false
    const fields = {
      get host() {
        if (!isReadable) throw new RangeError('no stack left')
        return 'a'
      },
    }
    expect(() => guard.know('logs', fields)).toThrow('no stack left')
    isReadable = true
    guard.know('logs', fields)
    expect(guard.fieldCount('logs')).toBe(before + 1)
  })

  it('is not exhausted by a cycle', () => {
    const { guard } = guardOf(256)
    guard.fold('logs', {})
    const before = guard.fieldCount('logs')
    const event: Fields = { a: 1 }
    event.self = event
    guard.fold('logs', event)
    expect(guard.fieldCount('logs')).toBe(before + 2)
  })

  it('continues up to a bound while there is no limit, and nothing is folded', () => {
    const { guard } = guardOf(Number.POSITIVE_INFINITY)
    const events = Array.from({ length: 5000 }, (_, i) => ({ [`k${i}`]: i, error: new Error('e') }))
    const manyFields = Object.fromEntries(events.map((_, i) => [`m${i}`, 1]))
    for (const event of [{ k: 1 }, manyFields, ...events]) expect(guard.fold('logs', event)).toBe(event)
    for (let i = 0; i < 5000; i++) guard.fold('logs', { [`k${i}`]: i })
    expect(guard.fieldCount('logs')).toBe(2000)
    guard.maxFields = 256
    expect(guard.fold('logs', { k: 1, new: 2 })).toEqual({ k: 1, overflow: '{"new":2}' })
  })

  it('is remembered for the last thousand datasets', () => {
    const { guard } = guardOf(256)
    guard.fold('first', { a: 1 })
    guard.fold('second', { a: 1 })
    for (let i = 0; i < 998; i++) guard.fold(`d${i}`, { a: 1 })
    guard.fold('first', { a: 1 })
    guard.fold('one more', { a: 1 })
    expect(guard.fieldCount('first')).toBeGreaterThan(0)
    expect(guard.fieldCount('second')).toBe(0)
    expect(guard.fieldCount('d0')).toBeGreaterThan(0)
  })

  it('has a bound for the fields of all datasets together', () => {
    const { guard } = guardOf(Number.POSITIVE_INFINITY)
    const event = Object.fromEntries(Array.from({ length: 1500 }, (_, i) => [`f${i}`, i]))
    for (let i = 0; i < 200; i++) guard.fold(`d${i}`, event)
    const all = guard.datasets.reduce((sum, dataset) => sum + guard.fieldCount(dataset), 0)
    expect(all).toBeGreaterThan(90_000)
    expect(all).toBeLessThan(102_000)
    expect(guard.fieldCount('d199')).toBeGreaterThan(1500)
  })
})

describe('whatever is logged', () => {
  const name = fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom('a', 'b', 'c', 'a.b', 'b.c', 'a.b.c', 'level', 'message') },
    fc.constantFrom('', '.', '__proto__', 'constructor', 'overflow', 'overflow.a', 'toJSON', '0', '_time'),
    fc.string({ maxLength: 3 }),
  )
  const leaf = fc.oneof(
    { weight: 4, arbitrary: fc.oneof(fc.integer(), fc.string(), fc.boolean()) },
    fc.constantFrom(null, undefined, Number.NaN, 12n, Symbol('s'), () => 1, new Date(0), new Date(Number.NaN)),
    fc.constantFrom(
      new Error('e'),
      new Map([['k', { m: 1 }]]),
      new Set([1]),
      new URL('http://localhost/'),
      Buffer.from('b'),
    ),
    fc.constantFrom(
      [],
      {},
      { toJSON: () => ({ told: { x: 1 } }) },
      {
        get thrower() {
          throw new Error('no')
        },
      },
    ),
  )
  const { group } = fc.letrec<{ group: object; member: unknown }>(tie => ({
    member: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      leaf,
      tie('group'),
      fc.array(leaf, { maxLength: 2 }),
    ),
    group: fc.oneof(
      fc.dictionary(name, tie('member'), { maxKeys: 5 }),
      fc.dictionary(name, tie('member'), { maxKeys: 5 }).map(nestAttributes),
    ),
  }))
  const step = fc.record({ dataset: fc.constantFrom<('x' | 'y')[]>('x', 'y'), event: group })

  it('no dataset exceeds its limit, and no value is lost', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 20 }), fc.integer({ min: 12, max: 40 }), (steps, maxFields) => {
        const { guard } = guardOf(maxFields)
        const sentTo = { x: new Set(['_time']), y: new Set(['_time']) }
        for (const dataset of ['x', 'y']) guard.know(dataset, { _time: '' })
        for (const { dataset, event } of steps) {
          const sent = asSent(guard.fold(dataset, event))
          for (const path of pathsOf(sent)) sentTo[dataset].add(path)
          const folded = Object.entries(overflowOf(sent) ?? {}).flatMap(([path, value]) => [
            [path, value],
            ...(Array.isArray(value) ? value.map(one => [path, one]) : []),
            ...leaves(value, path),
          ])
          const found = new Set([...leaves(sent), ...folded].map(one => JSON.stringify(one)))
          for (const one of leaves(asSent(event))) expect(found).toContain(JSON.stringify(one))
        }
        for (const paths of Object.values(sentTo)) expect(paths.size).toBeLessThanOrEqual(maxFields)
      }),
      { numRuns: soakRuns(100) },
    )
  })

  it('2,000 names in a dataset of 256 fields: every value can be found, and the first names are fields', () => {
    const { guard, onOver } = guardOf(256)
    guard.know('logs', { _time: '' })
    const paths = new Set(['_time'])
    for (let i = 0; i < 4000; i++) {
      const k = i % 2000
      const sent = asSent(guard.fold('logs', { level: 'info', message: 'm', user: { prefs: { [`k${k}`]: `v${i}` } } }))
      for (const path of pathsOf(sent)) paths.add(path)
      expect(JSON.stringify(sent)).toContain(`v${i}`)
    }
    expect(guard.fieldCount('logs')).toBe(251) // the rest is left for other processes
    expect(paths.size).toBeGreaterThan(240)
    expect(paths.size).toBeLessThanOrEqual(251)
    expect(paths).toContain('user.prefs.k200')
    expect(onOver).toHaveBeenCalledTimes(1)
  })

  it('known fields stay fields, and no value is lost, however long the paths of folded fields are', () => {
    const { guard } = guardWithRoomFor(1)
    guard.fold('logs', { http: { method: 'GET' } })
    const event = { a: below(names(8), 300, 1000), b: below(names(1), 300, 1000), http: { method: 'PUT', route: '/' } }
    const sent = guard.fold('logs', event) as Fields
    expect(sent.http).toEqual({ method: 'PUT' })
    expect(JSON.stringify(overflowOf(sent)).match(/:1(?=[,}])/g)).toHaveLength(2000)
    expect(overflowOf(sent)).toHaveProperty(['http.route'], '/')
    expect(String(sent.overflow).length).toBeLessThan(200_000)
  })

  it.each<[string, () => object]>([
    ['100,000 names of nothing', () => Object.fromEntries(names(100_000).map(name => [name, undefined]))],
    ['100,000 fields', () => Object.fromEntries(names(100_000).map(name => [name, 1]))],
    ['a depth of 10,000', () => Array.from({ length: 10_000 }).reduce<object>(value => ({ value }), {})],
    ['objects that share their members over and over', () => names(20).reduce<object>(o => ({ a: o, b: o }), {})],
    ['a getter that throws', () => Object.defineProperty({ k: 1 }, 'g', { enumerable: true, get: () => raise() })],
    ['a proxy that throws', () => new Proxy({ k: 1 }, { getPrototypeOf: () => raise() })],
    ['a proxy without names', () => new Proxy({ k: 1 }, { ownKeys: () => raise() })],
    ['a revoked proxy inside', () => ({ k: revoked() })],
    ['a getter that nests for ever', () => ({ k: endless() })],
    ['an object as toJSON', () => ({ toJSON: () => endless() })],
    ['a ring of 20 objects with 4,000 members each', () => ring(20, 4000)],
    ['2,000 fields below 40 names of 5,000 characters', () => below(names(40), 5000, 2000)],
    ['20,000 fields below a name of 900 characters', () => below(names(1), 900, 20_000)],
    ['an array', () => [1, 2]],
    ['a Map', () => new Map([['k', 1]])],
  ])('%s do no harm', (_, make) => {
    for (const maxFields of [256, Number.POSITIVE_INFINITY]) {
      const { guard } = guardOf(maxFields)
      const sent = asSent(guard.fold('logs', make()))
      if (maxFields === 256) expect(pathsOf(sent).length).toBeLessThanOrEqual(maxFields)
      expect(guard.fieldCount('logs')).toBeLessThanOrEqual(2000)
    }
    expect(Object.keys(Object.prototype)).toEqual([])
  })

  it('different nestings of one field do not count as several fields', () => {
    const { guard } = guardWithRoomFor(1)
    const [first, ...others] = names(13)
    for (let ways = 0; ways < 2 ** 12; ways++) {
      const path = others
        .reduce((route, name, i) => route + ((ways >> i) & 1 ? '/' : '.') + name, String(first))
        .split('/')
      const event = path.reduceRight<unknown>((value, name) => ({ [name]: value }), 1) as object
      expect(guard.fold('logs', event)).toBe(event)
    }
  })

  it('a callback that throws does no harm, and an unreadable event is passed on', () => {
    const { guard } = guardWithRoomFor(0, { onOver: () => raise() })
    expect(guard.fold('logs', { k: 1 })).toEqual({ overflow: '{"k":1}' })
    const event = { k: 1 }
    const untold = new FieldGuard({ maxFields: 1, overflowField: 'overflow', asSent: () => raise(), onOver() {} })
    expect(untold.fold('logs', event)).toBe(event)
  })
})

function names(count: number): string[] {
  return Array.from({ length: count }, (_, i) => `n${i}`)
}

function ring(objects: number, members: number): object {
  const all = names(objects).map((): Fields => ({}))
  for (const [i, one] of all.entries()) for (const name of names(members)) one[name] = all[(i + 1) % objects]
  return all[0] as object
}

/** Returns `count` fields below groups whose names have so many characters. */
function below(groups: readonly string[], nameChars: number, count: number): object {
  const fields: object = Object.fromEntries(names(count).map(name => [name, 1]))
  return groups.reduce((group, name) => ({ [name.padEnd(nameChars, 'x')]: group }), fields)
}

function raise(): never {
  throw new Error('no')
}

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  return proxy
}

function endless(): object {
  return {
    get next() {
      return endless()
    },
  }
}
