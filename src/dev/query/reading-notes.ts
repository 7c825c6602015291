import { cutText } from '../cut-text.ts'
import { timeOfValue } from '../event/event-time.ts'
import { rankOfWord } from '../event/level-rank.ts'
import type { QueryReading } from '../protocol.ts'
import type { QueryNode, TermNode, TermTest } from './query-node.ts'
import { queryText } from './query-text.ts'
import type { KnownFields } from './resolve-names.ts'
import { timeSpan } from './time-span.ts'
import { numberOf } from './value-test.ts'
import { badgeWords, isVirtualField } from './virtual-fields.ts'

export type Note = QueryReading['notes'][number]

/** Maximum length of a part of the query in a note, in characters. */
const maxQuotedChars = 80

/** Names that other tools use for what is known of each event. */
const otherNames: ReadonlyMap<string, string> = new Map([
  ...['severity', 'lvl', 'loglevel', 'log_level', 'log.level'].map(name => [name, 'level'] as const),
  ...['timestamp', '@timestamp', 'ts', 'time', 'date'].map(name => [name, '_time'] as const),
  ...['msg', 'body', 'text', 'log'].map(name => [name, 'message'] as const),
  ...['index', 'stream'].map(name => [name, 'dataset'] as const),
])

/** Words of other languages, and what to write in their place. */
const foreignWords: readonly [word: RegExp, advice: string][] = [
  [/^\|[=~]?$/, 'A query has no pipes.'],
  [
    /^(?:SELECT|FROM|WHERE|LIKE|IN|BETWEEN|IS)$/,
    'Write `message:*text*` for a part of a value, and `level:(warn OR error)` for one of several.',
  ],
  [/^\{.*[=~]/, 'Write a field and its value: `level:error`.'],
  [/~\d*$/, 'Write `*` and `?` for what may differ.'],
]

/** Returns the note that no event has a field of this name, with the query that names the likeliest one in its place. */
export function unknownName(name: string, query: string, fields: KnownFields): Note {
  const text = `No event has a field \`${shortened(name)}\`.`
  const didYouMean = otherNames.get(name) ?? fields.similarTo(name)
  return didYouMean === undefined ? { text } : { text, didYouMean, correction: corrected(query, name, didYouMean) }
}

/** Replaces a name of a field in the text of a query. */
function corrected(query: string, name: string, other: string): string {
  const literal = name.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')
  return query.replace(new RegExp(`(?<![^\\s(!+-])${literal}(?=\\s*(?:[:=<>]|!=))`, 'gu'), () => other)
}

/** Returns the notes on terms that may mean something else than the reader thinks, one of each kind. */
export function notesOn(node: QueryNode, query: string): Note[] {
  const terms = termsOf(node)
  const first = (noteOf: (term: TermNode) => string | undefined): Note[] => {
    for (const term of terms) {
      const text = noteOf(term)
      if (text !== undefined) return [{ text, column: term.start + 1 }]
    }
    return []
  }
  return [...first(term => foreignNote(term, query)), ...first(comparisonNote)]
}

function foreignNote({ field, test, start, end }: TermNode, query: string): string | undefined {
  if (field !== null || (test.kind !== 'text' && test.kind !== 'wildcard')) return undefined
  const word = query.slice(start, end)
  const advice = foreignWords.find(([form]) => form.test(word))?.[1]
  return advice === undefined ? undefined : `\`${shortened(word)}\` is searched as text. ${advice}`
}

/** Returns the note on a text that is compared by size, although it is no number, level or time. */
function comparisonNote({ field, test }: TermNode): string | undefined {
  const odd = comparedTexts(test).find(text => !isComparable(field, text))
  if (odd === undefined) return undefined
  return (
    wrongWord(field, odd) ??
    `\`${shortened(odd)}\` is no number, so it is compared as a text. Values have no units here.`
  )
}

/** Returns the note on a word that is none of the levels, no time, or none of those after `is:`. */
function wrongWord(field: string | null, text: string): string | undefined {
  if (field === 'level') return `\`${shortened(text)}\` is none of the levels. ${levelAdvice}`
  if (field === 'is') return `\`${shortened(text)}\` is none of the words after \`is:\`. ${badgeAdvice}`
  return field === '_time' ? `\`${shortened(text)}\` is no time. ${timeAdvice}` : undefined
}

const levelAdvice = 'Write `level:(warn OR error)` for one of several.'
const badgeAdvice = `Write ${badgeWords.join(', ')}.`
const timeAdvice = 'Write 10:42, 2026-11-22, 2026-11-22T10:42:07Z or now-5m.'

function comparedTexts(test: TermTest): string[] {
  if (test.kind === 'compare') return [test.text]
  return test.kind === 'range' ? [test.min, test.max].filter(bound => bound !== null) : []
}

function isComparable(field: string | null, text: string): boolean {
  if (field === 'level') return rankOfWord(text) !== undefined
  if (field === 'is') return (badgeWords as readonly string[]).includes(text.toLowerCase())
  if (numberOf(text) !== undefined) return true
  return field === '_time' ? timeSpan(text, 0) !== undefined : timeOfValue(text) !== undefined
}

/**
 * Returns the advice for a query that finds nothing: a word that no level, time or `is:` has, or a value that is compared as a
 * whole.
 *
 * @param unknown the names that no event has, for which other notes speak
 */
export function adviceOnNothing(node: QueryNode, unknown: readonly string[]): Note[] {
  const terms = termsOf(node)
  for (const { field, test } of terms) {
    const text = test.kind === 'text' && !isComparable(field, test.text) ? wrongWord(field, test.text) : undefined
    if (text !== undefined) return [{ text }]
  }
  const isAlone = ({ field }: TermNode) => terms.filter(term => term.field === field).length === 1
  const isAdvisable = ({ field, test }: TermNode) =>
    field !== null && !isVirtualField(field) && !unknown.includes(field) && isWords(test)
  const term = terms.find(each => isAdvisable(each) && isAlone(each))
  if (term?.test.kind !== 'text') return []
  const part: QueryNode = { ...term, test: { kind: 'wildcard', parts: ['*', { literal: term.test.text }, '*'] } }
  const [whole, inPart] = [queryText(term), queryText(part)].map(shortened)
  return [{ text: `\`${whole}\` asks for this value as a whole. For a part of it, write \`${inPart}\`.` }]
}

function isWords(test: TermTest): boolean {
  return test.kind === 'text' && /\p{L}/u.test(test.text) && !/^(?:true|false|null)$/.test(test.text)
}

/** Returns the terms that an event must match, not those that it must not. */
function termsOf(node: QueryNode): readonly TermNode[] {
  switch (node.kind) {
    case 'term':
      return [node]
    case 'and':
    case 'or':
      return node.nodes.flatMap(termsOf)
    default:
      return []
  }
}

function shortened(text: string): string {
  return cutText(text, maxQuotedChars)
}
