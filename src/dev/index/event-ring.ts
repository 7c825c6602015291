import type { Entry } from '../event/entry.ts'

/** Number of free places at the front after which the entries are moved. */
const minFreePlaces = 1024

/** Entries in the order of their arrival. They are added at the end and removed at the front. */
export class EventRing {
  #entries: (Entry | undefined)[] = []
  #first = 0
  #bytes = 0

  get length(): number {
    return this.#entries.length - this.#first
  }

  get bytes(): number {
    return this.#bytes
  }

  /** Returns the entry at a place: 0 is the oldest. */
  at(index: number): Entry | undefined {
    return this.#entries[this.#first + index]
  }

  push(entry: Entry): void {
    this.#entries.push(entry)
    this.#bytes += entry.bytes
  }

  shift(): Entry | undefined {
    const entry = this.#entries[this.#first]
    if (entry === undefined) return undefined
    this.#entries[this.#first++] = undefined
    this.#bytes -= entry.bytes
    if (this.#first >= minFreePlaces && this.#first * 2 >= this.#entries.length) {
      this.#entries = this.#entries.slice(this.#first)
      this.#first = 0
    }
    return entry
  }

  /** Returns the place of the first entry that arrived after `n`. */
  placeAfter(n: number): number {
    let low = 0
    let high = this.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.at(middle) as Entry).n > n) high = middle
      else low = middle + 1
    }
    return low
  }
}
