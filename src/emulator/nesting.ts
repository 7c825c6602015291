const quote = 0x22
const backslash = 0x5c
const openBrace = 0x7b
const closeBrace = 0x7d

/** Brackets and braces differ in this bit alone. */
const braceBit = 0x20

/** Whether a JSON text is nested more deeply than this. An object that holds no other has a depth of 1. */
export function isNestedDeeper(text: string, maxDepth: number): boolean {
  // A level takes two characters at least, so most events are short enough; and of longer ones most have few levels.
  return text.length > 2 * maxDepth && hasMoreOpenings(text, maxDepth) && isDeeper(text, maxDepth)
}

/** Counts those in strings as well, and is quick: `indexOf` looks at many characters at a time. */
function hasMoreOpenings(text: string, count: number): boolean {
  let openings = 0
  for (const opening of '{[') {
    for (let at = text.indexOf(opening); at !== -1; at = text.indexOf(opening, at + 1)) {
      openings += 1
      if (openings > count) return true
    }
  }
  return false
}

function isDeeper(text: string, maxDepth: number): boolean {
  let depth = 0
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    if (code === quote) at = closingQuote(text, at)
    else if ((code | braceBit) === openBrace) {
      depth += 1
      if (depth > maxDepth) return true
    } else if ((code | braceBit) === closeBrace) depth -= 1
  }
  return false
}

function closingQuote(text: string, opening: number): number {
  let at = opening + 1
  while (at < text.length && text.charCodeAt(at) !== quote) at += text.charCodeAt(at) === backslash ? 2 : 1
  return at
}
