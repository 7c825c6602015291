const quote = 0x22
const backslash = 0x5c
const openBrace = 0x7b
const closeBrace = 0x7d

/** The only bit in which brackets and braces differ. */
const braceBit = 0x20

/** True if a JSON text is nested more deeply than `maxDepth`. An object that contains no other has a depth of 1. */
export function isNestedDeeper(text: string, maxDepth: number): boolean {
  // The cheap checks come first. A level takes at least two characters, so most events are too short to exceed the
  // depth, and most longer events have few levels.
  return text.length > 2 * maxDepth && hasMoreOpenings(text, maxDepth) && isDeeper(text, maxDepth)
}

/**
 * True if a text has more than `count` opening braces and brackets, including those in strings. It is fast because
 * `indexOf` compares many characters at a time.
 */
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
