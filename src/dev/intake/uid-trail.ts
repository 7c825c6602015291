import { NumberRanges } from '../../number-ranges.ts'
import { numberedUid, uidOf } from '../../numbered-uid.ts'

/** Maximum number of shippers whose numbers are followed. The shipper that was followed first is given up for another. */
const maxShippers = 500
/** Maximum number of gaps of one shipper. A shipper with more is given up: its numbers are not in order. */
const maxRanges = 5000

/** The highest number of each shipper at a moment. */
export type UidMark = ReadonlyMap<string, number>

/** The numbers of the events that arrived, by shipper: an event that comes again is known, and so is one that is missing. */
export class UidTrail {
  readonly #shippers = new Map<string, NumberRanges>()

  /** True once an event with a uid has arrived. */
  get hasUids(): boolean {
    return this.#shippers.size > 0
  }

  /** Notes an event. Returns true if it has arrived before, and `undefined` if it has no uid that can be followed. */
  note(event: Readonly<Record<string, unknown>>): boolean | undefined {
    const uid = numberedUid(uidOf(event))
    if (uid === undefined) return undefined
    const { shipper, number } = uid
    let seen = this.#shippers.get(shipper)
    if (seen === undefined) {
      seen = new NumberRanges()
      this.#shippers.set(shipper, seen)
      if (this.#shippers.size > maxShippers) this.#shippers.delete(this.#shippers.keys().next().value as string)
    }
    if (seen.length > maxRanges) return undefined
    return !seen.add(number)
  }

  mark(): UidMark {
    return new Map([...this.#shippers].map(([shipper, seen]) => [shipper, seen.last ?? 0]))
  }

  /**
   * Counts the events that are missing among those with a higher number than at the mark. Shippers that were given up do
   * not count.
   */
  missingSince(mark: UidMark): number {
    let missing = 0
    for (const [shipper, seen] of this.#shippers) {
      if (seen.length > maxRanges) continue
      for (const { from, to } of seen.gaps((mark.get(shipper) ?? 0) + 1)) missing += to - from + 1
    }
    return missing
  }
}
