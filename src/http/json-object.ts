import type { Body } from './answer-body.ts'

/** Depth to which a cut text is read: the object, a list in it, and an object in the list. */
const maxDepth = 3

/** Returns the fields of a JSON object; `undefined` if the text is not one. */
export function jsonObject(text: string): Record<string, unknown> | undefined {
  if (!isObject(text)) return undefined
  try {
    return JSON.parse(text) as Record<string, unknown>
  } catch {
    return undefined
  }
}

/**
 * Returns the fields of a JSON object in a body. If the body was cut, returns the complete fields.
 *
 * @param maxValues maximum number of values that are read; the body counts as cut after them. Parsing a few megabytes
 * of brackets takes seconds
 */
export function jsonObjectIn(
  { text, isWhole }: Body,
  maxValues = Number.POSITIVE_INFINITY,
): Record<string, unknown> | undefined {
  if (!isObject(text)) return undefined
  const end = endOfValues(text, maxValues)
  return jsonObject(isWhole && end === text.length ? text : mended(text.slice(0, end)))
}

/** Returns the place where a text has had `max` values: each begins after a comma or an opening bracket. */
function endOfValues(text: string, max: number): number {
  if (text.length <= max) return text.length
  let count = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === quote) at = endOfString(text, at)
    else if ((code === comma || code === openingBracket || code === openingBrace) && ++count > max) return at
  }
  return text.length
}

const quote = 0x22
const backslash = 0x5c
const comma = 0x2c
const openingBracket = 0x5b
const openingBrace = 0x7b

function isObject(text: string): boolean {
  return text.trimStart().startsWith('{')
}

/** Returns the text up to the end of the last value that is certainly complete, with the missing closing brackets. */
function mended(text: string): string {
  const closers: string[] = []
  let depth = 0
  let end = 0
  let depthAtEnd = 0
  for (let at = 0; at < text.length; at++) {
    const character = text[at]
    if (character === '"') at = endOfString(text, at)
    else if (character === '{' || character === '[') {
      if (depth < maxDepth) closers[depth] = character === '{' ? '}' : ']'
      depth++
    } else if (character === ',' || character === '}' || character === ']') {
      if (character !== ',') depth--
      if (depth > maxDepth) continue
      end = character === ',' ? at : at + 1
      depthAtEnd = depth
    }
  }
  return text.slice(0, end) + closers.slice(0, depthAtEnd).reverse().join('')
}

/** Returns the position of the quotation mark that ends the string at `start`. Escaped characters are skipped. */
function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === backslash) at++
    else if (code === quote) return at
  }
  return text.length
}
