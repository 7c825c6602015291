/** Reads from the clauses of a query which values of a field it lets through, for the boxes of a facet. */
import { type Level, levels, type QueryReading } from '../protocol.ts'

type Clauses = QueryReading['clauses']

export interface FacetState {
  /** Values that the query names: only these pass. Empty if it names none. */
  only: string[]
  /** Values that the query excludes, and where the clause stands. */
  excluded: { value: string; start: number; end: number }[]
}

const value = String.raw`"(?:[^"\\]|\\.)*"|[^\s()"]+`

/** Reads clauses such as `source:api`, `-source:"a b"` and `(source:api OR source:web)`. */
export function facetState(clauses: Clauses, field: string): FacetState {
  const name = field.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
  const one = new RegExp(`^(?<minus>-|NOT )?${name}:(?<value>${value})$`)
  const state: FacetState = { only: [], excluded: [] }
  for (const { text, start, end } of clauses) {
    const found = one.exec(text)?.groups
    if (found?.minus !== undefined) state.excluded.push({ value: unquoted(found.value ?? ''), start, end })
    else if (found !== undefined) state.only.push(unquoted(found.value ?? ''))
    else if (text.startsWith('(') && text.endsWith(')')) {
      const parts = text
        .slice(1, -1)
        .split(' OR ')
        .map(part => one.exec(part.trim())?.groups)
      if (parts.every(part => part !== undefined && part.minus === undefined)) {
        state.only.push(...parts.map(part => unquoted(part?.value ?? '')))
      }
    }
  }
  return state
}

/** The levels that the query lets through; `null` if no clause is about the level. */
export function shownLevels(clauses: Clauses): Level[] | null {
  const state = facetState(clauses, 'level')
  if (state.only.length === 0 && state.excluded.length === 0) return null
  const named = new Set<Level>()
  for (const text of state.only) {
    const [, comparison = '', word = ''] = /^(>=|<=|>|<|=)?(.*)$/.exec(text) ?? []
    const rank = levels.indexOf(word.toLowerCase() as Level)
    if (rank === -1) continue
    for (const [at, level] of levels.entries()) {
      if (isWithin(at, comparison, rank)) named.add(level)
    }
  }
  const excluded = new Set(state.excluded.map(one => one.value.toLowerCase()))
  return levels.filter(level => (state.only.length === 0 || named.has(level)) && !excluded.has(level))
}

function isWithin(rank: number, comparison: string, bound: number): boolean {
  if (comparison === '>=') return rank >= bound
  if (comparison === '>') return rank > bound
  if (comparison === '<=') return rank <= bound
  if (comparison === '<') return rank < bound
  return rank === bound
}

function unquoted(text: string): string {
  if (!text.startsWith('"')) return text
  try {
    return String(JSON.parse(text))
  } catch {
    return text.slice(1, -1)
  }
}
