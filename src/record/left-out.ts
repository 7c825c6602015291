import type { Plain, PlainObject } from './plain.ts'

// A shortened container ends with `"…": "of 1200 fields"` or `"… of 1200 items"`. The number is that of the whole
// container, so the mark stays right if the container is shortened again.

const mark = '…'

/** Stands for a container that was not read. */
export const leftOut = mark

/** Maximum bytes of such a mark as JSON, including its comma. */
export const leftOutBytes = 40

export function markFieldsLeftOut(fields: PlainObject, total: number): void {
  fields[mark] = `of ${total} fields`
}

/** Marks a container that was not read to its end, so that its number of fields is not known. */
export function markMoreFieldsLeftOut(fields: Record<string, unknown>, read: number): void {
  fields[mark] = `of more than ${read} fields`
}

export function markItemsLeftOut(items: Plain[], total: number): void {
  items.push(`${mark} of ${total} items`)
}

/** Ends `fields`, the first of `total`, with a mark. If `whole` was shortened before, its own mark is used. */
export function endFieldsAs(whole: PlainObject, total: number, fields: PlainObject): void {
  const end = whole[mark]
  if (typeof end === 'string' && /^of (?:more than )?\d{1,10} fields$/.test(end)) fields[mark] = end
  else markFieldsLeftOut(fields, total)
}

/** Ends `items`, the first items of `whole`, with a mark. If `whole` was shortened before, its own mark is used. */
export function endItemsAs(whole: readonly Plain[], items: Plain[]): void {
  const end = whole.at(-1)
  // Up to 23 characters, the length of the longest number: a proxy may report any number as its length.
  if (typeof end === 'string' && /^… of \S{1,23} items$/.test(end)) items.push(end)
  else markItemsLeftOut(items, whole.length)
}
