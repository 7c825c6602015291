/**
 * Maximum length of an identity, in characters. An event with a longer one has none, because the part beyond a cut
 * could tell two events apart.
 */
const maxIdentityLength = 1024
/** Maximum length of a stack in which the first frame is looked for, in characters. */
const maxStackLength = 65_536

/** Maximum number of errors in a list that are looked at. */
const maxErrors = 10

const frameStart = '\n    at '

/** The fields that tell one event from another. */
interface Telling {
  readonly level?: unknown
  readonly message?: unknown
  readonly event_name?: unknown
  readonly logferry?: unknown
  readonly 'logferry.sampling_rate'?: unknown
  readonly error?: unknown
  readonly err?: unknown
  readonly exception?: unknown
  readonly name?: unknown
  readonly stack?: unknown
  readonly body?: unknown
  readonly attributes?: unknown
  readonly 'error.type'?: unknown
  readonly 'error.code'?: unknown
  readonly 'error.message'?: unknown
  readonly 'error.stack'?: unknown
  readonly 'err.code'?: unknown
  readonly 'err.message'?: unknown
  readonly 'err.stack'?: unknown
  readonly 'exception.type'?: unknown
  readonly 'exception.message'?: unknown
  readonly 'exception.stacktrace'?: unknown
}

/** The fields of an Error, or of OpenTelemetry's `error.*` and `exception.*` as a group. */
interface Trouble {
  readonly name?: unknown
  readonly type?: unknown
  readonly code?: unknown
  readonly message?: unknown
  readonly stack?: unknown
  readonly stacktrace?: unknown
}

/**
 * Returns a text that two events share only if a reader takes one for a repetition of the other. Such events have the
 * same dataset, level, message and event name, and the same error. An error is told by its name or type, its message or
 * else its code, and the first frame of its stack. Events of a sample also have the same rate, so that the original number
 * can be estimated.
 *
 * Returns `undefined` for an event that is like no other: its message is no text, or too long, or the event cannot be
 * read.
 */
export function eventIdentity(event: object, dataset: string): string | undefined {
  try {
    return identityOf(event as Telling, dataset)
  } catch {
    return undefined // a getter threw
  }
}

function identityOf(event: Telling, dataset: string): string | undefined {
  const { level, message } = event
  if (typeof message !== 'string' || message.length > maxIdentityLength) return undefined
  // The length keeps the message apart from what follows, whatever the message contains.
  const identity = `${message.length} ${text(level)}\n${dataset}\n${message}${text(event.event_name)}${rateOf(event)}${troubleIn(event)}`
  return identity.length > maxIdentityLength ? undefined : identity
}

function rateOf({ logferry, 'logferry.sampling_rate': dotted }: Telling): string {
  const isGroup = typeof logferry === 'object' && logferry !== null
  const rate = dotted ?? (isGroup ? (logferry as { sampling_rate?: unknown }).sampling_rate : undefined)
  return rate === undefined ? '' : `\n${text(rate)}`
}

function troubleIn(event: Telling): string {
  const { attributes } = event
  const trouble = troubleAt(event)
  return typeof attributes === 'object' && attributes !== null ? trouble + troubleAt(attributes) : trouble
}

/** Returns the errors at the root of an event, or of its attributes. */
function troubleAt(event: Telling): string {
  const { error, err, exception, stack, body } = event
  let trouble = ''
  if (error !== undefined) trouble += describe(error)
  if (err !== undefined) trouble += describe(err)
  if (exception !== undefined) trouble += describe(exception)
  if (stack !== undefined) trouble += `\n${text(event.name)}${firstFrame(stack)}`
  if (typeof body === 'object' && body !== null) trouble += describe(body)
  return trouble + dotted(event)
}

/** Returns the errors that are in fields with dots in their names. */
function dotted(event: Telling): string {
  const { 'error.type': type, 'error.code': code, 'error.message': message, 'error.stack': stack } = event
  const { 'err.code': errCode, 'err.message': errMessage, 'err.stack': errStack } = event
  const { 'exception.type': thrownType, 'exception.message': thrownMessage, 'exception.stacktrace': trace } = event
  return (
    given(type, code, message, stack) +
    given(undefined, errCode, errMessage, errStack) +
    given(thrownType, undefined, thrownMessage, trace)
  )
}

function given(type: unknown, code: unknown, message: unknown, stack: unknown): string {
  const isGiven = type !== undefined || code !== undefined || message !== undefined || stack !== undefined
  return isGiven ? describe({ type, code, message, stack }) : ''
}

function describe(error: unknown): string {
  if (typeof error !== 'object' || error === null) return `\n${text(error)}`
  if (Array.isArray(error)) return describeAll(error)
  const { name, type, code, message, stack, stacktrace } = error as Trouble
  return `\n${text(name ?? type)}\n${text(message ?? code)}${firstFrame(stack ?? stacktrace)}`
}

function describeAll(errors: readonly unknown[]): string {
  let trouble = '\n'
  for (const error of errors.slice(0, maxErrors)) {
    trouble += describe(error)
    if (trouble.length > maxIdentityLength) break // lists of lists may have no end, and the event has no identity
  }
  return trouble
}

function firstFrame(stack: unknown): string {
  if (typeof stack !== 'string' || stack.length > maxStackLength) return ''
  const start = stack.indexOf(frameStart)
  if (start < 0) return ''
  const end = stack.indexOf('\n', start + 1)
  return end < 0 ? stack.slice(start) : stack.slice(start, end)
}

function text(value: unknown): string {
  if (typeof value === 'string') return value
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : ''
}
