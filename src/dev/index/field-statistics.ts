import { ownCopy } from '../event/counted-names.ts'
import type { Scalar } from '../event/exact-event.ts'
import { DistinctCount } from './distinct-count.ts'

/** Types of JSON values, in the order of the counts. */
export const fieldTypes = ['string', 'number', 'boolean', 'null', 'object', 'array'] as const

const maxFields = 4096
const maxValuesPerField = 64
/** Maximum number of values that are remembered for all fields together. */
const maxValues = 65_536
/** Maximum length of a value that is remembered, and of a name and a path, in characters. */
const maxValueChars = 80
const maxNameChars = 256
const maxPathChars = 1024
/** Maximum number of levels, of fields of one event, and of elements of one array that are looked at. */
const maxDepth = 16
const maxFieldsPerEvent = 1000
const maxElements = 8
/** Number of values without a hit among the remembered ones, after which only one of many is looked up. */
const maxMisses = 1000
const valuesPerLook = 16

/** What is known of one field of one dataset. */
export class FieldStatistics {
  readonly path: string
  /** Counts of values by type, in the order of `fieldTypes`. */
  readonly types: number[] = [0, 0, 0, 0, 0, 0]
  /** Number of events that have the field. An array of objects counts once. */
  events = 0
  /** The first values, with their counts. */
  readonly values = new Map<Scalar, number>()
  /** Estimates the distinct values; `undefined` while all of them are in `values`. */
  distinct: DistinctCount | undefined
  example: Scalar | undefined
  members: Map<string, FieldStatistics> | undefined
  misses = 0
  /** The latest event that was counted. */
  latest = 0

  constructor(path: string) {
    this.path = path
  }
}

/** The fields of the events of one dataset. */
export interface DatasetFields {
  readonly root: FieldStatistics
  events: number
}

/**
 * Counts the fields of events by dataset: types, values and how many events have each. Whatever the events contain, work
 * and memory are bounded.
 */
export class FieldCounts {
  readonly #datasets = new Map<string, DatasetFields>()
  readonly #byPath = new Map<string, FieldStatistics[]>()
  #fields = 0
  #values = 0
  #event = 0
  #left = 0

  get datasets(): ReadonlyMap<string, DatasetFields> {
    return this.#datasets
  }

  /** True if events may have more fields than these. */
  get isFull(): boolean {
    return this.#fields >= maxFields
  }

  /** The fields of all datasets by their path. */
  get byPath(): ReadonlyMap<string, readonly FieldStatistics[]> {
    return this.#byPath
  }

  add(dataset: string, event: Readonly<Record<string, unknown>>): void {
    let fields = this.#datasets.get(dataset)
    if (fields === undefined) {
      if (this.#fields >= maxFields) return
      this.#fields++ // the number of datasets is bounded with that of the fields
      fields = { root: new FieldStatistics(''), events: 0 }
      this.#datasets.set(ownCopy(dataset), fields)
    }
    fields.events++
    this.#event++
    this.#left = maxFieldsPerEvent
    this.#addMembers(fields.root, event, 0)
  }

  #addMembers(group: FieldStatistics, members: Readonly<Record<string, unknown>>, depth: number): void {
    for (const name in members) {
      if (--this.#left < 0) return
      if (!Object.hasOwn(members, name)) continue
      const field = group.members?.get(name) ?? this.#newField(group, name)
      if (field !== undefined) this.#addValue(field, members[name], depth)
    }
  }

  #newField(group: FieldStatistics, name: string): FieldStatistics | undefined {
    if (this.#fields >= maxFields || name.length > maxNameChars) return undefined
    const path = group.path === '' ? name : `${group.path}.${name}`
    if (path.length > maxPathChars) return undefined
    this.#fields++
    const field = new FieldStatistics(path)
    group.members ??= new Map()
    group.members.set(name, field)
    const samePath = this.#byPath.get(path)
    if (samePath === undefined) this.#byPath.set(path, [field])
    else samePath.push(field)
    return field
  }

  #addValue(field: FieldStatistics, value: unknown, depth: number): void {
    if (field.latest !== this.#event) {
      field.latest = this.#event
      field.events++
    }
    if (typeof value === 'object' && value !== null) this.#addContainer(field, value, depth)
    else this.#addScalar(field, value as Scalar)
  }

  #addContainer(field: FieldStatistics, value: object, depth: number): void {
    const isArray = Array.isArray(value)
    field.types[isArray ? 5 : 4] = (field.types[isArray ? 5 : 4] as number) + 1
    if (depth >= maxDepth) return
    if (!isArray) {
      this.#addMembers(field, value as Record<string, unknown>, depth + 1)
      return
    }
    const end = Math.min(value.length, maxElements)
    for (let at = 0; at < end; at++) {
      if (--this.#left < 0) return
      const element: unknown = value[at]
      if (typeof element !== 'object' || element === null) this.#count(field, element as Scalar)
      else if (!Array.isArray(element)) this.#addMembers(field, element as Record<string, unknown>, depth + 1)
    }
  }

  #addScalar(field: FieldStatistics, value: Scalar): void {
    const isNumber = typeof value === 'number' || typeof value === 'bigint'
    const type = typeof value === 'string' ? 0 : isNumber ? 1 : value === null ? 3 : 2
    field.types[type] = (field.types[type] as number) + 1
    this.#count(field, value)
  }

  #count(field: FieldStatistics, value: Scalar): void {
    if (field.misses > maxMisses && this.#event % valuesPerLook !== 0) return
    const isLong = typeof value === 'string' && value.length > maxValueChars
    if (!isLong) {
      const count = field.values.get(value)
      if (count !== undefined) {
        field.values.set(value, count + 1)
        return
      }
      if (field.values.size < maxValuesPerField && this.#values < maxValues) {
        this.#values++
        field.values.set(value, 1)
        field.example ??= value
        field.distinct?.add(value)
        return
      }
    }
    field.misses++
    if (field.example === undefined) field.example = isLong ? ownCopy(value.slice(0, maxValueChars)) : value
    if (field.distinct === undefined) {
      field.distinct = new DistinctCount()
      for (const known of field.values.keys()) field.distinct.add(known)
    }
    field.distinct.add(value)
  }
}
