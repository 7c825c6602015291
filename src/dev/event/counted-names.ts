/** A name that kept events have, with the number of these events and their bytes. */
export interface CountedName {
  readonly name: string
  events: number
  bytes: number
  /** Arrival number and time of arrival of the first event with the name that is remembered. */
  readonly firstN: number
  readonly firstAt: number
}

/** Maximum length of a name, in characters. A longer name is cut. */
const maxNameChars = 256
/** Number of names without events whose first event is remembered. */
const maxPastNames = 5000

type First = Pick<CountedName, 'firstN' | 'firstAt'>

/**
 * The names of the kept events, each held once: datasets, sources or statements. A name leaves with its last event, so
 * that there are at most as many names as kept events. When the first event with the name came is remembered for some
 * time longer: a statement that returns after a flood of others is not new.
 */
export class CountedNames {
  readonly #names = new Map<string, CountedName>()
  readonly #past = new Map<string, First>()

  /**
   * Returns the entry of a name, without counting an event.
   *
   * @param first the event that is counted next
   */
  named(name: string, first: { n: number; receivedAt: number }): CountedName {
    const known = this.#names.get(name)
    if (known !== undefined) return known
    const short = ownCopy(name.length > maxNameChars ? name.slice(0, maxNameChars) : name)
    const knownShort = this.#names.get(short)
    if (knownShort !== undefined) return knownShort
    const { firstN, firstAt } = this.#past.get(short) ?? { firstN: first.n, firstAt: first.receivedAt }
    this.#past.delete(short)
    const counted = { name: short, events: 0, bytes: 0, firstN, firstAt }
    this.#names.set(short, counted)
    return counted
  }

  add(counted: CountedName, bytes: number): void {
    counted.events++
    counted.bytes += bytes
  }

  remove(counted: CountedName, bytes: number): void {
    counted.events--
    counted.bytes -= bytes
    if (counted.events > 0) return
    this.#names.delete(counted.name)
    this.#past.set(counted.name, { firstN: counted.firstN, firstAt: counted.firstAt })
    if (this.#past.size <= maxPastNames) return
    const [oldest] = this.#past.keys()
    if (oldest !== undefined) this.#past.delete(oldest)
  }

  /** Forgets all names, also those without events. */
  clear(): void {
    this.#names.clear()
    this.#past.clear()
  }

  /** Returns the names, the one with the most events first. */
  sorted(): CountedName[] {
    return [...this.#names.values()].sort((one, other) => other.events - one.events)
  }
}

/** Returns a text that does not keep a longer text alive, of which it is a part. */
export function ownCopy(text: string): string {
  return JSON.parse(JSON.stringify(text))
}
