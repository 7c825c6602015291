import { type Severity, severityOfLevel } from '../accounting/severity.ts'
import { noteOriginal } from './copied-from.ts'
import { type ErrorFields, errorFields, isError } from './error-fields.ts'
import { isRecord } from './is-plain-data.ts'
import { logstashFields } from './logstash.ts'
import { areArgumentsFound, argumentsOf, bringsToJson, lostArguments, mergedError, unmerge } from './lost-arguments.ts'
import { isNameLost, lostFields, nameInStack } from './lost-error.ts'
import { isReadSlowly } from './own-copy.ts'
import { hideFields, isChanged, mergesHiddenFields, toJsonFields, withoutMerged } from './to-json-fields.ts'
import { type TraceIds, traceFlagsHex } from './trace-context.ts'
import { type Info, loggedLevel } from './winston-info.ts'

/** Maximum number of fields of an info that is copied. V8 takes some 10 ms for so many. */
const maxCopied = 20_000

const isEnumerable = Object.prototype.propertyIsEnumerable

/**
 * Returns the event for a Winston info. Metadata stays at the root, where it was logged. `info` is never changed. In
 * nearly all cases, `info` itself is the event. Otherwise, the event is a copy with these repairs:
 *
 * - An Error logged in place of an info: its fields, including fields that are not enumerable.
 * - `origin`, the Error from which a format made `info`: the fields that the format lost. Without `origin`, the name as
 *   the stack shows it.
 * - A message that is an Error: its text is the message, and the Error moves to `error`. A message that is another
 *   object moves to `body`. If a text follows that object, the object's fields move to the root, and the text is the
 *   message. A message that is a number: its text.
 * - A message that `format.logstash()` has taken out: put back, and so is the timestamp.
 * - `logger.error('context', error)`: the fields of the Error that Winston lost, in `error`.
 * - An info with a `toJSON`: the fields that it returns, beside the level, the message and the fields that Winston added.
 * - Other arguments that Winston lost: in `splat`.
 * - A colored level: the level that was logged.
 * - `trace`: added, unless `info` has a `trace_id`.
 *
 * An info with very many fields, or with accessors that take long, is not repaired: the repairs read all of them.
 */
export function winstonToEvent(info: Info, trace: TraceIds | undefined, origin?: Error): object {
  try {
    if (origin === undefined && isEvent(info) && (trace === undefined || info.trace_id !== undefined)) return info
    const described = isError(info) ? errorFields(info) : undefined
    const names = described?.names ?? Object.keys(info)
    if (names.length > maxCopied || isReadSlowly(info, names)) return unrepaired(info, names)
    return repaired(info, described, trace, origin)
  } catch {
    return unrepaired(info) // a getter threw; only that field becomes a stub when the event becomes a line
  }
}

function unrepaired(info: Info, names?: readonly string[]): Info {
  try {
    return !isError(info) && mergesHiddenFields(info) ? withoutMerged(info, (names ?? Object.keys(info)).length) : info
  } catch {
    return info
  }
}

/**
 * Copies an info for a format that may change it. The copy of an Error includes the fields that a spread would lose.
 */
export function plainInfo(info: Info): Info {
  try {
    return isError(info) ? fieldsOf(info) : { ...info }
  } catch {
    return { ...info }
  }
}

/**
 * Returns the severity of an info, by its level. An info without a level, or with an unreadable one, has the severity
 * info.
 */
export function severityOfInfo(info: Info): Severity {
  try {
    return severityOfLevel(info[loggedLevel] ?? info.level)
  } catch {
    return severityOfLevel(undefined)
  }
}

function isEvent(info: Info): boolean {
  return (
    typeof info.message === 'string' &&
    info.level === info[loggedLevel] &&
    areArgumentsFound(info) &&
    !(info instanceof Error) &&
    typeof info.toJSON !== 'function' &&
    !isNameLost(info)
  )
}

/** @param described the fields of `info`, if it is an Error */
function repaired(
  info: Info,
  described: ErrorFields | undefined,
  trace: TraceIds | undefined,
  origin: Error | undefined,
): Info {
  const [first] = argumentsOf(info)
  const describedFirst = isError(first) ? errorFields(first) : undefined
  const fields = isError(info) ? fieldsOf(info, described) : toJsonFields(info, describedFirst)
  const event = noteOriginal<Info>(fields, info)
  if (typeof info[loggedLevel] === 'string') event.level = info[loggedLevel]
  if (!Object.hasOwn(info, 'message')) Object.assign(event, logstashFields(info))
  if (origin !== undefined) Object.assign(hideFields(event, origin), lostFields(event, origin))
  else event.name ??= nameInStack(event)
  // The event lacks the fields that a `toJSON` has replaced, by which a merged argument is recognized.
  const lost = lostArguments(bringsToJson(info) ? info : event)
  unmerge(event)
  const error = mergedError(info)
  repairMessage(event, lost)
  if (error !== undefined) event.error ??= fieldsBeside(error, info, describedFirst)
  if (lost.length > 0) event.splat ??= lost
  if (trace !== undefined && event.trace_id === undefined) {
    event.trace_id = trace.traceId
    event.span_id = trace.spanId
    event.trace_flags = traceFlagsHex(trace.traceFlags)
  }
  return event
}

/** Returns the fields of an Error as an event. Winston has put the level and the default metadata on the Error. */
function fieldsOf(info: Error, described = errorFields(info)): Info {
  const { names, read } = described
  const symbols = Object.getOwnPropertySymbols(info).map(symbol => [symbol, (info as unknown as Info)[symbol]])
  return {
    level: undefined,
    message: undefined,
    ...Object.fromEntries([...names.map(name => [name, read(name)]), ...symbols]),
  }
}

/** @param lost arguments that followed the message; an argument that becomes the message is removed */
function repairMessage(event: Info, lost: unknown[]): void {
  const { message } = event
  if (typeof message === 'number' || typeof message === 'boolean') {
    event.message = String(message)
  } else if (isError(message)) {
    event.message = message.message
    if (event.error === undefined) event.error = message
    else event.body ??= message
  } else if (typeof message === 'object' && message !== null && event.body === undefined) {
    if (typeof lost[0] === 'string') repairText(event, message, lost.shift() as string)
    else Object.assign(event, { message: undefined, body: message })
  }
}

/**
 * Repairs metadata logged before its text, as Fastify and pino do. The metadata moves to the root, or to `body` if the
 * root already has one of its names.
 */
function repairText(event: Info, metadata: object, text: string): void {
  event.message = undefined
  const isFree = isRecord(metadata) && !Object.keys(metadata).some(name => name in event)
  if (isFree && !isReadSlowly(metadata)) Object.assign(event, metadata)
  else event.body = metadata
  event.message = text
}

/**
 * Returns the fields of an Error that Winston has not merged into the info. Merged fields stay as the formats left
 * them. If a format has changed one, fields that only a `toJSON` tells are left out: they may show what the format hides.
 */
function fieldsBeside(error: Error, info: Info, described = errorFields(error)): Info {
  const { names, read } = described
  const isHidden = isChanged(info, error)
  const isLost = (name: string) =>
    name !== 'stack' &&
    name !== 'cause' &&
    !isEnumerable.call(error, name) &&
    !(isHidden && !Object.hasOwn(error, name))
  return Object.fromEntries(['name', 'message', ...names.filter(isLost)].map(name => [name, read(name)]))
}
