import type { EventObject } from '../event/candidate.ts'
import { loggedText, noMessage } from '../event/event-statement.ts'
import type { Level } from '../protocol.ts'
import { fieldText, valueText } from '../query/quoted-text.ts'

/** Maximum number of words of a statement that its query contains. */
const maxWords = 20

/** Where the events of a statement are counted. */
interface Kind {
  readonly statement: string
  readonly dataset: string
  readonly level: Level | null
}

/**
 * Returns the query that finds the events of a statement. It may find events of a similar statement as well.
 *
 * @param examples some of the events. A statement leaves out blanks, line breaks and control characters, so it does not
 *   show if its messages begin with them, as colored ones do
 */
export function statementQuery({ statement, dataset, level }: Kind, examples: readonly EventObject[]): string {
  const clauses = [`dataset:${valueText(dataset)}`]
  // A level with an unknown name is none of the six.
  clauses.push(level === null ? '-level:>=trace' : `level:${level}`)
  if (statement === noMessage) {
    // A message may also be no text, which nothing in a query says.
    if (!examples.some(event => Object.hasOwn(event, 'message'))) clauses.push(`-${fieldText('message')}:*`)
  } else if (/^\[.*\]$/s.test(statement)) clauses.push(wildcards(statement.slice(1, -1)))
  else {
    const [first = ''] = wordsOf(statement)
    const isAtStart = examples.every(event => loggedText(event)?.startsWith(first) ?? true)
    clauses.push(`message:${wildcards(isAtStart ? statement : `* ${statement}`)}`)
  }
  return clauses.join(' ')
}

/** Returns a pattern of a statement's words. What is between them may be anything. */
function wildcards(statement: string): string {
  const words = wordsOf(statement)
  if (words.length === 0) return '*'
  const pattern = words.map(word => word.replace(/[^\p{L}\p{N}]/gu, '\\$&')).join('*')
  return `${/^[\s*]/.test(statement) ? '*' : ''}${pattern}*`
}

function wordsOf(statement: string): string[] {
  return statement
    .replace(/…$/, '')
    .split(/[\s*]+/)
    .filter(word => word !== '')
    .slice(0, maxWords)
}
