import { whereJsonBreaks } from './where-json-breaks.ts'

/** Returns the value of a JSON text, or `undefined` if the text is invalid. No JSON text has the value `undefined`. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Maximum length of a text that is parsed only to check that it is JSON, in characters. */
const maxParsedLength = 1_048_576

/**
 * Returns the value of a JSON text, as `parsedJson` does, but for a long text only an empty value of the same type. The
 * objects that `JSON.parse` creates take many times the memory of the text, and a few compressed kilobytes may expand
 * to a long text.
 */
export async function outlineOfJson(text: string): Promise<unknown> {
  if (!isOutlineOnly(text)) return parsedJson(text)
  if ((await whereJsonBreaks(text)) !== undefined) return undefined
  const empty: Record<string, unknown> = { '{': {}, '[': [], '"': '' }
  return empty[text.trimStart().charAt(0)] ?? 0
}

/** True if `outlineOfJson` returns only an empty value for this text. */
export function isOutlineOnly(text: string): boolean {
  return text.length > maxParsedLength
}

export function isJsonObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Returns a message with the position of the first JSON error. The text starts on line `firstLine` of the body. */
export async function malformedJson(text: string, firstLine = 1): Promise<string> {
  const end = (await whereJsonBreaks(text)) ?? text.length
  let line = firstLine
  let lineStart = 0
  for (let at = 0; at < end; at += 1) {
    if (text.charCodeAt(at) !== 0x0a) continue
    line += 1
    lineStart = at + 1
  }
  return `malformed JSON at line ${line}, column ${end - lineStart + 1} of the body`
}
