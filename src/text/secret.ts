/**
 * Matches a character that is escaped as in JSON, programming languages, URLs or HTML, also repeatedly. `unit` also
 * matches any other character.
 */
const escapes =
  /\\+(?:u[\da-f]{4}|u\{[\da-f]{1,6}\}|x[\da-f]{2}|[\s\S]|$)|%(?:25)*(?:[c-f][\da-f](?:%(?:25)*[89ab][\da-f]){1,3}|[\da-f]{2})|&(?:amp;)*(?:#x[\da-f]{1,8}|#\d{1,8}|[a-z]{2,31});/gi
const unit = new RegExp(`${escapes.source}|[\\s\\S]`, 'gi')
const meaning = /(?:\\u\{?|\\x|#x)([\da-f]+)[;}]?$|%(?:25)*([\da-f]{2}(?:%.*)?)$|#(\d+);$|[&;]([a-z]+);$/i
const named: Readonly<Record<string, string>> = {
  amp: '&',
  apos: "'",
  equals: '=',
  gt: '>',
  lt: '<',
  plus: '+',
  quot: '"',
  sol: '/',
}

/**
 * Matches a gap between two characters of a secret: spaces, invisible characters, or a tag, which has no `<` inside.
 */
const gaps = /[\s\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}]+|<[!/a-z][^<>]*>/gu
/**
 * Minimum characters of a form of the secret, and of its beginning at the end of a text. Fewer characters reveal
 * nothing.
 */
const minFormChars = 6
const minBeginningChars = 4

/**
 * A secret that can be found in texts from outside, in linear time and in upper or lower case. It is found as it is,
 * escaped, in base64, in hexadecimal digits and as a list of bytes. White space and tags may interrupt it, and the end of the
 * text may cut it off.
 */
export class Secret {
  readonly #secret: string
  readonly #forms: readonly string[]
  readonly #formsWithoutGaps: readonly string[]

  constructor(secret: string) {
    this.#secret = inLowerCase(secret)
    const bytes = [...Buffer.from(secret)]
    const hex = bytes.map(byte => byte.toString(16).padStart(2, '0'))
    const asBytes = [hex.join(''), hex.join(':'), hex.join(' '), bytes.join(',')]
    const inBase64 = [0, 1, 2].flatMap(offset => formsInBase64(secret, offset))
    // The secret itself may contain something like an escape sequence or a tag.
    const forms = [secret, unescaped(secret), ...asBytes, ...inBase64].map(inLowerCase)
    this.#forms = distinct(forms)
    this.#formsWithoutGaps = distinct(forms.map(withoutGaps))
  }

  /** Returns the text with `replacement` in place of each occurrence of the secret. */
  replacedIn(text: string, replacement: string): string {
    const rest = replaced(text, findAll(inLowerCase(text), [this.#secret]), replacement, charsOf)
    return this.#formsReplacedIn(rest, replacement)
  }

  #formsReplacedIn(text: string, replacement: string): string {
    const plain = inLowerCase(unescaped(text))
    const dense = withoutGaps(plain)
    const inDense = findAll(dense, this.#formsWithoutGaps)
    const cutAt = startOfBeginning(dense, this.#formsWithoutGaps)
    if (cutAt !== undefined) inDense.push({ from: cutAt, to: dense.length })
    const found = findAll(plain, this.#forms)
    if (inDense.length > 0) {
      const places = placesOutsideGaps(plain)
      const place = (at: number) => places[at] as number
      for (const { from, to } of inDense) found.push({ from: place(from), to: place(to - 1) + 1 })
    }
    return replaced(text, found, replacement, unitsOf)
  }
}

interface Found {
  readonly from: number
  readonly to: number
}

function findAll(text: string, forms: readonly string[]): Found[] {
  const found: Found[] = []
  for (const form of forms) {
    for (let from = text.indexOf(form); from !== -1; from = text.indexOf(form, from + form.length)) {
      found.push({ from, to: from + form.length })
    }
  }
  return found
}

/** Replaces overlapping places once. Places are counted in the pieces that `piecesOf` cuts the text into. */
function replaced(
  text: string,
  found: readonly Found[],
  replacement: string,
  piecesOf: (text: string) => string[],
): string {
  if (found.length === 0) return text
  const pieces = piecesOf(text)
  const isFound = new Uint8Array(pieces.length)
  for (const { from, to } of found) isFound.fill(1, from, to)
  return pieces.map((piece, at) => (isFound[at] === 0 ? piece : isFound[at - 1] === 1 ? '' : replacement)).join('')
}

/** Returns the place where a form of the secret begins that is cut off by the end of the text. */
function startOfBeginning(text: string, forms: readonly string[]): number | undefined {
  for (const form of forms) {
    const head = form.slice(0, minBeginningChars)
    let from = text.indexOf(head, Math.max(text.length - form.length, 0))
    for (; from !== -1; from = text.indexOf(head, from + 1)) if (form.startsWith(text.slice(from))) return from
  }
  return undefined
}

function charsOf(text: string): string[] {
  return text.split('')
}

/** Splits a text into pieces, each of which stands for one character. */
function unitsOf(text: string): string[] {
  return text.match(unit) ?? []
}

/** Replaces each escape sequence by the character that it stands for. */
function unescaped(text: string): string {
  return text.replace(escapes, characterOf)
}

/** Returns one UTF-16 unit, so that the places of characters remain the same. */
function characterOf(unit: string): string {
  const [, hex, bytes, decimal, name] = meaning.exec(unit) ?? []
  if (name !== undefined) return named[name.toLowerCase()] ?? ' '
  if (decimal !== undefined) return String.fromCharCode(Number(decimal))
  if (hex !== undefined) return String.fromCharCode(Number.parseInt(hex, 16))
  if (bytes !== undefined)
    return Buffer.from(bytes.replace(/%(?:25)*/g, ''), 'hex')
      .toString()
      .charAt(0)
  return /[nrt]$/.test(unit) ? ' ' : (unit.at(-1) as string)
}

/** Converts a text to lower case without moving any character. */
function inLowerCase(text: string): string {
  const lower = text.toLowerCase()
  return lower.length === text.length ? lower : text.replace(/[A-Z]+/g, letters => letters.toLowerCase())
}

function withoutGaps(text: string): string {
  return text.replace(gaps, '')
}

/** Returns, for each character of the text without gaps, its place in the text. */
function placesOutsideGaps(text: string): number[] {
  const places: number[] = []
  let at = 0
  for (const { 0: gap, index } of text.matchAll(gaps)) {
    for (; at < index; at++) places.push(at)
    at += gap.length
  }
  for (; at < text.length; at++) places.push(at)
  return places
}

/**
 * Returns the base64 characters that depend on the secret alone, in both alphabets. The secret begins `offset` bytes
 * after a multiple of three.
 */
function formsInBase64(secret: string, offset: number): string[] {
  const bytes = Buffer.from(' '.repeat(offset) + secret)
  const from = Math.ceil((offset * 4) / 3)
  const to = Math.floor((bytes.length * 4) / 3)
  return [bytes.toString('base64').slice(from, to), bytes.toString('base64url').slice(from, to)]
}

function distinct(forms: readonly string[]): string[] {
  return [...new Set(forms)].filter(form => form.length >= minFormChars)
}
