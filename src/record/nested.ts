import { bareObject, barePrototype } from './bare-object.ts'

/** Maximum depth of nesting made from one name. The segments beyond it stay one dotted key. */
const maxLevels = 16

/** Maximum number of attributes that are nested. More attributes are left as they are. */
const maxNames = 10_000

/** Maximum number of names whose segments are remembered, because names are few and repeat. */
const maxRememberedNames = 2000
/** Maximum length of a name whose segments are remembered. */
const maxRememberedLength = 256
const remembered = new Map<string, readonly string[]>()

/**
 * Turns dotted names into nested objects: `http.request.method` becomes `{ http: { request: { method } } }`.
 *
 * - If a value and a group have the same name, the value keeps it and the group's members keep dotted names. In either
 *   order, `a` and `a.b` become `{ "a": 1, "a.b": 2 }`. No members are added to a value that is an object.
 * - Names with an empty segment (`a..b`, `.a`, `a.`) stay as they are, and so do names inside values.
 * - The same object is returned if no name has a dot, or if there are more than 10,000 names.
 */
export function nestAttributes(attributes: object): object {
  if (!hasDottedName(attributes)) return attributes
  const names = Object.keys(attributes)
  const values = attributes as Record<string, unknown>
  return nest(values, names, segmentsOf) ?? nest(values, names, name => segmentsBeside(values, name)) ?? attributes
}

/** True if a name has a dot, and nesting all names would not take long. */
function hasDottedName(attributes: object): boolean {
  let count = 0
  let hasDot = false
  for (const name in attributes) {
    if (++count > maxNames) return false
    hasDot ||= name.includes('.')
  }
  return hasDot
}

/** Returns the nested object, or `undefined` as soon as a value and a group collide. */
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

/** Returns the segments of a name. From the first group that is also the name of a value, the segments stay one key. */
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
