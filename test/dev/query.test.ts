import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { parse as parseWithLiqe } from 'liqe'
import { describe, expect, it } from 'vitest'
import { Candidate } from '../../src/dev/event/candidate.ts'
import type { Entry } from '../../src/dev/event/entry.ts'
import { noRank } from '../../src/dev/event/level-rank.ts'
import { compileQuery } from '../../src/dev/query/compile-query.ts'
import type { QueryNode } from '../../src/dev/query/query-node.ts'
import { parseQuery } from '../../src/dev/query/query-parser.ts'
import { readQuery } from '../../src/dev/query/read-query.ts'
import { anyCharacter } from '../support/any-character.ts'
import { cpuMs } from '../support/cpu-ms.ts'
import { soakRuns } from '../support/soak-runs.ts'
import { arrived, event, fieldName, matches, newIndex, nowMs, text } from './support/events.ts'
import { isMatch, type Tree, textOf } from './support/slow-matcher.ts'

const http = { http: { status: 504, url: '/api/pay/42' }, level: 'error', message: 'Payment timed out after 5000 ms' }
const trace = { trace_id: '4bf92f3577b34da6a3ce929d0e0e4736' }

const answers: [q: string, event: object | string, isMatching: boolean][] = [
  ['', {}, true],
  ['   ', http, true],
  ['TIMED', http, true],
  ['"timed out"', http, true],
  ['"out timed"', http, false],
  ["'Payment timed'", http, true],
  ["'payment timed'", http, false],
  ['status', http, false], // a name is no value
  ['504', http, true],
  ['level:error', http, true],
  ['level:err', http, true],
  ['level:ERROR', { level: 'err' }, true],
  ['level:error', { severity_number: 18 }, true],
  ['level:error', { level: 50 }, true],
  ['level:error', { level: 'warn' }, false],
  ['level:error', { level: 40, levelname: 'ERROR' }, true], // Python
  ['level:error', { 'log.level': 'error' }, true],
  ['level:error', { log: { level: 'error' } }, true],
  ['level:>=warn', { '@l': 'Warning' }, true],
  ['level:>=warn', { PRIORITY: '4' }, true],
  ['level:>=warn', { PRIORITY: '6' }, false],
  ['level:fatal', { severityNumber: 21 }, true],
  ['level:error', { level: 400, level_name: 'ERROR' }, true], // Monolog
  ['level:>=warn', { level: 250 }, false],
  ['level:fatal', { level: 550 }, true],
  ['level:error', { level: 3, short_message: 'disk full' }, true], // GELF
  ['level:>=warn', { level: 6, short_message: 'started' }, false],
  ['level:3', { level: 'error' }, true],
  ['level:error', { level: 'info', log: { level: 'error' } }, false],
  ['level:*', { log: 'error', PRIORITY: 9 }, false],
  ['_time:2020-01-02', { _time: '2020-01-02T03:04:05Z', PRIORITY: { toString: 'x' } }, true],
  ['level:>=warn', http, true],
  ['level:>=warn', { level: 'crit' }, true],
  ['level:>=warn', { level: 'info' }, false],
  ['level:<=info', { level: 'error' }, false],
  ['level:<=info', { message: 'no level' }, false],
  ['level:notice', { level: 'info' }, false],
  ['level:notice', { level: 'notice' }, true],
  ['-level:error', http, false],
  ['http.status:504', http, true],
  ['http.status:50', http, false],
  ['http.status:>=500', http, true],
  ['http.status>=500', http, true],
  ['http.status=504', http, true],
  ['http.status!=504', http, false],
  ['http.status:!=500', http, true],
  ['http.status:[500 TO 599]', http, true],
  ['http.status:{504 TO 599]', http, false],
  ['http.status:{500 TO 504}', http, false],
  ['http.status:"504"', http, true],
  ['http.status:504', { 'http.status': '504' }, true],
  ['http.status:>=500', { http: { status: '504' } }, true],
  ['http.url:/api/pay/42', http, true],
  ['http.url:/api/*', http, true],
  ['/api/pay/42', http, true],
  ['user.email:*@example.com', { user: { email: 'Ann@Example.com' } }, true],
  ['user.email:*@example.com', { user: { email: 'ann@example.com.au' } }, false],
  ['pay*out', http, true],
  ['-health', http, true],
  ['NOT payment', http, false],
  ['(level:error OR level:fatal) -dataset:auth', http, true],
  ['(level:error OR level:fatal) -dataset:app', http, false],
  ['level:(warn OR error)', http, true],
  ['-(level:error payment)', http, false],
  ['health OR level:error payment', http, true],
  ['health OR level:error health', http, false],
  ['message:/time(d )?out/i', http, true],
  ['message:/^time/', http, false],
  ['/TIMED/i', http, true],
  ['message:"from pino"', { msg: 'from pino' }, true],
  ['message:user=ann*', { level: 'info', user: 'ann', n: 1 }, true],
  ['message:"from pino"', { message: null, msg: 'from pino' }, true],
  ['message:n=1', { message: '', n: 1 }, true],
  ['message:"message=42 n=1"', { message: 42, n: 1 }, true],
  ['message:42', { message: 42 }, true],
  ['message:*', { msg: 'from pino' }, false],
  ['user.id:*', { user: { id: null } }, true],
  ['user.id:*', http, false],
  ['-user.id:*', http, true],
  ['ok:true', { ok: true }, true],
  ['ok:true', { ok: false }, false],
  ['ok:True', { ok: true }, true],
  ["ok:'True'", { ok: true }, false],
  ['cause:null', { cause: null }, true],
  ['cause:null', {}, false],
  ['tags:blue', { tags: ['red', 'blue'] }, true],
  ['tags:green', { tags: ['red', 'blue'] }, false],
  ['items.name:b', { items: [{ name: 'a' }, { name: 'b' }] }, true],
  ['items.1.name:a', { items: [{ name: 'a' }, { name: 'b' }] }, false],
  ['trace_id:4bf92f35', trace, true],
  ['trace_id:4bf92f3', trace, false], // seven characters are no beginning of an id
  ['trace_id:4bf92f3577b34da6a3ce929d0e0e4736', trace, true],
  ['n:12345678901234567', { n: '12345678901234567' }, true],
  ['n:12345678901234567', { n: '12345678901234568' }, false],
  ['n:12345678901234567', '{"n":12345678901234567}', true],
  ['n:12345678901234567', '{"n":12345678901234568}', false],
  ['n:"-12345678901234567"', '{"n":-12345678901234567}', true],
  ['n:100000000000000000000', '{"n":1e20}', true],
  ['n:>12345678901234567', '{"n":12345678901234568}', true],
  ['n:>12345678901234567', '{"n":12345678901234567}', false],
  ['n:*34568', '{"n":12345678901234568}', true],
  ['12345678901234568', '{"n":12345678901234568}', true],
  ['12345678901234568', '{"n":[[12345678901234567]]}', false],
  ['_time:>2026-11-22T10:00:00Z', '{"_time":1795343400123456789}', true],
  ['ip:10.0.0.1', { ip: '10.0.0.1' }, true],
  ['10.0.0.1', { ip: 'from 10.0.0.1' }, true],
  ['http://x.de/?a=b', { url: 'see http://x.de/?a=b' }, true],
  ['Error: broken', { message: 'Error: all is broken' }, true],
  ['"a b":c', { 'a b': 'c' }, true],
  ['größe:weiß', { größe: 'WEIß' }, true],
  ['__proto__.x:1', '{"__proto__":{"x":1}}', true],
  ['constructor:*', {}, false],
  ['_time:>"10:42"', { _time: '2026-11-22T10:00:00Z' }, false],
  ['_time:<2026-11-22T10:00:01Z', { _time: '2026-11-22T10:00:00Z' }, true],
  ['dataset:app', {}, true],
  ['dataset:ap*', {}, true],
  ['source:api', {}, false],
  ['request:812', { message: 'x' }, false],
  ['timeout', http, false],
  ['trace_id:4bf92f35', { traceId: trace.trace_id }, true],
  ['trace_id:4bf92f35', { trace: { id: trace.trace_id } }, true],
  ['trace_id:4bf92f35', { 'trace.id': trace.trace_id }, true],
  ['trace_id:4bf92f35', { traceId: 'other' }, false],
  ['trace_id:4bf92f35', { id: trace.trace_id }, false],
  ['trace_id:*', { traceId: trace.trace_id }, true],
  ['-trace_id:*', { traceId: trace.trace_id }, false],
  ['timeout', { message: 'Timeout!' }, true],
  ['dataset:auth', http, false],
  ['level:error payment', http, true],
  ['is:new', {}, false],
  ['is:late', {}, false],
  ['is:no-time', {}, true],
  ['is:cut', { logferry: { cut: true } }, true],
  ['x:"\\u0041\\n"', { x: 'A\n' }, true],
  ['5', '{"n":5e2}', true], // 500
  ['500', '{"n":5e2}', true],
  ['k', { unit: '\u212a' }, true], // the sign of Kelvin
  ['"C:\\\\temp"', { path: 'C:\\temp' }, true],
  // What people type who know other languages.
  ['http.status >= 500', http, true],
  ['status >= 500', http, true],
  ['status < 500', http, false],
  ['level = error', http, true],
  ["level == 'error'", http, true],
  ['level != error', http, false],
  ['status <> 504', http, false],
  ['level: error', http, true],
  ['level: warn', http, false],
  ['status:>= 500', http, true],
  ['http.status:(>=500 AND <504)', http, false],
  ['http.status:(>=500 AND <505)', http, true],
  ['http.status:(!=504)', http, false],
  ['http.status:[500 TO *]', http, true],
  ['http.status:[* TO 503]', http, false],
  ['http.status:[* TO *]', http, true],
  ['level:[warn TO *]', http, true],
  ['level:[* TO warn]', http, false],
  ['+payment +level:error', http, true],
  ['+health', http, false],
  ['+(level:error OR health) -auth', http, true],
  ['_exists_:http.url', http, true],
  ['_exists_:user', http, false],
  ['retries = 5', { message: 'retries = 5' }, true], // a line of a log, and no field
  ['retries = 5', { message: 'other', retries: 5 }, true],
  ['status: 504 or so', { message: 'status: 504 or so' }, true],
]

