/** How deep values are looked for in a text that was cut: the object, a list in it, an object in that. */
const maxDepth = 3

/** The fields of a JSON object; `undefined` where the text is none. Of one that was cut, those that are there. */
export function jsonObject(text: string, isWhole = true): Record<string, unknown> | undefined {
  if (!text.trimStart().startsWith('{')) return undefined
  try {
    return JSON.parse(isWhole ? text : mended(text)) as Record<string, unknown>
  } catch {
    return undefined
  }
}

/** The text up to the end of the last value that is certainly whole, and what closes it. */
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

/** Where the string ends that starts there: at the next quotation mark that no odd number of backslashes precedes. */
function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    if (text[at] === '\\') at++
    else if (text[at] === '"') return at
  }
  return text.length
}
