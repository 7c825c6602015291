import { isMap, isNativeError } from 'node:util/types'
import { detached } from '../text/detached.ts'
import { monotonicMs } from '../time.ts'
import { shapeOf } from './field-routes.ts'
import { minNames, shownName, type ValueLikePart, valueLikePart } from './value-like-name.ts'

/** Number of events of a dataset that are all looked at; of later events, one of many is. */
const firstEvents = 200
const eventsPerSample = 64
/** Maximum number of members looked at in one event, and of levels. */
const maxMembers = 500
const maxDepth = 16
/** Maximum time for one event, in milliseconds: its members may be accessors. */
const maxMs = 5
const membersPerClock = 8
/** Maximum number of datasets that are watched at a time, and of fields whose types are remembered in all of them. */
const maxDatasets = 64
const maxTypedFields = 5000
/** Number of events of other datasets after which one of them takes the place of the dataset that was watched longest. */
const eventsPerReplacement = 4096
/** Maximum length of a path that is remembered, in characters. */
const maxPathChars = 200
/** Maximum number of groups with value-like names, and of type changes, in one dataset. */
const maxFindings = 20
/** Maximum number of names counted in one group. */
const maxCountedNames = 1000

/** The types of values between which a service distinguishes. */
export type FieldType = 'string' | 'number' | 'boolean' | 'object' | 'array'

/** A group whose field names look like identifiers or values. */
export interface ValueLikeNames {
  /** Path of the group and the beginning of one of the names: `users.8f3a…`. */
  readonly example: string
  /** Path of the group; empty for the root. */
  readonly group: string
  /** Number of different names seen, up to 1000. */
  readonly names: number
}

/** A field that has had values of several types. */
export interface TypeChange {
  readonly path: string
  /** In the order in which they were seen. */
  readonly types: readonly FieldType[]
}

export interface FieldFindings {
  readonly valueLikeNames: readonly ValueLikeNames[]
  readonly typeChanges: readonly TypeChange[]
}

export interface FieldWatchListener {
  /** Called once for each group. */
  onValueLikeNames(dataset: string, found: ValueLikeNames): void
  /** Called once for each field. */
  onTypeChange(dataset: string, change: TypeChange): void
}

interface SuspectGroup {
  example: string
  isCertain: boolean
  /** Hashes of the names. */
  readonly hashes: Set<number>
}

interface Watched {
  events: number
  readonly types: Map<string, FieldType>
  readonly groups: Map<string, SuspectGroup>
  readonly changes: Map<string, FieldType[]>
}

/**
 * Looks for fields that should be values, in a sample of the events of each dataset. Such fields have names like
 * identifiers, or change their type.
 *
 * The sample is the first 200 events and every 64th after them. An event takes at most 5 ms, 500 members and 16 levels.
 * The watch remembers 64 datasets, the types of 5,000 fields in all of them, and 20 findings of each kind in each dataset.
 */
export class FieldWatch {
  readonly #listener: FieldWatchListener
  /** The watched datasets, the one that was watched longest first. */
  readonly #datasets = new Map<string, Watched>()
  #untilReplacement = eventsPerReplacement
  #typedFields = 0
  #membersLeft = 0
  /** Number of members looked at in this event. */
  #members = 0
  #endMs = 0

  constructor(listener: FieldWatchListener) {
    this.#listener = listener
  }

  /** Observes an event, if it is one of the sample. Never throws. */
  observe(dataset: string, event: object): void {
    const watched = this.#datasets.get(dataset) ?? this.#begin(dataset)
    if (watched === undefined) return
    if (++watched.events > firstEvents && watched.events % eventsPerSample !== 0) return
    try {
      this.#membersLeft = maxMembers
      this.#members = 0 // so that a pause of the machine hides nothing of a small event
      this.#endMs = monotonicMs() + maxMs
      if (shapeOf(event) === 'group') this.#observeGroup({ dataset, watched, group: event, path: '', depth: 0 })
    } catch {
      // A getter or a proxy threw, or no stack is left.
    }
  }

  /** Returns what was found in a dataset. */
  findings(dataset: string): FieldFindings {
    const watched = this.#datasets.get(dataset)
    if (watched === undefined) return { valueLikeNames: [], typeChanges: [] }
    const suspects = [...watched.groups].filter(([, group]) => isSuspect(group))
    return {
      valueLikeNames: suspects.map(([path, group]) => found(path, group)),
      typeChanges: Array.from(watched.changes, ([path, types]) => ({ path, types: [...types] })),
    }
  }

