import type { Entry } from '../event/entry.ts'
import { SortedEntries } from '../index/sorted-entries.ts'

/**
 * The matches of one list, in order, while a scan of the events that were kept at its start goes on. The scan finds the
 * newest first; events that arrive meanwhile are added.
 */
export class MatchList {
  readonly #compare: (one: Entry, other: Entry) => number
  /** Matches that arrived after the start of the scan; all matches once the scan is complete. */
  #arrived: SortedEntries
  /** Matches of the scan, the newest first. */
  #scanned: Entry[] | undefined = []
  #scannedForgotten = 0
  /** Arrival number at the start of the scan. */
  readonly #scannedUntil: number

  constructor(compare: (one: Entry, other: Entry) => number, scannedUntil: number) {
    this.#compare = compare
    this.#arrived = new SortedEntries(compare)
    this.#scannedUntil = scannedUntil
  }

  /** Number of the matches that are kept. */
  get length(): number {
    return this.#arrived.length + (this.#scanned?.length ?? 0) - this.#scannedForgotten
  }

  add(entry: Entry): void {
    this.#arrived.add(entry)
  }

  addScanned(entry: Entry): void {
    this.#scanned?.push(entry)
  }

  /** Must be called once for each match that is not kept any more. */
  countForgotten(entry: Entry): void {
    if (this.#scanned !== undefined && entry.n <= this.#scannedUntil) this.#scannedForgotten++
    else this.#arrived.countForgotten()
  }

  /** Joins the matches of the scan and those that arrived meanwhile. */
  completeScan(): void {
    if (this.#scanned === undefined) return
    const joined = new SortedEntries(
      this.#compare,
      this.#scanned.reverse().filter(entry => entry.isKept),
    )
    for (const entry of this.#arrived.settled()) joined.add(entry)
    this.#arrived = joined
    this.#scanned = undefined
    this.#scannedForgotten = 0
  }

  /** Calls a function with each kept match, the newest first, until the function returns false. */
  newestFirst(visit: (entry: Entry) => boolean): void {
    const arrived = this.#arrived.merged()
    const scanned = this.#scanned ?? []
    let at = arrived.length - 1
    let place = 0
    for (;;) {
      const one = arrived[at]
      const other = scanned[place]
      let next: Entry
      if (one !== undefined && (other === undefined || this.#compare(one, other) > 0)) {
        next = one
        at--
      } else if (other !== undefined) {
        next = other
        place++
      } else return
      if (next.isKept && !visit(next)) return
    }
  }

  /** Returns the kept matches, the oldest first. The array is valid until the list changes. */
  oldestFirst(): readonly Entry[] {
    if (this.#scanned === undefined) return this.#arrived.settled()
    const entries: Entry[] = []
    this.newestFirst(entry => entries.push(entry) > 0)
    return entries.reverse()
  }
}
