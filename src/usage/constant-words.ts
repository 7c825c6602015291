/** Maximum number of characters of a message that are read: for each event, so fewer than for the text of a sample. */
const maxReadChars = 1000

/**
 * Classes of UTF-16 units, as bits. All others separate words. A `*` stands for a value in the text of a statement, and
 * counts as a digit.
 */
const is = { hexLetter: 1, otherLetter: 2, digit: 4, wide: 8, quote: 16, question: 32, at: 64, assigns: 128 } as const
const inWord = is.hexLetter | is.otherLetter | is.digit
const shows = is.digit | is.quote | is.question | is.at | is.assigns

/** The class of each unit, so that none needs a comparison. */
const classes = new Uint8Array(0x1_0000).fill(is.wide, 0x80)
classify('abcdefABCDEF', is.hexLetter)
classify('ghijklmnopqrstuvwxyzGHIJKLMNOPQRSTUVWXYZ', is.otherLetter)
classify('0123456789*', is.digit)
classify('"\'`', is.quote)
classify('?', is.question)
classify('@', is.at)
classify('=', is.assigns)

function classify(chars: string, bit: number): void {
  for (const char of chars) classes[char.charCodeAt(0)] = bit
}

function classOf(unit: number): number {
  return classes[unit] as number
}

/** The constant word that was found last. At the end of a message it is empty. */
const word = { start: 0, end: 0, hash: 0 }

/** Returns the place after the next sign of this kind, or after several of them; or -1 if there is none. */
export function afterSign(message: string, sign: string, place: number): number {
  let at = message.indexOf(sign, place) // faster than to read more than three characters
  if (at < 0) return -1
  const unit = sign.charCodeAt(0)
  do at++
  while (message.charCodeAt(at) === unit)
  return at
}

/** Begins to look for words at a place. */
export function lookFrom(place: number): void {
  word.end = place
}

/**
 * Finds the next word of a message, or of a statement's text, that is no value and no part of one. `name=` is a word,
 * and a value follows it. A message and the text of its statement have the same constant words. Exceptions are values
 * that look like words, such as the letters of an encoded value.
 */
export function nextWord(text: string): void {
  const end = Math.min(text.length, maxReadChars)
  let at = word.end
  if (text.charCodeAt(at) === equals) at = endOfAssigned(text, at + 1, end)
  /** End of the last value, so that letters after it in a UUID are known for a part of it. */
  let valueEnd = -2
  while (at < end) {
    let unit = text.charCodeAt(at)
    const first = classOf(unit)
    if (first & (inWord | is.wide)) {
      const start = at
      const ofRun = first === is.wide ? is.wide : inWord
      let kinds = 0
      let hash = 0
      let next: number = first
      while ((next & ofRun) !== 0) {
        kinds |= next
        hash = Math.imul(hash ^ unit, prime)
        unit = ++at < end ? text.charCodeAt(at) : space
        next = classOf(unit)
      }
      if (next === is.at) at = endOfAddress(text, at, end)
      else if (kinds & is.digit && next !== is.assigns) at = endOfJoined(text, at, end)
      else if (next === is.assigns || !isValue(text, start, at, kinds, valueEnd === start - 1)) {
        word.start = start
        word.end = at
        word.hash = hash
        return
      }
      valueEnd = at
    } else if (first === is.quote) {
      at = endOfQuoted(text, at, end)
      valueEnd = at
    } else if (first === is.question) at = endOfAddress(text, at, end)
    else at++
  }
  word.hash = 0
  word.start = word.end = end
}

function isValue(text: string, start: number, end: number, kinds: number, isJoined: boolean): boolean {
  if (isJoined && kinds === is.hexLetter && end - start <= 8) return isJoint(text.charCodeAt(start - 1))
  const length = end - start
  if (isJoined && length <= 3 && text.charCodeAt(start - 1) === space) return isUnit(text, start, end)
  if (length !== 4 && length !== 5) return false
  const first = text.charCodeAt(start)
  if (first === 0x66) return text.startsWith('false', start)
  return (first === 0x74 && text.startsWith('true', start)) || (first === 0x6e && text.startsWith('null', start))
}

/** True for `s`, `ms`, `B`, `KB`, `KiB` and the like, in either case. */
function isUnit(text: string, start: number, end: number): boolean {
  const last = text.charCodeAt(end - 1) | 0x20
  const first = text.charCodeAt(start) | 0x20
  if (last === smallS)
    return end - start === 1 || (end - start === 2 && (first === smallM || first === smallU || first === smallN))
  if (last !== smallB) return false
  if (end - start === 3) return (text.charCodeAt(start + 1) | 0x20) === smallI && isMultiple(first)
  return end - start === 1 || isMultiple(first)
}

