/** Number of value-like names in one group that make the group suspect: one may be chance. */
export const minNames = 3

const uuid = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i
const hexadecimal = /^[0-9a-f]+$/i
const address = /^[^@\s]{1,64}@[^@\s]{1,190}$/
const digit = /[0-9]/
const letter = /[a-z]/i
const manyDigits = /[0-9]{4}/
const spaceOrUrl = /\s|:\/\//
const ipv4Address = /^[0-9]{1,3}(?:\.[0-9]{1,3}){3}$/
/** The last part of `cus_NffrFeUfNV2Hib`, or a ULID: at least 14 letters and digits, four of them in upper case. */
const encodedPart = /(?:^|_)(?=[A-Za-z]*[0-9])(?=(?:[0-9a-z]*[A-Z]){4})[0-9A-Za-z]{14,}$/
const maxNameChars = 256

/**
 * Tells whether the name of a field looks like an identifier or a value. A UUID or an e-mail address is `certain`.
 * Numbers, hexadecimal numbers, IPv4 addresses, encoded values and names with long numbers are `likely`: a few fields
 * may have such names by chance.
 */
export function valueLikeness(name: string): 'certain' | 'likely' | undefined {
  if (name.length > maxNameChars) return 'likely'
  if (!digit.test(name)) return address.test(name) ? 'certain' : spaceOrUrl.test(name) ? 'likely' : undefined
  if (uuid.test(name) || address.test(name)) return 'certain'
  if (hexadecimal.test(name) && (name.length > 3 || !letter.test(name))) return name.length >= 16 ? 'certain' : 'likely'
  return [manyDigits, spaceOrUrl, ipv4Address, encodedPart].some(likely => likely.test(name)) ? 'likely' : undefined
}

/** A name with dots that is one value: an address, a URL, a number. */
const valueWithDots = /[@\s/]|^[0-9.]+$/

/** The part of a field's name that looks like an identifier or a value. */
export interface ValueLikePart {
  /** The parts before it: `users` in `users.8f3a….name`. Empty if there are none. */
  readonly before: string
  readonly text: string
  readonly likeness: 'certain' | 'likely'
}

/** Returns the first value-like part of a name, in which dots may separate the names of groups. */
export function valueLikePart(name: string): ValueLikePart | undefined {
  if (name.includes('.') && name.length <= maxNameChars && !valueWithDots.test(name)) {
    for (let start = 0, end = 0; end < name.length; start = end + 1) {
      const dot = name.indexOf('.', start)
      end = dot < 0 ? name.length : dot
      const text = name.slice(start, end)
      const likeness = valueLikeness(text)
      if (likeness !== undefined) return { before: name.slice(0, Math.max(start - 1, 0)), text, likeness }
    }
  }
  const likeness = valueLikeness(name)
  return likeness === undefined ? undefined : { before: '', text: name, likeness }
}

/** Shows the beginning of a value-like name: the whole name may be personal. */
export function shownName(name: string): string {
  return `${name.slice(0, 4).toWellFormed()}…`
}
