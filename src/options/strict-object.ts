import * as v from 'valibot'
import { ownProperties } from './own-properties.ts'

/**
 * Valibot's `strictObject` for options: it takes and refuses own properties alone, and what it gives inherits nothing.
 * Valibot's goes through entries and options with `for … in`, and so finds what is in `Object.prototype`. What is missing
 * is given to it as `undefined`, since it looks for the `fallback` of a schema in place of a missing option.
 */
export function strictObject<const Entries extends v.ObjectEntries>(
  entries: Entries,
  message?: string,
): v.StrictObjectSchema<Entries, string | undefined> {
  const schema = v.strictObject(ownProperties(entries), message)
  const missing = Object.fromEntries(Object.keys(entries).map(name => [name, undefined]))
  return {
    ...schema,
    '~run'(dataset, config) {
      const { value } = dataset
      if (typeof value !== 'object' || value === null) return schema['~run'](dataset, config)
      const result = schema['~run']({ value: ownProperties({ ...missing, ...value }) }, config)
      if (result.typed) result.value = ownProperties(result.value)
      return result
    },
  }
}
