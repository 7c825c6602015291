import { ChartCounts, rangeOf, type TimeRange } from '../index/chart.ts'
import type { Chart, LiveMessages } from '../protocol.ts'
import { FacetCounts } from './facet-counts.ts'
import type { ListMatches } from './list-matches.ts'
import { isRepeat } from './snapshot.ts'

type Tick = LiveMessages['tick']

/** What is known of all matches of a list together. */
export interface ListFacts {
  /** Number of the rows if neighbors that repeat are one row. */
  readonly runs: number
  readonly datasets: Tick['datasets']
  readonly sources: Tick['sources']
  /** The matches of any time, by time and level. */
  readonly chart: Chart
}

/** Counts the matches of a list. All is counted in one pass, because 100,000 events do not fit into a cache. */
export function listFacts({ list, outside }: ListMatches, nowMs: number): ListFacts {
  const datasets = new FacetCounts()
  const sources = new FacetCounts()
  const entries = list.oldestFirst()
  const others = outside.oldestFirst()
  const chart = new ChartCounts(joined(rangeOf(entries), rangeOf(others)) ?? { from: nowMs, to: nowMs })
  let runs = 0
  let last: (typeof entries)[number] | undefined
  for (const entry of entries) {
    if (last === undefined || !isRepeat(last, entry)) runs++
    last = entry
    datasets.add(entry.dataset)
    if (entry.source !== null) sources.add(entry.source)
    chart.add(entry)
  }
  for (const entry of others) chart.add(entry)
  return { runs, datasets: datasets.top(), sources: sources.top(), chart: chart.chart() }
}

function joined(one: TimeRange | undefined, other: TimeRange | undefined): TimeRange | undefined {
  if (one === undefined || other === undefined) return one ?? other
  return { from: Math.min(one.from, other.from), to: Math.max(one.to, other.to) }
}

/** Returns the counts by level, under the names of the levels. */
export function levelCounts(counts: readonly number[]): Tick['levels'] {
  const [trace = 0, debug = 0, info = 0, warn = 0, error = 0, fatal = 0, none = 0] = counts
  return { trace, debug, info, warn, error, fatal, none }
}
