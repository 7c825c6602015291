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

/** What a body may hold. Asked before anything is parsed: a few kilobytes may unpack to millions of events or levels. */
export interface EventBounds {
  maxRequestEvents: number
  maxNestingDepth: number
}

/** No bounds. */
const unbounded: EventBounds = {
  maxRequestEvents: Number.POSITIVE_INFINITY,
  maxNestingDepth: Number.POSITIVE_INFINITY,
}

/**
 * The lines of a newline-delimited body that are not blank, without the white space around them. Past `maxRequestEvents`
 * there is one more, and the rest is not looked at.
 */
export function lineSpans(body: Buffer, { maxRequestEvents } = unbounded): Spans {
  const spans: Spans = []
  for (let start = afterSpace(body, 0); start < body.length && spans.length <= 2 * maxRequestEvents; ) {
    const found = body.indexOf(newline, start)
    const end = found === -1 ? body.length : found
    pushTrimmed(spans, body, start, end, false)
    start = afterSpace(body, end)
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
 *
 * Past `maxRequestEvents` there is one more, and the rest is not looked at. An element that is nested more deeply than
 * `maxNestingDepth` is the last, and goes on to the end of the body.
 */
export function elementSpans(body: Buffer, { maxRequestEvents, maxNestingDepth } = unbounded): Spans | undefined {
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
        if (depth <= maxNestingDepth + 1) break
        spans.push(start, body.length)
        return spans
      case comma:
        if (depth !== 1) break
        pushTrimmed(spans, body, start, at, true)
        start = at + 1
        if (spans.length > 2 * maxRequestEvents) return spans
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

/** The number of a byte's line, from 1. */
export function lineNumber(body: Buffer, offset: number): number {
  let line = 1
  for (let at = 0; at < offset; at += 1) if (body[at] === newline) line += 1
  return line
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
  return afterSpace(body, from) === body.length
}

function afterSpace(body: Buffer, from: number): number {
  let at = from
  while (at < body.length && isSpace(body[at])) at += 1
  return at
}

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09
}