const minutes = (count: number) => ({ _time: new Date(nowMs - count * 60_000).toISOString() })
answers.push(
  ['_time:>now-5m', minutes(4), true],
  ['_time:>now-5m', minutes(6), false],
  ['_time:[now-1h TO now-5m]', minutes(6), true],
  ['_time >= now-1d', minutes(60 * 25), false],
  [`_time:${localDay(0)}`, minutes(0), true],
  [`_time:${localDay(-1)}`, minutes(0), false],
  [`_time:>=${localDay(0)}`, minutes(0), true],
  [`_time:<=${localDay(-1)}`, minutes(0), false],
  [`_time:<${localDay(1)}`, minutes(0), true],
)

function localDay(offset: number): string {
  const day = new Date(nowMs)
  day.setDate(day.getDate() + offset)
  return [day.getFullYear(), day.getMonth() + 1, day.getDate()].map(part => String(part).padStart(2, '0')).join('-')
}

describe('a query', () => {
  it.each(answers)('%s, asked of %j, answers %s', async (q, given, isMatching) => {
    expect(await matches(q, given)).toBe(isMatching)
  })

  it('is among these if the documentation names it', () => {
    const page = readFileSync(new URL('../../docs/query.md', import.meta.url), 'utf8')
    const documented = Array.from(page.matchAll(/^\| `([^`]+)` \|/gm), ([, q]) => q)
    expect(documented.length).toBeGreaterThan(25)
    expect(documented.filter(q => !answers.some(([tested]) => tested === q))).toEqual([])
  })

  it('knows the dataset, source, request and repetition of an event', async () => {
    const others = { dataset: 'auth', source: 'api', request: 812, duplicate: true }
    for (const q of ['dataset:auth', 'source:api', 'request:812', 'request:>=800', 'is:duplicate']) {
      expect(await matches(q, {}, others)).toBe(true)
    }
  })

  it('replaces a name that ends exactly one path, and shows the whole path', async () => {
    const index = newIndex()
    index.add(arrived(http))
    const view = index.openView({ q: 'status:504 staus:1' })
    await view?.rows({ until: 1, from: 0, n: 1 })
    expect(await view?.state()).toMatchObject({
      matched: 0,
      reading: {
        readAs: 'http.status:504 staus:1',
        notes: [{ text: 'No event has a field `staus`.', didYouMean: 'http.status' }, { text: 'No event matches.' }],
      },
    })
  })

  it.each([
    ['a OR b c', 'a OR (b c)'],
    ['a:(b OR c)', 'a:b OR a:c'],
    ['a!=b', '-a:b'],
    ['-(a b)', 'NOT (a b)'],
    ['a>=5', 'a:>=5'],
  ])('%s is shown as %s', (q, readAs) => {
    const known = { has: () => true, endingWith: () => [], similarTo: () => undefined }
    expect(readQuery(q, known).reading.readAs).toBe(readAs)
  })

  it.each([
    ['a)', 'Searched as text: unexpected `)` at column 2', 2],
    ['OR a', 'Searched as text: unexpected `OR` at column 1', 1],
    ['a AND', 'Searched as text: unexpected end of the text at column 6', 6],
    ['x:"open', 'Searched as text: unexpected end of the text: a quote is open at column 8', 8],
    ['x:/(/', 'Searched as text: no valid pattern: /(/ at column 3', 3],
    ['()', 'Searched as text: unexpected `)` at column 2', 2],
  ])('%s is searched as text, with the reason', async (q, note, column) => {
    const known = { has: () => true, endingWith: () => [], similarTo: () => undefined }
    expect(readQuery(q, known).reading.notes).toEqual([{ text: note, column }])
    expect(await matches(q, { message: `… ${q} …` })).toBe(true)
    expect(await matches(q, { message: 'other' })).toBe(false)
  })

  it.each([
    ['level:error and payment', '`and` is searched as a word here. Write AND for the operator.'],
    ['not payment', '`not` is searched as a word here. Write NOT for the operator.'],
    ['staus >= 500', 'No event has a field `staus`, so this is searched as words.'],
    ['http.status:>1s', '`1s` is no number, so it is compared as a text. Values have no units here.'],
    ['http.status:[1s TO *]', '`1s` is no number, so it is compared as a text. Values have no units here.'],
    [
      '_time:>"2026-11-31T10:00:00Z"',
      '`2026-11-31T10:00:00Z` is no time. Write 10:42, 2026-11-22, 2026-11-22T10:42:07Z or now-5m.',
    ],
    ['_time:>yesterday', '`yesterday` is no time. Write 10:42, 2026-11-22, 2026-11-22T10:42:07Z or now-5m.'],
    ['level:error,warn', '`error,warn` is none of the levels. Write `level:(warn OR error)` for one of several.'],
    ['is:dup', '`dup` is none of the words after `is:`. Write late, new, cut, duplicate, clock, no-time.'],
    ['error | stats count', '`|` is searched as text. A query has no pipes.'],
    ['message LIKE x', expect.stringMatching(/^`LIKE` is searched as text\. Write `message:\*text\*`/)],
    ['{level="error"}', expect.stringMatching(/^`\{level="error"\}` is searched as text\. Write a field/)],
    ['timeot~', '`timeot~` is searched as text. Write `*` and `?` for what may differ.'],
    ['message:timed', '`message:timed` asks for this value as a whole. For a part of it, write `message:*timed*`.'],
  ])('%s, which means something elsewhere, says what it means here', async (q, note) => {
    const index = newIndex()
    index.add(arrived(http))
    const { reading } = await index.events({ q })
    expect(reading.notes.map(({ text: said }) => said)).toContainEqual(note)
  })

  it.each([
    ['staus:504 payment', 'http.status:504 payment'],
    ['-staus:504', '-http.status:504'],
    ['staus >= 500', 'http.status >= 500'],
    ['severity:error OR (severity:warn staus)', 'level:error OR (level:warn staus)'],
    ['@timestamp:>now-5m', '_time:>now-5m'],
  ])('%s, which names no field, has %s as its correction', async (q, correction) => {
    const index = newIndex()
    index.add(arrived(http))
    const { reading } = await index.events({ q })
    expect(reading.notes.find(({ didYouMean }) => didYouMean !== undefined)).toMatchObject({ correction })
    expect((await index.events({ q: correction })).reading.notes).not.toContainEqual(
      expect.objectContaining({ didYouMean: expect.anything() }),
    )
  })

  it('keeps the clause of a comparison with blanks whole when another one is removed', () => {
    const index = newIndex()
    index.add(arrived(http))
    const q = 'status >= 500 payment'
    expect(index.edit({ q, change: { kind: 'remove', start: 14, end: 21 } })).toEqual({ q: 'status >= 500' })
    expect(index.edit({ q, change: { kind: 'remove', start: 0, end: 13 } })).toEqual({ q: 'payment' })
  })

  it.each(['http.status:(>=500 AND <505)', 'http.status:(>=500 AND <505) payment', '(payment timeout)'])(
    'has one clause for the brackets of %s, which leaves a query when it is removed',
    q => {
      const index = newIndex()
      const { clauses } = readQuery(q, index.knownFields).reading
      const others = q.endsWith(' payment') ? ['payment'] : []
      expect(clauses.map(({ text }) => text)).toEqual([q.replace(/ payment$/, ''), ...others])
      const [{ start = 0, end = 0 } = {}] = clauses
      expect(index.edit({ q, change: { kind: 'remove', start, end } }).q).toBe(others.join())
    },
  )

  it('has clauses that are parts of its text', () => {
    const q = ' level:>=warn  -health AND (a OR b) '
    const known = { has: () => true, endingWith: () => [], similarTo: () => undefined }
    const { clauses } = readQuery(q, known).reading
    expect(clauses.map(({ label }) => label)).toEqual(['level ≥ warn', 'not "health"', 'a OR b'])
    for (const clause of clauses) expect(q.slice(clause.start, clause.end)).toBe(clause.text)
  })
})

describe('random queries', () => {
  const leaf: fc.Arbitrary<Tree> = fc.oneof(
    fc.record({ kind: fc.constant('text' as const), text: text.filter(one => one !== ''), isExact: fc.boolean() }),
    fc.record({ kind: fc.constant('equals' as const), field: fieldName, text, isExact: fc.boolean() }),
    fc.record({ kind: fc.constant('exists' as const), field: fieldName }),
    fc.record({
      kind: fc.constant('compare' as const),
      field: fieldName,
      sign: fc.constantFrom('>' as const, '>=' as const, '<' as const, '<=' as const),
      number: fc.constantFrom(0, 1, 42, 4.2, 500),
    }),
    fc.record({
      kind: fc.constant('begins' as const),
      field: fieldName,
      text: text.filter(one => /^\p{L}/u.test(one)),
    }),
  )
  const { tree } = fc.letrec<{ tree: Tree }>(tie => ({
    tree: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      leaf,
      fc.record({
        kind: fc.constantFrom('and' as const, 'or' as const),
        parts: fc.array(tie('tree'), { minLength: 1, maxLength: 3 }),
      }),
      fc.record({ kind: fc.constant('not' as const), part: tie('tree') }),
    ),
  }))
  const known = { has: () => true, endingWith: () => [], similarTo: () => undefined }

  it('match exactly the events that a slow, obvious matcher finds', () => {
    const seed = Math.trunc(Math.random() * 2 ** 31)
    const lines = fc.sample(event, { numRuns: 100, seed })
    const events = lines.map(line => ({ line, parsed: JSON.parse(line), entry: entryOf(line) }))
    let found = 0
    for (const query of fc.sample(tree, { numRuns: 200, seed })) {
      const { node, reading } = readQuery(textOf(query), known)
      expect(reading.notes).toEqual([])
      const { test } = compileQuery(node, { mark: 0, nowMs })
      for (const { line, parsed, entry } of events) {
        const isFound = test(new Candidate(entry))
        if (isFound) found++
        if (isFound !== isMatch(query, parsed)) expect.fail(`${textOf(query)} of ${line}: ${isFound}, by seed ${seed}`)
      }
    }
    expect(found).toBeGreaterThan(1000)
  })

  it('never throw, and have clauses that are parts of the text', () => {
    const words = [
      'level:',
      '>=',
      'warn',
      '(',
      ')',
      ' ',
      ' OR ',
      ' AND ',
      'NOT ',
      '-',
      '"',
      "'",
      '/',
      '[',
      ' TO ',
      ']',
      '{',
      '}',
      '*',
      '?',
      '\\',
      '=',
      '!',
      'x',
      '504',
      '.',
      ':',
      'é',
      '\ud800',
      '\u0000',
      '\n',
    ]
    const typed = fc.oneof(
      fc.array(fc.constantFrom(...words), { maxLength: 12 }).map(all => all.join('')),
      fc.string({ unit: anyCharacter }),
    )
    fc.assert(
      fc.property(typed, q => {
        const { node, reading } = readQuery(q, known)
        for (const { text: part, start, end } of reading.clauses) expect(q.slice(start, end)).toBe(part)
        if (node.kind !== 'all' && reading.clauses.length === 0) expect(reading.notes).not.toEqual([])
        expect(compileQuery(node, { mark: 0, nowMs }).test(new Candidate(entryOf('{"x":504}')))).toBeTypeOf('boolean')
        if (reading.readAs !== undefined) expect(stripped(parseQuery(reading.readAs).node)).toEqual(stripped(node))
      }),
      { numRuns: soakRuns(1200), examples: [['level: AND level: OR level: ']] },
    )
  })

  it('are understood as liqe understands them, if they have brackets and no short forms', () => {
    const words = fc.constantFrom<Tree>(
      ...['a', 'b', 'c'].map(one => ({ kind: 'text' as const, text: one, isExact: false })),
    )
    const { logic } = fc.letrec<{ logic: Tree }>(tie => ({
      logic: fc.oneof(
        { depthSize: 'small' },
        words,
        fc.record({
          kind: fc.constantFrom('and' as const, 'or' as const),
          parts: fc.tuple(tie('logic'), tie('logic')),
        }),
      ),
    }))
    fc.assert(
      fc.property(logic, query => {
        const q = textOf(query).replaceAll('"', '')
        expect(shape(parseQuery(q).node)).toBe(liqeShape(parseWithLiqe(q)))
      }),
      { numRuns: soakRuns(150) },
    )
  })

  it('with wildcards and long texts match what regular expressions match', () => {
    const letters = fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 90 })
    const pattern = fc.array(fc.oneof(fc.constantFrom('*', '?', 'a', 'b'), letters), { minLength: 1, maxLength: 6 })
    const inText = (q: string, message: string) => {
      const { test } = compileQuery(readQuery(q, known).node, { mark: 0, nowMs })
      return test(new Candidate(entryOf(JSON.stringify({ x: message }))))
    }
    fc.assert(
      fc.property(pattern, letters, letters, (parts, before, after) => {
        const typed = parts.join('')
        const message = `${before}${typed.replaceAll('*', '').replaceAll('?', 'b')}${after}`
        const source = typed.replaceAll('*', '.*').replaceAll('?', '.')
        fc.pre(typed !== '')
        expect(inText(`x:${typed}`, message)).toBe(new RegExp(`^(?:${source})$`).test(message))
        expect(inText(typed, message)).toBe(new RegExp(source).test(message))
      }),
      { numRuns: 500 },
    )
  })

  it.each([
    ['wildcards', `message:*${'a?'.repeat(30)}b*`],
    ['wildcards in any value', `${'a?'.repeat(30)}b`],
    ['a long text', `${'a'.repeat(1900)}b${'a'.repeat(1900)}`],
    ['a long end', `message:*${'a'.repeat(1900)}b${'a'.repeat(1900)}`],
    ['a long name', `${'a'.repeat(1900)}b${'a'.repeat(1900)}:x`],
    ['a long part', `message:*${'a'.repeat(1900)}b${'a'.repeat(1900)}*`],
  ])('with %s take no seconds for a large value, however alike the two are', async (_, q) => {
    const index = newIndex()
    index.add(arrived({ message: 'a'.repeat(2_000_000) }))
    const before = process.cpuUsage()
    expect((await index.events({ q })).events).toEqual([])
    const { user, system } = process.cpuUsage(before)
    expect((user + system) / 1e6).toBeLessThan(1)
  })

  it('of sixteen brackets in a row are parsed at once', () => {
    const q = Array.from({ length: 100 }, (_, at) => `(a${at})`).join(' ')
    const parsingMs = cpuMs(() => expect(parseQuery(q).node).toMatchObject({ kind: 'and' }))
    expect(parsingMs).toBeLessThan(50)
  })

  it.each([
    ['brackets', '('.repeat(2000)],
    ['signs', '-'.repeat(3999)],
    ['terms', 'a '.repeat(1999)],
    ['characters', 'a'.repeat(1_000_000)],
    ['wildcards', '*a'.repeat(1000)],
  ])('with too many %s are searched as text', (_, q) => {
    expect(readQuery(q, known).reading.notes[0]?.text).toMatch(/^Searched as text: /)
  })
})

function entryOf(line: string): Entry {
  const name = { name: 'app', events: 1, bytes: 1, firstN: 1, firstAt: 0 }
  return {
    ...{ n: 1, at: 0, receivedAt: 0, dataset: name, source: null, statement: name, rank: noRank, marks: 0, skewMs: 0 },
    ...{
      request: 0,
      line,
      lineBytes: 0,
      bytes: 0,
      isKept: true,
      lists: 0,
      listsOfAnyLevel: 0,
      pins: 0,
      free: () => {},
    },
  }
}

/** Returns a query without the places in its text. */
function stripped(node: QueryNode): unknown {
  if (node.kind === 'all') return 'all'
  if (node.kind === 'not') return { not: stripped(node.node) }
  if (node.kind === 'term') {
    const { test } = node
    return [node.field, test.kind === 'text' ? { text: test.text, isExact: test.quotes === "'" } : test]
  }
  return { [node.kind]: node.nodes.map(stripped) }
}

function shape(node: QueryNode): string {
  if (node.kind === 'term') return node.test.kind === 'text' ? node.test.text : ''
  if (node.kind !== 'and' && node.kind !== 'or') return ''
  return `(${node.nodes.map(shape).join(node.kind === 'and' ? '&' : '|')})`
}

function liqeShape(node: ReturnType<typeof parseWithLiqe>): string {
  if (node.type === 'ParenthesizedExpression') return liqeShape(node.expression as typeof node)
  if (node.type === 'Tag') return node.expression.type === 'LiteralExpression' ? String(node.expression.value) : ''
  if (node.type !== 'LogicalExpression') return ''
  const sign = node.operator.operator === 'AND' ? '&' : '|'
  return `(${liqeShape(node.left as typeof node)}${sign}${liqeShape(node.right as typeof node)})`
}
