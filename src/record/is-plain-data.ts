import { barePrototype } from './bare-object.ts'
import { maxDepth } from './plain.ts'

const isoDateLength = 24

/**
 * Whether `JSON.stringify` does a container justice: plain data all through, not too deep, and with at most
 * `maxCharacters` in its names and texts, each member counted as one more.
 *
 * Counting ends the walk soon. It keeps both the walk and `JSON.stringify` from cycles, and from objects that refer to one
 * another so often that their text would fill the memory.
 */
export function isPlainData(container: object, maxCharacters: number): boolean {
  return roomAfter(container, maxCharacters, 0) >= 0
}

/** What is left of `room` characters after a container; negative when it is not plain or too large. */
function roomAfter(container: object, room: number, depth: number): number {
  if (depth > maxDepth) return -1
  if (Array.isArray(container)) {
    for (let i = 0; i < container.length && room >= 0; i++) room = roomAfterMember(container[i], room, depth)
    return room
  }
  const prototype = Object.getPrototypeOf(container)
  if (prototype !== Object.prototype && prototype !== null && prototype !== barePrototype) {
    return prototype === Date.prototype && isValidDate(container) ? room - isoDateLength : -1
  }
  for (const name in container) {
    room = roomAfterMember((container as Record<string, unknown>)[name], room - name.length, depth)
    if (room < 0) return room
  }
  return room
}

function isValidDate(value: object): boolean {
  return !Number.isNaN(Date.prototype.getTime.call(value))
}

function roomAfterMember(member: unknown, room: number, depth: number): number {
  switch (typeof member) {
    case 'string':
      return room - member.length - 1
    case 'number':
    case 'boolean':
    case 'undefined':
      return room - 1
    case 'object':
      return member === null ? room - 1 : roomAfter(member, room - 1, depth + 1)
    default:
      return -1
  }
}
