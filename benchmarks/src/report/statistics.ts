/** What several rounds say of one figure. */
export interface Summary {
  readonly median: number
  readonly least: number
  readonly most: number
}

export function summaryOf(values: readonly number[]): Summary | undefined {
  if (values.length === 0) return undefined
  const sorted = values.toSorted((a, b) => a - b)
  return { median: median(sorted), least: sorted[0] as number, most: sorted.at(-1) as number }
}

function median(sorted: readonly number[]): number {
  const middle = sorted.length >> 1
  const upper = sorted[middle] as number
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] as number) + upper) / 2
}
