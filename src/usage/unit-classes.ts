/** Classes of UTF-16 units, as bits. A unit may be in several. */
export const is = {
  digit: 1,
  /** a to f, in either case. */
  hexLetter: 2,
  lower: 4,
  upper: 8,
  /** A digit, or a letter of any script. */
  word: 16,
  /** Joins parts of a word: hyphen and underscore. */
  joint: 32,
  blank: 64,
  lineBreak: 128,
  quote: 256,
  unprintable: 512,
  /** May be part of an e-mail address, or of a URL. */
  inAddress: 1024,
  /** May be part of the value in `name=value`. */
  assigned: 2048,
  /** Stands between the parts of a number, or between numbers. */
  separator: 4096,
  /** May precede the sign of a number. */
  beforeNumber: 8192,
} as const

const ascii = Uint16Array.from({ length: 0x80 }, (_, unit) => classOfAscii(unit))
const wideWord = is.word | is.inAddress | is.assigned
const wideSign = is.inAddress | is.assigned

/** Returns the classes of a unit; 0 for NaN. */
export function classOf(unit: number): number {
  return unit < 0x80 ? (ascii[unit] as number) : classOfWide(unit)
}

function classOfAscii(unit: number): number {
  const char = String.fromCharCode(unit)
  const bit = (pattern: RegExp, mask: number) => (pattern.test(char) ? mask : 0)
  return (
    bit(/[0-9]/, is.digit) |
    bit(/[a-f]/i, is.hexLetter) |
    bit(/[a-z]/, is.lower) |
    bit(/[A-Z]/, is.upper) |
    bit(/[0-9a-z]/i, is.word) |
    bit(/[-_]/, is.joint) |
    bit(/[ \t-\r]/, is.blank) |
    bit(/[\n\r]/, is.lineBreak) |
    bit(/["'`]/, is.quote) |
    bit(/(?![\t-\r])\p{Cc}/u, is.unprintable) |
    bit(/[!-~](?<!["'`<>()[\]{},;])/, is.inAddress) |
    bit(/[!-~](?<!["'`,;&)\]}|])/, is.assigned) |
    bit(/[.:,/+_-]/, is.separator) |
    bit(/[ ([{:,]/, is.beforeNumber)
  )
}

function classOfWide(unit: number): number {
  if (!(unit >= 0x80)) return 0
  if (unit <= 0xa0) return unit === 0xa0 ? is.blank : is.unprintable
  if (unit === 0xab || unit === 0xbb) return is.quote
  if (unit < 0xc0) return wideSign
  if (unit < 0x2000 || unit > 0x206f) return unit === 0xfeff ? is.unprintable : wideWord
  if (unit >= 0x2018 && unit <= 0x201f) return is.quote
  if (unit <= 0x200a || unit === 0x2028 || unit === 0x2029) return is.blank
  return unit <= 0x200f || (unit >= 0x202a && unit <= 0x202f) || unit >= 0x2060 ? is.unprintable : wideSign
}
