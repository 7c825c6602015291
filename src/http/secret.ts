/** A character as it is, or as JSON, programming languages, URLs and HTML escape it, maybe more than once. */
const unit =
  /\\+(?:(?:u00|x)[\da-f]{2}|[\s\S]|$)|%(?:25)*[\da-f]{2}|&(?:amp;)*(?:#x0*[\da-f]{2}|#0*\d{2,3}|[a-z]{2,6});|[\s\S]/gi
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

/** A secret, to be found in texts of others: as it is, escaped, and in base64. */
export class Secret {
  readonly #forms: readonly string[]

  constructor(secret: string) {
    // A secret may itself look as if something in it were escaped.
    this.#forms = [secret, unescaped(unitsOf(secret)), ...[0, 1, 2].flatMap(offset => inBase64(secret, offset))]
  }

  /** The text with something else in its place. */
  replacedIn(text: string, replacement: string): string {
    const plain = /[\\%&]/.test(text) ? unescaped(unitsOf(text)) : text
    if (!this.#forms.some(form => plain.includes(form))) return text
    const units = unitsOf(text)
    for (const form of this.#forms) {
      for (let at = plain.indexOf(form); at !== -1; at = plain.indexOf(form, at + form.length)) {
        units.fill('', at, at + form.length)
        units[at] = replacement
      }
    }
    return units.join('')
  }
}

/** The pieces of a text that stand for one character each. */
function unitsOf(text: string): string[] {
  return text.match(unit) ?? []
}

function unescaped(units: readonly string[]): string {
  return units.map(unit => (unit.length === 1 ? unit : characterOf(unit))).join('')
}

function characterOf(unit: string): string {
  const [, hex, decimal, name] = meaning.exec(unit) ?? []
  if (name !== undefined) return named[name.toLowerCase()] ?? ' '
  if (decimal !== undefined) return String.fromCharCode(Number(decimal))
  return hex === undefined ? (unit.at(-1) as string) : String.fromCharCode(Number.parseInt(hex, 16))
}

/** What base64 makes of the secret alone, where it begins so many bytes after a multiple of three; in both alphabets. */
function inBase64(secret: string, offset: number): string[] {
  const bytes = Buffer.from(' '.repeat(offset) + secret)
  const from = Math.ceil((offset * 4) / 3)
  const to = Math.floor((bytes.length * 4) / 3)
  return [bytes.toString('base64').slice(from, to), bytes.toString('base64url').slice(from, to)]
}
