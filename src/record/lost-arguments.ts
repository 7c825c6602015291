import { isMap, isSet, isTypedArray } from 'node:util/types'
import { isError } from './error-fields.ts'
import { isHttp } from './http-message.ts'
import { isRecord } from './is-plain-data.ts'
import { movedGroups } from './moved-groups.ts'
import { bytesOf, primitiveOf } from './special-value.ts'
import { bigIntStub, objectStub } from './stub.ts'
import { type Info, splat } from './winston-info.ts'

/**
 * Tokens of `util.format` as Winston recognizes them. Winston's pattern counts, because it decides how the arguments
 * are used.
 */
const token = /%[scdjifoO%]/

/** Maximum characters of a message that are searched. */
const maxSearched = 100_000
/** What formats write in place of a secret. */
const mask = /\*{2}|[•●█▒]{2}|#{4}|x{4}|X{4}|[[<({](?:redacted|masked|filtered|hidden|removed|secret|censored)\b/i
/** Minimum length of a text that is in a message not by chance. */
const minTelling = 3
/** Maximum number of arguments that are looked for in a message, and of their characters. */
const maxLookedFor = 16
const maxTextLookedFor = 100
/** Maximum number of fields of an argument that are compared. */
const maxCompared = 1000
/** Maximum number of items or characters whose fields are removed. */
const maxSpread = 10_000

/** True if the arguments after the message need no closer check, as in nearly all log calls. */
export function areArgumentsFound(info: Info): boolean {
  const args = argumentsOf(info)
  if (spreadText(info) !== undefined) return false
  if (args.length === 0) return true
  const first = args[0]
  if (args.length === 1 && isObject(first) && isRecord(first)) {
    return !hasToken(info.message) && !hidesFields(first) && typeof first.toJSON !== 'function'
  }
  if (isError(first) || bringsToJson(info)) return false
  if (args.length === 1 && isObject(first)) {
    return !hasToken(info.message) && !hidesFields(first) && !isOpaque(first) && !isSpreadOut(first, info)
  }
  return lostArguments(info).length === 0
}

/** True if the first argument after the message has a `toJSON`. */
export function bringsToJson(info: Info): boolean {
  const first = argumentsOf(info)[0]
  return isObject(first) && typeof first.toJSON === 'function'
}

/**
 * Returns the arguments of a log call that are neither in the fields of `info` nor in its message. In
 * `logger.info('text', 'extra', { second: 1 })`, these are both arguments after the text.
 *
 * Winston keeps the arguments but does not record how it used them, so the result is a guess:
 *
 * - The first is an object of which Winston can merge nothing (for example a Map), or that has a field `__proto__`. All
 *   are lost.
 * - A token is left in the message, and is not from an argument: Winston merged nothing, and no `format.splat()` ran. All
 *   are lost.
 * - The first is an array or a text of which each item or character is a field of `info`. All are lost.
 * - The first is an object whose fields are in `info`: Winston merged it, and lost the others.
 * - The first is an object whose fields are not in `info`, or the text of an argument is in the message, or the message
 *   has a mask. `format.splat()` has used all of them, and none is lost.
 * - The first is any other value. All are lost.
 */
export function lostArguments(info: Info): unknown[] {
  const args = argumentsOf(info)
  const lost = args.slice(countFound(args, info)).filter(isTelling)
  const text = isSpreadOut(args[0], info) ? undefined : spreadText(info)
  return text === undefined ? lost : [...lost, text]
}

/**
 * Returns the Error of `logger.error('context', error)`. Winston merges the fields, the stack and the cause of the
 * Error into `info`, but not its name. `format.metadata()` may have moved these fields since. Returns `undefined` if no
 * Error was merged.
 */
export function mergedError(info: Info): Error | undefined {
  const first = argumentsOf(info)[0]
  if (!isError(first)) return undefined
  const { stack, message } = info
  const isMoved = stack === undefined && typeof message === 'string' && message.endsWith(first.message)
  return isMoved || first.stack === stack ? first : undefined
}

/** Returns the arguments after the message of a log call. */
export function argumentsOf(info: Info): readonly unknown[] {
  const args = info[splat]
  return Array.isArray(args) ? args : []
}

/** Returns the number of arguments, counted from the first, that are found in `info`. */
function countFound(args: readonly unknown[], info: Info): number {
  const [first] = args
  if (isSpreadOut(first, info)) return 0
  const isMade = typeof info.message === 'string' && isMadeOf(info.message, args)
  if (hasToken(info.message) && !(isMade && args.slice(0, maxLookedFor).some(hasToken))) return 0
  if (isObject(first) && (hidesFields(first) || isOpaque(first))) return 0
  if (isObject(first)) return isMerged(first, info) ? 1 : args.length
  return isMade ? args.length : 0
}

/**
 * True if `format.splat()` may have made a message of arguments. If a format has masked the first argument in the
 * message, another argument or the mask shows it: to ship the arguments would undo the mask.
 */
function isMadeOf(message: string, args: readonly unknown[]): boolean {
  const isUsed = (arg: unknown, at: number) => {
    const text = isObject(arg) ? '' : (bigIntStub(arg) ?? String(arg))
    return (at === 0 || text.length >= minTelling) && isFoundIn(message, text)
  }
  return args.slice(0, maxLookedFor).some(isUsed) || mask.test(message.slice(0, maxSearched))
}

