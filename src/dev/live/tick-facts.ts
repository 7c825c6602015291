import type { Entry } from '../index/entry.ts'
import type { LiveMessages } from '../protocol.ts'
import { ChartCounts, rangeOf } from './chart.ts'
import { FacetCounts } from './facet-counts.ts'
import type { ListMatches } from './list-matches.ts'

type Tick = LiveMessages['tick']

/** Counts the matches of a list by dataset and source, and those of any time by time and level. */
export function tickFacts({ list, outside }: ListMatches, nowMs: number): Pick<Tick, 'datasets' | 'sources' | 'chart'> {
  const datasets = new FacetCounts()
  const sources = new FacetCounts()
  const entries: Entry[] = []
  list.newestFirst(entry => {
    datasets.add(entry.dataset)
    if (entry.source !== null) sources.add(entry.source)
    entries.push(entry)
    return true
  })
  outside.newestFirst(entry => {
    entries.push(entry)
    return true
  })
  const chart = new ChartCounts(rangeOf(entries) ?? { from: nowMs, to: nowMs })
  for (const entry of entries) chart.add(entry)
  return { datasets: datasets.top(), sources: sources.top(), chart: chart.chart() }
}

/** Returns the counts by level, under the names of the levels. */
export function levelCounts(counts: readonly number[]): Tick['levels'] {
  const [trace = 0, debug = 0, info = 0, warn = 0, error = 0, fatal = 0, none = 0] = counts
  return { trace, debug, info, warn, error, fatal, none }
}
