import * as v from 'valibot'
import { isOptionGroup, ownProperties } from '../own-properties.ts'

/**
 * As Valibot's `strictObject`, but for own properties only; the result inherits nothing.
 *
 * Valibot uses `for … in` for entries and options, which includes properties added to `Object.prototype`. Missing
 * options are passed as `undefined`, because Valibot looks for a schema's `fallback` in place of a missing option.
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
      if (typeof value === 'object' && value !== null && !isOptionGroup(value)) {
        const result = schema['~run']({ value: undefined }, config) // Valibot takes an array or a Map for an object
        for (const issue of result.issues ?? []) Object.assign(issue, { input: value })
        return result
      }
      if (typeof value !== 'object' || value === null) return schema['~run'](dataset, config)
      const result = schema['~run']({ value: ownProperties({ ...missing, ...value }) }, config)
      if (result.typed) result.value = ownProperties(result.value)
      return result
    },
  }
}
