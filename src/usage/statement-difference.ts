import { constantWords, isOfValue, isOfWord } from './constant-words.ts'

/** Maximum number of pieces between signs that are compared. */
const maxPieces = 32
/** Number of signs that are found about as fast as an end. */
const fewSigns = 3
/** Signs between which messages are compared, at most eight. Values with many of them, such as times, are one piece. */
export const signs = [' ', '/', ':', ']', ')', '|', ',', '?'] as const
/** Separate each kind of sign, or several of it, from the pieces between. */
const separators = signs.map(sign => new RegExp(`\\${sign}+`, 'g'))

/** A number for each of `signs`, as a character: a text takes a tenth of the memory of an array. */
type PieceCounts = string

/** The common parts of the messages of a statement. */
export interface StatementWords {
  readonly text: string
  /** Number of characters at the end of the text that are the end of its messages, too. No value is among them. */
  readonly endChars: number
  /** Number of pieces at the beginning of the text that its messages have in the same order, between each of `signs`. */
  readonly pieces: PieceCounts
}

/** A place at which the messages of two statements differ. */
export interface Difference {
  /**
   * The first kind is found fastest, the last one slowest:
   *
   * - `chars`: at the place, before which both have the same characters, and no value.
   * - `end`: `place` characters before the end. No value comes after it.
   * - `piece`: `offset` characters after the sign with the number `index`, from 1, after the place.
   * - `word`: in the constant word with the number `index`, from 1, after the place.
   */
  readonly kind: 'chars' | 'end' | 'piece' | 'word'
  readonly place: number
  readonly index?: number
  readonly offset?: number
  /** The place of the sign in `signs`. */
  readonly sign?: number
}

/** Compares the messages of two statements. Returns `undefined` if they have the same constant words. */
export function differenceOf(statement: StatementWords, otherStatement: StatementWords): Difference | undefined {
  const { text } = statement
  const { text: other } = otherStatement
  if (text === other) return undefined
  const begin = constantBegin(text, other)
  if (isConstantAt(begin, text, other)) return { kind: 'chars', place: begin }
  const place = beginOfWord(text, begin)
  const piece = pieceThatDiffers(statement, otherStatement, place)
  // The first characters of a piece tell more statements apart than those before an end.
  if (piece !== undefined && (piece.index ?? 0) <= fewSigns) return piece
  const charsBeforeEnd = endThatDiffers(statement, otherStatement)
  if (charsBeforeEnd !== undefined) return { kind: 'end', place: charsBeforeEnd }
  if (piece !== undefined) return piece
  return wordThatDiffers(statement, otherStatement)
}

/** Returns the first constant word that differs, or `undefined` if none does. */
export function wordThatDiffers({ text }: StatementWords, { text: other }: StatementWords): Difference | undefined {
  const place = beginOfWord(text, constantBegin(text, other))
  const words = constantWords(text, place)
  const otherWords = constantWords(other, place)
  const differs = Array.from(
    { length: Math.max(words.length, otherWords.length) },
    (_, i) => words[i] !== otherWords[i],
  )
  const index = differs.indexOf(true)
  return index < 0 ? undefined : { kind: 'word', place, index: index + 1 }
}

/** Returns where the word begins that ends at a place of a text. */
function beginOfWord(text: string, end: number): number {
  let place = end
  while (place > 0 && isOfWord(text.charCodeAt(place - 1))) place--
  return place
}

/** Returns how many characters two texts begin with, up to the first value. */
function constantBegin(text: string, other: string): number {
  let length = 0
  while (length < text.length && text.charCodeAt(length) === other.charCodeAt(length) && !isOfValue(text, length))
    length++
  return length
}

/** True if no value is in the four characters of each text that tell one from the other. */
function isConstantAt(place: number, text: string, other: string): boolean {
  return [0, 1, 2, 3].every(next => !isOfValue(text, place + next) && !isOfValue(other, place + next))
}

