import { isRecord } from './is-plain-data.ts'
import { argumentsOf } from './lost-arguments.ts'
import { isReadSlowly } from './own-copy.ts'
import { throwsStub } from './stub.ts'
import { handleRejection } from './unheard-rejection.ts'
import type { Info } from './winston-info.ts'

/**
 * Copies the fields of an info. If the info has a `toJSON`, the result of that method replaces the fields of the object
 * that brought the method.
 *
 * Winston merges the methods of an argument, too, and some errors have a `toJSON` of their own: those of axios before
 * version 1, for example. Such a method returns neither the level nor the metadata of the logger, so these stay.
 */
export function toJsonFields(info: Info): Info {
  if (typeof info.toJSON !== 'function') return { ...info }
  const result = resultOf(info as InfoWithToJson)
  const isGroup = typeof result === 'object' && result !== null && isRecord(result)
  const returned = isGroup && !isReadSlowly(result) ? result : { body: result }
  const fields: Info = { ...info, ...replacedFields(info), ...returned, toJSON: undefined }
  fields.message ??= info.message
  return fields
}

type InfoWithToJson = Info & { toJSON(name: string): unknown }

/** Returns the result of the `toJSON` of an info, or a stub if the method throws. */
function resultOf(info: InfoWithToJson): unknown {
  try {
    const result = info.toJSON('')
    handleRejection(result)
    return result
  } catch (thrown) {
    return throwsStub(thrown)
  }
}

/** Returns the fields, each `undefined`, of the object that brought the `toJSON`, except for the level and the message. */
function replacedFields(info: Info): Info {
  const [first] = argumentsOf(info) as readonly (Info | null | undefined)[]
  const owner = typeof first === 'object' && first?.toJSON === info.toJSON ? first : info
  const names = Object.keys(owner as object).filter(name => name !== 'level' && name !== 'message')
  return Object.fromEntries(names.map(name => [name, undefined]))
}
