import { systemTimeMs } from '../../time.ts'
import { Candidate, type EventObject } from '../event/candidate.ts'
import type { CountedName } from '../event/counted-names.ts'
import type { Entry } from '../event/entry.ts'
import { timeOfValue } from '../event/event-time.ts'
import { levelRank } from '../event/level-rank.ts'
import { compileQuery } from './compile-query.ts'
import { readQuery } from './read-query.ts'
import type { KnownFields } from './resolve-names.ts'

/** A query that cannot be applied to events before they are kept. */
export class UnusableQuery extends Error {}

/**
 * Returns the test for events that are not kept yet. What is known only of kept events, such as lateness, is not.
 *
 * @throws UnusableQuery if the query has patterns, which may take any time for each event
 */
export function eventPredicate(query: string, fields: KnownFields): (event: EventObject, dataset: string) => boolean {
  const nowMs = systemTimeMs()
  const { test, hasRegex } = compileQuery(readQuery(query, fields).node, { mark: 0, nowMs })
  if (hasRegex) throw new UnusableQuery('the query of reject may not have patterns between slashes')
  return (event, dataset) => test(new Candidate(entryOf(event, dataset), event))
}

function entryOf(event: EventObject, dataset: string): Entry {
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
