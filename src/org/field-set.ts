import { maxAbsent, routesOf, shapeOf } from './field-routes.ts'

/** A longer path is not let in, whatever room there is, which bounds the memory. Nobody looks for such a field. */
const maxPathLength = 1000

/** Most fields of a dataset that are taken in without being asked for: an application may put values into their names. */
const maxFields = 20_000

/** The names known in one place of an event, each with what is known below it. */
class Level {
  isField = false
  readonly names = new Map<string, Level>()
}

/**
 * The fields of one dataset, by path. `{ "a.b": 1 }` and `{ "a": { "b": 1 } }` have the same one.
 *
 * The routes that led to the fields are remembered too, as levels of names: an event is compared with them without
 * putting paths together. They start anew when there are too many.
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
   * Whether an event is plain data, and all its fields are known or could be let in, and now are, without making more
   * than `most`. If not, none is let in.
   */
  fit(event: object, maxFields: number): boolean {
    return (shapeOf(event) === 'group' && covers(this.#root, event)) || this.#admitAll(event, maxFields)
  }

  /** Lets one field in, unless that would make more than `most`. */
  admit(path: string, maxFields: number): boolean {
    if (this.#paths.has(path)) return true
    if (this.size >= maxFields || path.length > maxPathLength) return false
    this.#paths.add(path)
    return true
  }

  /** Takes the fields of plain data in, whether or not there is room for them, but for more than any license allows. */
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

/** Whether all fields of a group of plain data are known, by the routes they have here. */
function covers(level: Level, group: object): boolean {
  let isEmpty = true
  let absent = 0
  // The quickest loop. Should it see an inherited name, that is not known, and the long way is taken.
  for (const name in group) {
    const member = (group as Record<string, unknown>)[name]
    const shape = shapeOf(member)
    if (shape === 'absent') {
      if (++absent > maxAbsent) return false
      continue
    }
    const next = level.names.get(name)
    if (next === undefined) return false
    if (shape === 'value' ? !next.isField : shape === 'unclear' || !covers(next, member as object)) return false
    isEmpty = false
  }
  return !isEmpty || level.isField
}
