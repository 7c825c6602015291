import { firstEscape } from './escapes.ts'

/** Texts up to this length are first tested for characters that JSON or UTF-8 write longer: most texts have none. */
const shortText = 64
const asItIs = /^[ !#-[\]-~]*$/

/** Longer texts are measured by their bytes, which is twice as fast as measuring their JSON. */
const longText = 256
const pieceUnits = 4096
const pieceBytes = Buffer.allocUnsafeSlow(3 * pieceUnits)
const pieceView = new DataView(pieceBytes.buffer)

/** True if JSON and UTF-8 write a text unchanged, except for the quotes. */
export function isAsItIs(text: string): boolean {
  return asItIs.test(text)
}

/**
 * Returns the bytes of a piece of a text as JSON in UTF-8, including its quotes. A text of up to 4096 UTF-16 units is
 * one piece.
 */
export function jsonBytes(piece: string): number {
  if (piece.length <= shortText && isAsItIs(piece)) return piece.length + 2
  if (piece.length <= longText) return Buffer.byteLength(JSON.stringify(piece))
  return bytesOfPiece(piece) + (piece.isWellFormed() ? 0 : loneSurrogates(piece) * bytesMorePerLone) + '""'.length
}

/** Bytes by which half of a surrogate pair is longer as JSON (`\ud800`) than as UTF-8 (a replacement character). */
const bytesMorePerLone = 3

/** Counts halves of surrogate pairs. `JSON.stringify` would take 80 ns for each of them. */
function loneSurrogates(text: string): number {
  let count = 0
  for (let i = 0; i < text.length; i++) {
    const codePoint = text.codePointAt(i) as number
    if (codePoint > 0xffff) i++
    else if (codePoint >= 0xd800 && codePoint <= 0xdfff) count++
  }
  return count
}

function bytesOfPiece(text: string): number {
  const length = pieceBytes.write(text)
  let bytes = length
  for (let at = firstEscape(pieceView, 0, length); at >= 0; at = firstEscape(pieceView, at + 1, length)) {
    bytes += codePointBytes(pieceView.getUint8(at)) - 1
  }
  return bytes
}

/** Returns the maximum bytes of so many units as JSON: each unit may be written as `\u0000`. */
export function maxJsonBytes(units: number): number {
  return units * 6
}

/** Bytes of the quotes, and of `... [3999000 more characters]` for the longest possible text. */
const quotesAndMarkBytes = 36

/** The mark of a text that was cut before. A number with more digits is none that `cutText` has written. */
const cutMark = /\.\.\. \[(\d{1,10}) more characters\]$/

/**
 * Cuts a text to `maxBytes` of JSON, 36 or more. Returns the start of the text, which never ends within a surrogate
 * pair, and the number of missing characters, including those of a cut before. Returns a text that fits unchanged.
 */
export function cutText(text: string, maxBytes: number): string {
  const length = unitsWithin(text, maxBytes - quotesAndMarkBytes)
  if (text.length - length <= quotesAndMarkBytes && fits(text, maxBytes)) return text
  const mark = cutMark.exec(text.slice(-quotesAndMarkBytes))
  const end = text.length - (mark?.[0].length ?? 0)
  const start = text.slice(0, Math.min(length, end))
  // In ASCII: with any other character, V8 would keep the whole text at two bytes per unit, 2 ms for a megabyte.
  return `${start}... [${end - start.length + Number(mark?.[1] ?? 0)} more characters]`
}

/** True if a text takes at most `maxBytes` as JSON in UTF-8, including its quotes. */
export function fits(text: string, maxBytes: number): boolean {
  return unitsWithin(text, maxBytes - '""'.length) === text.length
}

/** Returns how many UTF-16 units from the start of a text take at most `maxBytes` as JSON, without quotes. */
function unitsWithin(text: string, maxBytes: number): number {
  let bytes = 0
  let i = 0
  while (i < text.length && bytes < maxBytes) {
    const end = pieceEnd(text, i, maxBytes - bytes)
    const more = jsonBytes(text.slice(i, end)) - '""'.length
    if (bytes + more > maxBytes) break
    bytes += more
    i = end
  }
  while (i < text.length) {
    const codePoint = text.codePointAt(i) as number
    bytes += codePointBytes(codePoint)
    if (bytes > maxBytes) return i
    i += codePoint > 0xffff ? 2 : 1
  }
  return i
}

/**
 * Returns the end of a piece of at most `units`, or of two units if `units` is less. The piece has at least one unit,
 * and never ends within a surrogate pair.
 */
export function pieceEnd(text: string, start: number, units = pieceUnits): number {
  const end = Math.min(start + Math.max(Math.min(units, pieceUnits), 2), text.length)
  return end < text.length && (text.codePointAt(end - 1) as number) > 0xffff ? end - 1 : end
}

function codePointBytes(codePoint: number): number {
  if (codePoint < 0x20) return hasShortEscape(codePoint) ? 2 : 6
  if (codePoint === 0x22 || codePoint === 0x5c) return 2
  if (codePoint < 0x80) return 1
  if (codePoint < 0x800) return 2
  if (codePoint >= 0xd800 && codePoint <= 0xdfff) return 6 // half of a surrogate pair, written as an escape
  return codePoint > 0xffff ? 4 : 3
}

/** True for \b \t \n \f \r. */
function hasShortEscape(codePoint: number): boolean {
  return codePoint >= 0x08 && codePoint <= 0x0d && codePoint !== 0x0b
}
