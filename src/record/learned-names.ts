import { isAsItIs } from './json-text.ts'

/** Names longer than this are not learned, nor texts longer than that. */
const longestName = 64
const longestText = 32
/** How many names are learned in one place, and in all: then they take at most about a mebibyte. */
const mostInPlace = 256
const mostInAll = 2048
/** How often a text is learned anew; a field whose text still changes after that has none that is worth it. */
const mostTexts = 16

/** Bytes, as words that are copied four at a time. After `length`, up to three bytes are of no account. */
export interface Piece {
  readonly words: Int32Array
  readonly length: number
}

/**
 * The name of a member in one place of events, as JSON, and what is known of the place: which name came next the last time,
 * the text that the member had, and the names within it.
 */
export class LearnedName {
  /** `undefined` for what is no name: the start of an object, and what was not learned. */
  readonly name: string | undefined
  /** `,"name":` */
  readonly piece: Piece
  /** What came next in the same object the last time. */
  next: LearnedName
  /** A text that the member had, and `,"name":"text"`. */
  text: string | undefined
  withText: Piece
  #texts = 0
  /** Stands before the first name within this member. */
  #start: LearnedName | undefined
  #within: Map<string, LearnedName> | undefined

  constructor(name: string | undefined) {
    this.name = name
    this.piece = pieceOf(name === undefined ? '' : `,${JSON.stringify(name)}:`)
    this.next = this
    this.text = undefined
    this.withText = this.piece
  }

  get start(): LearnedName {
    this.#start ??= new LearnedName(undefined)
    return this.#start
  }

  /** The name within this member; `undefined` when it is not to be learned. */
  find(name: string, all: { count: number }): LearnedName | undefined {
    this.#within ??= new Map()
    const known = this.#within.get(name)
    if (known !== undefined) return known
    if (name.length > longestName || this.#within.size >= mostInPlace || all.count >= mostInAll) return undefined
    const learned = new LearnedName(name)
    this.#within.set(name, learned)
    all.count++
    return learned
  }

  /** Learns the text of the member, unless it changes too often. */
  learn(text: string): void {
    if (this.#texts === mostTexts) return
    this.text = undefined // while `withText` may be of another, and if there is no stack to learn it
    const isWorthIt = ++this.#texts < mostTexts && text.length <= longestText && isAsItIs(text)
    if (!isWorthIt) return
    const copy = ownCopy(text)
    this.withText = pieceOf(`,${JSON.stringify(this.name)}:"${text}"`)
    this.text = copy
  }
}

function pieceOf(json: string): Piece {
  const length = Buffer.byteLength(json)
  const padded = Buffer.alloc(Math.ceil(length / 4) * 4)
  padded.write(json)
  return { words: Int32Array.from({ length: padded.length / 4 }, (_, i) => padded.readInt32LE(i * 4)), length }
}

/** A text that does not keep alive what it was cut from; and, as names of members are, one that is fast to compare. */
function ownCopy(text: string): string {
  const copy = Buffer.from(text).toString()
  return Object.keys({ [copy]: undefined })[0] ?? copy
}
