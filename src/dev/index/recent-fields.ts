import { editDistance } from '../../text/edit-distance.ts'
import { scalarJson } from '../event/exact-event.ts'
import type { FieldRow } from '../protocol.ts'
import type { KnownFields } from '../query/resolve-names.ts'
import { DistinctCount } from './distinct-count.ts'
import { FieldCounts, type FieldStatistics, fieldTypes } from './field-statistics.ts'
import { groupsNamedByIds, idInName } from './ids-in-names.ts'

const maxSimilarNameChars = 64
/** Maximum length of the name of a dataset, in characters. A longer name is cut. */
const maxNameChars = 256
const maxTopValues = 20

/** A value of a field as JSON, and how many events had it. */
export interface ValueCount {
  readonly value: string
  readonly count: number
}

/**
 * The fields of the recent events. The counts begin anew from time to time, and those before are kept once more. So a
 * field that no event has any more is forgotten.
 */
export class RecentFields implements KnownFields {
  readonly #eventsPerPeriod: number
  #now = new FieldCounts()
  #before = new FieldCounts()
  #events = 0
  #version = 0

  constructor(eventsPerPeriod: number) {
    this.#eventsPerPeriod = Math.max(eventsPerPeriod, 1)
  }

  /** Number of known paths; it changes when a path is added. */
  get version(): number {
    return this.#version + this.#now.byPath.size
  }

  add(dataset: string, event: Readonly<Record<string, unknown>>): void {
    if (++this.#events > this.#eventsPerPeriod) {
      this.#version += this.#now.byPath.size + 1
      this.#before = this.#now
      this.#now = new FieldCounts()
      this.#events = 1
    }
    this.#now.add(dataset.slice(0, maxNameChars), event)
  }

  clear(): void {
    this.#version += this.#now.byPath.size + 1
    this.#now = new FieldCounts()
    this.#before = new FieldCounts()
    this.#events = 0
  }

  get isFull(): boolean {
    return this.#now.isFull || this.#before.isFull
  }

  has(path: string): boolean {
    return this.#now.byPath.has(path) || this.#before.byPath.has(path)
  }

  endingWith(name: string): string[] {
    const found: string[] = []
    for (const path of this.#paths()) {
      if (path.length > name.length && path.endsWith(name) && path[path.length - name.length - 1] === '.') {
        found.push(path)
        if (found.length === 2) break
      }
    }
    return found
  }

  similarTo(name: string): string | undefined {
    if (name.length > maxSimilarNameChars) return undefined
    const searched = name.toLowerCase()
    let best: { path: string; distance: number } | undefined
    for (const path of this.#paths()) {
      if (path.length > maxSimilarNameChars) continue
      const last = path.slice(path.lastIndexOf('.') + 1)
      const maxDistance = name.length < 4 ? 1 : 2
      for (const other of [path, last]) {
        const distance = editDistance(searched, other.toLowerCase(), maxDistance)
        if (distance <= maxDistance && distance < (best?.distance ?? Number.POSITIVE_INFINITY))
          best = { path, distance }
      }
    }
    return best?.path
  }

