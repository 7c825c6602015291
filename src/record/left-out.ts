import type { Plain, PlainObject } from './plain.ts'

// A container that was shortened ends with `"…": "of 1200 fields"` or `"… of 1200 items"`. The number is that of the
// whole, so it stays right when the container is shortened again.

const mark = '…'

/** Stands for a container that was not looked into. */
export const leftOut = mark

/** Most bytes that such an end takes in JSON, its comma included. */
export const leftOutBytes = 40

export function markFieldsLeftOut(fields: PlainObject, total: number): void {
  fields[mark] = `of ${total} fields`
}

export function markItemsLeftOut(items: Plain[], total: number): void {
  items.push(`${mark} of ${total} items`)
}

/** Gives `fields`, the first ones of `total`, the end they need: that of the whole if it has been shortened before. */
export function endFieldsAs(whole: PlainObject, total: number, fields: PlainObject): void {
  const end = whole[mark]
  if (typeof end === 'string' && /^of \d{1,10} fields$/.test(end)) fields[mark] = end
  else markFieldsLeftOut(fields, total)
}

/** Gives `items`, the first ones of `whole`, the end they need: that of `whole` if it has been shortened before. */
export function endItemsAs(whole: readonly Plain[], items: Plain[]): void {
  const end = whole.at(-1)
  // As long as the largest number, which is what a proxy may give for its length.
  if (typeof end === 'string' && /^… of \S{1,23} items$/.test(end)) items.push(end)
  else markItemsLeftOut(items, whole.length)
}
