import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { cutText } from '../../src/dev/cut-text.ts'
import { Candidate } from '../../src/dev/event/candidate.ts'
import { type Entry, mark } from '../../src/dev/event/entry.ts'
import { levelRank } from '../../src/dev/event/level-rank.ts'
import type { EditRequest, Level } from '../../src/dev/protocol.ts'
import { compileQuery } from '../../src/dev/query/compile-query.ts'
import { editQuery } from '../../src/dev/query/edit-query.ts'
import { readQuery } from '../../src/dev/query/read-query.ts'
import { soakRuns } from '../support/soak-runs.ts'
import { addAll, fieldName, linesOf, newIndex, nowMs, value } from './support/events.ts'

type Change = EditRequest['change']

describe('a click', () => {
  it.each<[q: string, change: Change, text: string]>([
    ['', { kind: 'only', path: 'http.status', value: '504' }, 'http.status:504'],
    ['http.status:200 x', { kind: 'only', path: 'http.status', value: '504' }, 'x http.status:504'],
    ['http.status:(200 OR 404) x', { kind: 'only', path: 'http.status', value: '504' }, 'x http.status:504'],
    ['a OR b', { kind: 'only', path: 'c', value: '"d e"' }, '(a OR b) c:"d e"'],
    ['x', { kind: 'exclude', path: 'user', value: '"ann"' }, 'x -user:ann'],
    ['user:ann x', { kind: 'exclude', path: 'user', value: '"ann"' }, 'x -user:ann'],
    ['user:ann x', { kind: 'or', path: 'user', value: '"bob"' }, '(user:ann OR user:bob) x'],
    ['(user:ann OR user:bob) x', { kind: 'or', path: 'user', value: '"eve"' }, '(user:ann OR user:bob OR user:eve) x'],
    ['x', { kind: 'or', path: 'user', value: '"eve"' }, 'x user:eve'],
    ['', { kind: 'only', path: 'cart', value: '{3 fields}' }, 'cart:*'],
    ['x', { kind: 'exists', path: 'a b' }, 'x "a b":*'],
    ['x level:info', { kind: 'levels', levels: ['error', 'fatal'] }, 'x level:>=error'],
    ['x level:info', { kind: 'levels', levels: ['debug'] }, 'x level:debug'],
    ['level:>=warn -level:fatal x', { kind: 'levels', levels: ['info', 'error'] }, 'x (level:info OR level:error)'],
    ['level:>=warn x', { kind: 'levels', levels: ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] }, 'x'],
    ['x', { kind: 'text', text: 'a "b"' }, 'x "a \\"b\\""'],
    ['a OR b', { kind: 'and', q: 'c' }, '(a OR b) c'],
    ['c', { kind: 'and', q: 'a OR b' }, 'c (a OR b)'],
    ['', { kind: 'and', q: 'a b' }, 'a b'],
    ['payment (failed', { kind: 'and', q: 'is:late' }, '"payment (failed" is:late'],
    ['a AND b AND c', { kind: 'remove', start: 6, end: 7 }, 'a c'],
    ['a -health', { kind: 'remove', start: 2, end: 9 }, 'a'],
    ['broken ( text', { kind: 'only', path: 'a', value: '1' }, '"broken ( text" a:1'],
  ])('turns %s by %j into %s', (q, change, text) => {
    expect(editQuery(q, change)).toBe(text)
  })

  it('changes the clause about the field also if it names no more than the end of its path', async () => {
    const index = newIndex()
    addAll(index, [{ http: { status: 200 } }, { http: { status: 504 } }])
    const click = (kind: 'only' | 'or') =>
      index.edit({ q: 'status:200', change: { kind, path: 'http.status', value: '504' } }).q
    expect(await linesOf(index, click('only'))).toEqual(['{"http":{"status":504}}'])
    expect(await linesOf(index, click('or'))).toHaveLength(2)
  })

  it('on a long value of a facet finds the event', async () => {
    const index = newIndex()
    const lengths = [199, 200, 201, 250, 251, 299, 300, 301, 400]
    addAll(
      index,
      lengths.map(length => ({ url: `/${length}/`.padEnd(length, 'long') })),
    )
    const { values } = await index.facet({ field: 'url' })
    expect(values).toHaveLength(lengths.length)
    for (const { value } of values) {
      const { q } = index.edit({ q: '', change: { kind: 'only', path: 'url', value } })
      expect(await linesOf(index, q), q).not.toEqual([])
    }
  })

  const edited = { numRuns: soakRuns(300) }
  const known = { has: () => true, endingWith: () => [], similarTo: () => undefined }

  it.each(['only', 'exclude'] as const)('on %s finds, or does not find, the event, whatever the value is', kind => {
    const queries = fc.constantFrom('', 'NOT xyzzy', 'a:1 OR NOT a:1', '-level:nope')
    const names = fc.oneof(
      fieldName,
      fc.constantFrom('level', 'dataset', 'is', '_time', 'source', 'request'),
      fc.string(),
    )
    fc.assert(
      fc.property(queries, names, value, (q, name, clicked) => {
        const line = `{${JSON.stringify(name)}:${JSON.stringify(clicked)},"other":1}`
        const edit = editQuery(q, { kind, path: name, value: JSON.stringify(clicked) })
        const { node, reading } = readQuery(edit, known)
        expect(reading.notes, edit).toEqual([])
        expect(compileQuery(node, { mark: 0, nowMs }).test(new Candidate(entryOf(line))), edit).toBe(kind === 'only')
      }),
      edited,
    )
  })

  it('on a long or hostile text finds the event, and its exclusion does not', () => {
    for (const text of [
      'x'.repeat(1_000_000),
      '\u202e\u0000\ud800<script>*?"\\'.repeat(100),
      ' \n'.repeat(500),
      '"'.repeat(301),
    ]) {
      const line = JSON.stringify({ a: text })
      const test = (kind: 'only' | 'exclude') => {
        const { node, reading } = readQuery(editQuery('', { kind, path: 'a', value: JSON.stringify(text) }), known)
        expect(reading.notes).toEqual([])
        return compileQuery(node, { mark: 0, nowMs }).test(new Candidate(entryOf(line)))
      }
      expect(test('only')).toBe(true)
      expect(test('exclude')).toBe(false)
    }
  })

  it('on a value that its row has cut finds the event', () => {
    const text = 'ab cd '.repeat(100)
    const { node } = readQuery(
      editQuery('', { kind: 'only', path: 'a', value: JSON.stringify(cutText(text, 300)) }),
      known,
    )
    expect(compileQuery(node, { mark: 0, nowMs }).test(new Candidate(entryOf(JSON.stringify({ a: text }))))).toBe(true)
  })

  it('on levels finds exactly the chosen ones', () => {
    const all: Level[] = ['trace', 'debug', 'info', 'warn', 'error', 'fatal']
    fc.assert(
      fc.property(fc.subarray(all, { minLength: 1 }), chosen => {
        const { node } = readQuery(editQuery('', { kind: 'levels', levels: chosen }), known)
        const { test } = compileQuery(node, { mark: 0, nowMs })
        const found = all.filter(level => test(new Candidate(entryOf(JSON.stringify({ level })))))
        expect(found).toEqual(chosen)
      }),
    )
  })
})

function entryOf(line: string): Entry {
  const name = { name: 'app', events: 1, bytes: 1, firstN: 1, firstAt: 0 }
  return {
    ...{
      n: 1,
      at: nowMs,
      receivedAt: nowMs,
      dataset: name,
      source: null,
      statement: name,
      marks: mark.noTime,
      skewMs: 0,
    },
    ...{
      rank: levelRank(JSON.parse(line)),
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
