import { detached } from '../text/detached.ts'
import type { UsageCount } from './usage.ts'

/** Maximum number of datasets that are counted one by one. */
const maxDatasets = 64
/** Maximum length of the name of such a dataset, in characters. It bounds the memory for names. */
const maxNameChars = 200
/** Number of events of other datasets after which one of them replaces the smallest dataset. */
const minEventsPerReplacement = 32
/**
 * The same as a part of all those events, if that is more. Otherwise many small datasets that take turns would replace
 * each other all the time.
 */
const shareOfOthers = 1 / 64

export interface DatasetCount {
  /** `undefined` for all datasets that are not counted one by one. */
  readonly name: string | undefined
  readonly id: number
  events: number
  bytes: number
}

interface NamedDatasetCount extends DatasetCount {
  readonly name: string
}

/** The events and bytes of each dataset, exactly, and of all others together. */
export class DatasetUsage {
  readonly #byName = new Map<string, NamedDatasetCount>()
  readonly #others: DatasetCount = { name: undefined, id: 0, events: 0, bytes: 0 }
  #lastId = 0
  #othersUntilReplacement = minEventsPerReplacement

  /** Returns the counts to which an event of this dataset belongs. */
  of(name: string): DatasetCount {
    return this.#byName.get(name) ?? this.#newOrOther(name)
  }

  total(): UsageCount {
    let { events, bytes } = this.#others
    for (const count of this.#byName.values()) {
      events += count.events
      bytes += count.bytes
    }
    return { events, bytes }
  }

  /** The datasets that are counted one by one. */
  all(): Iterable<NamedDatasetCount> {
    return this.#byName.values()
  }

  #newOrOther(name: string): DatasetCount {
    if (name.length > maxNameChars) return this.#others
    if (this.#byName.size >= maxDatasets) {
      if (--this.#othersUntilReplacement > 0) return this.#others
      this.#othersUntilReplacement = Math.max(this.#others.events * shareOfOthers, minEventsPerReplacement)
      this.#removeSmallest()
    }
    const count = { name: detached(name), id: ++this.#lastId, events: 0, bytes: 0 }
    this.#byName.set(count.name, count)
    return count
  }

  #removeSmallest(): void {
    let smallest: NamedDatasetCount | undefined
    for (const count of this.#byName.values()) {
      if (smallest === undefined || count.bytes < smallest.bytes) smallest = count
    }
    if (smallest === undefined) return
    this.#byName.delete(smallest.name)
    this.#others.events += smallest.events
    this.#others.bytes += smallest.bytes
  }
}
