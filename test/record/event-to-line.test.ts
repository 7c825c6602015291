import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { eventToLine, type Line } from '../../src/record/event-to-line.ts'
import { Learned } from '../../src/record/learned-names.ts'
import { LineWriter } from '../../src/record/line-writer.ts'
import { anyCharacter } from '../support/any-character.ts'
import { soakRuns } from '../support/soak-runs.ts'

const bytesOf = (text: string | undefined) => (text === undefined ? undefined : Buffer.from(text))
const textOf = ({ bytes, length }: Line) => bytes.toString('utf8', 0, length)

/** Returns the line of an event, and the alterations of the event. */
function made(
  event: object,
  { head, tail, maxBytes = 1_000_000 }: { head?: string; tail?: string; maxBytes?: number } = {},
) {
  const altered = { stubbed: 0, cut: 0 }
  const line = eventToLine(event, bytesOf(head), bytesOf(tail), maxBytes, altered)
  return { text: textOf(line), length: line.length, ...altered }
}

/** Checks that plain data is written as `JSON.stringify` writes it. */
function expectAsIs(event: object): void {
  expect(made(event)).toMatchObject({ text: JSON.stringify(event), stubbed: 0, cut: 0 })
}

/** Does the same in a buffer of minimum size. */
function expectGrown(event: object): void {
  const writer = new LineWriter()
  writer.begin(undefined)
  expect(writer.writeCopy(event, 1_000_000)).toBe(true)
  expect(writer.bytes.toString('utf8', 0, writer.end(undefined))).toBe(JSON.stringify(event))
}

const text = fc.oneof(
  fc.string(),
  fc.string({ unit: anyCharacter, maxLength: 150 }),
  fc.constantFrom('info', 'a"b', '\\', ''),
)
const number = fc.oneof(
  fc.integer(),
  fc.double(),
  fc.integer({ min: -3_000_000_000, max: 3_000_000_000 }).map(n => n / 1000),
  fc.integer({ min: 0, max: 9_999_999 }).map(n => n / 10_000),
  fc.maxSafeInteger(),
  fc.maxSafeInteger().map(n => n / 1e6),
  fc.integer({ min: -1_100_000_000, max: 1_100_000_000 }).chain(n => fc.nat(999_999).map(rest => n + rest / 1e6)),
  fc.constantFrom(
    0,
    -0,
    9,
    10,
    99,
    100,
    2 ** 31 - 1,
    2 ** 31,
    -(2 ** 31),
    1e21,
    5e-324,
    1_999_999.999,
    2_000_000.001,
    0.1 + 0.2,
    1e-6,
    -1e-6,
    1e-7,
    999_999_999.999_999,
    1e9,
    -1e9 - 1,
    2 ** 53,
    8_999_999_999_999_999,
    9_000_000_000_000_000,
  ),
)
const { event: plain } = fc.letrec(tie => ({
  value: fc.oneof(
    { maxDepth: 4 },
    text,
    number,
    fc.boolean(),
    fc.constantFrom(null, undefined),
    fc.date({ noInvalidDate: true }),
    fc.array(tie('value'), { maxLength: 4 }),
    tie('event'),
  ),
  event: fc.dictionary(fc.oneof(fc.constantFrom('a', 'b', 'c', 'level', '7', '__proto__'), text), tie('value'), {
    maxKeys: 6,
  }),
}))

