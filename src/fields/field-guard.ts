import type { NonFinite } from '../record/plain.ts'
import { detached } from '../text/detached.ts'
import { shapeOf } from './field-routes.ts'
import { FieldSet, maxPathLength } from './field-set.ts'

export interface FieldGuardOptions {
  /**
   * Maximum number of distinct fields per dataset, from the license: `Infinity` if there is none. A small share is left
   * for other processes.
   */
  maxFields: number
  /**
   * Maximum number of distinct fields per dataset, from the application. If both limits are `Infinity`, the guard only
   * records fields and folds none.
   */
  maxOwnFields?: number | undefined
  /** Name of the root field that receives folded fields: a text that contains JSON. */
  overflowField: string
  /** Name of the field that holds the time of every event. */
  timeField?: string | undefined
  /** Further fields that events of any dataset may have. They always fit. */
  addedFields?: readonly string[] | undefined
  /**
   * Returns an event as it is sent: its line, parsed.
   *
   * The guard calls it for an event that is not plain data: only the line shows the fields of an Error or of a
   * `toJSON`. The guard also calls it before it folds fields.
   */
  asSent: (event: object, nonFinite: NonFinite) => object
  /**
   * Called once per dataset when its first field is folded, with the path of that field. Called again if that happens after
   * `maxFields` was raised.
   */
  onOver: (dataset: string, path: string) => void
}

/** Fields that events of any dataset may have. They always fit. */
const commonFields = [
  'level',
  'message',
  'trace_id',
  'span_id',
  'trace_flags',
  'logferry.cut',
  'logferry.original_bytes',
  'logferry.sampling_rate',
]

/** Share of the allowed fields that this process uses. The rest, at least one field, is left for other processes. */
const usedShare = 0.98

/** Maximum number of fields recorded per dataset while no limit applies. */
const maxNotedFields = 2000

/**
 * Maximum characters of the paths of folded fields in one event. Further members of a group are folded as one object,
 * because paths can take many times the bytes of their event.
 */
const maxFoldedPathChars = 100_000

/** Maximum number of datasets remembered. The least recently used dataset is forgotten first. */
const maxDatasets = 1000
/** The same for the fields of all datasets together; a field takes about 400 bytes. */
const maxFieldsInAll = 100_000

interface Dataset {
  /** The name, which keeps no longer text alive. */
  readonly name: string
  readonly fields: FieldSet
  /** Number of fields when the dataset was last counted among all. */
  counted: number
  /** Objects given to `know` whose fields are already recorded. */
  readonly around: WeakSet<object>
  isOver: boolean
}

/**
 * Keeps each dataset within the number of fields that the license or the application allows. The service refuses an
 * event that adds a field to a dataset that is full.
 *
 * A field is the dotted path of a value; arrays and empty objects are values. The guard admits fields in the order in
 * which they appear. When a dataset is full, the guard folds new fields: it takes them out of their event. Their paths
 * and values become JSON in the text of the overflow field, so that a search still finds them.
 *
 * The guard knows only the fields that this process has sent, not the other fields of the dataset.
 */
export class FieldGuard {
  #maxFields: number
  readonly #maxOwnFields: number
  readonly #overflowField: string
  /** Fields that every dataset has from the start. */
  readonly #takenFields: readonly string[]
  readonly #asSent: FieldGuardOptions['asSent']
  readonly #onOver: FieldGuardOptions['onOver']
  /** In order of use: the most recently used dataset is last. */
  readonly #datasets = new Map<string, Dataset>()
  /** Number of fields of all datasets, when each was last counted. */
  #fieldsInAll = 0
  #latest: Dataset | undefined

