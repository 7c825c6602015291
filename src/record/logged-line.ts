import { formattedText, type Info, splat } from './winston-info.ts'

/** The fields of a Winston logger that are read. Any of them may be missing. */
interface Logger {
  readonly format?: { readonly transform?: unknown; readonly options?: unknown } | undefined
  readonly _transformState?: { readonly writechunk?: unknown } | undefined
  readonly _readableState?: { readonly pipes?: unknown; readonly pipesCount?: unknown } | undefined
  listenerCount(name: string): number
}

/**
 * The function that `format.json()` runs. Until the function is loaded, and if it cannot be, this is an object that
 * equals no function.
 */
let jsonTransform: unknown = {}
let isLoading = false

/**
 * Returns the line that `format.json()` has just made of an info for `transport`, or `undefined` if that is not
 * certain. For plain data (`isPlainData`), the line has the content of `JSON.stringify(info)`, with the fields in
 * another order. Using the line costs half as much.
 *
 * A line from another source may be anything: JSON of another object, a text, half a JSON text. The line does not show
 * its source, and comparing it with the info would take longer than writing it anew. So the function checks who made
 * the line, and when:
 *
 * - The logger's whole format is `format.json()` without options: both run the same function. A `combine` does not show
 *   its parts, so its lines are not used.
 * - The logger is emitting this very info at this moment. So its format has just run on the info. The call does not
 *   come from another logger that shares the transport, a pipe or the application.
 * - This transport is the first to get the info. Other transports and listeners may change an info.
 * - The info is Winston's own object, made for a call with metadata. An object of the application may have accessors.
 *
 * The caller decides if the line can be used. It cannot if the event is not the info itself, or is not plain data.
 */
export function loggedLine(info: Info, logger: unknown, transport: object): string | undefined {
  try {
    const line = info[formattedText]
    if (typeof line !== 'string' || !isFresh(info, logger as Logger, transport)) return undefined
    return line
  } catch {
    return undefined // no logger, or an accessor of the application threw
  }
}

/** True if `format.json()` alone has just run on the info, and no other code has had the info since. */
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

/** Loads logform, which Winston has loaded already. If Winston uses another copy of logform, no line is recognized. */
async function load(): Promise<void> {
  isLoading = true
  try {
    const { default: logform } = await import('logform')
    jsonTransform = logform.format.json().transform
  } catch {
    // Without logform, only time is lost.
  }
}

function hasFields(options: unknown): boolean {
  for (const _ in options as object) return true
  return false
}