describe('plain data', () => {
  it('is written as JSON.stringify writes it, in any order of events', () => {
    fc.assert(
      fc.property(
        fc.array(plain as fc.Arbitrary<object>, { maxLength: 8 }),
        fc.infiniteStream(fc.nat()),
        (events, choices) => {
          for (const event of events) expectAsIs(event)
          for (const choice of choices.take(20))
            if (events.length > 0) expectAsIs(events[choice % events.length] as object)
        },
      ),
      { numRuns: soakRuns(150) },
    )
  })

  it('of any number', () => {
    fc.assert(
      fc.property(number, value => expectAsIs({ value, list: [value] })),
      { numRuns: soakRuns(1500) },
    )
  })

  it('of texts of any length, with characters to escape anywhere', () => {
    const piece = fc.oneof(
      { arbitrary: fc.constantFrom('orders', 'a longer piece of text', 'é', '漢字', '😀'), weight: 60 },
      { arbitrary: fc.constantFrom('"', '\\', '\n', '\t', '\n    at '), weight: 40 },
      { arbitrary: fc.constantFrom('\u0000', '\u001f', '\ud800', '\udc00'), weight: 1 },
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 120, size: 'max' }), pieces => {
        const value = pieces.join('')
        expectAsIs({ value, [value]: 1 })
        expectGrown({ value, list: [value] })
      }),
      { numRuns: soakRuns(200) },
    )
  })

  it('of texts whose first character to escape is anywhere', () => {
    for (let length = 0; length < 140; length++) {
      const clean = 'x'.repeat(length)
      for (const rest of ['"', '\\y', '\nyyyyy', '\n"\\\t\r\b\f', '"'.repeat(150), '\u0001'])
        expectAsIs({ value: clean + rest })
    }
  })

  it('of texts that outgrow the buffer through escapes', () => {
    for (const length of [21_000, 30_000, 60_000, 70_000, 200_000]) {
      expectGrown({ value: '\n'.repeat(length) })
      expectGrown({ value: `${'x'.repeat(length)}\n${'x'.repeat(length)}` })
    }
  })

  it('by the faster way, as events continue', () => {
    const event = { at: [0.1 + 0.2, Math.PI, -Math.E], text: 'line\n'.repeat(40), n: 0 }
    for (event.n = 0; event.n < 30_000; event.n++) {
      const { text } = made(event)
      if (text !== JSON.stringify(event)) expect(text).toBe(JSON.stringify(event))
    }
  })

  it('as the given text, or anew, never as a mixture of both', () => {
    const event = { level: 'info', message: 'order placed', n: 1, inner: { list: [1, 2] } }
    const written = JSON.stringify({ message: event.message, inner: event.inner, n: 1, level: event.level })
    const lines = new Set<string>()
    for (let i = 0; i < 25_000; i++) {
      lines.add(textOf(eventToLine(event, undefined, undefined, 1000, { stubbed: 0, cut: 0 }, written)))
    }
    expect([written, JSON.stringify(event)]).toEqual(expect.arrayContaining([...lines]))
    const [notPlain, altered] = [
      { ...event, n: 1n },
      { stubbed: 0, cut: 0 },
    ]
    for (let i = 0; i < 5000; i++) {
      const line = textOf(eventToLine(notPlain, undefined, undefined, 1000, altered, written))
      if (!line.includes('"n":"1"')) expect(line).toContain('"n":"1"')
    }
  })

  it('of every number with up to three decimals', () => {
    for (let thousandths = 0; thousandths < 20_000; thousandths++) {
      const value = thousandths / 1000
      const { text } = made({ value })
      if (text !== `{"value":${value}}`) expect(text).toBe(JSON.stringify({ value }))
    }
  })

  it.each([
    ['an empty object', {}],
    ['members that are undefined', { a: undefined, b: [undefined], c: undefined }],
    // biome-ignore lint/suspicious/noSparseArray: it is what is tested
    ['holes', { a: [1, , 3] }],
    ['what is no number', { a: Number.NaN, b: -Infinity }],
    ['names that are numbers, which come first', { b: 1, 10: 2, 9: 3 }],
    ['a name of any length', { ['n'.repeat(3000)]: 1, ['"'.repeat(64)]: 2, '': 3 }],
    [
      'names that objects inherit',
      JSON.parse('{"__proto__":{"a":1},"constructor":{"a":1},"hasOwnProperty":1,"toString":"x"}'),
    ],
    ['an object that inherits nothing', Object.assign(Object.create(null), { a: 1 })],
    ['an object that inherits fields', Object.assign(Object.create({ inherited: 1 }), { a: 1 })],
    ['symbols', { [Symbol('s')]: 1, a: 1 }],
    ['fields that cannot be enumerated', Object.defineProperty({ a: 1 }, 'hidden', { value: 1 })],
    ['a toJSON that cannot be enumerated', { a: Object.defineProperty({ b: 1 }, 'toJSON', { value: () => 'short' }) }],
    ['an array with a toJSON', { a: Object.assign([1], { toJSON: () => 'short' }) }],
    ['a toJSON that is not a function', { toJSON: 1, a: { toJSON: 'x' } }],
    [
      'accessors',
      {
        get a() {
          return 'read'
        },
        b: {
          get c() {
            return [1]
          },
        },
      },
    ],
    ['a date, and one with a toJSON', { a: new Date(0), b: Object.assign(new Date(0), { toJSON: () => 'short' }) }],
    ['texts beyond ASCII', { a: 'é', b: '漢字', c: '😀', d: '\ud800', e: '\u007f\u0080\u07ff\u0800\uffff\u2028' }],
    [
      'long texts',
      {
        a: 'x'.repeat(101),
        b: '"'.repeat(20_000),
        c: 'é'.repeat(15_000),
        d: 'z'.repeat(100),
        e: `${'x'.repeat(200)}\ud800`,
      },
    ],
    ['more than the place for lines holds', { a: 'x'.repeat(65_000), b: Array.from({ length: 30_000 }, (_, i) => i) }],
  ])('with %s', (_, event) => {
    for (let i = 0; i < 3; i++) expectAsIs(event)
  })

  it('that outgrows the buffer at any point of deep nesting', () => {
    for (let length = 40_000; length < 66_000; length += 97) {
      let nested: unknown = length
      for (let level = 0; level < 60; level++) nested = { [`${level} of ${length} `.padEnd(100, '漢')]: nested }
      expectGrown({ filler: 'x'.repeat(length), list: [[[[nested]]]] })
    }
  })

  it('that outgrows the buffer with many small members', () => {
    const names = Array.from({ length: 20_000 }, (_, i) => `name ${i}`)
    expectGrown({ list: names.map((_, i) => i) })
    expectGrown({ list: names.map(name => [name]) })
    expectGrown(Object.fromEntries(names.map((name, i) => [name, i])))
    expectGrown(Object.fromEntries(names.map((name, i) => [name, i % 2 === 0 ? 'é' : { name }])))
  })

  it('that inherits additions to Object.prototype', () => {
    const everything = Object.prototype as { polluted?: string }
    everything.polluted = 'x'
    try {
      expectAsIs({ a: 1, b: { c: [{}] } })
    } finally {
      delete everything.polluted
    }
  })

  it('whose texts change after a long time', () => {
    for (let i = 0; i < 100; i++)
      expectAsIs({ host: i < 50 ? 'one' : `another ${i}`, level: i % 7 === 0 ? 'error' : 'info' })
  })
})

