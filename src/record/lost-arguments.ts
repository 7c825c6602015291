import { isMap, isSet } from 'node:util/types'
import { isError } from './error-fields.ts'
import { httpFields } from './http-message.ts'
import { isRecord } from './is-plain-data.ts'
import { bytesOf, primitiveOf } from './special-value.ts'
import { objectStub } from './stub.ts'

/** A Winston info, or what a format of the application made of one. */
export type Info = Record<PropertyKey, unknown>

const splat = Symbol.for('splat')

/** What Winston takes for a token of `util.format`; its opinion decides what becomes of the arguments. */
const token = /%[scdjifoO%]/

/** Longer messages are searched up to here, and of an argument so many fields are compared. */
const maxSearched = 100_000
const maxCompared = 1000

/** Whether the arguments that follow the message need no closer look. True of nearly all log calls. */
export function areArgumentsFound(info: Info): boolean {
  const args = argumentsOf(info)
  if (args.length === 0) return true
  const first = args[0]
  if (args.length === 1 && isObject(first) && isRecord(first)) return !hasToken(info.message) && !hidesFields(first)
  if (isError(first)) return false
  if (args.length === 1 && isObject(first)) return !hasToken(info.message) && !hidesFields(first) && !isOpaque(first)
  return lostArguments(info).length === 0
}

/**
 * The arguments of a log call that are neither in the fields of `info` nor in its message: both of those that follow the
 * text in `logger.info('text', 'extra', { second: 1 })`.
 *
 * Winston keeps the arguments but not what became of them, so this is a guess:
 * - The first is an object of which Winston can merge nothing, a Map for one. All are lost.
 * - A token is left in the message: Winston merged nothing, and no `format.splat()` ran. All are lost.
 * - The first is an object whose fields are in `info`: Winston merged it, and lost the others.
 * - The first is an object whose fields are not there, or something else that can be read in the message:
 *   `format.splat()` has put all of them there.
 */
export function lostArguments(info: Info): unknown[] {
  const args = argumentsOf(info)
  return args.slice(countFound(args, info)).filter(isTelling)
}

/**
 * The Error of `logger.error('context', error)`. Winston merged its fields, stack and cause into `info`, not its name, and
 * `format.metadata()` has moved them since.
 */
export function mergedError(info: Info): Error | undefined {
  const first = argumentsOf(info)[0]
  if (!isError(first)) return undefined
  const { stack, message } = info
  const isMoved = stack === undefined && typeof message === 'string' && message.endsWith(first.message)
  return isMoved || first.stack === stack ? first : undefined
}

function argumentsOf(info: Info): readonly unknown[] {
  const args = info[splat]
  return Array.isArray(args) ? args : []
}

/** How many of the arguments, from the first, are found in `info`. */
function countFound(args: readonly unknown[], info: Info): number {
  const [first] = args
  if (hasToken(info.message) || (isObject(first) && (hidesFields(first) || isOpaque(first)))) return 0
  if (isObject(first)) return isMerged(first, info) ? 1 : args.length
  return typeof info.message === 'string' && isFoundIn(info.message, String(first)) ? args.length : 0
}

function isFoundIn(message: string, text: string): boolean {
  return text.length <= maxSearched && message.slice(0, maxSearched).includes(text)
}

function hasToken(message: unknown): boolean {
  if (typeof message !== 'string') return false
  const searched = message.length > maxSearched ? message.slice(0, maxSearched) : message
  return searched.includes('%') && token.test(searched)
}

/** Winston merges with `Object.assign`, which makes a field of this name the prototype of `info`. */
function hidesFields(argument: object): boolean {
  return Object.hasOwn(argument, '__proto__')
}

/**
 * Takes out of `event` what Winston has merged of a request or a response of HTTP that follows the message: hundreds of
 * internal fields, with all headers. It counts as lost, and is told by the fields that matter.
 */
export function unmergeHttp(event: Info): void {
  const first = argumentsOf(event)[0]
  if (!isObject(first) || isRecord(first as object) || httpFields(first) === undefined) return
  for (const name of Object.keys(first)) if (Object.is(event[name], first[name])) delete event[name]
}

/**
 * Whether Winston has nothing worth having to merge of an object that tells something: a Map, a Date, one with a `toJSON`, a
 * request of HTTP.
 */
function isOpaque(argument: Info): boolean {
  if (isRecord(argument as object)) return false
  return (tellsMore(argument) && Object.keys(argument).length === 0) || httpFields(argument) !== undefined
}

function tellsMore(argument: Info): boolean {
  return (
    isMap(argument) ||
    isSet(argument) ||
    typeof argument.toJSON === 'function' ||
    objectStub(argument) !== undefined ||
    primitiveOf(argument) !== undefined ||
    bytesOf(argument) !== undefined
  )
}

function isMerged(fields: Info, info: Info): boolean {
  if (isError(fields)) return true
  const names = Object.keys(fields)
  return names.length === 0 || names.slice(0, maxCompared).some(name => info[name] === fields[name])
}

function isObject(argument: unknown): argument is Info {
  return typeof argument === 'object' && argument !== null
}

/** Nothing is lost with `undefined`, nor with the callback that older versions of Winston took as the last argument. */
function isTelling(argument: unknown): boolean {
  return argument !== undefined && argument !== null && typeof argument !== 'function'
}
