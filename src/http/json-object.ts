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

/** Returns the fields of a JSON object in a body. If the body was cut, returns the complete fields. */
export function jsonObjectIn({ text, isWhole }: Body): Record<string, unknown> | undefined {
  if (isWhole) return jsonObject(text)
  return isObject(text) ? jsonObject(mended(text)) : undefined
}

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
    if (text[at] === '\\') at++
    else if (text[at] === '"') return at
  }
  return text.length
}
