import { whereJsonBreaks } from './where-json-breaks.ts'

/** The value of a JSON text; `undefined`, which no JSON text means, when it is not one. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

export function isJsonObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Says where a text stops being JSON, when its first line is the body's line `firstLine`. */
export function malformedJson(text: string, firstLine = 1): string {
  const before = text.slice(0, whereJsonBreaks(text)).split('\n')
  const column = (before.at(-1)?.length ?? 0) + 1
  return `malformed JSON at line ${firstLine + before.length - 1}, column ${column} of the body`
}
