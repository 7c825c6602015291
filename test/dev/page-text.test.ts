/** The parts of the page that need no browser: what it makes of texts, JSON, addresses and colors. */
import { readdirSync, readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { facetState } from '../../src/dev/page/facet-state.ts'
import { listTime, scaleTimes, showUtc } from '../../src/dev/page/format.ts'
import { copyOf, escapeUnseen, type JsonNode, jsonText, nodeAt, parseJson } from '../../src/dev/page/json-nodes.ts'
import { addressOf, home, type Place, placeOf } from '../../src/dev/page/place.ts'
import { isStack, stackParts } from '../../src/dev/page/stack-parts.ts'
import { type Parent, treeLines } from '../../src/dev/page/tree-lines.ts'
import { highlightOf, type Piece, visiblePieces } from '../../src/dev/page/visible-text.ts'
import { levels } from '../../src/dev/protocol.ts'
import { editQuery } from '../../src/dev/query/edit-query.ts'
import { readQuery } from '../../src/dev/query/read-query.ts'
import { anyCharacter } from '../support/any-character.ts'
import { soakRuns } from '../support/soak-runs.ts'
import { arrived, newIndex } from './support/events.ts'

const esc = '\u001b'

function plain(pieces: readonly Piece[]): string {
  return pieces.map(({ text, kind }) => (kind === 'label' ? `<${text}>` : text)).join('')
}

describe('text from outside', () => {
  it.each([
    ['a\u202etxt.exe', 'a<⟦RLO⟧>txt.exe'],
    ['a\u2066b\u2069', 'a<⟦LRI⟧>b<⟦PDI⟧>'],
    ['zero\u200bwidth\ufeff', 'zero<⟦ZWSP⟧>width<⟦BOM⟧>'],
    ['nul\u0000 bell\u0007', 'nul<␀> bell<␇>'],
    ['half \ud83d of one', 'half <�> of one'],
    ['c1 \u009b31m', 'c1 <⟦U+009B⟧>31m'],
    [`${esc}]8;;https://evil.example${esc}\\link`, '<␛>]8;;https://evil.example<␛>\\link'],
    [`${esc}[2J${esc}[1;1H`, '<␛>[2J<␛>[1;1H'],
    ['two\nlines\tand a tab', 'two<↵>lines<⇥>and a tab'],
    ['tag \u{e0041}', 'tag <⟦U+E0041⟧>'],
    ['family 👨‍👩‍👧 and ❤️', 'family 👨‍👩‍👧 and ❤️'],
  ])('shows %j with a label for each character that would not be seen', (text, shown) => {
    expect(plain(visiblePieces(text))).toBe(shown)
  })

  it('keeps line breaks and tabs where a text has several lines', () => {
    expect(plain(visiblePieces('a\r\n\tb\u0000', { lines: true }))).toBe('a\n\tb<␀>')
  })

  it('maps colors of a terminal to names, and forgets them at a reset', () => {
    expect(
      visiblePieces(`${esc}[1;31mred${esc}[0m plain ${esc}[38;5;46mgreen${esc}[39m${esc}[38;2;90;90;255mblue`),
    ).toEqual([
      { text: 'red', kind: 'text', color: 'red', bold: true },
      { text: ' plain ', kind: 'text' },
      { text: 'green', kind: 'text', color: 'green' },
      { text: 'blue', kind: 'text', color: 'blue' },
    ])
  })

  it('marks what was searched, without regard to case, and takes no text as a pattern', () => {
    const highlight = highlightOf(['TIMED out', '.*'])
    const marked = visiblePieces('it Timed Out .* twice', { highlight }).filter(({ match }) => match)
    expect(marked.map(({ text }) => text)).toEqual(['Timed Out', '.*'])
  })

  it('loses no visible character and lets no invisible one through', () => {
    const unseen =
      /(?!\p{RGI_Emoji})[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]/v
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter }), text => {
        const shown = visiblePieces(text)
          .map(piece => piece.text)
          .join('')
        expect(unseen.test(shown)).toBe(false)
        for (const char of text.match(/[a-z0-9]/gi) ?? []) expect(text.includes(esc) || shown.includes(char)).toBe(true)
      }),
    )
  })
})

