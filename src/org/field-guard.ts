import { shapeOf } from './field-routes.ts'
import { FieldSet } from './field-set.ts'

export interface FieldGuardOptions {
  /** Most distinct fields of a dataset, from the license. `Infinity` folds nothing, and only takes note of fields. */
  maxFields: number
  /** Name of the field at the root that takes what goes over: a text with JSON in it. */
  overflowField: string
  /** Name of the field that every event has for its time. */
  timeField?: string | undefined
  /**
   * What is sent of an event: its line, parsed. Asked when an event is not plain data, as what becomes of an Error or of a
   * `toJSON` shows only there; and when fields of it have to be folded.
   */
  asSent: (event: object) => object
  /** Called once per dataset, when the first field is folded: which path went over. */
  onOver: (dataset: string, path: string) => void
}

/** Fields that events of any dataset may have. There is always room for them. */
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

/** Of the fields allowed, the share that is used. The rest, one at least, is left for what other processes send. */
const usedShare = 0.98

/** Most fields of a dataset that are noted while no limit is known. */
const maxNotedFields = 2000

/** The datasets used last are remembered, this many. */
const maxDatasets = 1000

interface Dataset {
  readonly fields: FieldSet
  /** What is known to stand around its events. */
  readonly around: WeakSet<object>
  isOver: boolean
}

/**
 * Keeps datasets within the number of fields that the license allows: the service refuses an event that brings one more.
 *
 * A field is the dotted path of a value; arrays and empty objects are values. Fields are let in as they come. When there
 * is no more room, those that are new are folded: taken out of their event and put, with their paths, as JSON into the
 * text of the overflow field, where a search finds them.
 *
 * Known are only the fields that this process has sent, not those that are in the dataset already.
 */
export class FieldGuard {
  /** May change at any time. With more, new fields are let in again; with less, those let in stay. */
  maxFields: number
  readonly #overflowField: string
  /** Fields that are taken from the start. */
  readonly #takenFields: readonly string[]
  readonly #asSent: FieldGuardOptions['asSent']
  readonly #onOver: FieldGuardOptions['onOver']
  /** The one used last is at the end. */
  readonly #datasets = new Map<string, Dataset>()
  #latestName: string | undefined
  #latest: Dataset | undefined

  constructor({ maxFields, overflowField, timeField, asSent, onOver }: FieldGuardOptions) {
    this.maxFields = maxFields
    this.#overflowField = overflowField
    this.#takenFields = [...commonFields, overflowField, ...(timeField === undefined ? [] : [timeField])]
    this.#asSent = asSent
    this.#onOver = onOver
  }

  /**
   * The event to send in place of `event`: itself, when it is plain data and there is room for its fields. Otherwise what
   * would be sent of it, with the fields folded that there is no room for; a field that has the name of the overflow
   * field is folded with them.
   *
   * Never throws, and never changes the event.
   */
  fold(dataset: string, event: object): object {
    const { fields } = this.#use(dataset)
    if (this.#isUnlimited && fields.size >= maxNotedFields) return event
    try {
      if (fields.fit(event, this.#usableFields)) return event
    } catch {
      // A getter or a proxy that throws: what is sent shows the fields that are left.
    }
    if (this.#isUnlimited) return event
    try {
      const sent = this.#asSent(event)
      return fields.fit(sent, this.#usableFields) ? sent : this.#folded(dataset, sent)
    } catch {
      return event // no stack or memory left
    }
  }

  /**
   * Takes in fields that lines of a dataset carry besides those of the event, as of a resource and a scope. They are not
   * folded, so they count however many there are.
   *
   * @param fields plain data that stays as it is
   */
  know(dataset: string, fields: object): void {
    const { around, fields: known } = this.#use(dataset)
    if (around.has(fields)) return
    around.add(fields)
    known.add(fields)
  }

  /** The datasets that are remembered. */
  get datasets(): string[] {
    return [...this.#datasets.keys()]
  }

  /** How many fields of a dataset are taken, including those that there is always room for. */
  fieldCount(dataset: string): number {
    return this.#datasets.get(dataset)?.fields.size ?? 0
  }

  get #isUnlimited(): boolean {
    return this.maxFields === Number.POSITIVE_INFINITY
  }

  get #usableFields(): number {
    if (this.#isUnlimited) return maxNotedFields
    return Math.min(this.maxFields - 1, Math.ceil(this.maxFields * usedShare))
  }

  #use(name: string): Dataset {
    if (this.#latest !== undefined && name === this.#latestName) return this.#latest
    let dataset = this.#datasets.get(name)
    if (dataset === undefined) {
      dataset = { fields: new FieldSet(this.#takenFields), around: new WeakSet(), isOver: false }
      const [oldest] = this.#datasets.keys()
      if (oldest !== undefined && this.#datasets.size >= maxDatasets) this.#datasets.delete(oldest)
    } else {
      this.#datasets.delete(name)
    }
    this.#datasets.set(name, dataset)
    this.#latestName = name
    this.#latest = dataset
    return dataset
  }

  /** @param event plain data: JSON, parsed */
  #folded(name: string, event: object): object {
    const dataset = this.#use(name)
    const usableFields = this.#usableFields
    const folded: Folded = new Map()
    const kept = split(event, undefined, path => dataset.fields.admit(path, usableFields), folded)
    const [firstPath] = folded.keys()
    if (firstPath === undefined) return event
    if (!dataset.isOver) {
      dataset.isOver = true
      this.#tellOver(name, firstPath)
    }
    const { [this.#overflowField]: own, ...rest } = kept
    if (Object.hasOwn(kept, this.#overflowField)) addTo(folded, this.#overflowField, own)
    return { ...rest, [this.#overflowField]: textOf(folded) }
  }

  #tellOver(dataset: string, path: string): void {
    try {
      this.#onOver(dataset, path)
    } catch {
      // The event matters more.
    }
  }
}

/** Values by path: several where a path leads to several, as in `{ "a.b": 1, "a": { "b": 2 } }`. */
type Folded = Map<string, unknown[]>

/** What is kept of a group of plain data; the other values are added to `folded`. Groups that lose all are not kept. */
function split(
  group: object,
  groupPath: string | undefined,
  isKept: (path: string) => boolean,
  folded: Folded,
): Record<string, unknown> {
  const kept: [string, unknown][] = []
  for (const [name, value] of Object.entries(group)) {
    const path = groupPath === undefined ? name : `${groupPath}.${name}`
    if (isFilledGroup(value)) {
      const rest = split(value, path, isKept, folded)
      if (isFilledGroup(rest)) kept.push([name, rest])
    } else if (isKept(path)) {
      kept.push([name, value])
    } else {
      addTo(folded, path, value)
    }
  }
  return Object.fromEntries(kept)
}

function isFilledGroup(value: unknown): value is object {
  return shapeOf(value) === 'group' && Object.keys(value as object).length > 0
}

function addTo(folded: Folded, path: string, value: unknown): void {
  const values = folded.get(path)
  if (values === undefined) folded.set(path, [value])
  else values.push(value)
}

/** An object of paths and their values, as JSON; an array where a path has several values. */
function textOf(folded: Folded): string {
  return JSON.stringify(
    Object.fromEntries(Array.from(folded, ([path, values]) => [path, values.length === 1 ? values[0] : values])),
  )
}
