/** What of an OpenTelemetry context manager and context is used here; the API package is not imported. */
interface Context {
  setValue(key: symbol, value: unknown): Context
}
interface ContextManager {
  active(): Context
  with<T>(context: Context, run: () => T): T
}

/** The registry that every copy of `@opentelemetry/api` 1.x shares. */
const registryKey = Symbol.for('opentelemetry.js.api.1')
const suppressTracing = Symbol.for('OpenTelemetry SDK Context Key SUPPRESS_TRACING')

/**
 * Runs `run` where instrumentations make no spans: a span for each of our requests would be noise in the user's traces,
 * and may in turn cause a log record, and so the next request.
 */
export function withoutTracing<T>(run: () => T): T {
  const registry = (globalThis as Record<symbol, unknown>)[registryKey] as { context?: ContextManager } | undefined
  const manager = registry?.context
  if (manager === undefined) return run()
  return manager.with(manager.active().setValue(suppressTracing, true), run)
}
