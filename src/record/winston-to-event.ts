import { type Severity, severityOfLevel } from '../accounting/severity.ts'
import { errorFields, isError } from './error-fields.ts'
import { isRecord } from './is-plain-data.ts'
import { logstashFields } from './logstash.ts'
import { areArgumentsFound, type Info, lostArguments, mergedError, unmergeHttp } from './lost-arguments.ts'
import { isNameLost, lostFields, nameInStack } from './lost-error.ts'
import { type TraceIds, traceFlagsHex } from './trace-context.ts'

/** The level as it was logged; `info.level` may have been coloured since. */
const loggedLevel = Symbol.for('level')

const isEnumerable = Object.prototype.propertyIsEnumerable

/**
 * The event that a Winston info stands for, with metadata where it was logged, at the root. `info` is never changed, and is
 * itself the event where nothing needs to be put right, which is nearly always:
 *
 * - An Error logged in place of an info: its fields, also those that are not enumerable.
 * - `origin`, an Error of which a format has made `info`: what that has lost of it. Without one, its name as the stack tells it.
 * - A message that is an Error: its text, and the Error in `error`. An object: moved to `body`. One with a text after it: its
 *   fields, and the text is the message. A number: its text.
 * - A message that `format.logstash()` has taken out: put back, and so is the time stamp.
 * - `logger.error('context', error)`: what Winston lost of the Error, in `error`.
 * - Other arguments that Winston lost: in `splat`.
 * - A coloured level: the one that was logged.
 * - `trace`: added, unless `info` has a `trace_id`.
 */
export function winstonToEvent(info: Info, trace: TraceIds | undefined, origin?: Error): object {
  try {
    if (origin === undefined && isEvent(info) && (trace === undefined || info.trace_id !== undefined)) return info
    return repaired(info, trace, origin)
  } catch {
    return info // a getter threw; that field, and only that, becomes a stub when the event becomes a line
  }
}

/** A copy of an info, for a format to change: of an Error with those of its fields that a spread would lose. */
export function plainInfo(info: Info): Info {
  try {
    return isError(info) ? fieldsOf(info) : { ...info }
  } catch {
    return { ...info }
  }
}

/** How severe an info is, by its level; one without a level, or with one that cannot be read, counts as info. */
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
    !isNameLost(info)
  )
}

function repaired(info: Info, trace: TraceIds | undefined, origin: Error | undefined): Info {
  const event: Info = isError(info) ? fieldsOf(info) : { ...info }
  if (typeof info[loggedLevel] === 'string') event.level = info[loggedLevel]
  if (!Object.hasOwn(info, 'message')) Object.assign(event, logstashFields(info))
  if (origin !== undefined) Object.assign(event, lostFields(event, origin))
  else event.name ??= nameInStack(event)
  unmergeHttp(event)
  const lost = lostArguments(event)
  const error = mergedError(event)
  repairMessage(event, lost)
  if (error !== undefined) event.error ??= fieldsBeside(error)
  if (lost.length > 0) event.splat ??= lost
  if (trace !== undefined && event.trace_id === undefined) {
    event.trace_id = trace.traceId
    event.span_id = trace.spanId
    event.trace_flags = traceFlagsHex(trace.traceFlags)
  }
  return event
}

/** An Error as an event: Winston has put the level and the default metadata on it. */
function fieldsOf(info: Error): Info {
  const { names, read } = errorFields(info)
  const symbols = Object.getOwnPropertySymbols(info).map(symbol => [symbol, (info as unknown as Info)[symbol]])
  return {
    level: undefined,
    message: undefined,
    ...Object.fromEntries([...names.map(name => [name, read(name)]), ...symbols]),
  }
}

/** @param lost arguments that followed the message; one that becomes the message is taken out */
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

/** Metadata before its text, as Fastify and pino log: at the root, unless a field of that name is there already. */
function repairText(event: Info, metadata: object, text: string): void {
  event.message = undefined
  if (isRecord(metadata) && !Object.keys(metadata).some(name => name in event)) Object.assign(event, metadata)
  else event.body = metadata
  event.message = text
}

/** The fields of an Error that Winston has not put into the info: what is there is what formats have left of them. */
function fieldsBeside(error: Error): Info {
  const { names, read } = errorFields(error)
  const isLost = (name: string) => name !== 'stack' && name !== 'cause' && !isEnumerable.call(error, name)
  return Object.fromEntries(['name', 'message', ...names.filter(isLost)].map(name => [name, read(name)]))
}
