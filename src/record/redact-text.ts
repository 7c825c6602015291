import { monotonicMs } from '../time.ts'
import { SearchTime } from './redact-time.ts'
import { namelessIfCut } from './stub.ts'

/** Maximum characters of a text that are examined. The rest of a longer text is cut. */
const maxExamined = 65_536
/** Maximum characters that are examined of all texts of an event. */
const maxExaminedOfEvent = 4_194_304
/**
 * Characters before a cut that are cut as well. A match that the cut has broken would not be found; its first part may
 * have so many characters.
 */
const margin = 1024
/**
 * Length from which on a part of a text is searched first, and length of that part. The part shows how long the whole
 * text would take. Both lengths are shorter for more than `usualPatterns` patterns.
 */
const minLong = 4096
const firstPart = 1024
const usualPatterns = 10
const growthOfPart = 2
/** Searches of each part that is not the last one: to find out, to see if there is a match, and to find all. */
const searches = 3
/** Number of characters that are searched before the time of a search is taken. */
const charactersPerClock = 1024
/** Shorter texts, such as most messages and names, may take so much more time, in milliseconds, when none is left. */
const short = { length: 64, moreMs: 4 }

/** The mark of a text that was cut before, see `cutText`. */
const cutMark = /\.\.\. \[(\d{1,15}) more characters\]$/
const endOfCutMark = ' more characters]'
/** The place after such a mark in the middle of a text: a `transform` may have put something behind the mark. */
const afterCutMark = /(?<=\.\.\. \[\d{1,15} more characters\])(?=.)/s

/** The part of a text that is examined, and the part that may be shipped. */
interface Examined {
  readonly head: string
  /** Length of the part of `head` that may be shipped. */
  readonly end: number
  /** Number of characters of the whole text after `end`. */
  readonly more: number
}

/**
 * Masks parts of texts. Each run of characters that patterns match is replaced as a whole.
 *
 * Only a limited length of text is examined, so that each pattern takes a limited time. The exception is a pattern with
 * nested repetition, such as `/(a+)+$/`: the time that it takes can double with each character.
 */
export class TextMask {
  /** True if a text of the event was cut, because it was too long to be examined. */
  isCut = false
  readonly #patterns: readonly RegExp[]
  readonly #minLong: number
  readonly #firstPart: number
  #left = maxExaminedOfEvent
  readonly #time = new SearchTime()
  /** Number of characters that were searched since the time of a search was taken. */
  #untimed = 0

  constructor(patterns: readonly RegExp[]) {
    this.#patterns = patterns
    const shorter = Math.sqrt(Math.max(patterns.length / usualPatterns, 1)) // the time may grow with the square of the length
    this.#minLong = Math.ceil(minLong / shorter)
    this.#firstPart = Math.ceil(firstPart / shorter)
  }

  /** Begins an event. */
  begin(): void {
    this.isCut = false
    this.#left = maxExaminedOfEvent
    this.#time.begin()
  }

  /** True if the texts of the event have taken long so far. */
  get isSlow(): boolean {
    return this.#time.isSlow
  }

  /** Returns the text with every match replaced by what `replace` returns for the match. */
  mask(text: string, replace: (match: string) => string): string {
    if (text.length < endOfCutMark.length) return this.#maskPart(text, replace) // too short for a mark, or for a cut name
    const nameless = namelessIfCut(text)
    if (nameless !== undefined) return nameless
    const start = text.length > maxExamined ? text.slice(0, maxExamined) : text // the rest is cut anyway
    if (!start.includes(endOfCutMark)) return this.#maskPart(text, replace)
    if (start.length > this.#searchable(start)) return this.#cutAway(text)
    this.#left -= start.length
    // The application may have logged the mark itself, in the midst of what a pattern matches.
    const spans = this.#spansIn(start).filter(span => start.slice(span.start, span.end).includes(endOfCutMark))
    let masked = ''
    let at = 0
    for (const span of spans) {
      masked += this.#maskParts(start.slice(at, span.start), '', replace) + replace(start.slice(span.start, span.end))
      at = span.end
    }
    return masked + this.#maskParts(start.slice(at), text.slice(start.length), replace)
  }

  #maskParts(text: string, rest: string, replace: (match: string) => string): string {
    const parts = text.split(afterCutMark)
    parts.push(`${parts.pop()}${rest}`)
    return parts.map(part => this.#maskPart(part, replace)).join('')
  }

  #maskPart(text: string, replace: (match: string) => string): string {
    const max = this.#searchable(text)
    if (text.length <= max && !text.endsWith(endOfCutMark) && !this.#isMatched(text)) {
      this.#left -= text.length
      return text
    }
    if (max === 0 && text !== '') return this.#cutAway(text) // at once: an event may have 100,000 texts, and a shipper 100 patterns
    const { head, end, more } = this.#examined(text, max)
    const spans = this.#spansIn(head).filter(({ start }) => start < end)
    let masked = ''
    let at = 0
    for (const span of spans) {
      masked += head.slice(at, span.start) + replace(head.slice(span.start, span.end))
      at = span.end
    }
    if (more === 0) return spans.length === 0 ? text : masked + head.slice(at)
    return `${masked}${head.slice(at, Math.max(end, at))}... [${more} more characters]`
  }

