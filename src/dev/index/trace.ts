import { eventOfLine } from '../event/candidate.ts'
import type { Entry } from '../event/entry.ts'
import { levelOfRank } from '../event/level-rank.ts'
import { spanIdOf, traceIdOf } from '../event/trace-ids.ts'
import type { KeptEvent, TraceAnswer } from '../protocol.ts'
import type { Search } from './search.ts'

const defaultLimit = 200
const maxLimit = 1000
const maxSources = 100
/** Maximum size of the lines in an answer, in bytes; the first line may be longer. */
const maxAnswerBytes = 8 * 1024 * 1024
/** Minimum length of the beginning of an id that finds a trace. */
const minIdChars = 8
const errorRank = 4

export interface TraceRequest {
  readonly id: string
  readonly limit: number | undefined
  readonly keptEvent: (entry: Entry) => KeptEvent
}

/**
 * Finds the events of a trace in all datasets, the oldest first. A beginning of the id is enough if it has eight
 * characters or more.
 *
 * @param search finds every entry: it gives the slices
 */
export async function traceOf(
  entries: readonly Entry[],
  search: Search,
  { id, limit = defaultLimit, keptEvent }: TraceRequest,
): Promise<TraceAnswer> {
  const found: { entry: Entry; spanId: string | null; event: KeptEvent }[] = []
  const sources = new Set<string>()
  const maxEvents = Math.min(Math.max(limit, 1), maxLimit)
  const searched = id.toLowerCase()
  let traceId: string | undefined
  let count = 0
  let errors = 0
  let bytes = 0
  let last: Entry | undefined
  for await (const { matched } of search.inOrder(entries)) {
    for (const entry of matched) {
      const { line } = entry
      if (!line.includes('\\') && !line.toLowerCase().includes(searched)) continue
      const event = eventOfLine(line)
      const own = traceIdOf(event)
      if (own === null || !isSame(own.toLowerCase(), searched)) continue
      traceId ??= own
      if (own.toLowerCase() !== traceId.toLowerCase()) continue
      count++
      last = entry
      if (entry.rank >= errorRank) errors++
      const source = entry.source?.name ?? entry.dataset.name
      if (sources.size < maxSources) sources.add(source)
      if (found.length >= maxEvents || bytes >= maxAnswerBytes) continue
      bytes += entry.lineBytes
      found.push({ entry, spanId: spanIdOf(event), event: keptEvent(entry) })
    }
  }
  const startAt = found[0]?.entry.at ?? 0
  return {
    traceId: traceId ?? id,
    events: found.map(({ entry, spanId, event }, at) => ({
      ...event,
      level: levelOfRank(entry.rank),
      spanId,
      offsetMs: entry.at - startAt,
      gapMs: entry.at - (found[at - 1]?.entry.at ?? entry.at),
    })),
    count,
    sources: [...sources],
    errors,
    durationMs: (last?.at ?? startAt) - startAt,
  }
}

function isSame(id: string, searched: string): boolean {
  return id === searched || (searched.length >= minIdChars && id.startsWith(searched))
}
