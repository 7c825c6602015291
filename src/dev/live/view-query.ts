import type { ViewQuery } from '../protocol.ts'

const maxColumns = 12
const maxColumnChars = 1024

export const defaultViewQuery: ViewQuery = {
  q: '',
  sort: 'time',
  since: 0,
  from: null,
  to: null,
  group: true,
  columns: [],
  mark: 0,
}

/** Returns true for each query that depends on the mark, and for some others. */
export function asksForNew(q: string): boolean {
  return /\bis\b/i.test(q) && /new/i.test(q)
}

/** Returns the query with its defaults, or with the parts that change. Columns that are too many are left out. */
export function changedQuery(query: ViewQuery, change: Partial<ViewQuery>): ViewQuery {
  const given = Object.fromEntries(
    Object.entries(defaultViewQuery).flatMap(([name]) => {
      const value = change[name as keyof ViewQuery]
      return value === undefined ? [] : [[name, value]]
    }),
  )
  const changed: ViewQuery = { ...query, ...given }
  const columns = changed.columns.slice(0, maxColumns).map(path => path.slice(0, maxColumnChars))
  return { ...changed, columns }
}

/** True if the change needs another list, and not only other rows. */
export function hasOtherMatches(query: ViewQuery, other: ViewQuery): boolean {
  const parts = ['q', 'sort', 'since', 'from', 'to'] as const
  return parts.some(part => query[part] !== other[part]) || (query.mark !== other.mark && asksForNew(other.q))
}

/** True if the change needs other rows of the same events. */
export function hasOtherRows(query: ViewQuery, other: ViewQuery): boolean {
  const [columns, otherColumns] = [query.columns, other.columns]
  return (
    query.mark !== other.mark ||
    columns.length !== otherColumns.length ||
    columns.some((path, at) => path !== otherColumns[at])
  )
}
