import * as v from 'valibot'
import { ownProperties } from '../own-properties.ts'

const groupTags = ['[object Object]', '[object Module]']

/** True for an object with options as properties; false for an array, a Map, a promise and the like. */
export function isOptionGroup(value: unknown): boolean {
  return typeof value === 'object' && value !== null && groupTags.includes(Object.prototype.toString.call(value))
}

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