  /** Returns the paths with the number of events that had them, the most frequent first. */
  frequentPaths(): { path: string; events: number }[] {
    const paths = Array.from(this.#paths(), path => ({
      path,
      events: sum(this.#fields(path).map(({ events }) => events)),
    }))
    return paths.sort((one, other) => other.events - one.events)
  }

  /** Returns the most frequent values of a field. */
  topValues(path: string): ValueCount[] {
    return topOf(this.#fields(path))
  }

  /** Returns the names of the datasets. */
  datasets(): string[] {
    return [...new Set([...this.#now.datasets.keys(), ...this.#before.datasets.keys()])].sort()
  }

  /** Returns the fields of a dataset, or of all if it is `undefined`, the most frequent first. */
  rows(dataset: string | undefined): { rows: FieldRow[]; events: number } {
    const byPath = new Map<string, FieldStatistics[]>()
    const suspects = new Set<string>()
    let events = 0
    for (const counts of [this.#now, this.#before]) {
      for (const [name, fields] of counts.datasets) {
        if (dataset !== undefined && name !== dataset.slice(0, maxNameChars)) continue
        events += fields.events
        for (const group of groupsNamedByIds(fields.root)) suspects.add(group)
        collect(fields.root, byPath)
      }
    }
    const rows = Array.from(byPath, ([path, fields]) => rowOf(path, fields, events, suspects))
    return { rows: rows.sort((one, other) => other.share - one.share || (one.path < other.path ? -1 : 1)), events }
  }

  #fields(path: string): FieldStatistics[] {
    return [...(this.#now.byPath.get(path) ?? []), ...(this.#before.byPath.get(path) ?? [])]
  }

  *#paths(): Iterable<string> {
    yield* this.#now.byPath.keys()
    for (const path of this.#before.byPath.keys()) if (!this.#now.byPath.has(path)) yield path
  }
}

function collect(group: FieldStatistics, byPath: Map<string, FieldStatistics[]>): void {
  for (const field of group.members?.values() ?? []) {
    const samePath = byPath.get(field.path)
    if (samePath === undefined) byPath.set(field.path, [field])
    else samePath.push(field)
    collect(field, byPath)
  }
}

function rowOf(
  path: string,
  fields: readonly FieldStatistics[],
  events: number,
  suspects: ReadonlySet<string>,
): FieldRow {
  const types = fieldTypes.map((type, at): [string, number] => [
    type,
    sum(fields.map(field => field.types[at] as number)),
  ])
  const values = sum(types.map(([, count]) => count))
  const top = topOf(fields)
  const looked = sum(fields.map(field => field.misses + sum([...field.values.values()])))
  const shares = types
    .filter(([, count]) => count > 0)
    .map(([type, count]): [string, number] => [type, count / values])
    .sort(([, one], [, other]) => other - one)
  return {
    path,
    types: shares,
    share: events === 0 ? 0 : Math.min(sum(fields.map(field => field.events)) / events, 1),
    ...distinctOf(fields),
    example: scalarJson(fields.find(({ example }) => example !== undefined)?.example ?? null),
    top: top.map(({ value, count }) => ({ value, share: count / looked })),
    warnings: [...(suspects.has(parentOf(path)) && idInName(path) ? [idWarning(path)] : []), ...typeWarnings(shares)],
  }
}

function parentOf(path: string): string {
  return path.slice(0, Math.max(path.lastIndexOf('.'), 0))
}

function idWarning(path: string): FieldRow['warnings'][number] {
  const parent = parentOf(path)
  const where = parent === '' ? 'the event' : parent
  return { code: 'id-in-name', text: `The name of the field looks like an id. Log the id as a value in ${where}.` }
}

function typeWarnings(shares: readonly [type: string, share: number][]): FieldRow['warnings'] {
  const [first, second] = shares.filter(([type]) => type !== 'null')
  if (first === undefined || second === undefined) return []
  return [{ code: 'two-types', text: `The values are of two types, ${first[0]} and ${second[0]}. Log one type.` }]
}

function distinctOf(fields: readonly FieldStatistics[]): { distinct: number; approximate: boolean } {
  const values = new Set(fields.flatMap(field => [...field.values.keys()]))
  const approximate = fields.some(({ distinct }) => distinct !== undefined)
  if (!approximate) return { distinct: values.size, approximate }
  const all = new DistinctCount()
  for (const field of fields) if (field.distinct !== undefined) all.addAll(field.distinct)
  for (const value of values) all.add(value)
  return { distinct: Math.max(all.estimate(), values.size), approximate }
}

function topOf(fields: readonly FieldStatistics[]): ValueCount[] {
  const counts = new Map<string, number>()
  for (const field of fields) {
    for (const [value, count] of field.values) {
      const text = scalarJson(value)
      counts.set(text, (counts.get(text) ?? 0) + count)
    }
  }
  const sorted = Array.from(counts, ([value, count]) => ({ value, count })).sort(
    (one, other) => other.count - one.count,
  )
  return sorted.slice(0, maxTopValues)
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}
