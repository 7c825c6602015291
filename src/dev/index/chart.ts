import type { Entry } from '../event/entry.ts'
import { type Chart, levels } from '../protocol.ts'

/** Maximum number of buckets that a chart has. */
const maxBuckets = 240
/** Number of entries whose times are looked at to find the range of the chart. */
const maxSamples = 400
/** Part of the entries that are left out at the old end if they are far from all others. */
const outliers = 0.01
const farFactor = 10

/** Number of counts in a bucket: each level, and none. */
const series = levels.length + 1

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
  const stride = Math.max(Math.floor(entries.length / maxSamples), 1)
  const times: number[] = []
  for (let at = entries.length - 1; at >= 0; at -= stride) times.push((entries[at] as Entry).at)
  if (entries[0] !== undefined) times.push(entries[0].at)
  times.sort((one, other) => one - other)
  const first = times[0]
  const to = times.at(-1)
  if (first === undefined || to === undefined) return undefined
  const usual = times[Math.ceil(times.length * outliers)] ?? first
  return { from: to - first > farFactor * (to - usual + minute) ? usual : first, to }
}

/** Returns the width of the buckets for a range. */
function stepFor({ from, to }: TimeRange): number {
  const least = (to - from) / (maxBuckets - 1)
  const step = steps.find(candidate => candidate >= least)
  return step ?? Math.ceil(least / (24 * hour)) * 24 * hour
}

/** Counts entries of a range by time and level. */
export class ChartCounts {
  readonly #from: number
  readonly #stepMs: number
  readonly #buckets: number
  readonly #counts: Float64Array

  constructor(range: TimeRange) {
    this.#stepMs = stepFor(range)
    this.#from = Math.floor(range.from / this.#stepMs) * this.#stepMs
    this.#buckets = Math.min(Math.floor((range.to - this.#from) / this.#stepMs) + 1, maxBuckets + 1)
    this.#counts = new Float64Array(this.#buckets * series)
  }

  /** Counts an entry, unless it is outside of the range. */
  add({ at, rank }: Entry): void {
    const bucket = Math.floor((at - this.#from) / this.#stepMs)
    if (bucket < 0 || bucket >= this.#buckets) return
    const place = bucket * series + (rank < 0 ? levels.length : rank)
    this.#counts[place] = (this.#counts[place] as number) + 1
  }

  chart(): Chart {
    const counts = Array.from({ length: this.#buckets }, (_, bucket) => [
      ...this.#counts.subarray(bucket * series, (bucket + 1) * series),
    ])
    return { from: this.#from, stepMs: this.#stepMs, counts }
  }
}
