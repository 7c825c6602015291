import { constantWords, isOfValue, isOfWord } from './constant-words.ts'

/** Maximum number of pieces between spaces that are compared. */
const maxPieces = 32

/** What the messages of a statement have in common. */
export interface StatementWords {
  readonly text: string
  /** Number of characters at the end of the text that are the end of its messages, too. No value is among them. */
  readonly endChars: number
  /** Number of pieces between spaces at the beginning of the text that its messages have in the same order. */
  readonly pieces: number
}

/** Where messages of two statements differ. */
export interface Difference {
  /**
   * The first kind is found fastest, the last one slowest:
   *
   * - `chars`: at the place, before which both have the same characters, and no value.
   * - `end`: `place` characters before the end. No value comes after it.
   * - `piece`: `offset` characters after the space with the number `index`, from 1, after the place.
   * - `word`: in the constant word with the number `index`, from 1, after the place.
   */
  readonly kind: 'chars' | 'end' | 'piece' | 'word'
  readonly place: number
  readonly index?: number
  readonly offset?: number
}

/** Compares the messages of two statements. Returns `undefined` if they have the same constant words. */
export function differenceOf(statement: StatementWords, otherStatement: StatementWords): Difference | undefined {
  const { text } = statement
  const { text: other } = otherStatement
  if (text === other) return undefined
  let place = constantBegin(text, other)
  if (isConstantAt(place, text, other)) return { kind: 'chars', place }
  const charsBeforeEnd = endThatDiffers(statement, otherStatement)
  if (charsBeforeEnd !== undefined) return { kind: 'end', place: charsBeforeEnd }
  while (place > 0 && isOfWord(text.charCodeAt(place - 1))) place--
  const piece = pieceThatDiffers(statement, otherStatement, place)
  if (piece !== undefined) return piece
  const words = constantWords(text, place)
  const otherWords = constantWords(other, place)
  const differs = Array.from(
    { length: Math.max(words.length, otherWords.length) },
    (_, i) => words[i] !== otherWords[i],
  )
  const index = differs.indexOf(true)
  return index < 0 ? undefined : { kind: 'word', place, index: index + 1 }
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

function pieceThatDiffers(statement: StatementWords, other: StatementWords, place: number): Difference | undefined {
  const before = statement.text.slice(0, place).split(' ').length - 1
  const pieces = statement.text.slice(place).split(' ')
  const others = other.text.slice(place).split(' ')
  const count = Math.min(statement.pieces - before, other.pieces - before, pieces.length, others.length)
  const inCommon = pieces.slice(0, count).join(' ').length
  for (let spaces = 1, start = 0; spaces < count; spaces++) {
    start += (pieces[spaces - 1] as string).length + 1
    const rest = pieces.slice(spaces).join(' ')
    const otherRest = others.slice(spaces).join(' ')
    const offset = constantBegin(rest, otherRest)
    const isWithin = start + offset <= inCommon
    if (isWithin && isConstantAt(offset, rest, otherRest)) return { kind: 'piece', place, index: spaces, offset }
  }
  return undefined
}

/** Returns how many pieces between spaces a message has in the same order as the text of its statement. */
export function samePieces(text: string, message: string): number {
  const pieces = text.split(' ', maxPieces)
  const others = message.split(' ', maxPieces)
  const differs = pieces.findIndex((piece, i) => piece !== others[i] && !piece.includes('*'))
  return differs < 0 ? pieces.length : differs
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
