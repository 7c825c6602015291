import { propertyOfThrown } from '../text/kind-of-thrown.ts'
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
 * the body that contained a token. Never throws: code of the application may throw an error that cannot be read.
 */
export function printableCause(error: unknown, redact: Redact, depth = 1): Error {
  if (!isError(error)) return new Error(`a value that is not an Error was thrown: ${typeof error}`)
  const cause = propertyOfThrown(error, 'cause')
  const code = propertyOfThrown(error, 'code')
  const name = toShortLine(textOf(error, 'name'), redact)
  const copy = new Error(toShortLine(textOf(error, 'message'), redact, maxMessageChars))
  const stack = [`${name}: ${copy.message}`, ...framesIn(textOf(error, 'stack'), redact)].join('\n')
  Object.defineProperty(copy, 'name', { value: name, configurable: true, writable: true })
  Object.defineProperty(copy, 'stack', { value: stack, configurable: true, writable: true })
  if (typeof code === 'string') Object.assign(copy, { code: toShortLine(code, redact) })
  if (isError(cause) && depth < maxDepth) copy.cause = printableCause(cause, redact, depth + 1)
  return copy
}

/** False for an Error behind a proxy that throws. */
function isError(value: unknown): value is Error {
  try {
    return value instanceof Error
  } catch {
    return false
  }
}

/** Returns a property of an error as text; no text if the property cannot be read, or has none. */
function textOf(error: Error, property: 'name' | 'message' | 'stack'): string {
  try {
    return String(propertyOfThrown(error, property) ?? '')
  } catch {
    return ''
  }
}

/** Returns the lines of a stack that name a location. The message before them may have any number of lines. */
function framesIn(stack: string, redact: Redact): string[] {
  const lines = stack.slice(0, maxStackChars).split('\n')
  return lines
    .filter(line => line.startsWith('    at '))
    .slice(-maxFrames)
    .map(line => `    ${toShortLine(line, redact)}`)
}