/** True for `k`, `m`, `g` and `t`. */
function isMultiple(unit: number): boolean {
  return unit === smallK || unit === smallM || unit === smallG || unit === smallT
}

/** Returns the end of a word that has a value in it. The parts that hyphens and underscores join to it are as variable. */
function endOfJoined(text: string, start: number, end: number): number {
  let at = start
  while (at < end && (classOf(text.charCodeAt(at)) & inWord || isHyphen(text.charCodeAt(at)))) at++
  return at
}

function isHyphen(unit: number): boolean {
  return unit === 0x2d || unit === 0x5f
}

/** True for what joins the parts of a UUID, or of an IPv6 or MAC address. */
function isJoint(unit: number): boolean {
  return unit === 0x2d || unit === 0x3a
}

/**
 * Returns the end of a quoted part, which is one value; or the place after the quote if it is not closed. A quoted part
 * may end where the message is no longer read.
 */
function endOfQuoted(text: string, start: number, end: number): number {
  const quote = text.charCodeAt(start)
  for (let at = start + 1; at < end; at++) if (text.charCodeAt(at) === quote) return at + 1
  return quote !== apostrophe && end < text.length ? end : start + 1
}

/** Returns the end of an e-mail address, or of the query of a URL. */
function endOfAddress(text: string, start: number, end: number): number {
  let at = start
  while (at < end && text.charCodeAt(at) > space) at++
  return at
}

/** Returns the end of the value in `name=value`. */
function endOfAssigned(text: string, start: number, end: number): number {
  if (classOf(text.charCodeAt(start)) === is.quote) return endOfQuoted(text, start, end)
  let at = start
  while (at < end && text.charCodeAt(at) > space && !endsAssigned.includes(text.charAt(at))) at++
  return at
}

const endsAssigned = ',;&)]}|"\'`'

/** Hashes the word that was found last. */
export function hashOfWord(seed: number): number {
  return Math.imul(word.hash ^ seed, prime)
}

/**
 * Hashes four characters of a message. Leaves out the first word with a value and everything after it, because these
 * vary.
 */
export function hashOfChars(message: string, start: number, seed: number): number {
  const end = start + 4
  if (end > message.length) return hashBeforeValue(message, start, message.length, seed)
  const first = message.charCodeAt(start)
  const second = message.charCodeAt(start + 1)
  const third = message.charCodeAt(start + 2)
  const fourth = message.charCodeAt(start + 3)
  if ((classOf(first) | classOf(second) | classOf(third) | classOf(fourth)) & shows) {
    return hashBeforeValue(message, start, end, seed)
  }
  return Math.imul(seed ^ (first + (second << 8) + (third << 16) + (fourth << 24)), prime)
}

function hashBeforeValue(message: string, start: number, end: number, seed: number): number {
  let hash = seed
  let hashOfWords = seed
  for (let at = start; at < end; at++) {
    const unit = message.charCodeAt(at)
    if (classOf(unit) & shows) return hashOfWords
    hash = Math.imul(hash ^ unit, prime)
    // Most scripts beyond ASCII have digits next to words.
    if (unit === space || unit > 0x7f || (at === 0 && isOpeningBracket(unit))) hashOfWords = hash
  }
  return hash
}

/** True for the bracket of a list or of JSON: the text of a statement keeps the first one, whatever comes after it. */
function isOpeningBracket(unit: number): boolean {
  return unit === openingBracket || unit === openingBrace || unit === openingParenthesis
}

/** Returns the constant words of a text from a place on. */
export function constantWords(text: string, from: number): string[] {
  const words: string[] = []
  lookFrom(from)
  for (nextWord(text); word.start < word.end; nextWord(text)) words.push(text.slice(word.start, word.end))
  return words
}

/** True if a value may be at a place of a text, or at the place of a statement's text where a value was. */
export function isOfValue(text: string, place: number): boolean {
  return place < text.length && (classOf(text.charCodeAt(place)) & shows) !== 0
}

/** True if the UTF-16 unit may be in a word. */
export function isOfWord(unit: number): boolean {
  return (classOf(unit) & (inWord | is.wide)) !== 0
}

/** Of the hash function FNV-1a. */
const prime = 0x01000193
const space = 0x20
const apostrophe = 0x27
const openingParenthesis = 0x28
const equals = 0x3d
const openingBracket = 0x5b
const smallB = 0x62
const smallG = 0x67
const smallI = 0x69
const smallK = 0x6b
const smallM = 0x6d
const smallN = 0x6e
const smallS = 0x73
const smallT = 0x74
const smallU = 0x75
const openingBrace = 0x7b
