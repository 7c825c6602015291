import type { NonFinite } from '../record/plain.ts'
import { shapeOf } from './field-routes.ts'

/** A name on the way to declared paths. */
class Place {
  /** True if a declared path ends here. */
  isDeclared = false
  readonly names = new Map<string, Place>()
}

export interface FieldTextsOptions {
  /** Maximum bytes of the texts of an event. Larger groups are first cut, with their event. */
  maxTextBytes: number
  /**
   * Returns the JSON of a group of plain data. Returns `undefined` for any other group, and for one that takes more than
   * `maxBytes` or takes long to read.
   */
  toJson: (group: object, maxBytes: number, nonFinite: NonFinite) => string | undefined
  /** Returns an event as it is sent: its line, parsed. */
  asSent: (event: object, nonFinite: NonFinite) => object
}

/**
 * Turns declared groups of an event into one text each: the JSON of the group. A group that has a name for each user or
 * each request would otherwise add a field for each of them.
 */
export class FieldTexts {
  readonly #root = new Place()
  readonly #maxBytes: number
  readonly #toJson: FieldTextsOptions['toJson']
  readonly #asSent: FieldTextsOptions['asSent']

  /** @param paths dotted paths of groups, with or without a final `.*` */
  constructor(paths: readonly string[], { maxTextBytes, toJson, asSent }: FieldTextsOptions) {
    this.#maxBytes = maxTextBytes
    this.#toJson = toJson
    this.#asSent = asSent
    for (const path of paths) {
      let place = this.#root
      for (const name of path.replace(/\.\*$/, '').split('.')) {
        let next = place.names.get(name)
        if (next === undefined) {
          next = new Place()
          place.names.set(name, next)
        }
        place = next
      }
      place.isDeclared = true
    }
  }

  /**
   * Returns the event with its declared groups as texts, or the event itself if it has none of them. Never throws, and
   * never changes the event.
   */
  fold(event: object, nonFinite: NonFinite = 'null'): object {
    try {
      if (shapeOf(event) === 'group' && !hasToJson(event)) {
        let bytesLeft = this.#maxBytes
        return folded(event, this.#root, group => {
          const text = shapeOf(group) === 'group' ? this.#toJson(group, bytesLeft, nonFinite) : undefined
          if (text === undefined) throw notPlain
          bytesLeft -= text.length
          return text
        })
      }
    } catch {
      // A getter or a proxy threw, or a group is not plain data or too large. The event as it is sent is plain, and fits.
    }
    try {
      return folded(this.#asSent(event, nonFinite), this.#root, JSON.stringify)
    } catch {
      return event // no stack or memory left
    }
  }
}

/** The group of a declared path, and where its text goes. */
interface Declared {
  group: object
  /** True if `group` has the members of several groups, because several routes lead to the path. */
  isMerged: boolean
  /** The part of the copied event that receives the text. */
  readonly at: Record<string, unknown>
  readonly name: string
}

/** The declared paths of one event that have a group, or another value. */
interface Found {
  readonly groups: Map<Place, Declared>
  /** Declared paths that have a value that is no group. */
  readonly values: Set<Place>
}

/** Returns a copy of the event with texts in place of the declared groups, or the event itself if it has none. */
function folded(event: object, root: Place, textOf: (group: object) => string): object {
  const found: Found = { groups: new Map(), values: new Set() }
  const copy = withoutGroups(event, root, found)
  for (const [place, { group, at, name }] of found.groups) {
    // A value in the place of the group keeps its field.
    put(at, found.values.has(place) ? `${name}.*` : name, textOf(group))
  }
  return copy
}

/** Returns a copy of a group without the declared groups, which are added to `found`. */
function withoutGroups(group: object, from: Place, found: Found): object {
  let copy: Record<string, unknown> | undefined
  for (const name in group) {
    const to = from.names.get(name) ?? (name.includes('.') ? placeOfDotted(name, from) : undefined)
    if (to === undefined || !Object.hasOwn(group, name)) continue
    const member = (group as Record<string, unknown>)[name]
    if (!(to instanceof Place)) {
      copy ??= { ...group }
      delete copy[name]
      if (addDotted(found, to, member, copy) && !Object.hasOwn(copy, to.path)) put(copy, to.path, undefined)
    } else if (!isGroup(member)) {
      if (to.isDeclared && member !== undefined) found.values.add(to)
    } else if (to.isDeclared) {
      copy ??= { ...group }
      if (addGroup(found, to, member, copy, name)) put(copy, name, undefined)
      else delete copy[name]
    } else {
      const rest = withoutGroups(checkedPlain(member), to, found)
      if (rest === member) continue
      copy ??= { ...group }
      if (Object.keys(rest).length > 0) put(copy, name, rest)
      else delete copy[name]
    }
  }
  return copy ?? group
}

/**
 * Notes a group at a declared path. If the event has other groups at that path, their members are joined.
 *
 * @param at the part of the copied event that receives the text, as `name`, if this is the first group of the path
 * @returns true if it is the first one
 */
function addGroup({ groups }: Found, place: Place, group: object, at: Record<string, unknown>, name: string): boolean {
  const known = groups.get(place)
  if (known === undefined) {
    groups.set(place, { group, isMerged: false, at, name })
    return true
  }
  const members = mergedMembers(known)
  for (const [key, value] of Object.entries(checkedPlain(group))) join(members, key, value)
  return false
}

/** Notes a member of a declared group, as `addGroup` notes a group. An event may have thousands of them. */
function addDotted(
  { groups }: Found,
  { place, path, rest }: DottedMember,
  value: unknown,
  at: Declared['at'],
): boolean {
  const known = groups.get(place)
  if (known === undefined) groups.set(place, { group: { [rest]: value }, isMerged: false, at, name: path })
  else join(mergedMembers(known), rest, value)
  return known === undefined
}

function mergedMembers(known: Declared): Record<string, unknown> {
  if (!known.isMerged) known.group = Object.assign(Object.create(null), checkedPlain(known.group))
  known.isMerged = true
  return known.group as Record<string, unknown>
}

function join(members: Record<string, unknown>, name: string, value: unknown): void {
  members[name] = name in members ? [members[name], value] : value
}

/** Sets a field, whatever its name: `__proto__` is one as well. */
function put(fields: object, name: string, value: unknown): void {
  Object.defineProperty(fields, name, { value, enumerable: true, configurable: true, writable: true })
}

/** True for a value that is no single field: a group, or an object that shows its fields only when it is serialized. */
function isGroup(member: unknown): member is object {
  return typeof member === 'object' && member !== null && shapeOf(member) !== 'value'
}

function checkedPlain(group: object): object {
  if (shapeOf(group) !== 'group' || hasToJson(group)) throw notPlain
  return group
}

function hasToJson(group: object): boolean {
  return typeof (group as { toJSON?: unknown }).toJSON === 'function'
}

const notPlain = new Error('not plain data, or too large')

/** A member of a declared group, by a dotted name: `labels.env` is `env` in `labels`. */
interface DottedMember {
  readonly place: Place
  readonly path: string
  readonly rest: string
}

/** Returns the place that a dotted name leads to, or the declared group on the way to it. */
function placeOfDotted(name: string, from: Place): Place | DottedMember | undefined {
  let place = from
  for (let start = 0; ; ) {
    const dot = name.indexOf('.', start)
    const next = place.names.get(dot < 0 ? name.slice(start) : name.slice(start, dot))
    if (next === undefined || dot < 0) return next
    if (next.isDeclared) return { place: next, path: name.slice(0, dot), rest: name.slice(dot + 1) }
    place = next
    start = dot + 1
  }
}
