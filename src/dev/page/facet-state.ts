/** Reads from the clauses of a query which values of a field it lets through, for the boxes of a facet. */
import type { QueryReading } from '../protocol.ts'
import { quoted, unescaped } from '../query/quoted-text.ts'

type Clauses = QueryReading['clauses']

export interface FacetState {
  /** Values that the query names: only these pass. Empty if it names none. */
  only: string[]
  /** Values that the query excludes, and where the clause stands. */
  excluded: { value: string; start: number; end: number }[]
}

/** What a clause says about one field. */
interface FieldTests {
  isExcluding: boolean
  /** The text of each test after the colon. One of them must hold. */
  tests: string[]
}

const test = String.raw`"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^\s()"'][^\s()"]*`

/** Reads a clause such as `source:api`, `-"user id":"a b"`, `source:api OR source:web` or `NOT (source:api OR source:web)`. */
function testsOf(clause: string, field: string): FieldTests | undefined {
  const names = [field, quoted(field)].map(name => name.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'))
  const one = `(?:${names.join('|')}):(${test})`
  const any = `${one}(?: OR ${one})*`
  const whole = new RegExp(String.raw`^(?:-${one}|${any}|NOT \(${any}\))$`).exec(clause)
  if (whole === null) return undefined
  return {
    isExcluding: /^(?:-|NOT )/.test(clause),
    tests: [...clause.matchAll(new RegExp(one, 'g'))].map(([, found = '']) => found),
  }
}

export function facetState(clauses: Clauses, field: string): FacetState {
  const state: FacetState = { only: [], excluded: [] }
  for (const { read, start, end } of clauses) {
    const { isExcluding, tests } = testsOf(read, field) ?? { isExcluding: false, tests: [] }
    if (isExcluding) state.excluded.push(...tests.map(one => ({ value: namedIn(one), start, end })))
    else if (tests.every(isValue)) state.only.push(...tests.map(namedIn))
  }
  return state
}

/** False if a test names no value, but a comparison, a pattern or the presence of the field. */
function isValue(text: string): boolean {
  return /^["']|^[^<>=!/*?][^*?]*$/.test(text)
}

function namedIn(text: string): string {
  return /^["']/.test(text) ? unescaped(text.slice(1, -1)) : text
}
