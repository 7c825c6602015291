import { bareObject, barePrototype } from './bare-object.ts'

/** Deepest nesting made from one name; the segments beyond stay one dotted key. */
const maxLevels = 16

/** More attributes than these are left as they are. */
const maxNames = 10_000

/** Names are few and come again and again, so their segments are remembered, for this many names of this length. */
const maxRememberedNames = 2000
const maxRememberedLength = 256
const remembered = new Map<string, readonly string[]>()

/**
 * Dotted names as nested objects: `http.request.method` becomes `{ http: { request: { method } } }`.
 *
 * - Where a value and a group have the same name, the value keeps it and the group's members keep dotted names:
 *   `a` and `a.b` become `{ "a": 1, "a.b": 2 }`, whichever comes first. A value that is an object is not added to.
 * - Names with an empty segment (`a..b`, `.a`, `a.`) stay as they are, and so do names inside of values.
 * - Without any dotted name, or with more than 10,000 names, the same object is returned.
 */
export function nestAttributes(attributes: object): object {
  if (!hasDottedName(attributes)) return attributes
  const names = Object.keys(attributes)
  const values = attributes as Record<string, unknown>
  return nest(values, names, segmentsOf) ?? nest(values, names, name => segmentsBeside(values, name)) ?? attributes
}

/** Whether there is anything to nest, and not so much that it would take long. */
function hasDottedName(attributes: object): boolean {
  let count = 0
  let hasDot = false
  for (const name in attributes) {
    if (++count > maxNames) return false
    hasDot ||= name.includes('.')
  }
  return hasDot
}

/** The nested object; `undefined` as soon as a value and a group collide. */
function nest(
  values: Record<string, unknown>,
  names: readonly string[],
  segments: (name: string) => readonly string[],
): object | undefined {
  const root = bareObject()
  for (const name of names) {
    const path = segments(name)
    const last = path.length - 1
    let group = root
    for (let i = 0; i < last; i++) {
      const segment = path[i] as string
      let child = group[segment]
      if (child === undefined) {
        child = bareObject()
        group[segment] = child
      }
      if (!isGroup(child)) return undefined
      group = child
    }
    const leaf = path[last] as string
    if (group[leaf] !== undefined) return undefined
    group[leaf] = values[name]
  }
  return root
}

function isGroup(child: unknown): child is Record<string, unknown> {
  return typeof child === 'object' && child !== null && Object.getPrototypeOf(child) === barePrototype
}

function segmentsOf(name: string): readonly string[] {
  const known = remembered.get(name)
  if (known !== undefined) return known
  const segments = split(name)
  if (name.length <= maxRememberedLength) {
    if (remembered.size === maxRememberedNames) remembered.clear()
    remembered.set(name, segments)
  }
  return segments
}

function split(name: string): string[] {
  if (name.startsWith('.') || name.endsWith('.') || name.includes('..')) return [name]
  const segments: string[] = []
  let start = 0
  for (let dot = name.indexOf('.'); dot >= 0 && segments.length < maxLevels - 1; dot = name.indexOf('.', start)) {
    segments.push(name.slice(start, dot))
    start = dot + 1
  }
  segments.push(name.slice(start))
  return segments
}

/** The segments of a name with those that would nest it under another value kept together. */
function segmentsBeside(values: object, name: string): readonly string[] {
  const segments = segmentsOf(name)
  let group = ''
  for (let i = 0; i < segments.length - 1; i++) {
    group += i === 0 ? segments[i] : `.${segments[i]}`
    if (Object.hasOwn(values, group)) return joinedFrom(segments, i)
  }
  return segments
}

function joinedFrom(segments: readonly string[], start: number): string[] {
  return [...segments.slice(0, start), segments.slice(start).join('.')]
}
