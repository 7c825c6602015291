import { bareObject } from './bare-object.ts'
import { JsonSizes } from './json-sizes.ts'
import { cutText } from './json-text.ts'
import { endFieldsAs, endItemsAs, leftOutBytes } from './left-out.ts'
import { isPlainObject, type Plain, type PlainObject } from './plain.ts'

/** A member gets this much before any is left out: enough for the start of a text and the mark of its cut. */
const minMemberBytes = 64

/** Longer names are cut to this many characters. */
const maxNameLength = 200

interface Member {
  readonly name: string
  readonly value: Plain
  /** Bytes of the value. */
  readonly size: number
  /** Bytes of its name and punctuation. */
  readonly overhead: number
}

/**
 * The event cut to `maxBytes` of JSON, 256 or more, and marked at its root: `"logferry":{"cut":true,"original_bytes":…}`. The
 * same object where it fits.
 *
 * What is largest gives way: the members of a container share its room so that small ones stay whole and the others get
 * equal parts. Where a part would be too small to say anything, the last members are left out, those in `kept` at last.
 * An event that is not `whole` has members left out already, so its size is not given.
 */
export function cutToFit(event: PlainObject, maxBytes: number, kept: readonly string[], whole: boolean): PlainObject {
  const sizes = new JsonSizes()
  const { members, bytes } = membersOf(event, sizes)
  if (whole && bytes <= maxBytes) return event
  const mark: PlainObject = { cut: true }
  if (whole && sizes.areExact) mark.original_bytes = bytes
  const own = members.find(({ name }) => name === 'logferry')
  const ownMark = own !== undefined && isPlainObject(own.value) && own.size <= maxBytes / 4 ? own.value : {}
  const root = { logferry: { ...ownMark, ...mark } }
  const others = own === undefined ? members : members.filter(member => member !== own)
  return Object.assign(shortenMembers(others, event, maxBytes - sizes.of(root), sizes, kept), root)
}

function shorten({ value, size }: Member, maxBytes: number, sizes: JsonSizes): Plain {
  if (size <= maxBytes) return value
  if (typeof value === 'string') return cutText(value, maxBytes)
  if (Array.isArray(value)) return shortenItems(value, maxBytes, sizes)
  return isPlainObject(value) ? shortenMembers(membersOf(value, sizes).members, value, maxBytes, sizes, []) : value
}

function shortenItems(items: readonly Plain[], maxBytes: number, sizes: JsonSizes): Plain[] {
  const members = items.map((value): Member => ({ name: '', value, size: sizes.of(value), overhead: 1 }))
  const { taken, maxMemberBytes } = share(members, maxBytes)
  const cut = taken.map(member => shorten(member, maxMemberBytes, sizes))
  if (taken.length < members.length) endItemsAs(items, cut)
  return cut
}

/** The fields of an object, and its size. */
function membersOf(fields: PlainObject, sizes: JsonSizes): { members: Member[]; bytes: number } {
  let bytes = 1 // each field ends with a comma or the closing brace
  const members = Object.entries(fields).map(([name, value], i): Member => {
    const size = sizes.of(value)
    const overhead = sizes.of(name) + 2
    bytes += overhead + size
    if (name.length <= maxNameLength) return { name, value, size, overhead }
    const shortName = `${name.slice(0, maxNameLength)}…${i}` // the number keeps names apart that begin alike
    return { name: shortName, value, size, overhead: sizes.of(shortName) + 2 }
  })
  return { members, bytes: Math.max(bytes, 2) }
}

/** The first ones of the members of `whole`, those in `kept` before the others, shortened where they are large. */
function shortenMembers(
  members: readonly Member[],
  whole: PlainObject,
  maxBytes: number,
  sizes: JsonSizes,
  kept: readonly string[],
): PlainObject {
  const isKept = ({ name }: Member) => kept.includes(name)
  const byWorth = [...members.filter(isKept), ...members.filter(member => !isKept(member))]
  const { taken, maxMemberBytes } = share(byWorth, maxBytes)
  const isTaken = new Set(taken)
  const cut = bareObject() as PlainObject
  for (const member of members) if (isTaken.has(member)) cut[member.name] = shorten(member, maxMemberBytes, sizes)
  if (taken.length < members.length) endFieldsAs(whole, members.length, cut)
  return cut
}

/** The first of the members, as many as can have a part worth having, and the most bytes that the value of one may take. */
function share(members: readonly Member[], maxBytes: number): { taken: readonly Member[]; maxMemberBytes: number } {
  let count = 0
  let room = maxBytes - '[]'.length - leftOutBytes
  let roomForValues = room
  for (const { size, overhead } of members) {
    room -= overhead + Math.min(size, minMemberBytes)
    if (room < 0) break
    roomForValues -= overhead
    count++
  }
  const taken = members.slice(0, count)
  const sizes = Float64Array.from(taken, ({ size }) => size)
  return { taken, maxMemberBytes: level(sizes, roomForValues) }
}

/** The size to which all that are larger have to be cut for their sum to be at most `room`. */
function level(sizes: Float64Array, room: number): number {
  sizes.sort()
  let rest = room
  for (let i = 0; i < sizes.length; i++) {
    const size = sizes[i] as number
    const part = rest / (sizes.length - i)
    if (size > part) return Math.floor(part)
    rest -= size
  }
  return room
}
