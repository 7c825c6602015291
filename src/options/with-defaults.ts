import { ownProperties } from '../own-properties.ts'
import type { Definitions, OptionsOf, ValuesOf } from './option.ts'

/**
 * Fills in the defaults of options that are not given. Defaults that depend on other options come last, and see the
 * constant ones.
 */
export function withDefaults<D extends Definitions>(definitions: D, given: OptionsOf<D>): ValuesOf<D> {
  const values: Record<string, unknown> = ownProperties({ ...given })
  const missing = Object.entries(definitions).filter(([name]) => values[name] === undefined)
  for (const [name, definition] of missing) values[name] = definition.default
  for (const [name, { defaultFrom }] of missing) {
    if (defaultFrom !== undefined) values[name] = defaultFrom(values as never)
  }
  return values as ValuesOf<D>
}
