import { createHash } from 'node:crypto'
import type { EventObject } from './body-events.ts'
import { isJsonObject } from './json-text.ts'

/** Maximum length of a path that is kept as it is, and length of the beginning that is kept of a longer one, in characters. */
const maxPathChars = 1000
const keptChars = 200

/**
 * The distinct fields of a dataset: the dotted path of each leaf of its events. A list is a leaf, and so is an empty
 * object. A key keeps its own dots, so `{"a.b":1}` and `{"a":{"b":1}}` have the same field, unless their path is long.
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
        const path = shortened(prefix + key)
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

/**
 * Returns a text that stands for a long path: its beginning and its hash. The paths below a name of a megabyte would have a
 * megabyte each.
 */
function shortened(path: string): string {
  if (path.length <= maxPathChars) return path
  return `${path.slice(0, keptChars)}…${createHash('sha256').update(path).digest('base64')}`
}

function isEmpty(object: object): boolean {
  for (const _ in object) return false
  return true
}
