import { cutText } from '../cut-text.ts'
import { levels, type SuggestAnswer } from '../protocol.ts'
import { fieldText, quoted, unescaped, valueText } from './quoted-text.ts'
import { type FieldNames, pathOf } from './resolve-names.ts'
import { badgeWords, virtualFields } from './virtual-fields.ts'

const maxSuggestions = 20
/** Maximum length of the text that is looked at, in characters. */
const maxChars = 4000
const maxLabelChars = 120
/** A longer value is not suggested, because it is hard to read in a query. */
const maxValueChars = 100

export interface SuggestionSource {
  readonly fields: FieldNames & {
    frequentPaths(): { path: string; events: number }[]
    topValues(path: string): { value: string; count: number }[]
  }
  readonly datasets: () => readonly { name: string; events: number }[]
  readonly sources: () => readonly { name: string; events: number }[]
}

type Suggestion = SuggestAnswer['suggestions'][number]

/** Suggests fields, operators and values for the term at the cursor. */
export function suggestionsFor(text: string, at: number, source: SuggestionSource): SuggestAnswer {
  const cursor = Math.min(Math.max(Math.trunc(at), 0), text.length, maxChars)
  const start = startOfTerm(text.slice(0, cursor))
  const term = text.slice(start, cursor)
  const [prefix, field] = /^("(?:[^"\\]|\\.)*"|[^\s:=<>!"']+)(?::[<>=!]*|[<>]=?|!?=)/.exec(term) ?? []
  if (prefix === undefined || field === undefined) {
    return { start, end: cursor, suggestions: fieldSuggestions(term, source) }
  }
  const name = field.startsWith('"') ? unescaped(field.slice(1, -1)) : field
  const valueStart = start + prefix.length
  const typed = text.slice(valueStart, cursor).replace(/^["']/, '').toLowerCase()
  return { start: valueStart, end: cursor, suggestions: valueSuggestions(name, typed, source) }
}

/** Returns the place where the last term of a text begins: after a blank or bracket that is in no quotes. */
function startOfTerm(text: string): number {
  let start = 0
  let quote = ''
  for (let at = 0; at < text.length; at++) {
    const char = text[at] as string
    if (char === '\\') at++
    else if (quote !== '') quote = char === quote ? '' : quote
    else if ((char === '"' || char === "'") && /[\s(:=<>-]|^$/.test(text[at - 1] ?? '')) quote = char
    else if (/[\s()]/.test(char)) start = at + 1
  }
  return text[start] === '-' || text[start] === '!' ? start + 1 : start
}

function fieldSuggestions(term: string, { fields }: SuggestionSource): Suggestion[] {
  const typed = term.toLowerCase()
  const counted = fields.frequentPaths()
  const known = new Set(counted.map(({ path }) => path))
  const virtual = virtualFields.filter(name => !known.has(name)).map(path => ({ path, events: undefined }))
  const all = [...virtual, ...counted]
  const isExact = known.has(term) || (virtualFields as readonly string[]).includes(term)
  const ranked = all
    .map(field => ({ ...field, place: matchPlace(field.path.toLowerCase(), typed) }))
    .filter(({ place, path }) => place !== undefined && path.length <= maxLabelChars)
    .sort((one, other) => (one.place as number) - (other.place as number))
  const suggestions = ranked.map(({ path, events }): Suggestion => {
    const suggestion: Suggestion = { text: `${fieldText(path)}:`, kind: 'field', label: path }
    return events === undefined ? suggestion : { ...suggestion, count: events }
  })
  return [...(isExact ? operatorSuggestions(term) : []), ...suggestions].slice(0, maxSuggestions)
}

/** Returns 0 if a path or its last part begins with a text, 1 if the path contains it, or `undefined`. */
function matchPlace(path: string, typed: string): number | undefined {
  if (path.startsWith(typed) || path.slice(path.lastIndexOf('.') + 1).startsWith(typed)) return 0
  return path.includes(typed) ? 1 : undefined
}

function operatorSuggestions(field: string): Suggestion[] {
  const operators: [sign: string, label: string][] = [
    [':', 'is'],
    [':>=', 'is at least'],
    [':<=', 'is at most'],
    [':*', 'exists'],
  ]
  return operators.map(([sign, label]) => ({ text: `${field}${sign}`, kind: 'operator', label: `${field} ${label}` }))
}

function valueSuggestions(field: string, typed: string, source: SuggestionSource): Suggestion[] {
  return valuesOf(field, source)
    .filter(({ text }) => text.toLowerCase().includes(typed) && text.length <= maxValueChars)
    .slice(0, maxSuggestions)
    .map(({ text, count, isQuoted }): Suggestion => {
      const value = isQuoted ? quoted(text) : valueText(text)
      const suggestion: Suggestion = { text: value, kind: 'value', label: cutText(text, maxLabelChars) }
      return count === undefined ? suggestion : { ...suggestion, count }
    })
}

interface SuggestedValue {
  readonly text: string
  readonly count?: number
  readonly isQuoted?: boolean
}

function valuesOf(field: string, { fields, datasets, sources }: SuggestionSource): SuggestedValue[] {
  switch (field) {
    case 'level':
      return levels.toReversed().map(text => ({ text }))
    case 'is':
      return badgeWords.map(text => ({ text }))
    case 'dataset':
      return datasets().map(({ name, events }) => ({ text: name, count: events }))
    case 'source':
      return sources().map(({ name, events }) => ({ text: name, count: events }))
  }
  return fields.topValues(pathOf(field, fields) ?? field).map(({ value, count }) => {
    const parsed: unknown = JSON.parse(value)
    return {
      text: typeof parsed === 'string' ? parsed : value,
      count,
      isQuoted: typeof parsed === 'string' && /^\d{16,}$/.test(parsed),
    }
  })
}
