import { errorFields, isError } from './error-fields.ts'
import { isRecord } from './is-plain-data.ts'
import { argumentsOf } from './lost-arguments.ts'
import { isReadSlowly } from './own-copy.ts'
import { bytesOf } from './special-value.ts'
import { throwsStub } from './stub.ts'
import { handleRejection } from './unheard-rejection.ts'
import type { Info } from './winston-info.ts'

type WithToJson = Info & { toJSON(name: string): unknown }

/** Fields of an info that are Winston's, whatever the object that it merged calls so. */
const winstonsFields = new Set(['level', 'message'])

/**
 * Copies the fields of an info. If the info has a `toJSON`, the result of that method replaces the fields of the object
 * that brought the method.
 *
 * Winston merges the methods of an argument, too, and some errors have a `toJSON` of their own: those of axios before
 * version 1, for example. Such a method returns neither the level nor the metadata of the logger, so these stay.
 *
 * Winston does not merge the methods of a class. The result of such a `toJSON` replaces the fields that Winston has
 * merged, unless a format has changed one of them: the result would show what the format hides.
 */
export function toJsonFields(info: Info): Info {
  if (hasToJson(info)) return replaced(info, resultOf(info), namesOfOwner(info))
  const [first] = argumentsOf(info)
  if (!hasToJson(first)) return { ...info }
  if (isError(first)) return hideFields({ ...info }, first)
  if (bytesOf(first) !== undefined || !isMergedUnchanged(first, info)) return { ...info }
  const result = resultOf(first)
  if (result === first) return { ...info }
  return { ...replaced(info, result, Object.keys(first)), message: info.message }
}

function hasToJson(value: unknown): value is WithToJson {
  return typeof value === 'object' && value !== null && typeof (value as Info).toJSON === 'function'
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

/** Returns a copy of an info in which the result of a `toJSON` takes the place of the fields with these names. */
function replaced(info: Info, result: unknown, names: readonly string[]): Info {
  const isGroup = typeof result === 'object' && result !== null && isRecord(result)
  const returned = isGroup && !isReadSlowly(result) ? result : { body: result }
  const hidden = names.filter(name => !winstonsFields.has(name)).map(name => [name, undefined])
  const fields: Info = { ...info, ...Object.fromEntries(hidden), ...returned, toJSON: undefined }
  fields.message ??= info.message
  return fields
}

/** Returns the names of the fields of the object that brought the `toJSON` of an info. */
function namesOfOwner(info: WithToJson): string[] {
  const [first] = argumentsOf(info)
  return Object.keys(hasToJson(first) && first.toJSON === info.toJSON ? first : info)
}

/** True if Winston has merged an object, and all of its fields are as they were. */
function isMergedUnchanged(argument: Info, info: Info): boolean {
  const names = Object.keys(argument).filter(name => !winstonsFields.has(name))
  return names.length > 0 && names.every(name => Object.hasOwn(info, name) && Object.is(info[name], argument[name]))
}

/**
 * Changes the fields that were copied from an Error to what the `toJSON` of the Error tells, except for fields that a
 * format has changed. Returns the fields.
 */
export function hideFields(fields: Info, error: Error): Info {
  if (!hasToJson(error)) return fields
  const own: Info = error
  const { names, read } = errorFields(error)
  const told = new Set(names)
  for (const name of Object.keys(error)) {
    if (winstonsFields.has(name) || !Object.is(fields[name], own[name])) continue
    fields[name] = told.has(name) ? read(name) : undefined
  }
  return fields
}
