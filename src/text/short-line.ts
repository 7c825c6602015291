/**
 * Takes secrets out of a text: a piece from outside, or a message with our own words in it, of which one may happen to be
 * what a test uses for a token.
 */
export type Redact = (text: string, kind?: TextKind) => string
export type TextKind = 'piece' | 'message'

/** Characters of a text from outside that are read: matching costs time, and the sender chooses the length. */
const maxReadChars = 4096
/** Longest escape of one character that may be cut in two at the end of what is read: `&amp;#x00041;`. */
const maxEscapeChars = 32
/** Default length of a piece of text from outside in a message. */
const maxPieceChars = 200
const maxMessageChars = 2000

/** C0, DEL, C1; bidirectional, zero-width, tag and other format characters; line and paragraph separators; fillers. */
const unprintable = '\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}\\p{Default_Ignorable_Code_Point}'
const gaps = new RegExp(`[\\s${unprintable}]+`, 'gu')
const unprintableInLines = new RegExp(`(?!\\n)[${unprintable}]`, 'gu')

/**
 * A piece of text from outside (an answer, a header, Redis, the environment, a file name) for a message to people: one short
 * line, without characters that move a cursor, reorder the text or cannot be seen, and without secrets.
 *
 * @param redact takes out secrets before the text is cut, as half a secret would not be found
 * @param maxChars longest result, without the ellipsis of a text that is cut
 */
export function toShortLine(text: string, redact: Redact = unchanged, maxChars = maxPieceChars): string {
  const head = headOf(text)
  const line = redact(head).replace(gaps, ' ').trim().toWellFormed()
  if (line.length <= maxChars) return head.length < text.length ? `${line}…` : line
  return `${line.slice(0, maxChars).toWellFormed()}…`
}

/** A name from outside in quotation marks, for a message. */
export function quoted(name: string): string {
  return JSON.stringify(toShortLine(name))
}

/** A whole message, with our own words in it: the same, and longer. */
export function toMessageLine(message: string, redact: Redact = unchanged): string {
  return toShortLine(message, text => redact(text, 'message'), maxMessageChars)
}

/** A text of several lines of our own, in which texts from outside may stand, for a terminal: its line breaks and spaces are kept. */
export function toPrintableLines(text: string): string {
  return text.replace(unprintableInLines, ' ')
}

/** The beginning of a text, as far as texts from outside are read. An escape that the cut would break is left out. */
export function headOf(text: string): string {
  if (text.length <= maxReadChars) return text
  const lastStart = maxReadChars - maxEscapeChars
  const escapeAt = text.slice(lastStart, maxReadChars).search(/[\\%&]/)
  return text.slice(0, escapeAt < 0 ? maxReadChars : lastStart + escapeAt).toWellFormed()
}

function unchanged(text: string): string {
  return text
}
