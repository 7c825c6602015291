import { isMap } from 'node:util/types'
import type { Diagnostics } from '../../accounting/diagnostics.ts'
import { severityOfLevel } from '../../accounting/severity.ts'
import type { ShapingOptions } from '../../options/shaping-options.ts'
import { isQuicklyRead, isSpreadable } from '../../record/own-copy.ts'
import { fieldAt, shippedField } from '../../record/shipped-field.ts'
import { type AsSent, changedFields } from './event-fields.ts'
import { problemOf, thrownBy, warnOfHook } from './hooks.ts'
import { type EarlyStep, replaceFields } from './intake-event.ts'

/** Maximum number of names that lead to a field of the context which the event has. */
const maxNames = 8

interface ContextDeps {
  readonly diagnostics: Diagnostics
  readonly asSent: AsSent
  readonly timeField: string
}

/** Adds the fields that the application's function returns, unless the event has them. */
export function contextStep(
  context: NonNullable<ShapingOptions['context']>,
  { diagnostics, asSent, timeField }: ContextDeps,
): EarlyStep {
  return intake => {
    let fields: { toJSON?: unknown }
    try {
      const result = asJsonHasIt(context())
      if (result === undefined || result === null) return undefined
      const problem = problemOf(result)
      if (problem !== undefined) return void warnOfHook(diagnostics, 'context', problem)
      fields = isMap(result) ? Object.fromEntries(result) : { ...result }
      if (Object.keys(fields).length === 0 && !isSpreadable(result)) {
        return void warnOfHook(diagnostics, 'context', 'returned an object without fields of its own')
      }
      if (typeof fields.toJSON === 'function') delete fields.toJSON // as a field, it would replace the event
    } catch (error) {
      return void warnOfHook(diagnostics, 'context', thrownBy(error))
    }
    const isOtel = intake.resource !== undefined
    const isOwn = (name: string) => name === timeField || (isOtel && (name === 'resource' || name === 'scope'))
    const { level } = fields as { level?: unknown }
    let hasNoLevel = false
    const event = changedFields(intake, asSent, own => {
      hasNoLevel = shippedField(own, 'level') === undefined
      return merged(own, fields, isOwn)
    })
    replaceFields(intake, event)
    if (hasNoLevel && level !== undefined) intake.severity = severityOfLevel(level)
    return undefined
  }
}

/** Calls the `toJSON` of a value that has one, because `toJSON` may leave out secrets. Returns other values as they are. */
function asJsonHasIt(value: unknown): unknown {
  const { toJSON } = (value ?? {}) as { toJSON?: unknown }
  return typeof toJSON === 'function' ? toJSON.call(value) : value
}

/**
 * Returns the event with those of the further fields that it lacks. An event with a group `user` that has an `id` does not
 * lack `user.id`. An event lacks a field that is `undefined`, because its line leaves it out.
 *
 * The fields of the event come first: V8 copies the first object of a spread as a whole. It adds the fields of the
 * second object one by one. If these are many, the result is a hash table, which the writer takes longer to read.
 *
 * @param isOwn true for the name of a field that every event has of its own, besides its fields: the timestamp, for one
 */
function merged(event: object, fields: object, isOwn: (name: string) => boolean): object {
  const merged: Record<string, unknown> = { ...event, ...fields }
  let dotted: readonly string[] | undefined
  for (const [name, value] of Object.entries(fields)) {
    const own = shippedField(event, name)
    if (own !== undefined || isOwn(name)) merged[name] = own
    else if (name.includes('.')) merged[name] = fieldAt(event, name) === undefined ? value : undefined
    else if (isGroup(value)) {
      dotted ??= Object.keys(event).filter(key => key.includes('.'))
      merged[name] = withoutDottedFields(value, name, event, dotted)
    }
  }
  return merged
}

/** A copy of a group that may lose fields. It is made once, however many these are. */
interface Trimmed {
  readonly fields: Record<string, unknown>
  /** The copies of groups in it, by name; `undefined` for a group that takes long to read. */
  groups: Map<string, Trimmed | undefined> | undefined
  hasLost: boolean
}

/**
 * Returns a group of the context without the fields that the event has under dotted names. The dotted names of the event
 * bound the work, whatever the group refers to.
 */
function withoutDottedFields(
  group: object,
  name: string,
  event: object,
  dotted: readonly string[],
): object | undefined {
  const prefix = `${name}.`
  let trimmed: Trimmed | undefined
  try {
    for (const key of dotted) {
      if (!key.startsWith(prefix) || shippedField(event, key) === undefined) continue
      const names = key.slice(prefix.length).split('.', maxNames + 1)
      if (names.length > maxNames) continue
      trimmed ??= toTrim(group)
      if (trimmed === undefined) return group
      removeField(trimmed, names)
    }
    return trimmed?.hasLost === true ? restOf(trimmed) : group
  } catch {
    return group // an accessor threw; it becomes a stub when the event becomes a line
  }
}

/** Returns a copy of a group, or `undefined` if the group takes long to read. */
function toTrim(group: object): Trimmed | undefined {
  return isQuicklyRead(group) ? { fields: { ...group }, groups: undefined, hasLost: false } : undefined
}

/** Removes the field that these names lead to. Returns false if there is none. */
function removeField(from: Trimmed, names: readonly string[]): boolean {
  const { fields } = from
  for (let count = names.length; count > 0; count--) {
    const name = names.slice(0, count).join('.')
    const member = shippedField(fields, name)
    if (member === undefined) continue
    if (count < names.length) {
      from.groups ??= new Map()
      if (!from.groups.has(name)) from.groups.set(name, isGroup(member) ? toTrim(member) : undefined)
      const group = from.groups.get(name)
      if (group === undefined || !removeField(group, names.slice(count))) continue
    } else fields[name] = undefined
    from.hasLost = true
    return true
  }
  return false
}

/** Returns the fields that are left; `undefined` if there are none. */
function restOf({ fields, groups }: Trimmed): object | undefined {
  for (const [name, group] of groups ?? []) {
    if (group?.hasLost === true && fields[name] !== undefined) fields[name] = restOf(group)
  }
  return Object.values(fields).some(value => value !== undefined) ? fields : undefined
}

function isGroup(value: unknown): value is object {
  return isSpreadable(value) && !Array.isArray(value)
}