describe('JSON', () => {
  it('is read as JSON.parse reads it, and written so that JSON.parse reads the same', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 8 }), json => {
        const node = parseJson(json) as JsonNode
        expect(JSON.parse(jsonText(node))).toEqual(JSON.parse(json))
      }),
    )
  })

  it('is refused where JSON.parse refuses it', () => {
    const almost = fc
      .tuple(fc.json(), fc.nat(), fc.constantFrom('', ',', '"', '}', '[', ':', '\\', '0', ' ', '\n'))
      .map(
        ([json, at, insert]) =>
          json.slice(0, at % (json.length + 1)) + insert + json.slice((at % (json.length + 1)) + 1),
      )
    fc.assert(
      fc.property(almost, text => {
        let isJson = true
        try {
          JSON.parse(text)
        } catch {
          isJson = false
        }
        expect(parseJson(text) !== undefined).toBe(isJson)
      }),
      { numRuns: soakRuns(600) },
    )
  })

  it('keeps all digits of a number, names that repeat, and a name that is __proto__', () => {
    const node = parseJson('{"id":12345678901234567890,"__proto__":{"a":1},"x":1,"x":2}') as Parent
    expect(jsonText(node, '')).toBe('{\n"id": 12345678901234567890,\n"__proto__": {\n"a": 1\n},\n"x": 1,\n"x": 2\n}')
    expect(Object.prototype).not.toHaveProperty('a')
    expect(nodeAt(node, '__proto__.a')).toEqual({ kind: 'number', text: '1' })
  })

  it('may be 10,000 levels deep', () => {
    const deep = `${'['.repeat(10_000)}1${']'.repeat(10_000)}`
    const node = parseJson(deep) as Parent
    expect(jsonText(node, '').replace(/\n/g, '')).toBe(deep)
    const all = new Map<string, boolean>()
    for (let key = '/0', depth = 0; depth < 500; depth++, key += '/0') all.set(key, true)
    expect(treeLines(node, all, new Map())).toHaveLength(501)
  })

  it('is copied without a character that acts or hides', () => {
    expect(escapeUnseen('{"a":"\u202e\u009b","b":"\u{e0041}"}')).toBe('{"a":"\\u202e\\u009b","b":"\\udb40\\udc41"}')
  })

  it('is copied with its line breaks and tabs, and no other character becomes a space', () => {
    const text = 'java.lang.Error\r\n\tat a.b(C.java:1)\n\u001b[31mred\u0000'
    expect(copyOf({ kind: 'string', text })).toBe('java.lang.Error\n\tat a.b(C.java:1)\n\\u001b[31mred\\u0000')
    expect(JSON.parse(escapeUnseen('{\r\n\t"a":\r1}'))).toEqual({ a: 1 })
  })
})

describe('the tree of an event', () => {
  it('shows 200 children at a time', () => {
    const root = parseJson(`{"list":[${Array.from({ length: 1000 }, (_, at) => at).join(',')}]}`) as Parent
    const opened = new Map([['/0', true]])
    expect(treeLines(root, opened, new Map()).at(-1)).toMatchObject({ more: 800 })
    expect(treeLines(root, opened, new Map([['/0', 2]]))).toHaveLength(1 + 400 + 1)
  })

  it('names a value as a query does', () => {
    const root = parseJson('{"http":{"status":504},"tags":["blue"]}') as Parent
    const paths = treeLines(root, new Map(), new Map()).map(({ path }) => path)
    expect(paths).toEqual(['http', 'http.status', 'tags', 'tags'])
  })
})

describe('a stack', () => {
  const stack = `TypeError: no
    at pay (/app/src/pay.ts:42:7)
    at process.processTicksAndRejections (node:internal/process/task_queues:105:5)
    at async Layer.handle (/app/node_modules/express/lib/router/layer.js:95:5)
    at serve (/app/src/serve.ts:1:1)
  [cause]: Error: deeper`

  it('tells frames of the application from those of Node and packages', () => {
    expect(isStack(stack)).toBe(true)
    expect(isStack('at noon\nat night')).toBe(false)
    expect(stackParts(stack).map(({ kind, lines }) => [kind, lines.length])).toEqual([
      ['text', 1],
      ['own', 1],
      ['foreign', 2],
      ['own', 1],
      ['text', 1],
    ])
  })
})

