/** Returns the number of characters to insert, remove or replace that turn one text into another, or `max` + 1. */
export function editDistance(one: string, other: string, max: number): number {
  if (Math.abs(one.length - other.length) > max) return max + 1
  let row = Array.from({ length: other.length + 1 }, (_, at) => at)
  for (let at = 1; at <= one.length; at++) {
    const next = [at]
    for (let place = 1; place <= other.length; place++) {
      const replaced = (row[place - 1] as number) + (one[at - 1] === other[place - 1] ? 0 : 1)
      next.push(Math.min(replaced, (row[place] as number) + 1, (next[place - 1] as number) + 1))
    }
    if (Math.min(...next) > max) return max + 1
    row = next
  }
  return Math.min(row[other.length] as number, max + 1)
}
