import { base64End, isEncoded, isPartOfPath, mayBeIdentifier, minDigits } from './encoded-values.ts'
import { hexGroupsEnd } from './hex-groups.ts'
import { ownText } from './own-text.ts'
import { randomness } from './randomness.ts'
import { classOf, is, skipWhile } from './unit-classes.ts'

/** Maximum length of a statement's text, in characters. */
export const maxTextChars = 200
/** Maximum number of characters of a message that are read. */
const maxReadChars = 8000
/** A word part of this length or more is a key or an encoded value, unless it is a name in camel case. */
const maxPartChars = 32
/** Lengths of identifiers that have no prefix: of a nanoid, and of 128 and 192 bits in base64url. */
const idChars = [21, 22, 32]
/** Minimum length of other identifiers that have no short prefix. */
const minLongIdChars = 41
/** Maximum length of a short prefix with its joint: `cus_`. Random small letters may look like one. */
const maxShortPrefixChars = 4
/** Maximum length of hexadecimal digits in a path that may be the first part of base64. Most are an identifier. */
const maxHexPartChars = 3
/** Maximum number of characters before a part of a JSON web token that are read again. */
const maxHeaderChars = 500
/** Number of characters at the end of a word that are compared with the listed words. */
const maxNameChars = 64

/** Kinds of words that change how a message is read. */
const kinds = { value: 1, secretName: 2, secretScheme: 3, ofDate: 4, unit: 5, shortSecretName: 6 } as const

const words = new Map<string, number>([
  // In the place of a value.
  ...listed('false infinity nan null true undefined', kinds.value),
  // After a number. A statement may write each value in another unit.
  ...listed('s ms us µs μs ns b kb mb gb tb kib mib gib tib', kinds.unit),
  // With a capital, beside a number.
  ...listed('mon tue wed thu fri sat sun monday tuesday wednesday thursday friday saturday sunday', kinds.ofDate),
  ...listed('jan feb mar apr may jun jul aug sep oct nov dec january february march april june', kinds.ofDate),
  ...listed('july august september october november december am pm', kinds.ofDate),
  // Before a secret, if a colon comes between: `password: hunter2`, `x-api-key: …`.
  ...listed('apikey authorization credential credentials pass passphrase passwd password pwd secret', kinds.secretName),
  // As part of a name, such as `access_token`. By itself, it may be what a message is about: `token: expired`.
  ...listed('cookie key pin session signature token', kinds.shortSecretName),
  // Between the name of a secret and the secret: `Authorization: Bearer …`.
  ...listed('basic bearer digest', kinds.secretScheme),
])

function listed(names: string, kind: number): [string, number][] {
  return names.split(' ').map(name => [name, kind])
}

/** Has a 1 for the hash of each listed word, so that other words are not looked up. */
const mayBeListed = new Uint8Array(1024)
for (const word of words.keys()) {
  let hash = 0
  for (let i = 0; i < word.length; i++) hash = addToHash(hash, word.charCodeAt(i))
  mayBeListed[hash & 1023] = 1
}
mayBeListed[addToHash(0, 'N'.charCodeAt(0)) & 1023] = 1 // the last part of `NaN`

function addToHash(hash: number, unit: number): number {
  return (Math.imul(hash, 31) + (unit | 0x20)) | 0
}

/** The text being made. Nothing logs while a message is read, so one buffer serves all. */
const text = new Uint16Array(maxTextChars + 8)
/** Length of the text being made. */
let length = 0
/** The place up to which the message has been searched for base64. */
let base64To = 0
/** Number of characters that have been read so far, of all messages. */
export let charsRead = 0

/** The word that was read last. If it is a value, `valueStart` is the place after a prefix such as `cus_`. */
const word = { valueStart: 0, end: 0, isValue: false, isHexadecimal: false, hasDigit: false, kind: 0 }

/**
 * Returns the constant part of a message: its first line without values, as one line of at most 200 characters. `*`
 * stands for each value: numbers, dates, identifiers (UUIDs, hexadecimal and other long ones), quoted parts, e-mail
 * addresses, queries of URLs, and `name=value`. The text after a word such as `password:` is a value, too. Values in
 * brackets are one value, however many they are. The result has no ASCII digit.
 *
 * Messages of one log statement have the same text. So the text shows the statement, and none of its values.
 */
