/** Maximum number of characters of a message that are read; as many as for its text. */
const maxReadChars = 1000

/** What a character does to a word. */
const kinds = { inWord: 0, endsWord: 1, startsValue: 2, assigns: 3 } as const

const kindOfByte = new Uint8Array(0x100)
for (const char of '0123456789"\'`?@*') kindOfByte[char.charCodeAt(0)] = kinds.startsValue
kindOfByte[0x20] = kinds.endsWord
kindOfByte['='.charCodeAt(0)] = kinds.assigns

function kindOf(unit: number): number {
  return unit <= 0xff ? (kindOfByte[unit] as number) : kinds.inWord
}

/** The word that was found last. At the end of a message it is empty. */
const word = { start: 0, end: 0, isName: false }

/** Begins to look for words at the start of a message. */
export function restartWords(): void {
  word.end = 0
  word.isName = false
}

/**
 * Finds the next word of a message, or of a statement's text, that has no value. `name=` is a word, and what follows it
 * a value. A message and the text of its statement have the same such words, apart from values that only letters show.
 */
export function nextWord(text: string): void {
  const end = Math.min(text.length, maxReadChars)
  let at = word.isName ? endOfValue(text, word.end, end) : word.end
  for (;;) {
    while (at < end && text.charCodeAt(at) === space) at++
    const start = at
    let kind: number = kinds.endsWord
    for (; at < end; at++) {
      kind = kindOf(text.charCodeAt(at))
      if (kind !== kinds.inWord) break
    }
    const isName = kind === kinds.assigns && at > start
    if (at === end || kind === kinds.endsWord || isName) {
      word.start = start
      word.end = isName ? at + 1 : at
      word.isName = isName
      return
    }
    at = endOfValue(text, at, end)
  }
}

/** Hashes the word that was found last. */
export function hashOfWord(text: string, seed: number): number {
  let hash = seed
  for (let at = word.start; at < word.end; at++) hash = Math.imul(hash ^ text.charCodeAt(at), prime)
  return hash
}

/**
 * Hashes four characters of a message. The first word with a value is left out, and all that follows, because it
 * varies.
 */
export function hashOfChars(message: string, start: number, seed: number): number {
  const end = start + 4
  if (end > message.length) return hashBeforeValue(message, start, message.length, seed)
  const first = message.charCodeAt(start)
  const second = message.charCodeAt(start + 1)
  const third = message.charCodeAt(start + 2)
  const fourth = message.charCodeAt(start + 3)
  // All four are checked at once. A character above U+00FF may be mistaken for one that starts a value: that only takes time.
  if (mayStartValue(first) | mayStartValue(second) | mayStartValue(third) | mayStartValue(fourth)) {
    return hashBeforeValue(message, start, end, seed)
  }
  return Math.imul(seed ^ (first + (second << 8) + (third << 16) + (fourth << 24)), prime)
}

function hashBeforeValue(message: string, start: number, end: number, seed: number): number {
  let hash = seed
  let hashOfWords = seed
  for (let at = start; at < end; at++) {
    const unit = message.charCodeAt(at)
    const kind = kindOf(unit)
    if (kind >= kinds.startsValue) return hashOfWords
    hash = Math.imul(hash ^ unit, prime)
    if (kind === kinds.endsWord) hashOfWords = hash
  }
  return hash
}

/** Where messages of two statements differ. */
export interface Difference {
  /** The place of the first character that differs, if no value comes before it; otherwise `undefined`. */
  readonly char?: number
  /** The number of the first constant word that differs, from 1. */
  readonly word: number
}

/** Compares the texts of two statements. Returns `undefined` if they have the same constant words. */
export function differenceOf(text: string, other: string): Difference | undefined {
  const words = constantWords(text)
  const otherWords = constantWords(other)
  const differs = Array.from(
    { length: Math.max(words.length, otherWords.length) },
    (_, i) => words[i] !== otherWords[i],
  )
  const index = differs.indexOf(true)
  if (index < 0) return undefined
  let char = 0
  while (char < text.length && text.charCodeAt(char) === other.charCodeAt(char)) char++
  const isAfterValue = [...text.slice(0, char + 1), ...other.slice(0, char + 1)].some(
    unit => kindOf(unit.charCodeAt(0)) >= kinds.startsValue,
  )
  return isAfterValue ? { word: index + 1 } : { word: index + 1, char }
}

function constantWords(text: string): string[] {
  const words: string[] = []
  restartWords()
  for (nextWord(text); word.start < word.end; nextWord(text)) words.push(text.slice(word.start, word.end))
  return words
}

/** Returns the end of the value at a place. A quoted part is one value, even if it has spaces. */
function endOfValue(text: string, start: number, end: number): number {
  let at = start
  const quote = text.charCodeAt(at)
  if (quote === 0x22 || quote === 0x27 || quote === backquote) {
    let closedAt = start + 1
    while (closedAt < end && text.charCodeAt(closedAt) !== quote) closedAt++
    if (closedAt < end) at = closedAt
  }
  while (at < end && text.charCodeAt(at) !== space) at++
  return at
}

/** Returns true for a character that starts a value, and for some characters above U+00FF. */
function mayStartValue(unit: number): number {
  return (kindOfByte[unit & 0xff] as number) & 2
}

/** Of the hash function FNV-1a. */
const prime = 0x01000193
const backquote = 0x60
const space = 0x20
