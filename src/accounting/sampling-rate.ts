/** Significant digits of a product of rates. Without rounding, 0.1 of 0.2 would be 0.020000000000000004. */
const digits = 6

const dottedName = 'logferry.sampling_rate'

/**
 * Marks an event as one of a sample. `logferry.sampling_rate` is the share of such events that is kept: it lets a reader
 * estimate the original number. If the event is one of a sample already, the rates multiply.
 *
 * @param event an event whose fields can be spread; the result is a copy
 * @param rate above 0, below 1
 */
export function withSamplingRate(event: object, rate: number): object {
  const { logferry, [dottedName]: dotted } = event as { logferry?: unknown; [dottedName]?: unknown }
  // A value of the application's own with the name of the group stays, and the rate has its place beside it.
  if (dotted !== undefined || (logferry !== undefined && !isGroup(logferry))) {
    return { ...event, [dottedName]: combinedRate(dotted, rate) }
  }
  const own: { readonly sampling_rate?: unknown } = logferry ?? {}
  return { ...event, logferry: { ...own, sampling_rate: combinedRate(own.sampling_rate, rate) } }
}

function combinedRate(earlier: unknown, rate: number): number {
  const isRate = typeof earlier === 'number' && earlier > 0 && earlier <= 1
  return isRate ? Number((earlier * rate).toPrecision(digits)) : rate
}

/** True for an object whose fields are its own members. */
function isGroup(value: unknown): value is { readonly sampling_rate?: unknown } {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return (prototype === Object.prototype || prototype === null) && !('toJSON' in value)
}
