import { isProxy } from 'node:util/types'
import { isRecord, isValidDate } from './is-plain-data.ts'
import { maxDepth } from './plain.ts'
import { membersPerClock, ReadingClock } from './reading-clock.ts'

/**
 * Maximum number of members of an object that is copied here, so that the copy takes some hundred microseconds at most.
 * A clock ends the copy of objects with slow accessors.
 */
const maxMembers = 10_000

/** Number of members of an object that are read without a look at the clock: an accessor may take a millisecond. */
const fewMembers = 16

/**
 * True if `{ ...value }` has the fields that are sent of the value. A spread would lose fields of an instance, and a
 * `toJSON` would replace the fields of its copy.
 *
 * @throws whatever an accessor of the value throws
 */
export function isSpreadable(value: unknown): boolean {
  return (
    typeof value === 'object' &&
    value !== null &&
    !isProxy(value) &&
    isRecord(value) &&
    typeof (value as { toJSON?: unknown }).toJSON !== 'function'
  )
}

/**
 * True if the members of an object are read in no time, or are few. A spread of slow accessors cannot be interrupted.
 *
 * @throws whatever an accessor of the object throws
 */
export function isQuicklyRead(record: object, names: readonly string[] = Object.keys(record)): boolean {
  if (names.length <= fewMembers) return true
  const clock = new ReadingClock()
  for (let i = 0; i < names.length; i++) {
    if (i % fewMembers === 0 && clock.isSlow()) return false
    void (record as Record<string, unknown>)[names[i] as string]
  }
  return true
}

/**
 * True if an object has accessors that take long. A pause of the process looks like slow accessors, so an object without
 * any is not slow.
 *
 * @throws whatever an accessor of the object throws
 */
export function isReadSlowly(record: object, names: readonly string[] = Object.keys(record)): boolean {
  return !isQuicklyRead(record, names) && (isProxy(record) || names.some(name => mayBeAccessor(record, name)))
}

function mayBeAccessor(record: object, name: string): boolean {
  const descriptor = Object.getOwnPropertyDescriptor(record, name)
  return descriptor === undefined || descriptor.get !== undefined
}

/**
 * Copies an event of plain data with all its members. No object of the event is in the copy, except for Winston's own
 * under symbols, which are not sent. Dates become texts.
 *
 * Returns `undefined` if the event is not plain data, has too many members, takes long to read, or throws when it is
 * read.
 */
export function ownCopy(event: object): Record<string, unknown> | undefined {
  try {
    return copyOfRecord(event, new Room(), 0)
  } catch {
    return undefined
  }
}

/** The work that may still be spent on a copy. */
class Room {
  #members = maxMembers
  #sinceClock = 0
  #clock: ReadingClock | undefined

  /**
   * Takes room for a container with so many members. Returns false if there is none, or if the members read so far were
   * slow.
   */
  take(members: number): boolean {
    this.#members -= members
    if (this.#members < 0 || (this.#sinceClock >= membersPerClock && this.isSlow())) return false
    this.#sinceClock += members
    return true
  }

  /**
   * True if reading takes long. Checked for every object within an event, because a spread also reads symbols, which
   * `take` does not count. A spread of 200,000 symbols takes a tenth of a second.
   */
  isSlow(): boolean {
    this.#sinceClock = 0
    this.#clock ??= new ReadingClock()
    return this.#clock.isSlow()
  }
}

function copyOfRecord(record: object, room: Room, depth: number): Record<string, unknown> | undefined {
  if (depth > maxDepth || !isSpreadable(record)) return undefined
  const names = Object.keys(record)
  let left = names.length
  if (!room.take(left) || !isQuicklyRead(record, names)) return undefined
  if (depth > 0 && room.isSlow()) return undefined
  const copy: Record<string, unknown> = { ...record }
  // A loop over the names of the copy takes half as long as one over a list of names.
  for (const name in copy) {
    if (left-- === 0) break // further names are inherited: an application may extend `Object.prototype`
    const member = copy[name]
    if (isScalar(member)) continue
    const own = copyOfMember(member, room, depth + 1)
    if (own === undefined) return undefined
    copy[name] = own
  }
  return copy
}

function copyOfArray(array: readonly unknown[], room: Room, depth: number): unknown[] | undefined {
  if (depth > maxDepth || isProxy(array) || 'toJSON' in array) return undefined
  const { length } = array
  if (!room.take(length)) return undefined
  const copy: unknown[] = []
  // Not `for … of`: an array may have an iterator of its own.
  for (let i = 0; i < length; i++) {
    const member = array[i]
    const own = isScalar(member) ? member : copyOfMember(member, room, depth + 1)
    if (own === undefined && member !== undefined) return undefined
    copy.push(own)
  }
  return copy
}

function copyOfMember(member: unknown, room: Room, depth: number): unknown {
  if (typeof member !== 'object' || member === null) return undefined
  if (Array.isArray(member)) return copyOfArray(member, room, depth)
  if (isValidDate(member)) return Date.prototype.toISOString.call(member)
  return copyOfRecord(member, room, depth)
}

/** Uses comparisons, which V8 compiles to a check of the value's tag. */
function isScalar(value: unknown): boolean {
  return (
    typeof value === 'string' ||
    typeof value === 'number' ||
    typeof value === 'boolean' ||
    value === undefined ||
    value === null
  )
}
