/** How many causes below one another are kept. */
const maxDepth = 5

/**
 * A copy of an error that can be printed: its name, code, message, stack and causes, without the token. Left behind is
 * whatever else it holds on to: requests with their headers, bytes of an answer, the body that a token came in.
 */
export function printableCause(error: unknown, redact: (text: string) => string, depth = 1): Error {
  if (!(error instanceof Error)) return new Error(`not an Error was thrown, but ${typeof error}`)
  const { name, message, stack, cause } = error
  const { code } = error as { code?: unknown }
  const copy = new Error(redact(message))
  Object.defineProperty(copy, 'name', { value: name, configurable: true, writable: true })
  Object.defineProperty(copy, 'stack', { value: redact(stack ?? ''), configurable: true, writable: true })
  if (typeof code === 'string') Object.assign(copy, { code })
  if (cause instanceof Error && depth < maxDepth) copy.cause = printableCause(cause, redact, depth + 1)
  return copy
}
