import type { EventObject } from './body-events.ts'
import { isJsonObject } from './json-text.ts'

/**
 * The distinct fields of a dataset: the dotted path of each leaf of its events. A list is a leaf, and so is an empty
 * object. A key keeps its own dots, so `{"a.b":1}` and `{"a":{"b":1}}` have the same field.
 */
export class FieldPaths {
  #known = new Set<string>()

  get count(): number {
    return this.#known.size
  }

  /**
   * Adds all fields of an event, or none if they would exceed `limit`.
   *
   * @returns the path of the first field beyond the limit, or `undefined` if the fields were added
   */
  add(event: EventObject, limit: number): string | undefined {
    const added = new Set<string>()
    // The loop avoids recursion because JSON may be nested more deeply than the call stack allows.
    const pending = [{ object: event, prefix: '' }]
    for (const { object, prefix } of pending) {
      for (const key of Object.keys(object)) {
        const value = object[key]
        const path = prefix + key
        if (isJsonObject(value) && !isEmpty(value)) {
          pending.push({ object: value, prefix: `${path}.` })
        } else if (!this.#known.has(path)) {
          added.add(path)
          if (this.#known.size + added.size > limit) return path
        }
      }
    }
    for (const path of added) this.#known.add(path)
    return undefined
  }
}

function isEmpty(object: object): boolean {
  for (const _ in object) return false
  return true
}
