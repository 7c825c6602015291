/**
 * Removes secrets from a text. A `'piece'`, the default, comes from outside. A `'message'` also has words of this
 * package, one of which may equal the short token of a test.
 */
export type Redact = (text: string, kind?: TextKind) => string
export type TextKind = 'piece' | 'message'

/** Maximum characters that are read of a text from outside. Matching takes time, and the sender chooses the length. */
export const maxReadChars = 4096
/** Maximum characters of one escape sequence that the end of the read part may cut in two: `&amp;#x00041;`. */
const maxEscapeChars = 32
/** Default maximum characters of a text from outside in a message. */
const maxPieceChars = 200
const maxMessageChars = 2000

/** C0, DEL, C1; bidirectional, zero-width, tag and other format characters; line and paragraph separators; fillers. */
const unprintable = '\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}\\p{Default_Ignorable_Code_Point}'
const gaps = new RegExp(`[\\s${unprintable}]+`, 'gu')
const unprintableInLines = new RegExp(`(?!\\n)[${unprintable}]`, 'gu')

/**
 * User name and password in a URL, as in the messages of other packages. The password may have any length, and an `@`
 * that should be escaped: they end at the last one.
 */
const urlCredentials = /\b([a-z][a-z\d+.-]{0,20}:\/\/)[^\s/?#]+@/gi

/**
 * Makes a text from outside (an answer, a header, Redis, the environment, a file name) fit for a message. The result is
 * one short line without secrets. It has no characters that move a cursor, reorder the text or are invisible.
 *
 * @param redact removes secrets before the text is cut, because half a secret would not be found
 * @param maxChars maximum length of the result, not counting the ellipsis of a text that is cut
 */
export function toShortLine(text: string, redact: Redact = unchanged, maxChars = maxPieceChars): string {
  const head = headOf(text)
  const line = redact(head).replace(urlCredentials, '$1…@').replace(gaps, ' ').trim().toWellFormed()
  if (line.length <= maxChars) return head.length < text.length ? `${line}…` : line
  return `${line.slice(0, maxChars).toWellFormed()}…`
}

/** Puts a name from outside in quotation marks, for a message. */
export function quoted(name: string): string {
  return JSON.stringify(toShortLine(name))
}

/** Does the same for a whole message, which has words of this package and may be longer. */
export function toMessageLine(message: string, redact: Redact = unchanged): string {
  return toShortLine(message, text => redact(text, 'message'), maxMessageChars)
}

/**
 * Makes a text of several lines fit for a terminal. The text is this package's own and may contain texts from outside.
 * Line breaks and spaces are kept.
 */
export function toPrintableLines(text: string): string {
  return text.replace(unprintableInLines, ' ')
}

/**
 * Returns the beginning of a text, as far as texts from outside are read. Omits an escape sequence that the cut would
 * break.
 */
function headOf(text: string): string {
  if (text.length <= maxReadChars) return text
  const lastStart = maxReadChars - maxEscapeChars
  const escapeAt = text.slice(lastStart, maxReadChars).search(/[\\%&]/)
  return text.slice(0, escapeAt < 0 ? maxReadChars : lastStart + escapeAt).toWellFormed()
}

function unchanged(text: string): string {
  return text
}