describe('the address', () => {
  it('brings back the place that it was made of', () => {
    const places = fc.record({
      screen: fc.constantFrom('events', 'groups', 'requests', 'trace', 'event'),
      id: fc.string({ unit: 'grapheme' }).filter(id => !/^\.{1,2}$/.test(id)),
      time: fc.constant(''),
      q: fc.string({ unit: 'grapheme' }),
      off: fc.array(fc.string({ minLength: 1, unit: 'grapheme' }), { maxLength: 3 }),
      sort: fc.constantFrom('time', 'arrival'),
      since: fc.nat(),
      from: fc.option(fc.integer({ min: -9e13, max: 2e12 })),
      to: fc.option(fc.constantFrom(-25_000, 0, 35_000)),
      group: fc.boolean(),
      columns: fc.array(fc.string({ minLength: 1, unit: 'grapheme' }), { maxLength: 12 }),
      mark: fc.nat(),
      sel: fc.integer({ min: 1, max: 1e9 }),
      epoch: fc.stringMatching(/^[a-z0-9]{1,8}$/),
      lines: fc.constantFrom(1, 3),
    }) as fc.Arbitrary<Place>
    fc.assert(
      fc.property(places, place => {
        expect(placeOf(new URL(addressOf(place), 'http://127.0.0.1:4800'))).toEqual(place)
      }),
    )
  })

  it('can be read and edited by people', () => {
    const place: Place = { ...home, q: 'level:error http.status:504', columns: ['http.status', 'dur'], group: false }
    expect(addressOf(place)).toBe('/dev/events?q=level:error+http.status:504&group=0&cols=http.status,dur')
  })

  it('is the list if it makes no sense', () => {
    expect(placeOf(new URL('http://a/dev/nonsense?since=-1&from=x&sort=up&rows=7'))).toEqual(home)
  })

  it('has no more of a foreign link than the service takes', () => {
    const long = 'x'.repeat(10_000)
    const off = Array.from({ length: 1000 }, (_, n) => `off=${n}`).join('&')
    const place = placeOf(new URL(`http://a/dev/events?q=${long}&cols=${long},a,${'b'.repeat(512)}&${off}`))
    expect(place).toMatchObject({ q: long.slice(0, 8192), columns: ['a', 'b'.repeat(512)] })
    expect(place.off).toHaveLength(50)
  })

  it('may come from an event with half a character', () => {
    const place: Place = { ...home, screen: 'trace', id: 'half \ud83d', q: 'x:\ud83d', columns: ['\udc00'] }
    expect(placeOf(new URL(addressOf(place), 'http://a'))).toMatchObject({ q: 'x:\ufffd', columns: ['\ufffd'] })
  })
})