export function statementText(message: string): string {
  possibleLeft = -1
  return readText(message)
}

/**
 * Returns the texts that a message has if one of its words, which may be a name, is a random identifier: `dQw4w9WgXcQ`.
 * Each word may be one with the words before its first hyphen or underscore, or without. If such a text is that of a
 * known statement, the message is most likely one of this statement.
 */
export function* similarTexts(message: string): Generator<string> {
  for (let index = 0; index < maxPossible; index++) {
    for (const withPrefix of [false, true]) {
      possibleLeft = index
      isPrefixPossible = withPrefix
      const similar = readText(message)
      if (possibleLeft >= 0) return // the message has no more such words
      yield similar
    }
  }
}

/** Maximum number of words that are tried. */
const maxPossible = 4
/** Number of possible identifiers before the one that is taken for one; -1 if none is, or when it has been read. */
let possibleLeft = -1
let isPrefixPossible = false

function readText(message: string): string {
  const end = Math.min(message.length, maxReadChars)
  length = 0
  base64To = 0
  let at = 0
  /** True if the next word is a secret. */
  let isSecretNext = false
  /** True if the previous word names a secret. */
  let isSecretNamed = false
  /** True if the latest word names a secret, or is what a message is about. */
  let isShortName = false
  /** Bits of the quotes that are not closed in the rest of the message. */
  let unclosed = 0
  while (at < end && length <= maxTextChars) {
    const unit = message.charCodeAt(at)
    const unitClass = classOf(unit)
    if (unitClass & is.word) {
      readWord(message, at, end)
      if (isBeforeAt(message, word.end)) {
        at = skipAddress(message, word.end, end)
        isSecretNamed = isSecretNext = false
        continue
      }
      const { kind } = word
      isSecretNamed = (kind === kinds.secretName || kind === kinds.shortSecretName) && !isSecretNext
      if (isSecretNext && isShortName && isName(message, at, word.end)) isSecretNext = false
      isShortName = kind === kinds.shortSecretName
      if (kind === kinds.secretScheme && (isSecretNext || unit === upperB)) {
        addWord(message, at, word.end)
        at = word.end
        isSecretNext = true
        continue
      }
      if (isSecretNext) {
        at = skipWhile(message, word.end, end, is.inAddress)
        dropSigns('+/')
        addValue()
      } else {
        if (word.isValue) addWord(message, at, word.valueStart)
        if (word.isValue || kind === kinds.value || (kind === kinds.ofDate && isInDate(message, at, word.end)))
          addValue()
        else if (kind === kinds.unit && isAfterNumber(message, at))
          length-- // the space
        else if (word.hasDigit) addMixed(message, at, word.end)
        else addWord(message, at, word.end)
        at = word.end
      }
      isSecretNext = false
    } else if (unitClass & is.blank) {
      if (unitClass & is.lineBreak && length > 0) break // a stack trace, for example
      addSpace()
      at++
    } else if (unitClass & is.quote) {
      const closedAt = closingQuote(message, at, end, unclosed)
      if (closedAt > 0) {
        addValue()
        at = closedAt + 1
        isSecretNext = false
      } else if (closedAt < 0 && (isCut(message, at) || isOpening(message, at))) {
        addValue() // the end of the quoted part was not read, or was cut off before the message was logged
        at = endOfLine(message, at, end)
        isSecretNext = false
      } else {
        if (closedAt < 0) unclosed |= 1 << openingQuotes.indexOf(message.charAt(at))
        add(unit)
        at++
      }
    } else {
      at++
      if (unit === colon && isSecretNamed) isSecretNext = true
      isSecretNamed = false
      if (unitClass & is.unprintable) {
        addSpace()
      } else if (unit === atSign && isInAddress(message.charCodeAt(at))) {
        at = skipAddress(message, at, end)
      } else {
        add(unit)
        if (unit === questionMark && isInAddress(message.charCodeAt(at))) {
          at = skipWhile(message, at, end, is.inAddress)
          addValue()
        } else if (unit === equals) {
          if (isInOperator(message, at - 1)) continue
          if (message.charCodeAt(at) === space) isSecretNext = true
          const assignedEnd = skipWhile(message, at, end, is.assigned)
          if (assignedEnd > at) addValue()
          at = assignedEnd
        } else if (closingBrackets.includes(String.fromCharCode(unit))) {
          endGroup(unit)
        }
      }
    }
  }
  charsRead += at
  if (at >= end && length <= maxTextChars && isCut(message, end)) endOpenGroup()
  return madeText()
}

