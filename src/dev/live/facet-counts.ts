import type { CountedName } from '../event/counted-names.ts'

const maxValues = 20

/** Counts names. Most names equal the one before, which is counted without a look-up. */
export class FacetCounts {
  readonly #counts = new Map<CountedName, number>()
  #last: CountedName | undefined
  #lastCount = 0

  add(name: CountedName): void {
    if (name === this.#last) {
      this.#lastCount++
      return
    }
    this.#store()
    this.#last = name
    this.#lastCount = (this.#counts.get(name) ?? 0) + 1
  }

  /** Returns the most frequent names, the first one most frequent. */
  top(): { value: string; count: number }[] {
    this.#store()
    const counts = Array.from(this.#counts, ([{ name: value }, count]) => ({ value, count }))
    return counts.sort((one, other) => other.count - one.count).slice(0, maxValues)
  }

  #store(): void {
    if (this.#last !== undefined) this.#counts.set(this.#last, this.#lastCount)
  }
}
