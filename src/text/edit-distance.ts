/**
 * Returns the number of steps that turn one text into another, or `max` + 1. A step inserts, removes or replaces a
 * character, or swaps two neighbors.
 */
export function editDistance(one: string, other: string, max: number): number {
  if (Math.abs(one.length - other.length) > max) return max + 1
  let before: number[] = []
  let row = Array.from({ length: other.length + 1 }, (_, at) => at)
  for (let at = 1; at <= one.length; at++) {
    const next = [at]
    for (let place = 1; place <= other.length; place++) {
      const replaced = (row[place - 1] as number) + (one[at - 1] === other[place - 1] ? 0 : 1)
      const isSwap = at > 1 && one[at - 1] === other[place - 2] && one[at - 2] === other[place - 1]
      const swapped = isSwap ? (before[place - 2] as number) + 1 : replaced
      next.push(Math.min(replaced, swapped, (row[place] as number) + 1, (next[place - 1] as number) + 1))
    }
    if (Math.min(...next) > max) return max + 1
    before = row
    row = next
  }
  return Math.min(row[other.length] as number, max + 1)
}
