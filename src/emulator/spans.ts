const newline = 0x0a
const quote = 0x22
const backslash = 0x5c
const comma = 0x2c
const openBracket = 0x5b
const closeBracket = 0x5d
const openBrace = 0x7b
const closeBrace = 0x7d

/** Byte offsets of pieces of a body: start and end of the first, start and end of the second, and so on. */
export type Spans = number[]

/** The lines of a newline-delimited body that are not blank, without the white space around them. */
export function lineSpans(body: Buffer): Spans {
  const spans: Spans = []
  for (let start = 0; start < body.length; ) {
    const found = body.indexOf(newline, start)
    const end = found === -1 ? body.length : found
    pushTrimmed(spans, body, start, end, false)
    start = end + 1
  }
  return spans
}

/** The whole body as one piece, without the white space around it. */
export function wholeSpan(body: Buffer): Spans {
  const spans: Spans = []
  pushTrimmed(spans, body, 0, body.length, true)
  return spans
}

/**
 * The elements of a JSON array, found by counting brackets; `undefined` when the brackets make no array.
 * What stands in the elements is not checked: a body is valid JSON exactly when it has spans and each parses.
 */
export function elementSpans(body: Buffer): Spans | undefined {
  const spans: Spans = []
  let depth = 0
  let start = 0
  for (let at = 0; at < body.length; at += 1) {
    switch (body[at]) {
      case quote:
        at = closingQuote(body, at)
        break
      case openBracket:
      case openBrace:
        depth += 1
        if (depth === 1) start = at + 1
        break
      case comma:
        if (depth !== 1) break
        pushTrimmed(spans, body, start, at, true)
        start = at + 1
        break
      case closeBracket:
      case closeBrace:
        depth -= 1
        if (depth > 0) break
        pushTrimmed(spans, body, start, at, spans.length > 0)
        return body[at] === closeBracket && isBlank(body, at + 1) ? spans : undefined
    }
  }
  return undefined
}

function closingQuote(body: Buffer, opening: number): number {
  let at = opening + 1
  while (at < body.length && body[at] !== quote) at += body[at] === backslash ? 2 : 1
  return at
}

function pushTrimmed(spans: Spans, body: Buffer, start: number, end: number, evenBlank: boolean): void {
  let first = start
  let last = end
  while (first < last && isSpace(body[first])) first += 1
  while (last > first && isSpace(body[last - 1])) last -= 1
  if (first < last || evenBlank) spans.push(first, last)
}

function isBlank(body: Buffer, from: number): boolean {
  for (let at = from; at < body.length; at += 1) if (!isSpace(body[at])) return false
  return true
}

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09
}
