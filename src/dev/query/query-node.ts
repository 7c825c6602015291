/** A query as a tree. Places are offsets in the text of the query. */
export type QueryNode = AllNode | LogicalNode | NotNode | TermNode

/** Matches every event: an empty query. */
export interface AllNode {
  readonly kind: 'all'
}

export interface LogicalNode extends Place {
  readonly kind: 'and' | 'or'
  readonly nodes: readonly QueryNode[]
}

export interface NotNode extends Place {
  readonly kind: 'not'
  readonly node: QueryNode
}

export interface TermNode extends Place {
  readonly kind: 'term'
  /** Name of the field, or `null` for any value of the event. */
  readonly field: string | null
  readonly test: TermTest
}

export interface Place {
  readonly start: number
  readonly end: number
}

export type Comparison = '>' | '>=' | '<' | '<='

/** What a value must be. */
export type TermTest =
  /** Equal to the text, or containing it if the term names no field. `quotes` says how the text was written. */
  | { readonly kind: 'text'; readonly text: string; readonly quotes: '"' | "'" | '' }
  /** Like the parts, with anything between them (`*`) or one character (`?`). */
  | { readonly kind: 'wildcard'; readonly parts: readonly WildcardPart[] }
  | { readonly kind: 'exists' }
  | { readonly kind: 'compare'; readonly comparison: Comparison; readonly text: string }
  | {
      readonly kind: 'range'
      /** `null` for no bound: `[500 TO *]`. */
      readonly min: string | null
      readonly max: string | null
      readonly includesMin: boolean
      readonly includesMax: boolean
    }
  | { readonly kind: 'regex'; readonly source: string; readonly flags: string }

export type WildcardPart = { readonly literal: string } | '*' | '?'

export const all: AllNode = { kind: 'all' }

/** Returns the parts of a query that are joined by AND. */
export function conjuncts(node: QueryNode): readonly Exclude<QueryNode, { kind: 'all' }>[] {
  if (node.kind === 'all') return []
  return node.kind === 'and' ? node.nodes.flatMap(conjuncts) : [node]
}

/** Why a text is no query. */
export class QueryProblem extends Error {
  /** Offset in the text at which the problem was found. */
  readonly at: number
  /** True if the text is the beginning of a query: it ends in `AND`, an open bracket or quote, or `field:`. */
  readonly isUnfinished: boolean

  constructor(message: string, at: number, isUnfinished = false) {
    super(message)
    this.at = at
    this.isUnfinished = isUnfinished
  }
}
