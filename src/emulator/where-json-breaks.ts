type Expectation = 'key' | 'colon' | 'value' | 'more'

const number = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const literals = ['true', 'false', 'null']

/**
 * Index of the first character that no valid JSON text could have in its place, the length of the text when it ends
 * too early, `undefined` when it is valid. `JSON.parse` knows this too, but its messages do not always say it.
 */
export function whereJsonBreaks(text: string): number | undefined {
  const closers: string[] = []
  let expected: Expectation = 'value'
  let justOpened = false
  let at = afterSpace(text, 0)
  while (at < text.length) {
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
  while (' \t\n\r'.includes(text.charAt(next)) && next < text.length) next += 1
  return next
}

function endOfString(text: string, start: number): { at: number; broken: boolean } {
  let at = start + 1
  while (at < text.length) {
    if (text[at] === '"') return { at: at + 1, broken: false }
    if (text.charCodeAt(at) < 0x20) break
    const escaped = text[at] === '\\'
    if (escaped && !/^(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/.test(text.slice(at + 1, at + 6))) break
    at += escaped ? 2 : 1
  }
  return { at: Math.min(at, text.length), broken: true }
}

function endOfScalar(text: string, at: number): number {
  const literal = literals.find(word => text.startsWith(word, at))
  if (literal) return at + literal.length
  number.lastIndex = at
  return number.test(text) ? number.lastIndex : at
}