describe('the boxes of a facet', () => {
  const readingOf = (...texts: string[]) => readQuery(texts.join(' '), newIndex().knownFields).reading
  const clausesOf = (...texts: string[]) => readingOf(...texts).clauses

  it.each([
    [['level:>=warn'], ['warn', 'error', 'fatal']],
    [['level:error'], ['error']],
    [['(level:error OR level:fatal)'], ['error', 'fatal']],
    [['level:(warn OR error)'], ['warn', 'error']],
    [['level:warn OR level:error'], ['warn', 'error']],
    [['(level:(warn OR error) OR level:fatal)'], ['warn', 'error', 'fatal']],
    [['level=error'], ['error']],
    [['level:err'], ['error']],
    [['level:warning'], ['warn']],
    [['level:50'], ['error']],
    [['level:>=WARNING'], ['warn', 'error', 'fatal']],
    [['level:[warn TO error]'], ['warn', 'error']],
    [['(level:>=error OR level:trace)'], ['trace', 'error', 'fatal']],
    [['level:err*'], ['error']],
    [[`level:/${'(.*)'.repeat(500)}x/`], [...levels]], // not tried, because it would never end
    [['level!=info'], ['trace', 'debug', 'warn', 'error', 'fatal']],
    [
      ['timeout', '-level:(trace OR debug)'],
      ['info', 'warn', 'error', 'fatal'],
    ],
    [
      ['level:>=info', 'level:<error'],
      ['info', 'warn'],
    ],
    [
      ['level:*', '-level:"trace"'],
      ['debug', 'info', 'warn', 'error', 'fatal'],
    ],
    [
      ['-level:debug', '-level:trace'],
      ['info', 'warn', 'error', 'fatal'],
    ],
  ])('show the levels that %j lets through', (texts, levels) => {
    expect(readingOf(...texts).levels).toEqual(levels)
  })

  it('are all checked if no clause is about the field', () => {
    expect(readingOf('timeout', 'dataset:a').levels).toEqual([...levels])
    expect(readingOf('level:error )').levels).toEqual([...levels]) // searched as text
    expect(facetState(clausesOf('timeout'), 'dataset')).toEqual({ only: [], excluded: [] })
  })

  it('show the values that clauses include and exclude, quoted or not', () => {
    const clauses = clausesOf('(source:api OR source:"a b")', '-source:web')
    expect(facetState(clauses, 'source')).toMatchObject({ only: ['api', 'a b'], excluded: [{ value: 'web' }] })
  })

  it('show the values of a field that a clause names by the end of its path', () => {
    const index = newIndex()
    index.add(arrived({ http: { status: 504 } }))
    const { clauses } = readQuery('status:(500 OR 504) -status:200', index.knownFields).reading
    expect(facetState(clauses, 'http.status')).toMatchObject({ only: ['500', '504'], excluded: [{ value: '200' }] })
  })

  it.each(['user id', 'a"b', 'order[0]', '50%'])('know the field %s by its name as a query has it', field => {
    const q = ['"one"', '"two"'].reduce((q, value) => editQuery(q, { kind: 'or', path: field, value }), '')
    expect(facetState(clausesOf(q), field)).toEqual({ only: ['one', 'two'], excluded: [] })
    const excluding = editQuery('', { kind: 'exclude', path: field, value: '"one"' })
    expect(facetState(clausesOf(excluding), field)).toMatchObject({ only: [], excluded: [{ value: 'one' }] })
  })

  it('show the values of a clause, whatever they contain', () => {
    const values = fc.array(fc.string({ minLength: 1, maxLength: 40, unit: 'grapheme' }), {
      minLength: 1,
      maxLength: 4,
    })
    fc.assert(
      fc.property(values, values => {
        const q = values.reduce((q, value) => editQuery(q, { kind: 'or', path: 'a', value: JSON.stringify(value) }), '')
        expect(new Set(facetState(clausesOf(q), 'a').only)).toEqual(new Set(values))
      }),
      { examples: [[['x OR a:y', ') OR (']]] },
    )
  })

  it.each(['status:*', 'status:>=500', 'status:50?', 'status:/^5/', '(status:404 OR status:>=500)'])(
    'are all checked if a clause names no values, such as %s',
    text => {
      expect(facetState(clausesOf(text), 'status')).toEqual({ only: [], excluded: [] })
    },
  )
})

