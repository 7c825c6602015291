import { isProxy } from 'node:util/types'
import { barePrototype } from './bare-object.ts'
import { maxDepth, type NonFinite } from './plain.ts'
import { deep, membersPerClock, ReadingClock } from './reading-clock.ts'

const isoDateLength = 24

/** V8 makes a hash table of a Winston info with more names than this. */
const maxNames = 17

/**
 * True if `JSON.stringify` reproduces a container in full: plain data throughout, not nested too deep, with at most
 * `maxCharacters` in its names and texts. Each member counts as one more character. With `nonFinite` set to `'text'`, a
 * container with NaN or an infinity does not qualify.
 *
 * The count ends the walk soon. It protects the walk and `JSON.stringify` from cycles, and from objects that share
 * members so often that their text would fill the memory. A clock ends a walk through large objects or slow code of the
 * application.
 */
export function isPlainData(container: object, maxCharacters: number, nonFinite: NonFinite = 'null'): boolean {
  beginTimed()
  return isReproduced(container, maxCharacters, nonFinite)
}

/** As `isPlainData`, for parsed JSON. Reading it runs no code of the application, so that its time is not limited. */
export function isPlainJson(container: object, maxCharacters: number, nonFinite: NonFinite): boolean {
  isTimed = false
  return isReproduced(container, maxCharacters, nonFinite)
}

function isReproduced(container: object, maxCharacters: number, nonFinite: NonFinite): boolean {
  hasNonFinite = false
  const names = wideNames(container)
  const left =
    names === undefined ? roomAfter(container, maxCharacters, 0) : roomAfterWide(container, names, maxCharacters)
  return left >= 0 && (nonFinite === 'null' || !hasNonFinite)
}

const clock = new ReadingClock()
let isTimed = true
/** Number of members read, in all walks. */
let members = 0

function beginTimed(): void {
  isTimed = true
  clock.begin()
}

function isSlow(): boolean {
  return isTimed && clock.isSlow()
}

/** True after the walk has met a number that `JSON.stringify` writes as `null`. */
let hasNonFinite = false

/** Returns `maxCharacters` less the characters of a container, or a negative number if it is not plain or too large. */
export function charactersLeft(container: object, maxCharacters: number): number {
  beginTimed()
  return roomAfter(container, maxCharacters, 0)
}

/** Returns `room` less the characters of a container, or a negative number if it is not plain or too large. */
function roomAfter(container: object, room: number, depth: number): number {
  if (depth > maxDepth) return -1
  if (Array.isArray(container)) {
    for (let i = 0; i < container.length && room >= 0; i++) {
      if (++members % membersPerClock === 0 && isSlow()) return -1
      room = roomAfterMember(container[i], room, depth)
    }
    return room
  }
  if (!isRecord(container)) return isValidDate(container) ? room - isoDateLength : -1
  if (depth >= deep && isSlow()) return -1
  for (const name in container) {
    if (++members % membersPerClock === 0 && isSlow()) return -1
    room = roomAfterMember(container[name], room - name.length, depth)
    if (room < 0) return room
  }
  return room
}

function roomAfterWide(container: object, names: readonly string[], maxCharacters: number): number {
  if (!isRecord(container)) return -1
  let room = maxCharacters
  for (let i = 0; i < names.length && room >= 0; i++) {
    if (++members % membersPerClock === 0 && isSlow()) return -1
    const name = names[i] as string
    room = roomAfterMember(container[name], room - name.length, 0)
  }
  return room
}

/**
 * Returns the names of a wide event, and `undefined` for any other event.
 *
 * V8 takes twice as long to loop over the names of a hash table as to list the names first. A loop that has met a hash
 * table stays slower, whatever it loops over. The names of a proxy are not listed: listing calls the proxy for each
 * name, before the clock is read.
 */
export function wideNames(event: object): readonly string[] | undefined {
  if (isProxy(event)) return undefined
  const names = Object.keys(event)
  return names.length > maxNames ? names : undefined
}

/**
 * Uses `if`s, which V8 compiles to a check of each value's tag. A `switch (typeof member)` calls a function for the
 * name of the type.
 */
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
 * True if an object is a literal, or as good as one. Reading `constructor` is faster than reading the prototype, for
 * which V8 leaves compiled code.
 *
 * Another object may have the same `constructor` as a literal. The walk finds members that such an object inherits,
 * because it reads inherited members, too. `JSON.stringify` calls a `toJSON` that is not enumerable. The caller checks
 * the resulting text like any other.
 */
export function isRecord(container: object): container is Record<string, unknown> {
  if (container.constructor === Object) return true
  const prototype = Object.getPrototypeOf(container)
  return prototype === Object.prototype || prototype === null || prototype === barePrototype
}

export function isValidDate(value: object): value is Date {
  return Object.getPrototypeOf(value) === Date.prototype && !Number.isNaN(Date.prototype.getTime.call(value))
}
