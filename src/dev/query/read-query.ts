import { levels, type QueryReading } from '../protocol.ts'
import { shownLevels } from './compile-query.ts'
import { all, type LogicalNode, type QueryNode, QueryProblem } from './query-node.ts'
import { parseQuery } from './query-parser.ts'
import { clauseLabel, queryText } from './query-text.ts'
import { type Note, notesOn, unknownName } from './reading-notes.ts'
import { isFieldName, type KnownFields, resolveNames } from './resolve-names.ts'

export interface ReadQuery {
  readonly node: QueryNode
  readonly reading: QueryReading
  /** True if the text is the beginning of a query, and was searched as text because of that. */
  readonly isUnfinished: boolean
  /** Names that are read as fields, or would be, and that no event has. */
  readonly unknown: readonly string[]
}

/** Maximum number of texts that are highlighted, and of notes. */
const maxListed = 20

/** Reads the text of a query. A text that is no query is searched as text, and a note says why. Never throws. */
export function readQuery(text: string, fields: KnownFields): ReadQuery {
  try {
    const parsed = parseQuery(text, name => isFieldName(name, fields))
    const { node, isChanged, unknown } = resolveNames(parsed.node, fields)
    const ofOperators = parsed.wordsLikeOperators.slice(0, 1).map(({ word, at }) => ({
      text: `\`${word}\` is searched as a word here. Write ${word.toUpperCase()} for the operator.`,
      column: at + 1,
    }))
    const apart = parsed.namesLikeFields.slice(0, 1).map(({ name, at }) => ({
      ...unknownName(name, text, fields),
      text: `No event has a field \`${name}\`, so this is searched as words.`,
      column: at + 1,
    }))
    const notes: Note[] = [
      ...ofOperators,
      ...apart,
      ...unknown.map(name => unknownName(name, text, fields)),
      ...notesOn(node, text),
    ]
    const reading: QueryReading = {
      clauses: clausesOf(node, text),
      notes: notes.slice(0, maxListed),
      highlight: highlightOf(node),
      levels: shownLevels(node),
    }
    if (parsed.isRewritten || isChanged) reading.readAs = queryText(node)
    const names = [...unknown, ...parsed.namesLikeFields.map(({ name }) => name)]
    return { node, reading, isUnfinished: false, unknown: names }
  } catch (error) {
    return asText(text, error)
  }
}

function asText(text: string, error: unknown): ReadQuery {
  const problem = error instanceof QueryProblem ? error : undefined
  const phrase = text.trim()
  const place = { start: 0, end: text.length }
  const node: QueryNode =
    phrase === '' ? all : { kind: 'term', field: null, test: { kind: 'text', text: phrase, quotes: '"' }, ...place }
  const column = Math.min(problem?.at ?? 0, text.length) + 1
  const reason = problem === undefined ? 'the query cannot be read' : `${problem.message} at column ${column}`
  const reading: QueryReading = {
    clauses: phrase === '' ? [] : [{ text, read: queryText(node), ...place, label: `"${phrase}"` }],
    notes: [{ text: `Searched as text: ${reason}`, column }],
    highlight: [phrase],
    levels: [...levels],
  }
  return { node, reading, isUnfinished: problem?.isUnfinished === true, unknown: [] }
}

function clausesOf(node: QueryNode, text: string): QueryReading['clauses'] {
  // The conjuncts of brackets are parts of one clause: the brackets would be left without them.
  const nodes = node.kind === 'all' ? [] : node.kind === 'and' && isWhole(node, text) ? node.nodes : [node]
  return nodes.flatMap(clause => {
    if (clause.kind === 'all') return []
    const { start, end } = clause
    return [{ text: text.slice(start, end), read: queryText(clause), start, end, label: clauseLabel(clause) }]
  })
}

/** True if a conjunction is not in brackets. */
function isWhole(node: LogicalNode, text: string): boolean {
  const [first] = node.nodes
  return first === undefined || first.kind === 'all' || /^[+\s]*$/.test(text.slice(node.start, first.start))
}

/** Returns the texts that a matching event contains. */
function highlightOf(node: QueryNode): string[] {
  const texts = new Set<string>()
  const visit = (visited: QueryNode): void => {
    if (visited.kind === 'and' || visited.kind === 'or') visited.nodes.forEach(visit)
    if (visited.kind !== 'term' || (visited.field !== null && visited.field !== 'message')) return
    const { test } = visited
    if (test.kind === 'text') texts.add(test.text)
    if (test.kind !== 'wildcard') return
    for (const part of test.parts) if (typeof part === 'object') texts.add(part.literal)
  }
  visit(node)
  return [...texts].filter(text => text !== '').slice(0, maxListed)
}
