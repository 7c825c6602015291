import { type Redact, toShortLine } from '../text/short-line.ts'

/** Maximum number of errors in a chain of causes, and maximum number of lines in a stack. */
const maxDepth = 5
const maxFrames = 20
const maxMessageChars = 2000
const maxStackChars = 100_000

/**
 * Returns a copy of an error that can be printed: name, code, message, stack and causes, each of bounded length,
 * without the token.
 *
 * The copy omits all other properties of the error. They may hold requests with their headers, bytes of an answer, or
 * the body that contained a token.
 */
export function printableCause(error: unknown, redact: Redact, depth = 1): Error {
  if (!(error instanceof Error)) return new Error(`a value that is not an Error was thrown: ${typeof error}`)
  const { cause } = error
  const { code } = error as { code?: unknown }
  const name = toShortLine(String(error.name), redact)
  const copy = new Error(toShortLine(String(error.message), redact, maxMessageChars))
  const stack = [`${name}: ${copy.message}`, ...framesOf(error, redact)].join('\n')
  Object.defineProperty(copy, 'name', { value: name, configurable: true, writable: true })
  Object.defineProperty(copy, 'stack', { value: stack, configurable: true, writable: true })
  if (typeof code === 'string') Object.assign(copy, { code: toShortLine(code, redact) })
  if (cause instanceof Error && depth < maxDepth) copy.cause = printableCause(cause, redact, depth + 1)
  return copy
}

/** Returns the lines of a stack that name a location. The message before them may have any number of lines. */
function framesOf({ stack }: Error, redact: Redact): string[] {
  const lines = String(stack).slice(0, maxStackChars).split('\n')
  return lines
    .filter(line => line.startsWith('    at '))
    .slice(-maxFrames)
    .map(line => `    ${toShortLine(line, redact)}`)
}
