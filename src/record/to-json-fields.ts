import { type ErrorFields, errorFields, isError } from './error-fields.ts'
import { isHttp } from './http-message.ts'
import { isRecord } from './is-plain-data.ts'
import { markFieldsLeftOut } from './left-out.ts'
import { argumentsOf } from './lost-arguments.ts'
import { movedGroups } from './moved-groups.ts'
import { isReadSlowly } from './own-copy.ts'
import type { PlainObject } from './plain.ts'
import { bytesOf } from './special-value.ts'
import { throwsStub } from './stub.ts'
import { handleRejection } from './unheard-rejection.ts'
import { type Info, loggedLevel, splat } from './winston-info.ts'

type WithToJson = Info & { toJSON(name: string): unknown }

/** Fields of an info that are Winston's, whatever the object that it merged calls so. */
const winstonsFields = new Set(['level', 'message'])
/** Maximum number of fields of an object with a `toJSON` that are compared, and of a result that is copied. */
const maxCompared = 5000

/**
 * Copies the fields of an info. If the info has a `toJSON`, the result of that method replaces the fields of the object
 * that brought the method.
 *
 * Winston merges the methods of an argument, too, and some errors have a `toJSON` of their own: those of axios before
 * version 1, for example. Such a method returns neither the level nor the metadata of the logger, so these stay. So do
 * fields that a format has set or changed: the result may show what the format hides.
 *
 * Winston does not merge the methods of a class. The result of such a `toJSON` replaces the fields that Winston has
 * merged, unless a format has changed one of them. `format.metadata()` may have moved the fields.
 *
 * @param described the fields of the first argument, if that is an Error
 */
export function toJsonFields(info: Info, described: ErrorFields | undefined): Info {
  const [first] = argumentsOf(info)
  if (hasToJson(info)) return withOwnResult(info, first)
  if (!hasToJson(first)) return { ...info }
  if (isSequence(first)) return { ...info }
  const names = Object.keys(first)
  if (names.length > maxCompared && isMerged(info, first, names[0] as string)) return withoutMerged(info, names.length)
  if (isError(first)) return hideMerged({ ...info }, first, described)
  const owner = movedGroups(info, first).find(group => (info[group] as Info).toJSON === first.toJSON)
  if (owner === undefined) return withResult(info, first, names)
  return { ...info, [owner]: withOwnResult(info[owner] as WithToJson, first) }
}

/** True if a field of an argument is in an info, or in a group into which a format may have moved it. */
function isMerged(info: Info, argument: object, name: string): boolean {
  const places = [info, ...movedGroups(info, argument).map(group => info[group] as Info)]
  return places.some(place => Object.hasOwn(place, name))
}

/** True if Winston has merged fields of an argument that are not to be shipped as they are. */
export function mergesHiddenFields(info: Info): boolean {
  const [first] = argumentsOf(info)
  if (typeof first !== 'object' || first === null || isSequence(first)) return false
  return hasToJson(first) || (!isRecord(first) && isHttp(first))
}

/** True for an array or bytes, of which Winston makes a field for each item. */
function isSequence(argument: object): boolean {
  return Array.isArray(argument) || bytesOf(argument) !== undefined
}

/** Returns an info without the fields that Winston has merged, if telling which are to be shipped takes too long. */
export function withoutMerged(info: Info, total: number): Info {
  const { level, message, [loggedLevel]: logged, [splat]: args } = info
  const fields: Info = { level, message, [loggedLevel]: logged, [splat]: args, logferry: { cut: true } }
  markFieldsLeftOut(fields as PlainObject, total)
  return fields
}

function hasToJson(value: unknown): value is WithToJson {
  return typeof value === 'object' && value !== null && typeof (value as Info).toJSON === 'function'
}

/** Returns a copy of an info in which the result of its own `toJSON` takes the place of the fields that brought it. */
function withOwnResult(info: WithToJson, first: unknown): Info {
  if (!hasToJson(first) || first.toJSON !== info.toJSON) return replaced(info, resultOf(info), Object.keys(info))
  const names = Object.keys(first)
  if (names.length > maxCompared) return withoutMerged(info, names.length)
  const merged = names.filter(name => isMergedUnchanged(info, first, name) || hasAccessor(first, name))
  return replaced(info, resultOf(info), merged)
}

/** Returns a copy of an info in which the fields of an argument are as its `toJSON` tells them. */
function withResult(info: Info, argument: WithToJson, allNames: readonly string[]): Info {
  const names = allNames.filter(name => !winstonsFields.has(name))
  if (names.length > maxCompared) return { ...info }
  if (isReadSlowly(argument, names)) return withoutMerged(info, names.length)
  const at = names.length === 0 ? undefined : placeOf(info, argument, names)
  const result = at && resultOf(argument)
  if (at === undefined || result === argument) return { ...info }
  if (at.group === undefined) return { ...replaced(info, result, names), message: info.message }
  const group = info[at.group] as Info
  const rest = Object.fromEntries(at.inRoot.map(name => [name, undefined]))
  return { ...info, ...rest, [at.group]: { ...replaced(group, result, names), message: group.message } }
}