/** True if a message has a text, or the beginning of a long one. A search for a long text may take most of a second. */
function isFoundIn(message: string, text: string): boolean {
  return message.slice(0, maxSearched).includes(text.slice(0, maxTextLookedFor))
}

function hasToken(message: unknown): boolean {
  if (typeof message !== 'string') return false
  const searched = message.length > maxSearched ? message.slice(0, maxSearched) : message
  return searched.includes('%') && token.test(searched)
}

/**
 * True if an argument has a field `__proto__`. Winston merges with `Object.assign`, which makes that field the
 * prototype of `info`.
 */
function hidesFields(argument: object): boolean {
  return Object.hasOwn(argument, '__proto__')
}

/** True if each item of an array, or each character of a text, is a field of `info`, or of a group of it. */
function isSpreadOut(argument: unknown, info: Info): boolean {
  if (!isSequence(argument)) return false
  const isIn = (group: string) => isSpread(argument, info[group] as Info)
  return isSpread(argument, info) || movedGroups(info, Object(argument)).some(isIn)
}

function isSequence(argument: unknown): argument is string | readonly unknown[] {
  return typeof argument === 'string' || Array.isArray(argument) || isTypedArray(argument)
}

/**
 * True if each item of an array, or each character of a text, is a field of `info`: `{ 0: 'a', 1: 'b' }`. Winston merges
 * an array as it does metadata, and `format.splat()` also merges texts. A Buffer is an array of bytes.
 *
 * False if a format has changed one of these fields, because the argument would show what the format hides.
 */
function isSpread(argument: unknown, info: Info): argument is string | readonly unknown[] {
  if (!isSequence(argument)) return false
  const { length } = argument
  if (length === 0 || length > maxSpread) return false
  for (let i = 0; i < length; i++) if (!Object.hasOwn(info, i) || !Object.is(info[i], argument[i])) return false
  return true
}

/**
 * Returns the text of whose characters `format.splat()` has made fields, if it has removed that text from the arguments:
 * one after the last token, or one of several. Returns `undefined` if there is none, or if the application has logged
 * such fields itself.
 */
function spreadText(info: Info): string | undefined {
  if (info[splat] === undefined || !isCharacter(info, 0)) return undefined
  const [first] = argumentsOf(info)
  if (isObject(first) && Object.hasOwn(first, 0)) return undefined
  let text = ''
  while (isCharacter(info, text.length) && text.length <= maxSpread) text += info[text.length]
  return text.length > maxSpread ? undefined : text
}

function isCharacter(info: Info, at: number): boolean {
  if (!Object.hasOwn(info, at)) return false
  const value = info[at]
  return typeof value === 'string' && value.length === 1
}

/**
 * Removes the fields from `event` that Winston merged from an argument that is no metadata. The argument itself counts as
 * lost. `format.metadata()` may have moved the fields.
 *
 * - An HTTP request or response: hundreds of internal fields, with all headers. Only the fields that matter are logged.
 * - An array or a text: a field for each item or character.
 */
export function unmerge(event: Info): void {
  const first = argumentsOf(event)[0]
  const isHttpMerged = isMergedHttp(first)
  const groups = isSequence(first) || isHttpMerged ? movedGroups(event, Object(first)) : []
  for (const name of groups) {
    const group = event[name] as Info
    if (isSpread(first, group) || (isHttpMerged && isMovedTo(group, first)))
      event[name] = unmerged({ ...group }, first, event)
  }
  unmerged(event, isSpread(first, event) ? first : (spreadText(event) ?? first), event)
}

/** Removes the fields of an argument from `fields`, which are those of the event, or of a group of it. */
function unmerged(fields: Info, argument: unknown, event: Info): Info {
  if (isSpread(argument, fields) && event.splat === undefined) {
    for (let i = 0; i < argument.length; i++) delete fields[i]
  } else if (isMergedHttp(argument)) {
    for (const name of Object.keys(argument)) if (Object.is(fields[name], argument[name])) delete fields[name]
  }
  return fields
}

function isMovedTo(group: Info, argument: Info): boolean {
  return Object.keys(argument).some(name => Object.hasOwn(group, name) && Object.is(group[name], argument[name]))
}

function isMergedHttp(argument: unknown): argument is Info {
  return isObject(argument) && !isRecord(argument as object) && isHttp(argument)
}

/**
 * True if Winston can merge nothing useful from an object that has content: a Map, a Date, an object with a `toJSON`,
 * an HTTP request.
 */
function isOpaque(argument: Info): boolean {
  if (isRecord(argument as object) || isError(argument)) return false
  return (hasContent(argument) && Object.keys(argument).length === 0) || isHttp(argument)
}

function hasContent(argument: Info): boolean {
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
  if (isError(fields)) return mergedError(info) !== undefined
  const names = Object.keys(fields)
  return names.length === 0 || names.slice(0, maxCompared).some(name => info[name] === fields[name])
}

function isObject(argument: unknown): argument is Info {
  return typeof argument === 'object' && argument !== null
}

/** False for `undefined`, `null` and functions. Older versions of Winston took a callback as the last argument. */
function isTelling(argument: unknown): boolean {
  return argument !== undefined && argument !== null && typeof argument !== 'function'
}
