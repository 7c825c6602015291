/** Maximum depth of nesting. The serializer handles deeper nesting, and may replace it with a stub. */
const maxDepth = 64
/**
 * Maximum number of `undefined` members in a group. A group with more counts as unclear, because checking them would
 * take long.
 */
export const maxAbsent = 1000

/**
 * The kind of a member of an event: no field, one field, a group of fields, or unclear.
 *
 * A group that turns out to be empty is one field. An unclear member shows its fields only when it is serialized: an
 * Error, a Map, an instance of a class, a function.
 */
export type Shape = 'absent' | 'value' | 'group' | 'unclear'

export function shapeOf(member: unknown): Shape {
  switch (typeof member) {
    case 'string':
    case 'number':
    case 'boolean':
      return 'value'
    case 'undefined':
      return 'absent'
    case 'object':
      return member === null ? 'value' : shapeOfObject(Object.getPrototypeOf(member))
    default:
      return 'unclear'
  }
}

function shapeOfObject(prototype: object | null): Shape {
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
 * @returns `undefined` if the event is not plain data, is nested too deep (as a cycle is), or has more than `maxRoutes`
 * fields
 */
export function routesOf(event: object, maxRoutes: number): string[][] | undefined {
  const routes: string[][] = []
  return shapeOf(event) === 'group' && collect(event, [], routes, maxRoutes) ? routes : undefined
}

function collect(group: object, route: string[], routes: string[][], maxRoutes: number): boolean {
  if (route.length > maxDepth) return false
  let isEmpty = true
  let absent = 0
  for (const name of Object.keys(group)) {
    const member = (group as Record<string, unknown>)[name]
    const shape = shapeOf(member)
    if (shape === 'absent' && ++absent <= maxAbsent) continue
    if (shape === 'absent' || shape === 'unclear') return false
    isEmpty = false
    if (shape === 'value') routes.push([...route, name])
    else if (!collect(member as object, [...route, name], routes, maxRoutes)) return false
    if (routes.length > maxRoutes) return false
  }
  if (isEmpty && route.length > 0) routes.push(route)
  return true
}
