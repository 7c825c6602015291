import { isInOperator } from './statement-text.ts'
import { classOf, is, skipWhile } from './unit-classes.ts'

/** Maximum number of characters of a message that are read. A longer line has no fingerprint. */
export const maxFormChars = 500
/** Maximum number of characters of a level that are read. */
const maxLevelChars = 16

/** Kinds of ASCII characters. All others, and those of other scripts, are signs here. A gap ends an address. */
const kind = { sign: 0, letter: 1, digit: 2, joint: 3, quote: 4, lineBreak: 5, gap: 6, beforeValue: 7 } as const
const kinds = new Uint8Array(128)
classify('abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ', kind.letter)
classify('0123456789', kind.digit)
classify('-_', kind.joint)
classify('"', kind.quote)
classify('\n\r', kind.lineBreak)
classify(" \t<>()[]{},;'`", kind.gap)
classify('@?=', kind.beforeValue)

function classify(chars: string, ofChars: number): void {
  for (const char of chars) kinds[char.charCodeAt(0)] = ofChars
}

/** The part of a word that has been read so far. After `7ms`, the state is `numberAndLetters`; after `7f3a`, it is `random`. */
const state = {
  afterGap: 0,
  noWord: 1,
  letters: 2,
  lettersAndNumber: 3,
  number: 4,
  numberAndLetters: 5,
  random: 6,
  rest: 7,
} as const
/** The treatment of a character. */
const action = {
  hash: 0,
  skip: 8,
  hashNumber: 16,
  dropLetters: 24,
  skipQuoted: 32,
  skipValue: 40,
  endLine: 48,
} as const
/** The action, and the next state, by the state and the kind of the next character. */
const steps = new Uint8Array(64)
for (const from of Object.values(state)) {
  const isAfterNumber = from > state.letters
  step(from, kind.sign, action.hash, state.noWord)
  step(from, kind.gap, action.hash, state.afterGap)
  step(from, kind.quote, action.skipQuoted, state.afterGap)
  step(from, kind.lineBreak, action.endLine, state.noWord)
  step(from, kind.beforeValue, action.skipValue, state.noWord)
  step(from, kind.joint, isAfterNumber ? action.skip : action.hash, isAfterNumber ? state.rest : state.noWord)
  step(from, kind.letter, action.skip, from)
  step(from, kind.digit, action.skip, from)
}
for (const from of [state.noWord, state.afterGap]) {
  step(from, kind.letter, action.hash, state.letters)
  step(from, kind.digit, action.hashNumber, state.number)
}
step(state.letters, kind.letter, action.hash, state.letters)
step(state.letters, kind.digit, action.hashNumber, state.lettersAndNumber)
step(state.lettersAndNumber, kind.letter, action.dropLetters, state.random)
step(state.number, kind.letter, action.hash, state.numberAndLetters)
step(state.numberAndLetters, kind.letter, action.hash, state.numberAndLetters)
step(state.numberAndLetters, kind.digit, action.dropLetters, state.random)

function step(from: number, ofChar: number, does: number, to: number): void {
  steps[8 * from + ofChar] = does + to
}

/**
 * Returns a number for the form of a message. Returns 0 if the message has none, because its first line is too long or
 * has quotes within quotes. Messages of one form may differ in numbers, in words with several digits, after digits in a
 * word, and within quotes. They may also differ in e-mail addresses, queries and `name=value`, but in nothing else.
 * Nearly always they have the same statement, so that its text is made only for unknown forms.
 */
export function fingerprintOf(message: string, seed: number): number {
  if (message.length > maxFormChars && !message.slice(0, maxFormChars).includes('\n')) return 0
  const end = Math.min(message.length, maxFormChars)
  let hash = seed
  let hashBeforePart = seed
  let hashBeforeAddress = seed
  let quotedTo = 0
  let now: number = state.noWord
  for (let at = skipWhile(message, 0, end, is.blank | is.unprintable); at < end; at++) {
    const unit = message.charCodeAt(at)
    const next = steps[8 * now + (unit < 128 ? (kinds[unit] as number) : kind.sign)] as number
    now = next & 7
    if (next < action.skip) hash = Math.imul(hash ^ unit, prime)
    else if (next < action.hashNumber) continue
    else if (next < action.dropLetters) hash = Math.imul(withoutDateName(hash, message, at) ^ zero, prime)
    else if (next < action.skipQuoted) hash = Math.imul(hashBeforePart ^ zero, prime)
    else if (next < action.skipValue) {
      if (hasOtherQuote(message, quotedTo, at)) return 0
      at = closingQuote(message, at, end)
      if (at < 0) return 0
      quotedTo = at + 1
      hash = Math.imul(hash ^ doubleQuote, prime)
    } else if (next < action.endLine) {
      const valueEnd = endOfValue(message, at, end)
      const isAddress = unit === atSign && valueEnd > at + 1
      hash = Math.imul(isAddress ? hashBeforeAddress ^ zero : hash ^ unit, prime)
      at = valueEnd - 1
    } else return hash
    // Without branches, which would be mispredicted at each word.
    hashBeforeAddress ^= (hashBeforeAddress ^ hash) & ((now - state.noWord) >> 31)
    hashBeforePart ^= (hashBeforePart ^ hash) & ((now - state.letters) >> 31)
  }
  return end < message.length ? 0 : hash
}