/** True if the line at a place of a message is not read to its end. */
function isCut(message: string, at: number): boolean {
  return message.length > maxReadChars && !/[\n\r]/.test(message.slice(at, maxReadChars))
}

/** Reads letters, digits, and the hyphens and underscores between them. The result is in `word`. */
function readWord(message: string, start: number, end: number): void {
  const script = classOf(message.charCodeAt(start)) & is.unspaced
  let digits = 0
  let others = 0
  let rises = 0
  let capitals = 0
  let partLength = 0
  let maxPartLength = 0
  let hash = 0
  let previousClass = 0
  let valueStart = start
  let at = start
  let next = 0
  for (; at < end; at++) {
    const unit = message.charCodeAt(at)
    const unitClass = classOf(unit)
    next = unit
    if (unitClass & is.word) {
      if ((unitClass & is.unspaced) !== script) break
      if (unitClass & is.digit) digits++
      else if (!(unitClass & is.hexLetter)) others++
      if (unitClass & is.upper && at > start) capitals++
      if (unitClass & is.upper && previousClass & is.lower) {
        rises++
        hash = 0 // the last part counts: `accessToken`
      }
      if (++partLength > maxPartLength) maxPartLength = partLength
      hash = addToHash(hash, unit)
    } else if (unitClass & is.joint && classOf(message.charCodeAt(at + 1)) & is.word) {
      if (valueStart === at - partLength && isName(message, valueStart, at)) valueStart = at + 1
      partLength = 0
      hash = 0
    } else {
      break
    }
    previousClass = unitClass
  }
  const isHexadecimalValue = digits > 0 && (others === 0 || isHexadecimalNumber(message, start, others))
  const mayBeEncoded = (capitals > 0 || digits >= minDigits) && !isHexadecimalValue
  if (valueStart > start && (isHexadecimalValue || (mayBeEncoded && isPartOfId(message, start, valueStart, at)))) {
    valueStart = start
  }
  word.valueStart = valueStart
  word.end = at
  word.hasDigit = digits > 0
  word.isHexadecimal = others === 0
  word.isValue =
    isHexadecimalValue ||
    (maxPartLength >= maxPartChars && script === 0 && (rises === 0 || digits > 0)) ||
    (mayBeEncoded && isEncoded(message, valueStart, at, valueStart > start ? 'prefix' : 'none'))
  if (!word.isValue && text[length - 1] === dot && text[length - 2] === asterisk && isInToken(message, start)) {
    setValue(start, skipWhile(message, at, end, is.word | is.joint))
  }
  if (!word.isValue && partLength < at - start) findPodSuffix(message, start, at)
  word.kind = mayBeListed[hash & 1023] === 1 ? kindOf(message.slice(Math.max(start, at - maxNameChars), at)) : 0
  if (mayGoOn(at - start, next)) readOn(message, start, end)
  if (possibleLeft >= 0) readPossible(message, start, end)
}

/** Takes a word that may be an identifier for one, if its turn has come, with all signs of base64url around it. */
function readPossible(message: string, start: number, end: number): void {
  const runEnd = skipWhile(message, word.end, end, is.word | is.joint)
  if (word.isValue && runEnd === word.end) return
  let first = word.valueStart
  if (isPrefixPossible) first = start
  else if (runEnd > word.end && isName(message, first, word.end)) first = word.end
  if (!mayBeIdentifier(message, first, runEnd) || possibleLeft-- > 0) return
  first = skipWhile(message, first, runEnd, is.joint)
  setValue(first, runEnd)
  if (first === start) dropSigns('-_')
}

/** True in a JSON web token, which may be cut off: `eyJhbGciOiJIUzI1NiJ9.eyJzdWIi...`. */
function isInToken(message: string, start: number): boolean {
  let first = start
  while (start - first < maxHeaderChars && isInBase64Url(message.charCodeAt(first - 1))) first--
  return message.startsWith('eyJ', first)
}

