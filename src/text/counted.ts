/** Formats a count with its noun: `1 event`, `1,234 events`, `2 directories`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString('en')} ${count === 1 ? one : many}`
}
