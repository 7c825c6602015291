type Event = Readonly<Record<string, unknown>>

/** Returns the id of an event's trace, or `null`. ECS writes `trace.id`, as a group or as one name. */
export function traceIdOf(event: Event): string | null {
  return text(event.trace_id) ?? text(event.traceId) ?? text(member(event.trace, 'id')) ?? text(event['trace.id'])
}

/** Returns the id of an event's span, or `null`. */
export function spanIdOf(event: Event): string | null {
  return text(event.span_id) ?? text(event.spanId) ?? text(member(event.span, 'id')) ?? text(event['span.id'])
}

function text(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null
}

function member(group: unknown, name: string): unknown {
  if (typeof group !== 'object' || group === null || !Object.hasOwn(group, name)) return undefined
  return (group as Record<string, unknown>)[name]
}
