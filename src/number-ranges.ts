/** Consecutive numbers, both ends included. */
export interface NumberRange {
  readonly from: number
  readonly to: number
}

/**
 * A set of numbers, kept as ranges: numbers that come nearly in order take memory for the gaps only. The ranges are
 * sorted, and separated by at least one number.
 */
export class NumberRanges implements Iterable<NumberRange> {
  readonly #ranges: { from: number; to: number }[] = []
  /** Index of the range that the last number went to: the next number usually follows it. */
  #last = 0
  /** Number of numbers in the set. */
  count = 0

  /** Number of ranges. */
  get length(): number {
    return this.#ranges.length
  }

  get first(): number | undefined {
    return this.#ranges[0]?.from
  }

  get last(): number | undefined {
    return this.#ranges.at(-1)?.to
  }

  [Symbol.iterator](): Iterator<NumberRange> {
    return this.#ranges[Symbol.iterator]()
  }

  /** Adds a number. Returns false if the set has it. */
  add(number: number): boolean {
    const ranges = this.#ranges
    const at = this.#indexFor(number)
    const range = ranges[at]
    if (range !== undefined && range.from <= number) return false
    const before = ranges[at - 1]
    const follows = before?.to === number - 1
    const precedes = range?.from === number + 1
    this.#last = follows ? at - 1 : at
    this.count++
    if (follows && precedes) {
      before.to = range.to
      ranges.splice(at, 1)
    } else if (follows) before.to = number
    else if (precedes) range.from = number
    else ranges.splice(at, 0, { from: number, to: number })
    return true
  }

  /** Yields the gaps between `from` and the last number. */
  *gaps(from: number): Generator<NumberRange> {
    let next = from
    for (const range of this.#ranges) {
      if (range.from > next) yield { from: next, to: range.from - 1 }
      next = range.to + 1
    }
  }

  /** Returns the index of the first range that ends at `number` or after it. */
  #indexFor(number: number): number {
    const ranges = this.#ranges
    if (ranges[this.#last]?.to === number - 1) return this.#last + 1
    let low = 0
    let high = ranges.length
    while (low < high) {
      const middle = (low + high) >> 1
      if ((ranges[middle] as NumberRange).to >= number) high = middle
      else low = middle + 1
    }
    return low
  }
}