describe('a line', () => {
  it.each([
    [{ a: 1 }, undefined, undefined, '{"a":1}'],
    [{ a: 1 }, '{"t":"x"', undefined, '{"t":"x","a":1}'],
    [{}, '{"t":"x"', undefined, '{"t":"x"}'],
    [{ a: 1 }, '{"t":"x"', ',"r":2}', '{"t":"x","a":1,"r":2}'],
    [{}, '{"t":"x"', ',"r":2}', '{"t":"x","r":2}'],
    [{ a: 1 }, undefined, ',"r":2}', '{"a":1,"r":2}'],
    [{}, undefined, ',"r":2}', '{"r":2}'],
    [{}, undefined, '}', '{}'],
    [{ a: 1 }, '{"t":"x"', '}', '{"t":"x","a":1}'],
    [{ ü: '😀' }, '{"t":"x"', ',"r":"é"}', '{"t":"x","ü":"😀","r":"é"}'],
    [{ a: 1n }, '{"t":"x"', ',"r":2}', '{"t":"x","a":"1","r":2}'],
    [{ a: 'x'.repeat(70_000) }, '{"t":"x"', ',"r":2}', `{"t":"x","a":"${'x'.repeat(70_000)}","r":2}`],
    [{ a: 1 }, '{"t":"x"', `,"r":"${'r'.repeat(70_000)}"}`, `{"t":"x","a":1,"r":"${'r'.repeat(70_000)}"}`],
  ])('of %o with head %s and tail %s', (event, head, tail, expected) => {
    const { text, length } = made(event, { ...(head && { head }), ...(tail && { tail }) })
    expect(text).toBe(expected)
    expect(length).toBe(Buffer.byteLength(expected))
  })

  it('is never longer than allowed, and is marked if it was cut', () => {
    fc.assert(
      fc.property(
        fc.string({ maxLength: 2000, unit: anyCharacter, size: 'max' }),
        fc.integer({ min: 400, max: 2000 }),
        (message, maxBytes) => {
          const { text, length, cut } = made({ message }, { head: '{"t":"x"', tail: ',"r":2}', maxBytes })
          expect(length).toBeLessThanOrEqual(maxBytes)
          expect(JSON.parse(text).message === message).toBe(cut === 0)
        },
      ),
    )
  })

  it('is complete even if an accessor writes other lines meanwhile', () => {
    const head = Buffer.from('{"t":"1"')
    const others: string[] = []
    const event = {
      a: 'before',
      get b() {
        head.write('{"t":"2"') // timestamps of events share their bytes in the same way
        others.push(textOf(eventToLine({ other: 'x'.repeat(50) }, head, undefined, 1000, { stubbed: 0, cut: 0 })))
        return 'read'
      },
      c: 1n, // makes the event be read a second time
    }
    expect(textOf(eventToLine(event, head, undefined, 1000, { stubbed: 0, cut: 0 }))).toBe(
      '{"t":"1","a":"before","b":"read","c":"1"}',
    )
    expect(others.length).toBeGreaterThan(0)
    expect(new Set(others)).toEqual(new Set([`{"t":"2","other":"${'x'.repeat(50)}"}`]))
  })

  it('is complete after a line whose accessor threw', () => {
    const event = {
      a: 1,
      get b() {
        throw new Error('no')
      },
    }
    expect(made(event)).toMatchObject({ stubbed: 1 })
    expectAsIs({ a: 1 })
  })
})

