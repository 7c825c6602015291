import { classOf, is } from './unit-classes.ts'

/** Six groups or more are a MAC address, an IPv6 address or a fingerprint. A shortened IPv6 address contains `::`. */
const minColons = 5
/** Bounds keep the time for a word independent of the length of the message. A SHA-256 fingerprint has 31 colons. */
const maxColons = 40
const maxGroupChars = 4
/** One of the first eight bytes must have a digit and a letter, because `12 de 24` is Spanish. */
const bytes = /(?=(?:[\da-f]{2} ){0,7}(?:\d[a-f]|[a-f]\d))(?:[\da-f]{2} ){2,400}[\da-f]{2}(?![\w:-])/iy
/** Any bytes, after the name with which Node prints them. */
const bytesOfBuffer = /[\da-f]{2}(?: [\da-f]{2}){0,400}/y
/** A digest behind its first bytes, as stores of files name their directories: `ab/cd/abcd…`. */
const digestInPath = /[\da-f]{2}\/(?:[\da-f]{2}\/){0,3}[\da-f]{16,128}(?!\w)/iy
const bufferName = '<Buffer '

/**
 * Returns the end of hexadecimal groups that are one value, or 0 if they are none. Such a value is an address
 * (`fe80::a:1`, `ca:1f:b3:00:de:ad`), a list of bytes (`1f da 3e`), or a digest in a path (`ab/cd/abcd…`). `start` and
 * `wordEnd` are those of one of its groups of hexadecimal digits: the first, or the one after `::`.
 */
export function hexGroupsEnd(message: string, start: number, wordEnd: number): number {
  const length = wordEnd - start
  if (length > maxGroupChars) return 0
  const isAfterColons = start > 1 && message.charCodeAt(start - 1) === colon && message.charCodeAt(start - 2) === colon
  if (isAfterColons) return addressEnd(message, start - 2)
  if (wordEnd === message.length) return 0
  const next = message.charCodeAt(wordEnd)
  if (next === colon) return addressEnd(message, start)
  if (length !== 2) return 0
  if (next === slash) return endOf(digestInPath, message, start)
  return next === space ? bytesEnd(message, start) : 0
}

function addressEnd(message: string, start: number): number {
  let colons = 0
  let groupChars = 0
  let hasDigit = false
  let isShortened = false
  let at = start
  for (; groupChars <= maxGroupChars && colons <= maxColons && at < message.length; at++) {
    const unit = message.charCodeAt(at)
    const unitClass = classOf(unit)
    if (unitClass & (is.digit | is.hexLetter)) {
      groupChars++
      if (unitClass & is.digit) hasDigit = true
    } else if (unit === colon) {
      if (colons > 0 && groupChars === 0) isShortened = true
      colons++
      groupChars = 0
    } else if (unitClass & is.word) {
      return 0
    } else {
      break
    }
  }
  if (groupChars === 0 && colons > 0 && message.charCodeAt(at - 2) !== colon) {
    // A colon after the address: `::1: refused`.
    at--
    colons--
    groupChars = 1
  }
  const isComplete = groupChars > 0 ? groupChars <= maxGroupChars : message.charCodeAt(at - 2) === colon
  return isComplete && (isShortened ? hasDigit : colons >= minColons) ? at : 0
}

function bytesEnd(message: string, start: number): number {
  const nameStart = start - bufferName.length
  if (nameStart >= 0 && message.charCodeAt(nameStart) === lessThan && message.startsWith(bufferName, nameStart)) {
    return endOf(bytesOfBuffer, message, start)
  }
  const isNextAlike = start + 5 < message.length && message.charCodeAt(start + 5) === space
  return isNextAlike ? endOf(bytes, message, start) : 0
}

function endOf(pattern: RegExp, message: string, start: number): number {
  pattern.lastIndex = start
  return pattern.test(message) ? pattern.lastIndex : 0
}

const space = 0x20
const slash = 0x2f
const colon = 0x3a
const lessThan = 0x3c
