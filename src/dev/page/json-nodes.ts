/**
 * JSON as a tree that shows it as it was sent: names in their order, repeated names, and numbers in all their digits,
 * which `JSON.parse` would lose. No name ever becomes the key of an object, and no depth needs the stack.
 */

import { messageNames } from '../event/message-names.ts'

export type JsonNode =
  | { kind: 'object'; entries: [name: string, node: JsonNode][] }
  | { kind: 'array'; entries: [index: number, node: JsonNode][] }
  | { kind: 'string'; text: string }
  | { kind: 'number' | 'boolean' | 'null'; text: string }

const space = /[ \t\n\r]*/y
const scalar = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y

/** Parses JSON. Returns `undefined` if the text is no JSON. */
export function parseJson(json: string): JsonNode | undefined {
  const open: Extract<JsonNode, { entries: unknown }>[] = []
  let at = 0
  let name: string | undefined
  let root: JsonNode | undefined

  const skipSpace = () => {
    space.lastIndex = at
    space.exec(json)
    at = space.lastIndex
  }
  const readString = (): string | undefined => {
    const end = endOfString(json, at)
    if (end === undefined) return undefined
    const text = unquoted(json.slice(at, end))
    at = end
    return text
  }
  /** Reads the name of a member and its colon. */
  const readName = (): boolean => {
    skipSpace()
    if (json[at] !== '"') return false
    name = readString()
    skipSpace()
    return name !== undefined && json[at++] === ':'
  }
  const place = (node: JsonNode) => {
    const parent = open.at(-1)
    if (parent === undefined) root = node
    else if (parent.kind === 'object') parent.entries.push([name ?? '', node])
    else parent.entries.push([parent.entries.length, node])
  }

  while (true) {
    skipSpace()
    const char = json[at]
    if (char === '{' || char === '[') {
      at++
      const node: JsonNode = char === '{' ? { kind: 'object', entries: [] } : { kind: 'array', entries: [] }
      place(node)
      skipSpace()
      if (json[at] !== (char === '{' ? '}' : ']')) {
        open.push(node)
        if (char === '{' && !readName()) return undefined
        continue
      }
      at++
    } else if (char === '"') {
      const text = readString()
      if (text === undefined) return undefined
      place({ kind: 'string', text })
    } else {
      scalar.lastIndex = at
      const text = scalar.exec(json)?.[0]
      if (text === undefined) return undefined
      at += text.length
      const kind = text === 'null' ? 'null' : text === 'true' || text === 'false' ? 'boolean' : 'number'
      place({ kind, text })
    }
    // A value has ended: so may the objects and arrays that it is the last one of.
    while (true) {
      skipSpace()
      const parent = open.at(-1)
      if (parent === undefined) return at === json.length ? root : undefined
      const next = json[at++]
      if (next === ',') {
        if (parent.kind === 'object' && !readName()) return undefined
        break
      }
      if (next !== (parent.kind === 'object' ? '}' : ']')) return undefined
      open.pop()
    }
  }
}

/** Returns where the string ends that begins at `start`. */
function endOfString(json: string, start: number): number | undefined {
  let quote = start
  while (true) {
    quote = json.indexOf('"', quote + 1)
    if (quote === -1) return undefined
    let before = quote - 1
    while (json[before] === '\\') before--
    if ((quote - before) % 2 === 1) return quote + 1
  }
}

function unquoted(json: string): string | undefined {
  try {
    return JSON.parse(json)
  } catch {
    return undefined
  }
}

/** Writes a node as JSON, indented. Iterative, as the parser is. */
export function jsonText(node: JsonNode, indent = '  '): string {
  const parts: string[] = []
  const open: { node: Extract<JsonNode, { entries: unknown }>; next: number }[] = []
  let current: JsonNode | undefined = node
  while (true) {
    if (current !== undefined) {
      if (current.kind === 'string') parts.push(JSON.stringify(current.text))
      else if (current.kind !== 'object' && current.kind !== 'array') parts.push(current.text)
      else if (current.entries.length === 0) parts.push(current.kind === 'object' ? '{}' : '[]')
      else {
        parts.push(current.kind === 'object' ? '{' : '[')
        open.push({ node: current, next: 0 })
      }
      current = undefined
    }
    const parent = open.at(-1)
    if (parent === undefined) return parts.join('')
    const entry = parent.node.entries[parent.next]
    if (entry === undefined) {
      open.pop()
      parts.push(`\n${indent.repeat(open.length)}${parent.node.kind === 'object' ? '}' : ']'}`)
      continue
    }
    parts.push(parent.next === 0 ? '\n' : ',\n', indent.repeat(open.length))
    if (parent.node.kind === 'object') parts.push(`${JSON.stringify(entry[0])}: `)
    parent.next++
    current = entry[1]
  }
}

const unseen = /\r\n|[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Default_Ignorable_Code_Point}]/gu

/**
 * Escapes what cannot be seen, so that JSON or a text from the page can be pasted anywhere. Line breaks and tabs stay: in
 * JSON they stand between tokens, in a text they can be seen.
 */
export function escapeUnseen(text: string): string {
  return text.replace(unseen, char => {
    if (char === '\n' || char === '\t') return char
    if (char === '\r\n') return '\n'
    if (char === '\r') return ' '
    return Array.from(
      { length: char.length },
      (_, at) => `\\u${char.charCodeAt(at).toString(16).padStart(4, '0')}`,
    ).join('')
  })
}

/** A value as it is copied: a text without its quotes, anything else as JSON. */
export function copyOf(node: JsonNode): string {
  return escapeUnseen(node.kind === 'object' || node.kind === 'array' ? jsonText(node) : node.text)
}

/** Returns the whole value of an event that a cell of the list shows, as it is copied; `undefined` if it is not found. */
export function wholeValue(line: string, path: string): string | undefined {
  const root = parseJson(line)
  if (root === undefined) return undefined
  if (path !== 'message') return copied(nodeAt(root, path))
  const texts = messageNames.map(name => nodeAt(root, name))
  return copied(texts.find(node => node?.kind === 'string' && node.text !== ''))
}

function copied(node: JsonNode | undefined): string | undefined {
  return node === undefined ? undefined : copyOf(node)
}

/** The value at a path such as `http.status`, also where a name contains dots. */
export function nodeAt(root: JsonNode, path: string): JsonNode | undefined {
  if (root.kind !== 'object' && root.kind !== 'array') return undefined
  for (const [name, node] of root.entries) {
    const own = String(name)
    if (own === path) return node
    if (path.startsWith(`${own}.`)) {
      const found = nodeAt(node, path.slice(own.length + 1))
      if (found !== undefined) return found
    }
  }
  return undefined
}
