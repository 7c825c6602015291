import type { Entry } from '../event/entry.ts'

/** Number of entries out of order that are merged at once. */
const maxUnmerged = 2048
/** Number of forgotten entries that a short list may contain. */
const minForgotten = 1024

/**
 * Entries in an order, the first ones oldest. Most entries come in order, and are appended. The others are collected
 * and merged together, so that thousands of late events cost little more than one.
 */
export class SortedEntries {
  readonly #compare: (one: Entry, other: Entry) => number
  #entries: Entry[]
  #unmerged: Entry[] = []
  #forgotten = 0

  /** @param entries entries in order; the list owns the array from now on */
  constructor(compare: (one: Entry, other: Entry) => number, entries: Entry[] = []) {
    this.#compare = compare
    this.#entries = entries
  }

  /** Number of the kept entries. */
  get length(): number {
    return this.#entries.length + this.#unmerged.length - this.#forgotten
  }

  add(entry: Entry): void {
    const last = this.#entries.at(-1)
    if (last === undefined || this.#compare(last, entry) < 0) {
      this.#entries.push(entry)
      return
    }
    this.#unmerged.push(entry)
    if (this.#unmerged.length >= maxUnmerged) this.#merge()
  }

  /** Must be called once for each entry of the list that is not kept any more. */
  countForgotten(): void {
    this.#forgotten++
    if (this.#forgotten > Math.max(minForgotten, this.#entries.length / 4)) this.#removeForgotten()
  }

  /** Returns the entries in order, all of them kept. The array is the list's own, and valid until the list changes. */
  settled(): readonly Entry[] {
    if (this.#unmerged.length > 0) this.#merge()
    if (this.#forgotten > 0) this.#removeForgotten()
    return this.#entries
  }

  /** Returns the entries in order, some of which may not be kept any more. The array is valid until the list changes. */
  merged(): readonly Entry[] {
    if (this.#unmerged.length > 0) this.#merge()
    return this.#entries
  }

  #removeForgotten(): void {
    if (this.#unmerged.length > 0) this.#merge()
    this.#entries = this.#entries.filter(entry => entry.isKept)
    this.#forgotten = 0
  }

  #merge(): void {
    const added = this.#unmerged.sort(this.#compare)
    this.#unmerged = []
    const entries = this.#entries
    const rest = entries.splice(this.#placeOf(added[0] as Entry))
    let at = 0
    for (const entry of added) {
      while (at < rest.length && this.#compare(rest[at] as Entry, entry) < 0) entries.push(rest[at++] as Entry)
      entries.push(entry)
    }
    while (at < rest.length) entries.push(rest[at++] as Entry)
  }

  /** Returns the place of the first entry that comes after the given one. */
  #placeOf(entry: Entry): number {
    let low = 0
    let high = this.#entries.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#compare(this.#entries[middle] as Entry, entry) > 0) high = middle
      else low = middle + 1
    }
    return low
  }
}
