import type { Info } from './lost-arguments.ts'

/** Where Winston's formats leave the text that they make of an info. */
const formattedText = Symbol.for('message')
const splat = Symbol.for('splat')

/** What is looked at of a Winston logger. None of it is there for certain. */
interface Logger {
  readonly format?: { readonly transform?: unknown; readonly options?: unknown } | undefined
  readonly _transformState?: { readonly writechunk?: unknown } | undefined
  readonly _readableState?: { readonly pipes?: unknown; readonly pipesCount?: unknown } | undefined
  listenerCount(name: string): number
}

/** The function that `format.json()` runs; stays what nothing equals until it is loaded, and where it cannot be had. */
let jsonTransform: unknown = {}
let isLoading = false

/**
 * The line that `format.json()` has made of an info just now, for `transport`; `undefined` where that is not certain. For
 * plain data (`isPlainData`) it says what `JSON.stringify(info)` does, with the fields in another order, and costs half.
 *
 * A line that something else made may be anything: JSON of another object, a text, half a JSON text. It cannot be told
 * from its looks, and to compare it with the info would take longer than to write it anew. So what is certain is who made
 * it, and when:
 *
 * - The logger's whole format is that of `format.json()` without options: its function is the same one. What a
 *   `combine` does cannot be seen from outside, so its lines are not used.
 * - The logger is handing this very info out at this moment. So its format has just run on it, and nobody called the
 *   transport by other ways: another logger that shares it, a pipe, the application itself.
 * - This transport is the first to get it: others, and listeners, may change what they are given.
 * - The info is Winston's own object, made for a call with metadata: what the application brings may have accessors.
 *
 * Whether the line is of use is for the caller to say: an event that is not the info itself, or no plain data, has another.
 */
export function loggedLine(info: Info, logger: unknown, transport: object): string | undefined {
  try {
    const line = info[formattedText]
    if (typeof line !== 'string' || !isFresh(info, logger as Logger, transport)) return undefined
    return line
  } catch {
    return undefined // no logger, or an accessor of the application's
  }
}

/** Whether `format.json()` alone has run on the info, just now, and nobody has had it since. */
function isFresh(info: Info, logger: Logger, transport: object): boolean {
  const { format } = logger
  if (logger._transformState?.writechunk !== info || format == null) return false
  if (format.transform !== jsonTransform) {
    if (!isLoading) void load()
    return false
  }
  const { pipes, pipesCount } = logger._readableState ?? {}
  const isFirst = pipes === transport || (Array.isArray(pipes) && pipes[0] === transport)
  return (
    isFirst && logger.listenerCount('data') === pipesCount && Array.isArray(info[splat]) && !hasFields(format.options)
  )
}

/** Winston has it loaded by now. Where it uses another copy, lines are never found to be made by this one. */
async function load(): Promise<void> {
  isLoading = true
  try {
    const { default: logform } = await import('logform')
    jsonTransform = logform.format.json().transform
  } catch {
    // Not to be had: nothing is lost but time.
  }
}

function hasFields(options: unknown): boolean {
  for (const _ in options as object) return true
  return false
}
