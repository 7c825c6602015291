/**
 * Returns the kind of an error, as OpenTelemetry's `error.type`: its code, `timeout`, or `_OTHER`. A dispatcher of the
 * application may throw anything, and each kind is a time series of its own.
 *
 * @see https://opentelemetry.io/docs/specs/semconv/registry/attributes/error/
 */
export function errorTypeOf(error: unknown): string {
  const { code, name } = (error ?? {}) as { code?: unknown; name?: unknown }
  if (typeof code === 'string' && /^[A-Z][A-Z0-9_]{2,39}$/.test(code)) return code
  return name === 'TimeoutError' ? 'timeout' : '_OTHER'
}
