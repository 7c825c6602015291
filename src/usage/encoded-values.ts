import { randomness } from './randomness.ts'
import { classOf, is, skipWhile } from './unit-classes.ts'

/** A sign of an encoded value besides its characters: a prefix such as `cus_`, or the `=` at the end of base64. */
type EncodedSign = 'none' | 'prefix' | 'padding'

/** Minimum length of an encoded value, in characters. Few names of this length look random. */
const minChars = 10
const minCharsOfIdentifier = 7
/** Minimum length of base64 with a `/` or a `+` in it, because paths and sums of short names look random. */
const minCharsWithSigns: Readonly<Record<EncodedSign, number>> = { none: 16, prefix: 12, padding: minChars }
/** Randomness of short names, in bits, is less. */
const fewBits = 8
/** Randomness of values, in bits, that need no digits and no capital after a small letter. */
const manyBits = 12
/** Minimum number of digits in a value without a capital after a small letter. */
export const minDigits = 3
/** Minimum length of a name of small letters between `/`, in a path and in long base64. */
const minNameChars = 2
const minNameCharsInBase64 = 5
/** Number of characters that other names need in addition, such as `/byEmail`. */
const moreMixedChars = 3
/** Minimum length of base64 that may have short names in it by chance. */
const minLongChars = 32
/** Maximum length of base64 in a path. Each part of a path is read as base64 anew, so that a limit is needed. */
const maxCharsInPath = 200

/** True for a word that may be a short identifier, or a name in camel case. */
export function mayBeIdentifier(message: string, start: number, end: number): boolean {
  if (end - start < minCharsOfIdentifier) return false
  let classes = 0
  for (let at = start; at < end; at++) classes |= classOf(message.charCodeAt(at))
  return (classes & is.upper) !== 0 && (classes & (is.lower | is.digit)) !== 0
}

/** True for characters that are more likely at random than in a name. */
export function isEncoded(message: string, start: number, end: number, sign: EncodedSign): boolean {
  if (end - start < minChars) return false
  const bits = randomness(message, start, end)
  if (bits <= 0) return false
  let digits = 0
  let smallLetters = 0
  let capitals = 0
  let hasRise = false
  let previousClass = 0
  for (let at = start; at < end; at++) {
    const unitClass = classOf(message.charCodeAt(at))
    if (unitClass & is.digit) digits++
    if (unitClass & is.lower) smallLetters++
    if (unitClass & is.upper) capitals++
    if (unitClass & is.upper && previousClass & is.lower) hasRise = true
    previousClass = unitClass
  }
  if (capitals === 0 || smallLetters === 0) return false
  if (sign === 'padding') return true
  // `AES/CBC/PKCS5Padding` has neither a capital after a small letter nor many digits.
  if (!hasRise && digits < minDigits && bits < manyBits) return false
  // Short names with more capitals than others, such as `JSONWebKeySet`, have few bits and no digit.
  if (sign === 'none' && end - start < minCharsWithSigns.none && digits === 0 && bits < fewBits) return false
  // A name before small letters and digits has few capitals: `MyApp-7d9f8b6c5-xkqzb`.
  return sign === 'prefix' || capitals * 6 > smallLetters
}

/**
 * Returns the end of a value in base64 or base64url, or 0 if there is none at `start`. The value may contain the signs
 * `+/-_`, and end with one or two `=`. The parts of a path that are names are no part of the value.
 */
export function base64End(message: string, start: number, end: number, sign: EncodedSign): number {
  const isInPath = isPartOfPath(message, start)
  const runEnd = isInPath ? Math.min(end, start + maxCharsInPath) : skipWhile(message, start, end, is.base64)
  const isShort = isInPath || runEnd - start < minLongChars
  const valueEnd = endBeforeName(message, start, runEnd, isShort ? minNameChars : minNameCharsInBase64)
  if (valueEnd === start) return 0
  const paddingAt = isInPath ? valueEnd : runEnd
  const paddedEnd = endOfPadding(message, start, paddingAt)
  if (paddedEnd > 0 && isEncoded(message, start, paddingAt, 'padding')) return paddedEnd
  const isWord = skipWhile(message, start, valueEnd, is.word | is.joint) >= valueEnd
  if (!isWord && valueEnd - start < minCharsWithSigns[sign]) return 0
  return isEncoded(message, start, valueEnd, sign) ? valueEnd : 0
}

/** True after a `/`. Signs of base64url may come between, because a value may begin with them. */
export function isPartOfPath(message: string, start: number): boolean {
  let first = start
  while (classOf(message.charCodeAt(first - 1)) & is.joint) first--
  return message.charCodeAt(first - 1) === slash
}

/** Returns the end of the parts between `/` before the first one that is a name. */
function endBeforeName(message: string, start: number, end: number, minSmallChars: number): number {
  let partStart = start
  for (let at = start; ; at++) {
    const unit = at < end ? message.charCodeAt(at) : space
    if (unit !== slash && classOf(unit) & is.base64) continue
    // Base64 has a `/` after its first character less often than a path has a part of one small letter.
    const isFirstInPath = partStart === start && message.charCodeAt(start - 1) === slash
    if (isNameInPath(message, partStart, at, isFirstInPath ? 1 : minSmallChars)) return Math.max(partStart - 1, start)
    if (unit !== slash) return at
    partStart = at + 1
  }
}

function isNameInPath(message: string, start: number, end: number, minSmallChars: number): boolean {
  const size = end - start
  if (size < minSmallChars) return false
  if (size >= minSmallChars + moreMixedChars && randomness(message, start, end) < 0) return true
  const isVersion = message.charCodeAt(start) === lowerV && skipWhile(message, start + 1, end, is.digit) === end
  return isVersion || skipWhile(message, start, end, is.lower) === end
}

/** Returns the end of the `=` that fill base64 up to a multiple of four characters, or 0 if there are none. */
function endOfPadding(message: string, start: number, end: number): number {
  if (message.charCodeAt(end) !== equals) return 0
  const paddedEnd = message.charCodeAt(end + 1) === equals ? end + 2 : end + 1
  const next = message.charCodeAt(paddedEnd)
  if (next === equals || next === greaterThan || classOf(next) & is.word) return 0
  let first = start
  while (classOf(message.charCodeAt(first - 1)) & is.base64) first--
  const isInPath = isPartOfPath(message, start)
  return (paddedEnd - first) % 4 === 0 || (isInPath && (paddedEnd - start) % 4 === 0) ? paddedEnd : 0
}

const space = 0x20
const slash = 0x2f
const equals = 0x3d
const greaterThan = 0x3e
const lowerV = 0x76
