import { isProxy } from 'node:util/types'

/** Maximum depth of nesting. The serializer handles deeper nesting, and may replace it with a stub. */
const maxDepth = 64
/**
 * Maximum number of names listed in an event, besides one for each route. Most of these names lead to groups or to
 * `undefined`. Without the limit, a cycle through a large object would list the object's names once for each level.
 */
const maxOtherNames = 10_000

/**
 * The kind of a member of an event: no field, one field, a group of fields, or unclear.
 *
 * A group that turns out to be empty is one field. An unclear member shows its fields only when it is serialized: an
 * Error, a Map, an instance of a class, a function. A proxy is unclear, because listing its names may take long.
 */
type Shape = 'absent' | 'value' | 'group' | 'unclear'

export function shapeOf(member: unknown): Shape {
  switch (typeof member) {
    case 'string':
    case 'number':
    case 'boolean':
      return 'value'
    case 'undefined':
      return 'absent'
    case 'object':
      return member === null ? 'value' : shapeOfObject(member)
    default:
      return 'unclear'
  }
}

function shapeOfObject(object: object): Shape {
  if (isProxy(object)) return 'unclear'
  const prototype = Object.getPrototypeOf(object)
  if (prototype === Object.prototype || prototype === null) return 'group'
  if (prototype === Array.prototype || prototype === Date.prototype) return 'value'
  return isBare(prototype) ? 'group' : 'unclear'
}

/** The last frozen bare prototype. Hardly any process has more than one: the prototype of nested attributes. */
let barePrototype: object | undefined

/** True if an object inherits nothing from this prototype. */
function isBare(prototype: object): boolean {
  if (prototype === barePrototype) return true
  if (Object.getPrototypeOf(prototype) !== null || Reflect.ownKeys(prototype).length > 0) return false
  if (Object.isFrozen(prototype)) barePrototype = prototype
  return true
}

/**
 * Returns the route to each field of an event: the names that lead to it.
 *
 * @returns `undefined` if the event is not plain data, or is nested too deep, as a cycle is. Also if it has more than
 *   `maxRoutes` fields, or too many other names
 */
export function routesOf(event: object, maxRoutes: number): string[][] | undefined {
  const found: Found = { routes: [], maxRoutes, namesLeft: maxRoutes + maxOtherNames }
  return shapeOf(event) === 'group' && collect(event, [], found) ? found.routes : undefined
}

interface Found {
  readonly routes: string[][]
  readonly maxRoutes: number
  namesLeft: number
}

function collect(group: object, route: string[], found: Found): boolean {
  if (route.length > maxDepth) return false
  const names = Object.keys(group)
  found.namesLeft -= names.length
  if (found.namesLeft < 0) return false
  let isEmpty = true
  for (const name of names) {
    const member = (group as Record<string, unknown>)[name]
    const shape = shapeOf(member)
    if (shape === 'absent') continue
    if (shape === 'unclear') return false
    isEmpty = false
    if (shape === 'value') found.routes.push([...route, name])
    else if (!collect(member as object, [...route, name], found)) return false
    if (found.routes.length > found.maxRoutes) return false
  }
  if (isEmpty && route.length > 0) found.routes.push(route)
  return true
}
