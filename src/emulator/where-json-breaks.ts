import { Slices } from './slices.ts'

type Expectation = 'key' | 'colon' | 'value' | 'more'

const number = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const literals = ['true', 'false', 'null']
const quote = 0x22
const backslash = 0x5c
/** Tokens that are read between two looks at the clock. */
const tokensPerLook = 1000

/**
 * Returns the index of the first character that no valid JSON text could have at its position. Returns the length of
 * the text if the text ends too early, and `undefined` if the text is valid. The messages of `JSON.parse` do not always
 * contain this position. Other requests are served while a long text is read.
 */
export async function whereJsonBreaks(text: string): Promise<number | undefined> {
  const slices = new Slices()
  let tokens = 0
  const closers: string[] = []
  let expected: Expectation = 'value'
  let justOpened = false
  let at = afterSpace(text, 0)
  while (at < text.length) {
    tokens += 1
    if (tokens % tokensPerLook === 0 && slices.isOver) await slices.next()
    const char = text[at]
    const mayClose = justOpened || expected === 'more'
    justOpened = false
    if (mayClose && char === closers.at(-1)) {
      closers.pop()
      expected = 'more'
      at += 1
    } else if (expected === 'more') {
      if (char !== ',' || closers.length === 0) return at
      expected = closers.at(-1) === '}' ? 'key' : 'value'
      at += 1
    } else if (expected === 'colon') {
      if (char !== ':') return at
      expected = 'value'
      at += 1
    } else if (char === '"') {
      const end = endOfString(text, at)
      if (end.broken) return end.at
      expected = expected === 'key' ? 'colon' : 'more'
      at = end.at
    } else if (expected === 'key') {
      return at
    } else if (char === '{' || char === '[') {
      closers.push(char === '{' ? '}' : ']')
      expected = char === '{' ? 'key' : 'value'
      justOpened = true
      at += 1
    } else {
      const end = endOfScalar(text, at)
      if (end === at) return at
      expected = 'more'
      at = end
    }
    at = afterSpace(text, at)
  }
  return expected === 'more' && closers.length === 0 ? undefined : text.length
}

function afterSpace(text: string, at: number): number {
  let next = at
  while (next < text.length && isSpace(text.charCodeAt(next))) next += 1
  return next
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09
}

function endOfString(text: string, start: number): { at: number; broken: boolean } {
  let at = start + 1
  while (at < text.length) {
    const code = text.charCodeAt(at)
    if (code === quote) return { at: at + 1, broken: false }
    if (code < 0x20) break
    const isEscape = code === backslash
    if (isEscape && !isEscaped(text, at + 1)) break
    at += isEscape ? 2 : 1
  }
  return { at: Math.min(at, text.length), broken: true }
}

/** True if the characters after a backslash, from index `at`, form a valid escape. */
function isEscaped(text: string, at: number): boolean {
  return text[at] === 'u' ? /^[0-9a-fA-F]{4}$/.test(text.slice(at + 1, at + 5)) : /^["\\/bfnrt]$/.test(text.charAt(at))
}

function endOfScalar(text: string, at: number): number {
  const literal = literals.find(word => text.startsWith(word, at))
  if (literal) return at + literal.length
  number.lastIndex = at
  return number.test(text) ? number.lastIndex : at
}
