import { systemTimeMs } from '../../time.ts'
import type { EventObject } from './candidate.ts'
import type { CountedName } from './counted-names.ts'
import type { Entry } from './entry.ts'
import { timeOfValue } from './event-time.ts'
import { levelRank } from './level-rank.ts'

/** Returns an entry for the test of an event that is not kept. */
export function unkeptEntry(event: EventObject, dataset: string): Entry {
  const nowMs = systemTimeMs()
  const line = JSON.stringify(event)
  return {
    n: 0,
    at: timeOfValue(event._time) ?? nowMs,
    receivedAt: nowMs,
    dataset: named(dataset),
    source: null,
    statement: named(''),
    rank: levelRank(event),
    marks: 0,
    skewMs: 0,
    request: 0,
    line,
    lineBytes: line.length,
    bytes: line.length,
    isKept: true,
    lists: 0,
    listsOfAnyLevel: 0,
    pins: 0,
    free: () => {},
  }
}

function named(name: string): CountedName {
  return { name, events: 0, bytes: 0, firstN: 0, firstAt: 0 }
}
