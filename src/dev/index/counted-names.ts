/** A name that kept events have, with the number of these events and their bytes. */
export interface CountedName {
  readonly name: string
  events: number
  bytes: number
}

/** Maximum length of a name, in characters. A longer name is cut. */
const maxNameChars = 256

/**
 * The names of the kept events, each held once: datasets, sources or statements. A name is forgotten with its last
 * event, so that there are at most as many names as kept events.
 */
export class CountedNames {
  readonly #names = new Map<string, CountedName>()

  /** Returns the entry of a name, without counting an event. */
  named(name: string): CountedName {
    const known = this.#names.get(name)
    if (known !== undefined) return known
    const short = ownCopy(name.length > maxNameChars ? name.slice(0, maxNameChars) : name)
    const knownShort = this.#names.get(short)
    if (knownShort !== undefined) return knownShort
    const counted = { name: short, events: 0, bytes: 0 }
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
    if (counted.events <= 0) this.#names.delete(counted.name)
  }

  clear(): void {
    this.#names.clear()
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