/** Returns how many characters before the end four characters begin that differ, if no value is among them. */
function endThatDiffers(statement: StatementWords, other: StatementWords): number | undefined {
  const endChars = Math.min(statement.endChars, other.endChars)
  const same = commonEnd(statement.text, other.text, endChars)
  return same < endChars && endChars >= 4 ? Math.min(same + 4, endChars) : undefined
}

/** Returns the difference that is reached by the fewest signs. */
function pieceThatDiffers(statement: StatementWords, other: StatementWords, place: number): Difference | undefined {
  let nearest: Difference | undefined
  for (let sign = 0; sign < signs.length; sign++) {
    const found = pieceAfter(sign, statement, other, place)
    if (found !== undefined && (nearest === undefined || (found.index ?? 0) < (nearest.index ?? 0))) nearest = found
  }
  return nearest
}

function pieceAfter(
  sign: number,
  statement: StatementWords,
  other: StatementWords,
  place: number,
): Difference | undefined {
  const { text } = statement
  const { text: otherText } = other
  const separator = separators[sign] as RegExp
  const before = text.slice(0, place).split(separator).length
  const inCommon = Math.min(statement.pieces.charCodeAt(sign), other.pieces.charCodeAt(sign)) - before
  const starts = startsAfter(separator, text, place)
  const otherStarts = startsAfter(separator, otherText, place)
  for (let index = 1; index <= inCommon; index++) {
    const start = starts[index - 1]
    const otherStart = otherStarts[index - 1]
    if (start === undefined && otherStart === undefined) return undefined
    // Only one of them has the sign.
    if (start === undefined || otherStart === undefined) return { kind: 'piece', place, index, offset: 0, sign }
    const rest = text.slice(start)
    const otherRest = otherText.slice(otherStart)
    if (rest === otherRest) return undefined
    const offset = constantBegin(rest, otherRest)
    const endIndex = index - 1 + rest.slice(0, offset).split(separator).length
    if (endIndex <= inCommon && isConstantAt(offset, rest, otherRest))
      return { kind: 'piece', place, index, offset, sign }
  }
  return undefined
}

/** Returns the place after each separator from a place on. */
function startsAfter(separator: RegExp, text: string, place: number): number[] {
  return Array.from(text.slice(place).matchAll(separator), ({ 0: { length }, index }) => place + index + length)
}

/** Returns how many pieces a message has in the same order as the text of its statement, between each of `signs`. */
export function samePieces(text: string, message: string): PieceCounts {
  const isLikeText = isLike(message, text)
  const counts = separators.map((separator, i) => {
    const sign = signs[i] as string
    if (!text.includes(sign) && !message.includes(sign)) return isLikeText ? maxPieces : 0
    const pieces = text.split(separator, maxPieces)
    const others = message.split(separator, maxPieces)
    const differs = pieces.findIndex((piece, i) => !isLike(others[i], piece))
    if (differs >= 0) return differs
    // If both end alike, the sign is in no further place.
    return pieces.length === others.length && pieces.length < maxPieces ? maxPieces : pieces.length
  })
  return String.fromCharCode(...counts)
}

/** True if a piece of a message is the one of the text, with values in place of each `*`. */
function isLike(piece: string | undefined, ofText: string): boolean {
  if (piece === undefined || piece === ofText) return piece === ofText
  const value = ofText.indexOf('*')
  return (
    value >= 0 && piece.startsWith(ofText.slice(0, value)) && piece.endsWith(ofText.slice(ofText.lastIndexOf('*') + 1))
  )
}

/** Returns how many characters at the end of a statement's text are the end of this message, too. */
export function constantEnd(text: string, message: string): number {
  let max = 0
  while (max < text.length && !isOfValue(text, text.length - 1 - max)) max++
  return commonEnd(text, message, max)
}

function commonEnd(text: string, other: string, max: number): number {
  for (let length = 0; length < max; length++) {
    if (text.charCodeAt(text.length - 1 - length) !== other.charCodeAt(other.length - 1 - length)) return length
  }
  return max
}
