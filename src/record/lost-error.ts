import { isError } from './error-fields.ts'
import type { Info } from './lost-arguments.ts'

// What Winston's formats and child loggers lose of an Error that is logged in place of an info: `format.errors()` copies
// what can be enumerated, the message, and the stack and the cause if it is asked for them.

/** The name in the first line of a stack: `TypeError: …`, `TypeError [ERR_CODE]: …`, `TypeError`. */
const stackHeader = /^([A-Za-z_$][\w$.]{0,99})(?: \[[^\]\n]{1,99}\])?(?:: |\n|$)/

/** Longest chain of causes that is told, and most errors of an aggregate. */
const maxCauses = 8
const maxErrors = 20

const level = Symbol.for('level')

/** What is looked at of a Winston logger. None of it is there for certain. */
interface Logger {
  readonly _transformState?: { readonly writechunk?: unknown } | undefined
}

/** Whether `info` has the stack of an Error, and not its name, which is inherited and so is not copied. */
export function isNameLost(info: Info): boolean {
  return info.stack !== undefined && info.name === undefined && nameInStack(info) !== undefined
}

/** The Error that a format has made `info` of, if a logger is handing that out at this moment. */
export function errorBehind(info: Info, logger: unknown): Error | undefined {
  const logged = (logger as Logger | null | undefined)?._transformState?.writechunk
  if (logged === info || logged === undefined || logged === null || !isError(logged)) return undefined
  // Infos that the logger had to keep waiting may come while it is at work with another.
  if ((logged as unknown as Info)[level] !== info[level]) return undefined
  return (info.stack === undefined ? isSameMessage(info, logged) : info.stack === logged.stack) ? logged : undefined
}

/**
 * Fields of an Error that are not in the info made of it. A stack that a format has left out stays out, as `format.errors()` does that
 * unless it is told otherwise, and so do fields: of a cause, and of the errors of an aggregate, only what describes them is
 * told, because no format has had them in its hands.
 */
export function lostFields(info: Info, error: Error): Info {
  const lost: Info = {}
  if (info.message === undefined) lost.message = error.message
  if (info.name === undefined) lost.name = error.name
  if (error.cause !== undefined && !Object.hasOwn(info, 'cause')) lost.cause = described(error.cause, maxCauses)
  const { errors } = error as { errors?: unknown }
  if (Array.isArray(errors) && !Object.hasOwn(info, 'errors')) {
    lost.errors = errors.slice(0, maxErrors).map(each => described(each, maxCauses))
  }
  return lost
}

/** The name of the Error whose message and stack an info has, as its stack tells it. */
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
