const newline = 0x0a
const quote = 0x22
const backslash = 0x5c
const comma = 0x2c
const openBracket = 0x5b
const closeBracket = 0x5d
const openBrace = 0x7b
const closeBrace = 0x7d

/** Byte offsets of pieces of a body: start and end of the first piece, start and end of the second, and so on. */
export type Spans = number[]

/**
 * Limits on the events of a body. They are checked before parsing, because a few compressed kilobytes may expand to
 * millions of events or levels.
 */
export interface EventBounds {
  maxRequestEvents: number
  maxNestingDepth: number
  maxEventBytes: number
}

const unbounded: EventBounds = {
  maxRequestEvents: Number.POSITIVE_INFINITY,
  maxNestingDepth: Number.POSITIVE_INFINITY,
  maxEventBytes: Number.POSITIVE_INFINITY,
}

/**
 * Returns the non-blank lines of a newline-delimited body, without surrounding white space. The search stops after
 * `maxRequestEvents` + 1 lines.
 */
export function lineSpans(body: Buffer, { maxRequestEvents } = unbounded): Spans {
  const spans: Spans = []
  for (let start = afterSpace(body, 0); start < body.length && spans.length <= 2 * maxRequestEvents; ) {
    const found = body.indexOf(newline, start)
    const end = found === -1 ? body.length : found
    pushUnlessBlank(spans, body, start, end)
    start = afterSpace(body, end)
  }
  return spans
}

/** Returns the whole body as one piece, without surrounding white space. */
export function wholeSpan(body: Buffer): Spans {
  const spans: Spans = []
  pushTrimmed(spans, body, 0, body.length)
  return spans
}

/**
 * Returns the elements of a JSON array, found by counting brackets, or `undefined` if the brackets do not form an
 * array. The content of the elements is not checked. A body is valid JSON exactly if it has spans and each span parses.
 *
 * The search stops after `maxRequestEvents` + 1 elements. It also stops at an element that is nested more deeply than
 * `maxNestingDepth`; the span of this element extends to the end of the body.
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
        pushTrimmed(spans, body, start, at)
        start = at + 1
        if (spans.length > 2 * maxRequestEvents) return spans
        break
      case closeBracket:
      case closeBrace:
        depth -= 1
        if (depth > 0) break
        if (spans.length > 0) pushTrimmed(spans, body, start, at)
        else pushUnlessBlank(spans, body, start, at) // an empty array has no element
        return body[at] === closeBracket && isBlank(body, at + 1) ? spans : undefined
    }
  }
  return undefined
}

/** Returns the number of the line that contains a byte, from 1. */
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

/** Adds a piece of the body without surrounding white space. */
function pushTrimmed(spans: Spans, body: Buffer, start: number, end: number): void {
  let first = start
  let last = end
  while (first < last && isSpace(body[first])) first += 1
  while (last > first && isSpace(body[last - 1])) last -= 1
  spans.push(first, last)
}

function pushUnlessBlank(spans: Spans, body: Buffer, start: number, end: number): void {
  pushTrimmed(spans, body, start, end)
  if (spans.at(-2) === spans.at(-1)) spans.length -= 2
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
