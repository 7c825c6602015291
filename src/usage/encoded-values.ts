import { classOf, is } from './unit-classes.ts'

/** What tells of an encoded value besides its characters: a prefix such as `cus_`, or the `=` that end base64. */
export type EncodedSign = 'none' | 'prefix' | 'padding'

/** Minimum length of an encoded value, in characters. */
const minChars: Readonly<Record<EncodedSign, number>> = { none: 16, prefix: 12, padding: 10 }
/** Minimum number of capitals after a small letter. Acronyms have many capitals, but few of those. */
const minRises: Readonly<Record<EncodedSign, number>> = { none: 1, prefix: 2, padding: 0 }
/** Minimum length for which changes between kinds of characters are counted: `s3ToV2Sync` has many, too. */
const minCharsForChanges = 16
/** A name in a path after a value: `/items`. Base64 seldom has only small letters between its signs. */
const pathName = /\/[a-z]{2,}(?![\w+])/

/**
 * True for characters that mix capitals, small letters and digits as names do not. More than a third of the letters are
 * capitals then, or more than a quarter of the characters are of another kind than the one before.
 */
export function isEncoded(message: string, start: number, end: number, sign: EncodedSign): boolean {
  const length = end - start
  if (length < minChars[sign]) return false
  let digits = 0
  let letters = 0
  let capitals = 0
  let rises = 0
  let changes = 0
  let previousClass = 0
  for (let at = start; at < end; at++) {
    const unitClass = classOf(message.charCodeAt(at))
    if (unitClass & is.digit) digits++
    else if (unitClass & is.word) letters++
    if (unitClass & is.upper) capitals++
    if (unitClass & is.upper && previousClass & is.lower) rises++
    if (unitClass & previousClass & is.word && (unitClass ^ previousClass) & is.digit) changes++
    previousClass = unitClass
  }
  const hasManyCapitals = capitals * 3 > letters && capitals < letters
  if (digits === 0) return hasManyCapitals && rises * (sign === 'none' ? 5 : 8) > length
  if (hasManyCapitals && rises >= minRises[sign]) return true
  const mayHaveManyChanges = length >= minCharsForChanges && (rises > 1 || sign === 'padding')
  return mayHaveManyChanges && (rises + changes) * 4 > length
}

/**
 * Returns the end of a value in base64 or base64url, or 0 if there is none between `start` and `end`. The value may
 * contain the signs `+/-_`, and one or two `=` may follow `end`.
 */
export function base64End(message: string, start: number, end: number, sign: EncodedSign): number {
  const paddedEnd = endOfPadding(message, start, end)
  if (paddedEnd > 0 && isEncoded(message, start, end, 'padding')) return paddedEnd
  const isInPath = message.charCodeAt(start - 1) === slash
  const nameAt = message.slice(start, end).search(isInPath ? /\// : pathName)
  const valueEnd = nameAt < 0 ? end : start + nameAt
  return isEncoded(message, start, valueEnd, sign) ? valueEnd : 0
}

/** Returns the end of the `=` that fill base64 up to a multiple of four characters, or 0 if there are none. */
function endOfPadding(message: string, start: number, end: number): number {
  if (message.charCodeAt(end) !== equals) return 0
  const paddedEnd = message.charCodeAt(end + 1) === equals ? end + 2 : end + 1
  const next = message.charCodeAt(paddedEnd)
  if (next === equals || next === greaterThan || classOf(next) & is.word) return 0
  let first = start
  while (classOf(message.charCodeAt(first - 1)) & is.base64) first--
  return (paddedEnd - first) % 4 === 0 ? paddedEnd : 0
}

const slash = 0x2f
const equals = 0x3d
const greaterThan = 0x3e