/** True if Winston has merged an Error with a `toJSON`, and a format has changed or removed one of its fields. */
export function isChanged(info: Info, error: Error): boolean {
  if (!hasToJson(error)) return false
  const own: Info = error
  const names = Object.keys(own).filter(name => !winstonsFields.has(name))
  return names.length > maxCompared || (names.length > 0 && placeOf(info, own, names) === undefined)
}

/** A place in an info where the fields of an argument are: the root, or a group, and possibly some in the root. */
interface Place {
  readonly group?: string
  readonly inRoot: readonly string[]
}

/** Returns the place of the fields of an argument, or `undefined` if a format has changed or removed one of them. */
function placeOf(info: Info, argument: Info, names: readonly string[]): Place | undefined {
  const moved = names.filter(name => !isMergedUnchanged(info, argument, name))
  if (moved.length === 0) return { inRoot: names }
  const isMovedTo = (group: string) => moved.every(name => isMergedUnchanged(info[group] as Info, argument, name))
  const group = movedGroups(info, argument).find(isMovedTo)
  const isMoved = new Set(moved)
  return group === undefined ? undefined : { group, inRoot: names.filter(name => !isMoved.has(name)) }
}

/** True if Winston has merged a field of an argument into `fields`, and no format has changed it. */
function isMergedUnchanged(fields: Info, argument: Info, name: string): boolean {
  return Object.hasOwn(fields, name) && Object.is(fields[name], argument[name])
}

function hasAccessor(object: object, name: string): boolean {
  return Object.getOwnPropertyDescriptor(object, name)?.get !== undefined
}

/** Returns the result of a `toJSON`, or a stub if the method throws. */
function resultOf(owner: WithToJson): unknown {
  try {
    const result = owner.toJSON('')
    handleRejection(result)
    return result
  } catch (thrown) {
    return throwsStub(thrown)
  }
}

/**
 * Returns a copy of an info in which the result of a `toJSON` takes the place of the fields with these names. Other
 * fields stay. A result that is no group of fields becomes the body.
 */
function replaced(info: Info, result: unknown, names: readonly string[]): Info {
  const owners = new Set<PropertyKey>(names.filter(name => !winstonsFields.has(name)))
  const group = fieldsOfResult(result)
  const isFree = (name: string) => name !== 'toJSON' && (owners.has(name) || info[name] === undefined)
  const told = group === undefined ? [['body', result]] : Object.entries(group).filter(([name]) => isFree(name))
  const kept = Reflect.ownKeys(info).filter(name => name !== 'toJSON' && !owners.has(name))
  return Object.fromEntries([...kept.map(name => [name, info[name]]), ...told])
}

/** Returns a copy of the result of a `toJSON`, if it is a group of fields that can be read. */
function fieldsOfResult(result: unknown): Info | undefined {
  try {
    const isGroup = typeof result === 'object' && result !== null && isRecord(result)
    if (!isGroup) return undefined
    const names = Object.keys(result)
    return names.length > maxCompared || isReadSlowly(result, names) ? undefined : { ...result }
  } catch {
    return undefined // a getter or a proxy threw; only that field becomes a stub when the event becomes a line
  }
}

/** As `hideFields`, for an Error that Winston has merged. `format.metadata()` may have moved its fields. */
function hideMerged(fields: Info, error: Error, described: ErrorFields | undefined): Info {
  const own = error as unknown as Info
  const moved = Object.keys(own).filter(name => !Object.hasOwn(fields, name))
  for (const name of movedGroups(fields, own)) {
    const group = fields[name] as Info
    if (moved.some(each => isMergedUnchanged(group, own, each)))
      fields[name] = hideFields({ ...group }, error, described)
  }
  return hideFields(fields, error, described)
}

/**
 * Changes the fields that were copied from an Error to what the `toJSON` of the Error tells, except for fields that a
 * format has changed. Returns the fields.
 *
 * @param described the fields of the Error, if they were read before
 */
export function hideFields(fields: Info, error: Error, described?: ErrorFields): Info {
  if (!hasToJson(error)) return fields
  const own: Info = error
  const { names, read } = described ?? errorFields(error)
  const told = new Set(names)
  for (const name of Object.keys(own)) {
    if (winstonsFields.has(name) || !isMergedUnchanged(fields, own, name)) continue
    fields[name] = told.has(name) ? read(name) : undefined
  }
  return fields
}
