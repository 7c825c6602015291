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
  /** True while the event is read as it is sent. */
  #isSent = false
  #nonFinite: NonFinite = 'null'
  /** Number of bytes that the texts of another event may still take. */
  #bytesLeft = 0

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
    this.#nonFinite = nonFinite
    try {
      if (shapeOf(event) === 'group' && typeof (event as { toJSON?: unknown }).toJSON !== 'function') {
        this.#bytesLeft = this.#maxBytes
        return this.#foldGroup(event, this.#root)
      }
    } catch {
      // A getter or a proxy threw, or a group is not plain data or too large. The event as it is sent is plain, and fits.
    }
    try {
      const sent = this.#asSent(event, nonFinite)
      this.#isSent = true
      return this.#foldGroup(sent, this.#root)
    } catch {
      return event // no stack or memory left
    } finally {
      this.#isSent = false
    }
  }

  #foldGroup(group: object, from: Place): object {
    let copy: Record<string, unknown> | undefined
    /** Members that were logged under dotted names, by the path of their declared group. */
    let dotted: Map<string, Record<string, unknown>> | undefined
    for (const name in group) {
      const place = from.names.get(name) ?? (name.includes('.') ? placeOfDotted(name, from) : undefined)
      if (place === undefined || !Object.hasOwn(group, name)) continue
      const member = (group as Record<string, unknown>)[name]
      if (place instanceof Place) {
        const folded = this.#foldMember(member, place)
        if (folded === member) continue
        copy ??= { ...group }
        copy[name] = folded
      } else {
        copy ??= { ...group }
        delete copy[name]
        dotted ??= new Map()
        const members = dotted.get(place.path) ?? Object.create(null)
        members[place.rest] = member
        dotted.set(place.path, members)
      }
    }
    for (const [path, members] of dotted ?? []) this.#addDotted(copy ?? {}, path, members, group)
    return copy ?? group
  }

  #foldMember(member: unknown, place: Place): unknown {
    if (typeof member !== 'object' || member === null) return member
    const shape = shapeOf(member)
    if (shape === 'value') return member // an array or a date
    if (place.isDeclared) return this.#textOf(member)
    if (shape !== 'group' || typeof (member as { toJSON?: unknown }).toJSON === 'function') throw notPlain
    return this.#foldGroup(member, place)
  }

  #textOf(group: object): string {
    if (this.#isSent) return JSON.stringify(group)
    const text = shapeOf(group) === 'group' ? this.#toJson(group, this.#bytesLeft, this.#nonFinite) : undefined
    if (text === undefined) throw notPlain
    this.#bytesLeft -= text.length
    return text
  }

  /** Adds members that were logged as `labels.env` to the text of `labels`. */
  #addDotted(copy: Record<string, unknown>, path: string, members: Record<string, unknown>, group: object): void {
    const own = Object.hasOwn(group, path) ? (group as Record<string, unknown>)[path] : undefined
    const isGroup = typeof own === 'object' && own !== null && shapeOf(own) !== 'value'
    const all = isGroup ? { ...(JSON.parse(this.#textOf(own)) as object), ...members } : members
    // A value in the place of the group keeps its field.
    const isTaken = own !== undefined && !isGroup
    copy[isTaken ? `${path}.*` : path] = this.#textOf(all)
  }
}

const notPlain = new Error('not plain data, or too large')

/** A member of a declared group, by a dotted name: `labels.env` is `env` in `labels`. */
interface DottedMember {
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
    if (next.isDeclared) return { path: name.slice(0, dot), rest: name.slice(dot + 1) }
    place = next
    start = dot + 1
  }
}
