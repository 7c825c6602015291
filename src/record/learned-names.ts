import { isAsItIs } from './json-text.ts'

/** Names longer than this are not learned, nor texts longer than that. */
const longestName = 64
const longestText = 32
/** How many names are learned in one place, and in all: then they take about two and a half mebibytes. */
const maxInPlace = 1024
const maxInAll = 4096
/** After so many names that there was no room to learn, all are forgotten: those that come now may come again. */
const maxRefused = 65_536
/** How often a text is learned anew; a field whose text still changes after that has none that is worth it. */
const maxTexts = 16

/** Bytes, as words that are copied four at a time. After `length`, up to three bytes are of no account. */
export interface Piece {
  readonly words: readonly number[]
  readonly length: number
}

/** All that one writer has learned. */
export class Learned {
  /** Names, in whatever place. */
  count = 0
  /** How often there was no room to learn a name. */
  refused = 0
  root = new LearnedName(undefined)

  /** Makes room for the names of today, if too many of them are not learned. To be called between events. */
  renew(): void {
    if (this.refused < maxRefused) return
    this.count = 0
    this.refused = 0
    this.root = new LearnedName(undefined)
  }
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
  find(name: string, all: Learned): LearnedName | undefined {
    this.#within ??= new Map()
    const known = this.#within.get(name)
    if (known !== undefined) return known
    if (name.length > longestName) return undefined
    if (this.#within.size >= maxInPlace || all.count >= maxInAll) {
      all.refused++
      return undefined
    }
    const learned = new LearnedName(name)
    this.#within.set(name, learned)
    all.count++
    return learned
  }

  /** Learns the text of the member, unless it changes too often. */
  learn(text: string): void {
    if (this.#texts === maxTexts) return
    this.text = undefined // while `withText` may be of another, and if there is no stack to learn it
    const isWorthIt = ++this.#texts < maxTexts && text.length <= longestText && isAsItIs(text)
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
  return { words: Array.from({ length: padded.length / 4 }, (_, i) => padded.readInt32LE(i * 4)), length }
}

/** A text that does not keep alive what it was cut from; and, as names of members are, one that is fast to compare. */
function ownCopy(text: string): string {
  const copy = Buffer.from(text).toString()
  return Object.keys({ [copy]: undefined })[0] ?? copy
}