describe('the source of the page', () => {
  const folder = new URL('../../src/dev/page/', import.meta.url)
  const sources = readdirSync(folder).filter(name => /\.tsx?$/.test(name))

  it.each(sources)('%s makes no element and no code of text', name => {
    const source = readFileSync(new URL(name, folder), 'utf8')
    expect(source).not.toMatch(/\b(?:innerHTML|outerHTML|insertAdjacentHTML|dangerouslySetInnerHTML|srcdoc)\b/)
    expect(source).not.toMatch(/\bdocument\.write|\beval\(|\bnew Function\b|\bDOMParser\b|\bstyle="/)
  })
})

describe('the colors', () => {
  const css = readFileSync(new URL('../../src/dev/page/tokens.css', import.meta.url), 'utf8')
  const tokens = new Map(
    [...css.matchAll(/--([\w-]+): light-dark\((#[\da-f]{6}), (#[\da-f]{6})\);/g)].map(
      ([, name = '', light = '', dark = '']) => [name, [light, dark]] as const,
    ),
  )
  const texts = ['text', 'muted', 'accent', 'fatal', 'error', 'warn', 'info', 'good']
  const banners = ['banner-info', 'banner-good', 'banner-warn', 'banner-alert', 'match']

  describe.each([
    ['light', 0],
    ['dark', 1],
  ] as const)('of the %s theme', (_, theme) => {
    const color = (name: string) => tokens.get(name)?.[theme] ?? ''

    it.each(texts.flatMap(text => ['page', 'raised', 'selected'].map(ground => [text, ground])))(
      'let %s be read on %s',
      (text, ground) => {
        expect(contrast(color(text), color(ground))).toBeGreaterThanOrEqual(4.5)
      },
    )

    it.each(banners)('let text be read on %s', ground => {
      expect(contrast(color('text'), color(ground))).toBeGreaterThanOrEqual(7)
    })

    it.each([
      ['warn', 'banner-warn'],
      ['error', 'banner-alert'],
      ['page', 'text'],
      ['page', 'fatal'],
      ['on-accent', 'accent'],
    ])('let %s be read on %s', (text, ground) => {
      expect(contrast(color(text), color(ground))).toBeGreaterThanOrEqual(4.5)
    })

    it('let the border of a control and the focus be seen', () => {
      for (const ground of ['page', 'raised', 'selected']) {
        expect(contrast(color('control'), color(ground))).toBeGreaterThanOrEqual(3)
        expect(contrast(color('accent'), color(ground))).toBeGreaterThanOrEqual(3)
      }
    })
  })
})

/** Ratio of two colors, as WCAG 2 defines it. */
function contrast(one: string, other: string): number {
  const [darker = 0, lighter = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b)
  return (lighter + 0.05) / (darker + 0.05)
}

function luminance(color: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map(at => {
    const part = Number.parseInt(color.slice(at, at + 2), 16) / 255
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

describe('the marks of a scale of times', () => {
  const minute = 60_000
  it.each([
    [100, ['10:42:07.0', '10:42:07.1', '10:42:07.2']],
    [20, ['10:42:07.00', '10:42:07.02', '10:42:07.04']],
    [1, ['10:42:07.000', '10:42:07.001', '10:42:07.002']],
    [5000, ['10:42:07', '10:42:12', '10:42:17']],
    [30 * minute, ['10:42', '11:12', '11:42']],
    [12 * 60 * minute, ['11-22 10:42', '22:42', '11-23 10:42']],
    [24 * 60 * minute, ['2026-11-22', '2026-11-23', '2026-11-24']],
  ])('differ at steps of %i ms, and say no more than they must', (stepMs, shown) => {
    showUtc(true)
    const from = Date.UTC(2026, 10, 22, 10, 42, 7)
    expect(scaleTimes([from, from + stepMs, from + 2 * stepMs], stepMs)).toEqual(shown)
  })

  it('have days before the year 1, where the chart of an event with the zero time of Go or .NET may begin', () => {
    showUtc(true)
    const [zero, dayMs] = [Date.parse('0001-01-01T00:00:00Z'), 86_400_000]
    expect(scaleTimes([zero - 2072 * dayMs, zero], 3097 * dayMs)).toEqual(['-0005-05-01', '0001-01-01'])
    expect(scaleTimes([zero - 367 * dayMs, zero - 366 * dayMs], dayMs / 2)).toEqual(['12-31 00:00', '01-01 00:00'])
  })

  it.each([
    ['2026-11-29T08:00:00Z', '08:00:00.000'],
    ['2026-11-28T23:59:59.5Z', '23:59:59.500'],
    ['2026-11-02T10:00:00Z', '11-02 10:00:00.000'],
    ['2025-11-29T10:00:00Z', '2025-11-29 10:00'],
  ])('shows %s in the list as %s, with the day or the year if it is another one', (time, shown) => {
    showUtc(true)
    expect(listTime(Date.parse(time), Date.parse('2026-11-29T09:00:00Z'))).toBe(shown)
  })
})
