import { timeOfValue } from '../event/event-time.ts'
import { longIntegerOf } from '../event/exact-event.ts'
import type { Comparison, TermTest, WildcardPart } from './query-node.ts'
import { TextFinder } from './text-finder.ts'

export type ValueTest = (value: unknown) => boolean

/** No text is longer than another one by this factor if both are equal in lower case, or as numbers with few zeros. */
const maxLengthRatio = 16

const numeric = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d{1,6})?$/i

/** Returns the number that a text is, or `undefined` if the text is no number. */
export function numberOf(text: string): number | undefined {
  return text.length <= 64 && numeric.test(text) ? Number(text) : undefined
}

/** Returns the test of the values of a field. */
export function valueTest(test: Exclude<TermTest, { kind: 'regex' }>, field: string): ValueTest {
  switch (test.kind) {
    case 'text':
      return equality(test.text, test.quotes, isIdName(field))
    case 'wildcard': {
      const pattern = new WildcardPattern(test.parts, 'whole')
      return value => isScalar(value) && pattern.test(String(value))
    }
    case 'exists':
      return () => true
    case 'compare':
      return comparison(test.comparison, test.text)
    case 'range': {
      const min = test.min === null ? undefined : comparison(test.includesMin ? '>=' : '>', test.min)
      const max = test.max === null ? undefined : comparison(test.includesMax ? '<=' : '<', test.max)
      return value => min?.(value) !== false && max?.(value) !== false
    }
  }
}

function isScalar(value: unknown): boolean {
  return typeof value !== 'object' || value === null
}

/** True for a field whose values are identifiers: they are found by their beginning. */
function isIdName(name: string): boolean {
  return /(?:^|[._-])id$|[a-z]I[dD]$/i.test(name)
}

/**
 * A text equals a value without regard to case, unless it is in single quotes. Without quotes, it equals a number of the
 * same value, even if the number is in a text.
 */
function equality(text: string, quotes: string, isId: boolean): ValueTest {
  const lower = text.toLowerCase()
  const number = longIntegerOf(text) ?? numberOf(text)
  const isPrefix = isId && /^[\w-]{8,}$/.test(text)
  return value => {
    if (typeof value === 'string') {
      if (value === text) return true
      if (quotes === "'" || (!isPrefix && value.length > maxLengthRatio * text.length)) return false
      const lowerValue = value.toLowerCase()
      if (lowerValue === lower || (isPrefix && lowerValue.startsWith(lower))) return true
      return quotes === '' && number !== undefined && isSameNumber(longIntegerOf(value) ?? numberOf(value), number)
    }
    if (!isScalar(value)) return false
    if (typeof value === 'number' || typeof value === 'bigint') return isSameNumber(number, value)
    return String(value) === (quotes === "'" ? text : lower)
  }
}

/** Two long whole numbers are compared by all digits, unless one of them is known only as a number. */
function isSameNumber(one: number | bigint | undefined, other: number | bigint): boolean {
  if (typeof one === typeof other) return one === other
  return one !== undefined && Number(one) === Number(other)
}

function comparison(sign: Comparison, text: string): ValueTest {
  const number = longIntegerOf(text) ?? numberOf(text)
  if (number !== undefined) {
    const isTrue = numberComparison(sign, number)
    return value => {
      if (typeof value === 'number' || typeof value === 'bigint') return isTrue(value)
      const other = typeof value === 'string' ? (longIntegerOf(value) ?? numberOf(value)) : undefined
      return other !== undefined && isTrue(other)
    }
  }
  const time = timeOfValue(text)
  if (time !== undefined) {
    const isTrue = numberComparison(sign, time)
    return value => {
      const other = timeOfValue(value)
      return other !== undefined && isTrue(other)
    }
  }
  switch (sign) {
    case '>':
      return value => typeof value === 'string' && value > text
    case '>=':
      return value => typeof value === 'string' && value >= text
    case '<':
      return value => typeof value === 'string' && value < text
    case '<=':
      return value => typeof value === 'string' && value <= text
  }
}

export function numberComparison(sign: Comparison, bound: number | bigint): (value: number | bigint) => boolean {
  switch (sign) {
    case '>':
      return value => value > bound
    case '>=':
      return value => value >= bound
    case '<':
      return value => value < bound
    case '<=':
      return value => value <= bound
  }
}

/** Tells whether a text is like a pattern of wildcards. */
export class WildcardPattern {
  readonly #parts: readonly ('*' | '?' | TextFinder)[]

  /** @param extent whether the whole text must be like the pattern, or a part is enough */
  constructor(parts: readonly WildcardPart[], extent: 'whole' | 'part') {
    const lower = parts.map(part => (typeof part === 'object' ? new TextFinder(part.literal.toLowerCase()) : part))
    this.#parts = extent === 'whole' ? lower : ['*', ...lower, '*']
  }

  /**
   * Only the latest `*` is ever tried again. Without `?`, this takes time in proportion to the length of the text; with
   * it, also to that of the pattern.
   */
  test(text: string): boolean {
    const lower = text.toLowerCase()
    const parts = this.#parts
    let part = 0
    let at = 0
    let starPart = -1
    let starAt = 0
    for (;;) {
      const next = parts[part]
      if (next === undefined && at === lower.length) return true
      if (next === '*') {
        starPart = part++
        starAt = at
        continue
      }
      if (next === '?' && at < lower.length) {
        at++
        part++
        continue
      }
      if (typeof next === 'object' && lower.startsWith(next.text, at)) {
        at += next.text.length
        part++
        continue
      }
      if (starPart < 0 || starAt >= lower.length) return false
      part = starPart + 1
      at = ++starAt
      const after = parts[part]
      if (typeof after !== 'object') continue
      if (part === parts.length - 1) return lower.length - after.text.length >= at && lower.endsWith(after.text)
      at = after.indexIn(lower, at)
      if (at < 0) return false
      starAt = at
    }
  }
}
