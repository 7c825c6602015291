/**
 * A map with few entries that come and go, such as the requests in flight.
 *
 * A `Map` makes a new table each time that its table is full of entries that have gone. The old table, with its last entries,
 * refers to the new one. Once V8 counts one of these tables as old, it keeps all later ones until it collects all
 * garbage, although none is in use: with 16 requests at a time, on average 1.5 KB for each request that was ever made.
 */
export class ShortMap<Key, Value> {
  readonly #keys: Key[] = []
  readonly #values: Value[] = []

  get size(): number {
    return this.#keys.length
  }

  get(key: Key): Value | undefined {
    return this.#values[this.#keys.indexOf(key)]
  }

  /** Adds an entry at the end, or replaces the value of an entry in its place. */
  set(key: Key, value: Value): void {
    const at = this.#keys.indexOf(key)
    if (at >= 0) this.#values[at] = value
    else {
      this.#keys.push(key)
      this.#values.push(value)
    }
  }

  delete(key: Key): void {
    const at = this.#keys.indexOf(key)
    if (at < 0) return
    this.#keys.splice(at, 1)
    this.#values.splice(at, 1)
  }

  /** The keys in the order in which they were added. Changes of the map change them. */
  keys(): readonly Key[] {
    return this.#keys
  }

  /** The values in the order of the keys. Changes of the map change them. */
  values(): readonly Value[] {
    return this.#values
  }

  /** Returns the entries of this moment, in the order of the keys. */
  entries(): [Key, Value][] {
    return this.#keys.map((key, at) => [key, this.#values[at] as Value])
  }
}
