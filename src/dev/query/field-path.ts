/** Maximum number of parts of a path. The rest of a longer path is one part. */
const maxParts = 32
/** Maximum number of objects and array elements that are visited for one path of one event. */
const maxVisits = 10_000
/** Maximum number of objects and arrays in one another. */
const maxDepth = 64

/**
 * The path of a field. `a.b` finds `{"a":{"b":1}}` and `{"a.b":1}`. Arrays are looked into: `tags` finds the array and
 * each of its elements, `items.name` the name of each item, and `items.0.name` that of the first one.
 */
export class FieldPath {
  readonly #name: string
  /** The names that may follow at each part, the shortest first, with the part that follows each of them. */
  readonly #names: readonly (readonly { name: string; next: number }[])[]

  /** Whether each part is a number, and may be the place of an array element. */
  readonly #isIndex: readonly boolean[]

  constructor(name: string) {
    this.#name = name
    const parts = name.split('.', maxParts)
    const rest = name.split('.').slice(maxParts)
    if (rest.length > 0) parts[maxParts - 1] += `.${rest.join('.')}`
    this.#isIndex = parts.map(part => /^\d{1,9}$/.test(part))
    this.#names = parts.map((_, start) =>
      parts.slice(start).map((_, more) => ({
        name: parts.slice(start, start + more + 1).join('.'),
        next: start + more + 1,
      })),
    )
  }

  /** Returns true if `test` is true of a value at this path. Stops at the first one. */
  some(event: object, test: (value: unknown) => boolean): boolean {
    return this.#someIn(event, 0, { test, left: maxVisits, depth: 0 })
  }

  #someIn(group: object, part: number, visit: Visit): boolean {
    for (const { name, next } of this.#names[part] ?? []) {
      if (!Object.hasOwn(group, name)) continue
      if (this.#someAt((group as Record<string, unknown>)[name], next, visit)) return true
    }
    return false
  }

  #someAt(value: unknown, part: number, visit: Visit): boolean {
    if (--visit.left < 0) return false
    const isEnd = part === this.#names.length
    if (isEnd && visit.test(value)) return true
    if (typeof value !== 'object' || value === null || visit.depth >= maxDepth) return false
    visit.depth++
    const isFound = Array.isArray(value)
      ? this.#someOf(value, part, visit) || (this.#isIndex[part] === true && this.#someIn(value, part, visit))
      : !isEnd && this.#someIn(value, part, visit)
    visit.depth--
    return isFound
  }

  #someOf(elements: readonly unknown[], part: number, visit: Visit): boolean {
    for (const element of elements) if (this.#someAt(element, part, visit)) return true
    return false
  }

  /** A text that each line with this field contains, if it has no escapes. */
  get mark(): string {
    const last = this.#name.slice(this.#name.lastIndexOf('.') + 1)
    return /^\d+$/.test(last) ? '' : `${last}"`
  }
}

interface Visit {
  readonly test: (value: unknown) => boolean
  left: number
  depth: number
}
