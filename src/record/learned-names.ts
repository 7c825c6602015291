import { internedCopy } from '../text/detached.ts'
import { censored } from './censored.ts'
import { isAsItIs } from './json-text.ts'
import type { Rule } from './redact-rule.ts'

/** Maximum lengths of a name and of a text that are learned. */
const longestName = 64
const longestText = 32
/** Maximum numbers of names learned in one place, and in all places. Names of all places take up to about 2.5 MiB. */
const maxInPlace = 1024
const maxInAll = 4096
/**
 * Number of names without room after which all learned names are forgotten, because names that come then may come
 * again.
 */
const maxRefused = 65_536
/**
 * Number of texts of a field after which no more are learned. A field whose text still changes has no text worth
 * learning.
 */
const maxTexts = 16
/** Maximum number of redacted members that one place remembers. They are searched one by one, which is fastest for few. */
const maxRedacted = 8

/** Bytes, as words of four bytes that are copied at once. Up to three bytes after `length` are padding. */
export interface Piece {
  readonly words: readonly number[]
  readonly length: number
}

/** The names and texts that one writer has learned. */
export class Learned {
  /** Number of names learned, in all places. */
  count = 0
  /** Number of times that a new name found no room. */
  refused = 0
  root: LearnedName
  readonly #newRoot: () => LearnedName

  constructor(newRoot: () => LearnedName = () => new LearnedName(undefined)) {
    this.#newRoot = newRoot
    this.root = newRoot()
  }

  /** Forgets all names if too many new names found no room. Called between events only. */
  renew(): void {
    if (this.refused < maxRefused) return
    this.count = 0
    this.refused = 0
    this.root = this.#newRoot()
  }
}

/**
 * The name of a member in one place of events, as JSON. The object also holds everything learned about that place: the
 * next name, a text of the member, and the names within it.
 */
export class LearnedName {
  /** `undefined` for the start of an object, and for a name that was not learned. */
  readonly name: string | undefined
  /** The rule for everything below this member; `undefined` if nothing is redacted there. */
  readonly rule: Rule | undefined
  /** Bytes of `,"name":`. */
  readonly piece: Piece
  /** The name that came next in the same object last time. */
  next: LearnedName
  /** True if the member was an accessor when its name was learned: reading it may take long. */
  isAccessor = false
  /** A text that the member had. */
  text: string | undefined
  /** Bytes of `,"name":"text"`. */
  withText: Piece
  #texts = 0
  /** The position before the first name within this member. */
  #start: LearnedName | undefined
  #within: Map<string, LearnedName> | undefined
  /** The place of the items of an array, if another rule applies to them. */
  #items: LearnedName | undefined
  /** Redacted members within this member: their names, and the bytes of `,"name":"[redacted]"`. */
  readonly #redacted: { readonly name: string; readonly piece: Piece }[] = []

  constructor(name: string | undefined, rule?: Rule) {
    this.name = name
    this.rule = rule
    this.piece = pieceOf(name === undefined ? '' : `,${JSON.stringify(name)}:`)
    this.next = this
    this.text = undefined
    this.withText = this.piece
  }

  get start(): LearnedName {
    this.#start ??= new LearnedName(undefined)
    return this.#start
  }

  /**
   * Returns the place of the items of an array in this place. `rule` applies to each of the items, which share the
   * place.
   */
  itemsUnder(rule: Rule | undefined): LearnedName {
    if (rule === this.rule) return this
    this.#items ??= new LearnedName(undefined, rule)
    return this.#items
  }

  /**
   * Returns the name within this member, and learns a new name. Returns `undefined` if the name cannot be learned, or
   * if its value is redacted.
   */
  find(name: string, all: Learned): LearnedName | undefined {
    this.#within ??= new Map()
    const known = this.#within.get(name)
    if (known !== undefined) return known
    if (name.length > longestName) return undefined
    const ruling = this.rule?.member(name)
    if (ruling === censored) return undefined
    if (this.#within.size >= maxInPlace || all.count >= maxInAll) {
      all.refused++
      return undefined
    }
    const learned = new LearnedName(name, ruling)
    this.#within.set(name, learned)
    all.count++
    return learned
  }

  /** Returns the bytes of a redacted member within this member, if they are remembered. */
  redacted(name: string): Piece | undefined {
    const known = this.#redacted
    for (let i = 0; i < known.length; i++) {
      const each = known[i] as { readonly name: string; readonly piece: Piece }
      if (each.name === name) return each.piece
    }
    return undefined
  }

  /** Remembers the bytes of a redacted member within this member, unless there are many. */
  remember(name: string, text: string): void {
    if (this.#redacted.length >= maxRedacted || name.length > longestName) return
    this.#redacted.push({ name, piece: pieceOf(`,${JSON.stringify(name)}:${JSON.stringify(text)}`) })
  }

  /** Learns the text of the member, unless the text changes too often. */
  learn(text: string): void {
    if (this.#texts === maxTexts) return
    this.text = undefined // until `withText` has the new text: the stack may end in between
    const isWorthIt = ++this.#texts < maxTexts && text.length <= longestText && isAsItIs(text)
    if (!isWorthIt) return
    const copy = internedCopy(text)
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
