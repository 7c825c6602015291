import type { QueryNode, TermNode, TermTest } from './query-node.ts'
import { fieldText, quoted, valueText } from './quoted-text.ts'

/** Returns the text of a query that shows how it was read: each operator, and brackets where `AND` and `OR` mix. */
export function queryText(node: QueryNode): string {
  switch (node.kind) {
    case 'all':
      return ''
    case 'term':
      return termText(node)
    case 'not':
      return `${node.node.kind === 'term' ? '-' : 'NOT '}${bracketed(node.node)}`
    case 'and':
      return node.nodes.map(bracketed).join(' ')
    case 'or':
      return node.nodes.map(part => (part.kind === 'or' ? queryText(part) : bracketed(part))).join(' OR ')
  }
}

function bracketed(node: QueryNode): string {
  return node.kind === 'and' || node.kind === 'or' ? `(${queryText(node)})` : queryText(node)
}

function termText({ field, test }: TermNode): string {
  // `level:` alone would be read as the beginning of a field and its value.
  if (field === null && test.kind === 'text' && test.quotes === '' && test.text.includes(':')) return quoted(test.text)
  return `${field === null ? '' : `${fieldText(field)}:`}${testText(test)}`
}

function testText(test: TermTest): string {
  switch (test.kind) {
    case 'text':
      if (test.quotes === '') return valueText(test.text)
      return test.quotes === '"' ? quoted(test.text) : `'${quoted(test.text).slice(1, -1).replaceAll("'", "\\'")}'`
    case 'wildcard':
      return test.parts.map(part => (typeof part === 'string' ? part : escapedLiteral(part.literal))).join('')
    case 'exists':
      return '*'
    case 'compare':
      return `${test.comparison}${valueText(test.text)}`
    case 'range':
      return `${test.includesMin ? '[' : '{'}${boundText(test.min)} TO ${boundText(test.max)}${test.includesMax ? ']' : '}'}`
    case 'regex':
      return `/${test.source}/${test.flags}`
  }
}

function escapedLiteral(literal: string): string {
  return literal.replace(/[\s()*?\\"'!<>=/[{-]/g, '\\$&')
}

function boundText(text: string | null): string {
  if (text === null) return '*'
  if (text === '*') return '"*"'
  return /^[^\s"\]}]+$/.test(text) ? text : quoted(text)
}

function boundLabels({ min, max, includesMin, includesMax }: Extract<TermTest, { kind: 'range' }>): string[] {
  return [
    ...(min === null ? [] : [`${includesMin ? '≥' : '>'} ${min}`]),
    ...(max === null ? [] : [`${includesMax ? '≤' : '<'} ${max}`]),
  ]
}

const signs = { '>': '>', '>=': '≥', '<': '<', '<=': '≤' } as const

/** Returns a short label of a clause: `level ≥ warn`, `not "health"`. */
export function clauseLabel(node: QueryNode): string {
  if (node.kind === 'not') return `not ${node.node.kind === 'term' ? clauseLabel(node.node) : bracketed(node.node)}`
  if (node.kind !== 'term') return queryText(node)
  const { field, test } = node
  if (field === null) return test.kind === 'text' ? quoted(test.text) : testText(test)
  switch (test.kind) {
    case 'exists':
      return `${field} exists`
    case 'compare':
      return `${field} ${signs[test.comparison]} ${test.text}`
    case 'range':
      return `${field} ${boundLabels(test).join(', ')}`
    case 'text':
      return `${field} = ${test.quotes === '' ? test.text : quoted(test.text)}`
    default:
      return `${field} ~ ${testText(test)}`
  }
}
