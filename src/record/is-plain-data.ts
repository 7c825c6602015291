import { isProxy } from 'node:util/types'
import { barePrototype } from './bare-object.ts'
import { maxDepth, type NonFinite } from './plain.ts'

const isoDateLength = 24

/** V8 makes hash tables of Winston's infos with more names than this. */
const maxNames = 17

/**
 * Whether `JSON.stringify` does a container justice: plain data all through, not too deep, and with at most
 * `maxCharacters` in its names and texts, each member counted as one more.
 *
 * Counting ends the walk soon. It keeps both the walk and `JSON.stringify` from cycles, and from objects that refer to one
 * another so often that their text would fill the memory.
 */
export function isPlainData(container: object, maxCharacters: number, nonFinite: NonFinite = 'null'): boolean {
  hasNonFinite = false
  const names = wideNames(container)
  const left =
    names === undefined ? charactersLeft(container, maxCharacters) : roomAfterWide(container, names, maxCharacters)
  return left >= 0 && (nonFinite === 'null' || !hasNonFinite)
}

/** Whether the walk has met a number that `JSON.stringify` writes as `null`. */
let hasNonFinite = false

/** What a container leaves of `maxCharacters`; negative when it is not plain or too large. */
export function charactersLeft(container: object, maxCharacters: number): number {
  return roomAfter(container, maxCharacters, 0)
}

/** What is left of `room` characters after a container; negative when it is not plain or too large. */
function roomAfter(container: object, room: number, depth: number): number {
  if (depth > maxDepth) return -1
  if (Array.isArray(container)) {
    for (let i = 0; i < container.length && room >= 0; i++) room = roomAfterMember(container[i], room, depth)
    return room
  }
  if (!isRecord(container)) return isValidDate(container) ? room - isoDateLength : -1
  for (const name in container) {
    room = roomAfterMember(container[name], room - name.length, depth)
    if (room < 0) return room
  }
  return room
}

function roomAfterWide(container: object, names: readonly string[], maxCharacters: number): number {
  if (!isRecord(container)) return -1
  let room = maxCharacters
  for (let i = 0; i < names.length && room >= 0; i++) {
    const name = names[i] as string
    room = roomAfterMember(container[name], room - name.length, 0)
  }
  return room
}

/**
 * The names of a wide event; `undefined` for all others. To loop over the names of a hash table takes V8 twice as long as to
 * list them first, and a loop that has met one is slower from then on, whatever it loops over. Listing calls a proxy for each
 * name, before a clock is looked at.
 */
export function wideNames(event: object): readonly string[] | undefined {
  if (isProxy(event)) return undefined
  const names = Object.keys(event)
  return names.length > maxNames ? names : undefined
}

/** As `if`s, which V8 compiles to a look at each value's tag; a `switch (typeof member)` calls out for the name of the type. */
function roomAfterMember(member: unknown, room: number, depth: number): number {
  if (typeof member === 'string') return room - member.length - 1
  if (typeof member === 'object') return member === null ? room - 1 : roomAfter(member, room - 1, depth + 1)
  if (typeof member === 'number') {
    if (member - member !== 0) hasNonFinite = true
    return room - 1
  }
  return typeof member === 'boolean' || member === undefined ? room - 1 : -1
}

/**
 * Whether an object is a literal, or as good as one. Its `constructor` says so faster than its prototype, for which V8
 * leaves compiled code. What else an object inherits that has the one of literals is found by the walk, which takes what
 * is inherited too; a `toJSON` that cannot be enumerated is called, and what comes of it is checked as any other text.
 */
export function isRecord(container: object): container is Record<string, unknown> {
  if (container.constructor === Object) return true
  const prototype = Object.getPrototypeOf(container)
  return prototype === Object.prototype || prototype === null || prototype === barePrototype
}

export function isValidDate(value: object): value is Date {
  return Object.getPrototypeOf(value) === Date.prototype && !Number.isNaN(Date.prototype.getTime.call(value))
}
