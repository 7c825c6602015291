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
 * merged, unless a format has changed one of them: the result would show what the format hides. `format.metadata()` may
 * have moved the fields.
 */
export function toJsonFields(info: Info): Info {
  if (hasToJson(info)) return replaced(info, resultOf(info), namesOfOwner(info))
  const [first] = argumentsOf(info)
  if (!hasToJson(first)) return { ...info }
  const fields = toldFields(info, first)
  const { metadata } = info
  const isMoved =
    typeof metadata === 'object' && metadata !== null && isRecord(metadata) && !Object.hasOwn(first, 'metadata')
  return isMoved ? { ...fields, metadata: toldFields(metadata, first) } : fields
}

/** Returns a copy of fields in which those that were merged from an argument are as its `toJSON` tells them. */
function toldFields(fields: Info, argument: WithToJson): Info {
  if (isError(argument)) return hideFields({ ...fields }, argument)
  if (bytesOf(argument) !== undefined || !isMergedUnchanged(argument, fields)) return { ...fields }
  const result = resultOf(argument)
  if (result === argument) return { ...fields }
  return { ...replaced(fields, result, Object.keys(argument)), message: fields.message }
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
