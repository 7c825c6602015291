import { bareObject } from './bare-object.ts'
import { JsonSizes } from './json-sizes.ts'
import { cutText } from './json-text.ts'
import { endFieldsAs, endItemsAs, leftOutBytes } from './left-out.ts'
import { isPlainObject, type Plain, type PlainCopy, type PlainObject } from './plain.ts'

/**
 * Bytes that each member may take before any member is left out: enough for the start of a text and the mark of its
 * cut.
 */
const minMemberBytes = 64

/** Maximum length of a name, in characters. Longer names are cut. */
const maxNameLength = 200

/** Room for the event's own group `logferry`, in bytes, unless a quarter of the event is more. */
const minOwnBytes = 176
/** Members of that group that stay before all others, because they tell how many events this one stands for. */
const keptOfOwn = ['repeated', 'sampling_rate']

/** True if a name may have been longer, before `cutToFit` has cut it. */
export function isCutName(name: string): boolean {
  return name.charCodeAt(maxNameLength) === cutMark && onlyDigits.test(name.slice(maxNameLength + 1))
}

const cutMark = '…'.charCodeAt(0)
const onlyDigits = /^\d{1,10}$/

interface Member {
  readonly name: string
  readonly value: Plain
  /** Size of the value as JSON, in bytes. */
  readonly size: number
  /** Bytes of the name and its punctuation as JSON. */
  readonly overhead: number
}

/**
 * Cuts an event to `maxBytes` of JSON, 256 or more, and marks it at its root:
 * `"logferry":{"cut":true,"original_bytes":…}`. Returns the same object if it fits. The event's own group `logferry` gets a
 * quarter of the bytes at most.
 *
 * Large members are cut first. The members of a container share its bytes so that small members stay whole and the
 * others get equal parts. If a part would be too small to be useful, the last members are left out, and members in
 * `kept` after all others.
 *
 * The mark has `original_bytes` only if the size is known exactly. An event that is not whole has lost members already, so
 * its original size is unknown. An event that was cut before keeps the size of its first mark.
 */
export function cutToFit(
  { fields: event, isWhole }: PlainCopy,
  maxBytes: number,
  kept: readonly string[],
): PlainObject {
  const sizes = new JsonSizes()
  const { members, bytes } = membersOf(event, sizes)
  if (isWhole && bytes <= maxBytes) return event
  const mark: PlainObject = { cut: true }
  if (isWhole && sizes.areExact && !isMarkedAsCut(event)) mark.original_bytes = bytes
  const own = members.find(({ name }) => name === 'logferry')
  const root = { logferry: { ...ownGroup(own, Math.max(maxBytes / 4, minOwnBytes), sizes), ...mark } }
  const others = own === undefined ? members : members.filter(member => member !== own)
  return Object.assign(shortenMembers(others, event, maxBytes - sizes.of(root), sizes, kept), root)
}

/** True if an event has the mark of an event that was cut. */
export function isMarkedAsCut({ logferry }: PlainObject): boolean {
  return logferry !== undefined && isPlainObject(logferry) && logferry.cut === true
}

/** Returns the event's own group `logferry`, cut to `maxBytes` of JSON. */
function ownGroup(own: Member | undefined, maxBytes: number, sizes: JsonSizes): PlainObject {
  if (own === undefined || !isPlainObject(own.value)) return {}
  if (own.size <= maxBytes) return own.value
  return shortenMembers(membersOf(own.value, sizes).members, own.value, maxBytes, sizes, keptOfOwn)
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

/** Returns the fields of an object, and the size of the object as JSON in bytes. */
function membersOf(fields: PlainObject, sizes: JsonSizes): { members: Member[]; bytes: number } {
  let bytes = 1 // each field ends with a comma or the closing brace
  const members = Object.entries(fields).map(([name, value], i): Member => {
    const size = sizes.of(value)
    const overhead = sizes.of(name) + 2
    bytes += overhead + size
    if (name.length <= maxNameLength) return { name, value, size, overhead }
    const shortName = `${name.slice(0, maxNameLength).toWellFormed()}…${i}` // the index keeps long names with the same start apart
    return { name: shortName, value, size, overhead: sizes.of(shortName) + 2 }
  })
  return { members, bytes: Math.max(bytes, 2) }
}

/** Returns the first members of `whole`, members in `kept` before the others. Large members are shortened. */
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

/** Returns the first members, as many as can get a useful part, and the maximum bytes for the value of each. */
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

/** Returns the size to which all larger values must be cut so that the sum of all sizes is at most `room`. */
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