  constructor({
    maxFields,
    maxOwnFields,
    overflowField,
    timeField,
    addedFields = [],
    asSent,
    onOver,
  }: FieldGuardOptions) {
    this.#maxFields = maxFields
    this.#maxOwnFields = maxOwnFields ?? Number.POSITIVE_INFINITY
    this.#overflowField = overflowField
    this.#takenFields = [
      ...commonFields,
      overflowField,
      ...(timeField === undefined ? [] : [timeField]),
      ...addedFields,
    ]
    this.#asSent = asSent
    this.#onOver = onOver
  }

  /** Maximum number of distinct fields per dataset, from the license. */
  get maxFields(): number {
    return this.#maxFields
  }

  /**
   * May change at any time. If raised, the guard admits new fields again, and reports a dataset that becomes full again. If
   * lowered, fields already admitted stay.
   */
  set maxFields(maxFields: number) {
    const before = this.#usableFields
    this.#maxFields = maxFields
    if (this.#usableFields > before) for (const dataset of this.#datasets.values()) dataset.isOver = false
  }

  /**
   * Returns the event to send in place of `event`: `event` itself, if it is plain data and its fields fit.
   *
   * Otherwise the result is the event as it is sent, with the fields that do not fit folded. A field with the name of
   * the overflow field is folded with them. If there is no limit, or if the event cannot be processed, the result is
   * `event`.
   *
   * Never throws, and never changes the event.
   */
  fold(dataset: string, event: object, nonFinite: NonFinite = 'null'): object {
    const { fields } = this.#use(dataset)
    if (this.#isUnlimited && fields.size >= maxNotedFields) return event
    try {
      if (fields.fit(event, this.#usableFields)) return event
    } catch {
      // A getter or a proxy threw. The event as it is sent shows the fields that remain.
    }
    if (this.#isUnlimited) return event
    try {
      const sent = this.#asSent(event, nonFinite)
      return fields.fit(sent, this.#usableFields) ? sent : this.#folded(dataset, sent)
    } catch {
      return event // no stack or memory left
    }
  }

  /**
   * Records fields that the lines of a dataset carry besides those of the event, such as fields of a resource and a
   * scope. These fields are never folded, so they count even beyond the limit.
   *
   * @param fields plain data that does not change
   */
  know(dataset: string, fields: object): void {
    const { around, fields: known } = this.#use(dataset)
    if (around.has(fields)) return
    known.add(fields)
    around.add(fields) // last, because `add` throws if the stack is exhausted
  }

  /** Names of the remembered datasets, the least recently used first. */
  get datasets(): string[] {
    return [...this.#datasets.keys()]
  }

  /** Returns the number of fields recorded for a dataset, including fields that every dataset has. */
  fieldCount(dataset: string): number {
    return this.#datasets.get(dataset)?.fields.size ?? 0
  }

  get #isUnlimited(): boolean {
    return this.#maxFields === Number.POSITIVE_INFINITY && this.#maxOwnFields === Number.POSITIVE_INFINITY
  }

  get #usableFields(): number {
    if (this.#isUnlimited) return maxNotedFields
    return Math.min(this.#maxFields - 1, Math.ceil(this.#maxFields * usedShare), this.#maxOwnFields)
  }

  #use(name: string): Dataset {
    if (this.#latest !== undefined) {
      if (name === this.#latest.name) return this.#latest
      this.#count(this.#latest)
    }
    let dataset = this.#datasets.get(name)
    dataset ??= {
      name: detached(name),
      fields: new FieldSet(this.#takenFields),
      counted: 0,
      around: new WeakSet(),
      isOver: false,
    }
    this.#datasets.delete(name)
    this.#datasets.set(dataset.name, dataset)
    this.#latest = dataset
    if (this.#hasTooMany) this.#forgetOldest()
    return dataset
  }

  #count(dataset: Dataset): void {
    this.#fieldsInAll += dataset.fields.size - dataset.counted
    dataset.counted = dataset.fields.size
  }

  get #hasTooMany(): boolean {
    return this.#datasets.size > maxDatasets || this.#fieldsInAll > maxFieldsInAll
  }

  /** Forgets datasets that were used least recently, as long as there are too many of them, or of their fields. */
  #forgetOldest(): void {
    for (const [name, dataset] of this.#datasets) {
      if (!this.#hasTooMany || dataset === this.#latest) return
      this.#datasets.delete(name)
      this.#fieldsInAll -= dataset.counted
    }
  }

  /** @param event plain data: a parsed line */
  #folded(name: string, event: object): object {
    const dataset = this.#use(name)
    const usableFields = this.#usableFields
    const overflow = this.#overflowField
    const folded = new Folded()
    const isOverflow = (path: string) => path === overflow || path.startsWith(`${overflow}.`)
    const isKept = (path: string) => !isOverflow(path) && dataset.fields.admit(path, usableFields)
    const kept = split(event, undefined, isKept, folded)
    const { paths } = folded
    const firstPath = paths.find(path => !isOverflow(path)) ?? paths[0]
    if (firstPath === undefined) return event
    if (!dataset.isOver) {
      dataset.isOver = true
      this.#reportOver(name, firstPath)
    }
    return { ...kept, [overflow]: folded.text }
  }

  #reportOver(dataset: string, path: string): void {
    try {
      this.#onOver(dataset, path)
    } catch {
      // An error in the callback must not cost the event.
    }
  }
}

/**
 * Returns the part of a group of plain data that is kept, and adds the other values to `folded`. A group that loses all
 * its values is removed.
 */
function split(
  group: object,
  groupPath: string | undefined,
  isKept: (path: string) => boolean,
  folded: Folded,
): Record<string, unknown> {
  const kept: [string, unknown][] = []
  const others: [string, unknown][] = []
  for (const name of Object.keys(group)) {
    const value = (group as Record<string, unknown>)[name]
    const path = groupPath === undefined ? name : `${groupPath}.${name}`
    if (isFilledGroup(value)) {
      if (path.length > maxPathLength || !folded.hasRoom) {
        folded.add(path, value)
        continue
      }
      const reserve = folded.reserve()
      const rest = split(value, path, isKept, folded)
      folded.giveBack(reserve)
      if (isFilledGroup(rest)) kept.push([name, rest])
    } else if (isKept(path)) {
      kept.push([name, value])
    } else if (groupPath === undefined || folded.hasRoom) {
      folded.add(path, value)
    } else {
      others.push([name, value])
    }
  }
  if (groupPath !== undefined && others.length > 0) folded.add(groupPath, Object.fromEntries(others))
  return Object.fromEntries(kept)
}

/** The values of a path to which several routes lead, as in `{ "a.b": 1, "a": { "b": 2 } }`. */
class Several extends Array<unknown> {}

/** Values of plain data, by path. */
class Folded {
  readonly #values = new Map<string, unknown>()
  #charsLeft = maxFoldedPathChars

  get hasRoom(): boolean {
    return this.#charsLeft >= 1
  }

  /** Sets aside a quarter of the room for paths, until `giveBack`: for the groups after the next one. */
  reserve(): number {
    const reserve = this.#charsLeft / 4
    this.#charsLeft -= reserve
    return reserve
  }

  giveBack(reserve: number): void {
    this.#charsLeft = Math.max(this.#charsLeft, 0) + reserve
  }

  get paths(): string[] {
    return [...this.#values.keys()]
  }

  add(path: string, value: unknown): void {
    this.#charsLeft -= path.length
    const earlier = this.#values.get(path)
    if (earlier === undefined) this.#values.set(path, value)
    else if (earlier instanceof Several) earlier.push(value)
    else this.#values.set(path, Several.of(earlier, value))
  }

  /** The paths and their values as a JSON object. A path with several values gets an array. */
  get text(): string {
    let text = ''
    for (const [path, value] of this.#values) {
      text += `${text === '' ? '{' : ','}${JSON.stringify(path)}:${JSON.stringify(value)}`
    }
    return `${text}}`
  }
}

function isFilledGroup(value: unknown): value is object {
  return shapeOf(value) === 'group' && Object.keys(value as object).length > 0
}
