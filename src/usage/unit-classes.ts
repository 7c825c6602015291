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
}
const ascii = Uint16Array.from([...all], classOfAscii)
const wideWord = is.word | is.inAddress | is.assigned
const wideSign = is.inAddress | is.assigned

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
  if (unit < 0xc0) return wideSign
  if (unit < 0x2000 || unit > 0x206f) return unit === 0xfeff ? is.unprintable : wideWord
  if (unit >= 0x2018 && unit <= 0x201f) return is.quote
  if (unit <= 0x200a || unit === 0x2028 || unit === 0x2029) return is.blank
  return unit <= 0x200f || (unit >= 0x202a && unit <= 0x202f) || unit >= 0x2060 ? is.unprintable : wideSign
}
