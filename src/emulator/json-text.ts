import { whereJsonBreaks } from './where-json-breaks.ts'

/** The value of a JSON text; `undefined`, which no JSON text means, when it is not one. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Longer texts are not parsed just to see whether they are JSON, in characters. */
const maxParsedLength = 1_048_576

/**
 * The same, but for a long text an empty value of its type: the objects that `JSON.parse` makes of it take many times its
 * length of memory, and a few kilobytes may unpack to it.
 */
export function outlineOfJson(text: string): unknown {
  if (text.length <= maxParsedLength) return parsedJson(text)
  if (whereJsonBreaks(text) !== undefined) return undefined
  const empty: Record<string, unknown> = { '{': {}, '[': [], '"': '' }
  return empty[text.trimStart().charAt(0)] ?? 0
}

export function isJsonObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Says where a text stops being JSON, when its first line is the body's line `firstLine`. */
export function malformedJson(text: string, firstLine = 1): string {
  const end = whereJsonBreaks(text) ?? text.length
  let line = firstLine
  let lineStart = 0
  for (let at = 0; at < end; at += 1) {
    if (text.charCodeAt(at) !== 0x0a) continue
    line += 1
    lineStart = at + 1
  }
  return `malformed JSON at line ${line}, column ${end - lineStart + 1} of the body`
}