function isInBase64Url(unit: number): boolean {
  return unit === dot || (classOf(unit) & (is.word | is.joint)) !== 0
}

/** Finds the random end of the name of a pod. It has no vowel, so that it is no word, and may have no digit. */
function findPodSuffix(message: string, start: number, end: number): void {
  const first = message.slice(start, end).search(podSuffix)
  if (first >= 0 && randomness(message, start + first + 1, end) > 0) setValue(start + first + 1, end)
}

/** @see https://github.com/kubernetes/apimachinery/blob/master/pkg/util/rand/rand.go */
const podSuffix = /-(?:[bcdf-hj-np-tv-xz24-9]{8,10}(?:-[bcdf-hj-np-tv-xz24-9]{5})?|[bcdf-hj-np-tv-xz24-9]{5})$/

/** True if the word may begin or end a value with signs or spaces in it. Most words do not. */
function mayGoOn(size: number, next: number): boolean {
  if (next === colon || next === equals || classOf(next) & is.base64) return true
  if (next === space && size === 2 && word.isHexadecimal) return true
  const last = length > 0 ? (text[length - 1] as number) : space
  return last === colon || (word.isValue && (classOf(last) & is.base64) !== 0)
}

/** Reads on if the word begins a value with signs or spaces in it, such as an address or base64. */
function readOn(message: string, start: number, end: number): void {
  const groupsEnd = word.isHexadecimal ? hexGroupsEnd(message, start, word.end) : 0
  if (groupsEnd > 0) {
    setValue(start, groupsEnd)
    dropSigns(':')
    return
  }
  readBase64(message, start, end)
  if (!word.isValue || word.valueStart > start) return
  const last = text[length - 1] as number
  if (word.isHexadecimal) {
    if (last === underscore) dropSigns('_')
  } else if (classOf(last) & is.base64) {
    dropSigns(mayBeBase64(message, start, word.end) ? '-_+/' : '-_+')
  }
}

/** True for a value with signs that base64url does not have, or of 31 characters, which may lack them by chance. */
function mayBeBase64(message: string, start: number, end: number): boolean {
  if (skipWhile(message, start, end, is.word | is.joint) < end) return true
  return end - start >= maxPartChars - 1 && message.charCodeAt(end) !== slash
}

function readBase64(message: string, start: number, end: number): void {
  const { valueStart } = word
  const isInPath = isPartOfPath(message, valueStart)
  if (word.end === end || (valueStart < base64To && !isInPath)) return
  const next = message.charCodeAt(word.end)
  if (next !== equals && !(classOf(next) & is.base64)) return
  if (isInPath && word.isHexadecimal && word.end - start > maxHexPartChars) return
  const mayFollowName = next === plus || (next === slash && !isInPath)
  if (!mayFollowName && isName(message, valueStart, word.end)) return
  const valueEnd = base64End(message, valueStart, end, valueStart > start ? 'prefix' : 'none')
  if (valueEnd > 0) {
    setValue(valueStart, valueEnd)
    word.isHexadecimal = false
  } else if (!isInPath) {
    base64To = skipWhile(message, word.end, end, is.base64)
  }
}

/** True if what looks like a prefix is the random beginning of an identifier: the length of the whole tells. */
function isPartOfId(message: string, start: number, valueStart: number, wordEnd: number): boolean {
  if (text[length - 1] === dot && text[length - 2] === asterisk) return true // in a JSON web token
  if (valueStart - start > maxShortPrefixChars && randomness(message, start, valueStart) <= 0) return false
  let first = start
  while (classOf(message.charCodeAt(first - 1)) & is.joint) first--
  const size = skipWhile(message, wordEnd, wordEnd + minLongIdChars, is.word | is.joint) - first
  return size >= minLongIdChars || idChars.includes(size)
}

/** True for small letters alone, unless there are as many as in an encoded value. A single one may be part of such. */
function isName(message: string, start: number, end: number): boolean {
  const size = end - start
  return size > 1 && size < maxPartChars && skipWhile(message, start, end, is.lower) === end
}

