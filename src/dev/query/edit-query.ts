import { longIntegerOf } from '../event/exact-event.ts'
import { type EditRequest, type Level, levels } from '../protocol.ts'
import { all, type QueryNode } from './query-node.ts'
import { parseQuery } from './query-parser.ts'
import { fieldText, quoted, valueText } from './quoted-text.ts'
import { type FieldNames, isFieldName, resolveNames } from './resolve-names.ts'

/**
 * Maximum length of a value that a clause contains whole, in characters. A longer one is found by its beginning. Rows cut
 * their values at 300 characters, so a value of that length may be a part.
 */
const maxValueChars = 250
const beginningChars = 200
/** Maximum number of characters in this beginning that are hard to see. */
const maxWildcards = 16

interface Clause {
  readonly text: string
  readonly node: QueryNode
}

/** No field has a name that is known. */
const noNames: FieldNames = { has: () => false, endingWith: () => [] }

/**
 * Returns the text of a query after a change. A text that is no query becomes a phrase first.
 *
 * @param fields the fields that events have: a clause may name one of them by the end of its path
 */
export function editQuery(q: string, change: EditRequest['change'], fields: FieldNames = noNames): string {
  const clauses = clausesOf(q, fields)
  switch (change.kind) {
    case 'only': {
      const clause = valueClause(change.path, change.value)
      return joined([...clauses.filter(({ node }) => !isAbout(node, change.path)).map(({ text }) => text), clause])
    }
    case 'exclude': {
      const clause = valueClause(change.path, change.value)
      const left = clauses.filter(({ text }) => text !== clause).map(({ text }) => text)
      return joined([...left, negated(clause)])
    }
    case 'or':
      return joined(withAlternative(clauses, change.path, valueClause(change.path, change.value)))
    case 'exists':
      return joined([...clauses.map(({ text }) => text), `${fieldText(change.path)}:*`])
    case 'levels':
      return joined([
        ...clauses.filter(({ node }) => !isAbout(node, 'level')).map(({ text }) => text),
        ...levelClause(change.levels),
      ])
    case 'text':
      return joined([...clauses.map(({ text }) => text), quoted(change.text)])
    case 'and':
      return joined([...clauses, ...clausesOf(change.q, fields)].map(({ text }) => text))
    case 'remove':
      return removed(q, change, clauses)
  }
}

/** Returns the clauses that are joined by AND. */
function clausesOf(q: string, fields: FieldNames): Clause[] {
  if (q.trim() === '') return []
  try {
    const { node } = resolveNames(parseQuery(q, name => isFieldName(name, fields)).node, fields)
    const isBare =
      node.kind === 'and' && node.nodes[0] !== undefined && placeOf(node).start === placeOf(node.nodes[0]).start
    const nodes = isBare && node.kind === 'and' ? node.nodes : [node]
    return nodes.map(clause => {
      const { start, end } = placeOf(clause)
      const text = q.slice(start, end)
      // Alternatives lose their meaning beside another clause, unless they are in brackets.
      return { node: clause, text: clause.kind === 'or' && !isBracketed(text) ? `(${text})` : text }
    })
  } catch {
    return [{ node: all, text: quoted(q.trim()) }]
  }
}

function placeOf(node: QueryNode): { start: number; end: number } {
  return node.kind === 'all' ? { start: 0, end: 0 } : node
}

/** True if a text of alternatives is in brackets as a whole, or is the group of one field. */
function isBracketed(text: string): boolean {
  if (!text.endsWith(')')) return false
  try {
    const { node } = parseQuery(text)
    const [first] = node.kind === 'or' ? node.nodes : []
    return first !== undefined && placeOf(first).start > placeOf(node).start
  } catch {
    return false
  }
}

function joined(clauses: readonly string[]): string {
  return [...new Set(clauses)].join(' ')
}

/** True if a clause tests this field and no other. */
function isAbout(node: QueryNode, path: string): boolean {
  if (node.kind === 'term') return node.field === path
  if (node.kind === 'not') return isAbout(node.node, path)
  return node.kind !== 'all' && node.nodes.every(part => isAbout(part, path))
}

function negated(clause: string): string {
  return `-${clause}`
}

/** Adds an alternative to the clause about the same field, if there is one. */
function withAlternative(clauses: readonly Clause[], path: string, added: string): string[] {
  const at = clauses.findIndex(({ node }) => (node.kind === 'term' || node.kind === 'or') && isAbout(node, path))
  const texts = clauses.map(({ text }) => text)
  const present = texts[at]
  if (present === undefined) return [...texts, added]
  if (present === added) return texts
  const inner = clauses[at]?.node.kind === 'or' && present.startsWith('(') ? present.slice(1, -1) : present
  return texts.toSpliced(at, 1, `(${inner} OR ${added})`)
}

/**
 * Returns the clause that finds a value, which is given as JSON. Containers are found by their presence, also if no more
 * than a summary of them is given.
 */
function valueClause(path: string, json: string): string {
  const name = fieldText(path)
  const value = parsed(json)
  if (typeof value === 'string') return `${name}:${textValue(value)}`
  if (typeof value !== 'object' || value === null) return `${name}:${valueText(String(value))}`
  return `${name}:*`
}

function parsed(json: string): unknown {
  try {
    return longIntegerOf(json) ?? JSON.parse(json)
  } catch {
    return /^[[{]/.test(json) ? {} : json // a summary of a container, or a text without its quotes
  }
}

function textValue(value: string): string {
  if (value.length <= maxValueChars) {
    const isNumber = /^[-+.\d]/.test(value)
    return isNumber ? quoted(value) : valueText(value)
  }
  return `${beginningOf(value)}*`
}

/** Returns the beginning of a text as a pattern. Characters that are hard to see stand for any character. */
function beginningOf(value: string): string {
  let beginning = ''
  let wildcards = 0
  for (const char of value.slice(0, beginningChars)) {
    const isSeen = /[\p{L}\p{N} !-~]/u.test(char)
    if (!isSeen && ++wildcards > maxWildcards) break
    if (isSeen) beginning += /[\p{L}\p{N}]/u.test(char) ? char : `\\${char}`
    else beginning += '?'.repeat(char.length)
  }
  return beginning
}

/** Returns the clause for the chosen levels: none if all of them are, a minimum if they are the highest ones. */
function levelClause(chosen: readonly Level[]): string[] {
  const names = levels.filter(level => chosen.includes(level))
  const [lowest] = names
  if (lowest === undefined || names.length === levels.length) return []
  if (names.length === 1 && lowest !== 'fatal') return [`level:${lowest}`]
  if (names.length === levels.length - levels.indexOf(lowest)) return [`level:>=${lowest}`]
  return [`(${names.map(name => `level:${name}`).join(' OR ')})`]
}

/** Removes a part of the text, and the operator that joined it. */
function removed(q: string, { start, end }: { start: number; end: number }, clauses: readonly Clause[]): string {
  const isClause = ({ node }: Clause) => {
    const place = placeOf(node)
    return place.start === start && place.end === end
  }
  if (clauses.some(isClause)) return joined(clauses.filter(clause => !isClause(clause)).map(({ text }) => text))
  return `${q.slice(0, Math.max(start, 0))}${q.slice(Math.max(end, 0))}`.replace(/\s+/g, ' ').trim()
}
