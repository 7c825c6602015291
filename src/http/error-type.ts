import { propertyOfThrown } from '../text/kind-of-thrown.ts'

/**
 * Returns the kind of an error, as OpenTelemetry's `error.type`: its code, `timeout`, or `_OTHER`. A dispatcher of the
 * application may throw anything, and each kind is a time series of its own.
 *
 * @see https://opentelemetry.io/docs/specs/semconv/registry/attributes/error/
 */
export function errorTypeOf(error: unknown): string {
  const code = propertyOfThrown(error, 'code')
  if (typeof code === 'string' && /^[A-Z][A-Z0-9_]{2,39}$/.test(code)) return code
  return propertyOfThrown(error, 'name') === 'TimeoutError' ? 'timeout' : '_OTHER'
}