describe('a wide event', () => {
  it('leaves its names to its own copy only', () => {
    const writer = new LineWriter()
    writer.begin(undefined)
    const names = Array.from({ length: 30_000 }, (_, i) => `name${i}`)
    expect(writer.write(Object.fromEntries(names.map(name => [name, 1n])), 1_000_000)).toBe(false)
    expect(writer.names).toEqual(names)
    writer.begin(undefined)
    expect(writer.names).toBeUndefined()
  })

  const names = Array.from({ length: 40 }, (_, i) => `field ${i}`)

  it('is written as JSON.stringify writes it, and so are events before and after it', () => {
    const wide = Object.assign({}, Object.fromEntries(names.map((name, i) => [name, i % 3 === 0 ? `${i}` : { i }])))
    for (let i = 0; i < 3; i++) {
      expectAsIs(wide)
      expectAsIs({ ...wide, absent: undefined, 7: 'first' })
      expectAsIs({ level: 'info' })
      expectAsIs(Object.assign(Object.create({ inherited: 1 }), wide))
      expectAsIs(Object.defineProperty({ ...wide }, 'hidden', { value: 1 }))
    }
    expect(made({ ...wide, list: [1n] })).toMatchObject({ stubbed: 0, text: JSON.stringify({ ...wide, list: ['1'] }) })
  })

  it('that refers to itself is marked', () => {
    const wide: Record<string, unknown> = Object.fromEntries(names.map(name => [name, name]))
    wide.itself = wide
    expect(made(wide)).toMatchObject({ stubbed: 1, text: expect.stringContaining('"itself":"[Circular]"') })
  })

  it('that is a proxy does not list all names before the time is checked', () => {
    let asked = 0
    const slow = new Proxy(Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`field ${i}`, i])), {
      getOwnPropertyDescriptor(target, name) {
        asked++
        for (const until = performance.now() + 0.2; performance.now() < until; );
        return Reflect.getOwnPropertyDescriptor(target, name)
      },
    })
    const writer = new LineWriter()
    writer.begin(undefined)
    expect(writer.write(slow, 1_000_000)).toBe(false)
    expect(asked).toBeLessThan(300)
  })
})

describe('learned names', () => {
  it('are limited in each place, and in total', () => {
    const all = new Learned()
    const place = all.root
    const found = Array.from({ length: 5000 }, (_, i) => place.find(`name ${i}`, all)?.find('within', all))
    expect(found.filter(Boolean).length).toBe(1024)
    expect(place.find('name 7', all)).toBeDefined()
    for (const { name } of Array.from({ length: 5000 }, (_, i) => ({ name: `name ${i}` }))) {
      Array.from({ length: 100 }, (_, i) => place.find(name, all)?.find(`${i}`, all))
    }
    expect(all.count).toBe(4096)
  })

  it('are learned again if most of the first names no longer occur', () => {
    const all = new Learned()
    for (let i = 0; i < 10_000; i++) all.root.find(`id ${i}`, all)
    expect(all.root.find('user', all)).toBeUndefined()
    for (let i = 0; i < 100_000; i++) {
      all.renew()
      all.root.find('user', all)
    }
    expect(all.root.find('user', all)).toBeDefined()
    expect(all.count).toBe(1)
  })

  it('do not limit the events: events with more names are written all the same', () => {
    const wide = Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`field ${i}`, { [`inner ${i}`]: `${i}` }]))
    for (let i = 0; i < 3; i++) expectAsIs(wide)
    for (let i = 0; i < 5000; i++) expectAsIs({ [`once ${i}`]: i, last: { [`${i} times`]: 'x' } })
  })
})

it('writes NaN and infinities as texts on demand, on either path', () => {
  const altered = { stubbed: 0, cut: 0 }
  const event = { a: Number.NaN, b: [1, Number.POSITIVE_INFINITY], c: { d: Number.NEGATIVE_INFINITY }, e: -0.5 }
  const lines = new Set<string>()
  for (let i = 0; i < 25_000; i++) {
    lines.add(textOf(eventToLine(event, undefined, undefined, 1000, altered, undefined, 'text')))
    lines.add(textOf(eventToLine(event, undefined, undefined, 1000, altered)))
  }
  expect([...lines]).toEqual([
    '{"a":"NaN","b":[1,"Infinity"],"c":{"d":"-Infinity"},"e":-0.5}',
    '{"a":null,"b":[1,null],"c":{"d":null},"e":-0.5}',
  ])
  expect(altered).toEqual({ stubbed: 0, cut: 0 })
})