function setValue(start: number, end: number): void {
  word.isValue = true
  word.valueStart = start
  word.end = end
}

/** True for `0x8f3a`. */
function isHexadecimalNumber(message: string, start: number, others: number): boolean {
  return others === 1 && message.charCodeAt(start) === zero && (message.charCodeAt(start + 1) | 0x20) === lowerX
}

function kindOf(name: string): number {
  const whole = words.get(name.toLowerCase())
  if (whole !== undefined) return whole
  const kind = words.get(name.replace(/.*(?:[-_]|[a-z](?=[A-Z]))/, '').toLowerCase())
  return kind === kinds.secretName || kind === kinds.shortSecretName ? kinds.secretName : 0
}

/** True after a number and a space. */
function isAfterNumber(message: string, start: number): boolean {
  return text[length - 1] === space && text[length - 2] === asterisk && isDigitAt(message, start - 2)
}

function isDigitAt(message: string, at: number): boolean {
  return (classOf(message.charCodeAt(at)) & is.digit) !== 0
}

/** True for the name of a day or a month beside a number, and for `AM` after a time. */
function isInDate(message: string, start: number, end: number): boolean {
  if (!(classOf(message.charCodeAt(start)) & is.upper)) return false
  const before = classOf(text[length - 1] as number) & (is.blank | is.separator) ? length - 1 : length
  if (before < length && text[before - 1] === asterisk) return true
  restOfDate.lastIndex = end
  return restOfDate.test(message)
}

