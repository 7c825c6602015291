/** Each constant repeats one byte four times, to test four bytes at once. */
const spaces = 0x20202020
const quotes = 0x22222222
const backslashes = 0x5c5c5c5c
const ones = 0x01010101
const highBits = 0x80808080

const bytesOfWord = 4

/** Letters that follow the backslash in the short escapes of characters; 0 for characters without a short escape. */
export const shortEscapes = new Uint8Array(128)
for (const [character, letter] of ['""', '\\\\', '\nn', '\rr', '\tt', '\bb', '\ff']) {
  shortEscapes[(character as string).charCodeAt(0)] = (letter as string).charCodeAt(0)
}

/**
 * Returns the offset of the first byte from `start` to `end` (exclusive) that JSON must escape: a control character, a
 * quote or a backslash. Returns -1 if there is none. Testing four bytes at a time takes a third of the time of
 * `JSON.stringify`.
 */
export function firstEscape(bytes: DataView, start: number, end: number): number {
  let at = start
  for (; at + bytesOfWord <= end; at += bytesOfWord) if (hasEscape(bytes.getInt32(at, true))) break
  for (; at < end; at++) if (isEscaped(bytes.getUint8(at))) return at
  return -1
}

/**
 * Copies the bytes from `start` to `end` (exclusive) to `target`, an offset before `start`, and escapes them. The copy
 * must not overtake the bytes that are still to be read.
 *
 * @returns the end of the copy, or -1 if a byte has no short escape
 */
export function copyEscaped(bytes: DataView, start: number, end: number, target: number): number {
  let from = start
  let to = target
  while (from < end) {
    for (; from + bytesOfWord <= end; from += bytesOfWord, to += bytesOfWord) {
      const word = bytes.getInt32(from, true)
      if (hasEscape(word)) break
      bytes.setInt32(to, word, true)
    }
    // Byte by byte: a word with an escape, or the bytes after the last whole word.
    for (const until = Math.min(from + bytesOfWord, end); from < until; from++) {
      const byte = bytes.getUint8(from)
      if (isEscaped(byte)) {
        const letter = shortEscapes[byte] as number
        if (letter === 0) return -1
        bytes.setUint8(to++, backslash)
        bytes.setUint8(to++, letter)
      } else {
        bytes.setUint8(to++, byte)
      }
    }
  }
  return to
}

/** True if JSON escapes at least one of the four bytes of a word. */
function hasEscape(word: number): boolean {
  const unlessQuotes = word ^ quotes
  const unlessBackslashes = word ^ backslashes
  // Subtracting a larger value from a byte sets the high bit of the byte.
  const less =
    ((word - spaces) & ~word) |
    ((unlessQuotes - ones) & ~unlessQuotes) |
    ((unlessBackslashes - ones) & ~unlessBackslashes)
  return (less & highBits) !== 0
}

/** True if JSON escapes an ASCII character. */
export function isEscaped(unit: number): boolean {
  return unit < 0x20 || unit === 0x22 || unit === 0x5c
}

const backslash = 0x5c
