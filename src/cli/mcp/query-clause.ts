import { QueryProblem } from '../../dev/query/query-node.ts'
import { parseQuery } from '../../dev/query/query-parser.ts'
import { quoted } from '../../dev/query/quoted-text.ts'

/** A query as a part of a longer one, and what to say about it. */
export interface QueryClause {
  /** Empty if every event matches. */
  readonly text: string
  readonly notes: readonly string[]
}

/** Puts a query into brackets. A text that is no query becomes a phrase: without the brackets, it is searched so as well. */
export function queryClause(query: string): QueryClause {
  if (query.trim() === '') return { text: '', notes: [] }
  const clause = `(${query})`
  try {
    parseQuery(query)
    parseQuery(clause) // a query may end in a backslash
    return { text: clause, notes: [] }
  } catch (error) {
    if (!(error instanceof QueryProblem)) throw error
    return { text: quoted(query.trim()), notes: [`Searched as text: ${error.message}`] }
  }
}