const restOfDate = /,?[ /-](?:(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*,?[ /-])?\d/y

/** Adds a word with digits, up to its first value. The rest of an identifier is as variable. */
function addMixed(message: string, start: number, end: number): void {
  if (classOf(message.charCodeAt(start)) & is.upper && articleNumber.test(message.slice(start, end))) {
    addWord(message, start, message.indexOf('-', start) + 1)
    addValue()
    return
  }
  let at = start
  while (at < end) {
    let partEnd = at
    let letters = 0
    let hexLetters = 0
    let changes = 0
    let previous = 0
    for (; partEnd < end; partEnd++) {
      const unitClass = classOf(message.charCodeAt(partEnd))
      if (unitClass & is.joint) break
      const kind = unitClass & is.digit
      if (kind === 0) letters++
      if (unitClass & is.hexLetter) hexLetters++
      if (partEnd > at && kind !== previous) changes++
      previous = kind
    }
    const hasDigit = partEnd - at > letters
    if (hasDigit) {
      // A word and its number, or a number and its unit: `worker7`, `35ms`.
      const isNumbered = changes === 1 && letters > hexLetters
      const isNumberFirst = previous === 0
      if (isNumbered && !isNumberFirst) addWord(message, at, at + letters)
      addValue()
      if (isNumbered && isNumberFirst && !isUnit(message, partEnd - letters, partEnd)) {
        addWord(message, partEnd - letters, partEnd)
      }
      return
    }
    addWord(message, at, partEnd)
    if (partEnd < end) add(message.charCodeAt(partEnd))
    at = partEnd + 1
  }
}

/** Such as `SKU-GJA-790`. Its letters vary as its digits do. */
const articleNumber = /^[A-Z]{2,8}(?:-[A-Z]{1,4})+-\d{3,}$/

/** True for the unit of a time or a size, or the `Z` of a time in UTC, directly after a number. */
function isUnit(message: string, start: number, end: number): boolean {
  return end - start <= 3 && unitAfterNumber.test(message.slice(start, end))
}

const unitAfterNumber = /^(?:[smhdz]|[munµμ]s|[kmgt]?i?b|[km])$/i

/**
 * Returns the place of the quote that closes the one at `start`. Returns 0 if the character is an apostrophe, or -1 if
 * the quote is not closed.
 */
function closingQuote(message: string, start: number, end: number, unclosed: number): number {
  const kind = openingQuotes.indexOf(message.charAt(start))
  if (kind < 0 || unclosed & (1 << kind)) return 0
  if (message.charCodeAt(start) === apostrophe && classOf(message.charCodeAt(start - 1)) & is.word) return 0
  const closing = closingQuotes.charCodeAt(kind)
  const otherClosing = otherClosingQuotes.charCodeAt(kind)
  const hasEscapes = message.charCodeAt(start - 1) !== backslash && !isWindowsPath(message, start + 1)
  let escapedAt = -1
  for (let at = start + 1; at < end; at++) {
    const isEscaped = hasEscapes && message.charCodeAt(at) === backslash
    if (isEscaped) at++
    const unit = message.charCodeAt(at)
    if (unit !== closing && unit !== otherClosing) continue
    if (!isEscaped) return at
    if (escapedAt < 0) escapedAt = at
  }
  return escapedAt < end ? escapedAt : -1
}

/** True for `C:\logs\`: a quote after its last backslash is not escaped. */
function isWindowsPath(message: string, start: number): boolean {
  if (message.charCodeAt(start + 1) !== colon || message.charCodeAt(start + 2) !== backslash) return false
  return (classOf(message.charCodeAt(start + 3)) & is.word) !== 0
}

const openingQuotes = '"\'`“‘«„「『'
const closingQuotes = '"\'`”’»“」』'
/** Polish closes `„` with another quote than German. */
const otherClosingQuotes = '"\'`”’»”」』'

/** Takes out an e-mail address, or a URL with a user name. `at` is the place of its `@`. Returns the place after it. */
function skipAddress(message: string, at: number, end: number): number {
  const addressEnd = skipWhile(message, at, end, is.inAddress)
  while (length > 0 && classOf(text[length - 1] as number) & is.inAddress) length--
  addValue()
  return addressEnd
}

/** True before the `@` of an e-mail address, which a URL may have in its encoded form. */
function isBeforeAt(message: string, at: number): boolean {
  const unit = message.charCodeAt(at)
  if (unit === atSign) return isInAddress(message.charCodeAt(at + 1))
  return unit === percent && message.startsWith('%40', at) && isInAddress(message.charCodeAt(at + 3))
}

/** True for a quote that cannot be a sign of inches, or an apostrophe. */
function isOpening(message: string, at: number): boolean {
  if (classOf(message.charCodeAt(at - 1)) & is.word) return false
  return message.charCodeAt(at) !== apostrophe && message.charCodeAt(at + 1) !== space
}

function endOfLine(message: string, start: number, end: number): number {
  let at = start
  while (at < end && !(classOf(message.charCodeAt(at)) & is.lineBreak)) at++
  return at
}

/** True for `=` in `==`, `=>`, `!=`, `<=` and `>=`. */
export function isInOperator(message: string, at: number): boolean {
  const next = message.charCodeAt(at + 1)
  if (next === equals || next === greaterThan) return true
  const previous = message.charCodeAt(at - 1)
  return previous === equals || previous === greaterThan || previous === lessThan || previous === exclamationMark
}

function isInAddress(unit: number): boolean {
  return (classOf(unit) & is.inAddress) !== 0 // NaN, after the end, is in no class
}

function add(unit: number): void {
  if (length <= maxTextChars) text[length++] = unit
}

function addWord(message: string, start: number, end: number): void {
  const last = Math.min(end, start + maxTextChars + 1 - length)
  for (let at = start; at < last; at++) text[length++] = message.charCodeAt(at)
}

function addSpace(): void {
  if (length > 0 && text[length - 1] !== space) add(space)
}

/** Drops signs from the end of the text that belong to the next value, unless a word precedes them. */
function dropSigns(signs: string): void {
  let before = length
  while (before > 0 && signs.includes(String.fromCharCode(text[before - 1] as number))) before--
  const last = text[before - 1] as number
  if (before === 0 || last === dot || last === slash || classOf(last) & is.beforeNumber) length = before
  else if (before < length && text[before] === slash) length = before + 1
}

/**
 * Adds `*`. Values that only signs separate become one: `1.5`, `10:30`, `1, -2, 3`, `304 - 12`; so does the sign of a
 * number or of an amount of money.
 */
function addValue(): void {
  let before = beforeSigns(length)
  if (before > 0 && classOf(text[before - 1] as number) & is.separator) before = beforeSigns(before - 1)
  if (before > 0 && text[before - 1] === asterisk) {
    length = before
    return
  }
  const last = length > 0 ? (text[length - 1] as number) : 0
  if (currencies.includes(String.fromCharCode(last))) length--
  else if (last === hyphen || last === plus) {
    if (length === 1 || classOf(text[length - 2] as number) & is.beforeNumber) length--
  }
  // A random identifier may begin with signs: `req--_V1St`.
  while (length > 1 && isJointAt(length - 1) && isJointAt(length - 2)) length--
  add(asterisk)
}

/** Returns the place before the spaces and the signs of numbers that end at a place of the text. */
function beforeSigns(end: number): number {
  let at = end
  while (at > 0 && (text[at - 1] === space || text[at - 1] === plus || isJointAt(at - 1))) at--
  return at
}

function isJointAt(at: number): boolean {
  return (classOf(text[at] as number) & is.joint) !== 0
}

const currencies = '$€£¥₹'

/**
 * Ends a group of values in brackets, of which the closing one was added last. JSON and lists vary in length and depth.
 * So a group within another one becomes a value, groups alike become one, and an empty group gets one value.
 */
function endGroup(closing: number): void {
  const opening = openingBrackets.charCodeAt(closingBrackets.indexOf(String.fromCharCode(closing)))
  const start = text[length - 2] === asterisk ? length - 3 : length - 2
  if (text[start] !== opening) return
  const isEmpty = start === length - 2
  if (isEmpty && (closing === closingParenthesis || classOf(text[start - 1] as number) & is.word)) return
  if (isWithinGroup(start)) {
    length = start
    addValue()
    return
  }
  if (isEmpty) {
    text[length - 1] = asterisk
    add(closing)
  }
  const before = text[start - 1] === space ? start - 2 : start - 1
  const isOfList = text[before] === comma && [1, 2, 3].every(i => text[before - i] === text[length - i])
  if (isOfList) length = before
}

/** True if the bracket at a place of the text follows a bracket, or a value and a sign. */
function isWithinGroup(at: number): boolean {
  const before = text[at - 1] === space ? at - 2 : at - 1
  const unit = text[before]
  if (unit === comma || unit === colon) return text[before - 1] === asterisk
  return unit !== undefined && before >= 0 && openingBrackets.includes(String.fromCharCode(unit))
}

/** Ends the first group that is not closed, because the rest of it was not read. */
function endOpenGroup(): void {
  let start = -1
  let depth = 0
  for (let at = length - 1; at >= 0; at--) {
    const unit = String.fromCharCode(text[at] as number)
    if (closingBrackets.includes(unit)) depth++
    else if (openingBrackets.includes(unit)) {
      if (depth === 0) start = at
      else depth--
    }
  }
  if (start < 0) {
    if (text[length - 1] === comma) length--
    return
  }
  const closing = closingBrackets.charCodeAt(openingBrackets.indexOf(String.fromCharCode(text[start] as number)))
  length = start + 1
  addValue()
  add(closing)
  endGroup(closing)
}

const openingBrackets = '([{'
const closingBrackets = ')]}'

/** Drops hyphens after the last value. An access log writes `-` in place of a value that is missing. */
function dropMissingValues(): void {
  let before = length
  while (before > 1 && text[before - 1] === hyphen && text[before - 2] === space) before -= 2
  if (before > 0 && text[before - 1] === asterisk) length = before
}

/** Returns the text as a text of its own, which does not keep the message alive. */
function madeText(): string {
  while (length > 0 && text[length - 1] === space) length--
  dropMissingValues()
  if (length > maxTextChars) {
    length = maxTextChars
    text[length - 1] = ellipsis
  }
  return ownText(text, length).toWellFormed()
}

const space = 0x20
const exclamationMark = 0x21
const percent = 0x25
const apostrophe = 0x27
const closingParenthesis = 0x29
const asterisk = 0x2a
const plus = 0x2b
const comma = 0x2c
const hyphen = 0x2d
const dot = 0x2e
const slash = 0x2f
const zero = 0x30
const colon = 0x3a
const lessThan = 0x3c
const equals = 0x3d
const greaterThan = 0x3e
const questionMark = 0x3f
const atSign = 0x40
const upperB = 0x42
const backslash = 0x5c
const underscore = 0x5f
const lowerX = 0x78
const ellipsis = 0x2026