  /** Returns the mark of a cut in place of a text that may not be searched. */
  #cutAway(text: string): string {
    this.isCut = true
    return `... [${text.length} more characters]`
  }

  /**
   * Returns the maximum number of characters of a text that may be searched. The time of a pattern may grow with the
   * square of the length: `/\S+@/g` begins anew at each character of a text without spaces.
   */
  #searchable(text: string): number {
    const max = Math.min(text.length, maxExamined, Math.max(this.#left, 0))
    if (this.#time.leftMs <= (max < short.length ? -short.moreMs : 0)) return 0
    if (max < this.#minLong) return max
    for (let length = this.#firstPart; length < max; length *= growthOfPart) {
      const part = text.slice(0, length)
      let partMs = this.#msFor(part)
      const maxPartMs = this.#time.leftMs / (searches * growthOfPart ** 2)
      if (partMs > maxPartMs) partMs = Math.min(partMs, this.#msFor(part)) // the thread may have waited
      if (partMs > maxPartMs) return length
      if (partMs * (max / length) ** 2 <= maxPartMs) break
    }
    return max
  }

  /** Returns the time for searching a text, in milliseconds. */
  #msFor(text: string): number {
    const startedAtMs = monotonicMs()
    this.#spansIn(text)
    return monotonicMs() - startedAtMs
  }

  #isMatched(text: string): boolean {
    return this.#timed(text, () => this.#hasMatch(text))
  }

  /** Takes the time of the first search after every so many characters, and counts it for all of them. */
  #timed<T>(text: string, search: () => T): T {
    this.#untimed += text.length
    if (this.#untimed < charactersPerClock) return search()
    const share = text.length / this.#untimed
    this.#untimed = 0
    const startedAtMs = monotonicMs()
    const result = search()
    this.#time.spend((monotonicMs() - startedAtMs) / share)
    return result
  }

  #hasMatch(text: string): boolean {
    for (let i = 0; i < this.#patterns.length; i++) {
      const pattern = this.#patterns[i] as RegExp
      pattern.lastIndex = 0
      if (pattern.test(text)) return true
    }
    return false
  }

  #examined(text: string, max: number): Examined {
    this.#left -= Math.min(text.length, max)
    if (text.length > max) {
      this.isCut = true
      const end = withoutHalfPair(text, Math.max(max - margin, 0))
      return { head: text.slice(0, max), end, more: text.length - end }
    }
    const [mark, missing] = (text.endsWith(endOfCutMark) ? cutMark.exec(text) : null) ?? []
    if (mark === undefined) return { head: text, end: text.length, more: 0 }
    const head = text.slice(0, -mark.length)
    const end = withoutHalfPair(head, Math.max(head.length - margin, 0))
    return { head, end, more: Number(missing) + head.length - end }
  }

  /** Returns the runs of characters that patterns match, in order. */
  #spansIn(text: string): { start: number; end: number }[] {
    return this.#timed(text, () => merged(this.#matchesIn(text)))
  }

  #matchesIn(text: string): { start: number; end: number }[] {
    const spans: { start: number; end: number }[] = []
    for (const pattern of this.#patterns) {
      pattern.lastIndex = 0
      if (!pattern.test(text)) continue
      pattern.lastIndex = 0
      for (const { 0: match, index } of text.matchAll(pattern)) {
        if (match !== '') spans.push({ start: index, end: index + match.length })
      }
    }
    return spans
  }
}

/** Merges runs that overlap or touch. */
function merged(spans: { start: number; end: number }[]): { start: number; end: number }[] {
  const runs: { start: number; end: number }[] = []
  for (const span of spans.sort((a, b) => a.start - b.start)) {
    const last = runs.at(-1)
    if (last === undefined || span.start > last.end) runs.push({ ...span })
    else last.end = Math.max(last.end, span.end)
  }
  return runs
}

/** Returns a length at which a text can be cut without leaving half of a surrogate pair. */
function withoutHalfPair(text: string, length: number): number {
  return length > 0 && (text.codePointAt(length - 1) as number) > 0xffff ? length - 1 : length
}
