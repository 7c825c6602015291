/** Number of characters in which one other than 0 is looked for. */
const maxReadChars = 256

/**
 * Returns the `trace_id` of an event, or `undefined` if it has none that names a trace. An id of zeros stands for no
 * trace.
 *
 * @see https://www.w3.org/TR/trace-context/#trace-id
 */
export function traceIdOf(event: object): string | undefined {
  try {
    const { trace_id: id } = event as { readonly trace_id?: unknown }
    return typeof id === 'string' && /[^0]/.test(id.slice(0, maxReadChars)) ? id : undefined
  } catch {
    return undefined // a getter threw
  }
}
