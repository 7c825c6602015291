/** Consecutive numbers, both ends included. */
export interface NumberRange {
  readonly from: number
  readonly to: number
}

type Range = { from: number; to: number }

/** Maximum number of ranges in a chunk. */
const maxChunkLength = 512

/**
 * A set of numbers, kept as ranges: numbers that come nearly in order take memory for the gaps only. The ranges are
 * sorted, and separated by at least one number.
 */
export class NumberRanges implements Iterable<NumberRange> {
  /**
   * The ranges in chunks, none of which is empty. A new range moves others of its chunk only, so that numbers may come
   * in any order.
   */
  readonly #chunks: Range[][] = []
  /** Number of numbers in the set. */
  count = 0
  #length = 0

  /** Number of ranges. */
  get length(): number {
    return this.#length
  }

  get first(): number | undefined {
    return this.#chunks[0]?.[0]?.from
  }

  get last(): number | undefined {
    return this.#chunks.at(-1)?.at(-1)?.to
  }

  *[Symbol.iterator](): Iterator<NumberRange> {
    for (const chunk of this.#chunks) yield* chunk
  }

  /** Adds a number. Returns false if the set has it. */
  add(number: number): boolean {
    const chunks = this.#chunks
    const found = firstIndex(chunks, chunk => endOf(chunk) >= number)
    const place = found < chunks.length ? found : Math.max(chunks.length - 1, 0) // a number after all goes to the last
    const chunk = chunks[place] ?? []
    const at = firstIndex(chunk, ({ to }) => to >= number)
    const range = chunk[at]
    if (range !== undefined && range.from <= number) return false
    const before = at > 0 ? chunk[at - 1] : chunks[place - 1]?.at(-1)
    const follows = before?.to === number - 1
    const precedes = range?.from === number + 1
    this.count++
    if (follows && precedes) {
      before.to = range.to
      chunk.splice(at, 1)
      this.#length--
      if (chunk.length === 0) chunks.splice(place, 1)
    } else if (follows) before.to = number
    else if (precedes) range.from = number
    else {
      chunk.splice(at, 0, { from: number, to: number })
      this.#length++
      if (chunk.length === 1) chunks.push(chunk)
      else if (chunk.length > maxChunkLength) chunks.splice(place + 1, 0, chunk.splice(maxChunkLength / 2))
    }
    return true
  }

  /** Yields the gaps between `from` and the last number. `from` itself may be missing. */
  *gaps(from: number): Generator<NumberRange> {
    let next = from
    for (const range of this) {
      if (range.from > next) yield { from: next, to: range.from - 1 }
      next = Math.max(next, range.to + 1)
    }
  }
}

function endOf(chunk: readonly Range[]): number {
  return chunk.at(-1)?.to ?? 0
}

/** Returns the index of the first item that fits, if every item after it fits as well; otherwise the length. */
function firstIndex<Item>(items: readonly Item[], fits: (item: Item) => boolean): number {
  let low = 0
  let high = items.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (fits(items[middle] as Item)) high = middle
    else low = middle + 1
  }
  return low
}
