import type { Entry } from '../index/entry.ts'
import { type Chart, levels } from '../protocol.ts'

/** Maximum number of buckets that a chart has. */
const maxBuckets = 240
/** Number of entries whose times are looked at to find the range of the chart. */
const maxSamples = 400
/** Part of the entries that are left out at the old end if they are far from all others. */
const outliers = 0.01
const farFactor = 10

const second = 1000
const minute = 60 * second
const hour = 60 * minute
const steps = [
  ...[100, 200, 500],
  ...[1, 2, 5, 10, 15, 30].map(count => count * second),
  ...[1, 2, 5, 10, 15, 30].map(count => count * minute),
  ...[1, 2, 3, 6, 12, 24].map(count => count * hour),
]

export interface TimeRange {
  readonly from: number
  readonly to: number
}

/**
 * Returns the range of the entries' times. A few entries that are far older than all others are left out: one event of
 * 1970 would push the others into one bucket.
 */
export function rangeOf(entries: readonly Entry[]): TimeRange | undefined {
  if (entries.length === 0) return undefined
  const stride = Math.max(Math.floor(entries.length / maxSamples), 1)
  const times: number[] = []
  for (let at = entries.length - 1; at >= 0; at -= stride) times.push((entries[at] as Entry).at)
  times.push((entries[0] as Entry).at)
  times.sort((one, other) => one - other)
  const first = times[0] as number
  const to = times.at(-1) as number
  const usual = times[Math.ceil(times.length * outliers)] ?? first
  return { from: to - first > farFactor * (to - usual + minute) ? usual : first, to }
}

/** Returns the width of the buckets for a range. */
function stepFor({ from, to }: TimeRange): number {
  const least = (to - from) / (maxBuckets - 1)
  const step = steps.find(candidate => candidate >= least)
  return step ?? Math.ceil(least / (24 * hour)) * 24 * hour
}

/** Counts the entries of a range by time and level. Entries outside of the range are left out. */
export function chartOf(entries: readonly Entry[], range: TimeRange): Chart {
  const stepMs = stepFor(range)
  const from = Math.floor(range.from / stepMs) * stepMs
  const buckets = Math.min(Math.floor((range.to - from) / stepMs) + 1, maxBuckets + 1)
  const counts = Array.from({ length: buckets }, () => new Array<number>(levels.length + 1).fill(0))
  for (const { at, rank } of entries) {
    const bucket = counts[Math.floor((at - from) / stepMs)]
    if (bucket === undefined) continue
    const level = rank < 0 ? levels.length : rank
    bucket[level] = (bucket[level] as number) + 1
  }
  return { from, stepMs, counts }
}