/** Returns the end of the value after `@`, `?` or `=`. */
function endOfValue(message: string, signAt: number, end: number): number {
  const start = signAt + 1
  if (message.charCodeAt(signAt) !== equals) return skipWhile(message, start, end, is.inAddress)
  return isInOperator(message, signAt) ? start : skipWhile(message, start, end, is.assigned)
}

/** Returns the hash without the name of a day or a month before a number, as in `Tue, 10 Nov 2026` and `10/Nov/2026`. */
function withoutDateName(hash: number, message: string, numberAt: number): number {
  const end = message.charCodeAt(numberAt - 2) === comma ? numberAt - 2 : numberAt - 1
  const start = end - 3
  const first = message.charCodeAt(start)
  if (!' /'.includes(message.charAt(numberAt - 1))) return hash
  if (!(first >= upperA && first <= upperZ) || kinds[message.charCodeAt(start - 1)] === kind.letter) return hash
  if (!dateNames.includes(message.slice(start, end))) return hash
  let before = hash
  for (let at = numberAt - 1; at >= start; at--) before = Math.imul(before, inverseOfPrime) ^ message.charCodeAt(at)
  return before
}

const dateNames = 'Mon Tue Wed Thu Fri Sat Sun Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ')

/** Returns the place of the quote that closes a quoted part, or -1 if there is none, or if that is not certain. */
function closingQuote(message: string, start: number, end: number): number {
  const hasEscapes = message.charCodeAt(start - 1) !== backslash && message.charCodeAt(start + 2) !== colon
  for (let at = start + 1; at < end; at++) {
    const unit = message.charCodeAt(at)
    if (unit === doubleQuote) return at
    if (unit !== backslash) continue
    if (!hasEscapes) return -1
    at++
  }
  return -1
}

/** True if another kind of quote is between two places: what looks like a quoted part may begin within one. */
function hasOtherQuote(message: string, start: number, end: number): boolean {
  for (let at = start; at < end; at++) {
    const unit = message.charCodeAt(at)
    if ((classOf(unit) & is.quote) === 0) continue
    if (unit !== apostrophe || (classOf(message.charCodeAt(at - 1)) & is.word) === 0) return true
  }
  return false
}

/** Returns a number for a level as it was logged. */
export function hashOfLevel(level: unknown, seed: number): number {
  if (typeof level !== 'string') return seed
  const end = Math.min(level.length, maxLevelChars)
  let hash = seed
  for (let at = 0; at < end; at++) hash = Math.imul(hash ^ level.charCodeAt(at), prime)
  return hash
}

/** Number of places for two fingerprints each; a power of two. */
const placeCount = 512

/** The statements of recent fingerprints, by number. A new fingerprint takes the place of an older one. */
export class Fingerprints {
  /** A fingerprint and its statement, then the same of the one before at this place. */
  readonly #entries = new Int32Array(4 * placeCount)

  /** Returns the statement of a fingerprint, or 0 if it is not known. */
  statementOf(fingerprint: number): number {
    const at = placeOf(fingerprint)
    if (this.#entries[at] === fingerprint) return this.#entries[at + 1] as number
    return this.#entries[at + 2] === fingerprint ? (this.#entries[at + 3] as number) : 0
  }

  remember(fingerprint: number, statement: number): void {
    const at = placeOf(fingerprint)
    this.#entries.copyWithin(at + 2, at, at + 2)
    this.#entries[at] = fingerprint
    this.#entries[at + 1] = statement
  }
}

function placeOf(fingerprint: number): number {
  return 4 * ((fingerprint ^ (fingerprint >>> 16)) & (placeCount - 1))
}

/** Of the hash function FNV-1a. */
const prime = 0x01000193
/** Undoes a multiplication by the prime, modulo 2 ** 32. */
const inverseOfPrime = 0x359c449b
const doubleQuote = 0x22
const apostrophe = 0x27
const comma = 0x2c
const zero = 0x30
const colon = 0x3a
const equals = 0x3d
const atSign = 0x40
const upperA = 0x41
const upperZ = 0x5a
const backslash = 0x5c
