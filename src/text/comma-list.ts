/** Joins texts with commas. A backslash marks a comma that belongs to a text. */
export function joinedWithCommas(items: readonly string[]): string {
  return items.map(item => item.replace(/[\\,]/g, String.raw`\$&`)).join(',')
}

/** Returns the texts of a list that is joined with commas, without empty ones. */
export function splitAtCommas(list: string): string[] {
  return [...list.matchAll(/(?:\\[\\,]|[^,])+/g)].map(([item]) => item.replace(/\\([\\,])/g, '$1'))
}
