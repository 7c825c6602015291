import { isError, suppressedFields } from './error-fields.ts'
import { movedGroups } from './moved-groups.ts'
import { type Info, loggedLevel } from './winston-info.ts'

// This file restores the parts of an Error, logged in place of an info, that Winston's formats and child loggers lose.
// `format.errors()` copies the enumerable fields and the message, and on request the stack and the cause.

/** The name in the first line of a stack: `TypeError: …`, `TypeError [ERR_CODE]: …`, `TypeError`. */
const stackHeader = /^([A-Za-z_$][\w$.]{0,99})(?: \[[^\]\n]{1,99}\])?(?:: |\n|$)/

/** Maximum length of a chain of causes. */
const maxCauses = 8
/** Maximum number of errors of an aggregate. */
const maxErrors = 20

/** True if `info` has the stack of an Error but not its name. Formats do not copy the name, because it is inherited. */
export function isNameLost(info: Info): boolean {
  return info.stack !== undefined && info.name === undefined && nameInStack(info) !== undefined
}

/** Returns `logged`, if it is an Error from which a format may have made `info`. */
export function errorBehind(info: Info, logged: unknown): Error | undefined {
  if (logged === info || logged === undefined || logged === null || !isError(logged)) return undefined
  // While a logger works on one info, it may emit another info that had to wait.
  if ((logged as unknown as Info)[loggedLevel] !== info[loggedLevel]) return undefined
  return (info.stack === undefined ? isSameMessage(info, logged) : info.stack === logged.stack) ? logged : undefined
}

/**
 * Returns the fields of an Error that are missing in the info made of it.
 *
 * - A stack that a format has left out stays out: `format.errors()` leaves the stack out by default. Other fields that
 *   a format has left out stay out, too. So does a message or a cause that a format has set to `undefined`.
 * - A field that `format.metadata()` has moved into a group is not missing: a format may have masked it there.
 * - A cause and the errors of an aggregate keep only the fields that describe them, because no format has seen them.
 */
export function lostFields(info: Info, error: Error): Info {
  const lost: Info = {}
  const places = [info, ...movedGroups(info, error).map(group => info[group] as Info)]
  const isMissing = (name: string) => places.every(place => !Object.hasOwn(place, name))
  if (isMissing('message')) lost.message = error.message
  if (info.name === undefined) lost.name = error.name
  if (error.cause !== undefined && isMissing('cause')) lost.cause = described(error.cause, maxCauses)
  const { errors } = error as { errors?: unknown }
  if (Array.isArray(errors) && isMissing('errors')) {
    lost.errors = errors.slice(0, maxErrors).map(each => described(each, maxCauses))
  }
  for (const name of suppressedFields(error).filter(isMissing))
    lost[name] = described((error as never)[name], maxCauses)
  return lost
}

/** Returns the name of an Error as its stack shows it, if the info has the message and the stack of that Error. */
export function nameInStack({ stack, message }: Info): string | undefined {
  if (typeof stack !== 'string' || typeof message !== 'string') return undefined
  const [header, name] = stackHeader.exec(stack) ?? []
  return header !== undefined && stack.startsWith(message.trim(), header.length) ? name : undefined
}

function isSameMessage(info: Info, { message }: Error): boolean {
  return info.message === undefined || info.message === message
}

function described(cause: unknown, depth: number): unknown {
  if (!isError(cause)) return typeof cause === 'object' && cause !== null ? undefined : cause
  const { name, message, stack, code } = cause as Error & { code?: unknown }
  const isText = typeof code === 'string' || typeof code === 'number'
  const next = depth > 1 && cause.cause !== undefined ? described(cause.cause, depth - 1) : undefined
  return { name, message, stack, code: isText ? code : undefined, cause: next }
}