  /** Begins to watch a dataset, unless the others were watched for too short a time yet. */
  #begin(dataset: string): Watched | undefined {
    const [oldest] = this.#datasets
    if (oldest !== undefined && this.#datasets.size >= maxDatasets) {
      if (--this.#untilReplacement > 0) return undefined
      this.#untilReplacement = eventsPerReplacement
      this.#datasets.delete(oldest[0])
      this.#typedFields -= oldest[1].types.size
    }
    const watched = { events: 0, types: new Map(), groups: new Map(), changes: new Map() }
    this.#datasets.set(detached(dataset), watched)
    return watched
  }

  #observeGroup(at: { dataset: string; watched: Watched; group: object; path: string; depth: number }): void {
    const { dataset, watched, group, path, depth } = at
    if (depth > maxDepth || this.#membersLeft <= 0) return
    const names = Object.keys(group)
    const count = Math.min(names.length, this.#membersLeft)
    this.#membersLeft -= names.length // all of them, because listing takes time
    for (let i = 0; i < count; i++) {
      if (++this.#members % membersPerClock === 0 && monotonicMs() > this.#endMs) {
        this.#membersLeft = 0
        return
      }
      const name = names[i] as string
      const part = valueLikePart(name)
      if (part !== undefined) {
        this.#note(dataset, watched, pathOf(path, part.before), part)
        continue // the members of each identifier would be fields of their own
      }
      const value = (group as Record<string, unknown>)[name]
      const type = typeOf(value)
      if (type === undefined) continue
      const memberPath = pathOf(path, name)
      if (memberPath.length > maxPathChars) continue
      this.#noteType(dataset, watched, memberPath, type)
      if (type === 'object')
        this.#observeGroup({ dataset, watched, group: value as object, path: memberPath, depth: depth + 1 })
    }
  }

  #note(dataset: string, watched: Watched, path: string, { text, likeness }: ValueLikePart): void {
    let group = watched.groups.get(path)
    if (group === undefined) {
      if (watched.groups.size >= maxFindings) return
      group = { example: '', isCertain: false, hashes: new Set() }
      watched.groups.set(path, group)
    }
    const wasSuspect = isSuspect(group)
    if (group.hashes.size < maxCountedNames) group.hashes.add(hashOf(text))
    if (wasSuspect) return
    group.isCertain ||= likeness === 'certain'
    group.example = shownName(text)
    if (isSuspect(group)) this.#listener.onValueLikeNames(dataset, found(path, group))
  }

  #noteType(dataset: string, { types, changes }: Watched, path: string, type: FieldType): void {
    const known = types.get(path)
    if (known === undefined) {
      if (this.#typedFields >= maxTypedFields) return
      this.#typedFields++
      types.set(path, type)
    } else if (known !== type) {
      const change = changes.get(path)
      if (change !== undefined) {
        if (!change.includes(type)) change.push(type)
      } else if (changes.size < maxFindings) {
        changes.set(path, [known, type])
        this.#listener.onTypeChange(dataset, { path, types: [known, type] })
      }
    }
  }
}

function pathOf(group: string, name: string): string {
  if (name === '') return group
  return group === '' ? name : `${group}.${name}`
}

function isSuspect({ isCertain, hashes }: SuspectGroup): boolean {
  return isCertain || hashes.size >= minNames
}

function found(path: string, { example, hashes }: SuspectGroup): ValueLikeNames {
  return { example: pathOf(path, example), group: path, names: hashes.size }
}

/** Returns the type of a value as it is sent; `undefined` for a value that is absent, null or unclear. */
function typeOf(value: unknown): FieldType | undefined {
  if (Array.isArray(value)) return 'array'
  if (value === null) return undefined
  switch (shapeOf(value)) {
    case 'group':
      return 'object'
    case 'value':
      return typeof value === 'object' ? 'string' : (typeof value as 'string' | 'number' | 'boolean')
    default:
      if (typeof value === 'bigint') return 'string'
      return isNativeError(value) || isMap(value) ? 'object' : undefined
  }
}

function hashOf(name: string): number {
  let hash = 0
  const end = Math.min(name.length, maxPathChars)
  for (let i = 0; i < end; i++) hash = (Math.imul(hash, 31) + name.charCodeAt(i)) | 0
  return hash
}
