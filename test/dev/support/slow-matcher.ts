/** A query as a tree, as tests make it, with its text and its meaning. Both are as plain as possible. */
export type Tree =
  | { kind: 'and' | 'or'; parts: readonly Tree[] }
  | { kind: 'not'; part: Tree }
  | { kind: 'text'; text: string; isExact: boolean }
  | { kind: 'equals'; field: string; text: string; isExact: boolean }
  | { kind: 'exists'; field: string }
  | { kind: 'compare'; field: string; sign: '>' | '>=' | '<' | '<='; number: number }
  | { kind: 'begins'; field: string; text: string }

/** Returns the text of a query, with brackets everywhere. */
export function textOf(tree: Tree): string {
  switch (tree.kind) {
    case 'and':
    case 'or':
      return `(${tree.parts.map(textOf).join(tree.kind === 'and' ? ' AND ' : ' OR ')})`
    case 'not':
      return `NOT ${textOf(tree.part)}`
    case 'text':
      return quoted(tree.text, tree.isExact)
    case 'equals':
      return `${JSON.stringify(tree.field)}:${quoted(tree.text, tree.isExact)}`
    case 'exists':
      return `${JSON.stringify(tree.field)}:*`
    case 'compare':
      return `${JSON.stringify(tree.field)}:${tree.sign}${tree.number}`
    case 'begins':
      return `${JSON.stringify(tree.field)}:${tree.text.replace(/[^\p{L}\p{N}]/gu, '\\$&')}*`
  }
}

function quoted(text: string, isExact: boolean): string {
  return isExact ? `'${JSON.stringify(text).slice(1, -1).replaceAll("'", "\\'")}'` : JSON.stringify(text)
}

/** Tells whether an event matches, by looking at all of it. */
export function isMatch(tree: Tree, event: unknown): boolean {
  switch (tree.kind) {
    case 'and':
      return tree.parts.every(part => isMatch(part, event))
    case 'or':
      return tree.parts.some(part => isMatch(part, event))
    case 'not':
      return !isMatch(tree.part, event)
    case 'text':
      return leaves(event).some(leaf => {
        return tree.isExact ? String(leaf).includes(tree.text) : lower(leaf).includes(lower(tree.text))
      })
    case 'equals':
      return valuesAt(event, tree.field).some(value => {
        if (typeof value === 'object' && value !== null) return false
        if (typeof value === 'number' && tree.text.trim() !== '' && Number(tree.text) === value) return true
        if (tree.isExact || typeof value !== 'string') return String(value) === tree.text
        return lower(value) === lower(tree.text)
      })
    case 'exists':
      return valuesAt(event, tree.field).length > 0
    case 'compare':
      return valuesAt(event, tree.field).some(value => {
        const isNumber = typeof value === 'number' || (typeof value === 'string' && /^-?\d+(\.\d+)?$/.test(value))
        return isNumber && compare(Number(value), tree.sign, tree.number)
      })
    case 'begins':
      return valuesAt(event, tree.field).some(value => {
        return (typeof value !== 'object' || value === null) && lower(value).startsWith(lower(tree.text))
      })
  }
}

function lower(value: unknown): string {
  return String(value).toLowerCase()
}

function compare(one: number, sign: '>' | '>=' | '<' | '<=', other: number): boolean {
  return sign === '>' ? one > other : sign === '>=' ? one >= other : sign === '<' ? one < other : one <= other
}

function leaves(value: unknown): unknown[] {
  if (typeof value !== 'object' || value === null) return [value]
  return Object.values(value).flatMap(leaves)
}

/** Returns the values at a path. Names may contain dots, and each element of an array is a value at its path. */
function valuesAt(value: unknown, path: string | undefined): unknown[] {
  if (path === undefined) return Array.isArray(value) ? [value, ...value.flatMap(one => valuesAt(one, path))] : [value]
  if (typeof value !== 'object' || value === null) return []
  const elements = Array.isArray(value) ? value.flatMap(element => valuesAt(element, path)) : []
  const members = Object.entries(value).flatMap(([name, member]) => {
    if (path === name) return valuesAt(member, undefined)
    return path.startsWith(`${name}.`) ? valuesAt(member, path.slice(name.length + 1)) : []
  })
  return [...elements, ...members]
}
