/**
 * A text up to this length is found by the engine. In the worst case, the engine compares the whole text at each place:
 * 4,000 characters in a value of 4 MB would take half a minute.
 */
const maxShort = 32

/** Finds a text in others, in time in proportion to their lengths. */
export class TextFinder {
  readonly text: string
  readonly #beginning: string
  /** Length of the longest beginning that is also the end of each beginning (Knuth, Morris, Pratt); none if short. */
  readonly #borders: Uint16Array | undefined

  /** @param text up to 65,535 characters */
  constructor(text: string) {
    this.text = text
    this.#beginning = text.slice(0, maxShort)
    this.#borders = text.length <= maxShort ? undefined : bordersOf(text)
  }

  isIn(other: string): boolean {
    return this.indexIn(other, 0) >= 0
  }

  /** Returns the first place of the text from a place on, or -1. */
  indexIn(other: string, from: number): number {
    const start = other.indexOf(this.#beginning, from)
    if (start < 0 || this.#borders === undefined) return start
    const { text } = this
    let matched = 0
    for (let at = start; at < other.length; at++) {
      const code = other.charCodeAt(at)
      while (matched > 0 && text.charCodeAt(matched) !== code) matched = this.#borders[matched - 1] as number
      if (text.charCodeAt(matched) === code) matched++
      if (matched === text.length) return at - matched + 1
    }
    return -1
  }
}

function bordersOf(text: string): Uint16Array {
  const borders = new Uint16Array(text.length)
  let length = 0
  for (let at = 1; at < text.length; at++) {
    while (length > 0 && text.charCodeAt(at) !== text.charCodeAt(length)) length = borders[length - 1] as number
    if (text.charCodeAt(at) === text.charCodeAt(length)) length++
    borders[at] = length
  }
  return borders
}
