/** A character as JSON, programming languages, URLs and HTML escape it, maybe more than once; and any character. */
const escapes =
  /\\+(?:(?:u00|x)[\da-f]{2}|[\s\S]|$)|%(?:25)*[\da-f]{2}|&(?:amp;)*(?:#x0*[\da-f]{2}|#0*\d{2,3}|[a-z]{2,6});/gi
const unit = new RegExp(`${escapes.source}|[\\s\\S]`, 'gi')
const meaning = /(?:\\u00|\\x|%(?:25)*|#x0*)([\da-f]{2});?$|#0*(\d+);$|[&;]([a-z]+);$/i
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

/** What may stand between two characters of a secret: space, what cannot be seen, and tags, which have no `<` in them. */
const gaps = /[\s\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}]+|<[!/a-z][^<>]*>/gu
/** Fewer characters say nothing, be they a form of the secret or its beginning at the end of a text. */
const minFormChars = 6
const minBeginningChars = 4

/**
 * A secret, to be found in texts of others, in upper or lower case: as it is, escaped, in base64 and in hexadecimal digits;
 * with white space or tags in it; and cut off at the end of the text. Takes linear time.
 */
export class Secret {
  readonly #secret: string
  readonly #forms: readonly string[]
  readonly #formsWithoutGaps: readonly string[]

  constructor(secret: string) {
    this.#secret = inLowerCase(secret)
    const hex = Buffer.from(secret).toString('hex')
    const inBase64 = [0, 1, 2].flatMap(offset => formsInBase64(secret, offset))
    // A secret may itself look as if something in it were escaped, or were a tag.
    const forms = [secret, unescaped(secret), hex, ...inBase64].map(inLowerCase)
    this.#forms = distinct(forms)
    this.#formsWithoutGaps = distinct(forms.map(withoutGaps))
  }

  /** The text with something else in its place. */
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

/** What overlaps is replaced once. The places of what was found count the pieces that the text is taken apart into. */
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

/** Where the beginning of a form stands that the end of the text has cut off. */
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

/** The pieces of a text that stand for one character each. */
function unitsOf(text: string): string[] {
  return text.match(unit) ?? []
}

/** The characters that the units of a text stand for. */
function unescaped(text: string): string {
  return text.replace(escapes, characterOf)
}

function characterOf(unit: string): string {
  const [, hex, decimal, name] = meaning.exec(unit) ?? []
  if (name !== undefined) return named[name.toLowerCase()] ?? ' '
  if (decimal !== undefined) return String.fromCharCode(Number(decimal))
  if (hex !== undefined) return String.fromCharCode(Number.parseInt(hex, 16))
  return /[nrt]$/.test(unit) ? ' ' : (unit.at(-1) as string)
}

/** In lower case, with every character in its place. */
function inLowerCase(text: string): string {
  const lower = text.toLowerCase()
  return lower.length === text.length ? lower : text.replace(/[A-Z]+/g, letters => letters.toLowerCase())
}

function withoutGaps(text: string): string {
  return text.replace(gaps, '')
}

/** Where each character of the text without gaps stands in the text. */
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

/** What base64 makes of the secret alone, where it begins so many bytes after a multiple of three; in both alphabets. */
function formsInBase64(secret: string, offset: number): string[] {
  const bytes = Buffer.from(' '.repeat(offset) + secret)
  const from = Math.ceil((offset * 4) / 3)
  const to = Math.floor((bytes.length * 4) / 3)
  return [bytes.toString('base64').slice(from, to), bytes.toString('base64url').slice(from, to)]
}

function distinct(forms: readonly string[]): string[] {
  return [...new Set(forms)].filter(form => form.length >= minFormChars)
}
