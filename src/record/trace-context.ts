/** The ids of the span that a line belongs to. */
export interface TraceIds {
  /** 32 hexadecimal digits. */
  readonly traceId: string
  /** 16 hexadecimal digits. */
  readonly spanId: string
  /** The W3C flags, one byte; 1 means sampled. */
  readonly traceFlags: number
}

interface Context {
  getValue(key: symbol): { spanContext(): unknown } | undefined
}

interface ApiRegistry {
  readonly context?: { active(): Context }
}

// Version 1.x of @opentelemetry/api keeps its context manager and its keys in the global symbol registry, so that
// several copies of it can share them. So the active span can be read without loading the API, which the application
// may not have.
const apiRegistry = Symbol.for('opentelemetry.js.api.1')
const spanKey = Symbol.for('OpenTelemetry Context Key SPAN')

const noTraceId = '0'.repeat(32)
const noSpanId = '0'.repeat(16)

/** Symbol under which @opentelemetry/instrumentation-winston stores the context of the log call. */
const winstonContext = Symbol.for('opentelemetry.js.contrib.winston.context')

/**
 * Returns the ids of the span in which a Winston info was logged, or else of the active span. Returns `undefined`
 * outside any span.
 */
export function activeTraceIds(info?: object): TraceIds | undefined {
  try {
    const atLogCall = (info as { [winstonContext]?: Context } | undefined)?.[winstonContext]
    const context = atLogCall ?? (globalThis as { [apiRegistry]?: ApiRegistry })[apiRegistry]?.context?.active()
    const span = context?.getValue(spanKey)
    return span === undefined ? undefined : validTraceIds(span.spanContext())
  } catch {
    return undefined
  }
}

/** Returns a span context unchanged if it names a span: both ids have the right length and are not all zeros. */
export function validTraceIds(spanContext: unknown): TraceIds | undefined {
  const ids = spanContext as TraceIds | null | undefined
  return isId(ids?.traceId, noTraceId) && isId(ids?.spanId, noSpanId) ? (ids as TraceIds) : undefined
}

/** True for the id of a trace: it has the right length and is not all zeros. */
export function isTraceId(id: string): boolean {
  return isId(id, noTraceId)
}

function isId(id: unknown, none: string): boolean {
  return typeof id === 'string' && id.length === none.length && id !== none
}

/** Formats trace flags as OpenTelemetry writes them in log records: two hexadecimal digits. */
export function traceFlagsHex(traceFlags: number): string {
  return (traceFlags & 0xff).toString(16).padStart(2, '0')
}
