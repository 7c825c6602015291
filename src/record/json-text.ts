import { firstEscape } from './escapes.ts'

/** Texts up to this length are looked at for what JSON and UTF-8 write longer: most have nothing of it. */
const shortText = 64
const asItIs = /^[ !#-[\]-~]*$/

/** Longer ones are measured by their bytes, which is twice as fast as by their JSON. */
const longText = 256
const pieceUnits = 4096
const pieceBytes = Buffer.allocUnsafeSlow(3 * pieceUnits)
const pieceView = new DataView(pieceBytes.buffer)

/** Whether JSON and UTF-8 write a text as it is, but for the quotes. */
export function isAsItIs(text: string): boolean {
  return asItIs.test(text)
}

/** Bytes that a piece of a text takes as JSON in UTF-8, its quotes included. Texts up to 4096 units are one piece. */
export function jsonBytes(piece: string): number {
  if (piece.length <= shortText && isAsItIs(piece)) return piece.length + 2
  if (piece.length <= longText) return Buffer.byteLength(JSON.stringify(piece))
  return bytesOfPiece(piece) + (piece.isWellFormed() ? 0 : loneSurrogates(piece) * bytesMorePerLone) + '""'.length
}

/** Half of a pair is `\ud800` in JSON; as bytes it would be a replacement character. */
const bytesMorePerLone = 3

/** `JSON.stringify` takes 80 ns for each of them. */
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

/** Bytes that so many units take at most: each may be written as `\u0000`. */
export function maxJsonBytes(units: number): number {
  return units * 6
}

/** Quotes, and `... [3999000 more characters]` for the longest text there can be. */
const quotesAndMarkBytes = 36

/**
 * A text cut to `maxBytes` of JSON, 36 or more: its start, never ending within a surrogate pair, and how much is missing.
 * One that fits stays as it is.
 */
export function cutText(text: string, maxBytes: number): string {
  const length = unitsWithin(text, maxBytes - quotesAndMarkBytes)
  if (text.length - length <= quotesAndMarkBytes && fits(text, maxBytes)) return text
  // In ASCII: another character would have V8 keep the whole text with two bytes for each unit, 2 ms for a megabyte.
  return `${text.slice(0, length)}... [${text.length - length} more characters]`
}

/** Whether a text takes at most `maxBytes` as JSON in UTF-8. */
export function fits(text: string, maxBytes: number): boolean {
  return unitsWithin(text, maxBytes - '""'.length) === text.length
}

/** How many UTF-16 units from the start of a text take at most `maxBytes`. */
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

/** Where a piece of at most `units` ends: never within a surrogate pair, and after one unit at least. */
export function pieceEnd(text: string, start: number, units = pieceUnits): number {
  const end = Math.min(start + Math.max(Math.min(units, pieceUnits), 2), text.length)
  return end < text.length && (text.codePointAt(end - 1) as number) > 0xffff ? end - 1 : end
}

function codePointBytes(codePoint: number): number {
  if (codePoint < 0x20) return hasShortEscape(codePoint) ? 2 : 6
  if (codePoint === 0x22 || codePoint === 0x5c) return 2
  if (codePoint < 0x80) return 1
  if (codePoint < 0x800) return 2
  if (codePoint >= 0xd800 && codePoint <= 0xdfff) return 6 // half of a pair, written as an escape
  return codePoint > 0xffff ? 4 : 3
}

/** \b \t \n \f \r */
function hasShortEscape(codePoint: number): boolean {
  return codePoint >= 0x08 && codePoint <= 0x0d && codePoint !== 0x0b
}
