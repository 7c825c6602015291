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
  /** May be part of base64 or base64url, apart from the `=` at the end. */
  base64: 16384,
  /** A letter of a script that needs no spaces between words, such as Chinese. */
  unspaced: 32768,
} as const

const digits = '0123456789'
const lower = 'abcdefghijklmnopqrstuvwxyz'
const upper = lower.toUpperCase()
const blanks = '\t\n\v\f\r '
const all = String.fromCharCode(...Array(0x80).keys())
const controls = `${all.slice(0, 0x20)}\x7f`
const visible = all.slice(0x21, 0x7f)

/** The members of each class below U+0080. */
const members: Readonly<Record<keyof typeof is, string>> = {
  digit: digits,
  hexLetter: 'abcdefABCDEF',
  lower,
  upper,
  word: digits + lower + upper,
  joint: '-_',
  blank: blanks,
  lineBreak: '\n\r',
  quote: `"'\``,
  unprintable: without(controls, blanks),
  inAddress: without(visible, `"'\`<>()[]{},;`),
  assigned: without(visible, `"'\`,;&)]}|`),
  separator: '.:,/+_-',
  beforeNumber: ' ([{:,',
  base64: `${digits}${lower}${upper}+/-_`,
  unspaced: '',
}
const ascii = Uint16Array.from([...all], classOfAscii)
/** The letter of `µs`, among the signs of Latin-1. */
const micro = 0xb5
const wideSign = is.inAddress | is.assigned
const wideWord = is.word | wideSign

/** Decimal digits above U+007F, by the code of each zero, in hexadecimal. Those of a script have successive codes. */
const wideZeros =
  '660 6f0 7c0 966 9e6 a66 ae6 b66 be6 c66 ce6 d66 de6 e50 ed0 f20 1040 1090 17e0 1810 1946 19d0 1a80 1a90 1b50 1bb0 ' +
  '1c40 1c50 a620 a8d0 a900 a9d0 a9f0 aa50 abf0 ff10'
/** The zero of each block of 16 units that has digits. A block has the digits of one script at most. */
const zeroOfBlock = new Uint16Array(0x1000)
for (const zero of wideZeros.split(' ')) zeroOfBlock[Number.parseInt(zero, 16) >> 4] = Number.parseInt(zero, 16)

/** Returns the classes of a unit; 0 for NaN. */
export function classOf(unit: number): number {
  return unit < 0x80 ? (ascii[unit] as number) : classOfWide(unit)
}

function classOfAscii(char: string): number {
  let classes = 0
  for (const name of Object.keys(is) as (keyof typeof is)[]) if (members[name].includes(char)) classes |= is[name]
  return classes
}

function without(chars: string, excluded: string): string {
  return [...chars].filter(char => !excluded.includes(char)).join('')
}

function classOfWide(unit: number): number {
  if (!(unit >= 0x80)) return 0
  if (unit <= 0xa0) return unit === 0xa0 ? is.blank : is.unprintable
  if (unit === 0xab || unit === 0xbb) return is.quote
  if (unit < 0xc0) return unit === micro ? wideWord : wideSign
  if (unit < 0x2000 || unit > 0x206f) return classOfLetter(unit)
  if (unit >= 0x2018 && unit <= 0x201f) return is.quote
  if (unit <= 0x200a || unit === 0x2028 || unit === 0x2029) return is.blank
  return unit <= 0x200f || (unit >= 0x202a && unit <= 0x202f) || unit >= 0x2060 ? is.unprintable : wideSign
}

/** Returns the classes of a unit beyond Latin-1 that is not in the block of general punctuation. */
function classOfLetter(unit: number): number {
  if (unit === 0xfeff) return is.unprintable
  if (unit >= 0x300c && unit <= 0x300f) return is.quote
  const zero = zeroOfBlock[unit >> 4] as number
  if (zero > 0 && unit >= zero && unit <= zero + 9) return wideWord | is.digit
  const isUnspaced = unit >= 0x2e80 || (unit >= 0xe00 && unit < 0x10a0) // from CJK on, and from Thai to Burmese
  return isUnspaced ? wideWord | is.unspaced : wideWord
}

/** Returns the place of the first unit from `start` on that is in none of the classes. */
export function skipWhile(message: string, start: number, end: number, classes: number): number {
  let at = start
  while (at < end && classOf(message.charCodeAt(at)) & classes) at++
  return at
}
