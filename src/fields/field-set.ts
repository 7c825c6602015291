import { routesOf, shapeOf } from './field-routes.ts'

/**
 * Maximum length of a path that `fit` and `admit` accept, in characters. It bounds the memory, and users do not search
 * for longer paths.
 */
export const maxPathLength = 1000

/** Maximum number of `undefined` members in a group that is compared with the levels. The slow check counts them all. */
const maxAbsent = 1000
/**
 * Depth from which on the names of a group are counted before they are compared. A cycle through a large object would
 * otherwise list the object's names once for each level.
 */
const deep = 4
/** Maximum number of names in a group from that depth on. */
const maxDeepNames = 1000

/** `add` stops at this number of fields, because an application may put values into field names. */
const maxFields = 20_000

/** The names at one place of an event, each with the names below it. */
class Level {
  isField = false
  readonly names = new Map<string, Level>()
}

/**
 * The fields of one dataset, by path. `{ "a.b": 1 }` and `{ "a": { "b": 1 } }` contain the same field.
 *
 * The set also remembers the routes that led to the fields, as levels of names. With these levels it compares an event
 * without joining paths. It discards all levels when there are too many.
 */
export class FieldSet {
  readonly #paths: Set<string>
  #root = new Level()
  #levels = 0

  constructor(paths: readonly string[]) {
    this.#paths = new Set(paths)
  }

  get size(): number {
    return this.#paths.size
  }

  /**
   * Returns true if an event is plain data, and if all its fields are known or fit within `maxFields`. Then the set
   * admits the new fields; otherwise it admits none.
   */
  fit(event: object, maxFields: number): boolean {
    return (shapeOf(event) === 'group' && covers(this.#root, event, 0)) || this.#admitAll(event, maxFields)
  }

  /** Admits one field, unless the set would exceed `maxFields`. Returns true if the set contains the field. */
  admit(path: string, maxFields: number): boolean {
    if (this.#paths.has(path)) return true
    if (this.size >= maxFields || path.length > maxPathLength) return false
    this.#paths.add(path)
    return true
  }

  /**
   * Adds the fields of plain data, even if there is no room for them, up to 20 000 fields: more than any license
   * allows.
   */
  add(fields: object): void {
    for (const route of routesOf(fields, Number.POSITIVE_INFINITY) ?? []) {
      if (this.size < maxFields) this.#paths.add(route.join('.'))
    }
  }

  #admitAll(event: object, maxFields: number): boolean {
    const routes = routesOf(event, Math.max(maxFields, this.size))
    if (routes === undefined) return false
    const added = new Set<string>()
    for (const route of routes) {
      const path = route.join('.')
      if (this.#paths.has(path)) continue
      added.add(path)
      if (path.length > maxPathLength || this.size + added.size > maxFields) return false
    }
    for (const path of added) this.#paths.add(path)
    for (const route of routes) this.#remember(route)
    return true
  }

  #remember(route: readonly string[]): void {
    if (this.#levels > 1000 + 8 * this.size) {
      this.#root = new Level()
      this.#levels = 0
    }
    let level = this.#root
    for (const name of route) {
      let next = level.names.get(name)
      if (next === undefined) {
        next = new Level()
        level.names.set(name, next)
        this.#levels++
      }
      level = next
    }
    level.isField = true
  }
}

/** True if the levels contain a route to every field of a group of plain data. */
function covers(level: Level, group: object, depth: number): boolean {
  if (depth >= deep && Object.keys(group).length > maxDeepNames) return false
  let isEmpty = true
  let absent = 0
  // `for … in` is the fastest loop. If it yields an inherited name, the name is unknown and the slow check decides.
  for (const name in group) {
    const member = (group as Record<string, unknown>)[name]
    const shape = shapeOf(member)
    if (shape === 'absent') {
      if (++absent > maxAbsent) return false
      continue
    }
    const next = level.names.get(name)
    if (next === undefined) return false
    if (shape === 'value' ? !next.isField : shape === 'unclear' || !covers(next, member as object, depth + 1))
      return false
    isEmpty = false
  }
  return !isEmpty || level.isField
}
