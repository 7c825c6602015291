/** The part of OpenTelemetry's context and context manager that is used here. The API package is not imported. */
interface Context {
  setValue(key: symbol, value: unknown): Context
}
interface ContextManager {
  active(): Context
  with<T>(context: Context, run: () => T): T
}

/** Key of the registry that every copy of `@opentelemetry/api` 1.x shares. */
const registryKey = Symbol.for('opentelemetry.js.api.1')
const suppressTracing = Symbol.for('OpenTelemetry SDK Context Key SUPPRESS_TRACING')

/**
 * Calls `run` with tracing suppressed. A span for each request of this package would be noise in the user's traces. It
 * could also cause a log record, and so the next request.
 */
export function withoutTracing<T>(run: () => T): T {
  const registry = (globalThis as Record<symbol, unknown>)[registryKey] as { context?: ContextManager } | undefined
  const manager = registry?.context
  if (manager === undefined) return run()
  return manager.with(manager.active().setValue(suppressTracing, true), run)
}
