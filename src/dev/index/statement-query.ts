import type { Level } from '../protocol.ts'
import { fieldText, valueText } from '../query/quoted-text.ts'

/** Maximum number of words of a statement that its query contains. */
const maxWords = 20

/** Returns the query that finds the events of a statement. It may find events of a similar statement as well. */
export function statementQuery(statement: string, dataset: string, level: Level | null): string {
  const clauses = [`dataset:${valueText(dataset)}`]
  // A level with an unknown name is none of the six.
  clauses.push(level === null ? '-level:>=trace' : `level:${level}`)
  if (statement === '[no message]') clauses.push(`-${fieldText('message')}:*`)
  else if (/^\[.*\]$/s.test(statement)) clauses.push(wildcards(statement.slice(1, -1)))
  else clauses.push(`message:${wildcards(statement)}`)
  return clauses.join(' ')
}

/** Returns a pattern of a statement's words. What is between them may be anything. */
function wildcards(statement: string): string {
  const words = statement
    .replace(/…$/, '')
    .split(/[\s*]+/)
    .filter(word => word !== '')
    .slice(0, maxWords)
  if (words.length === 0) return '*'
  const pattern = words.map(word => word.replace(/[^\p{L}\p{N}]/gu, '\\$&')).join('*')
  return `${/^[\s*]/.test(statement) ? '*' : ''}${pattern}*`
}
